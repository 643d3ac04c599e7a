"""`mqttpub send`: its flags, and the request that they make."""

from typing import TYPE_CHECKING, Any

import click

from ...flags.base import flag, together
from ...flags.client import ClientCommand
from ...flags.connect import connection_target, profile_flags, session_flags
from ...flags.connection import asked_version, watched_flags
from ...flags.transport import check
from ...flags.types import FiniteRange

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from ....script.steps import Step
    from ...step.request import SendRequest

send_flags = together(
    flag(
        "--expect", multiple=True, metavar="STEP", common=True,
        help="This must come, such as 'puback i1 c10'. Repeatable, in order.",
    ),
    flag("--no-connect", is_flag=True, common=True, help="Do not send a CONNECT first."),
    flag(
        "-W", "--wait", type=FiniteRange(min=0), default=1.0, show_default=True, metavar="SECONDS", common=True,
        help="Show what comes for this long after the last byte.",
    ),
    group="What to send",
)  # fmt: skip


@click.command(
    name="send",
    cls=ClientCommand,
    examples=(
        "mqttpub send 'publish q1 i1 t=a p=hi' --expect 'puback i1'",
        "mqttpub send 30 03 00 01 61",
        "mqttpub send --no-connect 'raw 30ffffffff7f'",
        "mqttpub encode publish -t a | mqttpub send -",
    ),
)
@click.argument("words", nargs=-1, required=True, metavar="HEX|STEP...")
@send_flags
@session_flags
@watched_flags
@profile_flags
def command(**given: Any) -> int:
    """Send steps or raw bytes to a broker, and show every byte that comes back.

    Each argument is a step, such as 'publish t=a p=hi', or bytes in hex; - reads standard input. A CONNECT made of the
    flags goes first, unless the first step is one. `mqttpub help script` explains steps.

    Exit status 1: what --expect says did not come.
    """
    from ...step.send import send

    return send(send_request(given))


def send_request(given: dict[str, Any]) -> "SendRequest":
    """Return the request that the flags make; raises UsageError."""
    from ....script.steps import PacketStep
    from ....spec.packets import Connect
    from ...observe.shown import shown
    from ...step.request import SendRequest

    steps = _steps(given["words"])
    expected = [step for text in given["expect"] for step in _parsed(text, "<")]
    if wrong := next((step for step in expected if not isinstance(step, PacketStep)), None):
        raise click.UsageError(f"--expect takes packets, not '{wrong.word.text}'")
    first = next((step for step in steps if isinstance(step, PacketStep)), None)
    is_connect = first is not None and (first.packet is Connect or first.raw[:1] == b"\x10")
    target = connection_target(given)
    check(target.transport)
    return SendRequest(
        steps=steps, expected=tuple(each for each in expected if isinstance(each, PacketStep)),
        target=target, timeout_s=given["timeout"], wait_s=given["wait"],
        connects=not (given["no_connect"] or is_connect), version=asked_version(given),
        is_client_id_chosen=bool(given["client_id"] or given["id_prefix"]), shown=shown(given, inspect=True),
    )  # fmt: skip


def _steps(words: tuple[str, ...]) -> "tuple[Step, ...]":
    """Return the steps of the arguments; neighbours that are hex are the bytes of one step."""
    from ....common.standard_input import STANDARD_INPUT_NAME
    from ...step.scripts import bounded, check_standard_input

    check_standard_input(words)
    found: list[Step] = []
    hex = ""
    for word in [*words, ""]:
        if word and not set(word.lower()) - set("0123456789abcdef :"):
            hex += word.replace(":", "").replace(" ", "")
            continue
        if hex:
            found += _parsed(f"raw {hex}", ">")
            hex = ""
        found += bounded(STANDARD_INPUT_NAME, _of_lines, word) if word == "-" else _parsed(word, ">")
    if not found:
        raise click.UsageError("there is nothing to send: give a step, bytes in hex, or - for standard input")
    return tuple(found)


def _of_lines(lines: "Iterable[str]") -> "Iterator[Step]":
    """Yield the steps of the lines of standard input: of a script, or bytes in hex."""
    from ....script.reader import read_line

    for number, line in enumerate(lines, 1):
        is_hex = line.strip() and not set(line.strip().lower()) - set("0123456789abcdef ")
        yield from read_line(f"raw {line}" if is_hex else line, number, mark=">")


def _parsed(text: str, mark: str) -> "list[Step]":
    """Return the steps of a text; packets at its beginning need no mark."""
    from ....common.bad_text import BadText
    from ....script.reader import read_line
    from ...step.masked import masked
    from ...step.scripts import wrong

    try:
        return list(read_line(text, mark=mark))
    except BadText as error:
        raise wrong(f"'{masked(text)}'", error) from None
