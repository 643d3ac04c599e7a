"""The fixed header: where a packet ends."""

from ..wire.cursor import variable_integer


def frame_length(data: bytes | bytearray, start: int = 0) -> int | None:
    """Return the length in bytes of the packet at `start`, fixed header included; None if more bytes are needed.

    Raises Overlong if the Remaining Length does not end at its fourth byte (5.0: 2.1.4; 3.1.1: 2.2.3; 3.1: 2.1).
    """
    found = variable_integer(data, start + 1, len(data))
    return None if found is None else found[1] - start + found[0]
