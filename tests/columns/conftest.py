"""The long comparisons with the scalar codec are for those who ask for them."""

from pathlib import Path

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark what takes a minute and more."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents and item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.long)
