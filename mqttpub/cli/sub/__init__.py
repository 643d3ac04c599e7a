"""The command `sub`, from its request to its exit status.

`run` drives: a Subscriber of `live` receives, `wanted` says which messages count, and a MessageOutput takes those. They
become `lines`, `records` (JSON Lines), what a `format_string` says (mosquitto's format letters), `files`, or rows of
the `board` of --watch.
"""
