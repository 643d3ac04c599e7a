"""Findings of the decoder, under the most specific statement."""

import pytest

from mqttpub.lint.packet.specific import ABSENT, LEFT_OVER, LENGTHS
from tests.lint.marked_packets import assert_no_fault, assert_one_fault, rows, table_test

FAULTS = rows("""
    # 5.0           3.1.1            3.1              sender and bytes

    # lengths
    2.1.4/short     2.2.3/short      2.1/short        -  30 {09} s'a' p()
    2.1.4/short     2.2.3/short      2.1/short        -  30 r {0009} 'ab'
    2.1.4/short     2.2.3/short      2.1/short        -  32 r s'a' {00}
    2.1.4/short     .                2.1/short        -  10 r @ 02 {00}
    2.1.4/short     2.2.3/short      2.1/short        -  {}
    2.1.4/short     .                .                -  40 {02} 00
    2.1.4/trailing  2.2.3/trailing   2.1/trailing     -  10 r @ 02 003c p() s'a' {ff}
    2.1.4/trailing  2.2.3/trailing   2.1/trailing     -  c0 00 {00}
    2.1.4/trailing  .                .                -  c0 01 {00}
    1.5.5/length    2.2.3/length     2.1/length       -  30 {80808080} 01
    1.5.5/length    .                .                -  32 r s'a' 0001 {ffffffff} 7f
    1.5.5-1         2.2.3/shortest   2.1/shortest     -  c0 {8000}
    1.5.5-1         .                .                -  30 r s'a' {8000}
    1.5.5-1         .                .                <  30 r s'a' p(0b {8100})
    2.1.2/type      2.2.1/type       2.1/type         -  {00}&f0 00
    .               2.2.1/type       2.1/type         -  {f0}&f0 00

    # properties
    2.2.2-1         .                .                -  90 r 0001 {}
    2.2.2.1/short   .                .                -  32 r s'a' 0001 {05} 01
    2.2.2.1/short   .                .                -  32 r s'a' 0001 p(23 {00})
    2.2.2.2/unknown .                .                -  32 r s'a' 0001 p({7e} 00)

    # a field that should be there
    3.1.3-3         3.1.3-3          2.1/short        -  10 r @ 02 003c p() {}
    3.1.2-9         .                .                -  10 r @ 06 003c p() s'a' {}
    .               3.1.2-9          2.2/will-present -  10 r @ 06 003c p() s'a' {}
    3.1.2-9         3.1.2-9          2.2/will-present -  10 r @ 06 003c p() s'a' p() {}
    3.1.2-9         3.1.2-9          2.2/will-present -  10 r @ 06 003c p() s'a' p() s't' {}
    3.1.2-17        3.1.2-19         .                -  10 r @ 82 003c p() s'a' {}
    3.1.2-19        3.1.2-21         .                -  10 r @ c2 003c p() s'a' s'u' {}
    3.3.2-1         3.3.2-1          3.3/topic        -  30 r {}
    2.1.4/short     2.3.1-1          2.4/present      -  32 r s'a' {}
    2.1.4/short     2.3.1-1          2.4/present      -  82 r {}
    2.1.4/short     2.3.1-1          2.4/present      -  a2 r {}

    # a field that no flag announces
    3.1.2-16        3.1.2-18         2.1/trailing     -  10 r @ 02 003c p() s'a' {s'u'}
    3.1.2-16        .                .                -  10 r @ 42 003c p() s'a' s'p' {s'u'}
    3.1.2-16        3.1.2-18         2.1/trailing     -  10 r @ 02 003c p() s'a' {s'u' s'p'}
    3.1.2-18        3.1.2-20         2.1/trailing     -  10 r @ 82 003c p() s'a' s'u' {s'p'}
    2.1.4/trailing  3.1.2-11         2.1/trailing     -  10 r @ c2 003c p() s'a' s't' s'm' {s'u' s'p'}
    2.1.4/trailing  2.2.3/trailing   2.1/trailing     -  10 r @ 02 003c p() s'a' {s'1' s'2' s'3'}
    2.1.4/trailing  .                .                -  10 0d @ 02 003c p() s'' {s'u'}
    .               2.2.3/trailing   .                -  10 0d @ 02 003c s'a' {s'u'}

    # a length that never changes
    .               3.2.1/length     3.2/length       -  20 {r} 0000 00
    .               3.2.1/length     3.2/length       -  20 {r} 00
    .               3.4.1/length     3.4/length       -  40 {r} 0001 00
    .               3.4.1/length     3.4/length       -  40 {r}
    .               3.4.1/length     3.4/length       -  40 {04} 0001
    .               3.5.1/length     3.5/length       -  50 {r} 0001 00
    .               3.6.1/length     3.6/length       -  62 {r} 0001 00
    .               3.7.1/length     3.7/length       -  70 {r} 0001 00
    .               3.11.1/length    3.11/length      -  b0 {r} 0001 00
    .               3.12.1/length    3.12/length      -  c0 {r} 00
    .               3.13.1/length    3.13/length      -  d0 {r} 00
    .               3.14.1/length    3.14/length      -  e0 {r} 00
""")

NEAR = rows("""
    2.1.4/short,2.1.4/trailing  2.2.3/short,2.2.3/trailing 2.1/short,2.1/trailing - 30 r s'a' p()
    1.5.5/length                2.2.3/length               2.1/length             - 30 r s'a' p() 00*2097152
    1.5.5-1                     2.2.3/shortest             2.1/shortest           - 30 r s'a' p() 00*128
    2.1.2/type                  2.2.1/type                 2.1/type               - 30 r s'a' p()
    2.2.2-1                     .                          .                      - 90 r 0001 00 00
    2.2.2-1                     .                          .                      - 40 02 0001
    2.2.2-1                     .                          .                      - 40 03 0001 10
    2.2.2-1                     .                          .                      - e0 01 04
    2.2.2.1/short               .                          .                      - 32 r s'a' 0001 p(23 0001)
    2.2.2.2/unknown             .                          .                      - 30 r s'a' p(01 00)
    3.1.3-3                     3.1.3-3                    .                      - 10 r @ 02 003c p() s''
    3.1.2-9                     3.1.2-9                    2.2/will-present       - 10 r @ 06 003c p() s'a' p() s't' s''
    3.1.2-16,3.1.2-18           3.1.2-11,3.1.2-18,3.1.2-20 2.1/trailing           - 10 r @ 02 003c p() s'a'
    3.1.2-17,3.1.2-19           3.1.2-19,3.1.2-21          .                      - 10 r @ c2 003c p() s'a' s'' s''
    3.3.2-1                     3.3.2-1                    3.3/topic              - 30 r s'a' p()
    .                           2.3.1-1                    2.4/present            - 32 r s'a' 0001 p()
    .                           3.2.1/length               3.2/length             - 20 02 0000
    .                           3.4.1/length               3.4/length             - 40 02 0001
    .                           3.5.1/length               3.5/length             - 50 02 0001
    .                           3.6.1/length               3.6/length             - 62 02 0001
    .                           3.7.1/length               3.7/length             - 70 02 0001
    .                           3.11.1/length              3.11/length            - b0 02 0001
    .                           3.12.1/length              3.12/length            - c0 00
    .                           3.13.1/length              3.13/length            - d0 00
    .                           3.14.1/length              3.14/length            - e0 00
""")


test_what_is_marked_is_the_only_finding = table_test(FAULTS, assert_one_fault)
test_a_near_miss_has_no_finding = table_test(NEAR, assert_no_fault)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("40 r 0001 00", "Remaining Length is 3, but must be 2"),
        ("40 {09} 0001 00", "Remaining Length is 9, but must be 2"),
        ("10 r @ 02 003c s'a' s'u'", "3 bytes are left over that read as a User Name, but User Name Flag is 0"),
        ("30 r", "Topic Name needs 2 bytes, but 0 bytes are left"),
    ],
)
def test_a_wrong_fixed_length_names_the_right_one(text: str, message: str) -> None:
    (row,) = rows(f". 4.8.0-1 . - {text}")
    assert [each.message for each in row.found()] == [message]


def test_every_field_that_must_be_there_is_declared() -> None:
    from mqttpub.spec.packets import PACKETS

    for path in ABSENT:
        packet, *names = path.split(".")
        fields = {each.name.lower(): each for each in PACKETS.values()}[packet].fields
        for name in names[:-1]:
            fields = fields[name].item.fields
        assert names[-1] in fields


def test_tables_have_no_empty_law() -> None:
    laws = [law for _, law in LENGTHS.values()] + [row[2] for row in LEFT_OVER] + list(ABSENT.values())
    assert all(any(law) for law in laws)
