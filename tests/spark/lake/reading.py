"""A catalog for the tests, and the rows of tables as readers of Delta and Iceberg see them."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from tests.build.object_store import ObjectStore

FORMATS = ("delta", "iceberg")


@pytest.fixture
def catalog(s3_server: ObjectStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Name a catalog of Iceberg tables in a file, and where its readers find S3."""
    monkeypatch.setenv("PYICEBERG_CATALOG__DEFAULT__URI", f"sqlite:///{tmp_path}/catalog.db")
    monkeypatch.setenv("PYICEBERG_CATALOG__DEFAULT__S3__ENDPOINT", s3_server.endpoint)
    reset()
    yield
    monkeypatch.undo()
    reset()


def reset() -> None:
    """Let pyiceberg read its configuration again, as another process does."""
    from pyiceberg import catalog
    from pyiceberg.utils.config import Config

    catalog._ENV_CONFIG = Config()


def delta_rows(place: str) -> pa.Table:
    """Return the rows of a Delta table."""
    from deltalake import DeltaTable

    return DeltaTable(place, storage_options={"aws_allow_http": "true"}).to_pyarrow_table()


def iceberg_rows(place: str) -> pa.Table:
    """Return the rows of an Iceberg table."""
    from pyiceberg.catalog import load_catalog

    with load_catalog() as catalog:
        return catalog.load_table(".".join(place.split("/")[-2:])).scan().to_arrow()


READERS: dict[str, Callable[[str], pa.Table]] = {"delta": delta_rows, "iceberg": iceberg_rows}
