"""What `pub` is asked to do, as one value that the command makes of its flags.

Requests are built by name. They are NamedTuples because `pub` is started often, and a dataclass with as many
fields takes a millisecond more to define.
"""

from collections.abc import Callable
from typing import NamedTuple

from ...live.net.target import Target
from ...spec.packets import Publish
from ..flags.bulk import BulkRequest
from ..observe.shown import Showing


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
