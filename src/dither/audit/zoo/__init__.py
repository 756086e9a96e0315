"""Mechanisms that promise too much, as they were published or shipped, beside right ones that must not be accused.

Broken code lives here and nowhere else. `dither audit --zoo` shows that the auditor recognises every one.
"""

from dither.audit.zoo import additive, discovery, noisy_values, sampling, sparse_vectors, tested_releases
from dither.audit.zoo.specimen import Specimen

__all__ = ["SPECIMENS", "Specimen"]

SPECIMENS: tuple[Specimen, ...] = (
    *sparse_vectors.SPECIMENS,
    *noisy_values.SPECIMENS,
    *additive.SPECIMENS,
    *tested_releases.SPECIMENS,
    *discovery.SPECIMENS,
    *sampling.SPECIMENS,
)
"""All of them; `is_broken` is True for those that promise too much."""
