"""What `decode` does with its request: events of connections drawn by a view, packets of text, or a table of rows.

`views` is the table of views, `events` reads and draws, `text` shows packets of text byte for byte, `table` writes
Parquet and Arrow. Must not import `live` or paho.
"""
