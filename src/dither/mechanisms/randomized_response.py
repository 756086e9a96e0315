"""Randomized response: each answer is kept or replaced by chance (claim C9)."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from dither.adjacency import Adjacency
from dither.errors import ParameterError
from dither.events import Event, RandomizedAnswer
from dither.exact import Ball, Number, ball, check, listed, once, precision, rational, set_fields
from dither.exact.certified import at_most, exactly_above, exactly_below
from dither.exact.search import farthest
from dither.guarantees import Guarantee
from dither.mechanisms.additive import described
from dither.mechanisms.mechanism import Mechanism
from dither.mechanisms.released import Interval, Release
from dither.noise import Bernoulli, UniformBelow
from dither.noise.tape import answered
from dither.pairs import ProfileOf
from dither.pairs.finite import FinitePair
from dither.pairs.pair import Pair
from dither.pairs.two_point import TwoPointPair

__all__ = ["Frequencies", "RandomizedResponse"]

_KEEP_BITS = 62
_CHUNK = 1 << 16
_BISECTIONS = 50

FloatArray: TypeAlias = NDArray[np.float64]
_Codes: TypeAlias = NDArray[np.unsignedinteger[Any]]


@dataclass(frozen=True, eq=False)
class Frequencies:
    """Estimated frequencies of the true answers; entry k belongs to answer k as declared.

    `RandomizedResponse.estimate` returns it.

    Parameters
    ----------
    estimate : array of float
        Unbiased estimates of the frequencies; they may lie outside [0, 1].
    variance : array of float
        Unbiased estimates of the variance of `estimate` over the randomization.
    count : int
        The number of answers.
    """

    estimate: FloatArray
    variance: FloatArray
    count: int


@dataclass(frozen=True, init=False, repr=False)
class RandomizedResponse(Mechanism):
    """Randomized response: each answer is kept with probability p, else replaced by a uniform one.

    Give exactly one of `epsilon` and `keep`. Estimate the true frequencies from the released answers with `estimate`.

    Parameters
    ----------
    answers : sequence
        The public set of possible answers: two or more, all different and hashable.
    epsilon : Number, optional
        The privacy budget ε > 0 of each answer.
    keep : Number, optional
        p, the probability that an answer is kept, strictly between 0 and 1.
    adjacency : Adjacency, optional
        Which datasets are neighbours. They differ in one answer, and there are as many out as in: an adjacency that
        adds or removes, or in which a person has several answers, is refused. By default unstated.

    Raises
    ------
    ParameterError
        If none or both of `epsilon` and `keep` are given, or answers are fewer than two or not distinct.

    Notes
    -----
    With d answers, the true one comes out with probability p + (1 − p)/d, each other with (1 − p)/d, so that it is
    exactly ln(1 + dp/(1 − p))-DP for each answer given: ln(1 + 2p/(1 − p)) for two (claim C9; Warner 1965). A budget ε
    is met by p = (e^ε − 1)/(e^ε − 1 + d), rounded down to 62 binary digits.

    Examples
    --------
    >>> import dither as dp
    >>> mechanism = dp.RandomizedResponse(answers=["no", "yes"], keep=0.5)
    >>> mechanism.guarantee.epsilon(0)  # ln 3
    1.0986122886681...
    >>> released = mechanism.release(["no", "yes", "yes"] * 1000)
    >>> bool(abs(mechanism.estimate(released.value).estimate[1] - 2 / 3) < 0.2)
    True
    """

    answers: tuple[Hashable, ...]
    keep: Fraction
    adjacency: Adjacency | None
    _budget: Fraction | None = field(compare=False)

    def __init__(
        self,
        *,
        answers: Sequence[Hashable],
        epsilon: Number | None = None,
        keep: Number | None = None,
        adjacency: Adjacency | None = None,
    ) -> None:
        set_fields(self, answers=listed(answers, "answers"))
        if len(self.answers) < 2:
            raise ParameterError(f"answers must be two or more, got {len(self.answers)} answers.")
        check.distinct(answers=self.answers)
        if (epsilon is None) == (keep is None):
            raise ParameterError("exactly one of epsilon and keep must be given. Say epsilon=... or keep=...")
        set_fields(self, keep=rational(keep, "keep") if epsilon is None else _keep(len(self.answers), epsilon))
        check.between(0, 1, keep=self.keep)
        # which the event checks
        set_fields(self, adjacency=adjacency, _budget=None if epsilon is None else rational(epsilon, "epsilon"))
        _ = self.event

    def __repr__(self) -> str:
        keep = self.keep if self._budget is None else None
        return described(self, answers=tuple(self.answers), epsilon=self._budget, keep=keep)

    @property
    def event(self) -> Event:
        """One randomized answer; the same event for many people with one answer each."""
        return RandomizedAnswer(self.keep, len(self.answers), self.adjacency)

    @property
    def guarantee(self) -> Guarantee:
        """The exact privacy profile of one answer."""
        return ProfileOf(self._pair, adjacency=self.adjacency)

    @property
    def _false(self) -> Fraction:
        """(1 − p)/d: the chance of each answer that is not the true one."""
        return (1 - self.keep) / len(self.answers)

    @property
    def _pair(self) -> Pair:
        other = self._false
        true, rest = self.keep + other, (len(self.answers) - 2) * other
        if not rest:
            return TwoPointPair(odds=true / other)
        return FinitePair((true, other, rest), (other, true, rest))

    # ---------------------------------------------------------------- release

    def release(self, value: Any) -> Release:
        """Randomize one answer, or each of several.

        Parameters
        ----------
        value : hashable, list, array or series
            One answer, or a list, an array or a series of them. A tuple is one answer.

        Returns
        -------
        Release
            `.value` is an answer, a list or an array, as given. `.interval(level)` bounds the frequency of each true
            answer.

        Raises
        ------
        ParameterError
            If an answer is not one of the declared ones.
        """
        if _is_many(value):
            values = _array(value)
            codes = self._codes(values)
            drawn = self._decoded(self._answered(codes)).reshape(values.shape)
            return self._released(drawn.tolist() if isinstance(value, list) else drawn)
        code = self._answered(self._codes(_array([value])))
        return self._released(self.answers[int(code[0])])

    def _released(self, value: Any) -> Release:
        return Release(value, self.event, self.guarantee, self)

    def _answered(self, codes: _Codes) -> _Codes:
        return answered(lambda: self._randomized(codes), "response", codes, mechanism=self)

    def _randomized(self, codes: _Codes) -> _Codes:
        """An answer moves with probability (d − 1)(1 − p)/d, to each of the d − 1 others alike. In place."""
        count = len(self.answers)
        moves, others = Bernoulli((count - 1) * self._false), UniformBelow(count - 1)
        for start in range(0, codes.size, _CHUNK):
            part = codes[start : start + _CHUNK]
            moved = np.flatnonzero(moves.sample(part.size))
            by = 1 if count == 2 else 1 + others.sample(moved.size).astype(np.intp)
            part[moved] = (part[moved].astype(np.intp) + by) % count
        return codes

    def _codes(self, values: NDArray[Any]) -> _Codes:
        """The position of each value among the answers, in few bytes; the message shows no value."""
        flat = values.ravel()
        if flat.dtype.kind == "u" and flat.dtype.itemsize < 8:
            flat = flat.astype(np.int64)
        codes = np.empty(flat.size, dtype=np.min_scalar_type(len(self.answers)))
        for start in range(0, flat.size, _CHUNK):
            codes[start : start + _CHUNK] = self._look_up(flat[start : start + _CHUNK])
        return codes

    def _look_up(self, part: NDArray[Any]) -> NDArray[np.intp]:
        if self._table is None or self._table[0].dtype.kind != part.dtype.kind:
            codes = np.array([self._code(x) for x in part.tolist()], dtype=np.intp)
            is_known = bool((codes >= 0).all())
        else:
            known, order = self._table
            places = np.minimum(np.searchsorted(known, part), len(known) - 1)
            codes = order[places]
            is_known = bool((known[places] == part).all())
        if not is_known:
            raise ParameterError(
                f"every answer must be one of the {len(self.answers)} declared ones. Declare it or drop it first."
            )
        return codes

    def _code(self, value: Any) -> int:
        try:
            return self._code_of.get(value, -1)
        except TypeError:  # not hashable, so not declared
            return -1

    def _decoded(self, codes: _Codes) -> NDArray[Any]:
        if self._table is not None:
            known = np.asarray(self.answers)
        else:
            known = np.fromiter(self.answers, dtype=object, count=len(self.answers))
        out = np.empty(codes.size, dtype=known.dtype)
        for start in range(0, codes.size, _CHUNK):
            known.take(codes[start : start + _CHUNK], out=out[start : start + _CHUNK], mode="clip")
        return out

    @once
    def _code_of(self) -> dict[Hashable, int]:
        return {answer: code for code, answer in enumerate(self.answers)}

    @once
    def _table(self) -> tuple[NDArray[Any], NDArray[np.intp]] | None:
        """The answers in order and their positions, where NumPy can hold them: all bool, all int, or all text."""
        kinds = {type(answer) for answer in self.answers}
        if kinds not in ({bool}, {int}, {str}):
            return None
        known = np.asarray(self.answers)
        if known.dtype.kind not in "biU":
            return None
        order = np.argsort(known)
        return known[order], order

    # --------------------------------------------------------------- estimate

    def estimate(self, answers: Any) -> Frequencies:
        """Estimate the frequencies of the true answers from the randomized ones, without bias.

        Parameters
        ----------
        answers : list, array or series
            The released answers.

        Returns
        -------
        Frequencies
            The estimates and their variances, in the order of the declared answers.

        Notes
        -----
        An answer shows with frequency (1 − p)/d + p·f where f is its true one, so f̂ = (shown − (1 − p)/d)/p. Its
        variance over the randomization is (f·t(1 − t) + (1 − f)·r(1 − r))/(np²), with r = (1 − p)/d and t = p + r.
        """
        shown, count = self._shown(answers)
        keep, false = float(self.keep), float(self._false)
        true = float(self.keep + self._false)
        estimate = (shown / count - false) / keep
        variance = (estimate * true * (1 - true) + (1 - estimate) * false * (1 - false)) / (count * keep**2)
        return Frequencies(estimate, variance, count)

    def _shown(self, answers: Any) -> tuple[NDArray[np.intp], int]:
        values = _array(answers if _is_many(answers) else [answers])
        if not values.size:
            raise ParameterError("there must be at least one answer to estimate from, got none.")
        return np.bincount(self._codes(values), minlength=len(self.answers)), values.size

    def _interval(self, value: Any, level: Any) -> Interval:
        """Bounds on the frequency of each true answer among those given.

        n·shown is a sum of n independent coins of mean m, and P[shown ≥ s] ≤ e^{−n·KL(s‖m)} for s ≥ m, likewise below
        (Hoeffding 1963, Theorem 1): all m with n·KL(shown‖m) ≤ ln(2/(1 − level)) are kept, for every n.
        """
        shown, count = self._shown(value)
        ends = [_means(Fraction(int(k), count), count, Fraction(1 - level)) for k in shown]
        lows, highs = (
            [min(max(0, (end - self._false) / self.keep), 1) for end in side] for side in zip(*ends, strict=True)
        )
        # Adding 0 makes 0 of −0.
        return np.array([exactly_below(x) for x in lows]) + 0.0, np.array([exactly_above(x) for x in highs]) + 0.0

    @property
    def expected_error(self) -> float:
        """The probability that one answer is not the true one: (d − 1)(1 − p)/d."""
        return exactly_above((len(self.answers) - 1) * self._false)

    def _error(self, beta: Fraction) -> float:
        """For one answer, of which the error is 0 if it is true and 1 if it is not."""
        return float((len(self.answers) - 1) * self._false > beta)


def _is_many(value: Any) -> bool:
    """Whether these are several answers: a list, an array, or a series of pandas, Polars or Arrow. A tuple is one."""
    return isinstance(value, list) or (hasattr(value, "__array__") and not isinstance(value, np.generic))


def _array(values: Any) -> NDArray[Any]:
    """An array; a list becomes one of objects, as NumPy would make text of the number in ["a", 1]."""
    if isinstance(values, list):
        return np.fromiter(values, dtype=object, count=len(values))
    return np.asarray(values)


def _keep(count: int, epsilon: Number) -> Fraction:
    """The largest p of 62 binary digits with ln(1 + dp/(1 − p)) ≤ ε."""
    budget = rational(epsilon, "epsilon")
    check.positive(epsilon=budget)
    budget = min(
        budget, Fraction(exactly_below(budget))
    )  # so that the cost, rounded up to a float, is no larger either
    bits = 2 * _KEEP_BITS + abs(math.frexp(float(budget))[1]) + count.bit_length()
    with precision(2 * bits):
        odds = ball(min(budget, Fraction(bits))).expm1()
        share = odds / (odds + count)
        digits = _KEEP_BITS + max(0, 1 - math.frexp(float(share))[1])
        scaled = (share * Ball(2) ** digits).lower().floor().unique_fmpz()
    assert scaled is not None
    return min(Fraction(int(scaled), 1 << digits), 1 - Fraction(1, 1 << _KEEP_BITS))


def _means(shown: Fraction, count: int, beta: Fraction) -> tuple[Fraction, Fraction]:
    """The least and the largest m with count·KL(shown‖m) ≤ ln(2/beta), rounded outwards."""

    def is_too_far(m: Fraction) -> bool:
        return at_most(lambda: (ball(2 / beta)).log() - count * _divergence(shown, m), Fraction(0))

    def end(outermost: Fraction) -> Fraction:
        return outermost if shown == outermost else farthest(is_too_far, outermost, shown, _BISECTIONS)

    return end(Fraction(0)), end(Fraction(1))


def _divergence(s: Fraction, m: Fraction) -> Ball:
    """KL(s‖m) = s ln(s/m) + (1 − s) ln((1 − s)/(1 − m))."""
    parts = [ball(x) * ball(x / y).log() for x, y in ((s, m), (1 - s, 1 - m)) if x]
    return sum(parts, Ball(0))
