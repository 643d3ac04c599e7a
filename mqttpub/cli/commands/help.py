"""`mqttpub help`: the guides, and all flags of a command."""

import re
import sys
from collections.abc import Iterable, Iterator

import click

from ..flags.base import Command
from ..registry import COMMANDS, PERSONALITIES, load
from ..screen import paged, show_full_help

TOPICS = {
    "publish": "payloads, properties, the will, users, TLS, URLs, profiles, a broker to try things",
    "subscribe": "filters, what is written, format strings, copying, retained messages",
    "bulk": "many messages, generated messages, rate, reconnecting, the outbox, `bench`",
    "connect": "what a broker declares, pings, SCRAM",
    "request": "asking and answering: Response Topic, Correlation Data, latency",
    "migrate": "coming from mosquitto_pub and MQTTX",
    "compat": "running lines of mosquitto and MQTTX as they are",
    "exit-status": "what each exit status means",
    "decode": "hex, logs, captures, views, filters, colour and pager",
    "lint": "checking captures against the specification; `explain`",
    "encode": "building any packet",
    "script": "the notation of conversations: steps, words, variables",
    "conform": "which statements of the specification a broker or a client keeps, the limits of a broker",
    "laboratory": "scripts played against a broker or a client, broken packets, raw bytes",
    "proxy": "sitting between clients and a broker: show, check, record, hold, break",
    "replay": "playing the client sides of a capture again, and what differs",
    "pipeline": "tables and a report from the captures of a fleet; questions in SQL",
    "tables": "the columns of the tables",
    "python": "the same from Python: packets, captures, brokers, tests",
    "spark": "the Spark formats `mqtt_capture` and `mqtt`, and `decode_mqtt`",
    "clusters": "standalone, Spark Connect, YARN, Kubernetes",
    "flags": "all flags of `pub`",
    "completion": "shell completion and man pages",
}
"""The guides in the order of their list; `guides/NAME.md` is the text of each."""
OF_CLIENTS = "compat"
"""The guide about the lines of other clients."""


class TopicType(click.ParamType[str]):
    """The name of a guide or a command."""

    name = "topic"
    suggestions = (*TOPICS, *(name for name in COMMANDS if name not in TOPICS), *PERSONALITIES)


@click.command(
    name="help",
    cls=Command,
    examples=("mqttpub help", "mqttpub help exit-status", "mqttpub help retained", "mqttpub help encode publish"),
)
@click.argument("topic", nargs=-1, type=TopicType())
@click.pass_context
def command(ctx: click.Context, topic: tuple[str, ...]) -> int:
    """Show a guide, or all flags of a command.

    TOPIC is the name of a guide or of a command; if it is both, the flags follow the guide. Any other word
    shows the sections of guides that have it in their title, or what `mqttpub explain` says about it.
    Without TOPIC, list the guides.
    """
    name = " ".join(topic).lower()
    found = _command(ctx, name.split()) if name and name.split()[0] in COMMANDS else None
    text = _text(name)
    with paged():
        if text:
            _show(text + "\n## All flags\n" * bool(found))
        if found:
            show_full_help(found)
        elif not text:
            _explain(name)
    return 0


def _text(name: str) -> str:
    """Return the guide or the sections of guides that a name asks for, the list of guides without one."""
    if not name:
        return _overview()
    if name in PERSONALITIES:
        return guide(OF_CLIENTS)
    return guide(name) if name in TOPICS else "" if name.split()[0] in COMMANDS else "\n".join(_sections(name))


def _explain(name: str) -> None:
    """Show what `mqttpub explain` says about a name; raises UsageError for one that nothing is known of."""
    from ..explain.run import explain, explained

    if not explained(name):
        raise click.UsageError(_unknown(name))
    explain(name, as_json=False)


def _sections(name: str) -> Iterator[str]:
    """Yield the sections of guides whose title has all the words."""
    for topic in TOPICS:
        for section in re.findall(r"^## .*?(?=^## |\Z)", guide(topic), re.MULTILINE | re.DOTALL):
            if set(name.split()) <= set(re.findall(r"[\w-]+", section.partition("\n")[0].lower())):
                yield f"{section}\n(`mqttpub help {topic}` is the whole guide.)\n"


def guide(name: str) -> str:
    """Return the text of a guide, in which links to other guides are the commands that show them."""
    from importlib.resources import files

    text = files("mqttpub").joinpath("guides", f"{name}.md").read_text("utf-8")
    text = re.sub(r"<!--.*?-->\n", "", text)
    return re.sub(r"\[[^]]+\]\(([a-z-]+)\.md\)", r"`mqttpub help \1`", text)


def _overview() -> str:
    rows = "\n".join(f"| {name} | {about} |" for name, about in TOPICS.items())
    return (
        f"# Guides\n\n| guide | about |\n| --- | --- |\n{rows}\n\n`mqttpub help GUIDE` shows one, "
        "`mqttpub help COMMAND` all flags of a command, `mqttpub explain` the words of MQTT.\n"
    )


def _show(text: str) -> None:
    from ...view.terminal.markdown import show_markdown

    show_markdown(text, sys.stdout)


def _command(ctx: click.Context, words: Iterable[str]) -> click.Context | None:
    """Return the context of a command and its subcommands; None for an unknown command."""
    first, *others = words
    found = click.Context(load(first), info_name=first, parent=ctx.parent)
    for word in others:
        group = found.command
        inner = group.get_command(found, word) if isinstance(group, click.Group) else None
        if inner is None:
            return None
        found = click.Context(inner, info_name=word, parent=found)
    return found


def _unknown(name: str) -> str:
    from ..suggestions import suggestion

    return f"there is no guide or command '{name}'{suggestion(name, TopicType.suggestions, 'mqttpub help')}"
