"""Randomized response and sparse vector, as the contract suite sees them."""

from __future__ import annotations

import functools
import math
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
from flint import arb

from dither.adjacency import REPLACE_ONE
from dither.mechanisms import Mechanism, RandomizedResponse, SparseVector
from tests.mechanisms.batches import Batch, sparse_batch
from tests.mechanisms.mechanism_case import Case, ErrorLaw, Errors
from tests.mechanisms.selection_cases import BAD, refused
from tests.oracle.finite import real
from tests.oracle.neighbours import Neighbours, moved
from tests.oracle.selections import one_sequence, sparse_vector

__all__ = ["CASES"]


def _response(d: int) -> Case:
    def make(keep: str = "0.25") -> RandomizedResponse:
        return RandomizedResponse(answers=range(d), keep=keep, adjacency=REPLACE_ONE)

    def law(x: int) -> list[arb]:
        """A quarter stays as it is, and the rest becomes any answer."""
        return [real(Fraction(int(x == y), 4) + Fraction(3, 4) / d) for y in range(d)]

    def errors(mechanism: Mechanism, count: int) -> Errors:
        truth = np.arange(count) % d
        return np.asarray(mechanism.release(truth).value != truth, dtype=np.float64)

    truth, wrong = Neighbours(law, list(combinations(range(d), 2))), 0.75 * (d - 1) / d
    return Case(
        name=f"randomized response, {d} answers",
        make=make,
        value=np.arange(1000) % d,
        refused_builds=[
            *refused(RandomizedResponse, ("epsilon",), answers=[0, 1], epsilon=1),
            *refused(RandomizedResponse, ("keep",), answers=[0, 1], keep="0.5"),
            lambda: RandomizedResponse(answers=[0, 1], keep=1),
            lambda: RandomizedResponse(answers=[0, 1], keep="0.5", epsilon=1),
            lambda: RandomizedResponse(answers=[], keep="0.5"),
            lambda: RandomizedResponse(answers=["a"], keep="0.5"),
            lambda: RandomizedResponse(answers=["a", "a"], keep="0.5"),
        ],
        refused_values=[d, -1, "0", None, math.nan, [0, d], np.array([0.5]), np.array([0, -1]), [[0]], ["0"], {}],
        profile=truth.profile,
        largest_loss=lambda: truth.largest_loss,
        quieter=lambda: make(keep="0.325"),
        louder=lambda: make(keep="0.175"),
        errors=errors,
        error_law=lambda: ErrorLaw(lambda x: wrong * (x < 1), wrong),
        beta=0.75,  # at a smaller one the bound is 1, which no answer misses
    )


# ------------------------------------------------------------- sparse vector

_THRESHOLD, _REACH = Fraction("10.5"), Fraction("0.3")


def _sparse(cap: int, answer_epsilon: str | None) -> Case:
    def make(factor: str = "1") -> SparseVector:
        """Its noise is `factor` times as wide: the sensitivity is, and so no part of the budget moves."""
        return SparseVector(
            threshold=_THRESHOLD,
            epsilon=1,
            max_above=cap,
            sensitivity=_REACH * Fraction(factor),
            answer_epsilon=answer_epsilon,
        )

    def louder() -> SparseVector:
        answer = None if answer_epsilon is None else Fraction(answer_epsilon) * Fraction(10, 11)
        return SparseVector(
            threshold=_THRESHOLD,
            epsilon="10/11",
            max_above=cap,
            sensitivity=_REACH,
            answer_epsilon=answer,
        )

    # ε₁ : ε₂ = 1 : (2c)^{2/3} and scales Δ/ε₁, 2cΔ/ε₂; the share is rounded to a multiple of 2^-20.
    share = Fraction(round(2**20 / (1 + (2 * cap) ** (2 / 3))), 2**20)
    first, second = 1 / share, 2 * cap / (1 - share)  # in units of Δ
    tiny = Neighbours(
        sparse_vector(first, second, cap),
        list(moved([tuple(map(Fraction, base)) for base in ((0, 0, 0), (-6, 6, -6))], Fraction(1))),
    )
    # Eighty values below force the threshold up; those above fall, from far below it.
    answers, low, high = (False,) * 80 + (True,) * cap, (0,) * 80 + (-40,) * cap, (1,) * 80 + (-41,) * cap
    hard = Neighbours(one_sequence(first, second, answers), [(tuple(map(Fraction, low)), tuple(map(Fraction, high)))])

    def largest_loss() -> float:
        """Each value told loses Δ/b₃ more: with b₃ = cΔ/ε₃, the event that it is at least what it was on one side."""
        return max(tiny.largest_loss, hard.largest_loss) + float(answer_epsilon or 0)

    told = "" if answer_epsilon is None else " and their values"
    return Case(
        name=f"sparse vector, until {cap} above{told}",
        make=make,
        value=[1, 2.5, 300, 7, 900, 4],
        refused_builds=[
            *refused(SparseVector, ("sensitivity", "epsilon", "max_above"), threshold=1, epsilon=1),
            *(lambda bad=bad: SparseVector(threshold=bad, epsilon=1) for bad in BAD[2:]),
            *(lambda bad=bad: SparseVector(threshold=1, epsilon=1, answer_epsilon=bad) for bad in (0, -1, math.nan)),
            lambda: SparseVector(threshold=1, epsilon=1, monotone=1),  # type: ignore[arg-type]
            lambda: SparseVector(threshold=1, epsilon=1, max_above=10**400),
        ],
        refused_values=[
            [math.nan],
            [1, math.inf],
            ["a"],
            [None],
            [[1, 2]],
            [True],
            math.nan,
            np.array(3.0),
            [[1]],
        ],
        profile=tiny.profile,
        slack=math.inf,
        epsilons=(0.0, 0.1, 0.3, 0.5),
        largest_loss=largest_loss,
        quieter=lambda: make("0.9"),
        louder=louder,
        **(_answer_errors(make, cap, first, second) if answer_epsilon is None else _value_errors(cap, answer_epsilon)),
    )


def _answer_errors(make: Any, cap: int, first: Fraction, second: Fraction) -> dict[str, Any]:
    """A value a little further from the threshold than `error` says; if it is answered wrongly, that far.

    The question before it is clear. With c = 1 that one is below the threshold and this one above; with c = 2 the
    other way round.
    """
    side = 1 if cap == 1 else -1

    @functools.cache
    def far() -> Fraction:
        return Fraction(make().error(0.05)) * (1 + Fraction(1, 10**9))

    def values() -> tuple[Fraction, ...]:
        return _THRESHOLD - side * 10**6, _THRESHOLD + side * far()

    def errors(_: SparseVector, above: Any, __: Any) -> Errors:
        return np.where(above[:, 1] == (side > 0), 0.0, float(far()))

    def one(mechanism: SparseVector) -> float:
        return 0.0 if mechanism.release(list(values())).value[1] == (side > 0) else float(far())

    def error_law() -> ErrorLaw:
        """P[ν − ρ > x] = (b₂² e^{−x/b₂} − b₁² e^{−x/b₁})/2(b₂² − b₁²), and E|ν − ρ| = (b₁² + b₁b₂ + b₂²)/(b₁ + b₂)."""
        b1, b2, x = (float(scale * _REACH) for scale in (first, second, far() / _REACH))
        wrong = (b2**2 * math.exp(-x / b2) - b1**2 * math.exp(-x / b1)) / (2 * (b2**2 - b1**2))
        mean = (b1**2 + b1 * b2 + b2**2) / (b1 + b2)
        return ErrorLaw(lambda bound: wrong * (bound < x), x * wrong, one=mean)

    return {
        "errors": sparse_batch(values, errors, one),
        "error_law": error_law,
        "error_is_exact": False,  # the bound holds for both noises and both sides at once
        "mean_is_exact": False,
    }


def _value_errors(cap: int, answer_epsilon: str) -> dict[str, Any]:
    """The values told, of which the last is looked at: noise of scale cΔ/ε₃, and `interval` says how wide."""
    scale = float(cap * _REACH / Fraction(answer_epsilon))
    values = (Fraction(1_000),) * cap

    def errors(mechanism: SparseVector, above: Any, rows: Any) -> Errors:
        assert above.all()
        return np.abs(np.asarray(rows[:, -1], dtype=np.float64)) * float(mechanism.grid.step)

    def one(mechanism: SparseVector) -> float:
        return abs(float(mechanism.release(list(values)).value[-1]) - 1_000)

    def bound(mechanism: Any) -> float:
        low, high = mechanism.release([1_000]).interval(0.95)
        return float(high[0] - low[0]) / 2

    batch: Batch = sparse_batch(lambda: values, errors, one)
    return {
        "errors": batch,
        "error_law": lambda: ErrorLaw(lambda x: math.exp(-x / scale), scale),
        "bound": bound,
    }


CASES: list[Case] = [
    *(_response(d) for d in (2, 3, 20)),
    *(_sparse(cap, answer_epsilon) for cap in (1, 2) for answer_epsilon in (None, "0.5")),
]
