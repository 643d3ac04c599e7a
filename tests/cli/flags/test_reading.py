"""The flags that `decode` and `lint` share."""

import click
import pytest

from mqttpub.cli.commands import decode, lint
from mqttpub.cli.flags.reading import InputRequest, filter_of, input_request
from mqttpub.reading.input import InputOptions
from mqttpub.spec.versions import Direction, Version


def _request(*arguments: str) -> InputRequest:
    with decode.command.make_context("decode", list(arguments)) as ctx:
        return input_request(ctx.params)


def test_both_commands_have_the_same_flags_for_their_input() -> None:
    of_decode, of_lint = (
        [param.opts for param in command.params if getattr(param, "group", "") == "Input"]
        for command in (decode.command, lint.command)
    )
    assert of_decode == of_lint
    assert ["-f", "--file"] in of_decode


def test_flags_become_options_of_the_readers() -> None:
    request = _request("c000", "-V", "3.1.1", "--direction", "server", "--port", "1", "--port", "2", "--form", "hex")
    assert request.words == ("c000",)
    assert request.options == InputOptions("hex", Version.V311, Direction.SERVER, (1, 2))
    assert request.capture_flags == ("--port",)
    assert _request("c000").options == InputOptions()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [((), True), (("-f", "-"), True), (("c000",), False), (("-f", "x"), False), (("c000", "-f", "-"), True)],
)
def test_standard_input_is_read_if_it_is_named_or_nothing_is(arguments: tuple[str, ...], expected: bool) -> None:
    assert _request(*arguments).uses_standard_input is expected


def test_filters_and_the_client_to_follow_are_joined() -> None:
    assert filter_of([]) is None
    assert filter_of(["qos=1", "dup"], 'a "client"') is not None
    with pytest.raises(click.UsageError, match=r"^--filter: "):
        filter_of(["qos=4"])
