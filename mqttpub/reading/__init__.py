"""Any input as events and judged packets, for `decode`, `lint` and the pipeline.

- `input`: a file, standard input or arguments (Input, Argument), and the events of several (AllEvents).
- `text`: the one way from text to packets. `version`: the one rule by which a connection without a CONNECT gets its
  version. `located`: the place of each packet in its input.
- `follow`: packets in the context of their connection, filtered (TrafficJudge, JudgedTraffic). `judged`: events with
  their findings (EventJudge, JudgedEvent). `selection`: which findings are shown.

What the user cannot have raises `common.errors.UserError`; damaged inputs raise BadCapture, BadText or NoKeys after
the events before the damage. Times are nanoseconds since 1970, offsets and sizes bytes. Imports capture and the
layers below it, no library and nothing of view or cli. Bytes given as arguments load no reader of captures.
"""
