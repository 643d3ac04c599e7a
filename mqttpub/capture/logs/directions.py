"""What a line says of the sender: words such as TX and RX, arrows, the ends by name, addresses, ports."""

import re
from typing import NamedTuple

from .cleaning import BLANK

_SENT = [
    "tx",
    "send",
    "sends",
    "sent",
    "sending",
    "out",
    "output",
    "outgoing",
    "outbound",
    "write",
    "writes",
    "wrote",
    "writing",
    "transmit",
    "transmits",
    "transmitted",
    "transmitting",
    "uplink",
    "upstream",
    "egress",
    "publishing",
]
_RECEIVED = [
    "rx",
    "recv",
    "recvd",
    "rcv",
    "rcvd",
    "receive",
    "receives",
    "received",
    "receiving",
    "in",
    "input",
    "incoming",
    "inbound",
    "read",
    "reads",
    "downlink",
    "downstream",
    "ingress",
]


def _spelled(words: list[str]) -> str:
    """Return a pattern of words as whole parts of a name: between other characters, or at a change of case."""
    lower = "|".join(words)
    capital = "|".join(word.capitalize() for word in words)
    upper = "|".join(word.upper() for word in words)
    return rf"(?:(?<![A-Za-z])(?:{lower})(?![a-z])|(?:{capital})(?![a-z])|(?<![A-Z])(?:{upper})(?![A-Za-z]))"


DIRECTIONS = re.compile(rf"(?P<sent>{_spelled(_SENT)})|(?P<received>{_spelled(_RECEIVED)})")
_OF_BYTES = "byte|buf|data|hex|packet|raw|chunk|array|payload|size|len|fd|frame|msg|message|mqtt"
_PROSE = re.compile(rf"(?:[Ii]n|[Oo]ut|[Ii]nput|[Oo]utput|[Rr]eads?|[Ww]rites?)(?=[ ]+(?!{_OF_BYTES})[a-z]{{2,}})")
"""A word that in a sentence says nothing of the direction, such as "in this log"."""
_RIGHT = r"-+>|=+>|>>+|[\u2192\u21d2\u25b6\u25ba\u27f6]"
_LEFT = r"<-+|<=+|<<+|[\u2190\u21d0\u25c0\u25c4\u27f5]"
_ARROW = re.compile(rf"(?<![^\s{BLANK}\[(|])(?:(?P<right>{_RIGHT})|(?P<left>{_LEFT}))(?=[\s{BLANK}\])|:]|$)")
_SIGN = re.compile(rf"[\s{BLANK}|]*+(?:(?P<right>>|\+>)|(?P<left><|<\+))(?=[\s{BLANK}]|$)")
_STAMP_ARROW = re.compile(rf"\s*+{BLANK}+[ ]?->[ ]")
_CLIENT, _SERVER = r"client|device|publisher|subscriber", r"server|broker"
_END_NAMES = re.compile(rf"\b(?:(?P<client>{_CLIENT})|(?P<server>{_SERVER}))\b", re.IGNORECASE)
_FROM = re.compile(
    rf"\b(?:(?P<from>from|by)|to)[ ]+(?:the[ ]+)?(?:mqtt[ ]+)?(?:(?P<client>{_CLIENT})|(?P<server>{_SERVER}))\b",
    re.IGNORECASE,
)
INITIALS = re.compile(
    r"(?<![\w/])(?:(?P<client>C)[ ]?(?:-+>|=>|>|\u2192|2)[ ]?S|S[ ]?(?:-+>|=>|>|\u2192|2)[ ]?C)(?![\w])"
)
_NAMED = re.compile(
    rf"\b(?P<peer>peer)[ _:=]*+(?:(?P<first>0)|1)(?!\d)"
    rf"|(?:^|[\s{BLANK}\]|])(?:(?P<client>[Cc]lient|CLIENT|[Dd]evice|C)|(?:[Ss]erver|SERVER|[Bb]roker|BROKER|S)):(?=[\s\1]|$)"
)
"""One of two ends by its name alone, which may as well be that of a module."""
_AT_COMMAND = re.compile(rf"(?:^|[\s{BLANK}\]:>])(?:(?P<sent>AT)[+&][A-Z]|\+[A-Z]{{3,}}(?:[:=]|$))")
_NO_MARK = re.compile(
    rf"[\s{BLANK}]*+(?:\S*[\]:][\s{BLANK}]*+)?(?:SEND OK|SEND FAIL|ERROR)\s*+$"
    r"|(?:[\w.~-]+@\S*[ ]?\S*|[\w~/.-]*)[$%#][ ]|\((?:gdb|lldb)\)[ ]"
)
"""Lines in which words are commands or answers, not directions."""
_IPV4 = re.compile(r"\s*+\d{1,3}(?:\.\d{1,3}){3}\b")
_ADDRESS = r"\[?(?:\d{1,3}(?:\.\d{1,3}){3}|[0-9a-fA-F]*:[0-9a-fA-F:]*:[0-9a-fA-F.]*)\]?"
_PAIR = re.compile(
    rf"(?P<one>{_ADDRESS})(?:[.:](?P<port>\d{{1,5}})\b)?(?P<between>[^\w]+(?:to[ ]|IP6?[ ])?[^\w]*)"
    rf"(?P<other>{_ADDRESS})(?:[.:](?P<other_port>\d{{1,5}})\b)?"
)
_ONE_END = re.compile(rf"\b(?:(?P<from>from|From|FROM)|to|To|TO)[ :=]+(?P<address>{_ADDRESS}(?:[.:]\d{{1,5}}\b)?)")
_PORTS = re.compile(r"(?<![\w.])(?P<one>\d{4,5})[\s,;|\"]+(?P<other>\d{4,5})(?![\w.])")
_OF_BROKERS = ("1883", "8883", "01883", "08883")


class Mark(NamedTuple):
    """What a line says of the direction."""

    side: str
    """`>`, `<`, or the name of one of two columns, ends or labels, of which the packets show which end it is."""
    kind: str
    """`end` for an end by its name or port, `word` as the writer of the log sees it, `pair` for two addresses."""


def mark_of(text: str, bare: str) -> Mark | None:
    """Return what a line says of the direction; `bare` is the line without times and addresses."""
    if mark := _of_addresses(text):
        return mark
    if found := _AT_COMMAND.search(bare):
        return Mark(">" if found["sent"] else "<", "modem")
    if _NO_MARK.match(bare):
        return None
    if found := _FROM.search(bare):
        return Mark(">" if (found["client"] is None) != (found["from"] is not None) else "<", "end")
    if found := INITIALS.search(bare):
        return Mark(">" if found["client"] else "<", "end")
    names = [found["server"] is not None for found in _END_NAMES.finditer(bare)]
    swapped = True in names and False in names and names.index(True) < names.index(False)
    arrow = _arrow(bare)
    if arrow and True in names and False in names:
        return Mark(_other(arrow) if swapped else arrow, "end")
    if word := _word(bare):
        return Mark(word, "word")
    if arrow:
        return Mark(arrow, "word")
    if found := _NAMED.search(bare):
        first = found["first"] or found["client"]
        return Mark(f"{'peer' if found['peer'] else 'named'} {'>' if first else '<'}", "pair")
    one = _ONE_END.search(text)
    return Mark(f"{one['address']} {'>' if one['from'] else '<'}", "pair") if one else None


def stamp_arrow(text: str, bare: str) -> bool:
    """Whether an arrow follows the time at the beginning, as in the serial monitor of the Arduino IDE."""
    return _STAMP_ARROW.match(bare) is not None and _IPV4.match(text) is None


def _word(bare: str) -> str:
    for found in DIRECTIONS.finditer(bare):
        before = bare[: found.start()]
        apart = not before or before[-1] in " \t" or before[-1] == BLANK
        if apart and _PROSE.match(bare, found.start()) and before.rstrip(" ")[-1:].isalpha() | (not before.strip()):
            continue
        return ">" if found["sent"] else "<"
    return ""


def _arrow(bare: str) -> str:
    found = _SIGN.match(bare) or _ARROW.search(bare)
    return "" if not found else ">" if found["right"] else "<"


def _other(side: str) -> str:
    return "<" if side == ">" else ">"


def _of_addresses(text: str) -> Mark | None:
    """Return the direction that two addresses or two ports give."""
    found = _PAIR.search(text) if text.count(".") >= 6 or "::" in text else None
    if not found:
        return _of_ports(text) if "883" in text else None
    ends = (found["one"], found["port"] or ""), (found["other"], found["other_port"] or "")
    if "<" in found["between"] and ">" not in found["between"]:
        ends = ends[1], ends[0]
    brokers = [port in _OF_BROKERS for _, port in ends]
    if brokers[0] != brokers[1]:
        return Mark(">" if brokers[1] else "<", "end")
    names = [" ".join(end) for end in ends]
    if names[0] == names[1]:
        return None
    return Mark(f"{min(names)} {max(names)} {'>' if names[0] < names[1] else '<'}", "pair")


def _of_ports(text: str) -> Mark | None:
    """Return the direction that the ports of both ends give, in columns beside one another."""
    found = _PORTS.search(text)
    if not found:
        return None
    brokers = found["one"] in _OF_BROKERS, found["other"] in _OF_BROKERS
    return Mark(">" if brokers[1] else "<", "end") if brokers[0] != brokers[1] else None
