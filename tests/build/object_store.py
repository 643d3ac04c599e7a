"""A real S3 interface on loopback, for one test process and the processes it starts."""

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any
from unittest.mock import patch

BUCKET = "plant"
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "of-the-tests",
    "AWS_SECRET_ACCESS_KEY": "secret-of-the-tests",
    "AWS_REGION": "eu-central-1",
    "AWS_DEFAULT_REGION": "eu-central-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}


class ObjectStore:
    """A bucket, as its owner sees it."""

    def __init__(self, endpoint: str) -> None:
        import boto3

        self.endpoint = endpoint
        self.on_request: Callable[[], None] | None = None
        """What is called before a request is carried out, and again before its answer is sent."""
        self.client: Any = boto3.client("s3")
        self._carrying_out = Lock()

    def make(self, bucket: str) -> str:
        """Make an empty bucket and return its URL."""
        self.client.create_bucket(Bucket=bucket, CreateBucketConfiguration={"LocationConstraint": "eu-central-1"})
        return f"s3://{bucket}"

    def names(self, bucket: str) -> list[str]:
        """Return the keys of all objects."""
        pages = self.client.get_paginator("list_objects_v2").paginate(Bucket=bucket)
        return [each["Key"] for page in pages for each in page.get("Contents", ())]

    def watching(self, application: Any) -> Any:
        """Return a WSGI application that does the same, and calls `on_request`."""

        def one_by_one(environ: Any, start_response: Any) -> Any:
            # moto looks at the condition of a write and writes in two steps, S3 in one.
            with self._carrying_out:
                return application(environ, start_response)

        def watched(environ: Any, start_response: Any) -> Any:
            for call in (lambda: None, lambda: one_by_one(environ, start_response)):
                answer = call()
                if self.on_request:
                    self.on_request()
            return answer

        return watched

    def put(self, bucket: str, key: str, data: bytes) -> None:
        """Write an object."""
        self.client.put_object(Bucket=bucket, Key=key, Body=data)


@contextmanager
def object_store() -> Iterator[ObjectStore]:
    """Run a moto server on a free port, which this process and its children find through their environment."""
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        endpoint = f"http://{host}:{port}"
        with patch.dict(os.environ, {**ENVIRONMENT, "AWS_ENDPOINT_URL": endpoint}):
            store = ObjectStore(endpoint)
            server._server.app = store.watching(server._server.app)
            yield store
    finally:
        server.stop()
