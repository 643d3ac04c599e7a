"""What `pub` is asked to do, as one value that the command makes of its flags.

Requests are built by name. They are NamedTuples because `pub` is started often, and a dataclass with as many
fields takes a millisecond more to define.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from ...live.net.target import Target
from ...spec.packets import Publish
from ..observe.shown import Showing

if TYPE_CHECKING:
    from ..flags.payload import TemplateRequest


class BulkRequest(NamedTuple):
    """How many messages to publish, from where, and how fast."""

    kind: str = ""
    """lines, jsonl or csv: what the input holds; empty for messages that the flags name."""
    delimiter: bytes = b"\n"
    rate: float | None = None
    window: int = 65535
    repeat: int = 1
    delay_s: float = 0.0
    outbox: str | None = None
    resend_doubtful: bool = False
    reconnects: int | None = 0
    aliases: bool = False
    require_subscribers: bool = False
    template: "TemplateRequest | None" = None
    """What the placeholders of the messages are filled with; None where there are none."""


class PublishRequest(NamedTuple):
    """What to publish, where it goes, and how it is shown."""

    packets: tuple[Publish, ...]
    """The messages; in bulk, one PUBLISH with what all messages share."""
    target: Target
    timeout_s: float
    bulk: BulkRequest
    convert: Callable[[bytes], bytes] | None = None
    """Turns what is given into a payload; for standard input that is read message by message."""
    is_client_id_chosen: bool = False
    """Whether the user gave the Client Identifier."""
    embedded: bool = False
    """Whether to publish to the built-in broker."""
    force: bool = False
    """Whether to send even what the specification forbids."""
    shown: Showing = Showing()
