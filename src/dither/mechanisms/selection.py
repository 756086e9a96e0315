"""Selection: the best of many candidates, by noisy scores (claims C12, C14 and C16)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, KeysView, Sequence, Set
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias

from dither.adjacency import Adjacency, check_monotone
from dither.errors import ParameterError
from dither.events import Event, Selection
from dither.exact import Ball, Number, ball, check, once, rational, set_fields
from dither.exact.certified import above
from dither.guarantees import Guarantee, PureDP
from dither.mechanisms.additive import described
from dither.mechanisms.mechanism import Mechanism
from dither.mechanisms.piecewise_scores import Pieces
from dither.mechanisms.released import Interval, Release
from dither.mechanisms.selection_error import (
    ErrorDistribution,
    error_distribution,
    probabilities,
    worst_expected_error,
    worst_quantile,
)
from dither.noise.race import NOISES, Numbers, Race, Scores
from dither.noise.tape import answered
from dither.pairs import ProfileOf
from dither.pairs.bounded_range import BoundedRangePair

__all__ = ["Exponential", "NoiseName", "NoisyMax", "calibrated", "one_each"]

NoiseName: TypeAlias = Literal["gumbel", "exponential", "laplace"]


@dataclass(frozen=True, init=False, repr=False)
class _Selecting(Mechanism):
    """Noise of scale b on each score, and the largest wins. b = 2Δ/ε, or Δ/ε for `monotone` scores.

    Δ = `sensitivity`: no score moves by more between neighbours. Scores are monotone if a change of the data moves
    all of them in the same direction, as adding or removing a record does with counts; an `adjacency` that replaces is
    refused with them. `candidates` is their number d, where it is known beforehand: `error` needs it.
    """

    sensitivity: Fraction
    scale: Fraction
    monotone: bool
    candidates: int | None
    adjacency: Adjacency | None

    def __init__(
        self,
        *,
        sensitivity: Number,
        epsilon: Number | None = None,
        scale: Number | None = None,
        monotone: bool = False,
        candidates: int | None = None,
        adjacency: Adjacency | None = None,
    ) -> None:
        set_fields(self, sensitivity=rational(sensitivity, "sensitivity"))
        check.positive(sensitivity=self.sensitivity)
        check_monotone(monotone, adjacency)
        set_fields(self, monotone=monotone)
        set_fields(
            self,
            scale=calibrated(self.sensitivity, epsilon, scale, factor=1 if monotone is True else 2),
            candidates=candidates,
            adjacency=adjacency,
        )
        Race("gumbel", self.scale)  # refuses what cannot be raced
        _ = self.event  # refuses what no event can state

    def __repr__(self) -> str:
        return described(self, **self._shown)

    @property
    def _shown(self) -> dict[str, object]:
        """What a short repr says."""
        monotone = self.monotone or None
        return {
            "sensitivity": self.sensitivity,
            "epsilon": self.epsilon,
            "monotone": monotone,
            "candidates": self.candidates,
        }

    @property
    @abstractmethod
    def _noise(self) -> str:
        """The name of the noise."""

    @property
    def epsilon(self) -> Fraction:
        """The privacy budget ε = 2Δ/b, or Δ/b for monotone scores."""
        return (1 if self.monotone else 2) * self.sensitivity / self.scale

    @once
    def event(self) -> Event:
        """One selection."""
        return self._event(self.candidates)

    def _event(self, candidates: int | None) -> Selection:
        return Selection(self.scale, self._noise, self.sensitivity, self.monotone, candidates, self.adjacency)

    @property
    def guarantee(self) -> PureDP:
        """Pure ε-DP; a release may cost less, and carries its own guarantee."""
        return PureDP(self.epsilon, adjacency=self.adjacency)

    def release(self, value: Numbers, *, candidates: Iterable[Any] | None = None) -> Release:
        """Select one candidate by noisy scores.

        Parameters
        ----------
        value : sequence or array of numbers
            The exact score of each candidate; a float is its exact binary value. −inf marks a candidate that cannot
            win, which must be so on all neighbouring datasets.
        candidates : iterable, optional
            What each position stands for, in the order of the scores.

        Returns
        -------
        Release
            `.value` is the position of the winner, or the winner itself if `candidates` are given.

        Raises
        ------
        ParameterError
            If a score is NaN or +inf, or there is not one candidate for each score.
        """
        return self._select(Scores.of(value), candidates)

    def _select(self, scores: Scores, candidates: Iterable[Any] | None) -> Release:
        self._check_count(len(scores))
        named = one_each(candidates, len(scores))
        return self._released(named[self._winner(scores)], self.event)

    def _winner(self, scores: Scores) -> int:
        race = Race(self._noise, self.scale)
        return answered(lambda: race.winner(scores), "selection", scores, mechanism=self)

    def _released(self, value: Any, event: Event) -> Release:
        """With Gumbel noise the losses lie in an interval of width ε: less than ε-DP (Dong, Durfee and Rogers 2020)."""
        done: Guarantee = self.guarantee
        if self._noise == "gumbel":
            done = ProfileOf(BoundedRangePair(self.epsilon), adjacency=self.adjacency)
        return Release(value, event, done, self)

    def _check_count(self, count: int) -> None:
        if self.candidates is not None and count != self.candidates:
            raise ParameterError(f"candidates={self.candidates} was announced, got {count} scores. Give one each.")

    # ------------------------------------------------------------------ error

    def probabilities(self, scores: Numbers) -> tuple[Ball, ...]:
        """Compute the exact probability of each candidate; it reveals the scores, so do not publish it.

        Parameters
        ----------
        scores : sequence or array of numbers
            The exact score of each candidate, as in `release`.

        Returns
        -------
        tuple of Ball
            For each candidate a ball (certified interval) that contains the probability that it is selected.

        Notes
        -----
        With noise of scale b: e^{q/b} over the sum of all for Gumbel noise; an integral over the winning value for the
        others, enclosed by certified quadrature. Its cost grows with the number of distinct scores.
        """
        known = Scores.of(scores)
        self._check_count(len(known))
        return probabilities(self._noise, self.scale, known)

    def error_distribution(self, scores: Numbers) -> ErrorDistribution:
        """Compute the exact distribution of q_max − q(Y) for these scores (claim C16).

        It reveals the scores: do not publish it.

        Parameters
        ----------
        scores : sequence or array of numbers
            The exact score q of each candidate.

        Returns
        -------
        ErrorDistribution
            The possible errors and their probabilities.
        """
        known = Scores.of(scores)
        self._check_count(len(known))
        return error_distribution(self._noise, self.scale, known)

    @property
    def expected_error(self) -> float:
        """The mean of q_max − q(Y) for the worst scores of so many candidates, rounded up.

        With Laplace noise it is a bound.
        """
        return worst_expected_error(self._noise, self.scale, self._known_count())

    def _error(self, beta: Fraction) -> float:
        """The smallest bound on q_max − q(Y) that holds for all scores of so many candidates; see selection_error."""
        return worst_quantile(self._noise, self.scale, self._known_count(), beta)

    def utility(self, beta: Number = 0.05) -> float:
        """Compute the textbook bound on q_max − q(Y): b(ln d + ln 1/β), except with probability β (claim C16).

        It holds for Gumbel and for exponential noise; `error` is the exact one.

        Parameters
        ----------
        beta : Number, default 0.05
            The probability β that the bound may be missed, strictly between 0 and 1.

        Returns
        -------
        float
            The bound, in the unit of the scores.

        Raises
        ------
        ParameterError
            If the noise is Laplace noise, or the number of `candidates` was not given.
        """
        exact = rational(beta, "beta")
        check.between(0, 1, beta=exact)
        if self._noise == "laplace":
            raise ParameterError("utility is proved for gumbel and exponential noise. Use error.")
        return above(lambda: ball(self.scale) * (Ball(self._known_count()).log() - ball(exact).log()))

    def _known_count(self) -> int:
        if self.candidates is None:
            raise ParameterError("the error depends on the number of candidates. Say candidates=... when building.")
        return self.candidates

    def _interval(self, value: Any, level: Any) -> Interval:
        raise ParameterError("a selected candidate has no interval. Use error(beta): how far it is from the best.")


@dataclass(frozen=True, init=False, repr=False)
class Exponential(_Selecting):
    """Exponential mechanism: select a candidate with probability ∝ w(y)·e^{q(y)/b}, drawn exactly.

    q(y) is the score of candidate y, and b = 2Δ/ε, or Δ/ε for `monotone` scores. Give exactly one of `epsilon` and
    `scale`.

    Parameters
    ----------
    sensitivity : Number
        Δ, the most that any score can move between neighbours, in the unit of the scores.
    epsilon : Number, optional
        The privacy budget ε > 0.
    scale : Number, optional
        The scale b > 0, in the unit of the scores.
    monotone : bool, default False
        Whether a change of the data moves all scores in the same direction, as adding or removing a record does with
        counts: then half the noise suffices. An `adjacency` that replaces is refused with it.
    candidates : int, optional
        The number d of candidates, if it is known in advance; `error` and `expected_error` need it.
    adjacency : Adjacency, optional
        Which datasets are neighbours, such as `dp.adjacency.ADD_REMOVE`; recorded in the guarantee and the event. By
        default unstated: `sensitivity` alone defines them.

    Raises
    ------
    ParameterError
        If none or both of `epsilon` and `scale` are given, or a number is out of range.

    Notes
    -----
    McSherry and Talwar 2007; claim C12. The base weights w are 1 unless given to `release`. The privacy losses lie in
    an interval of width ε, so that a release has a tighter profile than ε-DP, and many together cost less than ε each.

    `error`, `expected_error` and `utility` are about a release among `candidates` with equal weights. They do not hold
    for other weights, nor for a point of an interval, where the best may be as unlikely as its weight is small;
    `error_distribution` has the exact distribution for given scores and weights.

    Examples
    --------
    >>> import dither as dp
    >>> mechanism = dp.Exponential(sensitivity=1, epsilon=1, candidates=3)
    >>> mechanism.release([0.0, 900.0, 3.5], candidates=["flu", "cold", "asthma"]).value
    'cold'
    >>> mechanism.guarantee.epsilon(0), mechanism.error(0.05)
    (1.0, 7.2751723194...)
    """

    @property
    def _noise(self) -> str:
        return "gumbel"

    def release(
        self, value: Numbers, *, weights: Numbers | None = None, candidates: Iterable[Any] | None = None
    ) -> Release:
        """Select one candidate by the scores.

        Parameters
        ----------
        value : sequence or array of numbers
            The exact score of each candidate; a float is its exact binary value. −inf marks a candidate that cannot
            win, which must be so on all neighbouring datasets.
        weights : sequence or array of numbers, optional
            Positive base weights, which must be public; 1 each by default.
        candidates : iterable, optional
            What each position stands for, in the order of the scores.

        Returns
        -------
        Release
            `.value` is the position of the winner, or the winner itself if `candidates` are given.

        Raises
        ------
        ParameterError
            If a score is NaN or +inf, or there is not one candidate for each score.
        """
        return self._select(Scores.of(value, weights), candidates)

    def release_interval(
        self, edges: Numbers, scores: Numbers, *, density: Callable[[float], float] | None = None
    ) -> Release:
        """Draw a point of an interval, with density ∝ w·e^{q/b}, where the score q is constant on each piece.

        Piece i reaches from edges[i] to edges[i + 1]. The first and the last edge must be public; those between may be
        data, as for a median, and so may be their number: the `candidates` of the mechanism play no part.

        Parameters
        ----------
        edges : sequence or array of numbers
            The ends of the pieces, in increasing order.
        scores : sequence or array of numbers
            The exact score of each piece: one fewer than the edges.
        density : callable, optional
            The base measure: a positive density w of a point, which must be public; it need not integrate to 1. By
            default uniform. It is taken in the middle of 8,192 public cells and kept to 24 binary digits (and at least
            1e-30 of its largest value), so that the draw is exact for that density in steps.

        Returns
        -------
        Release
            `.value` is a point of a public dyadic grid of at least 2^40 steps. Each point of the grid has the score of
            its piece: the exponential mechanism on a finite set, exactly.
        """
        pieces = Pieces.of(edges, scores, density)
        race = Race("gumbel", self.scale)
        given, public = (edges, scores), {"mechanism": self, "density": density}
        point = answered(lambda: pieces.point_in(race.winner(pieces.scores)), "point", given, **public)
        return self._released(point, self._event(None))

    def interval_probabilities(
        self, edges: Numbers, scores: Numbers, *, density: Callable[[float], float] | None = None
    ) -> tuple[Ball, ...]:
        """Compute the exact probability of each piece of an interval; it reveals the scores, so do not publish it.

        Parameters
        ----------
        edges : sequence or array of numbers
            The ends of the pieces, as in `release_interval`.
        scores : sequence or array of numbers
            The exact score of each piece.
        density : callable, optional
            The base measure, as in `release_interval`.

        Returns
        -------
        tuple of Ball
            For each piece a ball (certified interval) that contains the probability that the point lies in it: that of
            the points that are drawn, with the normaliser of the density in steps.

        Examples
        --------
        >>> import dither as dp
        >>> rising = dp.Exponential(sensitivity=1, epsilon=1).interval_probabilities(
        ...     [0, 1, 2], [0, 0], density=lambda y: y
        ... )
        >>> [round(float(chance), 3) for chance in rising]  # ∫ y dy over [0, 1] and [1, 2]
        [0.25, 0.75]
        """
        pieces = Pieces.of(edges, scores, density)
        chances = [Ball(0)] * len(Scores.of(scores))
        for owner, chance in zip(pieces.owners, probabilities(self._noise, self.scale, pieces.scores), strict=True):
            chances[owner] += chance
        return tuple(chances)

    def probabilities(self, scores: Numbers, *, weights: Numbers | None = None) -> tuple[Ball, ...]:
        """Compute the exact probability w·e^{q/b}/Σ of each candidate; it reveals the scores, so do not publish it.

        Parameters
        ----------
        scores : sequence or array of numbers
            The exact score q of each candidate, as in `release`.
        weights : sequence or array of numbers, optional
            Positive base weights w; 1 each by default.

        Returns
        -------
        tuple of Ball
            For each candidate a ball (certified interval) that contains the probability that it is selected.

        Examples
        --------
        >>> import dither as dp
        >>> chances = dp.Exponential(sensitivity=1, epsilon=2).probabilities([1, 0])
        >>> float(chances[0] / chances[1])  # P(a)/P(b) = e^{ε(q(a) − q(b))/(2Δ)}
        2.718281828459045
        """
        known = Scores.of(scores, weights)
        self._check_count(len(known))
        return probabilities(self._noise, self.scale, known)

    def error_distribution(self, scores: Numbers, *, weights: Numbers | None = None) -> ErrorDistribution:
        """Compute the exact distribution of q_max − q(Y) for these scores and weights.

        It reveals the scores: do not publish it.

        Parameters
        ----------
        scores : sequence or array of numbers
            The exact score q of each candidate.
        weights : sequence or array of numbers, optional
            Positive base weights; 1 each by default.

        Returns
        -------
        ErrorDistribution
            The possible errors and their probabilities.
        """
        known = Scores.of(scores, weights)
        self._check_count(len(known))
        return error_distribution(self._noise, self.scale, known)


@dataclass(frozen=True, init=False, repr=False)
class NoisyMax(_Selecting):
    """Report noisy max: add noise to every score and release only the position of the largest.

    The noise has the scale b = 2Δ/ε, or Δ/ε for `monotone` scores. Give exactly one of `epsilon` and `scale`.

    Parameters
    ----------
    sensitivity : Number
        Δ, the most that any score can move between neighbours, in the unit of the scores.
    epsilon : Number, optional
        The privacy budget ε > 0.
    scale : Number, optional
        The noise scale b > 0, in the unit of the scores.
    noise : {"exponential", "gumbel", "laplace"}, default "exponential"
        "exponential" is permute-and-flip (McKenna and Sheldon 2020), never worse than the exponential mechanism, which
        is "gumbel"; "laplace" is the textbook version.
    monotone : bool, default False
        Whether a change of the data moves all scores in the same direction, as adding or removing a record does with
        counts: then half the noise suffices. An `adjacency` that replaces is refused with it.
    candidates : int, optional
        The number of candidates, if it is known in advance; `error` and `expected_error` need it.
    adjacency : Adjacency, optional
        Which datasets are neighbours, such as `dp.adjacency.ADD_REMOVE`; recorded in the guarantee and the event. By
        default unstated: `sensitivity` alone defines them.

    Raises
    ------
    ParameterError
        If none or both of `epsilon` and `scale` are given, or a number is out of range.

    Notes
    -----
    ε-DP by claim C14.

    Examples
    --------
    >>> import dither as dp
    >>> dp.NoisyMax(sensitivity=1, epsilon=1).release([0, 900, 3]).value
    1
    >>> dp.NoisyMax(sensitivity=1, epsilon=1, candidates=3).error(0.05) > 0
    True
    """

    noise: NoiseName

    def __init__(
        self,
        *,
        sensitivity: Number,
        epsilon: Number | None = None,
        scale: Number | None = None,
        noise: NoiseName = "exponential",
        monotone: bool = False,
        candidates: int | None = None,
        adjacency: Adjacency | None = None,
    ) -> None:
        if noise not in NOISES:
            raise ParameterError(f"noise must be one of {', '.join(NOISES)}; got noise={noise!r}.")
        set_fields(self, noise=noise)
        super().__init__(
            sensitivity=sensitivity,
            epsilon=epsilon,
            scale=scale,
            monotone=monotone,
            candidates=candidates,
            adjacency=adjacency,
        )

    @property
    def _shown(self) -> dict[str, object]:
        return {**super()._shown, "noise": self.noise if self.noise != "exponential" else None}

    @property
    def _noise(self) -> str:
        return self.noise


def one_each(candidates: Iterable[Any] | None, count: int) -> Sequence[Any]:
    """What each position stands for, checked before anything is drawn: itself unless candidates are given."""
    if candidates is None:
        return range(count)
    is_unordered = isinstance(candidates, Set) and not isinstance(candidates, KeysView)
    if is_unordered or not isinstance(candidates, Iterable):
        raise ParameterError("candidates must be a list, in the order of the scores: a set has none. Sort them first.")
    try:
        named = candidates if isinstance(candidates, Sequence) else list(candidates)
    except TypeError:  # an array of no dimension
        raise ParameterError("candidates must be a list, in the order of the scores.") from None
    if len(named) != count:
        raise ParameterError(f"there are {count} scores for {len(named)} candidates. Give one each.")
    return named


def calibrated(sensitivity: Fraction, epsilon: Number | None, scale: Number | None, *, factor: int) -> Fraction:
    """The scale b = factor · Δ/ε, or the scale that was given; exactly one of both."""
    if (epsilon is None) == (scale is None):
        raise ParameterError("exactly one of epsilon and scale must be given. Say epsilon=... or scale=...")
    if scale is not None:
        exact = rational(scale, "scale")
        check.positive(scale=exact)
        return exact
    budget = rational(epsilon, "epsilon")
    check.positive(epsilon=budget)
    return factor * sensitivity / budget
