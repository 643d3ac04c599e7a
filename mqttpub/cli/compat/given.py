"""The values of another client's line, by the names that our flags have."""

from typing import Any


class Given(dict[str, Any]):
    """Values by the parameter names of our flags; None for what nothing sets."""

    def __missing__(self, key: str) -> None:
        return None
