"""Events that are not made of others: one noise, one answer, one selection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt
from typing import TYPE_CHECKING, TypeAlias

from dither.adjacency import Adjacency, check_monotone
from dither.errors import ParameterError
from dither.events.rules import LEAVES, check_adjacency
from dither.exact import Number, check, in_words, rational, set_fields

__all__ = [
    "EventBase",
    "FiniteAnswer",
    "GaussianNoise",
    "LaplaceNoise",
    "Leaf",
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
_MAX_OUTCOMES = 1000


class EventBase:
    """What all events share: their numbers are made exact and checked when they are built."""

    __slots__ = ()

    def _exact(self, *names: str) -> None:
        if type(self).__name__ in LEAVES:
            check_adjacency(type(self).__name__, getattr(self, "adjacency", None))
        for name in names:
            value = getattr(self, name)
            if value is not None:
                set_fields(self, **{name: _short(value, name)})

    def _one_of(self, name: str, *allowed: str) -> None:
        if getattr(self, name) not in allowed:
            raise ParameterError(f"{name} must be one of {', '.join(allowed)}; got {getattr(self, name)!r}.")


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
            f"on a value of sensitivity {in_words(self.sensitivity)}{_under(self.adjacency)}"
        )


@dataclass(frozen=True, slots=True)
class GaussianNoise(EventBase):
    """Gaussian noise on a value of bounded ℓ₂ sensitivity: density ∝ e^{−x²/2σ²}.

    Squares are kept, because σ and Δ₂ are often roots of rational numbers: a histogram under 'replace one record' has
    Δ₂ = √2. Use `GaussianNoise.of` where both are rational.

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
        return cls(sigma**2, distance**2, step, adjacency=adjacency)

    def __str__(self) -> str:
        where = _on_lattice(self.step) + (f" in dimension {self.dimension}" if self.dimension > 1 else "")
        return (
            f"Gaussian noise of standard deviation {_root_in_words(self.variance)}{where} "
            f"on a value of sensitivity {_root_in_words(self.sensitivity_squared)}{_under(self.adjacency)}"
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
            f"on a value of sensitivity {in_words(self.sensitivity)}{_under(self.adjacency)}"
        )


@dataclass(frozen=True, slots=True)
class RandomizedAnswer(EventBase):
    """Randomized response: an answer is kept with probability p, else replaced by a uniform one.

    Parameters
    ----------
    keep : Number
        The probability p that the true answer is kept; at least 0 and below 1.
    answers : int, default 2
        The number d of possible answers.
    adjacency : Adjacency, optional
        Which datasets are neighbours: one that replaces, such as `dp.adjacency.REPLACE_ONE`, because the number of
        answers is public. By default unstated.

    Raises
    ------
    ParameterError
        If `keep` is not in [0, 1), `answers` is below 2, or `adjacency` adds or removes records.

    Notes
    -----
    The true answer comes out with probability p + (1 − p)/d, each other one with (1 − p)/d; so it is ε-DP for e^ε = 1 +
    dp/(1 − p) (claim C9).

    Examples
    --------
    >>> print(RandomizedAnswer(keep="1/2"))
    randomized response over 2 answers that keeps the true one with probability 0.5
    """

    keep: Fraction
    answers: int = 2
    adjacency: Adjacency | None = None

    if TYPE_CHECKING:  # any number is made exact

        def __init__(self, keep: Number, answers: int = ..., adjacency: Adjacency | None = ...) -> None: ...

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
class FiniteAnswer(EventBase):
    """One answer of a mechanism that is a table of probabilities, by two laws that dominate all of its neighbours.

    Parameters
    ----------
    p : tuple of Number
        The probabilities of the outcomes under the first law; exact, and summing to 1.
    q : tuple of Number
        Their probabilities under the second law.
    adjacency : Adjacency, optional
        Which datasets are neighbours. By default unstated; then the event cannot be sampled, as it does not say
        whether data without a person is an input of the table.

    Raises
    ------
    ParameterError
        If the laws have different lengths, more than 1000 outcomes, or do not sum to 1.

    Examples
    --------
    >>> print(FiniteAnswer(("3/4", "1/4"), ("1/4", "3/4")))
    an answer of a table whose worst neighbours have 2 different losses
    """

    p: tuple[Fraction, ...]
    q: tuple[Fraction, ...]
    adjacency: Adjacency | None = None

    if TYPE_CHECKING:  # any number is made exact

        def __init__(self, p: Sequence[Number], q: Sequence[Number], adjacency: Adjacency | None = ...) -> None: ...

    def __post_init__(self) -> None:
        self._exact()
        for name in ("p", "q"):
            set_fields(self, **{name: tuple(_short(value, name) for value in getattr(self, name))})
        if not 0 < len(self.p) == len(self.q) <= _MAX_OUTCOMES:
            raise ParameterError(
                f"p and q must have the same length, 1 to {_MAX_OUTCOMES}; got {len(self.p)} and {len(self.q)}. "
                "Merge outcomes with the same p/q."
            )
        check.nonnegative(smallest_p=min(self.p), smallest_q=min(self.q))
        for name, law in (("p", self.p), ("q", self.q)):
            if sum(law) != 1:
                raise ParameterError(f"the probabilities {name} must sum to 1, got {in_words(sum(law, Fraction(0)))}.")

    def __str__(self) -> str:
        return (
            f"an answer of a table whose worst neighbours have {len(self.p)} different losses{_under(self.adjacency)}"
        )


@dataclass(frozen=True, slots=True)
class Selection(EventBase):
    """Selection of the best candidate: each score gets independent noise, and the largest wins.

    Parameters
    ----------
    scale : Number
        The noise scale b > 0, in the unit of the scores.
    noise : {"gumbel", "exponential", "laplace"}, default "gumbel"
        "gumbel" is the exponential mechanism, Pr[y] ∝ e^{q(y)/b}; "exponential" is permute-and-flip; "laplace" is
        report noisy max.
    sensitivity : Number, default 1
        Δ > 0, how far one neighbour can move each score.
    monotone : bool, default False
        Whether a neighbour moves all scores in the same direction. It cannot be True under an adjacency that replaces.
    candidates : int, optional
        The public number of candidates, where there is one.
    adjacency : Adjacency, optional
        Which datasets are neighbours, such as `dp.adjacency.ADD_REMOVE`. By default unstated: the sensitivity alone
        defines them.

    Raises
    ------
    ParameterError
        If a number is not positive, or `noise` is not one of the three.

    Notes
    -----
    It is ε-DP for ε = Δ/b if the scores are monotone, and for ε = 2Δ/b otherwise (claims C12, C14).

    Examples
    --------
    >>> print(Selection(scale=2, noise="exponential", candidates=10))
    selection of the best among 10 by scores of sensitivity 1 with exponential noise of scale 2
    """

    scale: Fraction
    noise: str = "gumbel"
    sensitivity: Fraction = Fraction(1)
    monotone: bool = False
    candidates: int | None = None
    adjacency: Adjacency | None = None

    if TYPE_CHECKING:  # any number is made exact

        def __init__(
            self,
            scale: Number,
            noise: str = ...,
            sensitivity: Number = ...,
            monotone: bool = ...,
            candidates: int | None = ...,
            adjacency: Adjacency | None = ...,
        ) -> None: ...

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
class SparseVectorRun(EventBase):
    """Sparse vector technique: queries are compared with a noisy threshold until enough are above it.

    Only "above" or "below" is released for each query, never a value.

    Parameters
    ----------
    threshold_scale : Number
        The scale b₁ > 0 of the Laplace noise on the threshold, drawn once.
    query_scale : Number
        The scale b₂ > 0 of the Laplace noise on each query answer, drawn afresh.
    max_above : int, default 1
        c: the run ends after so many answers "above".
    sensitivity : Number, default 1
        Δ > 0, how far one neighbour can move each query answer.
    monotone : bool, default False
        Whether a neighbour moves all query answers in the same direction. It cannot be True under an adjacency that
        replaces.
    adjacency : Adjacency, optional
        Which datasets are neighbours, such as `dp.adjacency.ADD_REMOVE`. By default unstated: the sensitivity alone
        defines them.

    Raises
    ------
    ParameterError
        If a number is not positive.

    Notes
    -----
    It is ε-DP for ε = Δ/b₁ + 2cΔ/b₂, without the 2 if the answers are monotone (claim C30; variant SVT1 of Lyu, Su and
    Li 2017). The number of answers "below" costs nothing.

    Examples
    --------
    >>> print(SparseVectorRun(threshold_scale=2, query_scale=4))
    sparse vector until 1 above, answers of sensitivity 1, Laplace noise of scale 2 on the threshold
    and 4 on each answer
    """

    threshold_scale: Fraction
    query_scale: Fraction
    max_above: int = 1
    sensitivity: Fraction = Fraction(1)
    monotone: bool = False
    adjacency: Adjacency | None = None

    if TYPE_CHECKING:  # any number is made exact

        def __init__(
            self,
            threshold_scale: Number,
            query_scale: Number,
            max_above: int = ...,
            sensitivity: Number = ...,
            monotone: bool = ...,
            adjacency: Adjacency | None = ...,
        ) -> None: ...

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
            f"the {in_words(self.smoothness)}-smooth sensitivity{where}{_under(self.adjacency)}"
        )


@dataclass(frozen=True, slots=True)
class Stated(EventBase):
    """A guarantee that is stated, not derived: whatever was done costs no more than this.

    Parameters
    ----------
    measure : {"PureDP", "ApproxDP", "ZCDP", "RenyiDP", "GaussianDP", "TVStable"}
        The name of the guarantee.
    values : tuple of Number
        Its parameters in order: PureDP (epsilon), ApproxDP (epsilon, delta), ZCDP (rho), GaussianDP (mu squared),
        TVStable (tv), RenyiDP (order, epsilon, order, epsilon, ...).
    adjacency : Adjacency, optional
        The neighbours for which it was stated. By default unstated.

    Raises
    ------
    ParameterError
        If `measure` is unknown, or `values` are not its parameters.

    Examples
    --------
    >>> print(Stated("ApproxDP", (1, "1e-6")))
    a stated ApproxDP(1, 1e-06)
    """

    measure: str
    values: tuple[Fraction, ...]
    adjacency: Adjacency | None = None

    if TYPE_CHECKING:  # any number is made exact

        def __init__(self, measure: str, values: tuple[Number, ...], adjacency: Adjacency | None = ...) -> None: ...

    def __post_init__(self) -> None:
        self._one_of("measure", *_MEASURES)
        self._exact()
        values = tuple(_short(value, f"{self.measure} value") for value in self.values)
        set_fields(self, values=values)
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
    | FiniteAnswer
)
"""An event that is not made of others."""


def _short(value: object, name: str) -> Fraction:
    number = rational(value, name)
    if number.numerator.bit_length() + number.denominator.bit_length() > _MAX_BITS:
        raise ParameterError(f"{name} has more than {_MAX_BITS} bits. Give a shorter number.")
    return number


def check_count(least: int, **named: int) -> None:
    """Check that each value is a whole number of at least `least`, and at most 10^18."""
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
