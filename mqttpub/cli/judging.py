"""What the specification forbids is refused before anything is sent."""

import click

from ..codec.encode import encode
from ..lint.quick import sound
from ..spec.fields import Packet
from ..spec.packets import Publish
from ..spec.terms import Direction, Version


def judge(packet: Packet, version: Version, *, force: bool) -> None:
    """Raise UsageError for what cannot be written, and unless forced for what the specification forbids."""
    if isinstance(packet, Publish) and packet.qos and packet.packet_id is None:
        # The identifier is given when the message is sent; any serves to judge the rest.
        packet = packet.replace(packet_id=1)
    try:
        data = encode(packet, version)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    if force or sound(packet, version):
        return
    from ..codec.decode import decode
    from ..lint.packet import lint

    for finding in lint(decode(data, version, direction=Direction.CLIENT), Direction.CLIENT):
        if finding.severity == "error":
            raise click.UsageError(f"{finding.message} ({finding.statement}); --force sends it all the same")
