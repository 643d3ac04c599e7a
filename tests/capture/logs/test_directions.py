"""Which words, arrows, names, addresses and ports give a direction, and which do not."""

import pytest

from mqttpub.capture.logs.cleaning import without_times
from mqttpub.capture.logs.directions import mark_of


def side(text: str) -> str:
    """Return the side that a line names, in the words of its writer; nothing for none."""
    found = mark_of(text, without_times(text))
    return found.side if found else ""


@pytest.mark.parametrize("text", [
    "MQTT_TX:", "tx", "uart-tx.data", "mqttSend", "onWrite size=3", "Sent 4 bytes", "[out]", "OUT 4", "dir=out",
    "tx_buf", "TxData", "transmitted", "-> ", "12:00:00 >>> ", "client -> broker:", "broker <- client", "C->S",
    "to the broker", "from client 4", "192.0.2.1:50000 -> 192.0.2.2:1883", "192.0.2.2:1883 <- 192.0.2.1:50000",
    "4\t192.0.2.1\t50000\t1883\t", "AT+NSOSD=0,2,",
])  # fmt: skip
def test_sent(text: str) -> None:
    assert side(text) == ">"


@pytest.mark.parametrize("text", [
    "MQTT_RX:", "rx", "RECV", "received", "onReceive", "data_in:", "[IN]",
    "IN bytearray", "read bytearray(", "<- ", "<<< ", "S->C",
    "server to client", "server -> client:", "from broker", "read 4", "+NSONMI:0,4",
    "IP 192.0.2.2.1883 > 192.0.2.1.50000:",
])  # fmt: skip
def test_received(text: str) -> None:
    assert side(text) == "<"


@pytest.mark.parametrize("text", [
    "main", "string", "ping", "boot", "routing", "inside", "txt", "matrix", "reader", "in this log", "thread",
    "SEND OK", "$ tx send", "pi@host:~ $ out", "p->x", "a>b", "<<16,26>>", "context", "printing", "input of",
])  # fmt: skip
def test_nothing(text: str) -> None:
    assert side(text) == ""
