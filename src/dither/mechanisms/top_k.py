"""The best few candidates: a noisy max, again and again."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dither.adjacency import Adjacency
from dither.errors import ParameterError
from dither.events import Event, Repeated
from dither.exact import Number, check, rational, set_fields
from dither.guarantees import Guarantee, PureDP
from dither.mechanisms.additive import described
from dither.mechanisms.mechanism import Mechanism
from dither.mechanisms.released import Interval, Release
from dither.mechanisms.selection import NoiseName, NoisyMax, one_each
from dither.noise.race import Numbers, Scores

__all__ = ["TopK"]


@dataclass(frozen=True, init=False, repr=False)
class TopK(Mechanism):
    """Select the best `count` candidates, best first, by noisy scores.

    The winner of a noisy max is taken out and the rest compete again, k = `count` times at ε/k each.

    Parameters
    ----------
    count : int
        The number k of winners.
    sensitivity : Number
        Δ, the most that any score can move between neighbours, in the unit of the scores.
    epsilon : Number
        The privacy budget ε > 0 of all rounds together.
    noise : {"gumbel", "exponential", "laplace"}, default "gumbel"
        The noise of each round, as in `NoisyMax`.
    monotone : bool, default False
        Whether a change of the data moves all scores in the same direction, as adding or removing a record does with
        counts: then half the noise suffices. An `adjacency` that replaces is refused with it.
    candidates : int, optional
        The number of candidates, if it is known in advance; `error` and `expected_error` need it.
    adjacency : Adjacency, optional
        Which datasets are neighbours, such as `dp.adjacency.ADD_REMOVE`; recorded in the guarantee and the event. By
        default unstated: `sensitivity` alone defines them.

    Attributes
    ----------
    each : NoisyMax
        The mechanism of one round.

    Notes
    -----
    With Gumbel noise this has the distribution of adding noise once and taking the k largest (Durfee and Rogers 2019,
    Lemma 4.2), and the rounds compose as bounded-range selections.

    Examples
    --------
    >>> import dither as dp
    >>> dp.TopK(count=2, sensitivity=1, epsilon=1).release([0, 900, 3000]).value
    [2, 1]
    """

    count: int
    each: NoisyMax
    adjacency: Adjacency | None

    def __init__(
        self,
        *,
        count: int,
        sensitivity: Number,
        epsilon: Number,
        noise: NoiseName = "gumbel",
        monotone: bool = False,
        candidates: int | None = None,
        adjacency: Adjacency | None = None,
    ) -> None:
        check.count(count=count)
        total = rational(epsilon, "epsilon")
        check.positive(epsilon=total)
        if candidates is not None:
            check.count(count, candidates=candidates)
        set_fields(self, count=count)
        each = NoisyMax(
            sensitivity=sensitivity, epsilon=total / count, noise=noise, monotone=monotone, candidates=candidates,
            adjacency=adjacency,
        )  # fmt: skip
        set_fields(self, each=each, adjacency=adjacency)

    def __repr__(self) -> str:
        noise = self.each.noise if self.each.noise != "gumbel" else None
        epsilon = self.count * self.each.epsilon
        return described(self, **{"count": self.count, **self.each._shown, "epsilon": epsilon, "noise": noise})

    @property
    def event(self) -> Event:
        """One selection, repeated `count` times."""
        return Repeated(self.each.event, self.count) if self.count > 1 else self.each.event

    @property
    def guarantee(self) -> Guarantee:
        """Pure ε-DP by basic composition (claim C3); `dp.compose` reads the event and finds less at δ > 0."""
        return PureDP(self.count * self.each.epsilon, adjacency=self.adjacency)

    def release(self, value: Numbers, *, candidates: Iterable[Any] | None = None) -> Release:
        """Select the winners, one round after the other.

        Parameters
        ----------
        value : sequence or array of numbers
            The exact score of each candidate, as in `NoisyMax.release`.
        candidates : iterable, optional
            What each position stands for, in the order of the scores.

        Returns
        -------
        Release
            `.value` is a list: the positions of the winners in the order of the rounds, or the winners if `candidates`
            are given.

        Raises
        ------
        ParameterError
            If fewer than `count` candidates can win, a score is NaN or +inf, or there is not one candidate for each
            score.
        """
        scores = Scores.of(value)
        self.each._check_count(len(scores))
        named = one_each(candidates, len(scores))
        possible = len(scores) if scores.entrants is None else len(scores.entrants)
        if possible < self.count:
            raise ParameterError(f"there must be at least count={self.count} candidates that may win. Ask for fewer.")
        return Release([named[i] for i in self._winners(scores)], self.event, self.guarantee, self)

    def _winners(self, scores: Scores) -> list[int]:
        winners: list[int] = []
        for _ in range(self.count):
            winners.append(self.each._winner(scores.without(winners)))
        return winners

    @property
    def expected_error(self) -> float:
        """The mean error of one round, at most: how far its winner is below the best of those that were left."""
        return self.each.expected_error

    def _error(self, beta: Fraction) -> float:
        """For all rounds at once: each is within the bound of one round at β/k."""
        return self.each._error(beta / self.count)

    def _interval(self, value: Any, level: Any) -> Interval:
        return self.each._interval(value, level)
