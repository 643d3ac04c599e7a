"""What the page draws of each packet from bytes and forms is what the outline of the packet says."""

from base64 import b64encode
from collections.abc import Iterator
from contextlib import closing
from io import StringIO
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from mqttpub.codec.tree import Decoded
from mqttpub.spec.packets import Publish
from mqttpub.view.packet.outline import Outline, OutlineEntry
from mqttpub.view.packet.payload import classify
from mqttpub.view.page.page import PageWriter, asset
from mqttpub.view.traffic.facts import preview
from tests.browser import browser as browser
from tests.build.pages import blocks, packed
from tests.fuzz.mutated import scratched
from tests.view.page.test_page import known, sent
from tests.view.samples import BROKEN, CONNACK, CONNECT, SUBSCRIBE, of, publish

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.slow

LIMIT = 300
"""Bytes that the page of these tests has of each packet."""
PAYLOADS = (
    b"", b"x", b"21.5", b'{"on": true}', b" [1, 2]\n", b'"word"', b'"odd\\u00zz"', b"{not json}", b"[NaN]", b"[1,]",
    b"[1] 2", b'{"a": "\t"}', b'"\\ud800"', b"\xef\xbb\xbf[1]", b"\xa0[1]", "[\u2028]".encode(), b"a\nb\\\"c",
    b"\x00\xff\x01", b"caf\xc3\xa9 \xe2\x80\xae end", b"cut \xe2\x82", b"x" * 119 + b"\xc3\xa9", b"y" * 121, b"\x9b",
    "\x9b".encode(), b"[" * 60, b"z" * 400, b"\xff" * 400, b'["' + b"q" * 400 + b'"]',
)  # fmt: skip

DRAWN = """
async ([head, body]) => {
  const store = new Store();
  store.add(await unpacked(head), body);
  await store.body(store.blocks[0]);
  return Array.from({ length: store.count }, (_, number) => {
    const row = store.row(number);
    const { fields, bytes, version, total } = store.detail(row);
    const shown = fields.map(({ label, depth, mask, text, content, parts }) => [
      label, depth, mask, text, content, parts.map(({ start, stop, style, masked }) => [start, stop, style, masked]),
    ]);
    return [row.word, row.preview, version, total, Array.from(bytes), shown];
  });
}
"""
"""What the page knows of each row, as its parts say it."""


def _packets() -> list[Decoded]:
    chance = Random(15)
    packets = [of(CONNECT), of(SUBSCRIBE), of(CONNACK), *map(publish, PAYLOADS)]
    packets += [of(Publish(topic="a", qos=1, packet_id=number, payload=b"1")) for number in (1, 255, 256, 65_535)]
    packets += [sent(data) for data in BROKEN]
    return packets + [sent(scratched(chance, each.data)) for each in packets for _ in range(3)]


def _expected(decoded: Decoded) -> list[Any]:
    shown = bytearray(decoded.data[:LIMIT])
    outline = Outline(decoded, limit=0, secrets=False, room=80)
    for span in outline.hidden:
        shown[span.start : span.stop] = b"*" * (min(span.stop, LIMIT) - span.start)
    fields = [
        [each.label, each.depth, each.mask, *_words(each), [list(part) for part in each.parts]]
        for each in outline.entries()
    ]
    return [
        decoded.name, _preview(decoded), decoded.version.label, len(decoded.data), list(shown), fields,
    ]  # fmt: skip


def _words(entry: OutlineEntry) -> tuple[str, int]:
    inline, head, _ = entry.about
    words = "".join(text for text, _ in inline or head)
    return words, 0 if inline or not head else 2 if words.startswith("JSON") else 1


def _preview(decoded: Decoded) -> str:
    packet = decoded.packet
    if not isinstance(packet, Publish) or not packet.payload:
        return ""
    shown = preview(decoded.data[len(decoded.data) - len(packet.payload) : LIMIT])
    cut = len(decoded.data) > LIMIT and not shown.endswith("...")
    return shown.removesuffix('"') + "..." if cut else shown


def _page(packets: list[Decoded]) -> str:
    out = StringIO()
    page = PageWriter(out, "drawn", shown_bytes=LIMIT)
    for each in packets:
        page.add(known(each))
    page.close()
    return out.getvalue()


def test_the_page_draws_the_outline_of_every_packet(browser: "Browser") -> None:
    packets = _packets()
    (block,) = packed(_page(packets))
    scripts = "\n".join(asset(f"{name}.js") for name in ("text", "unpack", "bytesearch", "store", "fields"))
    with closing(browser.new_page()) as tab:
        drawn = tab.evaluate(f"(block) => {{ {scripts}\nreturn ({DRAWN})(block); }}", block)
    for decoded, found in zip(packets, drawn, strict=True):
        assert found == _expected(decoded), decoded.data.hex()


SEARCHED = """
async ([block, words]) => {
  const store = new Store();
  store.add(await unpacked(block[0]), block[1]);
  await store.body(store.blocks[0]);
  const asked = new Uint8Array(store.count).fill(1);
  return words.map((word) => {
    const test = compiled(quotedWord(word))(store.blocks[0], asked);
    return Array.from(asked.keys()).filter((row) => test(row));
  });
}
"""
"""The rows that the page finds for each word."""


def _texts(decoded: Decoded, columns: dict[str, Any], row: int) -> Iterator[str]:
    """Yield the texts of a row that words are searched for in."""
    strings = columns["strings"]
    yield from (strings[columns[name][row]] for name in ("word", "summary"))
    yield from (
        "10.0.0.20:50000",
        "10.0.0.2:1883",
        strings[columns["topic"][row]] if columns["topic"][row] >= 0 else "",
    )
    yield from (f"{each.message} {each.statement} {each.severity}" for each in decoded.findings)
    if isinstance(packet := decoded.packet, Publish):
        yield " ".join([f"QoS {packet.qos}", *(["RETAIN"] if packet.retain else []), *(["DUP"] if packet.dup else [])])
    for entry in Outline(decoded, limit=0, secrets=False, room=80).entries():
        drawn = not entry.mask and entry.parts and entry.parts[-1].style == "payload" and decoded.packet
        if drawn or _words(entry)[1]:
            for start, stop, style, masked in entry.parts:
                if style not in ("length", "property") and not masked:
                    yield decoded.data[start : min(stop, LIMIT)].decode("utf-8", "replace")


def test_words_are_found_where_they_are(browser: "Browser") -> None:
    chance, packets = Random(16), [each for each in _packets() if each.data]
    page = _page(packets)
    ((columns, _),), (block,) = blocks(page), packed(page)
    texts = [[each.lower() for each in _texts(decoded, columns, row)] for row, decoded in enumerate(packets)]
    words = ["25674", "id 2", "d 65535", "QOS 1", "qos 1  id 1", "\u00c9", "error", "zz", "xxx", "a"]
    for _ in range(150):
        text = chance.choice([each for each in chance.choice(texts) if each])
        start = chance.randrange(len(text))
        words.append(text[start : start + chance.randrange(1, 9)])
    words = [each for each in words if each.strip() and each.isprintable() and not {*each} & set('\ufffd"\\')]
    names = ("text", "unpack", "bytesearch", "store", "rows", "filter", "search")
    scripts = "\n".join(asset(f"{name}.js") for name in names)
    language = '{ getElementById: () => ({ textContent: `{"statements": [], "events": [], "types": []}` }) }'
    with closing(browser.new_page()) as tab:
        code = f"(given) => {{ const document = {language}; {scripts}\nreturn ({SEARCHED})(given); }}"
        found = tab.evaluate(code, [block, words])
    for word, rows in zip(words, found, strict=True):
        assert rows == [row for row, own in enumerate(texts) if any(word.lower() in text for text in own)], word


def test_these_payloads_are_of_every_kind() -> None:
    assert {classify(each).kind for each in PAYLOADS} == {"empty", "text", "json", "binary"}


def test_a_damaged_block_leaves_the_others(browser: "Browser", tmp_path: Path) -> None:
    path = tmp_path / "damaged.html"
    text = _page([sent(b"\xc0\x00")] * 5000)
    first, second = packed(text)
    for part in (*first[1:], *second[:1]):
        text = text.replace(part, b64encode(b"not zlib").decode())
    path.write_text(text)
    with closing(browser.new_page()) as tab:
        tab.goto(path.as_uri())
        tab.wait_for_selector("html[data-ready=true]", state="attached")
        assert "the file is damaged" in tab.inner_text("#tally")
        assert tab.inner_text("#tally").startswith("4,096 packets")
        for query, count in (("type=PINGREQ", "4,096"), ("payload=x", "0")):
            tab.fill("#search", query)
            tab.press("#search", "Enter")
            assert tab.inner_text("#tally").startswith(f"{count} of 4,096 rows")
