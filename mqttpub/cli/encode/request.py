"""What `encode` is asked to do, as values that the command makes of its flags."""

from typing import NamedTuple

from ...spec.declare import Packet
from ...spec.versions import Version


class EncodeOutput(NamedTuple):
    """How the bytes of a packet are printed."""

    form: str
    inspect: bool
    """Whether to show an annotated dump instead."""
    secrets: bool
    full: bool


class EncodeRequest(NamedTuple):
    """The packet that the flags of a subcommand describe."""

    packet: Packet
    version: Version
    remaining_length: int | None
    """A value in place of the right Remaining Length; None for the right one."""
    output: EncodeOutput
