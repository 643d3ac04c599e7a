"""Tables whose lines begin with the labels of a statement in 5.0, 3.1.1 and 3.1."""

from collections.abc import Iterator

from mqttpub.spec.versions import Version


def labelled_lines(table: str, columns: int) -> Iterator[tuple[tuple[str, ...], Version, list[str]]]:
    """Yield each line once for each version that it has labels for: their full ids, the version, the other columns.

    A dot stands for no label; several labels are separated by commas. Lines that begin with # are comments.
    """
    for line in table.splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        cells = line.split(maxsplit=2 + columns)
        for version, labels in zip(reversed(Version), cells[:3], strict=True):
            if labels != ".":
                yield tuple(f"{version.prefix}-{label}" for label in labels.split(",")), version, cells[3:]
