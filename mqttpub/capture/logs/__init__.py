"""Text of any kind, settled as a whole: which lines hold bytes, in which notation, and where the direction stands.

`cleaning` makes a LogLine of a line: colours, times and addresses are no bytes. `numbers` and `quoted` find what may be
bytes in it (Found), each in a form: a notation and what is around it. `settle` decides for some lines together which
forms hold packets, and in which radix (Reading), by what `assembly` can cut from them; `directions` finds out what words
and columns say of the sender. `calls` reads strace, `frames` takes the headers off dumps of network frames. `account`
counts what was taken and skipped (Log), `read` is the way in. Imports `text` and `protocol`.
"""
