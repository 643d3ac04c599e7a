"""What `explain` does: print what a word names, or the names of everything."""

import textwrap

import click

from ...spec.concepts import CONCEPTS
from ...spec.packets import PACKETS
from ...spec.properties import PROPERTIES
from ...spec.reason_codes import REASONS
from .terms import kind_of, named_fields, suggestion, terms_beginning, terms_of


def explained(word: str) -> bool:
    """Return whether a word names something that `explain` knows."""
    return any(terms_of(word))


def explain(word: str, *, as_json: bool) -> int:
    """Print everything that a word names and return the exit status; raises UsageError if it names nothing."""
    found = list(terms_of(word)) or list(terms_beginning(word))
    if not found:
        raise click.UsageError(f"'{word}' is not known; {suggestion(word)}`mqttpub explain` lists all names")
    if as_json:
        import json

        from .records import RECORDS

        for thing in found:
            click.echo(json.dumps(RECORDS[kind_of(thing)](thing), default=list))
        return 0
    from ...view.packet.show import Show
    from .text import TEXTS, wrapped

    show = Show()
    for thing in found:
        show.block(wrapped(TEXTS[kind_of(thing)](thing), show.width))
    return 0


def overview(*, as_json: bool) -> int:
    """Print the names of everything that can be explained."""
    if as_json:
        import json

        names = {
            "packets": [cls.name for cls in PACKETS.values()],
            "properties": [row.label for row in PROPERTIES.values()],
            "reasons": sorted({f"0x{row.code:02x} {row.name}" for row in REASONS}),
            "fields": [field.label for field in named_fields()],
            "concepts": [concept.name for concept in CONCEPTS],
        }
        click.echo(json.dumps(names))
        return 0
    from ...view.terminal.width import screen_width

    for cls in PACKETS.values():
        click.echo(f"{cls.code:4}  {cls.name:<12} {cls.__doc__}")
    click.echo()
    for row in PROPERTIES.values():
        click.echo(f"0x{row.id:02x}  {row.label:<34} {row.doc}")
    click.echo()
    for reason in REASONS:
        click.echo(f"0x{reason.code:02x}  {reason.name:<40} {' '.join(sorted(reason.packets))}")
    for title, labels in (("fields", named_fields()), ("concepts", CONCEPTS)):
        click.echo()
        text = f"{title}: {', '.join(each[0] for each in labels)}"
        click.echo("\n".join(textwrap.wrap(text, screen_width())))
    return 0
