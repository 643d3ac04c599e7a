"""Single values and properties against the table."""

import pytest

from mqttpub.spec.versions import Direction, Version
from tests.lint.marked_packets import Row, assert_no_fault, assert_one_fault, case, rows, table_test

FAULTS = rows("""
    # 5.0              3.1.1            3.1                  sender and bytes

    # strings
    3.3.2-1            3.3.2-1          3.3/topic            -  30 r s('a' {ff} 'b') p()
    3.3.2-1            3.3.2-1          3.3/topic            -  30 r s('a' {e282} 'b') p()
    3.3.2-1            3.3.2-1          3.3/topic            -  30 r s('a' {f4908080}) p()
    3.3.2-1            3.3.2-1          2.5/java             -  30 r s('a' {eda080}) p()
    3.3.2-1            3.3.2-1          2.5/java             -  30 r s({c080}) p()
    3.3.2-1            3.3.2-1          2.5/java             -  30 r s({eda080edb080} 'a') p()
    .                  .                3.3/topic            -  30 r s({c1} 'a' c1) p()
    3.1.3-4            3.1.3-4          2.5/string           -  10 r @ 02 003c p() s({ff})
    3.1.3-11           3.1.3-10         3.1/will-topic       -  10 r @ 06 003c p() s'a' p() s('t' {80}) s''
    3.1.3-12           3.1.3-11         2.5/string           -  10 r @ 82 003c p() s'a' s({ff} 'u')
    3.3.2-13           .                .                    -  30 r s'a' p(08 s({ff}))
    3.3.2-19           .                .                    -  30 r s'a' p(03 s({ff}))
    3.8.3-1            3.8.3-1          3.8/pairs            -  82 r 0001 p() s({ff}) 00
    3.10.3-1           3.10.3-1         3.10/strings         -  a2 r 0001 p() s'a' s({ff})
    1.5.4-1            .                .                    -  40 r 0001 80 p(1f s('a' {ff}))
    1.5.7-1            .                .                    -  30 r s'a' p(26 s({ff}) s'v')
    1.5.7-1            .                .                    -  30 r s'a' p(26 s'k' s({ff}))
    1.5.4-2            1.5.3-2          .                    -  10 r @ 02 003c p() s('a' {00} 'b')
    1.5.4-2            .                .                    -  30 r s'a' p(26 s'k' s({00}))
    4.7.3-2            4.7.3-2          A/null               -  30 r s('a' {00}) p()
    4.7.3-2            4.7.3-2          A/null               -  10 r @ 06 003c p() s'a' p() s({00} 't') s''
    4.7.3-2            4.7.3-2          A/null               -  82 r 0001 p() s({00}) 00
    4.7.3-2            4.7.3-2          A/null               -  a2 r 0001 p() s({00})
    4.7.3-2            .                .                    -  30 r s'a' p(08 s('a' {00}))
    1.5.4/control      1.5.3/control    .                    -  30 r s('a' {07}) p()
    1.5.4/control      1.5.3/control    .                    -  30 r s('a' {7f}) p()
    1.5.4/control      1.5.3/control    .                    -  30 r s('a' {c285}) p()
    1.5.4/control      1.5.3/control    .                    -  30 r s({efbfbe} 'a') p()
    1.5.4/control      1.5.3/control    .                    -  30 r s({efb790} 'a') p()
    1.5.4/control      1.5.3/control    .                    -  30 r s({f48fbfbf}) p()
    1.5.4/control      .                .                    -  30 r s'a' p(26 s'k' s('a' {0a}))

    # topics
    3.3.2-2            3.3.2-2          3.3/wildcard         -  30 r s('a/' {'+'}) p()
    3.3.2-2            3.3.2-2          3.3/wildcard         -  30 r s({'#'} 'a+') p()
    3.3.2-14           .                .                    -  30 r s'a' p(08 s('a/' {'#'}))
    4.7.0-1            4.7.1-1          A/wildcard-name      -  10 r @ 06 003c p() s'a' p() s('a/' {'+'} '/b') s''
    .                  4.7.3-1          A/empty              -  30 r {s''} p()
    4.7.3-1            4.7.3-1          A/empty              -  10 r @ 06 003c p() s'a' p() {s''} s''
    4.7.3-1            4.7.3-1          A/empty              -  82 r 0001 p() {s''} 00
    4.7.3-1            4.7.3-1          A/empty              -  a2 r 0001 p() s'a' {s''}
    4.7.3-1            .                .                    -  30 r s'a' p(08 {s''})
    4.7.1-1            4.7.1-2          A/hash               -  82 r 0001 p() s('a' {'#'}) 00
    4.7.1-1            4.7.1-2          A/hash               -  82 r 0001 p() s('a/' {'#'} '/b') 00
    4.7.1-1            4.7.1-2          A/hash               -  a2 r 0001 p() s('a/' {'#'} '#')
    4.7.1-1            .                .                    -  82 r 0001 p() s('$share/g/a' {'#'}) 00
    4.7.1-2            4.7.1-3          A/plus               -  82 r 0001 p() s('+/b' {'+'} '/c') 00
    4.7.1-2            4.7.1-3          A/plus               -  a2 r 0001 p() s({'+'} 'b')
    4.7.1-2            .                .                    -  82 r 0001 p() s('$share/g/' {'+'} 'b') 00
    4.8.2-1            .                .                    -  82 r 0001 p() s({'$share//a'}) 00
    4.8.2-1            .                .                    -  82 r 0001 p() s({'$share/'}) 00
    4.8.2-2            .                .                    -  82 r 0001 p() s('$share/a' {'+'} 'b/c') 00
    4.8.2-2            .                .                    -  82 r 0001 p() s('$share/' {'#'}) 00
    4.8.2-2            .                .                    -  82 r 0001 p() s({'$share/a'}) 00
    4.8.2-2            .                .                    -  a2 r 0001 p() s({'$share/a/'})
    .                  .                2.2/topic-length     -  30 r s({'a'*32768})
    .                  .                2.2/topic-length     -  82 r 0001 s({'a'*32768}) 00
    .                  .                3.1/client-id        -  10 r @ 02 003c {s''}
    .                  .                3.1/client-id        -  10 r @ 02 003c s({'a'*24})
    .                  .                3.1/will-ascii       -  10 r @ 06 003c s'a' s't' s('a' {c3a9} 'b')

    # packet identifiers
    2.2.1-3            2.3.1-1          2.4/zero             -  32 r s'a' {0000} p()
    2.2.1-3            2.3.1-1          2.4/zero             >  32 r s'a' {0000} p()
    2.2.1-4            2.3.1-1          2.4/zero             <  34 r s'a' {0000} p()
    2.2.1-3            2.3.1-1          2.4/zero             -  82 r {0000} p() s'a' 00
    2.2.1-3            2.3.1-1          2.4/zero             >  a2 r {0000} p() s'a'
    2.2.1/zero         2.3.1/zero-ack   2.4/zero             -  40 r {0000}
    2.2.1/zero         2.3.1/zero-ack   2.4/zero             -  50 r {0000}
    2.2.1/zero         2.3.1/zero-ack   2.4/zero             <  62 r {0000}
    2.2.1/zero         2.3.1/zero-ack   2.4/zero             -  70 r {0000}
    2.2.1/zero         2.3.1/zero-ack   2.4/zero             -  90 r {0000} p() 00
    2.2.1/zero         2.3.1/zero-ack   2.4/zero             -  b0 r {0000} p() v5(00)

    # bits
    2.1.3-1            2.2.2-1          .                    -  {1f}&0f r @ 02 003c p() s'a'
    2.1.3-1            2.2.2-1          .                    -  {28}&0f r 0000 p()
    2.1.3-1            2.2.2-1          .                    -  {42}&0f r 0001
    2.1.3-1            2.2.2-1          .                    -  {94}&0f r 0001 p() 00
    2.1.3-1            2.2.2-1          .                    -  {c1}&0f 00
    3.6.1-1            3.6.1-1          .                    -  {60}&0f r 0001
    .                  .                3.6/qos              -  {60}&06 r 0001
    3.6.1-1            3.6.1-1          .                    -  {6a}&0f r 0001
    3.8.1-1            3.8.1-1          .                    -  {80}&0f r 0001 p() s'a' 00
    .                  .                3.8/qos              -  {80}&06 r 0001 s'a' 00
    3.8.1-1            3.8.1-1          .                    -  {8a}&0f r 0001 p() s'a' 00
    3.10.1-1           3.10.1-1         .                    -  {a4}&0f r 0001 p() s'a'
    .                  .                3.10/qos             -  {a4}&06 r 0001 s'a'
    3.10.1-1           3.10.1-1         .                    -  {a3}&0f r 0001 p() s'a'
    .                  .                2.1/retain-where     -  {a3}&01 r 0001 s'a'
    .                  .                2.1/retain-where     -  {63}&01 r 0001
    .                  .                2.1/retain-where     -  {83}&01 r 0001 s'a' 00
    3.14.1-1           3.14.1-1         .                    -  {e1}&0f 00
    3.15.1-1           .                .                    -  {f2}&0f r 18 p(15 s'm')
    3.1.2-3            3.1.2-3          2.6/connect-flags    -  10 r @ {03}&01 003c p() s'a'
    3.1.2-12           3.1.2-14         2.2/will-qos         -  10 r @ {1e}&18 003c p() s'a' p() s't' s''
    3.2.2-1            3.2.2.1/reserved .                    -  20 r {02}&fe 00 p()
    .                  .                2.6/connack          -  20 r {01}&ff 00
    3.3.1-4            3.3.1-4          2.1/qos3             -  {36}&06 r s'a' 0001 p()
    3.8.3-5            .                .                    -  82 r 0001 p() s'a' {40}&c0
    3.8.3.1/qos        3.8.3/options    3.8/qos3             -  82 r 0001 p() s'a' {03}&03
    3.8.3.1/retain-handling .           .                    -  82 r 0001 p() s'a' {30}&30
    .                  3.8.3/options    2.6/qos-byte         -  82 r 0001 s'a' {05}&fc

    # name and level
    3.1.2-1            .                .                    -  10 r s({'MQTX'}) 05 02 003c 00 s'a'
    3.1.2-1            .                .                    -  10 r s({'MQ' ff 00}) 05 02 003c 00 s'a'
    .                  3.1.2.1/name     .                    -  10 r s({'MQIsdp'}) 04 02 003c s'a'
    .                  .                2.2/name             -  10 r s({'MQTT'}) 03 02 003c s'a'
    3.1.2.2/level      .                .                    -  10 r s'MQTT' {06} 02 003c 00 s'a'
    3.1.2.2/level      .                .                    -  10 r s'MQTT' {85} 02 003c 00 s'a'
    .                  .                2.2/version          -  10 r s'MQIsdp' {02} 02 003c s'a'

    # codes
    3.2.2-8            3.2.2-6          2.2/return-code      -  20 r 00 {06} p()
    3.4.2-1            .                .                    -  40 r 0001 {01}
    3.5.2-1            .                .                    -  50 r 0001 {92}
    3.6.2-1            .                .                    -  62 r 0001 {91}
    3.7.2-1            .                .                    -  70 r 0001 {80}
    3.9.3-2            3.9.3-2          3.9/code             -  90 r 0001 p() 00 {03}
    .                  .                3.9/code             -  90 r 0001 {80}
    3.11.3-2           .                .                    -  b0 r 0001 p() {01} 11
    3.14.2-1           .                .                    -  e0 r {01}
    3.15.2-1           .                .                    -  f0 r {01} p(15 s'm')

    # lists
    3.8.3-2            3.8.3-3          3.8/empty            -  82 r 0001 p() {}
    3.10.3-2           3.10.3-2         3.10/empty           -  a2 r 0001 p() {}
    .                  3.9.3/empty      .                    -  90 r 0001 {}

    # properties
    3.3.2-8            .                .                    -  30 r s'a' p(23 {0000})
    2.2.2.2/zero       .                .                    -  82 r 0001 p(0b {00}) s'a' 00
    2.2.2.2/zero       .                .                    -  10 r @ 02 003c p(21 {0000}) s'a'
    2.2.2.2/zero       .                .                    -  20 r 0000 p(27 {00000000})
    2.2.2.2/range      .                .                    -  30 r s'a' p(01 {02})
    2.2.2.2/range      .                .                    -  20 r 0000 p(24 {02} 25 01)
    2.2.2.2/not-allowed .               .                    -  40 r 0001 00 p({23 0000})
    2.2.2.2/not-allowed .               .                    -  32 r s'a' 0001 p({11 00000000} 01 00)
    2.2.2.2/not-allowed .               .                    -  10 r @ 06 003c p() s'a' p({23 0001}) s't' s''
    2.2.2.2/not-allowed .               .                    -  10 r @ 06 003c p({18 00000001}) s'a' p() s't' s''
    2.2.2.2/repeated   .                .                    -  30 r s'a' p(01 00 {01 01} 01 00)
    2.2.2.2/repeated   .                .                    -  10 r @ 06 003c p() s'a' p(01 00 {01 00}) s't' s''
    2.2.2.2/repeated   .                .                    -  82 r 0001 p(0b 01 {0b 02}) s'a' 00
""")

NEAR = rows("""
    # every character that a string may hold
    1.5.4-1,3.3.2-1        3.3.2-1          3.3/topic              -  30 r s(f48fbfbd ed9fbf ee8080 efbfbd efbbbf) p()
    1.5.4-2,1.5.4/control  1.5.3-2,1.5.3/control  .                -  10 r @ 02 003c p() s' ~'
    1.5.7-1                .                .                      -  30 r s'a' p(26 s'' s'' 26 s'' s'')
    .                      .                2.5/java,2.5/string    -  10 r @ 02 003c s(00 07)
    3.1.3-4                3.1.3-4          .                      -  10 r @ 02 003c p() s(c3a9)
    3.1.3-11               3.1.3-10         3.1/will-topic         -  10 r @ 06 003c p() s'a' p() s(c3a9) s''
    3.1.3-12               3.1.3-11         .                      -  10 r @ 82 003c p() s'a' s(c3a9)
    3.3.2-13,3.3.2-14      .                .                      -  30 r s'a' p(08 s(c3a9))
    3.3.2-19               .                .                      -  30 r s'a' p(03 s'+/#')
    3.8.3-1                3.8.3-1          3.8/pairs              -  82 r 0001 p() s(c3a9) 00
    3.10.3-1               3.10.3-1         3.10/strings           -  a2 r 0001 p() s(c3a9)
    4.7.3-2                4.7.3-2          A/null                 -  30 r s'0' p()

    # topics
    3.3.2-2                3.3.2-2          3.3/wildcard           -  30 r s'/ /*/$' p()
    4.7.0-1,4.7.3-1        4.7.1-1,4.7.3-1  A/wildcard-name,A/empty -  10 r @ 06 003c p() s'a' p() s'/' s''
    4.7.3-1                .                .                      -  30 r s'' p(23 0001)
    4.7.1-1                4.7.1-2          A/hash                 -  82 r 0001 p() s'a/#' 00 s'#' 00 s'+/+/#' 00
    4.7.1-2                4.7.1-3          A/plus                 -  a2 r 0001 p() s'+' s'a/+' s'+/a/+/b' s'/+/'
    4.8.2-1                .                .                      -  82 r 0001 p() s'$share' 00 s'$share/g/+' 00
    4.8.2-1                .                .                      -  82 r 0001 p() s'$shared/+' 00
    4.8.2-2                .                .                      -  82 r 0001 p() s'$share/ /#' 00 s'$share/g//' 00
    .                      4.7.1-2,4.7.1-3  A/hash,A/plus          -  82 r 0001 s'$share//a' 00 s'$share/+' 00
    .                      .                2.2/topic-length       -  30 r s('a'*32767)
    .                      .                3.1/client-id          -  10 r @ 02 003c s('a'*23)
    .                      .                3.1/will-ascii         -  10 r @ 06 003c s'a' s't' s(7f 00)

    # packet identifiers
    2.2.1-3                2.3.1-1          2.4/zero               >  32 r s'a' 0001 p()
    2.2.1-4                2.3.1-1          2.4/zero               <  32 r s'a' 0100 p()
    2.2.1/zero             2.3.1/zero-ack   2.4/zero               -  90 r 0001 p() 00

    # bits
    2.1.3-1                2.2.2-1          .                      -  c0 00
    3.6.1-1                3.6.1-1          3.6/qos                -  62 r 0001
    .                      .                3.6/qos                -  6a r 0001
    3.8.1-1                3.8.1-1          3.8/qos                -  82 r 0001 p() s'a' 00
    .                      .                3.8/qos                -  8a r 0001 s'a' 00
    3.10.1-1               3.10.1-1         3.10/qos               -  a2 r 0001 p() s'a'
    .                      .                3.10/qos,2.1/retain-where -  aa r 0001 s'a'
    3.14.1-1               3.14.1-1         .                      -  e0 00
    3.15.1-1,3.15.2-1      .                .                      -  f0 r 18 p(15 s'm')
    3.1.2-3,3.1.2-12       3.1.2-3,3.1.2-14 2.6/connect-flags,2.2/will-qos - 10 r @ 16 003c p() s'a' p() s't' s''
    3.2.2-1                3.2.2.1/reserved .                      -  20 r 01 00 p()
    .                      .                2.6/connack            -  20 r 00 00
    3.3.1-4                3.3.1-4          2.1/qos3               -  35 r s'a' 0001 p()
    3.8.3-5,3.8.3.1/qos,3.8.3.1/retain-handling . .                -  82 r 0001 p() s'a' 2e
    .                      3.8.3/options    3.8/qos3,2.6/qos-byte  -  82 r 0001 s'a' 02

    # name, level and codes
    3.1.2-1,3.1.2.2/level  3.1.2.1/name,3.1.2.2/level 2.2/name,2.2/version - 10 r @ 02 003c p() s'a'
    3.2.2-8                3.2.2-6          2.2/return-code        -  20 r 00 v5(9f) v3(05) p()
    3.4.2-1                .                .                      -  40 r 0001 10
    3.5.2-1                .                .                      -  50 r 0001 99
    3.6.2-1                .                .                      -  62 r 0001 92
    3.7.2-1                .                .                      -  70 r 0001 00
    3.9.3-2                3.9.3-2          .                      -  90 r 0001 p() 00 01 02 80
    .                      .                3.9/code               -  90 r 0001 00 01 02
    3.11.3-2               .                .                      -  b0 r 0001 p() 00 11 80
    3.14.2-1               .                .                      -  e0 r 04

    # lists and properties
    3.8.3-2                3.8.3-3          3.8/empty              -  82 r 0001 p() s'a' 00
    3.10.3-2               3.10.3-2         3.10/empty             -  a2 r 0001 p() s'a'
    .                      3.9.3/empty      .                      -  90 r 0001 00
    3.3.2-8                .                .                      -  30 r s'a' p(23 0001)
    2.2.2.2/zero           .                .                      -  20 r 0000 p(21 0001 27 00000001 22 0000)
    2.2.2.2/range          .                .                      -  20 r 0000 p(24 01 25 00 28 00)
    2.2.2.2/not-allowed    .                .                      -  10 r @ 06 003c p(19 00) s'a' p(01 00) s't' s''
    2.2.2.2/repeated       .                .                      -  10 r @ 02 003c p(26 0000*2 26 0000*2) s'a'
    2.2.2.2/repeated       .                .              -  10 r @ 06 003c p(26 0000*2) s'' p(26 0000*2) s't' 0000
    2.2.2.2/repeated       .                .                      -  30 r s'a' p(0b 01 0b 02)
    2.2.2.2/repeated       .                .                      <  30 r s'a' p(0b 01 0b 01)
""")


test_what_is_marked_is_the_only_finding = table_test(FAULTS, assert_one_fault)
test_a_near_miss_has_no_finding = table_test(NEAR, assert_no_fault)


def found(text: str, version: Version = Version.V5, sender: Direction | None = None) -> list[str]:
    """Return the messages of what lint finds."""
    return [each.message for each in Row((), version, sender, text).found()]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("30 r s'a+' p()", "Topic Name holds the wildcard +"),
        ("30 r s'#+' p()", "Topic Name holds the wildcard + and #"),
        ("30 r s('a' ff fe) p()", "Topic Name holds ff fe, which is not UTF-8"),
        ("30 r s(80*9) p()", "Topic Name holds 80 80 80 80 80 80 80 80 and 1 byte more, which is not UTF-8"),
        ("30 r s(80*10) p()", "Topic Name holds 80 80 80 80 80 80 80 80 and 2 bytes more, which is not UTF-8"),
        ("30 r s(00) p()", "Topic Name holds U+0000"),
        ("30 r s(f09fbfbe) p()", "Topic Name holds U+1FFFE, which a string should not hold"),
        ("30 r s'a' p(26 s(00) s'')", "User Property name holds U+0000"),
        ("30 r s'a' p(08 s'+')", "Response Topic holds the wildcard +"),
        ("34 r s'a' 0000 p()", "Packet Identifier is 0, but must be 1 or more"),
        ("36 r s'a' 0001 p()", "QoS is 3, but must be 0, 1 or 2"),
        ("62 r 0001 10", "Reason Code is 0x10, but PUBREL has no such code"),
        ("82 r 0001 p()", "SUBSCRIBE has no Subscription, but must have 1 or more"),
        ("a2 r 0001 p()", "UNSUBSCRIBE has no Topic Filter, but must have 1 or more"),
        ("82 r 0001 p() s'a' 00 s'b' 33", "Retain Handling is 3, but must be 0, 1 or 2"),
        ("10 r s('M' 00) 05 02 003c 00 s'a'", "Protocol Name is 'M\\x00', but must be 'MQTT'"),
        (
            "10 r s('x'*30) 05 02 003c 00 s'a'",
            f"Protocol Name is {'x' * 24!r} and 6 more characters, but must be 'MQTT'",
        ),
        ("40 r 0001 00 p(23 0001)", "Topic Alias is in PUBACK, where it is not allowed"),
        ("10 r @ 06 003c p() s'a' p(23 0001) s't' s''", "Topic Alias is in the will, where it is not allowed"),
        ("30 r s'a' p(23 0001 23 0001)", "Topic Alias occurs 2 times, but may occur only once"),
    ],
)
def test_a_value_is_quoted_with_what_it_must_be(text: str, message: str) -> None:
    if "holds 80" in message or "3," in message or "Retain" in message:
        assert message in found(text)
    else:
        assert found(text) == [message]


def test_the_path_of_a_finding_in_a_property_names_the_whole_property() -> None:
    (alias,) = Row((), Version.V5, None, "30 r s'a' p(23 0000)").found()
    (name,) = Row((), Version.V5, None, "30 r s'a' p(26 s(00) s'')").found()
    assert (alias.path, name.path) == ("publish.properties.topic_alias", "publish.properties.user_property.name")


def test_two_faults_in_one_string() -> None:
    assert found("30 r s(ff eda080) p()", Version.V31) == [
        "Topic Name holds ff, which is not UTF-8",
        "Topic Name holds ed a0 80, which only Java's form of UTF-8 has",
    ]
    assert found("30 r s('a' 00 '+') p()") == ["Topic Name holds U+0000", "Topic Name holds the wildcard +"]


def test_what_was_read_before_a_cut_is_judged() -> None:
    assert [each.statement for each in Row((), Version.V5, None, "30 40 s'+' 05").found()] == [
        "MQTT5-2.1.4/short", "MQTT5-3.3.2-2",
    ]  # fmt: skip


def test_a_list_that_was_cut_off_is_not_reported_as_empty() -> None:
    assert [each.statement for each in Row((), Version.V5, None, "82 r 0001 p() 0005").found()] == ["MQTT5-2.1.4/short"]


def test_an_empty_list_is_placed_before_trailing_bytes() -> None:
    row = Row(("MQTT5-3.8.3-2",), Version.V5, None, "82 03 0001 00 {} ffff")
    assert row.found()[0].span == case(row.text, row.version).marks[0].span
