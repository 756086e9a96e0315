"""Smooth sensitivity: noise as wide as this dataset needs, and not as the worst one would (claim C19)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dither.adjacency import Adjacency, checked
from dither.errors import ParameterError
from dither.events import SmoothNoise
from dither.exact import Ball, Number, ball, check, in_words, once, plain, precision, rational, set_fields
from dither.exact.certified import above, exactly_above, exactly_below
from dither.guarantees import ApproxDP, PureDP
from dither.mechanisms.additive import failure
from dither.mechanisms.mechanism import Mechanism
from dither.mechanisms.released import Interval, Release
from dither.mechanisms.smooth_calibration import FLOOR_STEPS, SMALLEST_EPSILON, Scaling, textbook, tight
from dither.noise import Grid
from dither.noise.law import SymmetricLaw
from dither.noise.tape import answered
from dither.sensitivity import Statistic, smooth_sensitivity
from dither.sensitivity.statistic import check_one_number, value_of

__all__ = ["SmoothSensitivity"]

_NOISES = ("tight", "polynomial", "laplace", "gaussian", "printed")
_WITH_DELTA = ("laplace", "gaussian", "printed")
_FLOOR_BITS = 40  # the smallest S that is used is 2^-41 to 2^-40 of the global sensitivity
_TEXTBOOK_EXPONENT = 4


@dataclass(frozen=True, init=False, repr=False)
class SmoothSensitivity(Mechanism):
    """Smooth sensitivity: noise in proportion to a smooth bound on the sensitivity of the data at hand.

    The answer is f(D) + s · S_β(D) · Z. S_β(D) is at least the local sensitivity of D and changes by a factor of at
    most e^β between neighbours, so that its size reveals little.

    Parameters
    ----------
    statistic : Statistic
        What to release, with its sensitivities: such as `dp.sensitivity.Median(bounds=(0, 100))`. It also states the
        adjacency.
    epsilon : Number
        The privacy budget ε > 0.
    delta : Number, default 0
        The budget δ: required for "laplace", "gaussian" and "printed" noise, optional for "tight", refused for
        "polynomial".
    noise : {"tight", "polynomial", "laplace", "gaussian", "printed"}, default "tight"
        How Z, β and s are chosen; see Notes.
    exponent : Number, optional
        γ, between 1.01 and 100, of polynomial noise; 4 by default.
    beta : Number, optional
        β > 0 of tight noise. A smaller β means lighter tails and a larger S_β. By default it suits data around which
        the sensitivity grows steadily.
    n : int, optional
        The number of people, if it is public: then δ ≥ 1/n is refused, as that would allow publishing a random record
        (claim C26).
    allow_large_delta : bool, default False
        Allow δ ≥ 1/n all the same.

    Raises
    ------
    ParameterError
        If the statistic has no finite global sensitivity, or a parameter does not go with the noise.

    Notes
    -----
    S_β(D) = max_t e^{−βt} A^(t)(D), where A^(t)(D) is the largest local sensitivity within distance t of D (Nissim,
    Raskhodnikova and Smith 2007). β is `smoothness` and s is `scale`. The noise:

    * "tight": whatever has the smallest mean error for (ε, δ), certified over all neighbours. Nearly always the density
      that falls as fast as ε-DP allows (noise/steepest.py), so that no δ is spent.
    * "polynomial": density ∝ 1/(1 + |z|^γ), β = ε/(2(γ+1)), s = 2(γ+1)/ε; ε-DP (claim C19 a).
    * "laplace": Lap(1), β = ε/(2 ln(2/δ)), s = 2/ε; (ε, δ)-DP (claim C19 b), refused for large ε, where it is false.
    * "gaussian": N(0, 1), β = ε/(4(1 + ln(2/δ))), s = 5√(2 ln(2/δ))/ε; (ε, δ)-DP (claim C19 c).
    * "printed": Lap(1) with β and s of (c), as the lecture prints it; certified like the others, and (ε, δ)-DP with far
      less δ than stated. Where (ε, δ) is not certain, it is refused.

    Everything but S_β(D) is known before data is seen, the lattice of the answers too: its step is a power of two,
    2^-84 to 2^-83 of the global sensitivity. Proof: smooth_sensitivity.md.

    Examples
    --------
    >>> import dither as dp
    >>> m = dp.SmoothSensitivity(dp.sensitivity.Median(bounds=(0, 100)), epsilon=1)
    >>> m.guarantee, round(float(m.smoothness), 6)
    (PureDP(epsilon=1, adjacency='replace one record'), 0.333333)
    >>> isinstance(m.release(range(100)).value, float)
    True
    """

    statistic: Statistic
    epsilon: Fraction
    delta: Fraction | None
    noise: str
    exponent: Fraction | None
    beta: Fraction | None
    adjacency: Adjacency | None

    def __init__(
        self,
        statistic: Statistic,
        *,
        epsilon: Number,
        delta: Number = 0,
        noise: str = "tight",
        exponent: Number | None = None,
        beta: Number | None = None,
        n: int | None = None,
        allow_large_delta: bool = False,
    ) -> None:
        if not isinstance(statistic, Statistic):
            raise ParameterError(
                "statistic must know its value and its sensitivities (dither.sensitivity.Statistic), such as "
                f"Median(bounds=(0, 100)); got the type {type(statistic).__name__}."
            )
        check_one_number(statistic)
        if noise not in _NOISES:
            raise ParameterError(f"noise must be one of {', '.join(_NOISES)}; got {noise!r}.")
        set_fields(
            self,
            statistic=statistic,
            epsilon=rational(epsilon, "epsilon"),
            delta=None if _is_zero(delta) else failure(delta, n, allow_large_delta),
            noise=noise,
            exponent=_exponent(noise, exponent),
            beta=None if beta is None else rational(beta, "beta"),
            adjacency=checked(statistic.adjacency),
        )
        check.positive(epsilon=self.epsilon)
        check.at_least(SMALLEST_EPSILON, epsilon=self.epsilon)
        self._check_choices()
        self._grid, self._scaling  # noqa: B018  (found now, so that what cannot be kept is refused here)

    def _check_choices(self) -> None:
        if self.beta is not None:
            check.positive(beta=self.beta)
            if self.noise != "tight":
                raise ParameterError(f'beta is set by the formula for {self.noise} noise. Give it with noise="tight".')
        if self.noise in _WITH_DELTA and self.delta is None:
            raise ParameterError(f'{self.noise} noise needs a delta above 0. Give one, or take noise="tight".')
        if self.noise == "polynomial" and self.delta is not None:
            raise ParameterError(f"polynomial noise is private without delta, got delta={self.delta}. Leave it out.")

    def __repr__(self) -> str:
        shown = {"epsilon": self.epsilon, "delta": self.delta, "exponent": self.exponent, "beta": self.beta}
        words = [f"{name}={in_words(value)}" for name, value in shown.items() if value is not None]
        return f"SmoothSensitivity({self.statistic!r}, {', '.join(words)}, noise={self.noise!r})"

    # -------------------------------------------------------- known without data

    @once
    def _scaling(self) -> Scaling:
        if self.noise == "tight":
            return tight(self.epsilon, self.delta, self.beta)
        return textbook(self.noise, self.epsilon, self.delta, self.exponent)

    @property
    def smoothness(self) -> Fraction:
        """The smoothness β: the mechanism computes the β-smooth sensitivity S_β of the data."""
        return self._scaling.smoothness

    @property
    def scale(self) -> Fraction:
        """The factor s: the noise is s · S_β(D) · Z."""
        return self._scaling.scale

    @property
    def guarantee(self) -> PureDP | ApproxDP:
        """Pure ε-DP where the noise needs no δ, else (ε, δ)-DP."""
        if self._scaling.exponent is not None:
            return PureDP(self.epsilon, adjacency=self.adjacency)
        assert self.delta is not None
        return ApproxDP(self.epsilon, self.delta, adjacency=self.adjacency)

    @once
    def event(self) -> SmoothNoise:
        """The noise, β and s, and what the lattice adds; nothing of the data, not even S_β."""
        return self._scaling.event(self.adjacency)

    @once
    def _grid(self) -> Grid:
        """2^83 to 2^84 steps to the global sensitivity, the only public size there is."""
        widest = self._widest
        exponent = math.frexp(widest)[1] - 1 - _FLOOR_BITS - (FLOOR_STEPS.bit_length() - 1)
        if abs(exponent) > 900:
            raise ParameterError("the global sensitivity must lie between 2^-800 and 2^900. Measure in another unit.")
        return Grid(exponent)

    @property
    def _widest(self) -> float:
        widest: float = plain(self.statistic.global_sensitivity)
        if not 0 < widest < math.inf:
            raise ParameterError(
                "smooth sensitivity needs a statistic of finite, positive global sensitivity: beyond every distance "
                "lies data of which nothing is known. Give public bounds, such as Median(bounds=(0, 100))."
            )
        return widest

    # ------------------------------------------------------------------- release

    def release(self, value: Any) -> Release:
        """Release the statistic of the data with noise.

        Parameters
        ----------
        value : Any
            The data, in the form that the statistic takes: for most a sequence or array of numbers. Bad data is refused
            before anything is drawn.

        Returns
        -------
        Release
            `.value` is a float.
        """
        answer = value_of(self.statistic, value)
        smooth = smooth_sensitivity(self.statistic, value, self.smoothness)
        law = self._law(smooth)
        noisy = answered(lambda: self._grid.add(answer, law), "smooth", (answer, smooth), mechanism=self)
        return Release(noisy, self.event, self.guarantee, self)

    def _law(self, sensitivity: float) -> SymmetricLaw:
        """The noise in steps for S = `sensitivity`, or 2^43 steps if that is more: the maximum is smooth too."""
        if not 0 <= sensitivity <= math.inf:  # NaN fails
            raise ParameterError("the smooth sensitivity of a statistic must be a number of at least 0.")
        steps = Fraction(min(sensitivity, self._widest)) / self._grid.step
        return self._scaling.law(max(steps, Fraction(FLOOR_STEPS)) * self.scale)

    # --------------------------------------------------------------------- errors

    def error(self, beta: Number = 0.05, *, sensitivity: Number | None = None) -> float:
        """Bound the absolute error with probability 1 − `beta` or more.

        S_β of the data at hand is as private as the data: plan with that of data you may show.

        Parameters
        ----------
        beta : Number, default 0.05
            The probability that the bound may be missed, strictly between 0 and 1. (It is not the smoothness β.)
        sensitivity : Number, optional
            The smooth sensitivity of the data to plan for; by default the global sensitivity, as of the worst data.

        Returns
        -------
        float
            The bound, in the unit of the statistic.
        """
        exact = rational(beta, "beta")
        check.between(0, 1, beta=exact)
        return exactly_above(self._reach(exact, sensitivity))

    def _error(self, beta: Fraction) -> float:
        return exactly_above(self._reach(beta, None))

    def _reach(self, miss: Fraction, sensitivity: Number | None) -> Fraction:
        """What |noise| and the rounding of the value exceed with probability `miss` or less."""
        steps = self._law(self._given(sensitivity)).quantile(1 - miss / 2)
        return (steps + Fraction(1, 2)) * self._grid.step

    def _given(self, sensitivity: Number | None) -> float:
        if sensitivity is None:
            return self._widest
        exact = rational(sensitivity, "sensitivity")
        check.nonnegative(sensitivity=exact)
        return exactly_above(exact)

    @property
    def expected_error(self) -> float:
        """The mean absolute error for the worst data, rounded up.

        It is infinite for polynomial noise of exponent 2 or less.
        """
        return self.expected_error_at(self._widest)

    def expected_error_at(self, sensitivity: Number) -> float:
        """Compute the mean absolute error for data of a given smooth sensitivity, rounded up.

        Parameters
        ----------
        sensitivity : Number
            The smooth sensitivity S_β of the data to plan for.

        Returns
        -------
        float
            The mean absolute error, in the unit of the statistic.

        Notes
        -----
        On the lattice E|X| ≤ e^κ (t E|Z| + ½), t being the scale in steps (smooth_sensitivity.md), and rounding adds ½.
        """
        size = max(Fraction(self._given(sensitivity)), FLOOR_STEPS * self._grid.step)
        extra = self.event.lattice_loss or Fraction(0)

        def mean() -> Ball:
            spread = self._scaling.mean_magnitude() * ball(self.scale * size) + ball(self._grid.step / 2)
            return spread * ball(extra).exp() + ball(self._grid.step / 2)

        with precision(128):
            return above(mean) if self._scaling.mean_magnitude().is_finite() else math.inf

    def _interval(self, value: float, level: Fraction) -> Interval:
        """Valid for all data, so as wide as the worst data needs: how wide the noise was stays hidden."""
        reach = self._reach(1 - level, None)
        middle, shown = Fraction(value), Fraction(math.ulp(value)) / 2
        return exactly_below(middle - shown - reach), exactly_above(middle + shown + reach)


def _is_zero(delta: object) -> bool:
    return delta is not None and rational(delta, "delta") == 0


def _exponent(noise: str, exponent: Number | None) -> Fraction | None:
    if noise != "polynomial":
        if exponent is not None:
            raise ParameterError(f"exponent belongs to polynomial noise, got exponent={exponent!r} for {noise} noise.")
        return None
    exact = rational(_TEXTBOOK_EXPONENT if exponent is None else exponent, "exponent")
    check.between(Fraction(101, 100), 100, exponent=exact)
    return exact
