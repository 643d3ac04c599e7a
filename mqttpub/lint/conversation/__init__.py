"""Judging a whole connection: the packets of both ends in their order, with times, and who closed."""

from . import modules as modules  # first, because the order of the checks is the order in which they are loaded
from .rule import Tally, checkable
from .talk import Conversation

__all__ = ["Conversation", "Tally", "checkable"]
