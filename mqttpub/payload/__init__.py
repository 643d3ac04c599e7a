"""Formats of payloads: JSON, CBOR, MessagePack, Protobuf, Avro."""
