"""The results of `step` as a file of JUnit XML."""

from collections.abc import Iterator
from contextlib import contextmanager

from ...common.files import replacing
from ...view.export.junit import Case, junit
from ...view.terminal.cells import text_of
from .report import Played, lines, message_of
from .request import StepRequest
from .scripts import NamedScript

NAME = "played"
"""Name of the only case of each script."""


@contextmanager
def results(request: StepRequest) -> Iterator[list[Played]]:
    """Yield a list for the scripts that ended, in their order, and write the file that a request asks for.

    The file is opened before anything is played, and also written where an exception ends the run: the first script
    without a result is then an error, and those after it are skipped. Raises UserError for a file that cannot be made.
    """
    ended: list[Played] = []
    if not request.junit:
        yield ended
        return
    broke: BaseException | None = None
    with replacing(request.junit) as out:
        try:
            yield ended
        except BaseException as error:
            broke = error
        cases = [*map(_case, ended), *_left(request.scripts[len(ended) :], broke)]
        out.writelines(f"{line}\n" for line in junit("mqttpub step", cases))
    if broke:
        raise broke


def _case(played: Played) -> Case:
    failure = played.failure
    if failure is None:
        return Case(played.name, NAME, played.seconds)
    message = f"line {failure.step.word.line}: {message_of(failure, secrets=False)}"
    return Case(played.name, NAME, played.seconds, message, "\n".join(map(text_of, lines(played, secrets=False))))


def _left(scripts: tuple[NamedScript, ...], broke: BaseException | None) -> Iterator[Case]:
    """Yield the cases of scripts without a result."""
    for at, script in enumerate(scripts):
        if at:
            yield Case(script.name, NAME, 0, skipped="the run ended before its result")
        else:
            yield Case(script.name, NAME, 0, error=str(broke) or type(broke).__name__)
