"""The command `respond`, from its request to its exit status.

`run` drives: a Subscriber of `live` receives requests, `accept` says which are answered and where, `command` runs a
command for each, and a Sender publishes what it prints.
"""
