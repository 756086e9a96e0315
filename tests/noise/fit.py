"""Whether samples follow a law: the chi-square test, on bins whose probabilities are the law's own.

False alarms. A test alarms when its p-value is below `ALARM` = 1e-11. The chi-square law is a limit: with at least 50
expected in each bin, its tail there is too light by a factor of 65 in the worst case (one bin of 50 beside a large
one) and by less than 1.3 with thirty large bins beside it. A normal run takes about 250 p-values of right laws and the
nightly run 400, so that fewer than one run in a million alarms, even if all of them were worst cases.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc

from dither.exact import Ball, ball
from dither.noise import Law
from dither.noise.law import Integers, integer_array

__all__ = [
    "ALARM",
    "bins_of",
    "counts",
    "low_bits",
    "p_value",
    "p_value_of_counts",
    "p_value_of_pairs",
    "p_value_of_two",
]

ALARM = 1e-11
_LEAST_EXPECTED = 50
_FIRST_EDGES = ("0.0001", "0.005", "0.5", "0.995", "0.9999")  # quantiles, so that the tails have bins of their own
_MOST_IN_A_BIN = 1 / 64


def p_value(samples: Integers, law: Law) -> float:
    """How likely samples of `law` are to deviate from it as far as `samples` do."""
    edges, probabilities = bins_of(law)
    return p_value_of_counts(counts(samples, edges), probabilities)


def p_value_of_counts(observed: Sequence[int], probabilities: Sequence[float]) -> float:
    """The chi-square test of counts against the probabilities of their bins; neighbours with few expected merge."""
    size = sum(observed)
    cells = _merge([(p * size, o) for p, o in zip(probabilities, observed, strict=True)])
    assert len(cells) > 1, "one bin tells nothing: take more samples"
    statistic = sum((o - e) ** 2 / e for e, o in cells)
    return float(chdtrc(len(cells) - 1, statistic))


def p_value_of_two(left: Integers, right: Integers, law: Law) -> float:
    """The two-sample chi-square test on the bins of `law`, for samples of the same size."""
    assert left.size == right.size
    edges, _ = bins_of(law)
    both = zip(counts(left, edges), counts(right, edges), strict=True)
    cells = _merge([((a + b) / 2, a) for a, b in both])
    return float(chdtrc(len(cells) - 1, sum(2 * (a - mean) ** 2 / mean for mean, a in cells)))


def p_value_of_pairs(left: Integers, right: Integers, law: Law) -> float:
    """The chi-square test that (left, right) are independent samples of `law`, on a table of about 8 × 8."""
    edges = sorted({law.quantile(Fraction(k, 8)) for k in range(1, 8)})
    probabilities = _probabilities([law.cdf(edge) for edge in edges])
    rows, columns = (np.searchsorted(edges, _clamped(x, edges), side="left") for x in (left, right))
    observed = np.bincount(rows * len(probabilities) + columns, minlength=len(probabilities) ** 2)
    return p_value_of_counts(observed.tolist(), np.outer(probabilities, probabilities).ravel().tolist())


def counts(samples: Integers, edges: Sequence[int]) -> list[int]:
    """How many samples lie in (−∞, e₀], (e₀, e₁], …, (eₖ, ∞)."""
    found = np.searchsorted(edges, _clamped(samples, edges), side="left")
    return [int(n) for n in np.bincount(found.ravel(), minlength=len(edges) + 1)]


@lru_cache(maxsize=256)
def bins_of(law: Law) -> tuple[list[int], list[float]]:
    """Bin edges, and the probability of each bin: halved until it is a point or holds at most 1/64."""
    first = sorted({law.quantile(level) for level in _FIRST_EDGES})
    first.insert(0, first[0] - 1)
    reached = {edge: law.cdf(edge) for edge in first}
    waiting = list(pairwise(first))
    while waiting:
        low, high = waiting.pop()
        if high - low > 1 and float(reached[high] - reached[low]) > _MOST_IN_A_BIN:
            middle = (low + high) // 2
            reached[middle] = law.cdf(middle)
            waiting += [(low, middle), (middle, high)]
    edges = sorted(reached)
    return edges, _probabilities([reached[edge] for edge in edges])


def _probabilities(reached: Sequence[Ball]) -> list[float]:
    return [float(after - before) for before, after in pairwise([ball(0), *reached, ball(1)])]


def _clamped(samples: Integers, edges: Sequence[int]) -> Integers:
    """The samples, moved towards the edges without leaving their bin if they are too large for int64."""
    if samples.dtype == np.int64:
        return samples
    low, high = min(edges), max(edges) + 1
    return integer_array([min(max(x, low), high) for x in samples.ravel().tolist()])


def _merge(cells: Sequence[tuple[float, int]]) -> list[tuple[float, int]]:
    """Neighbouring (expected, observed) added up until at least 50 are expected in each."""
    merged: list[tuple[float, int]] = []
    expected, observed = 0.0, 0
    for e, o in cells:
        expected, observed = expected + e, observed + o
        if expected >= _LEAST_EXPECTED:
            merged.append((expected, observed))
            expected, observed = 0.0, 0
    if merged and (expected or observed):
        e, o = merged.pop()
        merged.append((e + expected, o + observed))
    return merged


def low_bits(samples: Integers, bits: int) -> NDArray[np.int64]:
    """The last binary digits of each sample, as a number."""
    return (samples & ((1 << bits) - 1)).astype(np.int64)
