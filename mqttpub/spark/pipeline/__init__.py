"""Captures to tables on a cluster.

`run` is the driver: it lists `sources`, starts a `task` for each bucket of connections, then one for each
hash slot of clients, and commits their files through the `manifest`. `job` holds the values that pass between
driver and tasks, `shuffle` those between tasks; `checkpoint` saves the state that a later run resumes from.
"""
