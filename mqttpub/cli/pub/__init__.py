"""The command `pub`, from its request to its exit status.

`run` drives: `gate` checks the packets, `feed` makes source and outbox (`lines`, `messages` and `json_messages` read
standard input), a Publisher of `live` sends, `inspect` and `watch` show packets and findings (`observers` makes them),
`outcome` counts, reports and returns the RunResult, whose status is the exit status.
"""
