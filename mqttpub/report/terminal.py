"""The summary of the tables on a terminal, and the places where a page may be written."""

import os
import sys
from collections.abc import Iterable
from pathlib import Path

from ..common.errors import UserError
from ..common.files import Kind, check_place, file_id
from ..view.packet.show import Show
from ..view.terminal.cells import wrap
from .question import Answers


def check_output(flag: str, path: str, kind: Kind, sources: Iterable[str], out: Path | None) -> None:
    """Raise UserError for a file of a kind that would overwrite a source, a table or a file of another kind.

    `flag` named the file, and `out` is the folder of tables; None if that is a URL.
    """
    if path == "-":
        raise UserError(f"{flag}: '{path}' is not a file name")
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder) or not os.access(folder, os.W_OK):
        raise UserError(f"{flag}: cannot write '{path}'")
    inside = os.path.relpath(os.path.realpath(path), os.path.realpath(out)).split(os.sep) if out else [".."]
    if inside[0] != ".." and (inside[1:] or inside[0].startswith("_")):
        raise UserError(f"{flag}: '{path}' is among the tables; write it outside of their folders")
    check_place(flag, path, kind, map(file_id, sources))


def show_summary(answers: Answers) -> None:
    """Print the answers; names that do not fit their columns are shortened with a mark."""
    show = Show()
    for question, answer in answers.found.items():
        if answer is None:
            continue
        for block in question.blocks:
            if lines := list(block(answer, answers, show.width)):
                show.block(part for line in lines for part in wrap(line, show.width))
    sys.stdout.flush()
