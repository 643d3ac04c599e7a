"""The command `step`: scripts played against a broker, and `send`, which shares how they are played.

`scripts` finds and reads them, `run` plays them and prints how each ended, `report` draws a failure, `results` writes
JUnit XML. `serve` plays the server's end, for `broker --script`. `prompt` is the conversation that a user drives,
`editing` changes its packets. What is quoted of a script passes `masked`.
"""
