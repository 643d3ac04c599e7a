"""The specifications of MQTT 3.1, 3.1.1 and 5.0 as data: each fact is written once, everything else is derived from it.

    versions      Version, Direction
    declare       Field, Group, Packet: the words in which a packet is declared
    packets       the fifteen control packets
    properties    the 27 properties, a row each; a new property is one row here and nothing elsewhere
    reason_codes  Reason Codes and Return Codes, by packet and version
    constraints   Constraint: a demand on one value, with a StatementRef to the statements that make it
    statements    every normative statement by id, from data/statements-*.tsv
    concepts      words such as QoS and Keep Alive, for `explain`

An id of a statement names its version (`MQTT5-3.3.1-2`), as the same number means different things in 3.1.1 and 5.0.
May import only `common` and `wire`. Nothing here reads bytes or knows a connection.
"""
