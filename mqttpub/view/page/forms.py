"""Forms of packets: what packets of the page share that differ only in texts, payload and Packet Identifier."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from ...codec.decode import decode
from ...codec.encode import encode
from ...codec.tree import Decoded, Finding
from ...common.escape import escape, remark
from ...common.lru import BoundedMemo
from ...spec.declare import Group, Packet
from ...spec.packets import Connect, Publish, Subscribe, Unsubscribe
from ...spec.properties import TOPIC_ALIAS, value_of
from ...traffic.events import PacketSeen
from ...traffic.exchanges import filters_of
from ...wire.cursor import Span
from ..packet.dump import headline
from ..packet.outline import Outline, OutlineEntry
from ..packet.payload import classify

MOST_ENTRIES = 1 << 16
"""Entries of remembered forms, all together; beyond it, all of them are forgotten and made again."""
ID = "\0"
"""Stands for the Packet Identifier in a summary; no text of a peer contains it, because control characters are
escaped."""
NONE, TEXT, JSON, PAYLOAD, IDENTIFIER = range(5)
"""How the page makes the words of an entry from its bytes: not at all, as text, as JSON, judging by the bytes, as a
Packet Identifier."""

_ONLY_ID = 4
"""Bytes of a packet that has nothing but a Packet Identifier, such as most PUBACKs."""
_NAMES = {"client_id", "filter", "filters"}
"""Fields that differ between one CONNECT, SUBSCRIBE or UNSUBSCRIBE and the next."""
_NAMED = (Connect, Subscribe, Unsubscribe)


class PageEntry(NamedTuple):
    """One field as the page draws it; where its bytes are and what it says stand apart."""

    label: str
    style: str
    depth: int
    mask: int
    content: int
    """NONE, TEXT, JSON, PAYLOAD or IDENTIFIER."""
    styles: str
    """The styles of its parts, each with an asterisk after it if it is masked."""


class PacketTraits(NamedTuple):
    """What the search knows of a packet besides the columns of the list; many packets have the same."""

    flags: int
    """DUP, QoS and RETAIN of a PUBLISH, as in its first byte; -1 for other packets."""
    version: int
    alias: int
    reasons: tuple[int, ...]
    topics: tuple[str, ...]
    """The Topic Filters of SUBSCRIBE and UNSUBSCRIBE, the Will Topic of CONNECT."""


class PacketForm:
    """Names, lengths and places of the fields of a packet, with what follows from them."""

    __slots__ = (
        "entries", "facts", "guessed", "hidden", "length", "lengths", "name", "named", "payload", "texts", "traits",
        "version",
    )  # fmt: skip

    def __init__(self, decoded: Decoded, *, guessed: bool, secrets: bool, whole: bool) -> None:
        """`whole` is whether the page has all bytes of the packet."""
        packet = decoded.packet
        outline = Outline(decoded, limit=0, secrets=secrets, room=80)
        self.name = decoded.name
        self.version = decoded.version.label
        self.guessed = guessed
        self.length = len(decoded.data)
        self.hidden = outline.hidden
        self.payload = _payload(decoded)
        self.traits = _traits(decoded)
        self.named = isinstance(packet, _NAMED)
        """Whether its packets also differ in their summary and in the topics that they name."""
        self.facts = [*_facts(decoded), *([] if self.named else _names_in(_names(decoded)))]
        self.entries, self.lengths, self.texts = _entries(outline.entries(), drawn=whole and packet is not None)

    def summary(self, packet: Packet | None) -> str:
        """Return the main facts of one of its packets without name, size and version."""
        names = _names_in(_names_of(packet)) if self.named else []
        return "  ".join([*self.facts, *map(remark, names)])


class PacketForms:
    """Remembers forms, because making one takes 170 us and recognising one 2.4 us (processor
    time on the usual mix of tests/benchmarks/views.py)."""

    def __init__(self, *, secrets: bool, shown_bytes: int) -> None:
        self.secrets = secrets
        self.shown_bytes = shown_bytes
        """Bytes of each packet that the page has."""
        self._forms: BoundedMemo[Any, PacketForm] = BoundedMemo(MOST_ENTRIES)

    @property
    def weight(self) -> int:
        """Entries and texts of all forms."""
        return self._forms.size

    def form(self, seen: PacketSeen, packet: Packet | None, findings: Iterable[Finding]) -> PacketForm:
        """Return the form of a packet."""
        if packet is None or len(seen.data) > self.shown_bytes or (findings and not _is_canonical(packet, seen)):
            return self._made(seen)
        key = _key(seen, packet)
        form = self._forms.get(key)
        if form is None:
            form = self._made(seen)
            self._forms.keep(key, form, len(form.lengths) + len(form.texts))
        return form

    def _made(self, seen: PacketSeen) -> PacketForm:
        decoded = decode(seen.data, seen.version, direction=seen.direction, offset=seen.offset)
        return PacketForm(
            decoded, guessed=seen.guessed, secrets=self.secrets, whole=len(seen.data) <= self.shown_bytes
        )  # fmt: skip


def traits_of(form: PacketForm, packet: Packet | None) -> PacketTraits:
    """Return the traits of one of the packets of a form."""
    return form.traits._replace(topics=_topics(packet)) if form.named else form.traits


# what a form depends on


def _key(seen: PacketSeen, packet: Packet) -> Any:
    """Return what the form of a well-formed packet depends on: all its values, but only the lengths of texts."""
    data = seen.data
    same = data[0], len(data), seen.version, seen.guessed
    if type(packet) is Publish:
        return same, len(packet.payload), packet.properties and _measure(packet.properties)
    if len(data) == _ONLY_ID and hasattr(packet, "packet_id"):
        return same
    values = [_measure(value) for name, value in vars(packet).items() if name != "packet_id"]
    return same, *values


def _measure(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple([_measure(each) for each in value])
    if isinstance(value, str):
        return len(value) if value.isascii() else len(value.encode("utf-8", "surrogateescape"))
    if isinstance(value, bytes):
        return classify(value).kind, len(value)
    if isinstance(value, Group):
        return tuple([_measure(each) for each in vars(value).values()])
    return value


def _is_canonical(packet: Packet, seen: PacketSeen) -> bool:
    """Whether the bytes of a packet are those that its values have, so that they tell where everything is."""
    try:
        return encode(packet, seen.version) == seen.data
    except ValueError:
        return False


# what a form has


def _entries(entries: Iterable[OutlineEntry], *, drawn: bool) -> tuple[tuple[PageEntry, ...], list[int], list[str]]:
    """Return entries, the lengths of their parts and their words; `drawn` is whether the page may make words itself."""
    shown, lengths, texts = [], [], []
    for entry in entries:
        inline, head, _ = entry.about
        words = "".join([text for text, _ in inline or head])
        content = NONE if inline or not head else JSON if words.startswith("JSON") else TEXT
        styles = " ".join([f"{part.style}*" if part.masked else part.style for part in entry.parts])
        if drawn and not entry.mask and styles.split(" ")[-1] in _DRAWN:
            content, words = _DRAWN[styles.split(" ")[-1]], ""
        shown.append(PageEntry(entry.label, entry.style, entry.depth, entry.mask, content, styles))
        lengths += [part.stop - part.start for part in entry.parts]
        texts.append(words)
    return tuple(shown), lengths, texts


_DRAWN = {"payload": PAYLOAD, "id": IDENTIFIER}
"""The styles of fields whose words the page makes from their bytes."""


def _traits(decoded: Decoded) -> PacketTraits:
    packet, version = decoded.packet, decoded.version.value
    if isinstance(packet, Publish):
        alias = value_of(packet.properties, TOPIC_ALIAS, -1)
        return PacketTraits(packet.dup << 3 | packet.qos << 1 | packet.retain, version, alias, (), ())
    own = getattr(packet, "reason_code", None)
    reasons = tuple(getattr(packet, "reason_codes", ())) if own is None else (own,)
    return PacketTraits(-1, version, -1, reasons, _topics(packet))


def _topics(packet: Packet | None) -> tuple[str, ...]:
    topics: tuple[str, ...] = ()
    if isinstance(packet, Subscribe | Unsubscribe):
        topics = filters_of(packet)
    elif isinstance(packet, Connect) and packet.will:
        topics = (packet.will.topic,)
    return tuple(map(escape, topics))


def _payload(decoded: Decoded) -> Span | None:
    """Return the position of the payload, or of the Will Payload; None without one."""
    packet = decoded.packet
    if isinstance(packet, Publish):
        return Span(len(decoded.data) - len(packet.payload), len(decoded.data))
    if isinstance(packet, Connect) and packet.will:
        leaf = next(each for each in decoded.root.leaves() if each.kind == "payload")
        return Span(leaf.span.start + leaf.prefix, leaf.span.stop)
    return None


def _facts(decoded: Decoded) -> list[str]:
    """Return the main facts of a packet without its name, size, version and names; ID is its Packet Identifier."""
    known = decoded.packet is not None
    facts = [(text.strip(), style) for text, style in headline(decoded)[1:] if style not in ("", "length")]
    return [f"id {ID}" if known and style == "id" else remark(text) for text, style in facts]


def _names(decoded: Decoded) -> list[str]:
    leaves = decoded.root.leaves()
    return [leaf.value for leaf in leaves if leaf.name in _NAMES and isinstance(leaf.value, str)]


def _names_of(packet: Packet | None) -> list[str]:
    if isinstance(packet, Connect):
        return [packet.client_id]
    return list(filters_of(packet)) if isinstance(packet, Subscribe | Unsubscribe) else []


def _names_in(names: list[str]) -> list[str]:
    """Return the first name, and how many there are besides."""
    more = [f"and {len(names) - 1} more"] if names[1:] else []
    return [*map(escape, names[:1]), *more]
