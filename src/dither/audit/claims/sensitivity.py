"""C17 and C18: the median is very sensitive somewhere, and hardly anywhere."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import cache, partial
from itertools import pairwise, product
from math import ceil

from dither.adjacency import ADD_REMOVE, REPLACE_ONE
from dither.audit.claims import grid, worlds
from dither.audit.claims.claim import Evidence, Figure, at_most, claim, equal, exceeds, implemented
from dither.audit.claims.worlds import Records, World
from dither.exact import Ball, ball
from dither.sensitivity import (
    SMOOTH_EXCESS,
    Median,
    Quantile,
    distance_to_sensitivity,
    local_sensitivity,
    smooth_sensitivity,
)

__all__ = ["c17", "c18"]

_BOUNDS = (0, 1000)
_SPREAD = [Fraction(i, 8) for i in range(801)]
"""801 records, evenly from 0 to 100: a tenth of what the bounds allow."""


@claim(
    "C17",
    "S1",
    "The median of data in [a, b] has global sensitivity b − a, so that noise at that scale destroys it; noise fitted "
    "to the data, propose-test-release and the exponential mechanism do not.",
    "Δ = b − a",
)
def c17(width: Fraction = Fraction(1)) -> Iterator[Evidence]:
    """Two neighbours that attain it, for some numbers of records; then four medians of one dataset."""
    for (low, high), size in product(((0, 1), (-3, 5), _BOUNDS), (2, 8, 100)):
        half = [low] * (size // 2) + [high] * (size // 2)
        for adjacency, other in ((REPLACE_ONE, [*half[1:], high]), (ADD_REMOVE, [*half, high])):
            median = Median((low, high), adjacency)
            at: dict[str, object] = {"bounds": (low, high), "n": size, "neighbours": adjacency}
            attained = Fraction(median.value(other)) - Fraction(median.value(half))
            yield equal("Δ of the median", width * (high - low), attained, **at)
            yield implemented(
                "Δ that the library states", width * (high - low), Fraction(median.global_sensitivity), **at
            )
    destroyed = width * (_BOUNDS[1] - _BOUNDS[0])  # E|noise| of Laplace noise at ε = 1
    yield exceeds("mean error with noise at the scale Δ/ε", _SPREAD[-1] - _SPREAD[0], destroyed, than="all of the data")
    # The records are 1/8 apart: A^(t) = (t + 1)/8, so S_β is largest at t = 9, and 8·2^k records reach 2^k.
    spread, data = Median(_BOUNDS), [float(x) for x in _SPREAD]
    smooth = 10 * ball(Fraction(-9, 10)).exp() / 8
    yield implemented("S_β(D) that the library states, β = 1/10", smooth, smooth_sensitivity(spread, data, "0.1"))
    for k in (0, 2, 4):
        found = distance_to_sensitivity(spread, data, 2**k)
        yield implemented("distance that the library states", 8 * 2**k, int(found), η=2**k)
    for name, error in _better_medians():
        yield exceeds("mean error with noise at the scale Δ/ε", 10 * error, ball(destroyed), than=f"ten times {name}")
        yield Figure(f"mean error of the median by {name}, where Δ gives {destroyed}", error)


def _better_medians() -> Iterator[tuple[str, Ball]]:
    """Mean errors at ε = 1, with the formulas of the lectures: C19 (a) for γ = 4, C20 with Laplace noise, C12."""
    median, data = Median(_BOUNDS), [float(x) for x in _SPREAD]
    # β = ε/(2(γ + 1)) and scale 2(γ + 1)S/ε; the law ∝ 1/(1 + z⁴) has E|Z| = 1/√2.
    yield "smooth sensitivity", 10 * Ball(smooth_sensitivity(median, data, Fraction(1, 10))) / Ball(2).sqrt()
    # Half of ε for the test, at δ = 1e-6; η doubles until the test fails less than once in 10⁹.
    sure = 1 + 2 * (ball(Fraction(2 * 10**6)).log() + ball(Fraction(10**9)).log())
    limit = next(2**k for k in range(10) if sure <= ball(int(distance_to_sensitivity(median, data, 2**k))))
    yield "propose-test-release", ball(2 * limit)
    yield "the exponential mechanism", _exponential_error()


def _exponential_error() -> Ball:
    """E|Y − median| for the density ∝ exp(−|rank − n/2|/2) on the bounds: one piece between any two records."""
    ends = [Fraction(_BOUNDS[0]), *_SPREAD, Fraction(_BOUNDS[1])]
    size, middle = len(_SPREAD), _SPREAD[ceil(len(_SPREAD) / 2) - 1]
    mass = moment = Ball(0)
    for below, (left, right) in enumerate(pairwise(ends)):
        weight = ball(-abs(below - Fraction(size, 2)) / 2).exp()
        mass += weight * ball(right - left)
        moment += weight * ball((right - left) * abs((left + right) / 2 - middle))  # no piece has the median inside
    return moment / mass


_VALUES = (0, 1, 3)
_LARGEST = 3
_PROBABILITIES = tuple(Fraction(p) for p in ("0", "2/5", "1/2", "9/10"))
_BETAS = (Fraction(1, 10), Fraction(1, 2), Fraction(2))


@cache
def _worlds() -> tuple[World[Records], World[Records]]:
    """Room for 2·3 + 1 records where they come and go: three steps from three records, and a neighbour."""
    return worlds.replace_one(_VALUES, _LARGEST), worlds.add_remove(_VALUES, 2 * _LARGEST + 1)


@claim(
    "C18",
    "S1",
    "0 ≤ LS(D) ≤ S_β₂(D) ≤ S_β₁(D) ≤ Δ for β₁ ≤ β₂; S_β of the median in O(n log n). LS itself may be 0 for one of two "
    "neighbours alone, so that noise in proportion to it is not private.",
    "S_β(D) = max_t e^{−βt} A^(t)(D)",
)
def c18(rate: Fraction = Fraction(1), factor: Fraction = Fraction(1)) -> Iterator[Evidence]:
    """The fast S_β against its definition over all small datasets, and against a closed form for many records."""
    rounding = 1 + Fraction(SMOOTH_EXCESS)
    for world, probability in product(_worlds(), _PROBABILITIES):
        statistic = Quantile(probability, (0, max(_VALUES)), world.adjacency)
        local = world.local(partial(_element, probability), lambda x, y: abs(x - y))
        for data, within in world.within(local).items():
            if len(data) > _LARGEST or data != tuple(sorted(data)):
                continue
            at: dict[str, object] = {"D": str(data), "p": probability, "neighbours": world.adjacency}
            chain = [statistic.global_sensitivity]
            for beta in _BETAS:
                stated = smooth_sensitivity(statistic, data, beta)
                terms = enumerate(within[: _LARGEST + 1])
                exact = grid.largest(ball(-rate * beta * t).exp() * ball(reached) for t, reached in terms)
                yield equal("S_β(D)", exact, stated, β=beta, **at)
                yield at_most("S_β(D) ≤ what the library states", stated, exact, β=beta, **at)
                yield at_most("S_β(D) ≤ Δ, and ≤ S of a smaller β", ball(Fraction(chain[-1]) * rounding), stated, **at)
                chain.append(stated)
            yield at_most("LS(D) ≤ S_β(D)", factor * Fraction(chain[-1]), ball(local[data]), **at)
            yield equal("LS(D)", ball(local[data]), local_sensitivity(statistic, data), **at)
        yield implemented("Δ that the library states", max(_VALUES), statistic.global_sensitivity, p=probability)
    for beta in (Fraction(1, 10**4), Fraction(1, 100), Fraction(1)):
        yield _many_records(rate * beta, beta)
    yield from _local_alone()


def _local_alone() -> Iterator[Evidence]:
    """Integer noise of scale LS(D)/ε at ε = 1: D is answered exactly, and a neighbour seldom says the same."""
    median, answer, neighbour = Median((0, max(_VALUES))), (0, 0, 0), (0, 0, 3)
    found = [local_sensitivity(median, data) for data in (answer, neighbour)]
    yield implemented("LS(D)", 0, Fraction(found[0]), D=str(answer))
    yield implemented("LS(D)", 3, Fraction(found[1]), D=str(neighbour))
    allowed = Ball(1).exp() * grid.zero(3)
    yield exceeds("Pr[f(D)] where LS(D) = 0, against e^ε times that of a neighbour", allowed, 1, D=str(answer))


def _element(probability: Fraction, data: Records) -> int:
    """Rank ⌈p·n⌉, or 1 for p = 0; no records count as the lower bound (the upper one for p = 0)."""
    if not data:
        return max(_VALUES) if probability == 0 else 0
    return sorted(data)[max(1, ceil(probability * len(data))) - 1]


def _many_records(expected: Fraction, beta: Fraction) -> Evidence:
    """2¹⁷ + 1 records, each at distance 1 of the next and of the bounds: A^(t) = t + 1, best at t = 1/β − 1."""
    size = 2**17 + 1
    median = Median((-1, size))
    best = min(max(round(1 / expected) - 1, 0), size // 2)
    terms = (ball(-expected * t).exp() * ball(t + 1) for t in range(max(0, best - 1), best + 2))
    return equal("S_β(D)", grid.largest(terms), smooth_sensitivity(median, range(size), beta), n=size, β=beta)
