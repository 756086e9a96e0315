"""What a test would show of an event, foretold from how often it happened in the runs so far."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dither.audit.attack.curve import Allowed, Floats

__all__ = ["Counts", "Outlook"]

Counts = NDArray[np.int64]

_TEST_DEVIATIONS = 4.0
"""By which each of both counts is moved in a test: together, about a share of alpha = 1e-6."""


@dataclass(frozen=True)
class Outlook:
    """What a test with `runs` runs will show, from the counts of `seen` runs on both inputs.

    A count in the test varies by its root, which the test allows for; the count that it is foretold from, scaled up, by
    more: by so many deviations as `chance` does.
    """

    here: Counts
    there: Counts
    seen: int
    runs: int
    chance: float

    @property
    def _scale(self) -> float:
        return self.runs / self.seen

    def _foretold(self, counts: Counts) -> Floats:
        return np.asarray(counts * self._scale, dtype=np.float64)

    @cached_property
    def _deviations(self) -> float:
        """Those of the test and of chance together, in roots of the count."""
        return math.sqrt(_TEST_DEVIATIONS**2 + self._scale * self.chance**2)

    @cached_property
    def low(self) -> Floats:
        """About the lower end of the chance on the likelier input, as the test will show it."""
        count, deviations = self._foretold(self.here), self._deviations
        return np.maximum(_lowered(count, deviations), self.runs - _raised(self.runs - count, deviations)) / self.runs

    @cached_property
    def high(self) -> Floats:
        """About the upper end of the chance on the other input."""
        count, deviations = self._foretold(self.there), self._deviations
        return np.minimum(_raised(count, deviations), self.runs - _lowered(self.runs - count, deviations)) / self.runs

    def promise(self, allowed: Allowed) -> Floats:
        """How far beyond what is allowed the ends will be that the test shows."""
        return allowed.beyond(self.low, self.high)

    def surety(self, allowed: Allowed) -> Floats:
        """By how many standard deviations of both counts in the test it is beyond, less what chance does for it.

        Events of different chances are compared by this while none is proved yet: the noise of all is alike, whereas a
        promise is low for each rare event until there are many runs. About 1/p events have the chance p and are apart,
        so the luckiest of them is √(2 ln 1/p) deviations ahead.
        """
        here, there = self.here / self.seen, self.there / self.seen
        more = np.minimum(there + np.sqrt(np.maximum(self.there * (1 - there), 1.0)) / self.seen, 1.0)
        varied = np.sqrt(np.maximum(self.here * (1 - here), 1.0)) / self.seen
        most = allowed.most(there)
        beyond = (here - most) / np.hypot(varied, allowed.most(more) - most)
        lucky = self.chance * np.sqrt(1 - 2 * np.log(np.maximum(here, 1 / self.seen)))
        return np.asarray((beyond - lucky) * math.sqrt(self._scale))


def _lowered(hits: Floats, deviations: float) -> Floats:
    """A count that is so many standard deviations too large, by the cube roots of Wilson and Hilferty (1931)."""
    seen = np.maximum(hits, 1.0)
    root = np.maximum(1 - 1 / (9 * seen) - deviations / (3 * np.sqrt(seen)), 0.0)
    return np.where(hits > 0, seen * root * root * root, 0.0)


def _raised(hits: Floats, deviations: float) -> Floats:
    more = hits + 1
    root = 1 - 1 / (9 * more) + deviations / (3 * np.sqrt(more))
    return np.asarray(more * root * root * root)
