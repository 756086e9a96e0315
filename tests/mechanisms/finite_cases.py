"""A mechanism that is a table, as the contract suite sees it."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb

from dither.mechanisms import FiniteMechanism, Mechanism
from tests.mechanisms.mechanism_case import Case, ErrorLaw, Errors
from tests.oracle.finite import real
from tests.oracle.neighbours import Neighbours

__all__ = ["CASES"]

LINE = [(x, x + 1) for x in range(3)]
GOOD = {"a": ["1/2", "1/2"], "b": ["1/4", "3/4"]}


def _table(keep: Fraction) -> dict[int, dict[int, Fraction]]:
    """The input with probability `keep`, else any of the four, of which 3 is twice as likely as the others."""
    rest = {0: Fraction(1, 5), 1: Fraction(1, 5), 2: Fraction(1, 5), 3: Fraction(2, 5)}
    return {x: {y: keep * (x == y) + (1 - keep) * share for y, share in rest.items()} for x in range(4)}


def _make(keep: str = "1/2") -> FiniteMechanism:
    return FiniteMechanism(_table(Fraction(keep)), neighbours=LINE)


def _law(x: int) -> list[arb]:
    return [real(share) for share in _table(Fraction(1, 2))[x].values()]


def _errors(mechanism: Mechanism, count: int) -> Errors:
    assert isinstance(mechanism, FiniteMechanism)
    return np.array(mechanism._drawn(0, count), dtype=np.float64).clip(max=1.0)


_truth = Neighbours(_law, LINE)
_BAD_TABLES: list[Any] = [
    {},
    {"a": [1]},
    [["1/2", "1/2"]],
    {"a": ["1/2", "1/2"], "b": ["1/2", "1/3"]},
    {"a": ["1/2", "1/2"], "b": [1.5, -0.5]},
    {"a": ["1/2", "1/2"], "b": [math.nan, 1]},
    {"a": [1 / 3] * 3, "b": [1 / 3] * 3},
    {"a": [1], "b": None},
]
_BAD_NEIGHBOURS: list[Any] = [[], [("a", "c")], [("a", "a")], [("a", "b", "a")]]

CASES = [
    Case(
        "a table of probabilities",
        _make,
        2,
        refused_builds=[
            *(lambda table=table: FiniteMechanism(table) for table in _BAD_TABLES),
            *(lambda pairs=pairs: FiniteMechanism(GOOD, neighbours=pairs) for pairs in _BAD_NEIGHBOURS),
            lambda: FiniteMechanism({"a": [0.5, 0.4], "b": [0.5, 0.5]}, normalise=True),
            lambda: FiniteMechanism.of(lambda x, y: 0, "ab", "ab"),
            lambda: FiniteMechanism.of(lambda x, y: -1, "ab", "ab"),
            lambda: FiniteMechanism.of(lambda x, y: math.nan, "ab", "ab"),
        ],
        refused_values=[4, "0", None, math.nan, [0], {}, np.array([0])],
        profile=_truth.profile,
        largest_loss=lambda: _truth.largest_loss,
        quieter=lambda: _make("0.55"),
        louder=lambda: _make("0.45"),
        errors=_errors,
        error_law=lambda: ErrorLaw(lambda x: 0.4 * (x < 1), 0.4),
        beta=0.45,  # at a smaller one the bound is 1, which no answer misses
    )
]
