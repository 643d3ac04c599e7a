"""What the rules know of connections, to compare."""

from typing import Any

from mqttpub.lint.connection.state import IdentifiersInUse
from mqttpub.lint.judge import Judge


def known_by(judge: Judge) -> Any:
    """Return all that a judge knows of its connections."""
    return {number: state_of(each) for number, each in judge._conversations.items()}


def state_of(value: Any, seen: tuple[int, ...] = ()) -> Any:
    """Return all that an object of `lint` knows, to compare."""
    if isinstance(value, dict):
        return {key: state_of(each, seen) for key, each in value.items()}
    if isinstance(value, IdentifiersInUse):
        return [(id, state_of(each, seen)) for id, each in value.items()]
    if isinstance(value, list | tuple):
        return [state_of(each, seen) for each in value]
    if not type(value).__module__.startswith("mqttpub.lint") or id(value) in seen:
        return None if id(value) in seen else value
    defaults = {name for name, default in vars(type(value)).items() if isinstance(default, int | tuple)}
    names = {*getattr(value, "__slots__", ()), *getattr(value, "__dict__", ()), *defaults} - {"__slots__"}
    # Matches are a cache; Topic Aliases are always judged one by one; only runs are followed as such.
    left_out = {"_matches", "aliases", "follows_runs"}
    return {name: state_of(getattr(value, name), (*seen, id(value))) for name in names if name not in left_out}
