"""The words in which a packet is declared: bits, wire, group, repeat, properties.

The decoders, the encoder, the annotated dump, the JSON record, the packet rules, `explain` and the columns all follow
the declaration of a packet; a field that is declared once exists in all of them.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, ClassVar, NamedTuple, Self, TypedDict, TypeVar, Unpack, dataclass_transform

from ..wire.types import WireType
from .constraints import Constraint, OneOf
from .reason_codes import Codes
from .versions import Direction, Version

MISSING: Any = object()
"""The default of a field that must be given."""
MASKED = "***"
"""Stands for a password in the text of a packet."""
SECRET_IDS = frozenset((0x16,))
"""Identifiers of properties that may hold one: Authentication Data."""


def masked_repr(value: object, fields: Mapping[str, object], secret: Collection[str]) -> str:
    """Return the text of a value without its secret fields, as logs and the messages of assertions show it."""
    given = (f"{key}={MASKED if each is not None and key in secret else repr(each)}" for key, each in fields.items())
    return f"{type(value).__name__}({', '.join(given)})"


class Field:
    """One declared field of a packet: its place, when it is present, and what it may hold."""

    __slots__ = (
        "default", "derived", "doc", "each", "fixed", "item", "key", "kind", "label", "limits", "mask", "name_before_5",
        "names", "octet", "shape", "since", "tail", "type", "unit", "until", "when",
    )  # fmt: skip

    def __init__(
        self, shape: str, *, label: str = "", name_before_5: str = "", kind: str = "", doc: str = "",
        type: WireType | None = None, mask: int = 0, octet: str = "", item: Any = None, when: str | None = None,
        derived: str | None = None, tail: tuple[Version, ...] = (), fixed: Mapping[Version, Any] | None = None,
        since: Version = Version.V31, until: Version = Version.V5, default: Any = MISSING,
        names: Codes | Mapping[Any, str] | None = None, unit: str = "", limits: tuple[Constraint, ...] = (),
        each: tuple[Constraint, ...] = (),
    ) -> None:  # fmt: skip
        self.key = ""
        """Name in Python and JSON; `declare` sets it."""
        self.shape = shape
        """How it is written: bits, value, group, list or properties."""
        self.label = label
        """Name in the specification."""
        self.name_before_5 = name_before_5
        """Name in 3.1.1 and 3.1, if that is another."""
        self.kind = kind
        """Family of the value, which decides its colour in the dump."""
        self.doc = doc
        self.type = type
        """Data type; None for bits, groups, lists and properties."""
        self.mask = mask
        """Bits of `octet` that the field takes; 0 if it takes whole bytes."""
        self.octet = octet
        """Name of the byte that the bits belong to; empty for the first byte of the packet."""
        self.item = item
        """What a list repeats (a data type or a group), or the group itself."""
        self.when = when
        """Name of an earlier field that must be true for this one to be present."""
        self.derived = derived
        """Name of a later field whose presence these bits announce."""
        self.tail = tail
        """Versions in which the packet may end before this field."""
        self.fixed = fixed
        """Value that each version writes if none is given."""
        self.since, self.until = since, until
        """First and last version that has the field."""
        self.default = default
        self.names = names
        """Meaning of each value."""
        self.unit = unit
        self.limits = limits
        """What the specification demands of the value."""
        self.each = each
        """What it demands of each item of a list."""

    @property
    def shift(self) -> int:
        """Position of the lowest bit of the mask."""
        return (self.mask & -self.mask).bit_length() - 1

    @property
    def single(self) -> bool:
        """Whether the field is a single bit, so that its value is a bool."""
        return self.mask != 0 and self.mask & (self.mask - 1) == 0

    @property
    def legal_bits(self) -> str:
        """The values of bits that the specification allows, in words: `0, 1 or 2`, `0 to 15`."""
        few = next((limit for limit in self.limits if isinstance(limit, OneOf)), None)
        return few.listed if few else f"0 to {self.mask >> self.shift}"

    def label_in(self, version: Version) -> str:
        """Return the name of the field in `version`."""
        return self.name_before_5 if self.name_before_5 and version < Version.V5 else self.label

    def exists_in(self, version: Version) -> bool:
        """Whether `version` has this field."""
        return self.since <= version <= self.until

    def pick(self, octet: int) -> int | bool:
        """Return the value of the bits of this field in a byte."""
        value = (octet & self.mask) >> self.shift
        return bool(value) if self.single else value

    def meaning(self, value: Any, version: Version) -> str:
        """Return the meaning of a value; empty if it has no name."""
        if isinstance(self.names, Codes):
            return self.names.name(value, version)
        if self.names:
            return self.names.get(value, "")
        return ""


class _Common(TypedDict, total=False):
    """What bits, values and lists declare alike; `Field` describes each."""

    doc: str
    label: str
    name_before_5: str
    since: Version
    limits: tuple[Constraint, ...]


def bits(
    mask: int, *, octet: str = "", default: Any = MISSING, names: Mapping[Any, str] | None = None,
    derived: str | None = None, until: Version = Version.V5, **common: Unpack[_Common],
) -> Any:  # fmt: skip
    """Declare bits of the first byte, or of the byte named `octet`."""
    return Field(
        "bits", kind="flag", mask=mask, octet=octet, default=default, names=names, derived=derived, until=until,
        **common,
    )  # fmt: skip


def wire(
    type: WireType, *, default: Any = MISSING, kind: str = "", names: Codes | Mapping[Any, str] | None = None,
    unit: str = "", when: str | None = None, tail: tuple[Version, ...] = (),
    fixed: Mapping[Version, Any] | None = None, **common: Unpack[_Common],
) -> Any:  # fmt: skip
    """Declare a value of one data type."""
    return Field(
        "value", type=type, default=default, kind=kind, names=names, unit=unit, when=when, tail=tail, fixed=fixed,
        **common,
    )  # fmt: skip


def group(item: "type[Group]", *, when: str, default: Any = None, doc: str = "") -> Any:
    """Declare fields that are present together or not at all."""
    return Field("group", item=item, when=when, default=default, doc=doc)


def repeat(
    item: "WireType | type[Group]", *, default: Any = MISSING, kind: str = "", names: Codes | None = None,
    each: tuple[Constraint, ...] = (), **common: Unpack[_Common],
) -> Any:  # fmt: skip
    """Declare a list that fills the rest of the packet."""
    return Field("list", item=item, default=default, kind=kind, names=names, each=each, **common)


def properties(*, default: Any = MISSING, tail: bool = False) -> Any:
    """Declare the Property Length and the properties after it (5.0: 2.2.2)."""
    return Field(
        "properties", default=None if tail else () if default is MISSING else default,
        tail=(Version.V5,) if tail else (), since=Version.V5, label="Properties",
    )  # fmt: skip


class Property(NamedTuple):
    """One property: its identifier and its value, which is bytes if the identifier is unknown."""

    id: int
    value: Any

    def __repr__(self) -> str:
        return f"Property(id={self.id}, value={MASKED if self.id in SECRET_IDS else repr(self.value)})"


Properties = tuple[Property, ...]
"""Properties in the order of their bytes; a repeated one is there more than once."""


class Group:
    """Values of declared fields, as attributes; the constructor raises TypeError for a missing or an unknown field."""

    layout: ClassVar[tuple[Field, ...]] = ()
    fields: ClassVar[dict[str, Field]] = {}
    plan: ClassVar[dict[Version, tuple[tuple[Field, ...], ...]]] = {}
    """Per version: the fields in the order of their bytes; the fields of one byte form one step."""

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
        return masked_repr(self, self.__dict__, [key for key, field in self.fields.items() if field.kind == "secret"])

    def replace(self, **changes: Any) -> Self:
        """Return a copy with some values changed."""
        return type(self)(**{**self.__dict__, **changes})


class Packet(Group):
    """A control packet; a subclass per type, declared with `control_packet`."""

    code: ClassVar[int]
    """Packet type, the upper four bits of the first byte."""
    name: ClassVar[str]
    """Name in the specification, in capitals."""
    section: ClassVar[str]
    since: ClassVar[Version]
    senders: ClassVar[frozenset[Direction]]
    """Which ends may send it in MQTT 5.0."""
    senders_before_5: ClassVar[frozenset[Direction]]
    """Which ends may send it in 3.1 and 3.1.1."""

    @classmethod
    def senders_in(cls, version: Version) -> frozenset[Direction]:
        """Return which ends may send it in a version."""
        return cls.senders if version == Version.V5 else cls.senders_before_5

    def may_send(self, direction: Direction, version: Version) -> bool:
        """Whether an end may send this packet in a version (5.0: 2.1.2; 3.1.1: 2.2.1)."""
        return direction in self.senders_in(version)


PACKETS: dict[int, type[Packet]] = {}
"""Every control packet by its type code."""


def only_sender(code: int, version: Version | None = None) -> Direction | None:
    """Return the only end that may send a packet type in a version, or in all versions for None; None for both ends."""
    cls = PACKETS.get(code)
    if cls is None:
        return None
    ends = cls.senders_in(version) if version else cls.senders | cls.senders_before_5
    return next(iter(ends)) if len(ends) == 1 else None


G = TypeVar("G", bound=Group)
P = TypeVar("P", bound=Packet)


@dataclass_transform(kw_only_default=True, field_specifiers=(bits, wire, group, repeat, properties))
def declare(cls: type[G]) -> type[G]:
    """Turn a class whose attributes are declared fields into a Group: the fields in order, with their keys."""
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
        if not field.exists_in(version):
            continue
        joined = steps and field.mask and steps[-1][0].mask and steps[-1][0].octet == field.octet
        steps[-1].append(field) if joined else steps.append([field])
    return tuple(tuple(step) for step in steps)


@dataclass_transform(kw_only_default=True, field_specifiers=(bits, wire, group, repeat, properties))
def control_packet(
    code: int, *, section: str, sender: str = "cs", sender_before_5: str | None = None, since: Version = Version.V31
) -> Callable[[type[P]], type[P]]:
    """Declare a control packet; `sender` is c, s or cs (client, server), `sender_before_5` the same before 5.0."""

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
