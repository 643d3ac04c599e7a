"""The log of a table in the format of Delta Lake: `_delta_log/` in its folder."""

import json
import os
import time
from collections.abc import Iterator
from urllib.parse import unquote

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Schema, Transaction
from deltalake.exceptions import TableNotFoundError
from deltalake.transaction import AddAction, RemoveAction, create_table_with_add_actions

from .content import OPEN, LakeError, LoggedFile, LoggedTable, change, check_columns

APP = "mqttpub"
"""The application whose transactions say which run a log shows last; compaction and check points keep them."""


def check(table: LoggedTable) -> None:
    """Raise LakeError if somebody changed the columns of a table that runs wrote; one without a log passes."""
    if table.runs and (log := _opened(table)):
        check_columns(table, (field.name for field in log.schema().fields), log.metadata().partition_columns)


def follow(table: LoggedTable) -> None:
    """Commit what the log of a table does not say yet; raises CommitFailedError if another writer was quicker."""
    log = _opened(table)
    shown = 0 if log is None else log.transaction_version(APP) or 0
    changed = change(table, shown)
    if changed is None:
        return
    now_ms = int(time.time() * 1000)
    divided = list(table.partition_by)
    actions: list[AddAction | RemoveAction] = [_added(each, divided, now_ms) for each in changed.added]
    # delta-rs would put this commit after another one without a look at what that removed.
    about = CommitProperties(
        custom_metadata={"mqttpub.run": changed.run.name}, max_commit_retries=0,
        app_transactions=[Transaction(APP, changed.run.number)],
    )  # fmt: skip
    if log is None:
        if actions:
            create_table_with_add_actions(
                table.place, Schema.from_arrow(table.schema), actions, mode="error", partition_by=divided,
                name=table.name, storage_options=_options(), commit_properties=about,
            )  # fmt: skip
        return
    if changed.replaces:
        actions += [RemoveAction(path, True, now_ms, size) for path, size in _replaced(log, changed.replaces)]
    if actions:
        log.create_write_transaction(actions, "append", log.schema(), divided, commit_properties=about)


def files(place: str, name: str) -> list[str]:
    """Return the files that the log of a table of a folder names, below the folder of the table."""
    log = DeltaTable(f"{place}/{name}", storage_options=_options())
    if log.deletion_vectors().read_all().num_rows:
        raise LakeError(f"the table {name} in {place} has deletion vectors; REORG TABLE ... APPLY (PURGE) removes them")
    return list(map(unquote, pa.table(log.get_add_actions())["path"].to_pylist()))


def _opened(table: LoggedTable) -> DeltaTable | None:
    try:
        return DeltaTable(table.place, storage_options=_options())
    except TableNotFoundError:
        return None


def _replaced(log: DeltaTable, which: str) -> Iterator[tuple[str, int]]:
    """Yield path and size of the files that go."""
    found = pa.table(log.get_add_actions(flatten=True))
    paths, sizes = map(unquote, found["path"].to_pylist()), found["size_bytes"].to_pylist()
    opens = found[f"partition.{OPEN}"].to_pylist()
    yield from (
        (path, size) for path, size, is_open in zip(paths, sizes, opens, strict=True) if which == "all" or is_open
    )


def _added(file: LoggedFile, divided: list[str], now_ms: int) -> AddAction:
    values = dict(zip(divided, file.values, strict=True))
    return AddAction(file.path, file.size_bytes, values, now_ms, True, json.dumps({"numRecords": file.rows}))


def _options() -> dict[str, str]:
    """Return how the storage is reached, where the environment alone is not enough."""
    plain = os.environ.get("AWS_ENDPOINT_URL", "").startswith("http:")
    return {"aws_allow_http": "true"} if plain else {}
