"""What `pipeline` does with its flags.

`request` makes the request of a run of them, `run` runs it, `report` queries its tables.
"""
