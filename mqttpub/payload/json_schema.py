"""The schema that JSON shows: the paths of its values, each with the types that it has there.

Parsing and describing are one step, as the parser calls back for each object. All of it is bounded: how deep, how many
paths, how long a path; what exceeds a bound is left out, and the schema says so.
"""

import json
import re
from typing import Any, NamedTuple

from ..common.lru import BoundedMemo

MOST_LEVELS = 8
"""Levels of objects and arrays that a schema describes."""
MOST_PATHS = 200
LONGEST_KEY = 80
"""Characters of a key, as it stands in a path."""
MOST_CHARACTERS = 10_000
"""Characters in all paths of a schema."""
MOST_KNOWN = 1 << 24
"""Characters of schemas that are remembered, as most messages look like others."""
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_BARE = re.compile(r"[^\W\d][\w-]*")
_TYPES = {str: "string", float: "number", bool: "boolean", type(None): "null"}
FIXED_SIZE = 50
"""Bytes that a member takes besides its name, roughly."""


class NotJsonText(ValueError):
    """The text is not JSON."""


class JsonSchema(NamedTuple):
    """What a JSON value looks like."""

    paths: tuple[tuple[str, str], ...]
    """Paths in order, each with a type; a path occurs once for each of its types.

    `a.b` is the value `b` of the object `a`, and `a[]` stands for the items of the array `a`. The path of the value
    itself is empty. Types are those of JSON: object, array, string, number, boolean, null.
    """
    repeated: bool = False
    """Whether an object has two members of one name."""
    cut: bool = False
    """Whether something was left out."""

    @property
    def type(self) -> str:
        """The type of the value itself."""
        return self.paths[0][1]

    def text(self) -> str:
        """Return the paths below the value itself as lines of path, tab, and types."""
        types: dict[str, list[str]] = {}
        for path, type in self.paths:
            if path:
                types.setdefault(path, []).append(type)
        return "\n".join(f"{path}\t{'|'.join(each)}" for path, each in types.items())


Members = tuple[tuple[str, JsonSchema], ...]
"""Names and values; the items of an array are called `[]`."""


class JsonSchemas:
    """Describes JSON, and remembers what objects and arrays looked like."""

    def __init__(self) -> None:
        self._known: BoundedMemo[Any, tuple[JsonSchema, Members]] = BoundedMemo(MOST_KNOWN)
        """Up to so many characters."""
        # Numbers of any length are a float, as int() refuses long ones.
        self._decoder = json.JSONDecoder(
            object_pairs_hook=self._object, parse_int=float, parse_float=float, parse_constant=_refuse
        )

    def of(self, text: str) -> JsonSchema:
        """Return the schema of JSON text; raises NotJsonText, and RecursionError where it is nested too deeply."""
        try:
            return self._item(self._decoder.decode(text))
        except ValueError:
            raise NotJsonText from None

    def _object(self, pairs: list[tuple[str, Any]]) -> JsonSchema:
        """Return the schema of an object; of the values, objects are schemas already."""
        return self._remembered("object", tuple([(name, self._item(value)) for name, value in pairs]))

    def _item(self, value: Any) -> JsonSchema:
        kind = type(value)
        if kind is JsonSchema:
            return value  # type: ignore[no-any-return]
        if kind is not list:
            return _SCALARS[kind]
        items = {id(item): item for item in map(self._item, value)}
        return self._remembered("array", tuple([("[]", items[each]) for each in sorted(items)]))

    def _remembered(self, kind: str, members: Members) -> JsonSchema:
        # Equal schemas are the same object while they are remembered: hashing it would take longer than its identity.
        key = kind, tuple([(name, id(schema)) for name, schema in members])
        if key not in self._known:
            found = _joined(kind, members)
            size = sum(len(name) for name, _ in members) + sum(len(path) for path, _ in found.paths)
            if size > MOST_KNOWN // 100:
                return found
            self._known.keep(key, (found, members), size + FIXED_SIZE * len(members))
        return self._known[key][0]


def _joined(kind: str, members: Members) -> JsonSchema:
    """Return the schema of a container."""
    repeated = kind == "object" and len({name for name, _ in members}) < len(members)
    cut, room = False, MOST_CHARACTERS
    paths: set[tuple[str, str]] = set()
    # In the order of names, so that the same is left out of two messages.
    for name, schema in sorted(members, key=_name):
        repeated |= schema.repeated
        cut |= schema.cut
        step = name if kind == "array" else _step(name)
        for path, type in schema.paths:
            # The items of an array follow without a dot.
            each = (step + path if not path or path.startswith("[]") else f"{step}.{path}"), type
            if each in paths:
                continue
            room -= len(each[0])
            if len(paths) == MOST_PATHS or room < 0 or _levels(each[0]) > MOST_LEVELS:
                cut = True
            else:
                paths.add(each)
    return JsonSchema((("", kind), *sorted(paths)), repeated, cut)


def _name(member: tuple[str, JsonSchema]) -> str:
    return member[0]


def _levels(path: str) -> int:
    outside = _QUOTED.sub("", path)
    return outside.count(".") + outside.count("[]") + 1


def _step(name: str) -> str:
    """Return a key as a step of a path, quoted unless it is a word, and cut where it is too long."""
    kept = name if len(name) <= LONGEST_KEY else f"{name[:LONGEST_KEY]}\u2026"
    if _BARE.fullmatch(name) and name.isprintable() and len(name) <= LONGEST_KEY:
        return name
    # Characters that are not ASCII are escaped, as lone surrogates and control characters may be among them.
    return json.dumps(kept)


_SCALARS = {kind: JsonSchema((("", name),)) for kind, name in _TYPES.items()}


def _refuse(word: str) -> Any:
    raise NotJsonText(word)
