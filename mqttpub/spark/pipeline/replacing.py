"""Files of state, which are there as a whole or not at all."""

import os
from pathlib import Path


def replace_whole(path: Path, data: bytes, draft: Path) -> None:
    """Write a file by way of a draft in the same folder, so that a reader or a loss of power never finds a part."""
    with open(draft, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(draft, path)
