"""The place of each packet in its input, and the end of connections in texts."""

from contextlib import ExitStack
from pathlib import Path

from mqttpub.reading.input import Input, InputOptions
from mqttpub.reading.located import LocatedInput, Location
from mqttpub.traffic.events import Closed, Event


def located(path: Path) -> list[tuple[type[Event], int, int | None]]:
    """Return the kind, line and offset of each event."""
    with ExitStack() as stack:
        given = LocatedInput(Input.opened(str(path), stack))
        return [(type(each), given.location.line, given.location.start) for each in given.events(InputOptions())]


def test_packets_of_a_text_have_their_line_and_those_of_raw_bytes_their_offset(tmp_path: Path) -> None:
    text, raw = tmp_path / "a.hex", tmp_path / "a.bin"
    text.write_text("\n> c000\n\n< d000\n")
    raw.write_bytes(b"\xc0\0\xd0\0")
    assert [each[1:] for each in located(text) if each[0] is not Closed] == [(2, None), (4, None)]
    assert [each[1:] for each in located(raw) if each[0] is not Closed] == [(0, 0), (0, 2)]


def test_a_text_ends_with_the_end_of_its_connection(tmp_path: Path) -> None:
    path = tmp_path / "a.hex"
    path.write_text("c000")
    assert [each[0] for each in located(path)][-1] is Closed


def test_the_guessed_version_is_a_remark(tmp_path: Path) -> None:
    path = tmp_path / "a.hex"
    path.write_text("> 3008 0001 61 686970616e")
    with ExitStack() as stack:
        given = LocatedInput(Input.opened(str(path), stack))
        assert given.whole == Location(str(path), path.stat().st_size)
        list(given.events(InputOptions()))
        (remark,) = [each for each in given.remarks() if "read as" in each]
    assert "packets were read as MQTT 3.1.1" in remark
