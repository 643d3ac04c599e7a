"""Bytes and positions: spans, the cursor, and the data types of MQTT.

    cursor   Span: a run of bytes; Cursor: reads within a window that it cannot leave
    types    the data types of MQTT (5.0: 1.5), each with `read` and `write`

All positions are absolute offsets in bytes. A read beyond the window raises Short, a Variable Byte Integer of more than
four bytes raises Overlong; nothing else is judged here. Imports only the standard library, nothing of mqttpub.
"""
