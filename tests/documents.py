"""What users read: README.md and the guides in the package, with their sections and blocks of code."""

import re
from pathlib import Path

import mqttpub

ROOT = Path(__file__).resolve().parent.parent
README = ROOT / "README.md"
GUIDES = Path(mqttpub.__file__).parent / "guides"
DOCUMENTS = [README, *sorted(GUIDES.glob("*.md"))]
_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def guide(name: str) -> Path:
    """Return the path of a guide."""
    return GUIDES / f"{name}.md"


def section(path: Path, title: str) -> str:
    """Return a section of a document with all sections below it."""
    text = path.read_text()
    head = re.search(rf"^(#+) {re.escape(title)}\n", text, re.MULTILINE)
    assert head, f"{path.name} has no section {title!r}"
    rest = text[head.end() :]
    without_code = _BLOCK.sub(lambda block: " " * len(block[0]), rest)
    end = re.search(rf"^#{{1,{len(head[1])}}} ", without_code, re.MULTILINE)
    return rest[: end.start()] if end else rest


def blocks(text: str, *languages: str) -> list[str]:
    """Return the blocks of code in some languages, in the order of the text."""
    return [code for language, code in _BLOCK.findall(text) if language in languages]


def between(path: Path, name: str) -> str:
    """Return the text between two markers of a document."""
    text = path.read_text()
    begin, end = _markers(name)
    return text[text.index(begin) + len(begin) : text.index(end)]


def replace_between(path: Path, name: str, text: str) -> None:
    """Replace the text between two markers of a document."""
    begin, end = _markers(name)
    before, _, rest = path.read_text().partition(begin)
    path.write_text(f"{before}{begin}{text}{end}{rest.partition(end)[2]}")


def _markers(name: str) -> tuple[str, str]:
    return f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->\n"
