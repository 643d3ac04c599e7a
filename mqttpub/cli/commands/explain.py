"""`mqttpub explain`."""

import click


class TermType(click.ParamType[str]):
    """A word that can be explained, in any of its forms."""

    name = "word"

    @property
    def suggestions(self) -> list[str]:
        """What completion offers."""
        from .explain_text import names

        return names()


@click.command(name="explain", context_settings={"help_option_names": ["--help"]})
@click.argument("word", nargs=-1, type=TermType())
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead.")
def command(word: tuple[str, ...], as_json: bool) -> int:
    """Tell about a packet, a property, a reason code, a field, a concept or a statement.

    WORD is a packet (publish), a property (topic alias, 0x23), a reason code (0x87, not
    authorized), a field (keep alive), a concept (will, wildcards) or the id of a statement or
    section (3.3.1-2, MQTT5-3.3.1-2, 3.3.1). Without WORD, list what there is.
    """
    from ..screen import paged
    from .explain_text import explain, overview

    with paged():
        return explain(" ".join(word), as_json=as_json) if word else overview(as_json=as_json)
