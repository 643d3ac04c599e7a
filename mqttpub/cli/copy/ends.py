"""The two brokers of `copy`: each is a URL or the name of a profile, and flags that are given hold for both."""

import os
from typing import Any

import click
from click.core import ParameterSource

from ...live.net.target import Target, client_id
from ...live.net.urls import broker_url
from ..flags.base import FlagValues
from ..flags.client import ClientCommand
from ..flags.connect import connection_target, session_flags
from ..flags.profile import config_path, profile_flag, profiles
from ..observe.gate import admit

FROM_SUFFIX, TO_SUFFIX = "-from", "-to"
"""What the Client Identifiers of the two ends end in, which may be one broker."""


@click.command(name="copy", cls=ClientCommand)
@session_flags
@profile_flag
def end(**given: Any) -> None:
    """Hold the flags of one end; it is parsed, and never called."""


def ends(given: FlagValues) -> tuple[Target, Target, bool]:
    """Return both Targets, and whether the user chose a Client Identifier; raises UsageError that names the argument.

    What a URL says comes before the flags of the command line, and these before a profile.
    """
    outer = click.get_current_context()
    common = [
        key for key in outer.params if outer.get_parameter_source(key) is ParameterSource.COMMANDLINE
    ]  # fmt: skip
    both = {key: given[key] for key in common}
    base = client_id(given["id_prefix"] or "mqttpub-") if given["client_id"] is None else given["client_id"]
    source, has_own = _end("FROM", given["source"], both, base + FROM_SUFFIX)
    target, has_own_too = _end("TO", given["target"], both, base + TO_SUFFIX)
    return source, target, given["client_id"] is not None or has_own or has_own_too


def _end(name: str, text: str, both: FlagValues, client_id: str) -> tuple[Target, bool]:
    """Return the Target of one end, and whether its profile has a Client Identifier."""
    try:
        words, own = _words(text)
        ctx = end.make_context("copy", words)
        with ctx:
            values = ctx.params
            has_own = values["client_id"] is not None and "client_id" not in both
            for key in (both.keys() & values.keys()) - own:
                values[key] = both[key]
            values |= {"client_id": values["client_id"] if has_own else client_id, "id_prefix": None}
            target = connection_target(values)
            admit(target, force=both.get("force", False))
            return target, has_own
    except click.UsageError as error:
        raise click.UsageError(f"{name}: {error.format_message()}") from None


def _words(text: str) -> tuple[list[str], set[str]]:
    """Return the arguments that stand for an end, and the names of the flags that its URL sets."""
    if "://" in text:
        try:
            url = broker_url(text)
        except ValueError as error:
            raise click.UsageError(str(error)) from None
        if url.topic is not None:
            raise click.UsageError(f"the URL names the topic '{url.topic}': Topic Filters are given with -t")
        return ["--url", text], {key for key, value in url._asdict().items() if value is not None}
    path = config_path()
    if not os.path.isfile(path) or text not in profiles(path):
        raise click.UsageError(f"'{text}' is neither a URL, such as mqtt://{text or 'host'}, nor a profile")
    return ["--profile", text], set()
