"""The formats of other tools: PDML and JSON as tshark writes them, and SARIF.

`tshark_fields` holds tshark's name and notation of every field, once for both of its formats.
"""
