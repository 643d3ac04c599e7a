"""Numbers, counts and sizes in the words of a sentence or the cells of a table."""


def plural(count: int, noun: str, plural_noun: str = "") -> str:
    """Return `noun` if `count` is 1, otherwise `plural_noun`, which is `noun` with an "s" unless given.

    A verb may be part of both: `plural(left, "byte is", "bytes are")`.
    """
    return noun if count == 1 else plural_noun or f"{noun}s"


def counted(count: int, noun: str, plural_noun: str = "") -> str:
    """Return a count, with thousands separators, and its noun: `1 packet`, `12,345 packets`."""
    return f"{count:,} {plural(count, noun, plural_noun)}"


def number(value: float) -> str:
    """Return a number with thousands separators: `12,345`."""
    return f"{value:,}"


def share(part: int, whole: int) -> str:
    """Return a part in percent, with two decimals below 1 %; a dash if the whole is nothing."""
    if not whole:
        return "-"
    percent = 100 * part / whole
    return f"{percent:.2f} %" if 0 < percent < 1 else f"{percent:.1f} %"


def size(size_bytes: float) -> str:
    """Return a number of bytes with a decimal unit and three significant digits: `512 bytes`, `1.5 kB`, `64 MB`."""
    if size_bytes == 1:
        return "1 byte"
    value = size_bytes
    for unit in ("bytes", "kB", "MB", "GB"):
        if value < 1000:
            return f"{value:.0f} {unit}" if unit == "bytes" or value >= 100 else f"{value:.3g} {unit}"
        value /= 1000
    return f"{value:,.1f} TB"
