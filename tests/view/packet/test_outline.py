"""Trees as lists of entries."""

from mqttpub.codec.decode import decode
from mqttpub.codec.encode import encode
from mqttpub.codec.tree import Decoded
from mqttpub.spec.packets import Publish, Suback, Unsubscribe
from mqttpub.spec.versions import Version
from mqttpub.view.packet.outline import ByteRun, Outline, OutlineEntry
from tests.view.samples import CONNECT, SUBSCRIBE, WALKTHROUGH, of


def entries(decoded: Decoded, *, secrets: bool = False) -> list[OutlineEntry]:
    """Return the entries of a packet."""
    return list(Outline(decoded, limit=None, secrets=secrets, room=40).entries())


def labels(decoded: Decoded) -> list[str]:
    """Return the indented labels of a packet."""
    return ["  " * entry.depth + entry.label for entry in entries(decoded)]


def entry(decoded: Decoded, label: str, **options: bool) -> OutlineEntry:
    """Return the first entry with a label."""
    return next(each for each in entries(decoded, **options) if each.label == label)


def test_entries_are_in_wire_order_and_indented() -> None:
    shown = labels(decode(WALKTHROUGH))
    assert shown[1:] == [
        "  Packet type", "  DUP", "  QoS", "  RETAIN", "Remaining Length", "Topic Name", "Property Length",
        "  Message Expiry Interval", "  Response Topic", "Payload",
    ]  # fmt: skip


def test_a_group_has_a_heading() -> None:
    shown = labels(of(CONNECT))
    at = shown.index("Will")
    assert shown[at + 1 : at + 5] == ["  Property Length", "    Will Delay Interval", "  Will Topic", "  Will Payload"]


def test_lists_are_numbered() -> None:
    shown = labels(of(SUBSCRIBE))
    assert shown.index("Subscription 1") < shown.index("  Topic Filter") < shown.index("Subscription 2")
    assert labels(of(Suback(packet_id=1, reason_codes=(0, 1))))[-2:] == ["Reason Code 1", "Reason Code 2"]
    assert labels(of(Suback(packet_id=1, reason_codes=(0,))))[-1] == "Reason Code"
    data = encode(Unsubscribe(packet_id=1, filters=("a", "b")), Version.V5)
    assert labels(decode(data[:-1]))[-2:] == ["Topic Filter 1", "Topic Filter"]


def test_a_property_is_one_entry_in_several_colours() -> None:
    assert entry(decode(WALKTHROUGH), "Response Topic").parts == (
        ByteRun(17, 18, "property"), ByteRun(18, 20, "length"), ByteRun(20, 28, "text"),
    )  # fmt: skip
    assert entry(decode(WALKTHROUGH), "Response Topic").content == 20


def test_secret_parts_are_masked() -> None:
    password = entry(of(CONNECT), "Password")
    assert [(part.stop - part.start, part.style, part.masked) for part in password.parts] == [
        (2, "length", False), (7, "secret", True),
    ]  # fmt: skip
    assert not any(part.masked for part in entry(of(CONNECT), "Password", secrets=True).parts)


def test_a_truncated_password_is_masked_after_its_length() -> None:
    data = encode(CONNECT, Version.V5)
    parts = entry(decode(data[:-3]), "Password").parts
    assert [(part.stop - part.start, part.style, part.masked) for part in parts] == [
        (2, "gap", False), (4, "gap", True),
    ]  # fmt: skip


def test_bits_know_which_bits_come_later() -> None:
    shown = entries(decode(WALKTHROUGH))[:5]
    assert [each.octet for each in shown] == [True, False, False, False, False]
    assert [each.mask for each in shown[1:]] == [0xF0, 0x08, 0x06, 0x01]
    assert [each.later for each in shown[1:]] == [0x0F, 0x07, 0x01, 0x00]


def test_an_empty_payload_is_shown() -> None:
    last = entries(of(Publish(topic="t")))[-1]
    assert (last.label, last.parts, last.about.inline) == ("Payload", (), [("empty", "payload")])
    assert last.start == last.stop == 0


def test_properties_that_were_cut() -> None:
    for text, label, words in [
        ("30050001610123", "Topic Alias", "no value"),
        ("3006000161022300", "Topic Alias", "unreadable, 1 byte"),
        ("3009000161052600016100", "User Property", "unreadable, 1 byte"),
        ("3005000161017f", "Property 0x7f", "no value"),
        ("300500016101ff", "Property identifier", "unreadable, 1 byte"),
    ]:
        found = entries(decode(bytes.fromhex(text)))
        assert any((each.label, each.about.inline[:1]) == (label, [(words, "gap")]) for each in found), text


def test_a_pair_that_was_cut() -> None:
    found = entry(decode(bytes.fromhex("3009 000161 05 26 0001 61 00")), "User Property")
    assert [part.style for part in found.parts] == ["property", "length", "text", "gap"]
    found = entry(decode(bytes.fromhex("3008 000161 04 26 0001 61")), "User Property")
    assert "".join(text for text, _ in found.about.inline) == '"a"  1 byte  no value'
