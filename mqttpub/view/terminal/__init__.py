"""Drawing on a terminal: styles, tables, progress."""
