"""Privacy profiles by adding up the probabilities of both neighbours, point by point. Slow, plain, independent."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "gaussian_profile",
    "laplace_line",
    "largest_loss",
    "largest_profile",
    "masses",
    "profile_of",
    "shifted_profile",
    "thresholded_profile",
]

Masses = NDArray[np.longdouble]


def masses(weight: Callable[[NDArray[np.longdouble]], NDArray[np.longdouble]], reach: int) -> Masses:
    """P[X = x] for x = −reach … reach, of a law ∝ weight(|x|); what lies beyond must be negligible."""
    x = np.abs(np.arange(-reach, reach + 1)).astype(np.longdouble)
    found = weight(x)
    law: Masses = found / found.sum()
    return law


def profile_of(p: Masses, q: Masses, epsilon: float) -> float:
    """δ(ε) = Σ (p − e^ε q)₊, in the worse of both directions."""
    odds = np.exp(np.longdouble(epsilon))
    return float(max(np.maximum(p - odds * q, 0).sum(), np.maximum(q - odds * p, 0).sum()))


def shifted_profile(law: Masses, shift: int, epsilon: float) -> float:
    """δ(ε) between a law on the integers and itself moved by `shift`."""
    pad = np.zeros(shift, dtype=np.longdouble)
    return profile_of(np.concatenate([law, pad]), np.concatenate([pad, law]), epsilon)


def largest_profile(law: Masses, reach: int, epsilon: float) -> float:
    """The largest δ(ε) between a law on the integers and itself, moved by `reach` or less."""
    return max(shifted_profile(law, by, epsilon) for by in range(1, reach + 1))


def largest_loss(law: Masses, reach: int) -> float:
    """The largest privacy loss between a law on the integers and itself, moved by `reach` or less."""
    logs = np.log(law)
    return float(max(np.abs(logs[by:] - logs[:-by]).max() for by in range(1, reach + 1)))


def thresholded_profile(law: Masses, counts: tuple[int, int], threshold: int, epsilon: float) -> float:
    """δ(ε) between two counts of one bin, each shown with noise if that reaches the threshold; 0 is never shown."""
    reach = (len(law) - 1) // 2
    values = np.arange(-reach, reach + 1 + max(counts))
    sides = []
    for count in counts:
        shown = np.zeros(len(values), dtype=np.longdouble)
        shown[count : count + len(law)] = law
        shown[values < threshold] = 0
        if not count:
            shown[:] = 0
        sides.append(np.append(shown, 1 - shown.sum()))
    return profile_of(sides[0], sides[1], epsilon)


def gaussian_profile(mu: float, epsilon: float) -> float:
    """Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ)."""
    p = math.erfc((epsilon / mu - mu / 2) / math.sqrt(2)) / 2
    q = math.erfc((epsilon / mu + mu / 2) / math.sqrt(2)) / 2
    return p - math.exp(epsilon) * q


def laplace_line(largest: float, epsilon: float) -> float:
    """1 − e^{(ε−ε₀)/2}: Laplace noise on the line, ε₀ = Δ/b."""
    return max(0.0, -math.expm1((epsilon - largest) / 2))
