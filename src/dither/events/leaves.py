"""Events that happened at once: one noise, one answer, one selection."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import TypeAlias

from dither.adjacency import Adjacency, check_monotone
from dither.errors import ParameterError
from dither.events.rules import LEAVES, check_said
from dither.exact import check, in_words, rational

__all__ = [
    "GaussianNoise",
    "LaplaceNoise",
    "Leaf",
    "Noun",
    "RandomizedAnswer",
    "Selection",
    "SmoothNoise",
    "SparseVectorRun",
    "StaircaseNoise",
    "Stated",
    "check_count",
]

# The longest exact number: each one written can be read back (`rational` reads at most 400 characters).
_MAX_BITS = 1_250
_MAX_COUNT = 10**18


class Noun:
    """What all events share: their numbers are made exact and checked when they are built."""

    __slots__ = ()

    def _exact(self, *names: str) -> None:
        if type(self).__name__ in LEAVES:
            check_said(type(self).__name__, getattr(self, "adjacency", None))
        for name in names:
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, _short(value, name))

    def _one_of(self, name: str, *allowed: str) -> None:
        if getattr(self, name) not in allowed:
            raise ParameterError(f"{name} must be one of {', '.join(allowed)}; got {getattr(self, name)!r}.")


@dataclass(frozen=True, slots=True)
class LaplaceNoise(Noun):
    """Laplace noise was added: density ∝ e^{−|x|/b}, b = `scale`, on a value of ℓ₁ `sensitivity` Δ.

    With `step` s the noise lives on the lattice sℤ, P[X = x] ∝ e^{−|x|/b} there, and so does the value.
    A vector with independent noise per coordinate is the same sentence with its ℓ₁ sensitivity: the noise is
    log-concave, so moving one coordinate by Δ is the worst case (the triangle inequality of
    trade-off functions, by which Dong, Roth and Su 2022 prove group privacy, is an equality on the line).
    """

    scale: Fraction
    sensitivity: Fraction = Fraction(1)
    step: Fraction | None = None
    adjacency: Adjacency | None = None

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
            f"on a value of sensitivity {in_words(self.sensitivity)}{_under(self.adjacency)}"
        )


@dataclass(frozen=True, slots=True)
class GaussianNoise(Noun):
    """Gaussian noise was added: density ∝ e^{−x²/2σ²}, σ² = `variance`, on a value of ℓ₂ sensitivity Δ₂.

    Δ₂² = `sensitivity_squared`. Squares are kept, because σ and Δ₂ are often roots of rationals (a histogram
    under replace-one has Δ₂ = √2). With `step` s the noise lives on the lattice sℤ in each coordinate,
    P[X = x] ∝ e^{−x²/2σ²} there, and so does the value. `dimension` counts coordinates; it matters only on
    a lattice, where the worst direction is known exactly only on the line.
    """

    variance: Fraction
    sensitivity_squared: Fraction = Fraction(1)
    step: Fraction | None = None
    dimension: int = 1
    adjacency: Adjacency | None = None

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
        """The event with σ = `scale` and Δ₂ = `sensitivity`, where both are rational."""
        sigma, distance = rational(scale, "scale"), rational(sensitivity, "sensitivity")
        check.positive(scale=sigma, sensitivity=distance)
        return cls(sigma**2, distance**2, step, adjacency=adjacency)

    def __str__(self) -> str:
        where = _on_lattice(self.step) + (f" in dimension {self.dimension}" if self.dimension > 1 else "")
        return (
            f"Gaussian noise of standard deviation {_root_in_words(self.variance)}{where} "
            f"on a value of sensitivity {_root_in_words(self.sensitivity_squared)}{_under(self.adjacency)}"
        )


@dataclass(frozen=True, slots=True)
class StaircaseNoise(Noun):
    """Staircase noise was added to a value of `sensitivity` Δ (Geng and Viswanath 2014, Definition 1).

    The density is ∝ e^{−kε} for |x| in [kΔ, (k + γ)Δ) and ∝ e^{−(k+1)ε} for |x| in [(k + γ)Δ, (k + 1)Δ), with
    ε = `epsilon` and γ = `fraction` in (0, 1]. Noise on a lattice whose stairs fall at its r-th point is this
    noise with γΔ half a step before that point, rounded to the lattice: the same sentence.
    """

    epsilon: Fraction
    fraction: Fraction
    sensitivity: Fraction = Fraction(1)
    adjacency: Adjacency | None = None

    def __post_init__(self) -> None:
        self._exact("epsilon", "fraction", "sensitivity")
        check.positive(epsilon=self.epsilon, fraction=self.fraction, sensitivity=self.sensitivity)
        check.probability(fraction=self.fraction)

    def __str__(self) -> str:
        return (
            f"staircase noise for epsilon {in_words(self.epsilon)} "
            f"with steps split at {in_words(self.fraction)} "
            f"on a value of sensitivity {in_words(self.sensitivity)}{_under(self.adjacency)}"
        )


@dataclass(frozen=True, slots=True)
class RandomizedAnswer(Noun):
    """One of d = `answers` was kept with probability p = `keep`, else replaced by a uniform one.

    The true answer comes out with probability p + (1 − p)/d, each other one with (1 − p)/d (claim C9).
    """

    keep: Fraction
    answers: int = 2
    adjacency: Adjacency | None = None

    def __post_init__(self) -> None:
        self._exact("keep")
        if not 0 <= self.keep < 1:
            raise ParameterError(f"keep must be at least 0 and below 1, got keep={self.keep}.")
        check_count(2, answers=self.answers)

    def __str__(self) -> str:
        return (
            f"randomized response over {self.answers} answers that keeps the true one "
            f"with probability {in_words(self.keep)}{_under(self.adjacency)}"
        )


@dataclass(frozen=True, slots=True)
class Selection(Noun):
    """One candidate was selected: each score got independent noise of `scale` b, and the largest won.

    `noise` is "gumbel" (the exponential mechanism, Pr[y] ∝ e^{q(y)/b}, of bounded range), "exponential"
    (permute-and-flip) or "laplace". Each score has sensitivity Δ = `sensitivity`; with `monotone` a change of
    the data moves all scores in the same direction, which a replaced record does not. `candidates` is their public
    number, where there is one. The cost is Δ/b for monotone scores and 2Δ/b otherwise (claims C12, C14).
    """

    scale: Fraction
    noise: str = "gumbel"
    sensitivity: Fraction = Fraction(1)
    monotone: bool = False
    candidates: int | None = None
    adjacency: Adjacency | None = None

    def __post_init__(self) -> None:
        self._exact("scale", "sensitivity")
        self._one_of("noise", "gumbel", "exponential", "laplace")
        check_monotone(self.monotone, self.adjacency)
        check.positive(scale=self.scale, sensitivity=self.sensitivity)
        if self.candidates is not None:
            check_count(1, candidates=self.candidates)

    def __str__(self) -> str:
        among = "" if self.candidates is None else f" among {self.candidates}"
        scores = "monotone scores" if self.monotone else "scores"
        return (
            f"selection of the best{among} by {scores} of sensitivity {in_words(self.sensitivity)} "
            f"with {self.noise} noise of scale {in_words(self.scale)}{_under(self.adjacency)}"
        )


@dataclass(frozen=True, slots=True)
class SparseVectorRun(Noun):
    """Questions were compared with a noisy threshold until `max_above` of them came out above.

    Laplace noise: of `threshold_scale` on the threshold, drawn once; of `query_scale`, fresh, on each answer.
    Answers have `sensitivity` Δ; with `monotone` all move in the same direction, which they do not when a record is
    replaced. Only above/below was said, never a value (claim C30; variant SVT1 of Lyu, Su and Li 2017, whose cost is
    Δ/threshold_scale + 2·max_above·Δ/query_scale, the 2 dropped for monotone answers).
    """

    threshold_scale: Fraction
    query_scale: Fraction
    max_above: int = 1
    sensitivity: Fraction = Fraction(1)
    monotone: bool = False
    adjacency: Adjacency | None = None

    def __post_init__(self) -> None:
        self._exact("threshold_scale", "query_scale", "sensitivity")
        check_monotone(self.monotone, self.adjacency)
        check.positive(threshold_scale=self.threshold_scale, query_scale=self.query_scale, sensitivity=self.sensitivity)
        check_count(1, max_above=self.max_above)

    def __str__(self) -> str:
        answers = "monotone answers" if self.monotone else "answers"
        return (
            f"sparse vector until {self.max_above} above, "
            f"{answers} of sensitivity {in_words(self.sensitivity)}, "
            f"Laplace noise of scale {in_words(self.threshold_scale)} on the threshold "
            f"and {in_words(self.query_scale)} on each answer{_under(self.adjacency)}"
        )


@dataclass(frozen=True, slots=True)
class SmoothNoise(Noun):
    """Noise scaled to smooth sensitivity was added: f(D) + s · S(D) · Z (claim C19).

    s = `scale`. Neighbours have |f(D) − f(D′)| ≤ min(S(D), S(D′)) and S(D) ≤ e^β S(D′), β = `smoothness`. Z is Lap(1)
    ("laplace"), N(0, 1) ("gaussian"), has density ∝ 1/(1 + |z|^γ) ("polynomial"), or density ∝ (1 − |z|)^{γ−2} for
    |z| ≤ 1/(γ−1) and ∝ (1 + |z|)^{−γ} beyond ("steepest"), γ = `exponent`. With `lattice_loss` κ the noise lives on a
    lattice: then δ(ε) is at most e^κ times that on the line at ε − κ.
    """

    noise: str
    smoothness: Fraction
    scale: Fraction
    exponent: Fraction | None = None
    lattice_loss: Fraction | None = None
    adjacency: Adjacency | None = None

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
            f"the {in_words(self.smoothness)}-smooth sensitivity{where}{_under(self.adjacency)}"
        )


@dataclass(frozen=True, slots=True)
class Stated(Noun):
    """A guarantee was stated, not derived: whatever was done, it is promised to cost no more than this.

    `measure` names the guarantee and `values` are its parameters in order: PureDP (epsilon), ApproxDP
    (epsilon, delta), ZCDP (rho), GaussianDP (mu squared), TVStable (tv), RenyiDP (order, epsilon, order,
    epsilon, ...).
    """

    measure: str
    values: tuple[Fraction, ...]
    adjacency: Adjacency | None = None

    def __post_init__(self) -> None:
        self._one_of("measure", *_MEASURES)
        self._exact()
        values = tuple(_short(value, f"{self.measure} value") for value in self.values)
        object.__setattr__(self, "values", values)
        check.nonnegative(**dict.fromkeys(("smallest value",), min(values, default=Fraction(0))))
        wanted = _MEASURES[self.measure]
        if not values or (len(values) != len(wanted) if self.measure != "RenyiDP" else len(values) % 2):
            raise ParameterError(f"{self.measure} has the values ({', '.join(wanted)}), got {len(values)} values.")
        for label, value in zip(wanted, values, strict=False):
            if label in ("delta", "tv"):
                check.probability(**{label: value})
        if self.measure == "RenyiDP" and not min(values[::2]) > 1:
            raise ParameterError(f"each order must be greater than 1, got order={min(values[::2])}.")

    def __str__(self) -> str:
        return f"a stated {self.measure}({', '.join(map(in_words, self.values))}){_under(self.adjacency)}"


_MEASURES: dict[str, tuple[str, ...]] = {
    "PureDP": ("epsilon",),
    "ApproxDP": ("epsilon", "delta"),
    "ZCDP": ("rho",),
    "RenyiDP": ("order", "epsilon", "..."),
    "GaussianDP": ("mu squared",),
    "TVStable": ("tv",),
}


Leaf: TypeAlias = (
    LaplaceNoise
    | GaussianNoise
    | StaircaseNoise
    | RandomizedAnswer
    | Selection
    | SparseVectorRun
    | SmoothNoise
    | Stated
)
"""An event that is not made of others."""


def _short(value: object, name: str) -> Fraction:
    number = rational(value, name)
    if number.numerator.bit_length() + number.denominator.bit_length() > _MAX_BITS:
        raise ParameterError(f"{name} has more than {_MAX_BITS} bits. Give a shorter number.")
    return number


def check_count(least: int, **named: int) -> None:
    """Each value is a whole number of at least `least`, and at most 10^18."""
    check.count(least, **named)
    for name, value in named.items():
        if not value <= _MAX_COUNT:
            raise ParameterError(f"{name} must be at most {_MAX_COUNT}, got {name} of {value.bit_length()} bits.")


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


def _under(adjacency: Adjacency | None) -> str:
    return "" if adjacency is None else f", under '{adjacency}'"
