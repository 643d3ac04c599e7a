"""JSON as the binary body of Avro, by an .avsc file.

JSON is read as the Avro specification encodes it (section "JSON Encoding"): bytes and fixed are strings of U+0000 to
U+00FF, logical types are their underlying type, and a value of a union is {"type": value}. The bare value is accepted
too, and gets the first type of the union that it fits.

`fastavro.json_reader` does not serve here: it fails on a bare value of a union, ignores members that the schema does
not have, and does not check types.
"""

from collections.abc import Callable
from io import BytesIO
from typing import Any

from ..common.strict_json import parse_json
from .avro_check import BodyCheck
from .library import library
from .values import ReadPayload, json_value

MOST_SCHEMA_BYTES = 1 << 24
"""Largest length of the file of a schema."""
_MAX_FLOAT = 3.4028235677973366e38
"""Numbers below this round to a finite 4-byte float, all others to infinity."""
_RANGES = {"int": (-1 << 31, (1 << 31) - 1), "long": (-1 << 63, (1 << 63) - 1)}


class Misfit(ValueError):
    """A value that its schema does not allow; the message begins with the JSONPath of the value."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(f"{path}: {message}")


class Avro:
    """The schema in an .avsc file; names that it does not define are looked up in files of its folder.

    Raises ValueError for a file that cannot be read or is not a schema.
    """

    def __init__(self, path: str) -> None:
        self._named: dict[str, Any] = {}
        self._writer: Any = library("avro", "fastavro").schemaless_writer
        self._reader: Any = library("avro", "fastavro").schemaless_reader
        self._schema = _schema(path, self._named)

    def convert(self, data: bytes) -> bytes:
        """Return the Avro body of JSON; raises ValueError with the JSONPath of a value that the schema forbids."""
        value = self._shaped(parse_json(data), self._schema, "$")
        body = BytesIO()
        self._writer(body, self._schema, value)
        return body.getvalue()

    def read(self, data: bytes) -> ReadPayload:
        """Return the value of an Avro body as JSON; raises ValueError with the offset of what is wrong."""
        remarks = BodyCheck(data, self._named).check(self._schema)
        try:
            value = self._reader(BytesIO(data), self._schema, None)
        except Exception:  # the bytes are right, so it is a logical type, for which fastavro has errors of many types
            raise ValueError("a date, time or decimal number is out of range") from None
        return ReadPayload(json_value(value), remarks)

    def _shaped(self, value: Any, schema: Any, path: str) -> Any:
        """Return a JSON value as the Python value that fastavro writes; raises Misfit."""
        if isinstance(schema, list):
            return self._union(value, schema, path)
        if isinstance(schema, str):
            schema = self._named.get(schema, {"type": schema})
        kind = schema["type"]
        if kind in _LEAVES:
            return _LEAVES[kind](value, schema, path)
        return _BRANCHES[kind](self, value, schema, path)

    def _union(self, value: Any, schema: list[Any], path: str) -> Any:
        names = [_name(each) for each in schema]
        if isinstance(value, dict) and len(value) == 1 and (tag := next(iter(value))) in names:
            return tag, self._shaped(value[tag], schema[names.index(tag)], f"{path}.{tag}")
        faults: list[Misfit] = []
        for name, each in zip(names, schema, strict=True):
            try:
                return name, self._shaped(value, each, path)
            except Misfit as fault:
                faults.append(fault)
        real = [fault for name, fault in zip(names, faults, strict=True) if name != "null"]
        raise real[0] if len(real) == 1 else Misfit(path, f"must be one of {', '.join(names)}")

    def _array(self, value: Any, schema: Any, path: str) -> list[Any]:
        expect(value, list, path, "an array")
        return [self._shaped(each, schema["items"], f"{path}[{at}]") for at, each in enumerate(value)]

    def _map(self, value: Any, schema: Any, path: str) -> dict[str, Any]:
        expect(value, dict, path, "an object")
        shaped = {key: self._shaped(each, schema["values"], f"{path}.{key}") for key, each in value.items()}
        return {_string(key, schema, path): each for key, each in shaped.items()}

    def _record(self, value: Any, schema: Any, path: str) -> dict[str, Any]:
        expect(value, dict, path, "an object")
        fields = {field["name"]: field for field in schema["fields"]}
        for key in value:
            if key not in fields:
                raise Misfit(f"{path}.{key}", f"{schema['name']} has no such field ({', '.join(fields)})")
        for name, field in fields.items():
            if name not in value and "default" not in field:
                raise Misfit(f"{path}.{name}", f"{schema['name']} needs it")
        return {
            name: self._shaped(value[name] if name in value else field["default"], field["type"], f"{path}.{name}")
            for name, field in fields.items()
        }


def _name(schema: Any) -> str:
    """Return the name of a type in a union."""
    return schema if isinstance(schema, str) else str(schema.get("name", schema["type"]))


# the file


def _schema(path: str, named: dict[str, Any]) -> Any:
    """Return the schema in a file, and add the types that it defines to `named`; raises ValueError."""
    schemas = library("avro", "fastavro", "fastavro.schema")
    given = _json_file(path)
    try:
        if path.endswith(".avsc"):
            return schemas.load_schema(path, named_schemas=named)
        return schemas.parse_schema(given, named_schemas=named)
    except Exception as error:  # fastavro raises errors of many types for a wrong schema
        raise ValueError(f"'{path}' is not an Avro schema: {error or type(error).__name__}") from None


def _json_file(path: str) -> Any:
    data = schema_file(path)
    try:
        return parse_json(data)
    except ValueError as error:
        raise ValueError(f"'{path}': {error}") from None


def schema_file(path: str) -> bytes:
    """Return what a file of a schema holds; raises ValueError for one that cannot be read or does not end in time."""
    try:
        with open(path, "rb") as file:
            data = file.read(MOST_SCHEMA_BYTES + 1)
    except OSError as error:
        raise ValueError(f"cannot read '{path}': {error.strerror}") from None
    if len(data) > MOST_SCHEMA_BYTES:
        raise ValueError(f"'{path}' has more than {MOST_SCHEMA_BYTES:,} bytes, which is too many for a schema")
    return data


# leaves


def _null(value: Any, schema: Any, path: str) -> None:
    expect(value, type(None), path, "null")


def _boolean(value: Any, schema: Any, path: str) -> bool:
    expect(value, bool, path, "true or false")
    return bool(value)


def _integer(value: Any, schema: Any, path: str) -> int:
    low, high = _RANGES[schema["type"]]
    if str(value) == "-0.0":
        value = 0  # -0 in JSON, which is read as a float to keep its sign
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise Misfit(path, f"must be a whole number in the range {low} to {high}")
    return value


def _double(value: Any, schema: Any, path: str) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise Misfit(path, "must be a number")
    try:
        number = float(value)
    except OverflowError:
        number = float("inf")
    if abs(number) >= (_MAX_FLOAT if schema["type"] == "float" else float("inf")):
        raise Misfit(path, f"the number does not fit a {schema['type']}")
    return number


def _string(value: Any, schema: Any, path: str) -> str:
    expect(value, str, path, "a string")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Misfit(path, "a lone surrogate cannot be encoded as UTF-8") from None
    return str(value)


def _bytes(value: Any, schema: Any, path: str) -> bytes:
    expect(value, str, path, "a string")
    try:
        data = bytes(value.encode("latin-1"))
    except UnicodeEncodeError as error:
        character = ord(value[error.start])
        raise Misfit(path, f"U+{character:04X} is not a byte; each character must be U+0000 to U+00FF") from None
    if schema.get("size", len(data)) != len(data):
        raise Misfit(path, f"must have {schema['size']} bytes, but has {len(data)}")
    return data


def _enum(value: Any, schema: Any, path: str) -> str:
    if value not in schema["symbols"]:
        raise Misfit(path, f"must be one of {', '.join(schema['symbols'])}")
    return str(value)


def expect(value: Any, kind: type, path: str, words: str) -> None:
    """Raise Misfit unless a JSON value is of a type; `words` name it."""
    if not isinstance(value, kind):
        raise Misfit(path, f"must be {words}")


_LEAVES: dict[str, Callable[[Any, Any, str], Any]] = {
    "null": _null, "boolean": _boolean, "int": _integer, "long": _integer, "float": _double, "double": _double,
    "string": _string, "bytes": _bytes, "fixed": _bytes, "enum": _enum,
}  # fmt: skip
_BRANCHES: dict[str, Callable[[Avro, Any, Any, str], Any]] = {
    "array": Avro._array, "map": Avro._map, "record": Avro._record, "error": Avro._record,
}  # fmt: skip
