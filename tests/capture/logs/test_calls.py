"""What strace shows of a connection, whatever its options."""

import pytest

from mqttpub.capture.logs.calls import CallReader
from mqttpub.capture.logs.cleaning import log_line
from mqttpub.capture.text.source import BadText

CONNECT = r"\20\r\0\4MQTT\5\2\0<\0\0\0"


def read(text: str) -> list[tuple[str, str, bytes]]:
    """Return the descriptors, sides and bytes of the calls in some lines."""
    reader = CallReader()
    found = [
        each for number, line in enumerate(text.splitlines(), 1) for each in reader.line(log_line(number, line)) or []
    ]
    return [(each.fd, each.side, each.data) for each in found]


def test_only_descriptors_of_mqtt_are_read() -> None:
    text = f'read(3, "\\177ELF"..., 832) = 832\nwrite(5, "{CONNECT}", 15) = 15\nwrite(1, "hello\\n", 6) = 6\n'
    assert read(text) == [("5", ">", b"\x10\r\0\4MQTT\5\2\0<\0\0\0")]


def test_a_connect_in_several_calls() -> None:
    text = 'read(7, "\\20", 1) = 1\nread(7, "\\r", 1) = 1\nread(7, "\\0\\4MQTT\\5\\2\\0<\\0\\0\\0", 13) = 13\n'
    assert b"".join(data for _, _, data in read(text)) == b"\x10\r\0\4MQTT\5\2\0<\0\0\0"


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ('write(5<TCP:[10.0.0.1:50000->10.0.0.2:1883]>, "\\300\\0", 2) = 2', b"\xc0\0"),
        ('12 10:00:00.1 send(5<TCP:[10.0.0.1:5->10.0.0.2:1883]>, "\\xc0\\x00", 2, 0) = 2', b"\xc0\0"),
        ('sendto(5<TCP:[10.0.0.1:5->10.0.0.2:1883]>, "\\300\\0\\300\\0", 4, 0, NULL, 0) = 2', b"\xc0\0"),
        ('writev(5<TCP:[1.1.1.1:5->1.1.1.2:1883]>, [{iov_base="\\300"}, {iov_base="\\0"}], 2) = 2', b"\xc0\0"),
    ],
)  # fmt: skip
def test_forms_of_calls(text: str, data: bytes) -> None:
    assert read(text) == [("5", ">", data)]


def test_a_call_that_another_process_interrupts() -> None:
    end = "5<TCP:[10.0.0.1:5->10.0.0.2:1883]>"
    text = (
        f'[pid 7] read({end},  <unfinished ...>\n[pid 8] futex(1) = 0\n[pid 7] <... read resumed>"\\320\\0", 2) = 2\n'
    )
    assert read(text) == [("5", "<", b"\xd0\0")]


def test_a_call_that_failed_and_one_that_is_not_shown_whole() -> None:
    end = "5<TCP:[10.0.0.1:5->10.0.0.2:1883]>"
    assert read(f'read({end}, "", 2) = 0\nread({end}, 0x7ffe, 2) = -1 EAGAIN\n') == []
    with pytest.raises(BadText, match="strace -s shows more"):
        read(f'write({end}, "\\60\\200\\1"..., 300) = 300\n')
