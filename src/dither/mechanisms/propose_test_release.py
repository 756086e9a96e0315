"""Propose-test-release: noise for a proposed local sensitivity, if the data is far from any that exceeds it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NoReturn

from dither.adjacency import Adjacency, checked
from dither.errors import ParameterError
from dither.events import GaussianNoise, LaplaceNoise, TestAndRelease
from dither.exact import Number, ball, check, in_words, once, rational, set_fields
from dither.exact.certified import below, exactly_above
from dither.guarantees import ApproxDP
from dither.mechanisms.additive import Noising, described, failure
from dither.mechanisms.gaussian import Gaussian
from dither.mechanisms.laplace import Laplace
from dither.mechanisms.mechanism import Mechanism
from dither.mechanisms.no_answer import NoAnswer
from dither.mechanisms.released import Interval, Release
from dither.mechanisms.tested_calibration import (
    Split,
    gaussian_textbook,
    gaussian_tight,
    given,
    keeps,
    laplace_textbook,
    laplace_tight,
)
from dither.noise.tape import answered
from dither.pairs import ProfileOf
from dither.pairs.discrete_noise import DiscreteGaussianPair, DiscreteLaplacePair
from dither.pairs.gaussian import GaussianPair
from dither.pairs.laplace import LaplacePair
from dither.pairs.tested import TestedPair
from dither.sensitivity import Statistic, distance_to_sensitivity
from dither.sensitivity.statistic import check_one_number, value_of

__all__ = ["ProposeTestRelease"]

_RULES: dict[tuple[str, str], Callable[[Fraction, Fraction], Split]] = {
    ("laplace", "tight"): laplace_tight,
    ("laplace", "textbook"): laplace_textbook,
    ("gaussian", "tight"): gaussian_tight,
    ("gaussian", "textbook"): gaussian_textbook,
}


@dataclass(frozen=True, init=False, repr=False)
class ProposeTestRelease(Mechanism):
    """Propose-test-release: noise for a proposed local sensitivity, if a private test allows it.

    You propose that one neighbour moves the statistic by at most `limit` near this dataset. If the data is far from any
    dataset that violates it, the statistic is released with noise for `limit`; otherwise the value is `NoAnswer`.

    Parameters
    ----------
    statistic : Statistic
        What to release, with its sensitivities: such as `dp.sensitivity.Median(bounds=(0, 1000))`. It also states the
        adjacency.
    limit : Number
        η > 0, the proposed local sensitivity, in the unit of the statistic.
    epsilon : Number
        The privacy budget ε > 0 of test and answer together.
    delta : Number
        The budget δ, strictly between 0 and 1/2, such as 1e-6.
    noise : {"laplace", "gaussian"}, default "laplace"
        The noise on the distance and on the answer.
    threshold : {"tight", "textbook"}, default "tight"
        How the threshold T of the test and the split of the budget are chosen; see Notes.
    a, b : Number, optional
        The lecture's own parameters a_δ > 0 and b_δ, given together in place of a `threshold`; checked, see Notes.
    n : int, optional
        The number of people, if it is public: then δ ≥ 1/n is refused, as that would allow publishing a random record
        (claim C26).
    allow_large_delta : bool, default False
        Allow δ ≥ 1/n all the same.

    Raises
    ------
    ParameterError
        If the statistic does not know its sensitivities, a number is out of range, or `a` and `b` cost more than
        (ε, δ).

    Notes
    -----
    f = `statistic`. Let d(D) be the distance from D to the nearest dataset whose local sensitivity exceeds η: it moves
    by at most 1 between neighbours. With noise X₁ on the integers and X₂ on a public grid,

        d(D) + X₁ > T  →  f(D) + X₂,      otherwise  →  NoAnswer.

    The whole costs (ε, δ) = (`epsilon`, `delta`), whatever comes out (claim C20; Dwork and Lei 2009).

    * "laplace" noise: X₁ of scale 1/ε₁, X₂ of scale η/ε₂; ε₁ + ε₂ = ε.
    * "gaussian" noise: X₁ of standard deviation σ₁, X₂ of ησ₂.
    * "tight" threshold: an answer is unsafe only where d = 0 before and after, so T is the smallest with
      P[X₁ > T] ≤ δ, and test and answer are accounted for jointly (propose_test_release.md). The split makes
      (distance that passes) × (noise) smallest; for Laplace noise that is ε₁ ≈ ε₂.
    * "textbook" threshold: ε₁ = ε₂ = ε/2 and T = 1 + ln(2/δ)/ε₁; for Gaussian noise, with ε below 2 and
      2e^{ε₁}δ₁ + δ₁² = δ, σ₁ = σ₂ = √(2 ln(1.25/δ₁))/ε₁ and T = 1 + 2 ln(1.25/δ₁)/ε₁.
    * `a` and `b`: with ε′ = ε/2, X₁ is Z times a/ε′, X₂ is Z times ηa/ε′, for Z ~ Lap(1) or N(0, 1), and
      T = 1 + b/ε′. The joint profile is computed, and (ε, δ) refused unless it is certain.

    Measuring d by datasets whose *value* differs by more than η, as it is sometimes printed, is not private.

    Examples
    --------
    >>> import dither as dp
    >>> m = dp.ProposeTestRelease(dp.sensitivity.Median(bounds=(0, 1000)), limit=2, epsilon=1, delta=1e-6)
    >>> m.guarantee
    ApproxDP(epsilon=1, delta=1e-06, adjacency='replace one record')
    >>> m.needed_distance(0.05), m.error(0.05)
    (32, 11.84186...)
    >>> value = m.release([500.0] * 1000).value
    >>> isinstance(value, dp.NoAnswer)
    False
    """

    statistic: Statistic
    limit: Fraction
    epsilon: Fraction
    delta: Fraction
    noise: str
    threshold: str
    a: Fraction | None
    b: Fraction | None
    adjacency: Adjacency | None

    def __init__(
        self,
        statistic: Statistic,
        *,
        limit: Number,
        epsilon: Number,
        delta: Number,
        noise: str = "laplace",
        threshold: str = "tight",
        a: Number | None = None,
        b: Number | None = None,
        n: int | None = None,
        allow_large_delta: bool = False,
    ) -> None:
        if not isinstance(statistic, Statistic):
            raise ParameterError(
                "statistic must say its value, its adjacency and its sensitivity within a distance, as Median does; "
                f"got the type {type(statistic).__name__}."
            )
        check_one_number(statistic)
        exact = {name: rational(x, name) for name, x in (("limit", limit), ("epsilon", epsilon))}
        check.positive(**exact)
        miss = failure(delta, n, allow_large_delta)
        if miss is None or not miss < Fraction(1, 2):
            raise ParameterError(f"delta must lie strictly between 0 and 1/2, got delta={delta}.")
        if (noise, threshold) not in _RULES:
            raise ParameterError(
                "noise must be laplace or gaussian, and threshold tight or textbook; "
                f"got noise={noise!r} and threshold={threshold!r}."
            )
        values = {**exact, "statistic": statistic, "delta": miss, "noise": noise, "threshold": threshold}
        set_fields(self, **values, **_box(threshold, a, b), adjacency=checked(statistic.adjacency))
        if not keeps(self._pair, self.epsilon, self.delta):
            self._refuse()

    def _refuse(self) -> NoReturn:
        if self.a is not None:
            least = below(lambda: self._pair.profile(ball(self.epsilon)))
            raise ParameterError(
                f"a={in_words(self.a)} and b={in_words(self.b or Fraction(0))} cost delta={least:.4g} at epsilon="
                f"{in_words(self.epsilon)}, more than delta={in_words(self.delta)}. Give a larger a or b, or leave "
                "both out."
            )
        raise ParameterError(
            f"the {self.threshold} threshold misses (epsilon, delta) on a lattice at epsilon={self.epsilon}, "
            f'delta={self.delta}. Use threshold="tight", or another budget.'
        )

    def __repr__(self) -> str:
        shown = described(
            self,
            limit=self.limit,
            epsilon=self.epsilon,
            delta=self.delta,
            noise=self.noise if self.noise != "laplace" else None,
            threshold=self.threshold if self.threshold != "tight" else None,
            a=self.a,
            b=self.b,
        )
        return shown.replace("(", f"({self.statistic!r}, ", 1)

    # ------------------------------------------------------------------- cost

    @once
    def split(self) -> Split:
        """The threshold T and the two noises: ε₁ and ε₂, or σ₁² and 1/σ₂²."""
        if self.a is not None and self.b is not None:
            return given(self.noise, self.epsilon, self.a, self.b)
        return _RULES[self.noise, self.threshold](self.epsilon, self.delta)

    @once
    def _test(self) -> Noising:
        """The noise on the distance."""
        share = self.split.test
        if self.noise == "laplace":
            mechanism: Laplace | Gaussian = Laplace(sensitivity=1, epsilon=share, adjacency=self.adjacency)
        else:
            mechanism = Gaussian(sensitivity=1, rho=1 / (2 * share), adjacency=self.adjacency)
        noising = mechanism.for_integers
        assert noising is not None, "a distance moves by 1"
        return noising

    @once
    def _answer(self) -> Laplace | Gaussian:
        """The answer, as if nothing had been tested."""
        share = self.split.answer
        if self.noise == "laplace":
            return Laplace(sensitivity=self.limit, epsilon=share, adjacency=self.adjacency)
        return Gaussian(sensitivity=self.limit, rho=share / 2, adjacency=self.adjacency)

    @once
    def event(self) -> TestAndRelease:
        """The noise on the distance, the threshold, and the noise on the answer."""
        return TestAndRelease(self._test.event, Fraction(self.split.threshold), self._answer.event_for(0.0))

    @once
    def _pair(self) -> TestedPair:
        """Test and answer together, as the event states them."""
        test, answer = self.event.test, self.event.answer
        if isinstance(test, LaplaceNoise) and isinstance(answer, LaplaceNoise):
            return TestedPair(
                DiscreteLaplacePair(test.scale), self.split.threshold, LaplacePair(answer.sensitivity / answer.scale)
            )
        assert isinstance(test, GaussianNoise)
        assert isinstance(answer, GaussianNoise)
        pair = GaussianPair(answer.sensitivity_squared / answer.variance)
        return TestedPair(DiscreteGaussianPair(test.variance), self.split.threshold, pair)

    @property
    def guarantee(self) -> ApproxDP:
        """(ε, δ)-DP, whether there is an answer or not; a release carries the whole profile."""
        return ApproxDP(self.epsilon, self.delta, adjacency=self.adjacency)

    # ---------------------------------------------------------------- release

    def release(self, value: Any) -> Release:
        """Test the data and release the noisy statistic, or `NoAnswer`.

        The statistic itself is computed only if the test passes: where it has no value, as without any records,
        neighbours are at distance 0 as well.

        Parameters
        ----------
        value : Any
            The data, in the form that the statistic takes: for most a sequence or array of numbers. Data that it does
            not take is refused before anything is drawn.

        Returns
        -------
        Release
            `.value` is a float, or a `NoAnswer` if the test did not pass. Both cost the same.
        """
        distance = distance_to_sensitivity(self.statistic, value, self.limit)
        passes = answered(lambda: self._passes(distance), "test", distance, mechanism=self)
        shown = self._noisy(value, distance) if passes else self.no_answer
        return Release(shown, self.event, ProfileOf(self._pair, adjacency=self.adjacency), self)

    def _noisy(self, data: Any, distance: float) -> float:
        """The sensitivities are those of the exact value: a mean that was rounded to a double may move by much more."""
        answer = value_of(self.statistic, data)
        reals = self._answer.for_reals
        noisy: float = answered(lambda: reals.add(answer), "tested", (distance, answer), mechanism=self)
        return noisy

    def _passes(self, distance: float) -> bool:
        # No dataset at all exceeds the limit: then none does for any neighbour either.
        return math.isinf(distance) or int(distance) + self._test.law.sample() > self.split.threshold

    @property
    def no_answer(self) -> NoAnswer:
        """The value of a release whose test does not pass."""
        return NoAnswer(
            f"no answer: it did not look safe that one record moves the answer by no more than {in_words(self.limit)}, "
            f"whichever {self.split.threshold} records are changed first. Propose a larger limit, spend a larger "
            "epsilon, or use more data."
        )

    # ------------------------------------------------------------------ error

    def answer_probability(self, distance: int) -> float:
        """Compute the probability of an answer for data at a given distance, rounded down.

        Parameters
        ----------
        distance : int
            How many records must change until the local sensitivity can exceed the limit.

        Returns
        -------
        float
            The probability that the test passes.
        """
        check.count(0, distance=distance)
        return below(lambda: self._pair.passes(int(distance)))

    def needed_distance(self, beta: Number = 0.05) -> int:
        """Find the smallest distance at which there is an answer with probability 1 − `beta` or more.

        Parameters
        ----------
        beta : Number, default 0.05
            The probability of `NoAnswer` that is acceptable, strictly between 0 and 1.

        Returns
        -------
        int
            The distance, in records.
        """
        exact = rational(beta, "beta")
        check.between(0, 1, beta=exact)
        return max(self.split.threshold + 1 + self._test.law.quantile(1 - exact), 0)

    @property
    def expected_error(self) -> float:
        """The mean absolute error of the answer, if there is one; rounded up."""
        return self._answer.expected_error_of(self._answer.for_reals)

    def _error(self, beta: Fraction) -> float:
        """For the answer, if there is one: its noise does not depend on the test."""
        return exactly_above(self._answer.for_reals.reach(beta))

    def _interval(self, value: Any, level: Fraction) -> Interval:
        """Around an answer, as for the noise alone; everything, where there is none."""
        if isinstance(value, NoAnswer):
            return -math.inf, math.inf
        return self._answer._interval(value, level)


def _box(threshold: str, a: Number | None, b: Number | None) -> dict[str, Fraction | None]:
    """a_δ and b_δ as exact numbers, if they are given."""
    if a is None and b is None:
        return {"a": None, "b": None}
    if a is None or b is None or threshold != "tight":
        raise ParameterError("a and b take the place of a threshold. Give both of them and no threshold.")
    exact = {"a": rational(a, "a"), "b": rational(b, "b")}
    check.positive(a=exact["a"])
    return {**exact}
