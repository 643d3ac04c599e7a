"""Hypothesis strategies for packets, made from the table of the specification.

`packets(version)` yields packets that obey every limit of their fields and every rule between
fields, so that no lint of a single packet finds an error in them. With `valid=False` any value
that fits its field may come, as long as the fields that are there are those that their flags
announce; so the bytes still read back as the same packet.

Every packet is settled: what the version or another field decides (protocol name, user name flag)
is written out, as decoding yields it.
"""

from collections.abc import Callable, Iterable
from functools import cache, partial
from typing import Any, ParamSpec, TypeVar, cast

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from mqttpub.codec.encode import encode
from mqttpub.spec.constraints import Ascii, Characters, Constraint, InTable, LevelWildcards, NotEmpty, OneOf
from mqttpub.spec.declare import PACKETS, Field, Group, Packet, Property
from mqttpub.spec.packets import Auth, Connack, Connect, Disconnect, Publish, Subscription, Will
from mqttpub.spec.properties import AUTHENTICATION_METHOD, BY_KEY, PROPERTIES, WILL, of_packet
from mqttpub.spec.reason_codes import Codes
from mqttpub.spec.versions import Direction, Version
from mqttpub.wire.types import BINARY, BYTE, MAX_VARIABLE, PAIR, REST, STRING, U16, U32, VARIABLE, WireType  # fmt: skip

P = ParamSpec("P")
T = TypeVar("T")


def made_once(build: Callable[P, SearchStrategy[T]]) -> Callable[P, SearchStrategy[T]]:
    """Return a function that makes one strategy for the same arguments, however often it is asked.

    Hypothesis looks into each new strategy: 6 % of the function calls of the quick tests of scenarios/test_laws.py.
    """
    return cast("Callable[P, SearchStrategy[T]]", cache(build))


versions = st.sampled_from(Version)
directions = st.sampled_from(Direction)

_SHORT = 12
"""Most strings are not longer than this many characters."""

_plain_text = st.characters(
    codec="utf-8", exclude_categories=("Cc", "Cs", "Cn", "Co"), exclude_characters="+#$", min_codepoint=0x20
)
"""Characters that every string may hold: no control, no non-character, no wildcard."""

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.text(max_size=8)
    | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)
"""Any value of JSON, as Python has it."""


def integers(size: int) -> SearchStrategy[int]:
    """Return unsigned integers of so many bytes, the ends more often than chance would have them."""
    return st.integers(0, 256**size - 1) | st.sampled_from((0, 1, 256**size - 1))


variables = st.integers(0, MAX_VARIABLE) | st.sampled_from(
    [value + off for size in (1, 2, 3) for value in (128**size,) for off in (-1, 0)] + [0, 1, MAX_VARIABLE]
)
binaries = st.binary(max_size=_SHORT) | st.integers(120, 140).map(bytes)
texts = st.text(_plain_text, max_size=_SHORT) | st.integers(120, 140).map("x".__mul__)
loose_texts = texts | st.binary(max_size=_SHORT).map(lambda data: data.decode("utf-8", "surrogateescape"))
"""Strings of any bytes: what is no UTF-8 comes as lone surrogates."""

_level = st.text(_plain_text.filter(lambda character: character != "/"), max_size=4)


@st.composite
def filters(draw: st.DrawFn) -> str:
    """Return Topic Filters, some with wildcards, some shared."""
    levels = draw(st.lists(st.just("+") | _level, min_size=1, max_size=4))
    if draw(st.booleans()):
        levels.append("#")
    plain = "/".join(levels) or "+"
    if draw(st.integers(0, 3)):
        return plain
    share = draw(st.text(_plain_text.filter(lambda character: character != "/"), min_size=1, max_size=4))
    return f"$share/{share}/{plain}"


_VALID: dict[WireType, SearchStrategy[Any]] = {
    BYTE: integers(1),
    U16: integers(2),
    U32: integers(4),
    VARIABLE: variables,
    BINARY: binaries,
    STRING: texts,
    PAIR: st.tuples(texts, texts),
    REST: binaries,
}
_LOOSE = {**_VALID, STRING: loose_texts, PAIR: st.tuples(loose_texts, loose_texts)}


@made_once
def packets(
    version: Version, valid: bool = True, *, direction: Direction | None = None, code: int | None = None
) -> SearchStrategy[Packet]:
    """Return packets of all types of a version, or of one; with `direction`, only what that end may send."""
    chosen = [cls for cls in PACKETS.values() if cls.since <= version and code in (None, cls.code)]
    if not valid:
        return st.sampled_from(chosen).flatmap(lambda cls: _loose(cls, version))
    ends = [(cls, end) for cls in chosen for end in senders(cls, version) if direction in (None, end)]
    return st.sampled_from(ends).flatmap(lambda pair: _valid(pair[0], version, pair[1]))


@made_once
def packets_of(cls: type[Packet], version: Version) -> SearchStrategy[Packet]:
    """Return a strategy for valid packets of one type, as a client sends them."""
    return _valid(cls, version, Direction.CLIENT)


@made_once
def encoded(version: Version, valid: bool = True, *, direction: Direction | None = None) -> SearchStrategy[bytes]:
    """Return the bytes of packets."""
    return packets(version, valid, direction=direction).map(lambda packet: encode(packet, version))


@made_once
@st.composite
def conversations(draw: st.DrawFn, version: Version, *, max_size: int = 8) -> list[tuple[Direction, Packet]]:
    """Return a CONNECT and packets behind it, each with the end that sends it.

    Every packet is right by itself; as a conversation they need make no sense.
    """
    ends = draw(st.lists(directions, max_size=max_size))
    first = draw(packets(version, direction=Direction.CLIENT, code=Connect.code))
    return [(Direction.CLIENT, first), *((end, draw(packets(version, direction=end))) for end in ends)]


def senders(cls: type[Packet], version: Version) -> list[Direction]:
    """Return the ends that may send a packet; none where the version does not have it."""
    if cls.since > version:
        return []
    allowed = cls.senders_in(version)
    return [end for end in Direction if end in allowed]


def limits_of(limits: Iterable[Constraint], version: Version) -> list[Constraint]:
    """Return the limits that a version makes."""
    return [limit for limit in limits if limit.ref.id(version)]


@made_once
def _valid(cls: type[Packet], version: Version, direction: Direction) -> SearchStrategy[Packet]:
    built = _group(cls, version, True, direction)
    repair = _REPAIRS.get(cls, _as_it_is)
    return built.map(lambda values: cls(**repair(values, version)))


@made_once
def _loose(cls: type[Packet], version: Version) -> SearchStrategy[Packet]:
    return _group(cls, version, False, None).map(lambda values: cls(**values))


# fields


@made_once
@st.composite
def _group(
    draw: st.DrawFn, cls: type[Group], version: Version, valid: bool, direction: Direction | None
) -> dict[str, Any]:
    """Return values for the fields of a packet or group, present as their flags and the tail allow."""
    place = WILL if cls is Will else cls.__name__.upper()
    values: dict[str, Any] = {}
    ended = False
    for step in cls.plan[version]:
        for field in step:
            here = not field.when or bool(values[field.when])
            if here and version in field.tail:
                ended = ended or draw(st.booleans())
                here = not ended
            values[field.key] = draw(_field(place, field, version, valid, direction)) if here else field.default
    return values


@cache
def _field(place: str, field: Field, version: Version, valid: bool, direction: Direction | None) -> SearchStrategy[Any]:
    if field.shape == "bits":
        return _bits(field, version, valid)
    if field.shape == "properties":
        return _properties(place, valid, direction)
    if field.shape == "group":
        return _made(field.item, version, valid)
    if field.shape == "list":
        return _list(field, version, valid)
    assert field.type is not None
    if not valid:
        if field.fixed and field.type is BYTE:
            # Any other level makes the CONNECT one of another version.
            return st.sampled_from([level for level in range(256) if Version.of_level(level) == version])
        return _LOOSE[field.type]
    return _limited(field.type, field.limits, version, names=field.names, direction=direction)


def _bits(field: Field, version: Version, valid: bool) -> SearchStrategy[Any]:
    limits = limits_of(field.limits, version) if valid else []
    allowed = [
        value for value in range((field.mask >> field.shift) + 1) if not any(one.violation(value) for one in limits)
    ]
    return st.sampled_from([bool(value) for value in allowed] if field.single else allowed)


def _made(cls: type[Group], version: Version, valid: bool) -> SearchStrategy[Any]:
    repair = _REPAIRS.get(cls, _as_it_is) if valid else _as_it_is
    return _group(cls, version, valid, None).map(lambda values: cls(**repair(values, version)))


def _list(field: Field, version: Version, valid: bool) -> SearchStrategy[tuple[Any, ...]]:
    if isinstance(field.item, type):
        each = _made(field.item, version, valid)
    elif valid:
        each = _limited(field.item, field.each, version, names=field.names)
    else:
        each = _LOOSE[field.item]
    least = int(valid and any(isinstance(limit, NotEmpty) for limit in limits_of(field.limits, version)))
    return st.lists(each, min_size=least, max_size=4).map(tuple)


def _limited(
    type: WireType,
    limits: Iterable[Constraint],
    version: Version,
    *,
    names: Any = None,
    direction: Direction | None = None,
) -> SearchStrategy[Any]:
    """Return the values of a data type that break none of the limits."""
    demanded = limits_of(limits, version)
    made = _VALID[type]
    for kind, build in _BUILDERS.items():
        for limit in demanded:
            if isinstance(limit, kind):
                made = build(limit)
    if any(isinstance(limit, InTable) for limit in demanded):
        made = _codes(names, version, direction)
    for limit in demanded:
        made = made.filter(partial(_right, limit))
    return made


def _right(limit: Constraint, value: Any) -> bool:
    parts = value if isinstance(value, tuple) else (value,)
    return not any(limit.violation(part) for part in parts)


def _codes(names: Codes, version: Version, direction: Direction | None) -> SearchStrategy[int]:
    rows = names.rows[version].values()
    letter = direction.value[0] if direction else ""
    return st.sampled_from([row.code for row in rows if letter in row.sender])


_BUILDERS: dict[type[Constraint], Callable[[Any], SearchStrategy[Any]]] = {
    Characters: lambda limit: st.text(_plain_text, min_size=limit.low, max_size=min(limit.high, 40)),
    Ascii: lambda limit: st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E)).map(str.encode),
    OneOf: lambda limit: st.sampled_from(limit.allowed),
    LevelWildcards: lambda limit: filters(),
}
"""How to make values for the limits that would throw too many away, the last word last; others only filter."""


# properties


@cache
def _properties(place: str, valid: bool, direction: Direction | None) -> SearchStrategy[tuple[Property, ...]]:
    if not valid:
        known = st.lists(st.sampled_from(sorted(PROPERTIES)).flatmap(_loose_property), max_size=4)
        unknown = st.builds(Property, variables.filter(lambda number: number not in PROPERTIES), binaries)
        return st.tuples(known, st.lists(unknown, max_size=1)).map(lambda parts: (*parts[0], *parts[1]))
    ids = [row.id for row in of_packet(place) if (direction, place, row.key) not in _FOREIGN]
    return st.lists(st.sampled_from(ids).flatmap(_property), max_size=6).map(lambda found: _once(found, place))


_FOREIGN = {
    (Direction.CLIENT, "PUBLISH", "subscription_identifier"),
    (Direction.SERVER, "DISCONNECT", "session_expiry_interval"),
}
"""Properties that a packet may carry, but not from this end (5.0: 3.3.4-6, 3.14.2-2)."""


@made_once
def _loose_property(id: int) -> SearchStrategy[Property]:
    return _LOOSE[PROPERTIES[id].type].map(lambda value: Property(id, value))


@cache
def _property(id: int) -> SearchStrategy[Property]:
    row = PROPERTIES[id]
    return _limited(row.type, row.limits, Version.V5).map(lambda value: Property(id, value))


def _once(found: list[Property], place: str) -> tuple[Property, ...]:
    kept, seen = [], set()
    for one in found:
        if one.id not in seen or place in PROPERTIES[one.id].repeatable:
            kept.append(one)
        seen.add(one.id)
    return tuple(kept)


# rules between fields, as repairs of what was made field by field

Values = dict[str, Any]


def _as_it_is(values: Values, version: Version) -> Values:
    return values


def _value(properties: Iterable[Property], key: str) -> Any:
    return next((value for id, value in properties if id == BY_KEY[key].id), None)


def _drop(values: Values, key: str) -> None:
    values["properties"] = tuple(one for one in values["properties"] or () if one.id != BY_KEY[key].id)


def _publish(values: Values, version: Version) -> Values:
    values["dup"] = values["dup"] and values["qos"] > 0
    if not values["topic"] and not (version == Version.V5 and _value(values["properties"], "topic_alias")):
        values["topic"] = "t"
    return _told(values, version)


def _told(values: Values, version: Version) -> Values:
    """A payload that says it is text is text (5.0: 3.3.2.3.2)."""
    if version == Version.V5 and _value(values["properties"], "payload_format_indicator"):
        values["payload"] = values["payload"].decode("latin-1").encode()
    return values


def _connect(values: Values, version: Version) -> Values:
    if not values["will_flag"]:
        values["will_qos"], values["will_retain"] = 0, False
    if version < Version.V5 and not values["username_flag"]:
        values["password_flag"], values["password"] = False, None
    if version == Version.V311 and not values["client_id"]:
        values["clean_start"] = True
    return _authenticated(values, version)


def _authenticated(values: Values, version: Version) -> Values:
    """Authentication Data stands with a method only (5.0: 3.1.2.11.10)."""
    if version == Version.V5 and _value(values["properties"], "authentication_method") is None:
        _drop(values, "authentication_data")
    return values


def _connack(values: Values, version: Version) -> Values:
    if version > Version.V31 and values["reason_code"]:
        values["session_present"] = False
    return _referred(_authenticated(values, version), version)


def _referred(values: Values, version: Version) -> Values:
    """A Server Reference stands with 0x9C and 0x9D only (5.0: 4.11)."""
    if version == Version.V5 and values["properties"] and values["reason_code"] not in (0x9C, 0x9D):
        _drop(values, "server_reference")
    return values


def _auth(values: Values, version: Version) -> Values:
    """AUTH has a method, and so no short form (5.0: 3.15.2.2.2)."""
    if values["reason_code"] is None:
        values["reason_code"] = 0x18
    given = values["properties"] or ()
    if _value(given, "authentication_method") is None:
        given = (Property(AUTHENTICATION_METHOD.id, "m"), *given)
    return {**values, "properties": given}


def _subscription(values: Values, version: Version) -> Values:
    """No Local is not for shared subscriptions (5.0: 3.8.3-4)."""
    if version == Version.V5 and values["filter"].startswith("$share/"):
        values["no_local"] = False
    return values


_REPAIRS: dict[type[Group], Callable[[Values, Version], Values]] = {
    Publish: _publish,
    Will: _told,
    Connect: _connect,
    Connack: _connack,
    Disconnect: _referred,
    Auth: _auth,
    Subscription: _subscription,
}
