"""The words in which a packet is declared: bits, wire, group, repeat, properties.

A declaration is read by the decoder, the encoder, the annotated dump, the JSON record, the
lints and `explain`; none of them knows a packet by name.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, NamedTuple, TypeVar, dataclass_transform

from ..wire.types import WireType
from .constraints import Constraint
from .reason_codes import Codes
from .versions import Direction, Version

MISSING: Any = object()
"""The default of a field that must be given."""


class Field:
    """One declared field of a packet: where it stands, when it is there, what it may hold."""

    __slots__ = (
        "default",
        "derived",
        "doc",
        "each",
        "fixed",
        "item",
        "key",
        "kind",
        "label",
        "limits",
        "mask",
        "name_before_5",
        "names",
        "octet",
        "shape",
        "since",
        "tail",
        "type",
        "unit",
        "until",
        "when",
    )  # fmt: skip

    def __init__(self, **given: Any) -> None:
        self.key: str = ""
        """Name in Python and JSON."""
        self.label: str = given.get("label", "")
        """Name in the specification."""
        self.name_before_5: str = given.get("name_before_5", "")
        """Name in 3.1.1 and 3.1, where it is another."""
        self.shape: str = given["shape"]
        """How it is written: bits, value, group, list or properties."""
        self.kind: str = given.get("kind", "")
        """Family of the value; the dump colours by it."""
        self.doc: str = given.get("doc", "")
        self.type: WireType | None = given.get("type")
        """Data type; None for bits, groups, lists and properties."""
        self.mask: int = given.get("mask", 0)
        """Bits of `octet` that the field takes; 0 when it takes whole bytes."""
        self.octet: str = given.get("octet", "")
        """Name of the byte that bits belong to; empty for the first byte of the packet."""
        self.item: Any = given.get("item")
        """What a list repeats (a data type or a group), or the group itself."""
        self.when: str | None = given.get("when")
        """Name of an earlier field that must be true for this one to be there."""
        self.derived: str | None = given.get("derived")
        """Name of a later field whose presence these bits announce."""
        self.tail: tuple[Version, ...] = given.get("tail", ())
        """Versions in which the packet may end before this field."""
        self.fixed: Mapping[Version, Any] | None = given.get("fixed")
        """Value that each version writes when none is given."""
        self.since: Version = given.get("since", Version.V31)
        self.until: Version = given.get("until", Version.V5)
        self.default: Any = given.get("default", MISSING)
        self.names: Codes | Mapping[Any, str] | None = given.get("names")
        """Meaning of each value."""
        self.unit: str = given.get("unit", "")
        self.limits: tuple[Constraint, ...] = given.get("limits", ())
        """What the specification demands of the value."""
        self.each: tuple[Constraint, ...] = given.get("each", ())
        """What it demands of each item of a list."""

    @property
    def shift(self) -> int:
        """Position of the lowest bit of the mask."""
        return (self.mask & -self.mask).bit_length() - 1

    @property
    def single(self) -> bool:
        """Whether the field is one bit, so that its value is a bool."""
        return self.mask != 0 and self.mask & (self.mask - 1) == 0

    def label_in(self, version: Version) -> str:
        """Return what that version calls the field."""
        return self.name_before_5 if self.name_before_5 and version < Version.V5 else self.label

    def spoken(self, version: Version) -> bool:
        """Whether `version` has this field."""
        return self.since <= version <= self.until

    def pick(self, octet: int) -> int | bool:
        """Return the value that these bits have in a byte."""
        value = (octet & self.mask) >> self.shift
        return bool(value) if self.single else value

    def meaning(self, value: Any, version: Version) -> str:
        """Return what a value stands for, or an empty string."""
        if isinstance(self.names, Codes):
            return self.names.name(value, version)
        if self.names:
            return self.names.get(value, "")
        return ""


def bits(
    mask: int, *, octet: str = "", default: Any = MISSING, doc: str = "", label: str = "",
    kind: str = "flag", names: Mapping[Any, str] | None = None, derived: str | None = None,
    since: Version = Version.V31, until: Version = Version.V5, limits: tuple[Constraint, ...] = (),
    name_before_5: str = "",
) -> Any:  # fmt: skip
    """Declare bits of the first byte, or of the byte named `octet`."""
    return Field(shape="bits", **locals())


def wire(
    type: WireType, *, default: Any = MISSING, doc: str = "", label: str = "", kind: str = "",
    names: Codes | Mapping[Any, str] | None = None, unit: str = "", when: str | None = None,
    tail: tuple[Version, ...] = (), since: Version = Version.V31, limits: tuple[Constraint, ...] = (),
    name_before_5: str = "", fixed: Mapping[Version, Any] | None = None,
) -> Any:  # fmt: skip
    """Declare a value of one data type."""
    return Field(shape="value", **locals())


def group(item: "type[Group]", *, when: str, default: Any = None, doc: str = "", label: str = "") -> Any:
    """Declare fields that are there together or not at all."""
    return Field(shape="group", **locals())


def repeat(
    item: "WireType | type[Group]", *, default: Any = MISSING, doc: str = "", label: str = "",
    kind: str = "", names: Codes | None = None, since: Version = Version.V31,
    limits: tuple[Constraint, ...] = (), each: tuple[Constraint, ...] = (), name_before_5: str = "",
) -> Any:  # fmt: skip
    """Declare a list that fills the rest of the packet."""
    return Field(shape="list", **locals())


def properties(*, default: Any = MISSING, tail: bool = False, doc: str = "") -> Any:
    """Declare the Property Length and the properties behind it (5.0: 2.2.2)."""
    return Field(
        shape="properties", default=None if tail else () if default is MISSING else default,
        tail=(Version.V5,) if tail else (), since=Version.V5, doc=doc, label="Properties",
    )  # fmt: skip


class Property(NamedTuple):
    """One property: its identifier and its value; unknown identifiers carry bytes."""

    id: int
    value: Any


Properties = tuple[Property, ...]
"""Properties in the order of the wire, repeats kept."""


class Group:
    """Values of declared fields, as attributes."""

    layout: ClassVar[tuple[Field, ...]] = ()
    fields: ClassVar[dict[str, Field]] = {}
    plan: ClassVar[dict[Version, tuple[tuple[Field, ...], ...]]] = {}
    """Per version: the fields in wire order, bits of one byte put together."""

    def __init__(self, **values: Any) -> None:
        for key, field in self.fields.items():
            value = values.pop(key, field.default)
            if value is MISSING:
                raise TypeError(f"{type(self).__name__} needs {key}")
            setattr(self, key, value)
        if values:
            raise TypeError(f"{type(self).__name__} has no field {', '.join(values)}")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.__dict__ == other.__dict__

    def __hash__(self) -> int:
        return hash((type(self), *self.__dict__.values()))

    def __repr__(self) -> str:
        given = (f"{key}={value!r}" for key, value in self.__dict__.items())
        return f"{type(self).__name__}({', '.join(given)})"

    def replace(self, **changes: Any) -> Any:
        """Return a copy with some values changed."""
        return type(self)(**{**self.__dict__, **changes})


class Packet(Group):
    """A control packet; a subclass per type, declared with `control_packet`."""

    code: ClassVar[int]
    """Packet type, the upper four bits of the first byte."""
    name: ClassVar[str]
    """The specification's word, in capitals."""
    section: ClassVar[str]
    since: ClassVar[Version]
    senders: ClassVar[frozenset[Direction]]
    """Which ends may send it in MQTT 5.0."""
    senders_before_5: ClassVar[frozenset[Direction]]
    """Which ends may send it in 3.1 and 3.1.1."""

    def may_send(self, direction: Direction, version: Version) -> bool:
        """Whether that end may send this packet in that version."""
        return direction in (self.senders if version == Version.V5 else self.senders_before_5)


PACKETS: dict[int, type[Packet]] = {}
"""Every control packet by its type code."""

G = TypeVar("G", bound=Group)
P = TypeVar("P", bound=Packet)
SPECIFIERS = (bits, wire, group, repeat, properties)


@dataclass_transform(kw_only_default=True, field_specifiers=(bits, wire, group, repeat, properties))
def declare(cls: type[G]) -> type[G]:
    """Collect the fields that a class declares, in order."""
    fields = {key: value for key, value in vars(cls).items() if isinstance(value, Field)}
    for key, field in fields.items():
        field.key = key
        field.label = field.label or key.replace("_", " ").title()
        delattr(cls, key)
    cls.fields = fields
    cls.layout = tuple(fields.values())
    cls.plan = {version: _plan(cls.layout, version) for version in Version}
    return cls


def _plan(layout: Iterable[Field], version: Version) -> tuple[tuple[Field, ...], ...]:
    steps: list[list[Field]] = []
    for field in layout:
        if not field.spoken(version):
            continue
        joined = steps and field.mask and steps[-1][0].mask and steps[-1][0].octet == field.octet
        steps[-1].append(field) if joined else steps.append([field])
    return tuple(tuple(step) for step in steps)


@dataclass_transform(kw_only_default=True, field_specifiers=(bits, wire, group, repeat, properties))
def control_packet(
    code: int, *, section: str, sender: str = "cs", sender_before_5: str | None = None, since: Version = Version.V31
) -> Callable[[type[P]], type[P]]:
    """Declare a control packet; `sender` is c, s or cs, `sender_before_5` the same before 5.0."""

    def declared(cls: type[P]) -> type[P]:
        declare(cls)
        cls.code, cls.section, cls.since, cls.name = code, section, since, cls.__name__.upper()
        cls.senders = _ends(sender)
        cls.senders_before_5 = _ends(sender if sender_before_5 is None else sender_before_5)
        PACKETS[code] = cls
        return cls

    return declared


def _ends(letters: str) -> frozenset[Direction]:
    return frozenset(end for end in Direction if end.value[0] in letters)
