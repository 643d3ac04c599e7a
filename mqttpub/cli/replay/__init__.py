"""The command `replay`: the client sides of a capture again, against a broker.

`run` plays and reports, `report` puts what is found into lines; the playing itself is `lab.replay`.
"""
