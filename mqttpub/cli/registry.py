"""The commands: their names in the order of the help, what each is for, and how one is loaded."""

from importlib import import_module

import click

COMMANDS = {
    "pub": "Publish a message and see that it arrived.",
    "sub": "Subscribe and show the messages that arrive.",
    "request": "Publish a request and wait for its answer.",
    "respond": "Answer requests with the output of a command.",
    "copy": "Copy topics from one broker to another.",
    "conn": "Connect, and show what the broker allows.",
    "step": "Play scripts against a broker, packet by packet.",
    "conform": "Find out which statements of the specification a broker keeps.",
    "send": "Send steps or raw bytes, and show every byte that comes back.",
    "proxy": "Sit between clients and a broker: show, check, record, break.",
    "replay": "Play the client sides of a capture again, and say what differs.",
    "encode": "Build a control packet from flags or JSON.",
    "decode": "Read captured bytes, every field named.",
    "lint": "Check captured packets against the MQTT specification.",
    "explain": "Explain a packet type, property, Reason Code or statement.",
    "pipeline": "Turn captures into tables, on all cores or on a cluster.",
    "bench": "Measure publishing, receiving or connecting.",
    "walkthrough": "Watch the three QoS exchanges, byte by byte.",
    "broker": "Run a small local broker, which breaks things on request.",
    "profile": "Show the named sets of flags in the configuration file.",
    "completion": "Print the completion script of a shell.",
    "help": "Show a guide, or all flags of a command.",
}
"""One line of help for each command; the command `name` is `commands/name.py`'s `command`."""
_OF_LAB = ("step", "send", "proxy", "conform", "replay", "broker")
"""Commands whose modules are in `commands/lab`."""

PERSONALITIES = {
    "mosquitto_pub": "Publish as mosquitto_pub does.",
    "mosquitto_sub": "Subscribe as mosquitto_sub does.",
    "mosquitto_rr": "Ask and wait for the answer as mosquitto_rr does.",
    "mqttx": "Publish, subscribe and connect as MQTTX does.",
}
"""The same for other clients, whose lines are read as they read them: `compat/` has their commands."""


def load(name: str) -> click.Command:
    """Import the module of a command in COMMANDS and return the command, with the flags of the screen.

    Only the command that is run is imported, so that the others cost no start-up time.
    """
    if name in PERSONALITIES:
        return import_module(".compat.personality", __package__).personality(name, PERSONALITIES[name])  # type: ignore[no-any-return]
    command: click.Command = import_module(f".commands.{'lab.' * (name in _OF_LAB)}{name}", __package__).command
    add_screen_flags(command)
    return command


def add_screen_flags(command: click.Command) -> None:
    """Add --color and --no-pager to a command that does not have them yet, and --help-all where its help is short."""
    from .flags.base import has_short_help
    from .screen import help_all_flag, screen_flags

    if not any(param.name == "color" for param in command.params):
        command.params += screen_flags()
        if has_short_help(command):
            command.params.append(help_all_flag())
