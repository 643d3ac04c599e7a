"""The flags of fault rules, and how what a fault did is shown."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from .flags.base import FlagValues, flag, together

if TYPE_CHECKING:
    from ..lab.faults.faults import FaultReport, Faults

fault_flags = together(
    flag(
        "--fault", "faults", multiple=True, metavar="RULE", common=True,
        help="Break packets: a pattern of --filter and an action, such as 'type=PUBACK drop 10%'. Repeatable.",
    ),
    flag(
        "--seed", type=int, metavar="N", common=True,
        help="Repeat the chance of a run that printed this seed.",
    ),
    group="Faults",
)  # fmt: skip


def faults_of(given: FlagValues, report: "Callable[[FaultReport], None]") -> "Faults | None":
    """Return the faults of --fault and --seed, None without a rule; raises UsageError."""
    if not given["faults"]:
        if given["seed"] is not None:
            raise click.UsageError("--seed is for the chance of rules: give --fault too")
        return None
    from ..lab.faults.faults import Faults
    from ..lab.faults.rules import fault_rule

    try:
        return Faults([fault_rule(text) for text in given["faults"]], given["seed"], report)
    except ValueError as error:
        raise click.UsageError(f"--fault: {error}") from None


def say_seed(faults: "Faults | None") -> None:
    """Print the seed on standard error, if there are rules in which it matters."""
    if faults and faults.is_random:
        click.echo(f"chance of this run: --seed {faults.seed}", err=True)


def show_fault(report: "FaultReport") -> None:
    """Print what a fault did on standard error, without the secrets that its rule may set."""
    from .step.masked import masked

    click.echo(report._replace(rule=masked(report.rule), words=masked(report.words)).line, err=True)


def fault_record(report: "FaultReport") -> dict[str, Any]:
    """Return what a fault did as a record of JSON, without the secrets that its rule may set."""
    from .step.masked import masked

    return {key: masked(value) if key in ("rule", "text") else value for key, value in report.record.items()}
