"""C36 and C37: factorisations of running totals, how far one person moves them, and how large their errors are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, pairwise, product
from math import prod

from dither.audit.claims.claim import Evidence, Figure, at_most, claim, implemented
from dither.continual.choice import chosen
from dither.continual.encoders import Encoder
from dither.continual.factorisations import banded, best, fading, lowest_error, square_root
from dither.continual.participation import ONCE, Participation
from dither.exact import Ball, ball

__all__ = ["c36", "c37"]

Matrix = Sequence[Sequence[Fraction]]

_PERIODS = 7
_LIMITS = ((1, 1), (2, 1), (3, 2), (7, 1), (2, 5))
_FINE = 1 << 12
_HARDLY_MORE = Fraction(1002, 1000)


@claim(
    "C36",
    "streams",
    "A person in at most k periods, b or more apart, moves A x by no more than in the periods 0, b, 2b, …, if the "
    "diagonals of A do not grow and are not negative; of any lower-triangular A the library states a bound.",
    "‖A c‖² ≤ Σ_t (Σ_{i<k} a_{t−ib})²",
)
def c36(factor: Fraction = Fraction(1)) -> Iterator[Evidence]:
    """All patterns of seven periods by brute force, in exact numbers (Kalinin and Lampert 2024, Theorem 2)."""
    for make, (most, apart) in product((square_root, lambda t, fine: banded(t, 3, fine)), _LIMITS):
        encoder = make(_PERIODS, _FINE)
        matrix, participation = _matrix(encoder), Participation(most, apart)
        at: dict[str, object] = {"A": encoder.name, "k": most, "b": apart}
        promised = factor * _of_the_first(matrix, most, apart)
        yield at_most("largest ‖A c‖²", promised, _largest(matrix, most, apart), **at)
        yield implemented("‖A c‖² that is charged", promised, encoder.moved(1, participation, 1), **at)
    for make, (most, apart) in product((lambda t, fine: best(t, [None], fine), fading), _LIMITS):
        encoder = make(_PERIODS, _FINE)
        charged = encoder.moved(1, Participation(most, apart), 1)
        truth = _largest(_matrix(encoder), most, apart)
        yield at_most("largest ‖A c‖²", factor * charged, truth, A=encoder.name, k=most, b=apart)
        # What is charged is rounded up to a float, and by the steps of fading sums.
        yield at_most("‖A c‖² that is charged", truth * _HARDLY_MORE, charged, A=encoder.name, k=most, b=apart)


def _matrix(encoder: Encoder) -> Matrix:
    """A in exact numbers, from what the state of a stream keeps of it."""
    kept = encoder.written()
    size = range(_PERIODS)
    if kept["kind"] == "dense":
        return [[Fraction(kept["rows"][t][s]) if s <= t else Fraction(0) for s in size] for t in size]
    if kept["kind"] == "recurrent":
        pairs = zip(kept["weights"], kept["speeds"], strict=True)
        parts = [(Fraction(w, 1 << 40), Fraction(v, 1 << 30)) for w, v in pairs]
        series = [sum((weight * speed**k for weight, speed in parts), Fraction(0)) for k in size]
    else:
        series = [Fraction(each) for each in kept["series"]] + [Fraction(0)] * _PERIODS
    return [[series[t - s] if s <= t else Fraction(0) for s in size] for t in size]


def _of_the_first(matrix: Matrix, most: int, apart: int) -> Fraction:
    """The pattern 0, b, 2b, …"""
    chosen_periods = [apart * place for place in range(most) if apart * place < _PERIODS]
    return sum((sum((row[s] for s in chosen_periods), Fraction(0)) ** 2 for row in matrix), Fraction(0))


def _largest(matrix: Matrix, most: int, apart: int) -> Fraction:
    """Over all patterns, and contributions of either sign: Σ|X_ij| for X = AᵀA bounds them."""
    size = range(_PERIODS)
    gram = [[abs(sum((row[i] * row[j] for row in matrix), Fraction(0))) for j in size] for i in size]
    patterns = (
        each
        for count in range(1, most + 1)
        for each in combinations(size, count)
        if all(after - before >= apart for before, after in pairwise(each))
    )
    return max(sum((gram[i][j] for i in each for j in each), Fraction(0)) for each in patterns)


@claim(
    "C37",
    "streams",
    "Running totals of T periods by the square root of their matrix have an error of at most 1 + (1 + ln(T − 1))/π "
    "times the noise of one number; what the planner takes is within 2 % of what no factorisation is below.",
    "Σ_{k<T} f_k² ≤ 1 + (1 + ln(T − 1))/π, f_k = C(2k, k)/4^k",
)
def c37(numerator: Fraction = Fraction(1), gap: Fraction = Fraction(51, 50)) -> Iterator[Evidence]:
    """Exact sums; exact inverses of what is used; and a lower bound of all factorisations by weak duality."""
    pi = Ball.pi()
    for periods in (2, 3, 10, 100, 365):
        largest = 1 + ball(numerator) * (1 + ball(periods - 1).log()) / pi
        yield at_most("largest error of a total", largest, sum(_root_squares(periods), Fraction(0)), T=periods)
    for make in (square_root, lambda t, fine: banded(t, 4, fine), lambda t, fine: best(t, [None], fine)):
        encoder = make(_PERIODS, _FINE)
        for at, (truth, stated) in enumerate(zip(_errors(encoder), encoder.row_squares(None).tolist(), strict=True)):
            yield implemented("squared error that is stated", truth, stated, A=encoder.name, t=at)
    for periods in (2, 7, 31, 100):
        lowest = lowest_error(periods, [None])
        taken = Fraction(chosen(periods, [None], ONCE).mean_square(None)) * 2 / (periods + 1)
        yield at_most("squared error of what is taken", gap**2 * lowest, taken, T=periods)
        yield at_most("what no factorisation is below", taken, lowest, T=periods)
        tree = Fraction(periods.bit_length() * sum((t + 1).bit_count() for t in range(periods)) * 2, periods)
        yield Figure(f"squared error of the binary tree over the lowest, T = {periods}", tree / (periods + 1) / lowest)


def _root_squares(periods: int) -> list[Fraction]:
    """f_k², f_k = Π (2i − 1)/(2i)."""
    return [prod((Fraction(2 * i - 1, 2 * i) for i in range(1, k + 1)), start=Fraction(1)) ** 2 for k in range(periods)]


def _errors(encoder: Encoder) -> list[Fraction]:
    """The squared lengths of the rows of L A^{−1}, L the running total: by solving c A = a row of ones."""
    matrix = _matrix(encoder)
    found = []
    for period in range(_PERIODS):
        row = [Fraction(0)] * _PERIODS
        for s in range(period, -1, -1):
            row[s] = (1 - sum((row[t] * matrix[t][s] for t in range(s + 1, period + 1)), Fraction(0))) / matrix[s][s]
        found.append(sum((each**2 for each in row), Fraction(0)))
    return found
