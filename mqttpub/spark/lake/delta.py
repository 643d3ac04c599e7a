"""The log of a table in the format of Delta Lake: `_delta_log/` in its folder."""

import json
import os
import time
from urllib.parse import unquote

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Schema
from deltalake.exceptions import TableNotFoundError
from deltalake.transaction import AddAction, RemoveAction, create_table_with_add_actions

from .content import LoggedFile, LoggedTable


def follow(table: LoggedTable) -> None:
    """Commit which files a table has now and had not before, and the other way round."""
    now_ms = int(time.time() * 1000)
    schema, divided, about = Schema.from_arrow(table.schema), list(table.partition_by), _about(table)
    options = _options()
    try:
        log = DeltaTable(table.place, storage_options=options)
    except TableNotFoundError:
        if table.files:
            adds = [_added(each, divided, now_ms) for each in table.files]
            create_table_with_add_actions(
                table.place, schema, adds, mode="error", partition_by=divided, name=table.name,
                storage_options=options, commit_properties=about,
            )  # fmt: skip
        return
    found = pa.table(log.get_add_actions())
    known = dict(zip(map(unquote, found["path"].to_pylist()), found["size_bytes"].to_pylist(), strict=True))
    wanted = {each.path: each for each in table.files}
    actions: list[AddAction | RemoveAction] = [
        _added(each, divided, now_ms) for path, each in wanted.items() if path not in known
    ]
    actions += [RemoveAction(path, True, now_ms, size) for path, size in known.items() if path not in wanted]
    if actions:
        log.create_write_transaction(actions, "append", schema, divided, commit_properties=about)


def _added(file: LoggedFile, divided: list[str], now_ms: int) -> AddAction:
    values = dict(zip(divided, file.values, strict=True))
    return AddAction(file.path, file.size_bytes, values, now_ms, True, json.dumps({"numRecords": file.rows}))


def _about(table: LoggedTable) -> CommitProperties:
    return CommitProperties(custom_metadata={"mqttpub.run": table.run})


def _options() -> dict[str, str]:
    """Return how the storage is reached, where the environment alone is not enough."""
    plain = os.environ.get("AWS_ENDPOINT_URL", "").startswith("http:")
    return {"aws_allow_http": "true"} if plain else {}
