"""Payloads: from what the user typed or named to the bytes that are sent.

A *converter* takes bytes and returns bytes: text, JSON, hex and base64 are checked or decoded, and JSON becomes CBOR,
MessagePack, Protocol Buffers or Avro. A *bytes argument* is the notation of any flag whose value is bytes on the wire.
In the other direction, a *reader* returns bytes in one of these formats as a JSON value, with remarks on what the value
does not show. `formats` has a row for each format; `plain`, `packed`, `sparkplug`, `protobuf` and `avro` have their
classes, and `items`, `avro_check` and `protobuf_bytes` see what the libraries do not say. `kinds` says what a payload
looks like, `json_schema` which keys and types its JSON has, and `sparkplug` reads Sparkplug B; bytes of a peer raise no
error there.

`template` has the placeholders of topics and payloads, and `csv_rows` the rows that fill them.

Errors are ValueError with the place of the fault: a line and column, the JSONPath of a value, or a byte offset. The
libraries of the extra `formats` are imported only by the format that needs them. Nothing here knows packets or the
command line.
"""
