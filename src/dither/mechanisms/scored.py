"""Your own selection: candidates and a score function go in with the data, the best candidate comes out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from dither.adjacency import Adjacency
from dither.errors import ParameterError
from dither.events import Event
from dither.exact import Ball, Number, check, listed, set_fields
from dither.guarantees import Guarantee
from dither.mechanisms.released import Release
from dither.mechanisms.selection import Exponential, NoiseName, NoisyMax
from dither.noise.race import Scores

__all__ = ["ScoredSelection"]


@dataclass(frozen=True, init=False)
class ScoredSelection:
    """Select the best of your candidates by a score function of your own: the framework (Y, q, Δ) of selection.

    `release(data)` computes q(y; data) for each candidate y and selects by noisy scores.

    Parameters
    ----------
    candidates : iterable
        Y, the public set of possible outputs, in any order: hashable, all different.
    score : callable
        q, a function of a candidate and the data: the larger, the better. −inf marks a candidate that cannot win, which
        must be so on all neighbouring datasets.
    sensitivity : Number
        Δ, the most that any q(y; ·) can move between neighbouring datasets. It is trusted; `dp.sensitivity.world`
        computes it for a small universe.
    epsilon : Number
        The privacy budget ε > 0.
    noise : {"exponential", "gumbel", "laplace"}, default "exponential"
        Report noisy max with this noise; "gumbel" is the exponential mechanism.
    weights : sequence, array, mapping or callable, optional
        The base measure of the exponential mechanism: a positive public weight for each candidate in their order, or
        by candidate, or a function of a candidate. Only for "gumbel" noise.
    monotone : bool, default False
        Whether a change of the data moves all scores in the same direction: then half the noise suffices.
    adjacency : Adjacency, optional
        Which datasets are neighbours. By default unstated.

    Raises
    ------
    ParameterError
        If there are no candidates, one stands twice or is not hashable, `score` cannot be called, or there is not one
        positive weight for each candidate.

    Notes
    -----
    McSherry and Talwar 2007; claims C12 and C14. A score that raises an error on some data reveals that it did: let it
    answer for every dataset.

    Examples
    --------
    >>> import dither as dp
    >>> willing = [0.2, 0.4, 0.4, 0.5, 0.9] * 50  # what people would pay for a song
    >>> revenue = lambda price, data: price * sum(x >= price for x in data)
    >>> prices = dp.ScoredSelection(
    ...     ["0.1", "0.4", "0.9"], lambda p, data: revenue(float(p), data), sensitivity=1, epsilon=2
    ... )
    >>> prices.scores(willing)
    [25.0, 80.0, 45.0]
    >>> prices.release(willing).value
    '0.4'
    """

    candidates: tuple[Any, ...]
    score: Callable[[Any, Any], Number]
    weights: tuple[Any, ...] | None
    mechanism: Exponential | NoisyMax = field(repr=False)

    def __init__(
        self,
        candidates: Iterable[Any],
        score: Callable[[Any, Any], Number],
        sensitivity: Number,
        *,
        epsilon: Number,
        noise: NoiseName = "exponential",
        weights: Sequence[Number] | NDArray[Any] | Mapping[Any, Number] | Callable[[Any], Number] | None = None,
        monotone: bool = False,
        adjacency: Adjacency | None = None,
    ) -> None:
        known = listed(candidates, "candidates")
        if not known:
            raise ParameterError("candidates must be one or more. Give the public set of possible outputs.")
        check.takes(2, score=score)
        check.distinct(candidates=known)
        shares = None if weights is None else _shares(weights, known)
        if shares is not None and noise != "gumbel":
            raise ParameterError('weights belong to noise="gumbel": other noise has no base measure. Leave them out.')
        options: dict[str, Any] = {"monotone": monotone, "candidates": len(known), "adjacency": adjacency}
        mechanism = (
            Exponential(sensitivity=sensitivity, epsilon=epsilon, **options)
            if noise == "gumbel"
            else NoisyMax(sensitivity=sensitivity, epsilon=epsilon, noise=noise, **options)
        )
        set_fields(self, candidates=known, score=score, weights=shares, mechanism=mechanism)

    @property
    def event(self) -> Event:
        """One selection."""
        return self.mechanism.event

    @property
    def guarantee(self) -> Guarantee:
        """Pure ε-DP; a release may cost less, and carries its own guarantee."""
        return self.mechanism.guarantee

    def scores(self, data: Any) -> list[Any]:
        """Compute the score of every candidate; they are as private as the data.

        Parameters
        ----------
        data : Any
            The dataset, as `score` takes it.

        Returns
        -------
        list
            q(y; data) by candidate.
        """
        return [self.score(candidate, data) for candidate in self.candidates]

    def release(self, data: Any) -> Release:
        """Select a candidate by noisy scores.

        Parameters
        ----------
        data : Any
            The dataset, as `score` takes it.

        Returns
        -------
        Release
            `.value` is one of the candidates.

        Raises
        ------
        ParameterError
            If a score is NaN or +inf.
        """
        if isinstance(self.mechanism, Exponential):
            return self.mechanism.release(self.scores(data), weights=self.weights, candidates=self.candidates)
        return self.mechanism.release(self.scores(data), candidates=self.candidates)

    def probabilities(self, data: Any) -> dict[Any, Ball]:
        """Compute the exact probability of each candidate; it reveals the scores, so do not publish it.

        Parameters
        ----------
        data : Any
            The dataset, as `score` takes it.

        Returns
        -------
        dict
            For each candidate a ball (certified interval) that contains the probability that it is selected.
        """
        scores = self.scores(data)
        if isinstance(self.mechanism, Exponential):
            chances = self.mechanism.probabilities(scores, weights=self.weights)
        else:
            chances = self.mechanism.probabilities(scores)
        return dict(zip(self.candidates, chances, strict=True))


def _shares(weights: Any, candidates: tuple[Any, ...]) -> tuple[Any, ...]:
    """A weight for each candidate, checked: none is read for another one."""
    if isinstance(weights, Mapping):
        if set(weights) != set(candidates):
            raise ParameterError("weights by candidate must have the candidates as keys, all of them and no others.")
        found = tuple(weights[candidate] for candidate in candidates)
    elif callable(weights):
        check.takes(1, weights=weights)
        found = tuple(map(weights, candidates))
    elif isinstance(weights, Set):
        raise ParameterError("weights must be in the order of the candidates: a set has none. Give a list.")
    else:
        found = listed(weights, "weights")
    if len(found) != len(candidates):
        raise ParameterError(f"weights must be one for each of {len(candidates)} candidates, got {len(found)}.")
    Scores.of([0] * len(found), found)
    return found
