"""JSON as a Protocol Buffers message, by a .proto file."""

import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from typing import Any

from ..common.strict_json import parse_json
from ..common.words import counted
from .avro import Misfit, expect, schema_file
from .library import library
from .protobuf_bytes import parsed, remark_unknown_fields
from .values import ReadPayload, Remarks

_STEP = re.compile(r"Failed to parse (\w+) field: ")
_PLACE = re.compile(r' at "?\w+((?:\.\w+|\[[^\]]*\])*)"?\.*$', re.MULTILINE)
_LOCATED = re.compile(r":\d+:\d+: (?!warning)")
_OWN_JSON = "google.protobuf."
"""Prefix of messages with a special JSON form, such as Timestamp."""
_TYPE_BYTES = 12


class Protobuf:
    """A message type of a .proto file.

    The name may omit the package; it is needed if the file defines more than one message. Raises ValueError for a
    file that does not compile and for a name that fits none or several of its messages.
    """

    def __init__(self, path: str, name: str | None = None) -> None:
        self._json: Any = _google("json_format")
        pool, files = _google("descriptor_pool").DescriptorPool(), _files(path)
        for file in files:
            pool.Add(file)
        self._descriptor = pool.FindMessageTypeByName(_chosen(name, files, path))
        self.message_class: Any = _google("message_factory").GetMessageClass(self._descriptor)
        self._faults = (self._json.Error, _google("message").Error, TypeError, AttributeError)

    def convert(self, data: bytes) -> bytes:
        """Return the bytes of the message in JSON; raises ValueError with the JSONPath of the faulty field."""
        value = parse_json(data)
        _check(self._descriptor, value, "$")
        try:
            message = self._json.ParseDict(value, self.message_class())
            return bytes(message.SerializeToString(deterministic=True))
        except self._faults as error:
            raise ValueError(_sentence(str(error))) from None

    def read(self, data: bytes) -> ReadPayload:
        """Return the message of these bytes as JSON, fields by their names in the file; raises ValueError.

        The remarks name the bytes that the message does not know, of which another .proto file may be the reason.
        """
        message = parsed(self.message_class, data, f"a message {self._descriptor.full_name}")
        remarks = Remarks()
        remark_unknown_fields(message, remarks)
        try:
            value = self._json.MessageToDict(message, preserving_proto_field_name=True)
        except self._faults as error:
            raise ValueError(f"a value has no form in JSON ({str(error).rstrip('.')})") from None
        return ReadPayload(value, remarks.all())


def _google(module: str) -> Any:
    return library("protobuf", "protobuf", f"google.protobuf.{module}")


def _sentence(text: str) -> str:
    """Return a message of json_format with the JSONPath in front, which json_format spreads over the text."""
    steps, rest = "", text
    while step := _STEP.match(rest):
        steps, rest = f"{steps}.{step[1]}", rest[step.end() :]
    place = _PLACE.search(rest)
    said = rest[: place.start()] if place else rest
    return f"${max(steps, place[1] if place else '', key=len)}: {said.splitlines()[0].rstrip('.')}"


# the file


def _files(path: str) -> list[Any]:
    """Return the descriptors of a .proto file and of its imports; that of the file comes last."""
    found = _google("descriptor_pb2").FileDescriptorSet.FromString(_compiled(path))
    return list(found.file)


def _compiled(path: str) -> bytes:
    """Return the descriptor set of a file. A child process compiles it, because protoc writes to the real stderr."""
    from tempfile import TemporaryDirectory

    library("protobuf", "grpcio-tools", "grpc_tools")
    folder, name = os.path.split(os.path.abspath(path))
    # protoc reads the file itself, and an endless one without an end.
    schema_file(path)
    with TemporaryDirectory() as made:
        result = os.path.join(made, "set")
        command = [sys.executable, "-P", "-m", "grpc_tools.protoc", "-I.", *_roots(), "--include_imports"]
        command += [f"--descriptor_set_out={result}", f"./{name}"]
        done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
        if done.returncode:
            raise ValueError(_complaint(done.stderr.decode(errors="replace").splitlines(), path))
        with open(result, "rb") as file:
            return file.read()


def _roots() -> list[str]:
    """Return the import paths besides the folder of the file: this one, unless its name has a colon for protoc."""
    here = os.getcwd()
    return [] if os.pathsep in here else [f"-I{here}"]


def _complaint(lines: list[str], path: str) -> str:
    """Return the first error of protoc that has a line number, otherwise its first line."""
    return next(filter(_LOCATED.search, lines), lines[0] if lines else f"cannot compile '{path}'")


# the message


def _chosen(name: str | None, files: list[Any], path: str) -> str:
    """Return the full name of the message; raises ValueError that lists the candidates."""
    own = list(_names(files[-1].message_type, files[-1].package))
    every = [each for file in files for each in _names(file.message_type, file.package)]
    suffix = f".{name}"
    fitting = own if name is None else [each for each in every if each == name or each.endswith(suffix)]
    if name in fitting or len(fitting) == 1:
        return name if name in fitting and name is not None else fitting[0]
    count = counted(len(fitting), "message") if fitting else "no message"
    said = f"'{path}' holds {count}, but no name was given" if name is None else f"'{name}' names {count} of '{path}'"
    raise ValueError(f"{said} ({', '.join(fitting or own)})")


def _names(types: Iterable[Any], scope: str) -> Iterator[str]:
    for each in types:
        if not each.options.map_entry:
            name = f"{scope}.{each.name}" if scope else each.name
            yield name
            yield from _names(each.nested_type, name)


# what json_format accepts silently, or refuses without saying where


def _check(descriptor: Any, value: Any, path: str) -> None:
    """Raise ValueError for a value that is not an object with the fields of a message."""
    if descriptor.full_name.startswith(_OWN_JSON):
        return
    expect(value, dict, path, "an object")
    fields = {name: field for field in descriptor.fields for name in (field.name, field.json_name)}
    for key, given in value.items():
        if key in fields:
            _check_field(fields[key], given, f"{path}.{key}")
        elif not key.startswith("["):  # "[package.name]" is an extension, which json_format checks
            known = ", ".join(field.name for field in descriptor.fields)
            raise ValueError(f"{path}.{key}: {descriptor.full_name} has no such field ({known})")


def _check_field(field: Any, given: Any, path: str) -> None:
    if given is None:
        return
    if field.message_type and field.message_type.GetOptions().map_entry:
        expect(given, dict, path, "an object")
        for key, each in given.items():
            _check_value(field.message_type.fields_by_name["value"], each, f"{path}.{key}")
    elif field.is_repeated:
        expect(given, list, path, "an array")
        for at, each in enumerate(given):
            _check_value(field, each, f"{path}[{at}]")
    else:
        _check_value(field, given, path)


def _check_value(field: Any, value: Any, path: str) -> None:
    if field.message_type:
        _check(field.message_type, value, path)
        return
    kinds, words = _KINDS[field.cpp_type]
    if not isinstance(value, kinds) or isinstance(value, bool) != (kinds is bool):
        raise Misfit(path, f"must be {words}")
    low, high = _RANGES.get(field.cpp_type, (value, value))
    if isinstance(value, int) and not low <= value <= high:
        raise Misfit(path, f"{value} is not in the range {low} to {high}")
    if field.type == _TYPE_BYTES:
        _check_base64(value, path)


def _check_base64(text: str, path: str) -> None:
    from .bytes_argument import PREFIXES

    try:
        PREFIXES["base64"](text)
    except ValueError:
        raise Misfit(path, f"'{text}' is not base64") from None


_RANGES = {1: (-1 << 31, (1 << 31) - 1), 2: (-1 << 63, (1 << 63) - 1), 3: (0, (1 << 32) - 1), 4: (0, (1 << 64) - 1)}
"""Ranges of int32, int64, uint32 and uint64, by their number in descriptors (CPPTYPE_...)."""
_KINDS: dict[int, tuple[Any, str]] = {
    **dict.fromkeys((1, 2, 3, 4, 5, 6), ((int, float, str), "a number")),
    7: (bool, "true or false"),
    8: ((int, str), "a name or a number"),
    9: (str, "a string"),
}
