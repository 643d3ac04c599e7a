"""Sources at URLs are listed and fetched by Hadoop's file systems."""

from pathlib import Path
from typing import Any

import pytest

from mqttpub.spark.pipeline.sources import NoSource, fetched
from tests.build.fleet import capture, rotated
from tests.spark.running import piped, tables

pytestmark = pytest.mark.long


@pytest.fixture
def mounted(spark: Any, tmp_path: Path) -> Path:
    """Make a folder that Hadoop knows as viewfs://ring/data, and return it."""
    folder = tmp_path / "ring"
    rotated(capture(3), folder, 3)
    (folder / "_hidden").write_text("30 02 00 00")
    conf = spark.sparkContext._jsc.hadoopConfiguration()
    conf.set("fs.viewfs.mounttable.ring.link./data", folder.as_uri())
    return folder


def test_the_same_tables_come_from_urls(
    spark: Any, mounted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A relative folder, too, is reached by the file system of Hadoop.
    monkeypatch.chdir(tmp_path)
    piped(mounted, out=tmp_path / "paths")
    for number, urls in enumerate(
        (["viewfs://ring/data"], ["viewfs://ring/data/ring-*", mounted.as_uri() + "/*2.pcap"])
    ):
        out = Path(f"urls-{number}")
        piped(*urls, out=out)
        names = {row["capture"] for row in tables(out)["packets"]}
        assert names >= {f"viewfs://ring/data/ring-00{each}.pcap" for each in range(3 - number)}
        assert not (out / "_staging").exists()
    found, expected = (
        [{**row, "capture": Path(row["capture"]).name} for row in tables(tmp_path / each)["exchanges"]]
        for each in ("urls-0", "paths")
    )
    assert sorted(map(repr, found)) == sorted(map(repr, expected))


def test_a_url_without_files_is_reported(spark: Any, mounted: Path, tmp_path: Path) -> None:
    for url, words in (
        ("viewfs://ring/data/*.none", "there is nothing at 'viewfs://ring/data/.*none'"),
        ("viewfs://elsewhere/x", "cannot list 'viewfs://elsewhere/x': "),
        ("nosuch://x/y", "cannot list 'nosuch://x/y': .*nosuch"),
    ):
        with pytest.raises(NoSource, match=words) as told:
            fetched(spark, [url], tmp_path / "copies")
        assert "\n" not in str(told.value)
