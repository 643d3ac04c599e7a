"""Messages as JSON objects, one a line."""

from typing import Any

from ..spec.packets import Publish
from ..spec.terms import Version
from ..view.record import packet_of

NAMES = ("topic", "payload", "qos", "retain", "dup", "packet_id", "properties")


class BadLine(ValueError):
    """A line that is no message; the text names the line and the place in it."""


def message_of(line: bytes, defaults: Publish, version: Version, number: int) -> Publish:
    """Return the message of a line; what it does not name is as in `defaults`. Raises BadLine.

    `properties` is a list as in the records of `--json`, or an object whose values are values,
    or lists of them for what may be repeated.
    """
    import json

    try:
        given = json.loads(line)
    except json.JSONDecodeError as error:
        raise BadLine(f"line {number}, column {error.colno}: {error.msg}") from None
    except (UnicodeDecodeError, RecursionError) as error:
        raise BadLine(f"line {number}: not JSON: {error}") from None
    if not isinstance(given, dict):
        raise BadLine(f"line {number}: must be an object")
    try:
        return _message(given, defaults, version)
    except ValueError as error:
        raise BadLine(f"line {number}: {error}") from None


def _message(given: dict[str, Any], defaults: Publish, version: Version) -> Publish:
    for name in given:
        if name not in NAMES:
            raise ValueError(f"$.{name}: a message has no such member ({', '.join(NAMES)})")
    if isinstance(given.get("properties"), dict):
        given["properties"] = _listed(given["properties"])
    if "topic" not in given and not defaults.topic:
        raise ValueError("$.topic: there is none, and no --topic")
    named = {"type": "PUBLISH", "version": version.label, "topic": "", **given}
    packet, _ = packet_of(named)
    assert isinstance(packet, Publish)
    kept = {name: getattr(defaults, name) for name in NAMES if name not in given and name != "packet_id"}
    return Publish(**{**packet.__dict__, **kept})


def _listed(properties: dict[str, Any]) -> list[list[Any]]:
    """Return an object of properties as a list of names and values."""
    listed: list[list[Any]] = []
    for name, value in properties.items():
        many = isinstance(value, list) and bool(value) and (isinstance(value[0], list) or name != "user_property")
        listed += [[name, each] for each in (value if many else [value])]
    return listed
