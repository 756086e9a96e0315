"""Noise on one stream of whole numbers: what is measured in each period, and the answers that follow from it.

y_t = Σ_{s≤t} A_ts x_s gets independent Gaussian noise on the integers. From the noisy y alone follows x̂ = A^{−1} y, in
steps of 2^-40 and in whole numbers, so that nothing drifts: totals are exact sums of x̂.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np

from dither.continual.encoders import Encoder, Wide, widened
from dither.exact import once
from dither.mechanisms.additive import Noising
from dither.mechanisms.matrix import gaussian_reach
from dither.noise import DiscreteGaussian
from dither.workloads.strategies.strategy import Floats

__all__ = ["FRACTION_BITS", "Step", "Track", "TrackNoise"]

FRACTION_BITS: Final = 40
_DECODED: Final = 2.0**-14
"""x̂ is rounded down to 2^-40, and so is what it is made of: in y that is 2·A_tt·2^-40 at most, and A_tt < 2^25."""


@dataclass(frozen=True, slots=True)
class Step:
    """What one period adds: the exact numbers, which are secret, and those that were made of the noisy ones."""

    exact: Wide
    decoded: Wide


@dataclass(frozen=True)
class TrackNoise:
    """An encoder with its noise: what is known of the errors before there is any data."""

    encoder: Encoder
    noising: Noising

    @property
    def variance(self) -> float:
        """Of the noise on y."""
        law = self.noising.law
        assert isinstance(law, DiscreteGaussian), "streams have Gaussian noise"
        return float(law.variance)

    @once
    def _lengths(self) -> dict[int | None, Floats]:
        return {}

    def lengths(self, window: int | None) -> Floats:
        """‖c_t‖ of the sum over the last `window` periods, or over all, in each period t."""
        if window not in self._lengths:
            self._lengths[window] = np.sqrt(self.encoder.row_squares(window))
        return self._lengths[window]

    def deviation(self, window: int | None, period: int) -> float:
        """The standard deviation of the error of such a sum."""
        return float(self.lengths(window)[period]) * math.sqrt(self.variance)

    def reach(self, window: int | None, period: int, miss: Fraction) -> float:
        """How far such a sum is from the exact one, except with probability `miss`; never too small."""
        rounding = 0.5 + self.encoder.rounding + _DECODED
        return float(self.lengths(window)[period]) * gaussian_reach(self.variance, period + 1, miss, rounding)


class Track:
    """One stream in the making: as many coordinates as there are groups, times the numbers of each."""

    def __init__(
        self,
        noise: TrackNoise,
        coordinates: int,
        saved: Sequence[Sequence[Sequence[int]]] | None = None,
        period: int = 0,
    ) -> None:
        self.noise = noise
        self.period = period
        exact, decoded = (None, None) if saved is None else saved
        self._exact = noise.encoder.memory(coordinates, exact)
        self._decoded = noise.encoder.memory(coordinates, decoded)

    def draw(self, exact: Wide) -> Step:
        """Noise for the next period; nothing is remembered of it until `add`. There may be more numbers than before."""
        numbers = np.array([int(each) for each in exact], dtype=object)
        diagonal = self.noise.encoder.diagonal(self.period)
        past, decoded_past = (widened(each.past(), len(numbers)) for each in (self._exact, self._decoded))
        noisy = np.asarray(self.noise.noising.add(past + diagonal * numbers)).astype(object)
        decoded = ((noisy << FRACTION_BITS) - decoded_past) // diagonal
        return Step(numbers, decoded)

    def add(self, step: Step) -> None:
        """Go on to the next period."""
        self._exact.add(step.exact)
        self._decoded.add(step.decoded)
        self.period += 1

    def saved(self) -> list[list[list[int]]] | None:
        """The two memories, if they are of fixed size."""
        exact, decoded = self._exact.saved(), self._decoded.saved()
        return None if exact is None or decoded is None else [exact, decoded]
