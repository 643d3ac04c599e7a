"""The state that a later run resumes from, as a file: one line that identifies it, then plain values.

The first line holds the magic word, FORMAT, the version of mqttpub, the length of all that follows, and
its SHA-256. The second line is the text of `plain_values`, and the rest is its data. A file that is cut
short, was changed, has another format or holds anything but a state is refused.
"""

import os
import re
from hashlib import sha256
from pathlib import Path
from typing import Any, BinaryIO

from ... import __version__
from ..storage.files import is_url, open_file
from . import plain_values
from .plain_values import StateError

__all__ = ["FORMAT", "MAGIC", "StateError", "check", "dumps", "loads", "open_state"]

FORMAT = 12
"""Changes whenever a class of the state keeps something else than before."""
MAGIC = b"mqttpub-state"
_HEAD = re.compile(MAGIC + rb" ([0-9]{1,9}) ([0-9A-Za-z.+-]{1,40}) ([0-9]{1,18}) ([0-9a-f]{64})\n")


def dumps(value: Any) -> bytes:
    """Return a state as bytes; raises TypeError for an object that state_classes does not list."""
    text, data = plain_values.dumps(value)
    return seal(b"%s\n%s" % (text, data))


def seal(body: bytes) -> bytes:
    """Return the body of a state with the first line that identifies it."""
    head = f"{FORMAT} {__version__} {len(body)} {sha256(body).hexdigest()}"
    return b"%s %s\n%s" % (MAGIC, head.encode(), body)


def loads(data: bytes, *kinds: type) -> Any:
    """Return the state that bytes hold, of one class or a tuple of several if these are given; raises StateError."""
    text, _, rest = bytes(_body(data)).partition(b"\n")
    try:
        value = plain_values.loads(text, memoryview(rest))
    except StateError:
        raise
    except Exception as error:
        # Values of wrong types may raise anything where objects are made of them.
        raise StateError(f"it is broken ({type(error).__name__})") from error
    values = value if len(kinds) > 1 else (value,)
    if kinds and (type(values) is not tuple or [type(each) for each in values] != list(kinds)):
        raise StateError("it is a state of another kind")
    return value


def check(data: bytes) -> None:
    """Raise StateError for a state that is not as it was written, without reading its values."""
    _body(data)


def open_state(path: str | Path) -> BinaryIO:
    """Open a file with states, by its path or URL; raises StateError where there is none, and OSError."""
    if not is_url(str(path)) and not os.path.isfile(path):
        raise StateError("it is not a file" if os.path.lexists(path) else "there is no such file")
    return open_file(str(path))


def _body(data: bytes) -> memoryview:
    """Return all that follows the first line, whole and unchanged; raises StateError."""
    head = _HEAD.match(data)
    if not head:
        raise StateError("it is not a state of mqttpub")
    form, version, length, digest = (word.decode() for word in head.groups())
    if form != str(FORMAT):
        raise StateError(
            f"mqttpub {version} wrote it in format {form}, and this is mqttpub {__version__} with {FORMAT}"
        )
    body = memoryview(data)[head.end() :]
    if int(length) != len(body):
        raise StateError(f"it should have {length} bytes after its first line, but has {len(body)}")
    if digest != sha256(body).hexdigest():
        raise StateError("it was changed after it was written")
    return body
