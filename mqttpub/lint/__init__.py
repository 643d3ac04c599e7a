"""Checking packets and conversations against the statements of the specification.

Nouns: a `Rule` (`registry`) is a check and the packets it is called for. It reports a `Fault` (`fault`) at a field,
which becomes a `codec.tree.Finding` with the id, the severity and the Reason Code of its statement
(`spec/data/statements-*.tsv`). `packet` checks one packet by itself, `connection` the packets of one connection in
their order. `Judge` does both for all connections of a capture, `Coverage` counts which statements packets put to
the test, and `gate` refuses packets that must not be sent.

Invariants: peer bytes never raise; one fault causes one finding, under the most specific statement; nothing is
reported that the bytes seen do not prove, so after a gap the rules forget what may have changed.

Imports spec, codec, traffic and common only.
"""
