"""What `pub` is asked to do, as one value that the command makes of its flags."""

from collections.abc import Callable
from dataclasses import dataclass

from ...live.net.target import Target
from ...spec.packets import Publish
from ..flags.bulk import BulkRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishRequest:
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
    inspect: bool = False
    lint: bool = False
    """Whether to check everything that is sent and received."""
    json: bool = False
    secrets: bool = False
    """Whether to show passwords and authentication data."""
    full: bool = False
    """Whether to show every byte of a long field."""
