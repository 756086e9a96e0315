"""Gaussian noise: approximate differential privacy for values of bounded ℓ₂ sensitivity."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

from dither.adjacency import Adjacency, checked
from dither.errors import ParameterError
from dither.events import Either, Event, GaussianNoise, Stated
from dither.exact import Ball, Number, ball, check, in_words, once, rational, set_fields, shared
from dither.exact.certified import above, sqrt
from dither.guarantees import ZCDP, ApproxDP, GaussianDP, Guarantee
from dither.mechanisms.additive import Additive, Noising, described, exactly_one, failure
from dither.mechanisms.gaussian_calibration import (
    TEXTBOOK,
    Line,
    largest_mu_squared,
    line_variance,
    rounded_up,
    textbook_variance,
)
from dither.mechanisms.lattice_gaussian import dominating_mu_squared, smallest_variance
from dither.noise import Grid
from dither.noise.discrete_gaussian import DiscreteGaussian
from dither.pairs import ProfileOf
from dither.pairs.choice import ChoicePair
from dither.pairs.gaussian import GaussianPair
from dither.pairs.moments import ConcentratedPair
from dither.pairs.pair import Pair

__all__ = ["Gaussian"]

_LARGEST_LINE = 10**24  # discrete_pairs: above, on the line too, the theorem of lattice_gaussian.md is exact to 1e-23
_LARGEST_MU_SQUARED = 10**14
_LARGEST_COMPOSED = 50**2  # discrete_pairs: of D²/V, above which floats cannot hold the tails on the integers
_SMALLEST_DELTA = Fraction(1, 10**12)
_SUMMED = 10**4


@dataclass(frozen=True, init=False, repr=False)
class Gaussian(Additive):
    """Gaussian mechanism: value + noise, P[noise = x] ∝ e^{−x²/2σ²}, independent for each coordinate.

    Give the sensitivity in one way, `sensitivity` or `sensitivity_squared`, and the noise in one way: `epsilon` with
    `delta`, or `rho`, or `sigma`. Integers get noise on ℤ; real numbers get noise on a public grid of 2^40 steps to σ.

    Parameters
    ----------
    sensitivity : Number, optional
        Δ₂, how far one neighbour can move the value in ℓ₂ (Euclidean length), in the unit of the value.
    sensitivity_squared : Number, optional
        Δ₂², instead of `sensitivity`, where Δ₂ is not rational: 3 for three counts that move by one each.
    epsilon : Number, optional
        The privacy budget ε > 0, together with `delta`: σ is the smallest that is (ε, δ)-DP.
    delta : Number, optional
        The budget δ, strictly between 0 and 1 and far below 1/(number of people), such as 1e-6; only with `epsilon`.
    rho : Number, optional
        The budget ρ > 0 of zero-concentrated DP: σ² = Δ₂²/(2ρ).
    sigma : Number, optional
        The standard deviation σ of the noise, in the unit of the value.
    calibration : {"exact", "tail-bound", "dwork-roth", "zcdp"}, default "exact"
        How σ follows from `epsilon` and `delta`. "exact" inverts the exact profile. The others are textbook formulas,
        which need more noise: "tail-bound" is σ² = 2Δ² ln(2/δ)/ε² (Brown, lecture 3; claim C5), "dwork-roth" is
        σ² = c²Δ²/ε² with c² > 2 ln(1.25/δ) (Lalanne, lecture 2; claim C6), "zcdp" goes by the conversion of zCDP
        (lecture on the Gaussian noise mechanism; claim C7).
    dimension : int, default 1
        The number of coordinates that one neighbour can move: all of a real array; for integer arrays at most ⌊Δ₂²⌋.
    adjacency : Adjacency, optional
        Which datasets are neighbours, such as `dp.adjacency.ADD_REMOVE`; recorded in the guarantee and the event. By
        default unstated: the sensitivity alone defines them.
    n : int, optional
        The number of people, if it is public: then δ ≥ 1/n is refused, as that would allow publishing a random record
        (claim C26).
    allow_large_delta : bool, default False
        Allow δ ≥ 1/n all the same.

    Attributes
    ----------
    variance : Fraction
        σ² of continuous noise, as calibrated or given. What is drawn on a lattice may be a little wider.

    Raises
    ------
    ParameterError
        If the sensitivity or the noise is given in no way or in two, `delta` is missing or too large, or a number is
        not positive.

    Notes
    -----
    With μ = Δ₂/σ, the profile is δ(ε) = Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ) (Balle and Wang 2018). From `epsilon` and
    `delta` σ is never too small and within 1e-9 of the smallest; on the integers it follows from the exact lattice
    profile. From `rho` it is exactly ρ-zCDP, on the grid with the rounding of d = `dimension` coordinates in Δ₂. (Claim
    C7 calls ρ what is 2ρ here: its variance is Δ²/ρ.) No σ gives pure DP: δ(ε) > 0 for every ε (claim C8). Lattice
    noise is compared with continuous noise in lattice_gaussian.md.

    Examples
    --------
    >>> import dither as dp
    >>> m = dp.Gaussian(sensitivity=1, epsilon=1, delta="1e-6")
    >>> m.sigma, m.guarantee
    (4.22467888..., ApproxDP(epsilon=1, delta=1e-06))
    >>> counts = dp.Gaussian(sensitivity_squared=3, rho=0.1, dimension=3)
    >>> counts.release([120, 45, 7]).value.shape
    (3,)
    """

    sensitivity_squared: Fraction
    epsilon: Fraction | None
    delta: Fraction | None
    rho: Fraction | None
    variance: Fraction
    calibration: str
    dimension: int
    adjacency: Adjacency | None

    def __init__(
        self,
        *,
        sensitivity: Number | None = None,
        sensitivity_squared: Number | None = None,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        sigma: Number | None = None,
        calibration: str = "exact",
        dimension: int = 1,
        adjacency: Adjacency | None = None,
        n: int | None = None,
        allow_large_delta: bool = False,
    ) -> None:
        square = _square("the sensitivity", sensitivity=sensitivity, sensitivity_squared=sensitivity_squared)
        check.count(dimension=dimension)
        way = exactly_one("the noise", epsilon=epsilon, rho=rho, sigma=sigma)
        exact = rational({"epsilon": epsilon, "rho": rho, "sigma": sigma}[way], way)
        check.positive(**{way: exact})
        _check_way(way, delta, calibration)
        set_fields(
            self,
            sensitivity_squared=square,
            epsilon=exact if way == "epsilon" else None,
            delta=failure(delta, n, allow_large_delta),
            rho=exact if way == "rho" else None,
            calibration=calibration,
            dimension=int(dimension),
            adjacency=checked(adjacency),
        )
        set_fields(self, variance=self._nominal(way, exact))
        if self.sensitivity_squared > _LARGEST_MU_SQUARED * self.variance:
            raise ParameterError(
                "the noise must be at least a part in 10^7 of the sensitivity: less hides nothing. Give a larger "
                "sigma, or a smaller rho or epsilon."
            )
        self._check_lattices()

    def _nominal(self, way: str, amount: Fraction) -> Fraction:
        """σ² of continuous noise."""
        if way == "sigma":
            return amount**2
        if way == "rho":
            return self.sensitivity_squared / (2 * amount)
        assert self.delta is not None
        if self.calibration == "exact":
            return rounded_up(self.sensitivity_squared / largest_mu_squared(amount, self.delta))
        return textbook_variance(self.calibration, self.sensitivity_squared, amount, self.delta)

    def _check_lattices(self) -> None:
        """Refuse noise that no lattice can hold, and formulas of the lectures whose promise a lattice does not keep.

        These are for continuous noise: that ours keeps the promise too is computed. What else a lattice needs is found
        when it is used.
        """
        self._grid  # noqa: B018  (2^40 to 2^41 of its steps are σ: a law that there is)
        if self.calibration not in TEXTBOOK:
            return
        for noising in self._noisings:
            if not noising.guarantee.implies(self.guarantee):
                raise ParameterError(
                    f"on a lattice the formula {self.calibration} misses {self.guarantee} at sigma={self.sigma}: "
                    'the noise is too narrow for its steps. Use calibration="exact".'
                )

    def __repr__(self) -> str:
        bare = self.epsilon is None and self.rho is None
        return described(
            self,
            sensitivity_squared=self.sensitivity_squared,
            epsilon=self.epsilon,
            delta=self.delta,
            rho=self.rho,
            sigma=_root_above(self.variance) if bare else None,
            calibration=self.calibration if self.calibration != "exact" else None,
            dimension=self.dimension if self.dimension > 1 else None,
        )

    @property
    def sigma(self) -> float:
        """The standard deviation σ of continuous noise; what is drawn on a lattice may be a little wider.

        The float whose shortest decimal is σ, or else σ rounded up.
        """
        rounded = above(lambda: sqrt(self.variance))
        below = math.nextafter(rounded, 0)
        return below if Fraction(repr(below)) ** 2 == self.variance else rounded

    @once
    def guarantee(self) -> Guarantee:
        """The guarantee in the terms in which the noise was given, for integers and real numbers alike.

        (ε, δ)-DP from `epsilon` and `delta`, zCDP from `rho`, the whole profile from `sigma`. A release carries its
        exact cost.
        """
        if self.epsilon is not None and self.delta is not None:
            return ApproxDP(self.epsilon, self.delta, adjacency=self.adjacency, done=self)
        if self.rho is not None:
            return ZCDP(self.rho, adjacency=self.adjacency)
        if self.for_integers is None:
            return self.for_reals.guarantee
        return ProfileOf(
            ChoicePair(*(_pair(noising.guarantee) for noising in self._noisings)), adjacency=self.adjacency
        )

    @once
    def event(self) -> Event:
        """Gaussian noise on the integers or on the grid; the type of the released value decides which.

        Where integers may move in several coordinates at once, their exact pair is not known: then it is continuous
        noise that dominates both; and where the integers are too coarse for that, or that would be weaker, their zCDP.
        `event_for(value)` states one of the two.
        """
        integers = self._on_integers
        if self.for_integers is not None and integers is not None and integers.is_composed_exactly:
            return Either(self.for_integers.event, self.for_reals.event)
        squares = [noising.mu_squared for noising in self._parts]
        if None in squares:
            return Stated("ZCDP", (self._largest_rho,), self.adjacency)
        return self._continuous(max(square for square in squares if square is not None))

    def _continuous(self, mu_squared: Fraction) -> GaussianNoise:
        variance = self.sensitivity_squared / mu_squared
        shorter = Fraction(10**15 - 1, 10**15) * variance  # never above, so that rounding cannot overstate the noise
        return GaussianNoise(
            variance=min(rounded_up(shorter), variance),
            sensitivity_squared=self.sensitivity_squared,
            adjacency=self.adjacency,
        )

    @property
    def _largest_rho(self) -> Fraction:
        """D²/(2V) on the lattice where it is largest (Canonne, Kamath and Steinke 2020, Theorem 14)."""
        return max(part.rho for part in self._parts)

    # ------------------------------------------------------------- two lattices

    @once
    def _parts(self) -> tuple[_LatticeGaussian, ...]:
        return (self._on_grid,) if self._on_integers is None else (self._on_integers, self._on_grid)

    @once
    def for_integers(self) -> Noising | None:
        """The noise that integers get, with its event and guarantee; None if integers are refused."""
        if self._on_integers is None:
            return None
        part = self._on_integers
        event = GaussianNoise(
            variance=part.variance,
            sensitivity_squared=part.distance_squared,
            step=Fraction(1),
            dimension=part.coordinates,
            adjacency=self.adjacency,
        )
        return Noising(DiscreteGaussian(part.variance), None, event, part.guarantee(self.adjacency))

    @once
    def for_reals(self) -> Noising:
        """The noise that real numbers get, on a grid, with its event and guarantee."""
        part = self._on_grid
        assert part.mu_squared is not None
        event = self._continuous(part.mu_squared)
        return Noising(DiscreteGaussian(part.variance), self._grid, event, part.guarantee(self.adjacency))

    @shared
    def _on_integers(self) -> _LatticeGaussian | None:
        """Noise on ℤ. Integers move by ⌊Δ₂²⌋ at most, in squared length; on the line the exact pair is known."""
        square = math.floor(self.sensitivity_squared)
        if not square:
            return None
        coordinates = min(self.dimension, square)
        if coordinates == 1:
            square = math.isqrt(square) ** 2
        if self._is_exact and coordinates == 1 and self.variance <= _LARGEST_LINE:
            return _LatticeGaussian(line_variance(*self._budget, math.isqrt(square)), Fraction(square), 1)
        if self._is_exact:
            return _made_for(largest_mu_squared(*self._budget), Fraction(square), coordinates)
        return _LatticeGaussian(self.variance, Fraction(square), coordinates)

    @once
    def _grid(self) -> Grid:
        return Grid.for_variance(self.variance)

    @shared
    def _on_grid(self) -> _LatticeGaussian:
        """Noise on the grid of real numbers, with the rounding of each coordinate in its sensitivity."""
        grid = self._grid
        steps = grid.l2_steps(_root_above(self.sensitivity_squared), self.dimension)
        square = Fraction(math.ceil(steps**2))
        if self._is_exact:
            return _made_for(largest_mu_squared(*self._budget), square, self.dimension, on_grid=True)
        if self.rho is not None:  # μ-GDP is ρ-zCDP for ρ = μ²/2
            return _made_for(2 * self.rho, square, self.dimension, on_grid=True)
        return _LatticeGaussian(self.variance / grid.step**2, square, self.dimension, on_grid=True)

    @property
    def _is_exact(self) -> bool:
        return self.epsilon is not None and self.calibration == "exact"

    @property
    def _budget(self) -> tuple[Fraction, Fraction]:
        assert self.epsilon is not None
        assert self.delta is not None
        return self.epsilon, self.delta

    def _check_integers(self, size: int) -> None:
        moving = min(size, math.floor(self.sensitivity_squared))
        if moving > self.dimension:
            raise ParameterError(
                f"an integer vector of squared sensitivity {in_words(self.sensitivity_squared)} may move in {moving} "
                f"coordinates at once, more than dimension={self.dimension}. Give dimension={moving} or more."
            )

    def _mean_magnitude(self, law: Any) -> Ball:
        return _mean_magnitude(law)


@dataclass(frozen=True)
class _LatticeGaussian:
    """Noise of V = `variance` on a value that moves by D² = `distance_squared`, in squared steps."""

    variance: Fraction
    distance_squared: Fraction
    coordinates: int
    """How many coordinates may move at once."""
    on_grid: bool = False
    proved: Fraction | None = None
    """A μ² for which the noise was made, so that domination is proved already."""

    @property
    def rho(self) -> Fraction:
        return self.distance_squared / (2 * self.variance)

    @once
    def mu_squared(self) -> Fraction | None:
        """The continuous noise that dominates it (lattice_gaussian.md); None if it is too coarse for that.

        None also if its zCDP is tighter, down to a δ of 1e-12: both hold, and one is stated.
        """
        if self.proved is not None:
            return self.proved
        found = dominating_mu_squared(self.variance, self.distance_squared, self.coordinates)
        return found if found is None or self.on_grid or _is_tighter(found, self.rho) else None

    @property
    def is_on_the_line(self) -> bool:
        """Whether its exact pair is known: integers, of which one moves at a time."""
        return not self.on_grid and self.coordinates == 1 and self.variance <= _LARGEST_LINE

    @property
    def is_composed_exactly(self) -> bool:
        """Whether accounting composes that pair."""
        return self.is_on_the_line and self.distance_squared <= _LARGEST_COMPOSED * self.variance

    def guarantee(self, adjacency: Adjacency | None) -> Guarantee:
        """The exact profile on the integer line, that of the dominating continuous noise otherwise."""
        if self.is_on_the_line:
            return ProfileOf(Line(self.variance, math.isqrt(int(self.distance_squared))), adjacency=adjacency)
        if (mu_squared := self.mu_squared) is not None:
            return GaussianDP.from_square(mu_squared, adjacency=adjacency)
        return ZCDP(self.rho, adjacency=adjacency)


@lru_cache(maxsize=256)
def _is_tighter(mu_squared: Fraction, rho: Fraction) -> bool:
    """Whether μ-GDP costs no more than ρ-zCDP, μ² ≥ 2ρ, where δ is small; the larger δ, the better μ-GDP compares."""
    return GaussianDP.from_square(mu_squared).epsilon(_SMALLEST_DELTA) <= ZCDP(rho).epsilon(_SMALLEST_DELTA)


def _made_for(mu_squared: Fraction, square: Fraction, coordinates: int, *, on_grid: bool = False) -> _LatticeGaussian:
    """The least noise that continuous noise of this μ² is proved to dominate."""
    variance = rounded_up(smallest_variance(mu_squared, square, coordinates))
    return _LatticeGaussian(variance, square, coordinates, on_grid, mu_squared)


def _pair(guarantee: Guarantee) -> Pair:
    if isinstance(guarantee, ProfileOf):
        return guarantee.pair
    if isinstance(guarantee, GaussianDP):
        return GaussianPair(guarantee.mu_squared)
    assert isinstance(guarantee, ZCDP)
    return ConcentratedPair(guarantee.rho)


def _square(what: str, **ways: Number | None) -> Fraction:
    name = exactly_one(what, **ways)
    exact = rational(ways[name], name)
    check.positive(**{name: exact})
    square = exact if name == "sensitivity_squared" else exact**2
    return rational(square, "sensitivity squared")


def _check_way(way: str, delta: Number | None, calibration: str) -> None:
    """δ and the formulas of the lectures belong to ε and to nothing else."""
    if calibration != "exact" and (calibration not in TEXTBOOK or way != "epsilon"):
        raise ParameterError(
            f"calibration must be exact, or one of {', '.join(TEXTBOOK)} together with epsilon and delta; "
            f"got calibration={calibration!r}."
        )
    if (delta is not None) != (way == "epsilon"):
        raise ParameterError(
            "delta belongs to epsilon: Gaussian noise needs both of them, or rho alone, or sigma alone. "
            "For epsilon without delta use Laplace."
        )


def _root_above(square: Fraction) -> Fraction:
    """√square, rounded up by a part in 10^19 unless it is rational."""
    root = Fraction(math.isqrt(square.numerator), math.isqrt(square.denominator))
    if root**2 == square:
        return root
    shift = max(0, 160 - square.numerator.bit_length() + square.denominator.bit_length()) // 2
    return Fraction(math.isqrt(math.ceil(square * (1 << 2 * shift))) + 1, 1 << shift)


def _mean_magnitude(law: DiscreteGaussian) -> Ball:
    """E|X| = 2 Σ_{x≥1} x e^{−x²/2V} · P[X = 0].

    The sum is added up for V < 10⁴. Above, it is V − 1/12 up to 43/(384V): Euler and Maclaurin, where the fourth
    derivative of x e^{−x²/2V} is He₅(u) e^{−u²/2}/V^{3/2} in u = x/√V, whose integral is at most 43/V.
    """
    variance = law.variance
    if variance >= _SUMMED:
        rest = ball(Fraction(43, 384) / variance)
        total = ball(variance - Fraction(1, 12)) + rest.union(-rest)
    else:
        last = math.isqrt(math.ceil(400 * variance)) + 30
        total = sum((x * law.weight(x) for x in range(1, last)), Ball(0))
        total = total + _tail_of_sum(law, last).union(Ball(0))
    return 2 * total * law.pmf(0)


def _tail_of_sum(law: DiscreteGaussian, first: int) -> Ball:
    """At least Σ_{x≥n} x e^{−x²/2V}, n ≥ √V: the terms fall, so n e^{−n²/2V} + ∫_n^∞ = (n + V) e^{−n²/2V}."""
    return (first + ball(law.variance)) * law.weight(first)
