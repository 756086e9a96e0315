"""Events of noise that is added: to a value of known sensitivity, or scaled to its smooth sensitivity."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import TYPE_CHECKING

from dither.adjacency import Adjacency
from dither.errors import ParameterError
from dither.events.event import EventBase, check_count, exact_number, under
from dither.exact import Number, check, in_words, rational, set_fields

__all__ = ["GaussianNoise", "LaplaceNoise", "MixtureOfGaussians", "SmoothNoise", "StaircaseNoise"]

_MOST_MOVES = 100


@dataclass(frozen=True, slots=True)
class LaplaceNoise(EventBase):
    """Laplace noise on a value of bounded ℓ₁ sensitivity: density ∝ e^{−|x|/b}.

    An event records what a mechanism does; it draws nothing. Numbers may be ints, Fractions, Decimals, decimal strings
    or floats, and are kept exactly.

    Parameters
    ----------
    scale : Number
        The noise scale b > 0, in the unit of the value.
    sensitivity : Number, default 1
        Δ > 0, how far one neighbour can move the value in ℓ₁. For a vector with independent noise per coordinate, the
        sum of the changes of all coordinates.
    step : Number, optional
        The step s of the lattice sℤ on which value and noise live, with P[X = x] ∝ e^{−|x|/b} there; 1 for integers.
        `sensitivity` must be a multiple of it. By default the noise is continuous.
    adjacency : Adjacency, optional
        Which datasets are neighbours, such as `dp.adjacency.ADD_REMOVE`. By default unstated: the sensitivity alone
        defines them.

    Raises
    ------
    ParameterError
        If a number is not positive, or `sensitivity` is not a multiple of `step`.

    Notes
    -----
    The release is ε-DP for ε = Δ/b (claim C2; Dwork, McSherry, Nissim and Smith 2006).

    Examples
    --------
    >>> event = LaplaceNoise(scale=2, sensitivity=1)
    >>> print(event)
    Laplace noise of scale 2 on a value of sensitivity 1
    >>> import dither as dp
    >>> dp.compose([event]).epsilon(0)
    0.5
    """

    # A vector with independent noise per coordinate costs what its ℓ₁ sensitivity costs on the line: the noise is
    # log-concave, so moving one coordinate by Δ is the worst case (the triangle inequality of trade-off functions, by
    # which Dong, Roth and Su 2022 prove group privacy, is an equality on the line).
    scale: Fraction
    sensitivity: Fraction = Fraction(1)
    step: Fraction | None = None
    adjacency: Adjacency | None = None

    if TYPE_CHECKING:  # any number is made exact

        def __init__(
            self, scale: Number, sensitivity: Number = ..., step: Number | None = ..., adjacency: Adjacency | None = ...
        ) -> None: ...

    def __post_init__(self) -> None:
        self._exact("scale", "sensitivity", "step")
        check.positive(scale=self.scale, sensitivity=self.sensitivity)
        _check_lattice(self.step)
        if self.step is not None and self.sensitivity % self.step:
            raise ParameterError(
                f"sensitivity must be a multiple of the lattice step, got sensitivity={self.sensitivity} and "
                f"step={self.step}. Round the sensitivity up to the lattice."
            )

    def __str__(self) -> str:
        return (
            f"Laplace noise of scale {in_words(self.scale)}{_on_lattice(self.step)} "
            f"on a value of sensitivity {in_words(self.sensitivity)}{under(self.adjacency)}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class GaussianNoise(EventBase):
    """Gaussian noise on a value of bounded ℓ₂ sensitivity: density ∝ e^{−x²/2σ²}.

    Squares are kept, because σ and Δ₂ are often roots of rational numbers: a histogram under 'replace one record' has
    Δ₂ = √2. Use `GaussianNoise.of(sigma)` where both are rational. Squares are given by name, as σ and σ² are easily
    mistaken for each other: ``GaussianNoise(1.1)`` is refused.

    Parameters
    ----------
    variance : Number
        σ² > 0, the square of the standard deviation of the noise.
    sensitivity_squared : Number, default 1
        Δ₂² > 0, the square of how far one neighbour can move the value in ℓ₂.
    step : Number, optional
        The step s of the lattice sℤ on which each coordinate of value and noise lives, with P[X = x] ∝ e^{−x²/2σ²}
        there; 1 for integers. By default the noise is continuous.
    dimension : int, default 1
        The number of coordinates. It matters only on a lattice, where the worst direction is known exactly only on the
        line.
    adjacency : Adjacency, optional
        Which datasets are neighbours, such as `dp.adjacency.ADD_REMOVE`. By default unstated: the sensitivity alone
        defines them.

    Raises
    ------
    ParameterError
        If a number is not positive, or `sensitivity_squared` is no squared distance between points of the lattice.

    Notes
    -----
    Continuous noise is ρ-zCDP for ρ = Δ₂²/2σ² (Bun and Steinke 2016) and μ-Gaussian DP for μ = Δ₂/σ (Dong, Roth and Su
    2022).

    Examples
    --------
    >>> print(GaussianNoise(variance=9, sensitivity_squared=2))
    Gaussian noise of standard deviation 3 on a value of sensitivity √2
    """

    variance: Fraction
    sensitivity_squared: Fraction = Fraction(1)
    step: Fraction | None = None
    dimension: int = 1
    adjacency: Adjacency | None = None

    if TYPE_CHECKING:  # any number is made exact

        def __init__(
            self,
            *,
            variance: Number,
            sensitivity_squared: Number = ...,
            step: Number | None = ...,
            dimension: int = ...,
            adjacency: Adjacency | None = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        self._exact("variance", "sensitivity_squared", "step")
        check.positive(variance=self.variance, sensitivity_squared=self.sensitivity_squared)
        check_count(1, dimension=self.dimension)
        _check_lattice(self.step)
        if self.step is not None:
            self._check_reachable(self.step)

    def _check_reachable(self, step: Fraction) -> None:
        steps_squared = self.sensitivity_squared / step**2
        if steps_squared.denominator != 1 or (self.dimension == 1 and _root(steps_squared) is None):
            raise ParameterError(
                f"sensitivity_squared={self.sensitivity_squared} is no squared distance on a lattice "
                f"of step {step} in dimension {self.dimension}. Round the sensitivity up to the lattice."
            )

    @classmethod
    def of(
        cls,
        scale: Fraction | int,
        sensitivity: Fraction | int = 1,
        step: Fraction | None = None,
        adjacency: Adjacency | None = None,
    ) -> GaussianNoise:
        """Build the event from σ and Δ₂ themselves, where both are rational.

        Parameters
        ----------
        scale : Number
            σ > 0, the standard deviation of the noise.
        sensitivity : Number, default 1
            Δ₂ > 0, how far one neighbour can move the value in ℓ₂.
        step : Number, optional
            The step of the lattice on which value and noise live; continuous by default.
        adjacency : Adjacency, optional
            Which datasets are neighbours, such as `dp.adjacency.ADD_REMOVE`. By default unstated: the sensitivity alone
            defines them.

        Returns
        -------
        GaussianNoise
            The event with `variance` σ² and `sensitivity_squared` Δ₂².

        Examples
        --------
        >>> GaussianNoise.of(scale=3) == GaussianNoise(variance=9)
        True
        """
        sigma, distance = rational(scale, "scale"), rational(sensitivity, "sensitivity")
        check.positive(scale=sigma, sensitivity=distance)
        return cls(variance=sigma**2, sensitivity_squared=distance**2, step=step, adjacency=adjacency)

    def __str__(self) -> str:
        where = _on_lattice(self.step) + (f" in dimension {self.dimension}" if self.dimension > 1 else "")
        return (
            f"Gaussian noise of standard deviation {_root_in_words(self.variance)}{where} "
            f"on a value of sensitivity {_root_in_words(self.sensitivity_squared)}{under(self.adjacency)}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MixtureOfGaussians(EventBase):
    """Gaussian noise on a value that a record moves by a random amount, drawn anew each time.

    So it is where a record may be in a batch more than once, or weighs at random: with probability pᵢ it moves the
    value by sᵢ. Poisson sampling is the case of two amounts, 0 and Δ.

    Parameters
    ----------
    variance : Number
        σ² > 0, the square of the standard deviation of the noise.
    sensitivities : sequence of Number
        The amounts sᵢ ≥ 0, at most 100 of them; at least one is not 0. In several dimensions these are ℓ₂ norms.
    probabilities : sequence of Number
        The probability of each amount; exact, and summing to 1.
    adjacency : Adjacency, optional
        Which datasets are neighbours: a record must come or go, as under `ADD_REMOVE`. Unstated by default.

    Raises
    ------
    ParameterError
        If a number is out of range, or the probabilities do not sum to 1.

    Notes
    -----
    The worst neighbours are Σ pᵢ N(sᵢ, σ²) and N(0, σ²) (Choquette-Choo, Ganesh, Steinke and Thakurta 2024, Lemma 4.5).

    Examples
    --------
    >>> print(MixtureOfGaussians(variance=4, sensitivities=(0, 1, 2), probabilities=("0.98", "0.015", "0.005")))
    Gaussian noise of standard deviation 2 on a value that a record moves by one of 3 amounts, at most 2
    """

    variance: Fraction
    sensitivities: tuple[Fraction, ...]
    probabilities: tuple[Fraction, ...]
    adjacency: Adjacency | None = None

    if TYPE_CHECKING:  # any number is made exact

        def __init__(
            self,
            *,
            variance: Number,
            sensitivities: Sequence[Number],
            probabilities: Sequence[Number],
            adjacency: Adjacency | None = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        self._exact("variance")
        check.positive(variance=self.variance)
        for name in ("sensitivities", "probabilities"):
            set_fields(self, **{name: tuple(exact_number(value, name) for value in getattr(self, name))})
        if not 0 < len(self.sensitivities) == len(self.probabilities) <= _MOST_MOVES:
            raise ParameterError(
                f"sensitivities and probabilities must have the same length, 1 to {_MOST_MOVES}; got "
                f"{len(self.sensitivities)} and {len(self.probabilities)}."
            )
        check.nonnegative(smallest_sensitivity=min(self.sensitivities))
        check.positive(largest_sensitivity=max(self.sensitivities), smallest_probability=min(self.probabilities))
        if sum(self.probabilities) != 1:
            total = in_words(sum(self.probabilities, Fraction(0)))
            raise ParameterError(f"the probabilities must sum to 1, got {total}. Give exact numbers, such as '1/3'.")

    def __str__(self) -> str:
        return (
            f"Gaussian noise of standard deviation {_root_in_words(self.variance)} on a value that a record moves by "
            f"one of {len(self.sensitivities)} amounts, at most {in_words(max(self.sensitivities))}"
            f"{under(self.adjacency)}"
        )


@dataclass(frozen=True, slots=True)
class StaircaseNoise(EventBase):
    """Staircase noise on a value of bounded sensitivity: of all ε-DP noise, the one with the smallest error.

    Parameters
    ----------
    epsilon : Number
        ε > 0: the density falls by the factor e^ε from stair to stair.
    fraction : Number
        γ in (0, 1]: the part of each stair before the density falls.
    sensitivity : Number, default 1
        Δ > 0, how far one neighbour can move the value, and the width of a stair.
    adjacency : Adjacency, optional
        Which datasets are neighbours, such as `dp.adjacency.ADD_REMOVE`. By default unstated: the sensitivity alone
        defines them.

    Raises
    ------
    ParameterError
        If a number is not positive, or `fraction` is above 1.

    Notes
    -----
    The density is ∝ e^{−kε} for |x| in [kΔ, (k + γ)Δ) and ∝ e^{−(k+1)ε} for |x| in [(k + γ)Δ, (k + 1)Δ) (Geng and
    Viswanath 2014, Definition 1). Noise on a lattice is described by the same event.

    Examples
    --------
    >>> print(StaircaseNoise(epsilon=1, fraction="0.4"))
    staircase noise for epsilon 1 with steps split at 0.4 on a value of sensitivity 1
    """

    # Noise on a lattice whose stairs fall at its r-th point is this noise with γΔ half a step before that point,
    # rounded to the lattice.
    epsilon: Fraction
    fraction: Fraction
    sensitivity: Fraction = Fraction(1)
    adjacency: Adjacency | None = None

    if TYPE_CHECKING:  # any number is made exact

        def __init__(
            self, epsilon: Number, fraction: Number, sensitivity: Number = ..., adjacency: Adjacency | None = ...
        ) -> None: ...

    def __post_init__(self) -> None:
        self._exact("epsilon", "fraction", "sensitivity")
        check.positive(epsilon=self.epsilon, fraction=self.fraction, sensitivity=self.sensitivity)
        check.probability(fraction=self.fraction)

    def __str__(self) -> str:
        return (
            f"staircase noise for epsilon {in_words(self.epsilon)} "
            f"with steps split at {in_words(self.fraction)} "
            f"on a value of sensitivity {in_words(self.sensitivity)}{under(self.adjacency)}"
        )


@dataclass(frozen=True, slots=True)
class SmoothNoise(EventBase):
    """Noise scaled to the smooth sensitivity of the data: f(D) + s · S(D) · Z.

    Parameters
    ----------
    noise : {"laplace", "gaussian", "polynomial", "steepest"}
        The distribution of Z: Laplace of scale 1; N(0, 1); density ∝ 1/(1 + |z|^γ); or density ∝ (1 − |z|)^{γ−2} for
        |z| ≤ 1/(γ−1) and ∝ (1 + |z|)^{−γ} beyond.
    smoothness : Number
        β > 0: S(D) ≤ e^β S(D′) for neighbours D and D′.
    scale : Number
        s > 0, the factor on S(D) · Z.
    exponent : Number, optional
        γ > 1, the tail exponent of "polynomial" and "steepest" noise, and of no other; for "steepest" a whole number
        from 3 to 65.
    lattice_loss : Number, optional
        κ ≥ 0, if the noise lives on a lattice: δ(ε) is then at most e^κ times that on the line at ε − κ.
    adjacency : Adjacency, optional
        Which datasets are neighbours, such as `dp.adjacency.ADD_REMOVE`. By default unstated.

    Raises
    ------
    ParameterError
        If `noise` is not one of the four, a number is out of range, or `exponent` is missing or not wanted.

    Notes
    -----
    S is a smooth upper bound on local sensitivity: neighbours have |f(D) − f(D′)| ≤ min(S(D), S(D′)) (claim C19;
    Nissim, Raskhodnikova and Smith 2007).

    Examples
    --------
    >>> print(SmoothNoise("polynomial", smoothness="0.1", scale=10, exponent=4))
    polynomial noise with tail exponent 4 of 10 times the 0.1-smooth sensitivity
    """

    noise: str
    smoothness: Fraction
    scale: Fraction
    exponent: Fraction | None = None
    lattice_loss: Fraction | None = None
    adjacency: Adjacency | None = None

    if TYPE_CHECKING:  # any number is made exact

        def __init__(
            self,
            noise: str,
            smoothness: Number,
            scale: Number,
            exponent: Number | None = ...,
            lattice_loss: Number | None = ...,
            adjacency: Adjacency | None = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        self._exact("smoothness", "scale", "exponent", "lattice_loss")
        self._one_of("noise", "polynomial", "steepest", "laplace", "gaussian")
        check.positive(smoothness=self.smoothness, scale=self.scale)
        if self.lattice_loss is not None:
            check.nonnegative(lattice_loss=self.lattice_loss)
        if (self.noise in ("polynomial", "steepest")) != (self.exponent is not None):
            raise ParameterError(
                f"exponent belongs to polynomial and steepest noise and to no other, got {self.exponent}."
            )
        if self.exponent is not None and not self.exponent > 1:
            raise ParameterError(f"exponent must be greater than 1, got exponent={self.exponent}.")
        if self.noise == "steepest" and self.exponent not in range(3, 66):
            raise ParameterError(
                f"exponent of steepest noise must be a whole number from 3 to 65, got exponent={self.exponent}."
            )

    def __str__(self) -> str:
        tail = "" if self.exponent is None else f" with tail exponent {in_words(self.exponent)}"
        where = (
            "" if self.lattice_loss is None else f" on a lattice that adds {in_words(self.lattice_loss)} to the loss"
        )
        return (
            f"{self.noise} noise{tail} of {in_words(self.scale)} times "
            f"the {in_words(self.smoothness)}-smooth sensitivity{where}{under(self.adjacency)}"
        )


def _check_lattice(step: Fraction | None) -> None:
    if step is not None:
        check.positive(step=step)


def _root(square: Fraction) -> Fraction | None:
    """The rational root of a rational square; None if it has none."""
    root = Fraction(isqrt(square.numerator), isqrt(square.denominator))
    return root if root * root == square else None


def _root_in_words(square: Fraction) -> str:
    root = _root(square)
    return f"√{in_words(square)}" if root is None else in_words(root)


def _on_lattice(step: Fraction | None) -> str:
    return "" if step is None else f" on the lattice of step {in_words(step)}"
