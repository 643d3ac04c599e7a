"""Payloads: from what the user typed or named to the bytes that are sent.

A *converter* takes bytes and returns bytes: text, JSON, hex and base64 are checked or decoded, and JSON becomes CBOR,
MessagePack, Protocol Buffers or Avro. A *bytes argument* is the notation of any flag whose value is bytes on the wire.

Errors are ValueError with the place of the fault: a line and column, or the JSONPath of a value. The libraries of the
extra `formats` are imported only by the format that needs them. Nothing here knows packets or the command line.
"""
