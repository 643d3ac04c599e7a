"""All cases against one peer, several at a time, as long as it lives."""

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress

from ...codec.decode import decode_packet
from ...codec.encode import encode
from ...live.failures import NotConnected, PeerFault
from ...spec.packets import Connack, Connect
from ...spec.versions import Version
from ..raw_client import RawClient
from .cases import ConformCase
from .client_cases import ClientCase
from .playing import BROKEN, KEPT, NOT_EXERCISED, CaseResult, PeerAccess, first_packet, play

TRIES = 3
"""Connections that a peer must refuse in a row before it counts as gone."""


def speaks(version: Version, access: PeerAccess) -> str:
    """Return why the peer does not speak a version; empty if it accepts a CONNECT of it. Raises NotConnected."""
    until_s = time.monotonic() + access.timeout_s
    client = RawClient(access.open("")[0], version=version)
    try:
        client.send(encode(Connect(**access.connect()), version), until_s)
        frame = first_packet(client, until_s)
        if frame is None:
            return "it closes the connection" if client.ended else "it does not answer its CONNECT"
        packet = decode_packet(frame.data, version)
        # Whoever does not know a version answers as in an older one.
        answer = packet or decode_packet(frame.data, Version.V311)
        if not isinstance(answer, Connack):
            return "it answers its CONNECT with something else than CONNACK"
        if answer.reason_code:
            return f"it refuses its CONNECT with {answer.reason_code:#04x}"
        return "" if packet else "it answers its CONNECT with a CONNACK of another version"
    except TimeoutError:
        return "it does not read its CONNECT"
    except PeerFault as error:
        return str(error)
    finally:
        client.close()


def estimate_s(cases: Sequence[ConformCase | ClientCase], jobs: int) -> float:
    """Return how long cases take with a peer that answers at once."""
    waits = [case.wait_s for case in cases]
    return max([sum(waits) / jobs, *waits], default=0.0)


def run(
    cases: Sequence[ConformCase], access: PeerAccess, jobs: int,
    play: Callable[[ConformCase, PeerAccess], CaseResult] = play,
) -> Iterator[CaseResult]:  # fmt: skip
    """Play cases, `jobs` at a time, and yield their results as they end.

    Where the peer is gone after a case, that case is broken and those that were not played are not exercised.
    """
    pool = ThreadPoolExecutor(jobs, thread_name_prefix="mqttpub conform")
    waiting, playing = list(reversed(cases)), dict[Future[CaseResult], ConformCase]()
    gone = ""
    try:
        while (waiting and not gone) or playing:
            while waiting and not gone and len(playing) < jobs:
                case = waiting.pop()
                playing[pool.submit(_played, play, case, access)] = case
            ended, _ = wait(playing, timeout=1.0, return_when=FIRST_COMPLETED)
            for future in ended:
                case = playing.pop(future)
                result = future.result()
                if result.verdict != KEPT and not gone and not is_alive(access):
                    gone = case.name
                    others = ", ".join(each.name for each in playing.values())
                    beside = f"; at the same time ran {others}" if others else ""
                    why = f"the peer is gone after this case{beside}"
                    result = result._replace(verdict=BROKEN, why=why, failure=None)
                yield result
        for case in reversed(waiting):
            yield CaseResult(case, NOT_EXERCISED, f"the peer is gone after the case {gone}")
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _played(play: Callable[[ConformCase, PeerAccess], CaseResult], case: ConformCase, access: PeerAccess) -> CaseResult:
    try:
        return play(case, access)
    except NotConnected as error:
        return CaseResult(case, NOT_EXERCISED, str(error))


def is_alive(access: PeerAccess) -> bool:
    """Whether the peer still accepts connections."""
    for attempt in range(TRIES):
        with suppress(NotConnected, OSError):
            access.open("")[0].close()
            return True
        time.sleep(0.1 * (attempt + 1))
    return False
