"""Which public things a run enters, seen by Python's own tracing: what a case says it covers, it must call."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, TypeVar

import dither as dp
from dither.adaptive.mean import QueryMean
from dither.engine.query import Query
from dither.engine.shortcuts import Shortcuts
from dither.mechanisms import Mechanism
from dither.tables import Expression
from dither.tables.row_functions import RowFunctions

__all__ = ["deeds", "entered", "made"]

Result = TypeVar("Result")

_SPEAKS = frozenset(
    {
        "answer_probability", "error", "error_distribution", "estimate", "event_for", "expected_error_at",
        "expected_error_of", "interval_probabilities", "max_error", "needed_distance", "noising_for", "probabilities",
        "utility",
    }
)  # fmt: skip
"""Methods of a mechanism, an oracle or a holdout that only speak of it. All others do something with data."""


def deeds(kind: type) -> set[str]:
    """The public methods of a class that do something with data."""
    methods = {name for owner in kind.__mro__ for name, value in vars(owner).items() if inspect.isfunction(value)}
    return {name for name in methods if not name.startswith("_")} - _SPEAKS


def _functions() -> dict[CodeType, str]:
    """The public functions and verbs, by the code that runs when they are called."""
    found = {name: getattr(dp.stats, name) for name in dp.stats.__all__}
    named = {f"stats.{name}": getattr(value, "release", value) for name, value in found.items()}
    named |= {name: getattr(dp, name) for name, home in dp._HOMES.items() if home == "engine"}
    for owner, has in ((Query, Query), (Shortcuts, Shortcuts), (Expression, RowFunctions), (Expression, Expression)):
        named |= {f"{owner.__name__}.{name}": value for name, value in vars(has).items() if inspect.isfunction(value)}
    named["Dataset.suggest"] = dp.Dataset.suggest
    return {inspect.unwrap(value).__code__: name for name, value in named.items() if inspect.isfunction(value)}


def _classes() -> dict[type, str]:
    public = {name: getattr(dp, name) for name in dp.__all__}
    kinds = {name: value for name, value in public.items() if isinstance(value, type) and issubclass(value, Mechanism)}
    others = ("Oracle", "ReusableHoldout", "ScoredSelection", "Workload")
    named = kinds | {name: public[name] for name in others} | {"QueryMean": QueryMean}
    return {value: name for name, value in named.items()}


def entered(pipeline: Callable[[], Any]) -> set[str]:
    """The names, as cases declare them, of what `pipeline()` calls."""
    functions, classes, found = _functions(), _classes(), set[str]()

    def seen(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        if code in functions:
            found.add(functions[code])
        elif code.co_varnames[:1] == ("self",):
            kind = type(frame.f_locals["self"])
            if kind in classes and (code.co_name in deeds(kind) or classes[kind] == "Workload"):
                found.update({classes[kind], f"{classes[kind]}.{code.co_name}"})

    before = sys.gettrace()
    sys.settrace(seen)  # called at calls alone, as it asks for no more
    try:
        pipeline()
    finally:
        sys.settrace(before)
    return found


def made(make: Callable[[], Result]) -> tuple[Result, Callable[[Any], str]]:
    """What `make()` gives, and the name of the public function that made each thing in it."""
    functions, found = _functions(), dict[int, tuple[Any, str]]()

    def seen(frame: FrameType, event: str, value: Any) -> None:
        if event == "return" and frame.f_code in functions:
            found[id(value)] = value, functions[frame.f_code]  # kept alive, so that no other gets its id

    before = sys.getprofile()
    sys.setprofile(seen)
    try:
        result = make()
    finally:
        sys.setprofile(before)
    return result, lambda thing: found[id(thing)][1]
