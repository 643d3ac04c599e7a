"""`mqttpub walkthrough`."""

import click


@click.command(name="walkthrough", context_settings={"help_option_names": ["--help"]})
@click.option("--pause/--no-pause", default=None, help="Wait for Enter between the steps. [default: on a terminal]")
def command(pause: bool | None) -> int:
    """Watch the three QoS exchanges, byte by byte, on a broker of our own.

    Publishes the same message with QoS 0, 1 and 2, shows every byte of PUBLISH, PUBACK, PUBREC,
    PUBREL and PUBCOMP, and then answers: is this a PUBLISH, which QoS has it, what did the
    broker say?
    """
    from .walkthrough_run import Walkthrough

    return Walkthrough(pause=pause).run()
