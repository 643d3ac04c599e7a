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
    assert "struct<id: int32, name: string, key: string, value: string, number: int64>" in text


def test_a_parquet_file_says_what_its_columns_mean() -> None:
    file = io.BytesIO()
    with parquet(file):
        pass
    meanings = json.loads(pq.read_metadata(file).metadata[MEANINGS.encode()])
    assert meanings == {column.name: column.doc for column in TABLES["packets"]}


RESERVED = """
    all alter analyse analyze and any array as asc asymmetric authorization auto between binary both by case cast
    check collate collation column concurrently constraint create cross cube current_catalog current_date
    current_path current_role current_schema current_time current_timestamp current_user deallocate default
    deferrable delete desc describe distinct do drop else end escape except execute exists extract false fetch
    for foreign freeze from full grant group grouping having ilike in initially inner insert intersect into is
    isnull join json_array json_exists json_object json_query json_table json_value lateral leading left like
    limit listagg localtime localtimestamp natural normalize not notnull null offset on only or order outer
    overlaps placing prepare primary recursive references returning right rollup select session_user similar
    skip some symmetric system_user table tablesample then to trailing trim true uescape union unique unnest
    user using values variadic verbose when where window with
"""
"""What needs quoting as a column: the reserved key words of PostgreSQL 17 (appendix C) and of Trino."""


@pytest.mark.parametrize("name", TABLES)
def test_no_column_needs_quotes(name: str) -> None:
    assert not {column.name for column in TABLES[name]} & {*RESERVED.split()}
    assert all(column.name.isidentifier() for column in TABLES[name])


def test_duckdb_reserves_none_either() -> None:
    import duckdb

    query = "SELECT keyword_name FROM duckdb_keywords() WHERE keyword_category = 'reserved'"
    reserved = {name for (name,) in duckdb.sql(query).fetchall()}
    assert "end" in reserved
    assert not {column.name for columns in TABLES.values() for column in columns} & reserved
