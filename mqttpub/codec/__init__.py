"""Packets to bytes and back, along the declarations in `spec`; no module here knows a packet's fields by name.

    framing          where a packet ends, and the head of a PUBLISH
    fast_decode      one walk of the declared fields as source text, and what reads well-formed packets compiled from it
    field_ends       where the fields of a well-formed packet end, without their values
    connect_version  the version that a CONNECT announces, or is read by
    decode           bytes to a tree of nodes with their places, or to a packet alone
    encode           a packet to bytes; from_json: a JSON record to a packet
    stream           chunks of a byte stream to whole packets
    frame_runs       packets of one type and length that follow one another, cut out of a stream together
    publish_writer   many PUBLISH packets that differ in payload and Packet Identifier only

There are three readers of MQTT bytes, because each step up in speed gives something up; tests compare them with one
another (tests/codec/test_fast_decode.py, tests/columns/decode). Processor time per packet on the traffic of
tests/benchmarks/decode.py:

    decode           19 us    every field with its place, a finding for every violation of structure
    decode_packet    1.3 us   the values only; whatever is not well-formed goes to `decode`
    columns/decode   0.4 us   Arrow columns of a whole batch at once; needs numpy, rare packets go to `decode_packet`

Bytes never raise: every violation becomes a finding. Spans are offsets in bytes from the first byte of the packet.
May import only `common`, `wire` and `spec`; no sockets, no clocks, no screen.
"""
