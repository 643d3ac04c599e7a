"""Judging a whole connection: the packets of both ends in their order, with times, and who closed."""

from . import modules as modules  # first, because the order of the checks is the order in which they are loaded
from .conversation import Conversation
from .registry import Tally, checkable

__all__ = ["Conversation", "Tally", "checkable"]
