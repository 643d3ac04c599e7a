"""Tables of captures are those of the pipeline, and their packets those of `read`."""

import sys
from pathlib import Path

import pytest

import mqttpub
from tests.paths import CAPTURES

QOS2 = CAPTURES / "qos2-mosquitto.pcapng"


def test_the_packets_are_those_that_read_yields() -> None:
    tables = mqttpub.tables(QOS2)
    read = [each for each in mqttpub.read(QOS2) if isinstance(each, mqttpub.PacketInContext)]
    rows = tables.packets.sort_by([("frame", "ascending"), ("pos", "ascending")])
    assert rows.column("type").to_pylist() == [each.packet.name for each in read if each.packet]
    assert tables.connections.num_rows == len({each.event.ends.number for each in read})
    assert tables.findings.num_rows == sum(len(each.findings or ()) for each in read)
    assert tables.exchanges.num_rows > 0


def test_several_captures_and_damage(tmp_path: Path) -> None:
    alone = mqttpub.tables(QOS2)
    both = mqttpub.tables([QOS2, CAPTURES / "every-type-and-property.pcapng"])
    assert both.packets.num_rows > alone.packets.num_rows
    (tmp_path / "cut.pcapng").write_bytes(QOS2.read_bytes()[:-3])
    with pytest.raises(mqttpub.UserError, match=r"cut\.pcapng: "):
        mqttpub.tables(tmp_path / "cut.pcapng")
    with pytest.raises(mqttpub.UserError, match=r"^cannot read '.*none\.pcapng': No such file or directory$"):
        mqttpub.tables(tmp_path / "none.pcapng")


def test_without_the_extra_the_error_says_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ModuleNotFoundError, match=r"^mqttpub\.tables needs pyarrow: .*install 'mqttpub\[columns\]'$"):
        mqttpub.tables(QOS2)
