"""What the packets of a Network Connection mean together, one packet after another.

Nouns: an `Event` (`events`) is a packet, a gap, a close or a remark, with the `Endpoints` of its connection. A
`ContextTracker` adds what earlier packets announced: a `PacketInContext` has the topic of its alias and the client. An
`Exchange` (`handshakes`) is a message or a request with all packets that settle it. `Statistics` adds everything up; a
`PacketFilter` (`query`) chooses packets; `topics` says what a Topic Filter matches.

Invariants: time stamps are nanoseconds since 1970 or None; order is the order of arrival, never that of time stamps;
memory is bounded, and what was dropped is counted or marked as forgotten. Each direction of a connection has its own
Packet Identifiers and Topic Aliases. Text of a peer is kept as it came: who shows it escapes it.

`columns` computes the same contexts and exchanges for whole batches, and a test holds both equal. Imports spec, codec
and common only.
"""
