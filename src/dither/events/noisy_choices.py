"""Events of noise that decides: a randomized answer, a selection, comparisons with a threshold."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from dither.adjacency import Adjacency, check_monotone
from dither.errors import ParameterError
from dither.events.event import EventBase, check_count, exact_number, under
from dither.exact import Number, check, in_words, set_fields

__all__ = ["FiniteAnswer", "RandomizedAnswer", "Selection", "SparseVectorRun"]

_MAX_OUTCOMES = 1000


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
            f"with probability {in_words(self.keep)}{under(self.adjacency)}"
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
            set_fields(self, **{name: tuple(exact_number(value, name) for value in getattr(self, name))})
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
        return f"an answer of a table whose worst neighbours have {len(self.p)} different losses{under(self.adjacency)}"


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
            f"with {self.noise} noise of scale {in_words(self.scale)}{under(self.adjacency)}"
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
            f"and {in_words(self.query_scale)} on each answer{under(self.adjacency)}"
        )
