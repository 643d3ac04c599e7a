"""The command `copy`, from its request to its exit status.

`ends` makes a Target of what names a broker, `message` makes the PUBLISH of a copy, `feed` holds copies until they are
given, `report` counts, and `run` drives: a Subscriber of `live` takes, a Publisher gives, in turns of one thread.
"""
