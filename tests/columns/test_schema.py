"""The tables: their columns are documented, and those that the specification declares have room for its values."""

import io
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mqttpub.columns import schema
from mqttpub.columns.files import parquet
from mqttpub.columns.schema import (
    ABOUT,
    CONNECTIONS,
    EXCHANGES,
    FINDINGS,
    MEANINGS,
    PACKETS,
    PROPERTY,
    TABLES,
    documentation,
    type_of,
)
from mqttpub.spec.declare import PACKETS as TYPES
from mqttpub.spec.packets import Connect, Publish, Subscription, Will


@pytest.mark.parametrize("name", TABLES)
def test_every_column_has_a_unique_name_and_one_sentence(name: str) -> None:
    columns = TABLES[name]
    assert len({column.name for column in columns}) == len(columns)
    for column in columns:
        assert column.doc
        assert not column.doc.endswith(".")
        assert "|" not in column.doc
        assert column.name == column.name.lower()


def test_schemas_are_those_of_the_tables() -> None:
    assert list(TABLES) == list(ABOUT)
    for name, made in zip(TABLES, (PACKETS, EXCHANGES, CONNECTIONS, FINDINGS), strict=True):
        assert made.names == [column.name for column in TABLES[name]]
        assert made.types == [column.type for column in TABLES[name]]


def test_all_tables_join_on_the_same_columns() -> None:
    for made in (PACKETS, EXCHANGES, CONNECTIONS, FINDINGS):
        for name in ("capture", "connection", "client_id"):
            assert made.field(name).type == pa.string()
    assert PACKETS.field("frame").type == EXCHANGES.field("first_frame").type == FINDINGS.field("frame").type


def test_what_packets_declare_has_columns() -> None:
    in_other_columns = {
        "flags",
        "reserved",
        "unused",
        "properties",
        "subscriptions",
        "client_id",
        "will",
        "username_flag",
        "password",
    }
    for cls in TYPES.values():
        assert set(cls.fields) - in_other_columns <= set(PACKETS.names), cls.name
    assert {f"will_{key}" for key in Will.fields} <= set(PACKETS.names)
    assert "password" not in PACKETS.names
    assert {field.name for field in schema.OPTIONS} == set(Subscription.fields) - {"filter", "reserved", "unused"}


def test_types_come_from_the_declarations() -> None:
    assert type_of(Publish.fields["dup"]) == pa.bool_()
    assert type_of(Publish.fields["qos"]) == pa.int8()
    assert type_of(Connect.fields["keep_alive"]) == pa.int32()
    assert type_of(Publish.fields["topic"]) == pa.string()
    assert type_of(Publish.fields["payload"]) == pa.binary()


def test_documentation_has_a_line_for_each_column() -> None:
    text = documentation()
    for name, columns in TABLES.items():
        assert f"## {name}\n\n{ABOUT[name]}\n" in text
        for column in columns:
            assert f"| {column.name} | " in text
    assert "| time | timestamp (us, UTC) | When that record was captured; null if unknown |" in text
    assert "| dup | bool | DUP: this is a re-delivery |" in text
    assert f"list<{schema.type_name(PROPERTY)}>" in text
    assert "struct<id: int32, name: string, key: string, value: string>" in text


def test_a_parquet_file_says_what_its_columns_mean() -> None:
    file = io.BytesIO()
    with parquet(file):
        pass
    meanings = json.loads(pq.read_metadata(file).metadata[MEANINGS.encode()])
    assert meanings == {column.name: column.doc for column in TABLES["packets"]}
