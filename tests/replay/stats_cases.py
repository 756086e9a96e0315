"""Every estimator of dp.stats, on columns with anything in them."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import dither as dp
from dither.adjacency import ADD_REMOVE, REPLACE_ONE
from tests.replay import drawing as st
from tests.replay.case import Case, Run
from tests.replay.drawing import Draw
from tests.replay.mechanism_cases import Session

__all__ = ["CASES", "NEIGHBOURS"]

NEIGHBOURS = 3
"""Of each column: an estimator that makes several releases takes milliseconds, and the column itself runs once."""

HUGE = 1.7e308
ENTRIES = st.one_of(
    st.decimals(-50, 50),
    st.sampled_from([0.0, -0.0, 1.0, 1.0, 7.0, 50.0, -50.0, HUGE, -HUGE, 5e-324, math.nan, math.inf, -math.inf]),
    st.sampled_from([None, "x", "é", 3, 2**70, True]),
)
LABELS = st.one_of(st.sampled_from(["a", "a", "b", "é", "", "漢"]), st.text(2), st.sampled_from([None, 1, math.nan]))
BOUNDS = st.sampled_from([(-10, 10), (0, 40), (0, 10**9), (5, 6), (-1000, -1)])
EPSILONS = st.sampled_from(["0.1", "1", "20"])


@st.composite
def columns(draw: Draw, ask: Callable[..., Any], entries: st.Strategy = ENTRIES, most: int = 12) -> Run:
    """Neighbours with one entry more at the end, or one entry replaced; no entry at all is a column too."""
    replaces = draw(st.booleans())
    data = draw(st.lists(entries, min_size=int(replaces), max_size=most))
    if draw(st.integers(0, 9)) == 9:
        data = data * 40  # ties, and many of them
    adjacency = REPLACE_ONE if replaces else ADD_REMOVE
    options = {"epsilon": draw(EPSILONS), "bounds": draw(BOUNDS), "adjacency": adjacency}

    def neighbour() -> list[Any]:
        if not replaces:
            return [*data, draw(entries)]
        at = draw(st.integers(0, len(data) - 1))
        return [*data[:at], draw(st.unlike(data[at], entries)), *data[at + 1 :]]

    return Run(partial(_asked, ask, options), data, *(neighbour() for _ in range(NEIGHBOURS)))


def _asked(ask: Callable[..., Any], options: dict[str, Any], data: Any) -> Any:
    return ask(data, **options)


def unbounded(ask: Callable[..., Any], **more: Any) -> Callable[..., Any]:
    return lambda x, bounds, **options: ask(x, **options, **more)


@st.composite
def pairs(draw: Draw) -> Run:
    run = draw(columns(None, lambda choices: (ENTRIES(choices), ENTRIES(choices)), 6))
    options = run.pipeline.args[1] | {"bounds": ((-10, 10), (0, 10**6))}

    def covariance(data: list[Any]) -> Any:
        return dp.stats.covariance([a for a, _ in data], [b for _, b in data], **options)

    return Run(covariance, run.first, *run.neighbours)


@st.composite
def compared(draw: Draw) -> Run:
    """Medians by four estimators, of one record replaced."""
    data = draw(st.lists(st.sampled_from([0.0, 1.0, 7.5, 40.0]), min_size=5, max_size=12))
    others = [each for each in (0.0, 40.0, 41.5, 7.5) if each != data[0]]  # few values: costs are found once
    return Run(_by_all, data, *([each, *data[1:]] for each in others[:NEIGHBOURS]))


def _by_all(data: list[float]) -> Session:
    """Four answers, and what they cost together by their own words."""
    answers = list(dp.stats.compare(data, epsilon=1, delta="1e-6", bounds=(0, 40)).values())
    return Session(answers, dp.ApproxDP(4, "1e-6", adjacency=REPLACE_ONE))


def case(name: str, ask: Callable[..., Any], covers: str, entries: st.Strategy = ENTRIES) -> Case:
    return Case(name, frozenset({f"stats.{covers}"}), columns(ask, entries))


stats = dp.stats


def whole(data: list[Any]) -> Any:
    """An array of whole numbers: the type is public. What is none of them is 7."""
    return np.array([int(x) if isinstance(x, int | float) and abs(x) < 1e6 else 7 for x in data], dtype=np.int64)


def budgeted(data: Any, **options: Any) -> Any:
    """Charged first; the rehearsal draws from the same tape, about a public record."""
    budget = dp.PureDP(1000, adjacency=options["adjacency"])
    paid = dp.stats.BudgetedArray(
        data, identity="x", ledger=":memory:", budget=budget, adjacency=options["adjacency"]
    )  # fmt: skip
    return paid.release(dp.stats.mean, **options)


CASES = [
    case("a mean that is charged", budgeted, "BudgetedArray"),
    case("count", unbounded(stats.count), "count"),
    case("sum", stats.sum, "sum"),
    case("mean", stats.mean, "mean"),
    case("mean without clipping", partial(stats.mean, clip=False), "mean"),
    case("mean without bounds", unbounded(stats.mean), "mean"),
    case("mean of the population", partial(stats.mean, population=True), "mean"),
    case("sum without bounds", unbounded(stats.sum), "sum"),
    case("variance", stats.variance, "variance"),
    case("variance without bounds", unbounded(stats.variance), "variance"),
    case("std", stats.std, "std"),
    Case("covariance", frozenset({"stats.covariance"}), pairs()),
    case("median", stats.median, "median"),
    case("median without bounds", unbounded(stats.median), "median"),
    case("median with interval", partial(stats.median, interval_level=0.9), "median"),
    case("median of whole numbers", lambda x, **options: stats.median(whole(x), **options), "median"),
    case("intervals of two", partial(stats.quantile, probability=["0.25", "0.9"], interval_level=0.9), "quantile"),
    case("quantiles without bounds", unbounded(stats.quantile, probability=[0.2, 0.5], interval_level=0.9), "quantile"),
    case("median of the population", partial(stats.median, interval_level=0.9, population=True), "median"),
    case("quantile", lambda x, **options: stats.quantile(x, "1/3", **options), "quantile"),
    case("far quantile", lambda x, **options: stats.quantile(x, 0.97, **options), "quantile"),
    case("three quantiles", lambda x, **options: stats.quantile(x, [0.01, 0.5, 0.999], **options), "quantile"),
    case("min", stats.min, "min"),
    case("max", stats.max, "max"),
    case("max without bounds", unbounded(stats.max), "max"),
    case("histogram of known labels", unbounded(stats.histogram, categories=["a", "b", "é"]), "histogram", LABELS),
    case("histogram of bins", unbounded(stats.histogram, edges=[0, 1, 7, 50]), "histogram"),
    case("histogram of found labels", unbounded(stats.histogram, delta="1e-4"), "histogram", LABELS),
    case("mode", unbounded(stats.mode, categories=["a", "b", "é"]), "mode", LABELS),
    case("mode of found labels", unbounded(stats.mode, delta="1e-4"), "mode", LABELS),
    case("top", lambda x, bounds, **o: stats.top(x, 2, categories=["a", "b", "é"], **o), "top", LABELS),
    case("top of found labels", lambda x, bounds, **o: stats.top(x, 2, delta="1e-4", **o), "top", LABELS),
    case("unbounded_median", unbounded(stats.unbounded_median, delta="1e-4"), "unbounded_median"),
    case("unbounded_mean", unbounded(stats.unbounded_mean, delta="1e-4"), "unbounded_mean"),
    Case("compare", frozenset({"stats.compare"}), compared()),
]
