"""Where most people are below the noise of a look: draws of the shapes that could be there, by their likelihood.

The law of the noise is known, so noisy counts have an exact likelihood under each shape: N people who are spread over
the bins by a law. Shapes are taken from a family, equally likely beforehand, beside nobody at all. Bins in which nobody
stands out by themselves still tell together how many people there are, and of which size.

Against nobody, the shapes' average likelihood ratio has the mean 1 if nobody is there, so that noise alone exceeds
`_EVIDENCE` with probability 1/`_EVIDENCE` at most (Markov's inequality). Post-processing, which costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import TypeAlias

import numpy as np
import scipy
from numpy.typing import NDArray

from dither.engine.supposed import Draws
from dither.engine.tails import drawn_from

__all__ = ["Likely", "likely_counts", "likely_counts_of_values"]

_Floats: TypeAlias = NDArray[np.float64]
_EVIDENCE = 100.0
_PEOPLE = 2.0 ** (np.arange(-2, 41) / 2)
"""Numbers of people that are looked at, in scales of the noise."""
_SHARES_OF_KNOWN = ((0.25, 0.05), (0.5, 0.05), (0.7, 0.1), (0.85, 0.2), (1.0, 0.4), (1.15, 0.2))
"""Of people whose number an earlier look showed, the parts that may have a value; and how likely that is."""
_SPREADS = (0.1, 0.5, 1.0, 1.5, 2.0, 2.5)
"""Standard deviations of the logarithm of a size, in octaves."""
_SPREADS_OF_GROUPS = (0.2, 1.0)
_SLOPES = (0.0, 1.0)
"""By so many octaves more groups are those who have one standard deviation more rows."""
_LARGEST = 12
"""The largest median of numbers of rows, in octaves."""


@dataclass(frozen=True, slots=True)
class Likely:
    """Draws of the counts of the bins, and the logarithm of the average likelihood ratio against nobody."""

    counts: _Floats
    evidence: float


def likely_counts(noisy: _Floats, edges: Sequence[Sequence[int]], scale: float, rng: Draws) -> Likely | None:
    """Draws of counts by rows, and by groups if there are two sets of edges; None if nobody seems to be there."""
    rows = _octaves(edges[0])
    medians = np.arange(0.0, _LARGEST + 0.25, 0.5)
    if len(edges) == 1:
        laws = [_between(rows, median, spread) for median, spread in product(medians, _SPREADS)]
        return _drawn(noisy, np.array(laws), scale, rng)
    groups = _octaves(edges[1])
    inner = np.r_[rows[1] - 1, rows[1:-1], rows[-2] + 1]
    places = (inner[1:] + inner[:-1]) / 2
    most = math.log2(edges[1][-2]) + 1
    of_groups = list(product(np.arange(0.0, most + 0.5, 0.5), _SPREADS_OF_GROUPS))
    joint = []
    for median, spread in product(medians, _SPREADS):
        of_rows = _between(rows, median, spread)
        for slope in _SLOPES:
            shifts = slope * np.clip((places - median) / spread, -3, 3)
            for middle, wide in of_groups:
                within = np.diff(scipy.special.ndtr((groups - middle - shifts[:, None]) / wide), axis=1)
                joint.append((of_rows[:, None] * within).ravel())
    return _drawn(noisy, np.array(joint), scale, rng)


def likely_counts_of_values(
    noisy: _Floats, edges: _Floats, scale: float, rng: Draws, people: float | None = None
) -> Likely | None:
    """The same for values by their size: above 0, below 0, or on both sides of it.

    Where an earlier look showed how many `people` there are, they have their values somewhere: nobody at all is no
    shape, and other numbers than theirs, of whom some may have no value, are unlikely.
    """
    return _drawn(noisy, _laws_of_values(tuple(edges.tolist())), scale, rng, people)


@lru_cache(maxsize=4)
def _laws_of_values(ends: tuple[float, ...]) -> _Floats:
    edges = np.array(ends)
    largest = np.log2(np.max(np.abs(edges)))
    laws = []
    for median, spread in product(np.arange(largest - 24, largest + 0.25, 0.5), _SPREADS):
        for sides in ((1.0, 0.0), (0.0, 1.0), (0.5, 0.5)):
            with np.errstate(divide="ignore"):
                below = scipy.special.ndtr((np.log2(np.abs(edges)) - median) / spread)
            running = np.where(edges >= 0, sides[1] + sides[0] * below, sides[1] * (1 - below))
            running[0], running[-1] = 0.0, 1.0
            laws.append(np.diff(running))
    found: _Floats = np.unique(np.array(laws), axis=0)
    return found


def _octaves(edges: Sequence[int]) -> _Floats:
    """The ends of bins of whole numbers, half way to the number before; the first and the last bin have all beyond."""
    found: _Floats = np.log2(np.array(edges, dtype=np.float64) - 0.5)
    found[0], found[-1] = -math.inf, math.inf
    return found


def _between(ends: _Floats, median: float, spread: float) -> _Floats:
    return np.asarray(np.diff(scipy.special.ndtr((ends - median) / spread)))


def _drawn(looked: _Floats, laws: _Floats, scale: float, rng: Draws, known: float | None = None) -> Likely | None:
    """Draws from laws p and numbers N, as often as the likelihood of Laplace noise says, of people spread by N·p."""
    noisy = looked.ravel()
    people, beforehand = _numbers(noisy, laws, scale) if known is None else _near_known(known, laws)
    nobody = np.abs(noisy).sum()
    gains = np.stack(
        [(nobody - np.abs(noisy - number[:, None] * laws).sum(axis=1)) / scale for number in people.T], axis=1
    )
    highest = float(gains.max())
    weights = np.exp(gains - highest) * beforehand
    evidence = highest + math.log(weights.sum())
    if known is None and evidence < math.log(_EVIDENCE):
        return None
    law, number = np.unravel_index(drawn_from(weights.ravel(), rng), weights.shape)
    counts = rng.poisson(people[law, number, None] * laws[law]).astype(np.float64)
    return Likely(counts.reshape(len(law), *looked.shape), evidence)


def _numbers(noisy: _Floats, laws: _Floats, scale: float) -> tuple[_Floats, _Floats]:
    """Numbers of people that suit each law best, of a list for all, and how likely each is beforehand."""
    best = laws @ noisy / np.maximum(np.sum(laws**2, axis=1), 1e-300)
    nearest = np.searchsorted(_PEOPLE, best / scale)
    tried = np.clip(nearest[:, None] + np.arange(-2, 2), 0, len(_PEOPLE) - 1)
    beforehand = np.full(tried.shape, 1 / (len(laws) * len(_PEOPLE)))
    beforehand[:, 1:][tried[:, 1:] == tried[:, :-1]] = 0.0  # at the ends of the list
    return scale * _PEOPLE[tried], beforehand


def _near_known(known: float, laws: _Floats) -> tuple[_Floats, _Floats]:
    """Numbers near one that is known, and how likely each is beforehand."""
    shares, beforehand = np.array(_SHARES_OF_KNOWN).T
    return np.tile(known * shares, (len(laws), 1)), np.tile(beforehand / len(laws), (len(laws), 1))
