"""What `request` is asked to do, as one value that the command makes of its flags."""

from typing import NamedTuple

from ...live.net.target import Target
from ...live.request.requester import AskOptions
from ...spec.packets import Publish


class AskRequest(NamedTuple):
    """What to ask, where, and how the answers are shown."""

    target: Target
    packet: Publish
    """The PUBLISH of a request, without Response Topic and Correlation Data."""
    options: AskOptions
    asks_response_information: bool = False
    """Whether CONNECT asks for Response Information."""
    verbose: bool = False
    """Whether to print the topic before each answer."""
    raw: bool = False
    """Whether to print the bytes of an answer unchanged."""
    ending: bytes = b"\n"
    """What follows each answer."""
    force: bool = False
    inspect: bool = False
    lint: bool = False
    """Whether to check everything that is sent and received."""
    json: bool = False
    secrets: bool = False
    """Whether to show passwords and authentication data."""
    full: bool = False
    """Whether to show every byte of a long field."""
