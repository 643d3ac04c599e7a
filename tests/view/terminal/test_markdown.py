"""Markdown on a stream."""

import io

import pytest

from mqttpub.view.terminal.markdown import show_markdown

DOCUMENT = """# Title

Some `code` and [a link](https://example.org).

## Part

```console
$ mqttpub pub -t a -m x --json --inspect --lint --force --retain --qos 1 --client-id me --embedded
```

| flag | does |
| --- | --- |
| `--json` | prints JSON |
"""


def shown(text: str) -> str:
    """Return what is written to a stream that is no terminal."""
    stream = io.StringIO()
    show_markdown(text, stream)
    return stream.getvalue()


def test_plain_text_marks_headings_and_code() -> None:
    assert shown(DOCUMENT).splitlines() == [
        "Title",
        "=====",
        "",
        "Some `code` and a link (https://example.org).",
        "",
        "Part",
        "----",
        "",
        "    $ mqttpub pub -t a -m x --json --inspect --lint --force --retain --qos 1 --client-id me --embedded",
        "",
        "flag      does",
        "─" * 21,
        "`--json`  prints JSON",
    ]


def test_colour_replaces_the_marks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    text = shown(DOCUMENT)
    assert "\x1b[36mcode\x1b[0m" in text
    assert "=====" not in text
    assert "`" not in text
