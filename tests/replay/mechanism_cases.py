"""Every mechanism, on values that differ by as much as it was made for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dither as dp
from dither.adaptive.mean import QueryMean
from dither.adjacency import ADD_REMOVE, REPLACE_ONE
from dither.mechanisms import Mechanism
from dither.sensitivity import Median
from tests.replay import drawing as st
from tests.replay.case import Case, Run
from tests.replay.drawing import Draw

__all__ = ["CASES", "Session"]

EPSILONS = st.sampled_from(["1", "0.01", "0.5", "7"])
SENSITIVITIES = st.sampled_from([1, 2, 9])
"""Few of both: each calibration is made once."""
SIZES = st.one_of(st.integers(-5, 50), st.sampled_from([0, 2**53 + 1, -(2**63), 2**70]))
_PARTS = 1 << 10


@st.composite
def split(draw: Draw, total: int, most: int) -> list[int]:
    """Whole moves of `most` coordinates at most, `total` in all at most, both ways."""
    left, moves = total, []
    for _ in range(most):
        size = draw(st.integers(0, left))
        left -= size
        moves.append(draw(st.sampled_from([-size, size])))
    return moves


@st.composite
def not_all_zero(draw: Draw, moves: list[int], least: tuple[int, ...] = (1, -1)) -> list[int]:
    """These moves; one of them is of the least size if there was none."""
    if not any(moves):
        moves[draw(st.integers(0, len(moves) - 1))] = draw(st.sampled_from(least))
    return moves


@st.composite
def added(draw: Draw, make: Callable[..., Mechanism], squared: bool = False, vectors: bool = True) -> Run:
    """Integers or dyadic reals; in ℓ₁, or in ℓ₂ with one move of 1 in each of Δ² coordinates."""
    size = draw(st.sampled_from([1, 2, 4])) if vectors else 1
    sensitivity = draw(SENSITIVITIES)
    values = draw(st.lists(SIZES, min_size=size, max_size=size))
    real = draw(st.booleans())
    if squared:
        moves = [draw(st.sampled_from([-1, 0, 1])) for _ in values][:sensitivity]
    else:
        moves = draw(split(sensitivity * (_PARTS if real else 1), size))
    moves = draw(not_all_zero(moves))
    moved = [a + b for a, b in zip(values, [*moves, *[0] * size], strict=False)]
    if real:
        scale = 1 if squared else _PARTS
        values = [Fraction(x, scale) for x in values]
        moved = [a + Fraction(b, scale) for a, b in zip(values, [*moves, *[0] * size], strict=False)]
    mechanism = make(draw(EPSILONS), sensitivity, size)
    if size == 1:
        values, moved = values[0], moved[0]
    return Run(lambda x: mechanism.release(x), values, moved)


@cache
def laplace(epsilon: str, sensitivity: int, size: int) -> Mechanism:
    return dp.Laplace(sensitivity=sensitivity, epsilon=epsilon, dimension=size)


@cache
def knorm(norm: str, epsilon: str, sensitivity: int, size: int) -> Mechanism:
    return dp.KNorm(sensitivity=sensitivity, dimension=size, norm=norm, epsilon=epsilon)


@st.composite
def vectors(draw: Draw) -> Run:
    """All coordinates may move in ℓ∞; in ℓ₂ each of the four by half of the sensitivity."""
    norm, sensitivity = draw(st.sampled_from(["l2", "linf"])), draw(SENSITIVITIES)
    mechanism = knorm(norm, draw(EPSILONS), sensitivity, 4)
    values = draw(st.lists(SIZES, min_size=4, max_size=4))
    most = Fraction(sensitivity, 2 if norm == "l2" else 1)
    moves = draw(not_all_zero([draw(st.sampled_from([-1, 0, 1])) for _ in values]))
    moved = [x + move * most for x, move in zip(values, moves, strict=True)]
    return Run(lambda x: mechanism.release(x), [Fraction(x) for x in values], moved)


@cache
def gaussian(epsilon: str, sensitivity: int, size: int) -> Mechanism:
    return dp.Gaussian(sensitivity_squared=sensitivity, rho=epsilon, dimension=max(size, 1))


@cache
def calibrated(epsilon: str, sensitivity: int, size: int) -> Mechanism:
    return dp.Gaussian(sensitivity_squared=sensitivity, epsilon=epsilon, delta="1e-6", dimension=size)


@cache
def staircase(epsilon: str, sensitivity: int, size: int) -> Mechanism:
    return dp.Staircase(sensitivity=sensitivity, epsilon=epsilon)


@st.composite
def known_bins(draw: Draw) -> Run:
    replaces, noise = draw(st.booleans()), draw(st.sampled_from(["laplace", "gaussian"]))
    most, bins = draw(st.sampled_from([1, 3])), draw(st.integers(1, 5))
    counts = draw(st.lists(st.integers(1, 9), min_size=bins, max_size=bins))
    mechanism = histogram(draw(EPSILONS), noise, bins, most, replaces)
    place = st.integers(0, bins - 1)
    out = set(draw(st.lists(place, min_size=1, max_size=most)))
    into = set(draw(st.lists(place, max_size=most))) - out if replaces else set()
    other = [count - (at in out) + (at in into) for at, count in enumerate(counts)]
    first, second = (counts, other) if draw(st.booleans()) else (other, counts)
    return Run(lambda x: mechanism.release(np.array(x)), first, second)


@cache
def histogram(epsilon: str, noise: str, bins: int | None, most: int, replaces: bool) -> Mechanism:
    adjacency = REPLACE_ONE if replaces else ADD_REMOVE
    delta = "1e-6" if noise == "gaussian" or bins is None else None
    return dp.Histogram(epsilon=epsilon, delta=delta, noise=noise, bins=bins, max_bins=most, adjacency=adjacency)


NAMES = st.one_of(st.text(3), st.integers(-3, 3), st.sampled_from([None, 0.5, ("a", 1)]))


@st.composite
def found_bins(draw: Draw) -> Run:
    """A new bin has one person; others gain one."""
    most = draw(st.sampled_from([1, 3]))
    counts = draw(st.dictionaries(NAMES, st.integers(0, 40), max_size=6))
    names = set(draw(st.lists(st.one_of(NAMES, st.sampled_from([*counts, "new"])), min_size=1, max_size=most)))
    noise = draw(st.sampled_from(["laplace", "gaussian"]))
    mechanism = histogram(draw(EPSILONS), noise, None, most, False)
    other = {**counts, **{name: counts.get(name, 0) + 1 for name in names}}
    first, second = (counts, other) if draw(st.booleans()) else (other, counts)
    return Run(lambda x: mechanism.release(x), first, second)


@st.composite
def moves_of_scores(draw: Draw, count: int, sensitivity: int, monotone: bool) -> list[int]:
    """Each by the sensitivity at most; all of them up if they are monotone."""
    each = st.integers(0 if monotone else -sensitivity, sensitivity)
    moves: list[int] = draw(not_all_zero([draw(each) for _ in range(count)], (1,) if monotone else (1, -1)))
    return moves


@st.composite
def scores(draw: Draw, make: Callable[..., Any], count: int = 1) -> Run:
    number, sensitivity = draw(st.integers(count, 7)), draw(st.integers(1, 3))
    values = draw(st.lists(SIZES, min_size=number, max_size=number))
    monotone = draw(st.booleans())
    moves = draw(moves_of_scores(number, sensitivity, monotone))
    mechanism = make(sensitivity=sensitivity, epsilon=draw(EPSILONS), monotone=monotone)
    return Run(
        lambda x: mechanism.release(x), values, [value + move for value, move in zip(values, moves, strict=True)]
    )


@st.composite
def scored(draw: Draw) -> Run:
    """How many records are each of four values: one record more or less moves one score by 1."""
    data = draw(st.lists(st.integers(0, 3), min_size=1, max_size=8))
    noise, weights = draw(st.sampled_from([("exponential", None), ("laplace", None), ("gumbel", [1, 2, 3, 4])]))
    mine = dp.ScoredSelection(
        range(4), lambda y, x: x.count(y), 1, epsilon=draw(EPSILONS), noise=noise, weights=weights
    )
    return Run(lambda x: mine.release(x), data, [*data, draw(st.integers(0, 3))])


@st.composite
def weighted(draw: Draw) -> Run:
    run = draw(scores(dp.Exponential))
    weights = draw(st.lists(st.integers(1, 99), min_size=len(run.first), max_size=len(run.first)))
    mechanism = dp.Exponential(sensitivity=3, epsilon=1)
    return Run(lambda x: mechanism.release(x, weights=weights), run.first, *run.neighbours)


def rising(y: float) -> float:
    """A public density."""
    return 1 + y


@st.composite
def medians(draw: Draw) -> Run:
    """A median by hand: one record more moves every score by one half at most, and there is one piece more."""
    data = draw(st.lists(st.sampled_from([0.0, 0.25, 1.0, 1.0, 3.0, 9.5, 10.0]), max_size=9))
    mechanism, density = (
        dp.Exponential(sensitivity="1/2", epsilon=draw(EPSILONS)),
        draw(st.sampled_from([None, rising])),
    )

    def median(x: list[float]) -> Any:
        edges = [0.0, *sorted(x), 10.0]
        scores = [-abs(at - len(x) / 2) for at in range(len(x) + 1)]
        return mechanism.release_interval(edges, scores, density=density)

    return Run(median, data, [*data, draw(st.sampled_from([0.0, 1.0, 5.0, 10.0]))])


@st.composite
def points(draw: Draw) -> Run:
    around = draw(st.booleans())
    mechanism = metric(around, draw(EPSILONS), draw(st.booleans()))
    place = draw(st.integers(0, 8))
    near = [(place + move) % 9 for move in (1, -1, 2, -2) if around or 0 <= place + move <= 8]
    return Run(lambda x: mechanism.release(x), place, draw(st.sampled_from(near)))


@cache
def metric(around: bool, epsilon: str, rows: bool) -> dp.MetricExponential:
    """Points on a line, or on a ring; with a table, or with a row of distances at a time."""
    if rows and not around:
        return dp.MetricExponential(points=range(9), distance="l2", sensitivity=2, epsilon=epsilon)
    distance = (lambda x, y: min((x - y) % 9, (y - x) % 9)) if around else (lambda x, y: abs(x - y))
    return dp.MetricExponential(points=range(9), distance=distance, sensitivity=2, epsilon=epsilon)


@st.composite
def responses(draw: Draw) -> Run:
    answers = draw(st.sampled_from([["a", "b"], [1, 2, 3], [True, False], ["x", 2, None]]))
    given = draw(st.lists(st.sampled_from(answers), min_size=1, max_size=6))
    at = draw(st.integers(0, len(given) - 1))
    other = [*given[:at], draw(st.unlike(given[at], st.sampled_from(answers))), *given[at + 1 :]]
    mechanism = dp.RandomizedResponse(answers=answers, epsilon=draw(EPSILONS))
    return Run(lambda x: mechanism.release(x), given, other)


@cache
def table(apart: int) -> dp.FiniteMechanism:
    rows = {x: [f"{1 + 3 * (x == y)}/9" for y in range(6)] for x in range(6)}
    return dp.FiniteMechanism(rows, neighbours=[(x, x + apart) for x in range(6 - apart)])


@st.composite
def tables(draw: Draw) -> Run:
    apart = draw(st.integers(1, 2))
    place = draw(st.integers(0, 5 - apart))
    first, second = (place, place + apart) if draw(st.booleans()) else (place + apart, place)
    return Run(lambda x: table(apart).release(x), first, second)


@st.composite
def questions(draw: Draw) -> Run:
    monotone, sensitivity = draw(st.booleans()), draw(st.integers(1, 3))
    values = draw(st.lists(st.integers(-20, 20), min_size=1, max_size=8))
    moves = draw(moves_of_scores(len(values), sensitivity, monotone))
    mechanism = dp.SparseVector(
        threshold=0, epsilon=draw(EPSILONS), max_above=draw(st.integers(1, 3)), sensitivity=sensitivity,
        monotone=monotone, answer_epsilon=draw(st.sampled_from([None, 1])),
    )  # fmt: skip
    return Run(
        lambda x: mechanism.release(x), values, [value + move for value, move in zip(values, moves, strict=True)]
    )


RECORDS = st.lists(st.sampled_from([0.0, -0.0, 1.0, 5.0, 5.0, 7.25, 100.0, 1e300]), min_size=3, max_size=21)


@st.composite
def records(draw: Draw, mechanism: Mechanism) -> Run:
    data = draw(RECORDS)
    at = draw(st.integers(0, len(data) - 1))
    other = [*data[:at], draw(st.unlike(data[at], st.sampled_from([0.0, 6.0, 100.0, -1e300]))), *data[at + 1 :]]
    return Run(lambda x: mechanism.release(x), data, other)


@cache
def smoothed(delta: str, noise: str) -> Mechanism:
    return dp.SmoothSensitivity(Median((0, 100)), epsilon="0.5", delta=delta, noise=noise)


@cache
def tested(epsilon: str) -> Mechanism:
    return dp.ProposeTestRelease(Median(None), limit=5, epsilon=epsilon, delta="1e-3")


@st.composite
def proposals(draw: Draw) -> Run:
    run: Run = draw(records(tested(draw(st.sampled_from(["1", "7"])))))
    return run


@st.composite
def smooth(draw: Draw) -> Run:
    noise = draw(st.sampled_from(["tight", "polynomial", "laplace", "gaussian"]))
    delta = "0" if noise in ("tight", "polynomial") else "1e-6"
    run: Run = draw(records(smoothed(delta, noise)))
    return run


@st.composite
def histograms(draw: Draw) -> Run:
    kind, cells = draw(st.sampled_from([("prefix", 7), ("all_ranges", 3)]))
    noise = draw(st.sampled_from(["laplace", "gaussian"]))
    replaces = draw(st.booleans())
    mechanism = matrix(kind, cells, noise, replaces)
    counts = draw(st.lists(st.integers(1, 9), min_size=cells, max_size=cells))
    out = draw(st.integers(0, cells - 1))
    into = draw(st.unlike(out, st.integers(0, cells - 1))) if replaces else None
    other = [count - (at == out) + (at == into) for at, count in enumerate(counts)]
    return Run(lambda x: mechanism.release(np.array(x)), counts, other)


@cache
def matrix(kind: str, cells: int, noise: str, replaces: bool) -> Mechanism:
    workload, adjacency = getattr(dp.Workload, kind)(cells), REPLACE_ONE if replaces else ADD_REMOVE
    delta = "1e-6" if noise == "gaussian" else None
    return dp.MatrixMechanism(workload, epsilon=1, delta=delta, noise=noise, adjacency=adjacency)


@cache
def mean(noise: str, rows: int) -> QueryMean:
    make = QueryMean.laplace if noise == "laplace" else QueryMean.gaussian
    return make(rows, "0.1")


@st.composite
def means(draw: Draw) -> Run:
    values = draw(st.lists(st.sampled_from([0.0, 0.1, 0.5, 1.0]), min_size=1, max_size=9))
    other = [draw(st.unlike(values[0], st.sampled_from([0.0, 1.0]))), *values[1:]]
    mechanism = mean(draw(st.sampled_from(["laplace", "gaussian"])), len(values))
    return Run(lambda x: mechanism.release(x), values, other)


@dataclass(frozen=True)
class Session:
    """All answers of a session, and what it says they cost."""

    answers: list[Any]
    guarantee: dp.guarantees.Guarantee


@st.composite
def oracles(draw: Draw) -> Run:
    """Up to three questions, each chosen by the answers before, the last in a list; the account of those asked."""
    values = draw(st.lists(st.sampled_from([0, 1, 2]), min_size=40, max_size=40))
    method, asked = draw(st.sampled_from(["gaussian", "laplace"])), draw(st.integers(1, 2))
    listed = draw(st.integers(1, 3 - asked))

    def ask(x: NDArray[np.int64]) -> Session:
        oracle = dp.Oracle(x, queries=3, method=method)
        answers: list[float] = []
        for _ in range(asked):
            row = 1 if not answers or answers[-1] > 0.5 else 2
            answers.append(oracle.ask(lambda rows, row=row: rows == row).value)
        answers += [each.value for each in oracle.ask_all([lambda rows: rows == 0] * listed)]
        return Session(answers, oracle.spent)

    other = draw(st.unlike(values[0], st.sampled_from([0, 1, 2])))
    return Run(ask, np.array(values), np.array([other, *values[1:]]))


@st.composite
def holdouts(draw: Draw) -> Run:
    values, train = np.tile(draw(st.lists(st.integers(0, 1), min_size=40, max_size=40)), 50), np.zeros(50)

    def ask(x: NDArray[np.int64]) -> Session:
        options: dict[str, Any] = {"threshold": "0.4", "checks": 3, "max_overfit": 1, "method": "sparse vector"}
        holdout, answers = dp.ReusableHoldout(train, x, **options), []
        for number in (0, 1, 0):
            if holdout.left:
                answers.append(holdout.check(lambda rows, number=number: rows == number).value)
        return Session(answers, holdout.guarantee)

    return Run(ask, values, np.append(1 - values[0], values[1:]))


def case(name: str, runs: st.Strategy, *covers: str) -> Case:
    return Case(name, frozenset(covers or (name,)), runs)


CASES = [
    case("Laplace", added(laplace)),
    case("KNorm", vectors()),
    case("Gaussian", added(gaussian, squared=True)),
    case("Gaussian for a budget", added(calibrated, squared=True), "Gaussian"),
    case("Staircase", added(staircase, vectors=False)),
    case("Histogram", known_bins()),
    case("Histogram of found bins", found_bins(), "Histogram"),
    case("Exponential", scores(dp.Exponential)),
    case("ScoredSelection", scored()),
    case("Exponential with weights", weighted(), "Exponential"),
    case("Exponential on an interval", medians(), "Exponential.release_interval"),
    *(
        case(f"NoisyMax, {noise}", scores(lambda noise=noise, **o: dp.NoisyMax(noise=noise, **o)), "NoisyMax")
        for noise in ("exponential", "laplace", "gumbel")
    ),
    case("TopK", scores(lambda **options: dp.TopK(count=2, **options), count=2)),
    case("MetricExponential", points()),
    case("RandomizedResponse", responses()),
    case("FiniteMechanism", tables()),
    case("SparseVector", questions(), "SparseVector", "SparseVector.start"),
    case("ProposeTestRelease", proposals()),
    case("SmoothSensitivity", smooth()),
    case("MatrixMechanism", histograms(), "MatrixMechanism", "Workload"),
    case("QueryMean", means()),
    case("Oracle", oracles(), "Oracle", "Oracle.ask", "Oracle.ask_all"),
    case("ReusableHoldout", holdouts(), "ReusableHoldout", "ReusableHoldout.check"),
]
