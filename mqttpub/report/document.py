"""One HTML file with its style, which has no scripts and loads nothing."""

from base64 import b64encode
from hashlib import sha256
from importlib.resources import files

from .markup import Markup, join


def document(title: str, body: Markup) -> str:
    """Return a whole page."""
    style = _asset("page.css")
    hashed = f"sha256-{b64encode(sha256(style.encode()).digest()).decode('ascii')}"
    policy = f"default-src 'none'; style-src '{hashed}'; img-src data:; base-uri 'none'; form-action 'none'"
    values = {"title": join([title]), "policy": policy, "style": style, "body": body}
    first, *pieces = _asset("page.html").split("{{")
    named = (piece.partition("}}") for piece in pieces)
    return first + "".join(values[name] + rest for name, _, rest in named)


def _asset(name: str) -> str:
    return files("mqttpub").joinpath("report", name).read_text(encoding="utf-8")
