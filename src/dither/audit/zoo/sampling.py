"""Batches that are shuffled, with the discount of batches that are sampled."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dither.audit.zoo.specimen import STEPS, Specimen, uniform
from dither.guarantees import ApproxDP
from dither.noise import DiscreteGaussian

__all__ = ["BATCHES", "DELTA", "SIGMA", "SPECIMENS"]

BATCHES, SIGMA, DELTA = 10, Fraction(3, 10), Fraction(66, 100)
"""δ(1) of ten Poisson-sampled batches at rate 1/10 is at most this; a test recomputes it with the accountant."""


def shuffled(records: Sequence[float], runs: int) -> NDArray[np.float64]:
    """One epoch: the records dealt into ten batches by a shuffle, and the noisy sum of each batch.

    A record more takes a random place, and who had that one takes the last: two batches change, by v − w and w for
    values v and w in [0, 1]. That is a Gaussian answer of ℓ₂-sensitivity √2, whatever the shuffle.
    """
    size = len(records)
    found = np.asarray(DiscreteGaussian(SIGMA**2 * STEPS**2).sample((runs, BATCHES)) / STEPS, dtype=np.float64)
    if size:
        order = uniform(runs * size).reshape(runs, size).argsort(axis=1)
        values = np.clip(records, 0, 1)
        for record in np.flatnonzero(values):
            found[np.arange(runs), order[:, record] % BATCHES] += values[record]
    return found


SPECIMENS = (
    Specimen(
        "shuffled batches as Poisson sampling",
        shuffled,
        "add or remove",
        ApproxDP(1, DELTA),
        8.14,
        "in a shuffle each record is in some batch; sampled, it is in none with probability 0.35",
    ),
)
