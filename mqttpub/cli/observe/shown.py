"""How the packets of a run are shown, checked and recorded, as one value of every request of a connecting command."""

from typing import NamedTuple

from ..flags.base import FlagValues

MEGABYTE = 1_000_000


class Showing(NamedTuple):
    """What is shown of the connections of a run."""

    inspect: bool = False
    """Whether to show every packet."""
    lint: bool = False
    """Whether to check everything that is sent and received."""
    json: bool = False
    """Whether to print JSON Lines."""
    secrets: bool = False
    """Whether to show passwords and authentication data."""
    full: bool = False
    """Whether to show every byte of a long field."""
    capture: str = ""
    """File to record the connections in; empty for none."""
    masks: bool = False
    """Whether asterisks stand for passwords and authentication data in that file."""
    file_bytes: int = 0
    """Size of that file at which another one is begun; 0 for none."""


def shown(given: FlagValues, *, json: bool | None = None, inspect: bool | None = None) -> Showing:
    """Return what the flags ask for; `json` and `inspect` take the place of the flags where a command has others.

    Raises UserError for a capture that would replace a file of another kind, or what is to be sent.
    """
    capture = given["capture"] or ""
    if capture:
        import sys

        from ...common.files import PCAPNG, check_place, file_id

        inputs = [given.get("file"), sys.stdin]
        check_place("--capture", capture, PCAPNG, [file_id(each) for each in inputs if each])
    elif given["capture_masked"] or given["capture_size"]:
        import click

        name = "--capture-masked" if given["capture_masked"] else "--capture-size"
        raise click.UsageError(f"{name} says how --capture records, so that is needed too")
    return Showing(
        inspect=given["inspect"] if inspect is None else inspect, lint=given.get("lint", False),
        json=given["as_json"] if json is None else json, secrets=given["show_secrets"], full=given.get("full", False),
        capture=capture, masks=given["capture_masked"], file_bytes=(given["capture_size"] or 0) * MEGABYTE,
    )  # fmt: skip
