"""Scripts that grow, and packets that grow when they are written as steps."""

from collections.abc import Callable
from io import BytesIO
from itertools import count

from mqttpub.capture.text.script import script_events
from mqttpub.codec.encode import encode
from mqttpub.common.bad_text import BadText
from mqttpub.script.reader import script_lines
from mqttpub.script.signs import is_script
from mqttpub.script.writer import ConnectionWriter
from mqttpub.spec.declare import Property
from mqttpub.spec.packets import Publish, Subscribe, Subscription
from mqttpub.spec.properties import BY_KEY
from mqttpub.spec.versions import Direction, Version

_PAIR = Property(BY_KEY["user_property"].id, ('a:"\n', "b"))
_FILTER = Subscription(filter="a,\n")


def script(data: bytes) -> None:
    """Read a script to its packets."""
    is_script(data.decode())
    try:
        for _ in script_events(script_lines(BytesIO(data))):
            pass
    except BadText:
        pass


def written(data: bytes) -> None:
    """Write a packet as a step, and read it back."""
    ConnectionWriter(Version.V5, count(1)).step(data, Direction.SERVER)


SCRIPTS: dict[str, Callable[[int], bytes]] = {
    "escapes": lambda size: b'> publish p="' + b"\\n" * size * 4 + b'"',
    "escaped quotes": lambda size: b'> publish user_property="' + b'\\"' * size + b'":a',
    "quotes": lambda size: b"> publish t=" + b'""a' * size,
    "variables": lambda size: b"> publish t=" + b"${x:a}" * size,
    "quoted variables": lambda size: b'> publish t="${x:a}' + b"${x}\\n" * size + b'"',
    "open variables": lambda size: b"> subscribe i1 f=" + b"${" * size,
    "separators": lambda size: b"> subscribe i1 f=" + b"a:q1," * (size // 10) + b"a",
    "colons": lambda size: b"> publish user_property=" + b"a:" * size,
    "words": lambda size: b"> publish" + b" user_property=a:b" * (size // 10),
    "bytes": lambda size: b"> raw" + b" 30" * size,
    "comments": lambda size: b"#\n" * size + b"> pingreq",
    "steps": lambda size: b"> pingreq; +1;" * (size // 10),
    "pairs of ends": lambda size: b"".join(b"[%d] @; [%d] end\n" % (at, at) for at in range(size // 20)),
    "blanks": lambda size: b" " * size + b"x",
}
"""Makers of scripts by what grows in them; of what takes long to read, there is less."""
WRITTEN: dict[str, Callable[[int], bytes]] = {
    "newlines": lambda size: encode(Publish(topic="a", payload=b"\n" * size), Version.V5),
    "quotes": lambda size: encode(Publish(topic="a", payload=b'"\\$${' * size), Version.V5),
    "pairs": lambda size: encode(Publish(topic="a", properties=(_PAIR,) * (size // 10)), Version.V5),
    "filters": lambda size: encode(Subscribe(packet_id=1, subscriptions=(_FILTER,) * (size // 10)), Version.V5),
}
"""Makers of packets by what grows in their steps."""
