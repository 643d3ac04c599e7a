"""Text of any kind, settled as a whole: which lines hold bytes, in which notation, and where the direction stands.

- `judging`: whether a file is text at all. `cleaning`: a line without colours, times and addresses (LogLine).
- `numbers`, `quoted`: what may be bytes in a line (Found), each in a form: a notation and what is around it.
- `directions`: what a line says of the sender (Mark). `scanning`: both together (Run), with the headings above.
- `assembly`: packets from runs (Taken): rows of dumps, packets in several lines, both directions in turn. `plausible`
  says whether bytes are packets, `frames` takes the headers off dumps of network frames, `calls` reads strace.
- `settle`: which forms hold packets, and in which radix, by what can be cut from all their runs together.
- `senders`: who sent what, by the packets that only one end sends. `account`: what was taken and skipped (Log).
- `reader`: some lines after others. `read`: the way in, which chooses between a notation alone and a log.

A form is added as a Found of `numbers` or `quoted` and its radixes; nothing else has to know it. Imports `text`,
`network` and `protocol`.
"""
