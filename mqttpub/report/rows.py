"""Rows of answers as NamedTuples, and NamedTuples as values for JSON."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from types import UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import pyarrow as pa

Row = TypeVar("Row", bound=tuple[Any, ...])


def structured(made: type[Row], values: Mapping[str, Any]) -> Row:
    """Return the NamedTuple of a row; structs in it become those that its fields declare."""
    inner = {
        name: [structured(kind, each) for each in values[name]] if many else structured(kind, values[name])
        for name, kind, many in _inner(made)
        if values.get(name) is not None
    }
    return made(**{**values, **inner})


@cache
def _inner(made: type[Any]) -> Sequence[tuple[str, type[Any], bool]]:
    """Return the fields of a NamedTuple that hold NamedTuples: name, kind, and whether it is a list."""
    return list(_structs(get_type_hints(made)))


def _structs(hints: Mapping[str, Any]) -> Iterator[tuple[str, type[Any], bool]]:
    for name, hint in hints.items():
        for kind in _alternatives(hint):
            many = get_origin(kind) is Sequence
            each = get_args(kind)[0] if many else kind
            if hasattr(each, "_fields"):
                yield name, each, many


def _alternatives(hint: Any) -> tuple[Any, ...]:
    return get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)


_ARROW = {int: pa.int64(), str: pa.string(), bool: pa.bool_()}


def schema_of(made: type[Any]) -> pa.Schema:
    """Return the Arrow columns of a NamedTuple."""
    return pa.schema([(name, _arrow(hint)) for name, hint in get_type_hints(made).items()])


def _arrow(hint: Any) -> Any:
    kind = next(each for each in _alternatives(hint) if each is not type(None))
    if get_origin(kind) is Sequence:
        return pa.list_(_arrow(get_args(kind)[0]))
    return pa.struct(list(schema_of(kind))) if hasattr(kind, "_fields") else _ARROW[kind]


def plain(value: Any) -> Any:
    """Return NamedTuples as dictionaries, which JSON needs, and what is in them."""
    if hasattr(value, "_asdict"):
        return {name: plain(each) for name, each in value._asdict().items()}
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    return [plain(each) for each in value] if isinstance(value, list | tuple) else value
