"""The pytest plugin of mqttpub: a broker on loopback, and the packets that pass.

It is a package of its own, because a plugin is imported before coverage begins; the fixtures import mqttpub.
"""

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from mqttpub.api.testing import LoopbackBroker
    from mqttpub.api.traffic import Recorder

SCRIPT = "mqtt_script"
_FAILED = pytest.StashKey[bool]()


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    config.addinivalue_line(
        "markers", f"{SCRIPT}(script, timeout_s=10): what mqtt_broker plays to the clients; a text of lines, or a path"
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: "pytest.CallInfo[None]"
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show the packets of a test that failed, and where their recording is."""
    report = yield
    if report.failed:
        item.stash[_FAILED] = True
        recorder = getattr(item, "funcargs", {}).get("mqtt_recorder")
        if recorder is not None and Path(recorder.path).exists():
            report.sections.append(("MQTT packets", recorder.summary()))
    return report


@pytest.fixture
def mqtt_recorder(tmp_path: Path, request: pytest.FixtureRequest) -> "Iterator[Recorder]":
    """The packets that pass `mqtt_broker`, with their findings; a test that fails leaves them as mqtt.pcapng.

    `assert not mqtt_recorder.findings()` fails for anything that either end does against the specification.
    Passwords are masked in the file.
    """
    from mqttpub.api.traffic import Recorder

    with Recorder(tmp_path / "mqtt.pcapng", masks=True) as recorder:
        yield recorder
    if not request.node.stash.get(_FAILED, False):
        Path(recorder.path).unlink()


@pytest.fixture
def mqtt_broker(mqtt_recorder: "Recorder", request: pytest.FixtureRequest) -> "Iterator[LoopbackBroker]":
    """A broker on a free port of the loopback address, with `url`, `host` and `port`.

    The marker `mqtt_script` makes it play the server's end of a script instead.
    """
    from mqttpub.api.testing import recorded_broker

    marker = request.node.get_closest_marker(SCRIPT)
    given = (marker.args, marker.kwargs) if marker else ((), {})
    try:
        with recorded_broker(mqtt_recorder, *given[0], **given[1]) as broker:
            yield broker
    except AssertionError:
        # The recorder ends after this fixture, and before the report of its failure is made.
        request.node.stash[_FAILED] = True
        raise
