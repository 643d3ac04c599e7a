"""The notation of conversations: steps as text that people write, and programs play, judge, draw and encode.

    > publish q1 i=7 t=a p=hi; < puback i=7 c=10

A script is a sequence of steps: packets of either end, pauses, gaps and the ends of connections. `reader` turns text
into steps, `writer` packets into text; `packets` makes the bytes of a step, and compares a step with a packet;
`encoder` follows versions and variables through a script. The guide `script` describes the notation for users.

Units: times in nanoseconds, columns in characters from 1. The room imports `common`, `wire`, `spec` and `codec`, and
nothing but the standard library.
"""
