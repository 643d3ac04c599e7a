"""Rules of a conversation: the packets of both peers in order, with their times, and how the connection ended.

Nouns: a `Conversation` feeds packets to the rules of one connection. `ConnectionState` is what the rules know of it,
with two `Peer` objects; an `IdentifierInUse` is a request or a message that is not finished. A rule counts a
`TestPoint` in `state.exercised` each time its statements are put to the test, and calls `state.fault` when one is
violated. Times are nanoseconds of any clock (`_ns`), packets are counted from 1 over both directions (`number`).

A new rule: a function with `@rule` in the module of its subject, its statement as a row of
`spec/data/statements-*.tsv`, and its lines in `tests/lint/connection/faults.txt` and `near.txt`. If its packets may
be in a run, `@rule(..., runs=...)` says what stands for it there (`registry.InRuns`, `run`). A new module also takes
its place in `conversation.RULE_MODULES`, whose order is the order in which the rules see a packet: a Packet
Identifier is taken before messages in flight are counted, and an alias is resolved before its topic is used.

Who writes which attribute of the ConnectionState and of the Peer that sent the packet; all may read. `forget` of both
resets what unseen bytes may have changed.

    conversation  state: number, time_ns, size_bytes, data, version, faults; topic = None at the end;
                  of an unreadable CONNECT or CONNACK: connect_number, connect_error, version_announced, connack_number
                  peer: packets, last_ns
    connect       state: connect, connect_number, connect_error, connack, connack_number, connack_time_ns,
                  version_announced, new_session, auth_method, problem_information, early_packets, pending_limits,
                  only_auth_sent, check_order; complete = False if the first packet is not CONNECT
                  peer: limits, constrained, refused_number, reason_code, closing_since_ns;
                  disconnect_number = 0 once a packet after DISCONNECT is reported
    auth          state: reauthenticating
    keepalive     state: server_keep_alive
                  peer: keep_alive_s, silence_ns, silence_reported, pings
    publish       state: held_bytes
                  peer: in_use, in_flight, qos0_count, ids_reused_early, refused_ids, repeats_due
    acks          peer, and the other peer: in_use, finished, in_flight, refused_ids, repeats_due, ids_reused_early,
                  last_acked, last_released
    aliases       state: topic, aliases
                  peer: aliases_valid
    limits        nothing
    subscribe     state: subscriptions, held_bytes
                  the other peer: in_use, answered_requests, answered_multiple, repeats_due
    deliver       state: retained
    loopback      state: published
    close         state: first_disconnect_ns, end_reported, check_order
                  peer: disconnect_number, reason_code, closing_since_ns, closed
    must_close    state: must_close (its functions are called by connect, publish, acks, keepalive, subscribe)

`run` writes a peer's follows_runs, and what conversation does, for many packets without findings at once. Whoever
changes a rule changes what it declares as `runs`, too; `tests/columns/runs` compares both ways.

`traffic.exchanges` pairs the same packets for another purpose. It reports each exchange once, when it is over, and
forgives what it can (a resumed session, a superseded identifier); the rules here judge each packet when it comes,
need every repeat, and must not guess. Sharing one state would make either wrong, so there are two.

Imports nothing of live, capture, view or columns.
"""

from ..registry import Tally, checkable
from .conversation import Conversation

__all__ = ["Conversation", "Tally", "checkable"]
