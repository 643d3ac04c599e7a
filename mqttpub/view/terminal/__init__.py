"""Drawing on a terminal: widths in cells, styles, tables, Markdown, progress. Knows nothing of MQTT."""
