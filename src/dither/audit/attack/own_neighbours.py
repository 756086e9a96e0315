"""Inputs that are neighbours for a mechanism of dither, by its own sensitivity and adjacency.

They are worst cases by design: a value at the full sensitivity, scores that change against each other, records in two
clumps that hang in the balance, a bin that one side alone has. What a mechanism does not call neighbours is never among
them, so that a right one is accused with the `alpha` of the attack and no more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import singledispatch
from typing import Any

from dither.adaptive.mean import QueryMean
from dither.audit.attack.neighbours import Pair
from dither.errors import ParameterError
from dither.mechanisms import (
    Exponential,
    FiniteMechanism,
    Gaussian,
    Histogram,
    KNorm,
    Laplace,
    MatrixMechanism,
    Mechanism,
    MetricExponential,
    NoisyMax,
    ProposeTestRelease,
    RandomizedResponse,
    SmoothSensitivity,
    SparseVector,
    Staircase,
    TopK,
)

__all__ = ["neighbours_of"]

_SCORES = (2, 3, 5)
"""How many candidates are tried where they are not fixed."""
_CLUMP = 10
_MOST_POINTS = 512
_ROOT_BITS = 52


@singledispatch
def neighbours_of(mechanism: Mechanism) -> list[Pair]:
    """Pairs of inputs on which to try the mechanism hardest."""
    raise ParameterError(
        f"neighbours must be given for {type(mechanism).__name__}: say two inputs that differ by one record. "
        "Give neighbours=(left, right)."
    )


def _replaces(mechanism: Mechanism) -> bool:
    return mechanism.adjacency is not None and mechanism.adjacency.change == "replace"


def _at_most(distance: Fraction) -> int | float:
    """The distance itself where it is whole, or a float that is not above it."""
    if distance.denominator == 1:
        return int(distance)
    near = float(distance)
    return near if Fraction(near) <= distance else math.nextafter(near, 0.0)


# ------------------------------------------------------------------ added noise


@neighbours_of.register(Laplace)
@neighbours_of.register(Staircase)
def _(mechanism: Laplace | Staircase) -> list[Pair]:
    return _moved(mechanism.sensitivity, getattr(mechanism, "dimension", 1))


@neighbours_of.register
def _(mechanism: KNorm) -> list[Pair]:
    """One coordinate moves by all; where all may at once, all do."""
    distance, zeros = float(_at_most(mechanism.sensitivity)), [0.0] * mechanism.dimension
    pairs: list[Pair] = [(zeros, [distance, *zeros[1:]])]
    return pairs if mechanism.norm == "l2" else [*pairs, (zeros, [distance] * mechanism.dimension)]


@neighbours_of.register
def _(mechanism: Gaussian) -> list[Pair]:
    root = math.isqrt(math.floor(mechanism.sensitivity_squared * 4**_ROOT_BITS))
    return _moved(Fraction(root, 2**_ROOT_BITS), mechanism.dimension)


def _moved(distance: Fraction, dimension: int) -> list[Pair]:
    """One coordinate changes by all of the distance: as a real number, and as a whole one."""
    steps: list[int | float] = [float(_at_most(distance))]
    if distance >= 1:
        steps.append(math.floor(distance))
    if dimension == 1:
        return [(type(step)(0), step) for step in steps]
    return [([type(step)(0)] * dimension, [step] + [type(step)(0)] * (dimension - 1)) for step in steps]


# -------------------------------------------------------------------- selection


@neighbours_of.register(Exponential)
@neighbours_of.register(NoisyMax)
def _(mechanism: Exponential | NoisyMax) -> list[Pair]:
    sizes = _SCORES if mechanism.candidates is None else (mechanism.candidates,)
    return [pair for size in sizes for pair in _changed(0, size, mechanism.sensitivity, mechanism.monotone)]


@neighbours_of.register
def _(mechanism: TopK) -> list[Pair]:
    each = mechanism.each
    sizes = (mechanism.count + 1, mechanism.count + 3) if each.candidates is None else (each.candidates,)
    return [pair for size in sizes for pair in _changed(0, size, each.sensitivity, each.monotone)]


@neighbours_of.register
def _(mechanism: SparseVector) -> list[Pair]:
    level = _at_most(mechanism.threshold)
    return [pair for size in (1, 5, 10) for pair in _changed(level, size, mechanism.sensitivity, mechanism.monotone)]


def _changed(level: float, size: int, sensitivity: Fraction, monotone: bool) -> list[Pair]:
    """Several values that change at once, each by the sensitivity; in one direction if they are monotone."""
    few, up, down = max(1, size // 4), _beside(level, sensitivity, 1), _beside(level, sensitivity, -1)
    usual, more = [level] * size, [up] * (size - few)
    pairs: list[Pair] = [(usual, [up] * size)]
    if size > 1:
        pairs.append((usual, more + [level] * few))
    if not monotone:
        pairs.append((usual, more + [down] * few))
        pairs.append(([level] * (size - few) + [up] * few, more + [level] * few))
    return pairs


def _beside(level: float, distance: Fraction, sign: int) -> float:
    """The number at this distance from `level`, or the next one that is not farther."""
    there = level + sign * _at_most(distance)
    return there if abs(Fraction(there) - Fraction(level)) <= distance else math.nextafter(there, level)


@neighbours_of.register
def _(mechanism: MetricExponential) -> list[Pair]:
    points = mechanism.points[:_MOST_POINTS]
    rows = [mechanism.distances[i] for i in range(len(points))]
    near = [
        (rows[i][j], points[i], points[j])
        for i in range(len(points))
        for j in range(len(points))
        if 0 < rows[i][j] <= mechanism.sensitivity
    ]
    if not near:
        raise ParameterError(
            f"{type(mechanism).__name__} has no neighbours to try: no two of its points are within the sensitivity "
            f"{mechanism.sensitivity} of each other, so that it promises nothing of any two. "
            "Give it points, or a sensitivity, with which two are neighbours."
        )
    farthest = sorted(near, key=lambda each: -each[0])[: max(_SCORES)]
    return [(one, other) for _, one, other in farthest]


@neighbours_of.register
def _(mechanism: RandomizedResponse) -> list[Pair]:
    return [([mechanism.answers[0]], [other]) for other in (mechanism.answers[1], mechanism.answers[-1])]


@neighbours_of.register
def _(mechanism: FiniteMechanism) -> list[Pair]:
    def apart(pair: tuple[int, int]) -> Fraction:
        first, second = (mechanism.rows[at] for at in pair)
        return max(abs(p - q) for p, q in zip(first, second, strict=True))

    farthest = sorted(mechanism.adjacent_rows, key=apart, reverse=True)[: max(_SCORES)]
    return [(mechanism.inputs[one], mechanism.inputs[other]) for one, other in farthest]


# ------------------------------------------------------------- counts and cells


@neighbours_of.register
def _(mechanism: Histogram) -> list[Pair]:
    if mechanism.bins is None:
        many = {f"bin {i}": 1 for i in range(mechanism.max_bins)}
        pairs: list[Pair] = [({}, many), ({"a": 5}, {"a": 5} | many), ({"a": 20}, {"a": 21})]
        return [({"a": 1}, {"b": 1}), ({"a": 20}, {"a": 19, "b": 1})] if _replaces(mechanism) else pairs
    size = mechanism.bins if isinstance(mechanism.bins, int) else len(mechanism.bins)
    return _one_more(size, min(size, mechanism.max_bins), _replaces(mechanism))


@neighbours_of.register
def _(mechanism: MatrixMechanism) -> list[Pair]:
    return _one_more(mechanism.workload.cells, 1, _replaces(mechanism))


def _one_more(size: int, cells: int, replaces: bool) -> list[Pair]:
    """Counts of which some are 1 more; where a record is replaced, others are 1 less."""
    first, last = [1] * cells + [0] * (size - cells), [0] * (size - cells) + [1] * cells
    pairs = []
    for level in (0, 5):
        one, other = ([level + count for count in counts] for counts in (first, last))
        pairs.append((one, other) if replaces else ([level] * size, other))
    return pairs


# ---------------------------------------------------------------------- records


@neighbours_of.register(ProposeTestRelease)
@neighbours_of.register(SmoothSensitivity)
def _(mechanism: ProposeTestRelease | SmoothSensitivity) -> list[Pair]:
    adjacency = mechanism.adjacency
    if adjacency is None or adjacency.protects != "record":
        return neighbours_of.dispatch(Mechanism)(mechanism)
    pairs: list[Pair] = []
    for ahead in (0, 4):
        low, high = [0.0] * (_CLUMP + ahead), [10.0] * (_CLUMP - ahead)
        for between in (5.0, 10.0):
            whole = [*low, between, *high]
            pairs.append((whole, [0.0, *low, *high] if _replaces(mechanism) else [*low, *high]))
    return pairs


@neighbours_of.register
def _(mechanism: QueryMean) -> list[Pair]:
    usual: Sequence[Any] = [0.0] * (mechanism.rows - 1)
    return [([*usual, 0.0], [*usual, 1.0])]
