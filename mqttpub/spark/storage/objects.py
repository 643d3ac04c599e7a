"""Small objects of S3, Google Cloud Storage and Azure that are replaced on condition, which pyarrow cannot.

The storage itself decides which of several writers succeeds: by the ETag of the object on S3 and Azure, by its
generation on Google Cloud Storage.
"""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from functools import lru_cache
from importlib.util import find_spec
from typing import Any, NamedTuple

from ...common.extras import needs
from .files import BadLocation, StoredPath, UnsupportedLocation

SCHEMES = {"s3": "s3", "gcs": "gs", "abfs": "abfs"}
"""What pyarrow calls the storages that have such writes, and the scheme of their URLs."""
RETRY = {"max_retries": 4, "retry_timeout": timedelta(seconds=30)}
"""How long a request is tried: less than a lock may go without being written."""
_MESSAGE = re.compile(r"<Message>([^<\n]*)")
_DETAILS = "\n\nDebug source"


class ObjectChanged(Exception):
    """Somebody else replaced or removed an object since it was read."""


class StoredObject(NamedTuple):
    """A small object as it was read."""

    data: bytes
    version: Mapping[str, str]
    """Changes with each write of other data."""


class ConditionalObjects:
    """The objects below a URL.

    Raises UnsupportedLocation for a storage that cannot be opened, and BadLocation for a URL that cannot be used.
    """

    def __init__(self, at: StoredPath) -> None:
        self._url = at.url(at.path)
        self._below = self._url[len(at.start) :].strip("/")
        if "//" in self._below:
            raise BadLocation(f"'{self._url}' has an empty name between two slashes; tables need a URL without")
        self._store = _store(f"{SCHEMES[at.system.type_name]}://{at.start.partition('://')[2]}", _region(at.system))

    def get(self, name: str) -> StoredObject | None:
        """Return an object; None if there is none. Raises OSError."""
        with self._os_errors(name):
            try:
                found = self._store.get(f"{self._below}/{name}")
                return StoredObject(bytes(found.bytes()), _version(found.meta))
            except FileNotFoundError:
                return None

    def put(self, name: str, data: bytes, seen: StoredObject | None) -> StoredObject:
        """Write an object if it still is what was seen, or is not there with `seen` None.

        Raises ObjectChanged, and OSError.
        """
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        mode: Any = dict(seen.version) if seen else "create"
        with self._os_errors(name):
            try:
                return StoredObject(data, _version(self._store.put(f"{self._below}/{name}", data, mode=mode)))
            except (AlreadyExistsError, PreconditionError):
                pass
            except FileNotFoundError:
                if not seen:
                    raise
        # The answer to an earlier attempt of this write may have been lost.
        now = self.get(name)
        if now and now.data == data:
            return now
        raise ObjectChanged(f"{self._url}/{name}")

    @contextmanager
    def _os_errors(self, name: str) -> Iterator[None]:
        """Turn exceptions of obstore into OSError, with what the storage says and without what the library does."""
        from obstore.exceptions import BaseError

        try:
            yield
        except (BaseError, OSError) as error:
            said = _MESSAGE.search(str(error))
            why = said[1] if said else str(error).partition(_DETAILS)[0]
            raise OSError(f"{why.rstrip('. ')} ({self._url}/{name})") from None


@lru_cache(maxsize=64)
def _store(url: str, region: str) -> Any:
    """Return a bucket or container, with what the environment says about it."""
    try:
        from obstore.exceptions import BaseError
        from obstore.store import from_url
    except ImportError:
        # Only the machine that starts the run needs it.
        raise UnsupportedLocation(
            needs(f"a table in {url.partition('://')[0]}://", ["obstore"], "object-stores")
        ) from None
    more: dict[str, Any] = {"region": region, "credential_provider": _profile()} if region else {}
    try:
        # Only an endpoint that the environment names is without TLS.
        return from_url(url, client_options={"allow_http": True}, retry_config=RETRY, **more)
    except BaseError as error:
        raise UnsupportedLocation(f"{url} cannot be written to: {str(error).partition(_DETAILS)[0]}") from None


def _region(system: Any) -> str:
    """Return the region of a bucket of S3, which pyarrow has asked for; empty for other storages."""
    return str(getattr(system, "region", ""))


def _profile() -> Any:
    """Return what reads credentials from profiles, for S3; None if the environment has them, or without boto3."""
    if "AWS_ACCESS_KEY_ID" in os.environ or find_spec("boto3") is None:
        return None
    from obstore.auth.boto3 import Boto3CredentialProvider

    return Boto3CredentialProvider()


def _version(about: Mapping[str, Any]) -> dict[str, str]:
    return {name: value for name in ("e_tag", "version") if (value := about.get(name))}
