"""How a receiver of MQTT 5.0 answers a fault: the Reason Codes that the text names."""

_LABELS = {
    0x81: """
        1.5.4-1 1.5.4-2 1.5.4/control 1.5.5-1 1.5.7-1 2.1.3-1 2.2.2.2/not-allowed 3.1.2-3 3.1.2-12 3.1.3-4
        3.1.3-11 3.1.3-12 3.3.1-4 3.3.2-1 3.3.2-13 3.3.2-19 3.6.1-1 3.8.1-1 3.8.3-1 3.8.3-5 3.10.1-1 3.10.3-1
        3.14.1-1 3.15.1-1 4.7.3-2
    """,
    0x82: """
        2.1.2/direction 2.2.2.2/range 2.2.2.2/repeated 2.2.2.2/zero 3.1.2-11 3.1.2-13 3.1.2.11.10/method
        3.3.2.1/empty 3.8.3-2 3.8.3-4 3.8.3.1/qos 3.8.3.1/retain-handling 3.10.3-2 3.15.2.2.2/method
    """,
    0x84: "3.1.2-1 3.1.2.2/level",
    0x94: "3.3.2-8",
    0x99: "3.3.2.3.2/utf8",
}
"""Statements of 5.0 by the code of their answer: Malformed Packet, Protocol Error and so on."""

ANSWERS = {f"MQTT5-{label}": code for code, labels in _LABELS.items() for label in labels.split()}
"""Reason Code of the answer by the id of the broken statement; no entry where the text names none."""
