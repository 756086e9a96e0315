"""Laplace noise: pure differential privacy for values of bounded ℓ₁ sensitivity."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dither.adjacency import Adjacency, checked
from dither.events import Event, LaplaceNoise
from dither.exact import Ball, Number, ball, check, rational, set_fields, shared
from dither.guarantees import PureDP
from dither.mechanisms.additive import Additive, Noising, described, exactly_one
from dither.noise import DiscreteLaplace, Grid

__all__ = ["Laplace"]

_SPARE_BITS = 24  # rounding K to a multiple may add a part in 2^24 of it, no more
_MOST_STEPS = 1024


@dataclass(frozen=True, init=False, repr=False)
class Laplace(Additive):
    """Laplace mechanism: value + noise, P[noise = x] ∝ e^{−|x|/b}, independent for each coordinate.

    Give exactly one of `epsilon` (the noise is calibrated to it) and `scale` (the guarantee follows from it). Integers
    get noise on ℤ; real numbers get noise on a public dyadic grid.

    Parameters
    ----------
    sensitivity : Number
        Δ, how far one neighbour can move the value in ℓ₁, in the unit of the value: 1 for a count of records. For
        arrays, the sum of the changes of all coordinates.
    epsilon : Number, optional
        The privacy budget ε > 0. The scale is then Δ/ε, and the guarantee exactly ε-DP.
    scale : Number, optional
        The noise scale b > 0, in the unit of the value.
    dimension : int, default 1
        The number d of real coordinates that are released together; each is rounded to the grid at a small cost.
        Integer arrays may have any shape.
    adjacency : Adjacency, optional
        Which datasets are neighbours, such as `dp.adjacency.ADD_REMOVE`; recorded in the guarantee and the event. By
        default unstated: `sensitivity` alone defines them.

    Attributes
    ----------
    scale : Fraction
        b = Δ/ε or as given. Calibrated from `epsilon`, noise on the grid is wider by what rounding costs.

    Raises
    ------
    ParameterError
        If none or both of `epsilon` and `scale` are given, or a number is not positive.

    Notes
    -----
    With Δ = `sensitivity` and b = `scale` it is ε-DP for ε = Δ/b, and for no smaller ε (claim C2; Dwork, McSherry,
    Nissim and Smith 2006; Ghosh, Roughgarden and Sundararajan 2009 on ℤ).

    From `epsilon` the guarantee is met exactly: b = ⌊Δ⌋/ε on the integers, which change by whole numbers; on the grid
    of real numbers, in steps, b = K/ε + 1/(4K) with K = ⌈Δ/step⌉ + d − 1. From `scale`, `guarantee`
    is the larger of ⌊Δ⌋/b and K·step/b.

    Examples
    --------
    >>> import dither as dp
    >>> count = dp.Laplace(sensitivity=1, epsilon=0.5)
    >>> count.guarantee, count.error(0.05)
    (PureDP(epsilon=0.5), 6.0)
    >>> release = count.release(1234)
    >>> isinstance(release.value, int)
    True
    """

    sensitivity: Fraction
    epsilon: Fraction | None
    scale: Fraction
    dimension: int
    adjacency: Adjacency | None

    def __init__(
        self,
        *,
        sensitivity: Number,
        epsilon: Number | None = None,
        scale: Number | None = None,
        dimension: int = 1,
        adjacency: Adjacency | None = None,
    ) -> None:
        distance = rational(sensitivity, "sensitivity")
        check.positive(sensitivity=distance)
        check.count(dimension=dimension)
        way = exactly_one("the noise", epsilon=epsilon, scale=scale)
        amount = rational(epsilon if way == "epsilon" else scale, way)
        check.positive(**{way: amount})
        set_fields(
            self,
            sensitivity=distance,
            epsilon=amount if way == "epsilon" else None,
            scale=distance / amount if way == "epsilon" else amount,
            dimension=int(dimension),
            adjacency=checked(adjacency),
        )
        self._noisings  # noqa: B018  (built now, so that a scale that no lattice holds is refused here)

    def __repr__(self) -> str:
        scale = self.scale if self.epsilon is None else None
        dimension = self.dimension if self.dimension > 1 else None
        return described(self, sensitivity=self.sensitivity, epsilon=self.epsilon, scale=scale, dimension=dimension)

    @property
    def guarantee(self) -> PureDP:
        """Pure ε-DP, for integers and real numbers alike."""
        return PureDP(self._loss, adjacency=self.adjacency)

    @shared
    def event(self) -> Event:
        """Laplace noise on the coarsest lattice that is used; its cost covers the finer one too."""
        # With the same ε = Δ/b, the profile of noise on a lattice of m steps to Δ is a chain of chords of the
        # continuous profile, δ(ε′) = 1 − e^{(ε′−ε)/2}, in u = e^{ε′}: the lines of neighbouring tests meet on that
        # curve, at ε′ = ε(1 − 2j/m). It is convex, so chords between fewer of these points lie higher: m steps
        # dominate every multiple of m. (Δ = 1 on ℤ is randomized response, the worst of all.) m = ⌊Δ⌋, or a divisor
        # if that is large.
        if self.for_integers is None:
            return self.for_reals.event
        whole = Fraction(math.floor(self.sensitivity))
        return LaplaceNoise(whole / self._loss, whole, whole / self._common, self.adjacency)

    @shared
    def _common(self) -> int:
        """m: the largest divisor of ⌊Δ⌋ to a multiple of which K can be rounded at negligible cost."""
        whole = max(math.floor(self.sensitivity), 1)
        most = Grid.for_scale(self.scale).l1_steps(self.sensitivity, self.dimension) >> _SPARE_BITS
        return max((m for m in range(1, min(most, whole, _MOST_STEPS) + 1) if not whole % m), default=1)

    @property
    def _loss(self) -> Fraction:
        """ε: the largest privacy loss on any lattice."""
        promises = (noising.guarantee for noising in self._noisings)
        return max(promise.stated_epsilon for promise in promises if isinstance(promise, PureDP))

    @shared
    def for_integers(self) -> Noising | None:
        """The noise that integers get, with its event and guarantee; None if integers are refused."""
        steps = math.floor(self.sensitivity)
        if not steps:
            return None
        scale = self.scale if self.epsilon is None else steps / self.epsilon
        event = LaplaceNoise(scale, Fraction(steps), Fraction(1), self.adjacency)
        return Noising(DiscreteLaplace(scale), None, event, PureDP(steps / scale, adjacency=self.adjacency))

    @shared
    def for_reals(self) -> Noising:
        """The noise that real numbers get, on a grid, with its event and guarantee."""
        # Noise of scale t on the grid, in steps, is dominated by continuous noise, which its event states.
        # The best tests are {x ≤ m}: δ(ε) is the largest of 1 − a^{m+1}/(1+a) − e^ε a^{K−m}/(1+a), a = e^{−1/t}. Over
        # all real m the largest value is 1 − e^{(ε−K/t)/2}/cosh(1/2t), and ln cosh x ≤ x²/2: that is at most
        # 1 − e^{(ε−ε′)/2} with ε′ = K/t + 1/(4t²), the profile of continuous noise. For t = K/ε + 1/(4K), ε′ ≤ ε.
        grid = Grid.for_scale(self.scale)
        steps = -(-grid.l1_steps(self.sensitivity, self.dimension) // self._common) * self._common
        if self.epsilon is None:
            scale = self.scale / grid.step
            loss, continuous = steps / scale, steps / scale + 1 / (4 * scale**2)
        else:
            scale = steps / self.epsilon + Fraction(1, 4 * steps)
            loss = continuous = self.epsilon
        distance = steps * grid.step
        event = LaplaceNoise(distance / continuous, distance, adjacency=self.adjacency)
        return Noising(DiscreteLaplace(scale), grid, event, PureDP(loss, adjacency=self.adjacency))

    def _mean_magnitude(self, law: Any) -> Ball:
        """E|X| = 1/sinh(1/t) for P[X = x] ∝ e^{−|x|/t}."""
        return 1 / ball(1 / law.scale).sinh()
