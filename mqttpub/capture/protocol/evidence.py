"""The version of a connection without a CONNECT, and which end is the client, from its packets."""

from collections import Counter
from collections.abc import Iterable
from functools import cache, lru_cache

from ...codec.connect_version import connect_layout
from ...codec.decode import decode
from ...codec.fast_decode import Irregular, reader
from ...codec.framing import frame_length
from ...common.words import plural
from ...lint.packet.check import lint
from ...lint.packet.fast import is_clean
from ...spec.declare import PACKETS, Field, only_sender
from ...spec.packets import Connect, Publish, declared
from ...spec.versions import Direction, Version
from ...wire.cursor import Cursor, Overlong, Short
from ...wire.types import MAX_VARIABLE, VARIABLE

VERSIONS = frozenset(Version)
DECIDING = 3
"""Packets with an error in one version and none in another that settle the version."""
MOST_PACKETS = 16
MOST_BYTES = 1 << 16
"""Packets and bytes that are examined, and so held, before a version is chosen, at most."""
BEGINNING = 64
"""Bytes of a packet cut short that are examined, at most."""
SHORTEST = 6
"""Bytes of a packet whose result is cached, at most."""


# single packets


@cache
def first_bytes(version: Version) -> frozenset[int]:
    """Return the bytes that can begin a packet of a version."""
    return frozenset(first for first in range(256) if _may_begin(first, version))


def _may_begin(first: int, version: Version) -> bool:
    cls = declared(first >> 4, version)
    return cls is not None and not any(_breaks(field, first, version) for field in cls.plan[version][0])


def _breaks(field: Field, first: int, version: Version) -> bool:
    value = (first & field.mask) >> field.shift
    return any(limit.ref.id(version) and limit.violation(value) for limit in field.limits)


def without_payload(data: bytes, version: Version) -> bytes:
    """Return a PUBLISH without its payload, any other packet as it is.

    `data` need not hold all of the payload. Raises Short or Overlong if it ends too soon.
    """
    if data[0] >> 4 != Publish.code:
        return data
    cursor = Cursor(data, 1)
    cursor.variable()
    start = cursor.pos
    cursor.take(cursor.integer(2))
    if data[0] & 0b0110:
        cursor.take(2)
    if version >= Version.V5:
        cursor.take(cursor.variable())
    return bytes((data[0],)) + VARIABLE.write(cursor.pos - start) + data[start : cursor.pos]


def clean(data: bytes, version: Version, *, longest: int = MAX_VARIABLE) -> bool:
    """Whether a whole packet has no error in a version; the payload of a PUBLISH is not examined.

    A packet above `longest` bytes is only checked quickly, and may seem to have an error.
    """
    try:
        data = without_payload(data, version)
    except (Short, Overlong):
        return False
    # The shortest packets occur again and again.
    return (_clean_again if len(data) <= SHORTEST else _clean)(data, version, longest)


def _clean(data: bytes, version: Version, longest: int) -> bool:
    code = data[0] >> 4
    if code == Connect.code:
        version = connect_layout(data) or version
    try:
        packet = reader(code, version)(data, data[0], _header_size(data), len(data))
    except (Short, Overlong, Irregular):
        return False
    if is_clean(packet, version):
        return True
    return len(data) <= longest and not any(each.severity == "error" for each in lint(decode(data, version)))


_clean_again = lru_cache(4096)(_clean)


def _header_size(data: bytes) -> int:
    cursor = Cursor(data, 1)
    cursor.variable()
    return cursor.pos


# a conversation


def _announces(code: int) -> bool:
    """Whether every packet of a type has a Property Length in 5.0; earlier versions have none."""
    return any(
        field.shape == "properties" and Version.V5 not in field.tail
        for step in PACKETS[code].plan[Version.V5]
        for field in step
    )


_ANNOUNCING = frozenset(code for code in PACKETS if _announces(code))


class Guess:
    """Guesses the version of a connection, and which side is the client, from its packets.

    All readers use this rule for a connection without a CONNECT that announces a version. The version is the one in
    which the fewest packets have errors; among equals the one with the fewest errors in the packets that are wrong
    in every version; then the one in which a CONNECT of unknown level is read; then the newest. So it is 5.0 as long
    as no packet differs between the versions.

    At most `most_packets` are examined before the version is `settled`.
    """

    def __init__(self, versions: Iterable[Version] = VERSIONS, *, most_packets: int = MOST_PACKETS) -> None:
        self.versions = sorted(versions, reverse=True)
        self.most_packets = most_packets
        self.packets = 0
        self.size = 0
        self.different = 0
        """The number of packets that are not the same in all versions."""
        self.deciding = 0
        """The number of packets with an error in one version and none in another."""
        self.right: Counter[Version] = Counter()
        """The number of packets without errors, by version."""
        self.errors: Counter[Version] = Counter()
        """The number of errors in packets that are wrong in every version, by version."""
        self.layout: Version | None = None
        """The version in which a CONNECT of unknown level is read."""
        self.client: int | None = None
        self.client_because = ""

    def add(self, data: bytes, side: int | None = None) -> None:
        """Examine one packet, whole or cut short, and the side that sent it, if known."""
        code = data[0] >> 4
        whole = _whole(data)
        # Some callers keep no more of a packet cut short, and all callers should get the same version.
        data = data if whole else data[:BEGINNING]
        self.packets += 1
        self.size += len(data)
        self._ends(code, side)
        if code == Connect.code:
            self.layout = self.layout or connect_layout(data)
            return
        found = {version for version in self.versions if clean(data, version)} if whole else set()
        self.right.update(found)
        if found and (code in _ANNOUNCING or len(found) < len(self.versions)):
            self.different += 1
            self.deciding += len(found) < len(self.versions)
        if not found:
            self.errors.update({version: _errors(data, version) for version in self.versions})

    def _ends(self, code: int, side: int | None) -> None:
        end = only_sender(code)
        if end and side is not None and self.client is None:
            self.client = side if end is Direction.CLIENT else 1 - side
            self.client_because = f"the {end.value} is the end that sends {PACKETS[code].name}"

    @property
    def settled(self) -> bool:
        """Whether enough packets were examined."""
        return self.deciding >= DECIDING or self.packets >= self.most_packets or self.size >= MOST_BYTES

    @property
    def certain(self) -> bool:
        """Whether later packets should not change the version."""
        return self.deciding > 0 or self.different >= self.most_packets

    @property
    def version(self) -> Version:
        """The version that is most likely by the packets so far."""
        return max(self.versions, key=lambda each: (self.right[each], -self.errors[each], each is self.layout))

    @property
    def why(self) -> str:
        """The reason for the version, as a sentence."""
        chosen = self.version.label
        if not self.different:
            return f"nothing shows the version so far: {chosen} is assumed"
        counts = ", ".join(f"{self.right[version]} in {version.label}" for version in self.versions)
        packets = f"{self.packets} {plural(self.packets, 'packet')}"
        return f"version {chosen} guessed from {packets}; without errors: {counts}"


def _whole(data: bytes) -> bool:
    try:
        return frame_length(data) == len(data)
    except Overlong:
        return False


def _errors(data: bytes, version: Version) -> int:
    return sum(each.severity == "error" for each in lint(decode(data, version)))
