"""Faults on request: packets that are delayed, lost, changed or cut on their way, the same ones for the same seed.

    faults       the rules of one run; a link applies them to both directions of a connection
    lane         one direction of a link: what is held there, in which order and how long
    rules        the text of a rule: a pattern of `--filter` and an action

Each module imports only from those below it. No sockets: a link takes bytes as they came and writes to a `FaultedEnd`.
Times are seconds on the clock of the loop, sizes are bytes; what is held is bounded by `lane.MOST_HELD_BYTES`.
"""
