"""Protocol versions and directions."""

from enum import Enum, IntEnum


class Version(IntEnum):
    """A version of MQTT; the value is its protocol level in CONNECT."""

    V31 = 3
    V311 = 4
    V5 = 5

    @property
    def label(self) -> str:
        """The usual name: 3.1, 3.1.1 or 5.0."""
        return _LABELS[self]

    @property
    def prefix(self) -> str:
        """The beginning of the ids of its statements: MQTT5."""
        return _PREFIXES[self]

    @classmethod
    def of_level(cls, level: int) -> "Version | None":
        """Return the version that a Protocol Level in CONNECT announces (5.0: 3.1.2.2); None for an unknown level.

        Bit 7 is ignored: bridges of Mosquitto set it.
        """
        return _OF_LEVEL.get(level & 0x7F)

    @classmethod
    def named(cls, text: str) -> "Version":
        """Return the version that `text` names, such as 5, 3.1.1 or mqttv311; raises ValueError."""
        try:
            return _NAMES[text.lower()]
        except KeyError:
            raise ValueError(f"{text!r} is not an MQTT version (3.1, 3.1.1, 5)") from None

    @staticmethod
    def names() -> dict[str, int]:
        """Return the Protocol Level of each name that `named` accepts."""
        return {name: version.value for name, version in _NAMES.items()}


V31, V311, V5 = Version
"""Short names for code that runs for each packet: Python takes far longer to find an attribute of an Enum class."""


class Direction(Enum):
    """Which end sent a packet."""

    CLIENT = "client"
    SERVER = "server"

    # A member is equal to itself only. Several tables are asked for it with each packet, and the hash of Enum is a
    # function of Python: 0.17 us instead of 0.08 (timeit).
    __hash__ = object.__hash__

    @property
    def other(self) -> "Direction":
        """That of the packets of the other end."""
        return Direction.SERVER if self is Direction.CLIENT else Direction.CLIENT

    @property
    def arrow(self) -> str:
        """The direction in words: client -> server."""
        return "client -> server" if self is Direction.CLIENT else "server -> client"

    @property
    def mark(self) -> str:
        """`>` towards the server, `<` towards the client."""
        return ">" if self is Direction.CLIENT else "<"


_OF_LEVEL = {version.value: version for version in Version}
_LABELS = {Version.V31: "3.1", Version.V311: "3.1.1", Version.V5: "5.0"}
_PREFIXES = {Version.V31: "MQTT31", Version.V311: "MQTT311", Version.V5: "MQTT5"}
_NAMES = {
    **dict.fromkeys(("3.1", "31", "mqttv31", "mqisdp"), Version.V31),
    **dict.fromkeys(("3.1.1", "311", "3", "4", "mqttv311"), Version.V311),
    **dict.fromkeys(("5", "5.0", "mqttv5"), Version.V5),
}
