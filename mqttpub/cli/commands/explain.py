"""`mqttpub explain`: the rows of the specification's tables in words."""

import click

from ..flags.base import Command, PlainOption


class TermType(click.ParamType[str]):
    """A word that can be explained, in any of its forms."""

    name = "word"

    @property
    def suggestions(self) -> list[str]:
        """The words that completion offers."""
        from ..explain.terms import names

        return names()


@click.command(
    name="explain",
    cls=Command,
    examples=("mqttpub explain topic alias", "mqttpub explain 0x87", "mqttpub explain MQTT5-3.3.1-2"),
)
@click.argument("word", nargs=-1, type=TermType())
@click.option("--json", "as_json", cls=PlainOption, is_flag=True, help="Print JSON instead.")
def command(word: tuple[str, ...], as_json: bool) -> int:
    """Explain a packet type, property, Reason Code, field, concept or statement.

    WORD is a packet (publish), a property (topic alias, 0x23), a reason code (0x87, not
    authorized), a field (keep alive), a concept (will, wildcards) or the id of a statement or
    section (3.3.1-2, MQTT5-3.3.1-2, 3.3.1). Without WORD, list what there is.
    """
    from ..explain.run import explain, overview
    from ..screen import paged

    with paged():
        return explain(" ".join(word), as_json=as_json) if word else overview(as_json=as_json)
