"""The encoders to choose from: square root, banded, with fading sums, the best for few periods; and trees to compare.

f_k = f_{k−1}(2k − 1)/(2k) are the terms of (1 − z)^{−½}, whose square is 1/(1 − z): the root of running totals.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from dither.continual.encoders import Dense, Recurrent, Toeplitz
from dither.workloads.strategies.optimal import MOST_CELLS, best_square
from dither.workloads.strategies.strategy import FINE, Floats, Integers

__all__ = [
    "MOST_OPTIMAL",
    "banded",
    "best",
    "damped",
    "each_period",
    "fading",
    "gram_of",
    "lowest_error",
    "root_terms",
    "square_root",
    "tree_row_squares",
]

MOST_OPTIMAL = MOST_CELLS
_APART = 0.8
"""Between the logarithms of two speeds of fading: the trapezoidal rule is then right to some 10^-5."""
_CERTIFIED = 1 << 26
"""How many whole numbers there are to 1 in what bounds all errors from below."""
_FASTEST = 3.0
_SLOWEST = 0.1


def root_terms(count: int) -> Floats:
    """f_0, f_1, …: the running product loses less than a part in 10^9 over 10^6 factors."""
    steps = np.arange(1, count, dtype=np.float64)
    terms: Floats = np.cumprod(np.concatenate([[1.0], (2 * steps - 1) / (2 * steps)]))
    return terms


def each_period(periods: int, fine: int = FINE) -> Toeplitz:
    """Noise of its own for each period: the best for `last`, and poor for totals."""
    return Toeplitz("each period", periods, np.array([fine], dtype=np.int64))


def square_root(periods: int, fine: int = FINE) -> Toeplitz:
    """A_ts = f_{t−s} in steps of 1/`fine` (Fichtenberger, Henzinger and Upadhyay 2023)."""
    return Toeplitz("square root", periods, _rounded(root_terms(periods), fine))


def banded(periods: int, width: int, fine: int = FINE) -> Toeplitz:
    """The first `width` diagonals of the square root (Kalinin and Lampert 2024)."""
    return Toeplitz(f"banded, {width} wide", periods, _rounded(root_terms(min(width, periods)), fine))


def damped(periods: int, width: int, share: float, fade: float, fine: int = FINE) -> Toeplitz:
    """As `banded`, with less below the diagonal: a_k = share · fade^k · f_k for k > 0, with both at most 1.

    A person who is in several periods moves the diagonal by each of them, and what is below it by all of them together.
    """
    terms = root_terms(min(width, periods))
    terms[1:] *= share * fade ** np.arange(1, len(terms))
    return Toeplitz(f"damped, {width} wide", periods, _rounded(terms, fine))


def fading(periods: int, fine: int = FINE) -> Recurrent:
    """f_k as a sum of powers, so that the memory does not grow (after Dvijotham, McMahan, Pillutla and others 2024).

    f_k = (1/π) ∫ e^{−s(k+½)} (1 − e^{−s})^{−½} ds over s > 0, by the trapezoidal rule in ln s; the slowest power also
    stands for those that are slower still. How close that comes decides how large the error is; privacy needs only the
    whole numbers that come out.
    """
    logarithms = np.arange(math.log(_FASTEST), math.log(_SLOWEST / periods) - _APART, -_APART)
    rates = np.exp(logarithms)
    weights = _APART / math.pi * rates * np.exp(-rates / 2) / np.sqrt(-np.expm1(-rates))
    weights[-1] += 2 / math.pi * math.sqrt(rates[-1]) * math.exp(-_APART / 4)
    unit = 1 << Recurrent._FINE
    whole = [max(round(float(weight) * fine * unit), 1) for weight in weights]
    whole[0] += -sum(whole) % unit  # so that the diagonal is a whole number
    speeds = [
        min(max(round(math.exp(-rate) * 2.0**Recurrent._SPEED), 1), (1 << Recurrent._SPEED) - 1) for rate in rates
    ]
    return Recurrent("fading sums", periods, whole, speeds)


def best(periods: int, windows: Sequence[int | None], fine: int = FINE) -> Dense:
    """The factorisation of the smallest mean squared error for these questions, if a person is in one period.

    X = AᵀA is that of `workloads.strategies.optimal`; A is its lower-triangular root.
    """
    square, _ = best_square(gram_of(periods, windows))
    flipped = np.linalg.cholesky(square[::-1, ::-1])
    matrix = np.rint(fine * flipped.T[::-1, ::-1])
    return Dense("optimal", np.tril(matrix).astype(np.int64))


def lowest_error(periods: int, windows: Sequence[int | None]) -> Fraction:
    """What the squared error, summed as `gram_of` weighs it, is not below for any factorisation and one period each.

    Certified, in whole numbers. Let W be the questions below each other, weighted, W = B A with columns of A that are
    no longer than 1, Σs_j² ≤ 1 and S the matrix with the s_j on its diagonal. For any Q,

        tr(QᵀWS) = tr(QᵀB·AS) ≤ ‖Q‖₂ ‖B‖_F ‖AS‖_F ≤ ‖Q‖₂ ‖B‖_F,    ‖Q‖₂² ≤ the largest row of |QᵀQ|, summed,

    so ‖B‖_F ≥ tr(QᵀWS)/‖Q‖₂. The Q and S that make it large are found in floats, and then rounded.
    """
    rows = [_summed(periods, window) for window in windows]
    weighted = np.vstack([each / math.sqrt(each.sum()) for each in rows])
    inverse = np.linalg.inv(best_square(gram_of(periods, windows))[0])
    shares = np.einsum("ij,ji->i", inverse @ gram_of(periods, windows), inverse)
    lengths = np.floor(np.sqrt(shares / shares.sum()) * (_CERTIFIED - periods)).astype(np.int64)
    left, _, right = np.linalg.svd(weighted * lengths, full_matrices=False)
    turned = np.rint(left @ right * _CERTIFIED).astype(np.int64)
    assert sum(each * each for each in lengths.tolist()) <= _CERTIFIED**2, "the lengths are those of no more than 1"
    square = int(np.abs(turned.T @ turned).sum(axis=1).max())  # entries below 2^52·(1 + 2^-16), as columns are short
    found = Fraction(0)
    for place, each in enumerate(rows):
        part = turned[place * periods : (place + 1) * periods]
        trace = sum((each.astype(np.int64) * part).sum(axis=0).astype(object) * lengths.astype(object))
        weight = Fraction(math.isqrt((1 << 80) // int(each.sum())), 1 << 40)
        assert trace > 0, "the part is a good one, so that less weight makes it smaller"
        found += trace * weight
    return found**2 / (square * _CERTIFIED**2)


def _summed(periods: int, window: int | None) -> Floats:
    """W_ts = 1 where period s is among those that are summed at t."""
    rows: Floats = np.tril(np.ones((periods, periods)))
    return rows if window is None else rows - np.tril(rows, -window)


def gram_of(periods: int, windows: Sequence[int | None]) -> Floats:
    """Σ WᵀW/‖W‖² over the questions, W_ts = 1 where period s is among those that are summed at t."""
    found = np.zeros((periods, periods))
    for window in windows:
        rows = _summed(periods, window)
        found += rows.T @ rows / rows.sum()
    return found


def tree_row_squares(periods: int) -> tuple[int, Floats]:
    """The binary tree: how many sums a period is in, and how many sums a running total is put together from."""
    totals = np.array([(place + 1).bit_count() for place in range(periods)], dtype=np.float64)
    return periods.bit_length(), totals


def _rounded(terms: Floats, fine: int) -> Integers:
    return np.asarray(np.rint(fine * terms), dtype=np.int64)
