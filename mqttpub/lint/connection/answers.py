"""How a receiver of MQTT 5.0 answers what breaks a rule of the conversation: the Reason Codes that the text names."""

from ..packet.answers import ANSWERS as OF_PACKETS

_LABELS = {
    0x82: """
        3.1.0-1 3.1.0/once 3.1.2-30 3.2.0-2 3.14.2.2.2/expiry 3.3.4/alias-unset 4.12.0-7 4.12.1-1
    """,
    0x93: "3.3.4-7 3.3.4-9",
    0x94: "3.2.2-17 3.2.2-18 3.1.2-26 3.1.2-27",
    0x95: "3.2.2-15 3.1.2-24",
    0x9A: "3.2.2-14",
    0x9B: "3.2.2-11",
    0x9E: "3.2.2.3.13/shared",
    0xA1: "3.2.2.3.12/identifier",
    0xA2: "3.2.2.3.11/wildcard",
}
"""Statements of 5.0 by the code of their answer."""

ANSWERS = OF_PACKETS | {f"MQTT5-{label}": code for code, labels in _LABELS.items() for label in labels.split()}
"""Reason Code of the answer by the id of the broken statement; no entry where the text names none."""
