"""`pipeline --tail` killed at random moments while real programs record real traffic, and what its tables hold then.

A client talks to mosquitto on loopback in bursts. dumpcap or tcpdump record that in rings, whose files are kept aside
as the truth before the ring removes them. The program may lag a few bursts, never more than the ring holds.
"""

import gzip
import json
import random
import signal
import socket
import subprocess
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from itertools import chain
from pathlib import Path
from threading import Event, Thread
from typing import Any

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion

from mqttpub.codec.encode import encode
from mqttpub.spark.pipeline.manifest import MANIFEST, KnownSources, Manifest
from mqttpub.spark.pipeline.output import JOURNAL, STAGING
from mqttpub.spark.pipeline.sources import NothingThere, SourceList, examine
from mqttpub.spec.packets import Connect, Disconnect, Publish
from mqttpub.spec.versions import Version
from tests.build.fleet import HEADER
from tests.build.kills import LONGEST_S, KilledProgram
from tests.program import PROGRAM

MESSAGES = 60
"""In a burst."""
PAYLOAD = 2_000
LAG = 3
"""Bursts after which the program has to catch up."""
TCPDUMP = ("tcpdump", "--immediate-mode", "-U", "-Z", "root", "-i", "lo")
Rows = Counter[tuple[Any, ...]]


class Talk:
    """A client that hears what it publishes, and others that stay for one message, which breaks a rule."""

    def __init__(self, port: int) -> None:
        self._port, self._number, self._heard = port, 0, 0
        self._changed = Event()
        self._client = paho.Client(CallbackAPIVersion.VERSION2, "talker", protocol=MQTTProtocolVersion.MQTTv5)
        self._client.on_message = self._on_message
        self._client.on_subscribe = lambda *given: self._changed.set()
        self._client.connect("127.0.0.1", port)
        self._client.loop_start()
        self._client.subscribe("talk/#", 2)
        assert self._changed.wait(LONGEST_S)

    def _on_message(self, client: Any, data: object, message: Any) -> None:
        self._heard += 1
        self._changed.set()

    def burst(self) -> None:
        """Publish messages, and return when all of them came back."""
        self._short()
        for _ in range(MESSAGES):
            self._number += 1
            payload = str(self._number).encode().ljust(PAYLOAD)
            self._client.publish(f"talk/{self._number % 7}", payload, self._number % 3)
            time.sleep(0.01)
        until = time.monotonic() + LONGEST_S
        while self._heard < self._number:
            assert self._changed.wait(until - time.monotonic())
            self._changed.clear()

    def _short(self) -> None:
        packets = (
            Connect(client_id=f"short-{self._number}"),
            Publish(topic="dup", payload=b"1", dup=True),
            Disconnect(),
        )
        with socket.create_connection(("127.0.0.1", self._port)) as sock:
            sock.sendall(b"".join(encode(each, Version.V311) for each in packets))
            while sock.recv(1000):
                pass

    def stop(self) -> None:
        """Disconnect."""
        self._client.disconnect()
        self._client.loop_stop()


class Ring:
    """A folder that a program fills with the traffic of a port."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder = folder
        folder.mkdir()
        self._port = port
        self._process: subprocess.Popen[bytes] | None = None

    def command(self) -> Sequence[str | Path]:
        """Return the words of the program without the filter."""
        raise NotImplementedError

    def start(self) -> None:
        """Record, as soon as this returns."""
        words = [*self.command(), f"tcp port {self._port}"]
        before = set(self.folder.iterdir())
        self._process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until = time.monotonic() + LONGEST_S
        while not any(path.stat().st_size for path in set(self.folder.iterdir()) - before):
            assert self._process.poll() is None, f"{words[0]} ended; it needs the right to capture"
            assert time.monotonic() < until
            time.sleep(0.01)

    def turn(self, number: int) -> None:
        """Do what others do to the files between two bursts."""

    def stop(self) -> None:
        """End the recording, with all bytes in its files."""
        if self._process:
            self._process.send_signal(signal.SIGTERM)
            self._process.wait(LONGEST_S)
            self._process = None


class DumpcapRing(Ring):
    """Files with names of their own; the oldest vanish."""

    def command(self) -> Sequence[str | Path]:
        """Return the words of the program without the filter."""
        ring = ("-b", "files:5", "-b", "filesize:400")
        return ("dumpcap", "-q", "-i", "lo", *ring, "-w", self.folder / "r.pcapng", "-f")


class TcpdumpRing(Ring):
    """Files whose names are used again."""

    def command(self) -> Sequence[str | Path]:
        """Return the words of the program without the filter."""
        return (
            "tcpdump",
            "--immediate-mode",
            "-U",
            "-Z",
            "root",
            "-i",
            "lo",
            "-C",
            "1",
            "-W",
            "4",
            "-w",
            self.folder / "r.pcap",
        )


class RenamedFiles(Ring):
    """A file that is renamed, then compressed, slowly, and at last removed."""

    def command(self) -> Sequence[str | Path]:
        """Return the words of the program without the filter."""
        return (*TCPDUMP, "-w", self.folder / "now.pcap")

    def turn(self, number: int) -> None:
        """Let the next file begin."""
        self.stop()
        (self.folder / "now.pcap").rename(self.folder / f"{number}.pcap")
        self.start()
        if (path := self.folder / f"{number - 2}.pcap").exists():
            packed = self.folder / f"{number - 2}.pcap.gz"
            packed.write_bytes(gzip.compress(path.read_bytes()))
            path.unlink()
        if (path := self.folder / f"{number - 1}.pcap").exists():
            data = gzip.compress(path.read_bytes())
            (self.folder / f"{number - 1}.pcap.gz").write_bytes(data[: len(data) // 2])
        (self.folder / f"{number - 3 - LAG}.pcap.gz").unlink(missing_ok=True)


class TailKills:
    """A recording, and the program that follows it."""

    def __init__(self, folder: Path, port: int, ring: type[Ring], seed: int, *words: str) -> None:
        self.out, self.moments = folder / "out", Counter[str]()
        self._folder, self._spark = folder, "none" not in words
        self._chance = random.Random(seed)
        self._ring = ring(folder / "ring", port)
        self._ring.start()
        self._talk = Talk(port)
        self._left: set[str] = set()
        """What killed runs left, until the next one removes it."""
        self._kept: dict[tuple[int, str], bytes] = {}
        self._program = KilledProgram(
            folder, [*PROGRAM, "pipeline", str(self._ring.folder), "--tail", "--every", "0.2", "--lint", "--out",
                     str(self.out), *words],
        )  # fmt: skip

    def run(self, kills: int) -> Path:
        """Kill that often, let it end by SIGTERM, and return the whole capture; raises AssertionError."""
        try:
            for number in range(kills):
                self._ring.turn(number)
                self._keep()
                burst = Thread(target=self._talk.burst)
                burst.start()
                self._kill()
                burst.join()
                self._keep()
                if number % LAG == LAG - 1:
                    assert self._program.wait(self._has_all), self._program.said()
            self._talk.stop()
            self._ring.stop()
            self._keep()
            assert self._program.wait(self._has_all), self._program.said()
            assert self._program.end(signal.SIGTERM) == 0, self._program.said()
        finally:
            self._ring.stop()
            self._program.kill()
        return self._whole()

    def _kill(self) -> None:
        """Kill it at a random moment: some time after a commit, after a run began, or after anything."""
        before, longest = self._commits(), 10.0 if self._spark else 1.0
        how = self._chance.randrange(3)
        if how == 0:
            assert self._program.wait(lambda: self._commits() > before), self._program.said()
        elif how == 1:
            assert self._program.wait(self._is_at_work), self._program.said()
            longest /= 10
        until = time.monotonic() + self._chance.uniform(0, longest)
        assert self._program.wait(lambda: time.monotonic() > until), self._program.said()
        self._program.kill()
        self.moments["at work" if self._is_at_work() else "between two runs"] += 1
        self._left = self._staged()
        self._program.start()

    def _is_at_work(self) -> bool:
        """Return whether a run has begun that is not committed, or whose commit is not finished."""
        return bool(self._staged() - self._left) or (self.out / JOURNAL).exists()

    def _staged(self) -> set[str]:
        return {path.name for path in self.out.glob(f"{STAGING}*")}

    def _commits(self) -> int:
        return int(made.runs[-1]["number"]) if (made := self._manifest()).runs else 0

    def _manifest(self) -> Manifest:
        return Manifest.load(self.out / MANIFEST) if (self.out / MANIFEST).exists() else Manifest()

    def _has_all(self) -> bool:
        """Return whether the tables have all that is in the ring."""
        with suppress(NothingThere):
            found = SourceList([str(self._ring.folder)]).find()
            known = KnownSources.in_folder(self.out) if (self.out / MANIFEST).exists() else KnownSources()
            return all((taken := known.taken(each)) and taken.size == each.size for each in found if each.size)
        return False

    def _keep(self) -> None:
        """Copy what is in the ring now."""
        for path in self._ring.folder.iterdir():
            source = examine(path.name, str(path))
            if source.stamp is not None and not source.compressed:
                key, data = (source.stamp, source.first), path.read_bytes()
                self._kept[key] = max(data, self._kept.get(key, b""), key=len)

    def _whole(self) -> Path:
        """Write one capture of all files."""
        first, *others = (data for _, data in sorted(self._kept.items()))
        whole = self._folder / "whole"
        # Sections of pcapng may follow one another, and records of pcap.
        skip = 0 if first.startswith(b"\n\r\r\n") else HEADER
        whole.write_bytes(b"".join([first, *(data[skip:] for data in others)]))
        return whole


def expected(whole: Path) -> dict[str, Rows]:
    """Return the rows of all tables by what `decode` and `lint` print."""
    packets, exchanges, findings = (
        list(printed(*words, "--json", whole)) for words in (("decode",), ("decode", "--flows"), ("lint",))
    )
    # The others are the ends of connections.
    packets = [each for each in packets if "type" in each]
    talks: dict[int, list[Any]] = {}
    for each in packets:
        talks.setdefault(each["connection"], []).append(each)
    return {
        "packets": Counter(
            (each["address"], each["offset"], each["length"], *(each[name] for name in PACKET)) for each in packets
        ),
        "exchanges": Counter(
            (moment(each["begin"]), each["address"], *(each[name] for name in EXCHANGE))
            for each in exchanges
            if each["qos"] != 0
        ),
        "connections": Counter(
            (talk[0]["address"], talk[0]["server"], *(sum(each["direction"] == end for each in talk) for end in ENDS),
             sum(each["length"] for each in talk))
            for talk in talks.values()
        ),
        "findings": Counter(
            (each["client"], each["packet_offset"], *(each[name] for name in FINDING))
            for each in findings
            if each["event"] == "finding"
        ),
    }  # fmt: skip


PACKET = ("direction", "type", "version")
EXCHANGE = ("sender", "packet_id", "qos", "topic", "outcome", "dups", "latency_us")
FINDING = ("direction", "type", "statement", "message", "path")
ENDS = ("client", "server")


def found(tables: dict[str, list[dict[str, Any]]]) -> dict[str, Rows]:
    """Return the same of tables."""
    for row in chain.from_iterable(tables[name] for name in ("packets", "exchanges", "connections")):
        row |= {end: f"{row[f'{end}_address']}:{row[f'{end}_port']}" for end in ENDS}
    return {
        "packets": _rows(tables["packets"], "client", "pos", "packet_bytes", *PACKET),
        "exchanges": _rows(tables["exchanges"], "begin_time", "client", *EXCHANGE),
        "connections": _rows(tables["connections"], "client", "server", "client_packets", "server_packets", "bytes"),
        "findings": _rows(tables["findings"], "client_id", "pos", *FINDING),
    }


def _rows(rows: Iterable[dict[str, Any]], *names: str) -> Rows:
    return Counter(tuple(_plain(row[name]) for name in names) for row in rows)


def _plain(value: Any) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


def moment(text: str) -> str:
    """Return a time as tables have it, in microseconds."""
    return datetime.fromisoformat(text).isoformat()


def printed(*words: str | Path) -> Iterator[Any]:
    """Return the records that the program prints."""
    done = subprocess.run([*PROGRAM, *map(str, words)], stdout=subprocess.PIPE, check=False, timeout=LONGEST_S)
    yield from map(json.loads, done.stdout.splitlines())
