"""Bytes that somebody wrote down, and the packets in them: hex, dumps, arrays, strings, base64, logs, transcripts.

A SourceText keeps the place of each character; a TextSpan is a part of it, so that errors (BadText) name line and
column. A TextPiece is bytes that were written together. Large files are read part by part (`rows`, `runs`).
"""
