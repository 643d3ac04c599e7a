"""The command `pub`, from its request to its exit status.

`run` drives: the gate (`cli/observe`) checks the packets, `feed` makes source and outbox (`lines`, `messages` and
`json_messages` read standard input), a Publisher of `live` sends, the observers show packets and findings, `outcome`
counts, reports and returns the RunResult, whose status is the exit status.
"""
