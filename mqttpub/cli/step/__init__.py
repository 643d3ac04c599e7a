"""The command `step`: scripts played against a broker.

`scripts` finds and reads them, `run` plays them and prints how each ended, `report` draws a failure.
"""
