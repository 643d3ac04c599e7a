"""How long Chromium takes to open the page of a capture, and to search it.

The least of several rounds, as time that passed and, after it, as processor time of the thread that the page runs in:
other processes make the first longer. `opened` is when all rows are in the list, `unpacked` when the bytes of all
packets are in memory, which later searches need. `--path` is a page that is there already.
"""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import sleep
from typing import TYPE_CHECKING

from tests.benchmarks.harness import MQTTPUB
from tests.benchmarks.traffic import MIXES, write_pcap
from tests.browser import chromium

if TYPE_CHECKING:
    from playwright.sync_api import Browser
    from playwright.sync_api import Page as Tab

SEARCHES = (
    "plant/3/line/7/", "nosuchword", "value", "4242", "id 4242", "topic=plant/3/line/7/#", "type=PUBACK",
    "payload=12345", "connection=7 qos=1", "device-17", "",
)  # fmt: skip
TYPE = """
async (query) => {
  const search = document.getElementById('search');
  const list = document.getElementById('list');
  const turns = new MessageChannel();
  const began = performance.now();
  search.value = query;
  search.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true }));
  while (list.getAttribute('aria-busy') === 'true') {
    await new Promise((turn) => { turns.port1.onmessage = turn; turns.port2.postMessage(null); });
  }
  return performance.now() - began;
}
"""


def renderer(tab: "Tab") -> Path:
    """Return the folder of the process that a page runs in."""
    found = subprocess.run(["pgrep", "-f", "type=renderer"], capture_output=True, text=True).stdout.split()
    return max((Path("/proc", each) for each in found if Path("/proc", each).exists()), key=memory_bytes)


def memory_bytes(process: Path) -> int:
    """Return the memory of a process."""
    return int((process / "statm").read_text().split()[1]) * 4096


def thread_ms(process: Path) -> float:
    """Return the processor time of the first thread of a process."""
    return int((process / "task" / process.name / "schedstat").read_text().split()[0]) / 1e6


@contextmanager
def opened(browser: "Browser", path: Path) -> Iterator["Tab"]:
    """Open a page in a window of its own."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    tab = context.new_page()
    tab.set_default_timeout(120_000)
    tab.goto(path.as_uri(), wait_until="commit")
    yield tab
    context.close()


def opening(browser: "Browser", path: Path) -> tuple[float, ...]:
    """Return times until a page is opened and until it is unpacked, and its memory in bytes."""
    times: list[float] = []
    with opened(browser, path) as tab:
        for state in ("ready", "held"):
            tab.wait_for_selector(f"html[data-{state}=true]", state="attached")
            times += [tab.evaluate("performance.now()"), thread_ms(renderer(tab))]
        return *times, memory_bytes(renderer(tab))


def timed(browser: "Browser", path: Path, rounds: int) -> Iterator[str]:
    """Yield the lines of the table."""
    best = [min(each) for each in zip(*(opening(browser, path) for _ in range(rounds)), strict=True)]
    yield f"opened     {best[0]:8,.0f} ms {best[1]:8,.0f} ms"
    yield f"unpacked   {best[2]:8,.0f} ms {best[3]:8,.0f} ms {best[4] / 1e6:8,.0f} MB"
    with opened(browser, path) as tab:
        tab.wait_for_selector("html[data-held=true]", state="attached")
        for query in SEARCHES:
            yield searched(tab, query, rounds)


def searched(tab: "Tab", query: str, rounds: int) -> str:
    """Return the line of a search."""
    process, times = renderer(tab), []
    for _ in range(rounds):
        tab.evaluate(TYPE, "severity=error")
        sleep(0.3)
        began = thread_ms(process)
        times.append((tab.evaluate(TYPE, query), thread_ms(process) - began))
    passed, used = map(min, zip(*times, strict=True))
    return f"           {passed:8,.0f} ms {used:8,.0f} ms  {query or '(all)':24}{tab.inner_text('#tally')}"


def lines(
    folder: Path, *, packets: int = 1_000_000, mix: str = "usual", rounds: int = 3, path: Path | None = None
) -> Iterator[str]:
    """Yield the table."""
    page = path or folder / "page.html"
    if not path:
        pcap = folder / "capture.pcap"
        write_pcap(pcap, packets, MIXES[mix])
        subprocess.run([*MQTTPUB, "decode", "--html", page, pcap], check=True)
    with chromium() as browser:
        yield from timed(browser, page.resolve(), rounds)
