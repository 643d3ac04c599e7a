"""Nodes, findings and what decoding yields."""

import pytest

from mqttpub.codec.decode import decode
from mqttpub.codec.tree import Decoded, Finding, Node, finding
from mqttpub.spec.packets import Publish
from mqttpub.spec.versions import Version
from mqttpub.wire.cursor import Span
from tests.vectors import named


@pytest.fixture
def walked() -> Decoded:
    return decode(named("5.0 CONNECT with every property and a will with every property").data)


def test_a_node_without_children_is_its_own_leaf() -> None:
    node = Node("topic", Span(2, 7), "a/b", kind="topic", label="Topic Name", prefix=2)
    assert list(node.leaves()) == [node]
    assert (node.mask, node.field, node.row, node.children) == (0, None, None, [])


def test_leaves_are_in_the_order_of_the_wire() -> None:
    root = Node("root", Span(0, 3))
    inner = Node("inner", Span(1, 3))
    inner.children = [Node("b", Span(1, 2)), Node("c", Span(2, 3))]
    root.children = [Node("a", Span(0, 1)), inner]
    assert [leaf.name for leaf in root.leaves()] == ["a", "b", "c"]


def test_child_looks_into_bytes_and_groups_but_not_into_lists_and_properties(walked: Decoded) -> None:
    root = walked.root
    for name in ("type", "will_qos", "client_id", "will", "properties", "username"):
        node = root.child(name)
        assert node is not None
        assert node.name == name
    payload = root.child("payload")
    assert payload is not None
    assert payload.value == b"gone"
    assert root.child("topic_alias_maximum") is None
    assert root.child("nothing") is None


def test_child_does_not_look_into_lists() -> None:
    root = decode(named("3.1.1 SUBSCRIBE").data, Version.V311).root
    assert root.child("subscriptions") is not None
    assert root.child("filter") is None


def test_bytes_of_bits_are_not_part_of_dotted_paths(walked: Decoded) -> None:
    paths = [path for path, _ in walked.root.walk()]
    assert paths[:4] == ["connect", "connect", "connect.type", "connect.flags"]
    assert "connect.will_qos" in paths
    assert "connect.will.properties.will_delay_interval.value" in paths
    assert "connect.properties.user_property.name" in paths


def test_walk_may_begin_anywhere(walked: Decoded) -> None:
    will = walked.at("connect.will")
    assert will is not None
    assert [path for path, _ in will.walk("x")][:2] == ["x.will", "x.will.properties"]
    header = walked.root.children[0]
    assert [path for path, _ in header.walk()][:2] == ["header", "header.type"]


def test_at_gives_the_first_node_of_a_path(walked: Decoded) -> None:
    assert walked.at("connect") is walked.root
    assert walked.at("connect.nothing") is None


def test_a_node_is_printed_with_its_place() -> None:
    assert repr(Node("qos", Span(0, 1), 1, mask=6)) == "Node('qos', 0-1, 1, mask=0x6)"


def test_a_finding_has_the_severity_of_its_statement() -> None:
    made = finding("MQTT5-3.3.1-4", "publish.qos", Span(0, 1), "is 3", mask=6, reason=0x81)
    assert (made.severity, made.statement, made.mask, made.reason) == ("error", "MQTT5-3.3.1-4", 6, 0x81)
    assert finding("MQTT5-4.7.2/dollar", "publish.topic", Span(2, 5), "starts with $").severity == "warning"


def test_a_finding_cites_a_statement_that_is_there() -> None:
    for id in ("MQTT5-9.9.9-9", ""):
        with pytest.raises(KeyError):
            finding(id, "publish", Span(0, 1), "is odd")


def test_a_finding_is_printed_with_its_place() -> None:
    made = Finding("error", "publish.qos", Span(0, 1), "is 3", "MQTT5-3.3.1-4")
    assert repr(made) == "Finding(error publish.qos 0-1 'is 3' MQTT5-3.3.1-4 at_fault=None)"


@pytest.mark.parametrize(
    ("data", "name", "code"), [(b"", "NOTHING", 0), (b"\x00\x00", "TYPE 0", 0), (b"\x30\x02\x00\x00", "PUBLISH", 3)]
)
def test_what_was_decoded_has_a_name_and_a_code(data: bytes, name: str, code: int) -> None:
    decoded = decode(data, Version.V311)
    assert (decoded.name, decoded.code) == (name, code)


def test_what_was_decoded_may_be_built_by_hand() -> None:
    decoded = Decoded(b"\x30", Node("publish", Span(0, 1)), Version.V5, type=Publish)
    assert (decoded.findings, decoded.packet, decoded.offset, decoded.direction) == ([], None, 0, None)
    findings = [finding("MQTT5-3.3.1-2", "publish", Span(0, 1), "is odd")]
    assert Decoded(b"\x30", decoded.root, Version.V5, type=Publish, findings=findings).findings is findings
