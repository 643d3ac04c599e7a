"""The packets between two ends as a sequence diagram.

`steps` turns traffic into *steps* (arrows and texts, repeats collapsed); `ladder` draws them in a terminal, `svg` and
`mermaid` as files. All text in a step is escaped, except the name of the client.
"""
