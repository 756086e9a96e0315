"""What a noisy histogram of half-octaves says about the records, and about those that the noise hides.

**The model.** Going outwards from the anchor, the number of records of a cell has a *level*, the octave of that number
in scales of the noise, or is 0; and a *slope*, by how many octaves it changes from cell to cell. A slope stays with
probability ½, and else becomes steeper: on a double logarithmic scale densities of data are concave (those of a
Gaussian, exponential, lognormal or Pareto law are). Once in as many cells as there are, records start anew, anywhere;
more often where an earlier look at joined cells saw some (`starts`), as its noise is another's.
That is a hidden Markov chain; the posterior of each cell follows by the forward-backward algorithm.

Beyond the last cell in which there are records for all that is known, no more start anew: the level goes on by its
slope, as far as the noisy counts allow. So far tails are what they seem to become, and no cell far out is feared that
nothing points to. That is where an answer can go wrong without the noisy counts telling: a few records far outside,
fewer than the noise hides.

**Is there anything?** `evidence` is ln P[noisy counts | chain]/P[noisy counts | no records]. By Markov's inequality the
ratio exceeds 10⁶ with probability 10⁻⁶ at most where there are no records: no range is chosen by noise alone. So does
any average of such ratios, and the product of ratios of looks one after the other, whose noise is independent.
`spread_out` is another: records in many cells, with few in each, fit no chain well, and their sum is beyond noise.

All of this is post-processing of released counts: privacy does not depend on it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dither.estimators.records import Floats

__all__ = ["Seen", "Tail"]

_SLOPES = (1.0, 0.0, -0.5, -1.0, -2.0, -4.0, -64.0)
"""Octaves to a half-octave; the last is an end: no more records."""

_LOWEST, _HIGHEST = -3, 40
"""Levels in octaves of one noise scale: fewer records than an eighth of it are none."""

_TILTS = (0.5, 0.75, 0.9)
"""Of sums of Laplace noise, which has no moment e^(t·noise) from t = 1 on."""

_STEEPER = 0.5
_NEGLIGIBLE = 1e-6
"""What is less likely does not count, or the farthest cells would outweigh all others."""


@dataclass(frozen=True)
class _Chain:
    """The transitions, the state in which records start anew, and how it begins. The last state is: no records."""

    going_on: Floats
    anew: Floats
    first: Floats
    octaves: Floats

    @classmethod
    @lru_cache(maxsize=16)
    def of(cls, highest: int, joined: int) -> _Chain:
        levels, slopes = highest - _LOWEST, len(_SLOPES)
        states = levels * slopes + 1
        going_on = np.zeros((states, states))
        going_on[-1, -1] = 1.0
        for slope in range(slopes):
            after = np.zeros(slopes)
            after[slope] = 1.0 if slope == slopes - 1 else 1 - _STEEPER
            after[slope + 1 :] = _STEEPER / max(slopes - 1 - slope, 1)
            for level in range(levels):
                for to in range(slope, slopes):
                    place = level + joined * _SLOPES[to]
                    for reached, part in ((int(place // 1), 1 - place % 1), (int(place // 1) + 1, place % 1)):
                        state = states - 1 if reached < 0 else to * levels + min(reached, levels - 1)
                        going_on[slope * levels + level, state] += after[to] * part
        anew = np.append(np.full(states - 1, 1 / (states - 1)), 0.0)
        first = np.append(np.full(states - 1, 0.5 / (states - 1)), 0.5)
        return cls(going_on, anew, first, np.exp2(np.arange(_LOWEST, highest + 1)))

    def forward(self, state: Floats, start: float) -> Floats:
        """Of the next cell, where records start anew with this probability."""
        return np.asarray((1 - start) * (state @ self.going_on) + start * state.sum() * self.anew)

    def backward(self, state: Floats, start: float) -> Floats:
        """The same from outside inwards."""
        return np.asarray((1 - start) * (self.going_on @ state) + start * float(self.anew @ state))


@dataclass(frozen=True)
class Seen:
    """One noisy count for each cell of a side, from the anchor outwards, with Laplace noise of this scale."""

    counts: Floats
    scale: float


@dataclass(frozen=True)
class Tail:
    """The cells of one side, as far as they are known."""

    chain: _Chain
    posterior: Floats
    """Of each state, by cell."""
    likelihood: Floats
    records: Floats
    """How many there would be, by cell and level; the last level is: none."""
    evidence: float
    spread_out: float
    """Another evidence: of records that are spread over many cells, with few in each."""

    @classmethod
    def of(cls, looks: Sequence[Seen], joined: int = 1, starts: Floats | None = None) -> Tail:
        """What one or several looks at the same cells say together.

        `joined` is how many half-octaves a cell has; `starts` how likely records start anew in each, one in as many as
        there are unless it is given.
        """
        scale = min(seen.scale for seen in looks)
        weights = [seen.scale**-2 for seen in looks]
        best = np.average([seen.counts for seen in looks], axis=0, weights=weights)
        cells = len(best)
        starts = np.full(cells, 1 / cells) if starts is None else starts
        highest = int(np.clip(np.ceil(np.log2(max(best.max(initial=1.0) / scale, 1.0))) + 2, 8, _HIGHEST))
        chain = _Chain.of(highest, joined)
        # Not below what doubles hold: counts that fit no level tell nothing about them.
        levels = np.maximum(np.prod([_likelihood(seen, scale, chain.octaves) for seen in looks], axis=0), 1e-280)
        levels /= levels.max(axis=1, keepdims=True)
        levels = np.maximum(levels, 1e-280)
        likelihood = np.concatenate([np.tile(levels[:, :-1], len(_SLOPES)), levels[:, -1:]], axis=1)
        forward, backward = np.empty_like(likelihood), np.ones_like(likelihood)
        evidence, state = 0.0, chain.first
        for at in range(cells):
            state = (state if at == 0 else chain.forward(state, starts[at])) * likelihood[at]
            total = state.sum()
            evidence += float(np.log(total) - np.log(likelihood[at, -1]))
            forward[at] = state = state / total
        for at in range(cells - 2, -1, -1):
            state = chain.backward(backward[at + 1] * likelihood[at + 1], starts[at + 1])
            backward[at] = state / state.sum()
        posterior = forward * backward
        posterior /= posterior.sum(axis=1, keepdims=True)
        low, high = chain.octaves[:-1], chain.octaves[1:]
        inside = np.where(high - low < 2, (low + high) / 2, np.clip(best[:, None] / scale, low, high))
        records = np.concatenate([inside, np.zeros((cells, 1))], axis=1) * scale
        return cls(chain, posterior, likelihood, records, evidence, _of_stretches(looks))

    def last_with(self, doubt: float | Floats) -> int:
        """The outermost cell that has records but for this probability; −1 if there is none."""
        found = np.flatnonzero(self.posterior[:, -1] < doubt)
        return int(found[-1]) if len(found) else -1

    def first_with(self, doubt: float) -> int:
        """The innermost one."""
        found = np.flatnonzero(self.posterior[:, -1] < doubt)
        return int(found[0]) if len(found) else -1

    @property
    def has_records(self) -> Floats:
        """How likely each cell has some."""
        return np.asarray(1 - self.posterior[:, -1])

    def moments(self, last: int) -> tuple[Floats, Floats]:
        """The mean number of records of each cell, and its root mean square; no new ones start beyond cell `last`."""
        known = self.posterior.copy()
        state = self.chain.first if last < 0 else known[last] @ self.chain.going_on
        for at in range(last + 1, len(known)):
            state = state * self.likelihood[at]
            known[at] = state = state / max(state.sum(), 1e-300)
            state = state @ self.chain.going_on
        levels = known[:, :-1].reshape(len(known), len(_SLOPES), -1).sum(axis=1)
        of_levels = np.concatenate([levels, known[:, -1:]], axis=1)
        of_levels = np.where(of_levels < _NEGLIGIBLE, 0.0, of_levels)
        return (of_levels * self.records).sum(axis=1), np.sqrt((of_levels * self.records**2).sum(axis=1))


def _likelihood(seen: Seen, unit: float, octaves: Floats) -> Floats:
    """Of each level, whose numbers are taken as equally likely, and of no records: by cell, up to a factor."""
    count, width = seen.counts[:, None] / seen.scale, seen.scale / unit
    above, below = count - octaves[1:] / width, count - octaves[:-1] / width
    rising = np.exp(-np.maximum(above, 0)) - np.exp(-np.maximum(below, 0))
    falling = np.exp(np.minimum(below, 0)) - np.exp(np.minimum(above, 0))
    some = (rising + falling) / 2 * width / np.diff(octaves)
    return np.concatenate([some, np.exp(-np.abs(count)) / 2], axis=1)


def _of_stretches(looks: Sequence[Seen]) -> float:
    """The average over all stretches of j cells and tilts t of e^(t·sum of noisy counts)·(1 − t²)^j, as ln.

    Each has the mean 1 where there is noise alone: e^(t·X) has the mean 1/(1 − t²) for Laplace noise X of scale 1, and
    less for that of whole numbers, (cosh a − 1)/(cosh a − cosh ta) with a = 1/scale: term by term in powers of a².
    """
    tilts = np.array(_TILTS)[:, None]
    cells = np.sum([tilts * seen.counts / seen.scale + np.log1p(-(tilts**2)) for seen in looks], axis=0)
    sums = np.concatenate([np.zeros((len(tilts), 1)), np.cumsum(cells, axis=1)], axis=1)
    first, after = np.triu_indices(sums.shape[1], 1)
    return float(np.logaddexp.reduce(sums[:, after] - sums[:, first], axis=None)) - math.log(len(tilts) * len(first))
