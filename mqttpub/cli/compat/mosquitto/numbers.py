"""Numbers as C reads them: what is not a number is 0, and what follows a number is ignored."""

import re

_INTEGER = re.compile(r"\s*([+-]?[0-9]+)")
_DECIMAL = re.compile(r"\s*([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)")


def leading_integer(text: str) -> int:
    """Return the integer that a text begins with; 0 where it begins with none."""
    found = _INTEGER.match(text)
    # No option goes beyond 32 bits, and Python refuses to read thousands of digits.
    return int(found[1][:20]) if found else 0


def leading_decimal(text: str) -> float:
    """Return the decimal number that a text begins with; 0 where it begins with none."""
    found = _DECIMAL.match(text)
    return float(found[1]) if found else 0.0
