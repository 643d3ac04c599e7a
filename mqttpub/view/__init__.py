"""Packets and traffic for people and programs to read: on a terminal, in a browser, as JSON, as other tools do.

The folders, each on top of the ones before: `terminal` (cells, styles, tables, progress), `form` (text that many
packets share, with slots for values), `packet` (one packet: dump, JSON record), `traffic` (many packets: lines,
exchanges, statistics, findings), then `diagram`, `export` and `page`.

A *line* is a list of segments, each a text and the name of its style; `terminal.style.show` writes lines. A *fact* is a
short styled text about a packet. Times are nanoseconds since 1970 unless a name says otherwise; widths are terminal
cells.

Invariants: text that a peer sent passes `common.escape` before it reaches a line; secrets are masked unless asked for;
anything cut says how much is missing. Must not import `live`, `capture`, `columns`, `spark` or `cli`; rich is imported
only to draw on a terminal.
"""
