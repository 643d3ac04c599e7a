"""The places of fields are those of the tree."""

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mqttpub.codec.decode import decode
from mqttpub.codec.encode import encode
from mqttpub.codec.field_ends import END_OF_PROPERTIES, field_ends
from mqttpub.codec.tree import Node
from mqttpub.spec.declare import Property
from mqttpub.spec.packets import Connect, Publish, Subscribe, Subscription, Will
from mqttpub.spec.versions import Version
from tests.strategies import encoded
from tests.view.samples import wires

ONE = (Property(0x26, ("a", "b")),)


def ends_of(node: Node) -> Iterator[int]:
    """Yield the ends of the fields of a tree: properties and bytes of bits as a whole."""
    if node.children and node.kind not in ("octet", "property"):
        for child in node.children:
            yield from ends_of(child)
    else:
        yield node.span.stop


@settings(deadline=None, derandomize=True, max_examples=100)
@given(st.sampled_from(Version).flatmap(lambda version: st.tuples(encoded(version), st.just(version))))
def test_the_ends_are_those_of_the_tree(wire: tuple[bytes, Version]) -> None:
    data, version = wire
    decoded = decode(data, version)
    found = field_ends(data, decoded.version)
    if not decoded.findings:
        assert found is not None
        assert found[0] == list(ends_of(decoded.root))


@settings(deadline=None, derandomize=True, max_examples=100)
@given(wires())
def test_any_bytes_have_ends_or_none(wire: tuple[bytes, Version]) -> None:
    data, version = wire
    found = field_ends(data, version)
    assert found is None or found[0][-1] == len(data) or len(data) == 1


@pytest.mark.parametrize(
    ("packet", "version", "choices"),
    [
        (Publish(topic="t", qos=1, packet_id=1), Version.V311, [0x32]),
        (Publish(topic="t", properties=ONE), Version.V5, [0x30, 0x26, END_OF_PROPERTIES]),
        (Connect(client_id="c", properties=ONE), Version.V5, [0x10, 2, 0x26, END_OF_PROPERTIES]),
        (
            Connect(client_id="c", will=Will(topic="t", payload=b"", properties=ONE)), Version.V5,
            [0x10, 6, END_OF_PROPERTIES, 0x26, END_OF_PROPERTIES],
        ),
        (
            Subscribe(packet_id=1, subscriptions=(Subscription(filter="a", qos=1), Subscription(filter="b"))),
            Version.V311, [0x82],
        ),
    ],
)  # fmt: skip
def test_flags_and_identifiers_decide_which_fields_there_are(
    packet: object, version: Version, choices: list[int]
) -> None:
    found = field_ends(encode(packet, version), version)  # type: ignore[arg-type]
    assert found
    assert found[1] == choices


@pytest.mark.parametrize("text", ["", "30", "3001", "f000", "30ffffffff7f", "3005000974", "0000"])
def test_lengths_that_contradict_one_another_have_no_ends(text: str) -> None:
    assert field_ends(bytes.fromhex(text), Version.V311) is None
