"""What `pipeline` does with its flags.

`request` makes the request of a run of them, `run` runs it, `tail` repeats it while sources grow, `report`
queries its tables.
"""
