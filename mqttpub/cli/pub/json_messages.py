"""Messages from JSON Lines, one object each; what a line leaves out comes from the command line.

{"topic": "a/b", "payload": "hello"}
{"topic": "a/b", "payload": {"temperature": 21.5}}
{"payload": {"hex": "00ff"}, "qos": 1, "retain": true, "properties": {"user_property": [["k", "v"]]}}

A payload that is not text is sent as JSON, except for an object with the single member hex, base64, text
or json, which holds the payload in that form. Names may be written with hyphens, like flags.

`properties` is an object, or the list that `encode --json` accepts. A property of a line replaces
those with the same name on the command line; null removes it. The member `received` of a record of `sub --json`, which
is about its delivery, is ignored.
"""

from collections.abc import Iterator
from typing import Any

from ...common.strict_json import NotJson, parse_json
from ...spec.declare import Property
from ...spec.packets import Publish
from ...spec.properties import BY_KEY, TOPIC_ALIAS, PropertyRow
from ...spec.versions import Version
from ...wire.types import PAIR

DELIVERY = "received"
"""The member of a record that says how a message was delivered."""
_TOPIC_ALIAS = TOPIC_ALIAS.id


class BadLine(ValueError):
    """A line that is not a message: its number, the place in it, and the fault."""

    def __init__(self, number: int, place: str, message: str) -> None:
        super().__init__(f"line {number}, {place}: {message}" if place else f"line {number}: {message}")
        self.number = number
        self.place = place
        """The key of a member, or a column; empty for the line as a whole."""
        self.message = message


def message_of(line: bytes, defaults: Publish, number: int, *, version: Version = Version.V5) -> Publish:
    """Return the message of a line; raises BadLine."""
    from ...codec.from_json import BadMember

    given = _object(line, number)
    try:
        return _message(given, defaults, version)
    except BadMember as error:
        raise BadLine(number, error.key, error.message) from None


def _object(line: bytes, number: int) -> dict[str, Any]:
    try:
        value = parse_json(line)
    except NotJson as error:
        raise BadLine(number, f"column {error.column}", error.message) from None
    except ValueError as error:
        raise BadLine(number, "", str(error)) from None
    if not isinstance(value, dict):
        raise BadLine(number, "", "must be an object")
    return value


def _message(line: dict[str, Any], defaults: Publish, version: Version) -> Publish:
    from ...codec.from_json import BadMember, plain_keys

    given = plain_keys(line, Publish.fields, "$")
    given.pop(DELIVERY, None)
    for key in given:
        if key not in Publish.fields:
            raise BadMember("$", f"a message has no member '{key}' ({', '.join(Publish.fields)})")
    members = {key: value for key, value in given.items() if key != "properties"}
    changes = _read(members, version) if members else {}
    if "properties" in given:
        changes["properties"] = _properties(given["properties"], defaults.properties, version)
    message: Publish = defaults.replace(**changes)
    if not message.topic and not any(id == _TOPIC_ALIAS for id, _ in message.properties):
        raise BadMember("$.topic", "it is missing, and a message needs it")
    return _identified(message, "packet_id" in changes)


def _identified(message: Publish, named: bool) -> Publish:
    """Return a message without a Packet Identifier where QoS 0 has none."""
    if message.qos or message.packet_id is None:
        return message
    if named:
        from ...codec.from_json import BadMember

        raise BadMember("$.packet_id", "only QoS 1 and 2 have a Packet Identifier")
    unnumbered: Publish = message.replace(packet_id=None)
    return unnumbered


def _read(members: dict[str, Any], version: Version) -> dict[str, Any]:
    """Return the values of members of PUBLISH."""
    from ...codec.from_json import packet_of

    packet, _ = packet_of({"topic": "", **members, "type": "PUBLISH", "version": version.label})
    return {key: getattr(packet, key) for key in members}


# properties


def _properties(given: Any, defaults: tuple[Property, ...], version: Version) -> tuple[Property, ...]:
    """Return the properties of a line, after those of the command line that it does not replace."""
    from ...codec.from_json import BadMember, plain_keys

    if isinstance(given, list):
        own: list[Property] = list(_read({"properties": given}, version)["properties"])
        replaced = {each.id for each in own}
    elif isinstance(given, dict):
        given = plain_keys(given, BY_KEY, "$.properties")
        own = [each for key, value in given.items() for each in _named(key, value, version)]
        replaced = {BY_KEY[key].id for key in given}
    else:
        raise BadMember("$.properties", "must be an object or an array")
    return (*(each for each in defaults if each.id not in replaced), *own)


def _named(key: str, value: Any, version: Version) -> Iterator[Property]:
    """Yield what a member of the object stands for: one property, or several of a kind that may repeat."""
    from ...codec.from_json import BadMember

    row, path = BY_KEY.get(key), f"$.properties.{key}"
    if row is None or "PUBLISH" not in row.packets:
        known = (name for name, each in BY_KEY.items() if "PUBLISH" in each.packets)
        raise BadMember("$.properties", f"a message has no property '{key}' ({', '.join(known)})")
    if value is None:
        return
    for step, each in _each(row, value):
        try:
            yield from _read({"properties": [[key, each]]}, version)["properties"]
        except BadMember as error:
            inner = error.key.removeprefix("properties").removeprefix("[0][1]")
            raise BadMember(f"{path}{step}{inner}", error.message) from None


def _each(row: PropertyRow, value: Any) -> list[tuple[str, Any]]:
    if row.type is PAIR and isinstance(value, dict):
        return [(f".{name}", [name, each]) for name, each in value.items()]
    if not row.repeatable or not isinstance(value, list):
        return [("", value)]
    return [(f"[{at}]", each) for at, each in enumerate(value)]
