"""The race: each candidate's score gets independent noise, and the largest sum wins. Proof: race.md.

The noise is continuous, F(V) with V uniform in (0, 1) and F decreasing, and V is known only by its first binary
digits. Double precision turns them into an interval for every candidate; almost always one of them lies above all
others. Otherwise those that are still in the race are computed in balls, and get further digits, until one wins.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dither.errors import NotANumberError, ParameterError
from dither.exact import Ball, ball, check, once, plain, precision, rational, set_fields
from dither.noise import entropy
from dither.noise.entropy import BitSource

__all__ = ["LIBRARY_ERROR", "NOISES", "Numbers", "Race", "Scores", "numbers"]

FloatArray: TypeAlias = NDArray[np.float64]
Numbers: TypeAlias = ArrayLike | Sequence[int | float | Fraction | Decimal]
"""A list or an array of one dimension: integers, floats up to 64 bits, Fractions or Decimals."""
_Candidates: TypeAlias = NDArray[np.intp]

LIBRARY_ERROR = 2.0**-30
"""Assumed error of NumPy's log and log1p, relative to the result plus the least positive result that occurs.

The tests find less than 2^-50 against balls: the assumption is a million times weaker than what is seen.
"""

_MARGIN = 2.0**-20  # what all roundings of a candidate's value are certain to stay below, see race.md
_EDGE_BITS = 28  # double precision decides 2^-28 ≤ V ≤ 1 − 2^-28 only
_LARGEST_GAP = 2.0**20  # and leads the race only with scores less than 2^20 scales below the best
_CHUNK = 1 << 14  # candidates at a time: all of them stay in the processor's cache
_LARGEST_SCALE = Fraction(2) ** 900
_SMALLEST_SCALE = 1 / _LARGEST_SCALE
_GUARD_BITS = 64
_EXACT_INTEGERS = 2**53


class _Noise(ABC):
    """A continuous law as a decreasing function F of a uniform number."""

    @abstractmethod
    def near(self, v: FloatArray) -> FloatArray:
        """F(v) in double precision."""

    @abstractmethod
    def at(self, v: Ball) -> Ball:
        """F(v) for 0 < v < 1."""

    least: Ball = -Ball("inf")
    """F(1)."""


class _Exponential(_Noise):
    """P[X > x] = e^{−x}: F(v) = −ln v."""

    least = Ball(0)

    def near(self, v: FloatArray) -> FloatArray:
        return -np.log(v)

    def at(self, v: Ball) -> Ball:
        return -v.log()


class _Laplace(_Noise):
    """P[|X| > x] = e^{−x}, either sign: F(v) = −ln 2v up to v = ½, and ln 2(1 − v) from there on."""

    def near(self, v: FloatArray) -> FloatArray:
        magnitude: FloatArray = np.log(2 * np.minimum(v, 1 - v))
        return np.copysign(magnitude, 0.5 - v)

    def at(self, v: Ball) -> Ball:
        # The two halves meet at 0, so each ball may be cut off there; a ball around ½ then holds both.
        return (-(2 * v).log()).max(Ball(0)) + (2 * (1 - v)).log().min(Ball(0))


class _Gumbel(_Noise):
    """P[X ≤ x] = e^{−e^{−x}}: F(v) = −ln(−ln(1 − v))."""

    def near(self, v: FloatArray) -> FloatArray:
        return -np.log(-np.log1p(-v))

    def at(self, v: Ball) -> Ball:
        return -(-(-v).log1p()).log()


NOISES: dict[str, _Noise] = {"gumbel": _Gumbel(), "exponential": _Exponential(), "laplace": _Laplace()}
"""The laws a race can be run with."""


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores as they are raced: exact numbers, and double precision for how far each is below the best.

    A float is its exact binary value. A score of −inf means that the candidate cannot win; `entrants` are the others.
    NaN, +inf, no score at all and no finite score are refused, and so are `weights` that are not positive and finite.
    """

    values: NDArray[Any]
    weights: NDArray[Any] | None = None

    @classmethod
    def of(cls, scores: Numbers, weights: Numbers | None = None) -> Scores:
        """Check and keep: floats up to 64 bits, integers, Fractions or Decimals."""
        values = numbers("scores", scores)
        if values.ndim != 1 or not values.size:
            raise ParameterError(
                f"scores must be a list of at least one number, got shape {values.shape}. Give one per candidate."
            )
        is_number = values.dtype == np.float64 or bool((values == values).all())
        highest = values.max() if is_number else math.nan  # of floats the largest is NaN if one is
        if not highest < math.inf:
            raise NotANumberError("scores must be below +inf: NaN and +inf are no scores. Clamp or drop them first.")
        if highest == -math.inf:
            raise ParameterError("at least one score must be finite: all are −inf, so that no candidate may win.")
        return cls(values, None if weights is None else _weights(weights, len(values)))

    def __len__(self) -> int:
        return len(self.values)

    @once
    def entrants(self) -> NDArray[np.intp] | None:
        """The candidates whose score is not −inf; None if these are all."""
        return None if self.values.min() > -math.inf else np.flatnonzero(self.values != -math.inf)

    @once
    def best_at(self) -> int:
        """The first candidate with the largest score."""
        return int(self.values.argmax())

    @property
    def best(self) -> Any:
        """The largest score."""
        return self.values[self.best_at]

    def gap(self, candidate: int) -> Fraction:
        """How far the score of an entrant is below the best, exactly."""
        return Fraction(self.best) - Fraction(self.values[candidate])

    def without(self, candidates: Sequence[int]) -> Scores:
        """The same, but these cannot win any more."""
        values = self.values.copy()
        values[list(candidates)] = -math.inf
        return Scores(values, self.weights)

    def weight(self, candidate: int) -> Fraction:
        """The weight of a candidate, exactly; 1 unless weights were given."""
        return Fraction(1) if self.weights is None else Fraction(self.weights[candidate])

    def shifts(self, candidates: _Candidates, rate: float) -> FloatArray:
        """ln weight − gap · rate of each in double precision; −inf where the gap is beyond it."""
        with np.errstate(over="ignore"):
            shifts = self._gaps(candidates) * -rate
        return shifts if self.weights is None else shifts + self._log_weights[candidates]

    @property
    def largest_shift(self) -> float:
        """None of `shifts` is larger."""
        return 0.0 if self.weights is None else float(self._log_weights.max())

    def _gaps(self, candidates: _Candidates) -> FloatArray:
        if self.values.dtype == np.float64:
            gaps: FloatArray = self.best - self.values[candidates]
            return gaps
        return np.array([_to_double(self.gap(i)) for i in candidates.tolist()], dtype=np.float64)

    @once
    def _log_weights(self) -> FloatArray:
        assert self.weights is not None
        if self.weights.dtype == np.float64:
            logarithms: FloatArray = np.log(self.weights)
            return logarithms
        return np.array([_log(Fraction(x)) for x in self.weights], dtype=np.float64)


class _Runner(NamedTuple):
    """A candidate still in the race: V lies in [prefix, prefix + 1] / 2^bits."""

    candidate: int
    prefix: int


@dataclass(frozen=True)
class Race:
    """Draws argmaxᵢ (sᵢ + b·Xᵢ) exactly, with b = `scale` and independent Xᵢ from `noise`.

    `noise` is "gumbel", "exponential" or "laplace". With Gumbel noise and weights wᵢ (1 unless given) candidate i wins
    with probability wᵢ e^{sᵢ/b} / Σⱼ wⱼ e^{sⱼ/b}: the exponential mechanism.

    >>> Race("gumbel", Fraction(1)).winner([-1e300, 5, float("-inf")])
    1
    """

    noise: str
    scale: Fraction

    def __post_init__(self) -> None:
        if self.noise not in NOISES:
            raise ParameterError(f"noise must be one of {', '.join(NOISES)}; got noise={self.noise!r}.")
        set_fields(self, scale=rational(self.scale, "scale"))
        check.positive(scale=self.scale)
        if not _SMALLEST_SCALE <= self.scale <= _LARGEST_SCALE:
            raise ParameterError("scale must lie between 2^-900 and 2^900. Measure the scores in another unit.")

    def winner(self, scores: Numbers | Scores) -> int:
        """The position of the winner. Bad scores are refused before anything is drawn."""
        known = scores if isinstance(scores, Scores) else Scores.of(scores)
        if known.weights is not None and self.noise != "gumbel":
            raise ParameterError(f"weights belong to gumbel noise, not to {self.noise} noise. Leave them out.")
        return self._run(entropy.current(), known)

    def _run(self, source: BitSource, scores: Scores) -> int:
        runners, bits = self._qualify(source, scores), source.word_bits
        while len(runners) > 1:
            runners = self._still_running(scores, runners, bits)
            if len(runners) > 1:
                runners = [_Runner(r.candidate, 2 * r.prefix + source.bits(1)) for r in runners]
                bits += 1
        return runners[0].candidate

    # ------------------------------------------------------ double precision

    def _qualify(self, source: BitSource, scores: Scores) -> list[_Runner]:
        """Everyone whose upper end reaches the best lower end.

        The chunk with the best score comes first: from then on most words are too large to be looked at (`_limit`).
        """
        entrants = scores.entrants
        count = len(scores) if entrants is None else len(entrants)
        first = scores.best_at if entrants is None else int(np.searchsorted(entrants, scores.best_at))
        starts = list(range(0, count, _CHUNK))
        starts.insert(0, starts.pop(first // _CHUNK))
        qualified: list[tuple[float, _Runner]] = []
        leading, rate = -math.inf, float(1 / self.scale)
        for start in starts:
            words = source.words(min(_CHUNK, count - start))
            near = np.flatnonzero(words <= _limit(leading - scores.largest_shift, source.word_bits))
            if not len(near):
                continue
            candidates = start + near if entrants is None else entrants[start + near]
            lower, upper = self._ends(words[near], source.word_bits, scores.shifts(candidates, rate))
            leading = max(leading, float(lower.max()))
            for i in np.flatnonzero(upper >= leading).tolist():
                qualified.append((float(upper[i]), _Runner(int(candidates[i]), int(words[near[i]]))))
        return [runner for highest, runner in qualified if highest >= leading]

    def _ends(self, prefixes: NDArray[np.uint64], bits: int, shifts: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Lower and upper ends of each candidate's value; −inf and inf where double precision does not know."""
        edge_bits = min(_EDGE_BITS, bits // 2)
        edge = 1 << (bits - edge_bits)
        margin = _MARGIN + 2.0 ** (edge_bits + 1 - bits)
        is_inside = (prefixes >= edge) & (prefixes < (1 << bits) - edge)
        middle = np.where(is_inside, (prefixes + 0.5) * 2.0**-bits, 0.5)
        values = NOISES[self.noise].near(middle) + shifts
        lower = np.where(is_inside & (shifts > -_LARGEST_GAP), values - margin, -math.inf)
        return lower, np.where(is_inside, values + margin, math.inf)

    # ----------------------------------------------------------------- balls

    def _still_running(self, scores: Scores, runners: Sequence[_Runner], bits: int) -> list[_Runner]:
        """Those who are not certain to be below another."""
        shifts = [scores.gap(runner.candidate) / self.scale for runner in runners]
        with precision(bits + _GUARD_BITS + int(max(shifts)).bit_length()):
            ends = [
                self._exact_ends(runner.prefix, bits, ball(scores.weight(runner.candidate)).log() - ball(shift))
                for runner, shift in zip(runners, shifts, strict=True)
            ]
            leading = ends[0][0]
            for lower, _ in ends:
                leading = lower if lower > leading else leading
            return [runner for runner, (_, upper) in zip(runners, ends, strict=True) if not upper < leading]

    def _exact_ends(self, prefix: int, bits: int, shift: Ball) -> tuple[Ball, Ball]:
        noise, whole = NOISES[self.noise], 1 << bits
        lower = noise.at(ball(prefix + 1) / whole) if prefix + 1 < whole else noise.least
        upper = noise.at(ball(prefix) / whole) if prefix else Ball("inf")
        return lower + shift, upper + shift


def _limit(least: float, bits: int) -> np.uint64:
    """A word above this means a noise below `least`, whatever the law: F(v) ≤ −ln v for all three."""
    most = (1 << bits) - 1
    return np.uint64(most if least < _MARGIN else min(most, math.ceil(math.exp(_MARGIN - least) * 2.0**bits)))


def numbers(name: str, values: Numbers) -> NDArray[Any]:
    """Float64 if that holds every value exactly, else Fractions (NaN and infinities as floats).

    A list is read number by number: NumPy would make doubles of [2**60 + 129, 0.5], and move scores by hundreds.
    """
    if isinstance(values, np.ma.MaskedArray):
        raise NotANumberError(f"{name} must not be a masked array: it hides values. Drop or fill them first.")
    is_list = isinstance(values, Sequence) and not isinstance(values, str | bytes)
    array = np.fromiter(values, dtype=np.object_, count=len(values)) if is_list else np.asarray(values)  # type: ignore[arg-type]
    kind = array.dtype.kind
    if kind == "f" and array.dtype.itemsize <= 8:
        return array.astype(np.float64, copy=False)
    if kind in "iu":
        is_small = not array.size or (-_EXACT_INTEGERS <= array.min() and array.max() <= _EXACT_INTEGERS)
        return array.astype(np.float64 if is_small else object)
    if kind != "O":
        raise _not_numbers(name, array.dtype.type)
    known = [_number(name, x) for x in array.ravel()]
    if all(type(x) is float or (type(x) is int and -_EXACT_INTEGERS <= x <= _EXACT_INTEGERS) for x in known):
        return np.array(known, dtype=np.float64).reshape(array.shape)
    exact = np.empty(array.size, dtype=np.object_)
    exact[:] = [_exact(x) for x in known]
    return exact.reshape(array.shape)


def _number(name: str, value: Any) -> int | float | Fraction | Decimal:
    """One value as a Python number."""
    if isinstance(value, np.generic) and value.dtype.kind in "iuf" and value.dtype.itemsize <= 8:
        return value.item()  # type: ignore[no-any-return]
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction | Decimal):
        raise _not_numbers(name, type(value))
    return plain(value)  # type: ignore[no-any-return]


def _not_numbers(name: str, found: type) -> NotANumberError:
    return NotANumberError(f"{name} must be numbers, got the type {found.__name__}. Convert them first.")


def _exact(value: int | float | Fraction | Decimal) -> Fraction | float:
    """The value as a Fraction; NaN and infinities as floats."""
    if isinstance(value, float | Decimal) and not math.isfinite(value):
        return float(value)
    return Fraction(value)


def _weights(weights: Numbers, count: int) -> NDArray[Any]:
    known = numbers("weights", weights)
    if known.shape != (count,):
        raise ParameterError(f"there must be one weight per candidate, got shape {known.shape} for {count} candidates.")
    if not ((known > 0) & (known < math.inf)).all():
        raise ParameterError("weights must be positive and finite. Give a score of −inf to whom cannot win.")
    return known


def _to_double(value: Fraction) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf


def _log(number: Fraction) -> float:
    """ln of a positive number that may be too large or too small for a double."""
    return math.log(number.numerator) - math.log(number.denominator)
