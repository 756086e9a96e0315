"""A broken mechanism: what it promises, what is true, and why it is broken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.guarantees import Guarantee
from dither.noise import DiscreteLaplace, entropy

__all__ = ["Specimen", "laplace", "uniform"]

STEPS = 64
"""Lattice steps to a unit, where noise is exact."""


@dataclass(frozen=True)
class Specimen:
    """A mechanism as it was published or shipped, with its claim and the truth; `dp.audit.attack` takes it as a target.

    Parameters
    ----------
    name : str
        What it is called.
    many : callable
        ``many(input, size)`` returns the answers of so many runs on one input.
    neighbours : str
        The family of its inputs.
    guarantee : Guarantee
        What it claims.
    truth : float
        The smallest ε that is known to be true at the δ it claims, on the lattice of its noise; ∞ if there is none.
    why : str
        What is wrong with it, or why it is right.
    is_broken : bool, default True
        Whether its claim is false.
    samples : int, default 100000
        With so many runs on each input its claim is refuted.
    """

    name: str
    many: Callable[[Any, int], Any]
    neighbours: str
    guarantee: Guarantee
    truth: float
    why: str
    is_broken: bool = True
    samples: int = 100_000

    def __str__(self) -> str:
        return self.name


def laplace(scale: Fraction | float, shape: int | tuple[int, ...]) -> NDArray[np.float64]:
    """Laplace noise on the multiples of 1/64, exactly drawn: as private as on the line for values of that lattice."""
    return np.asarray(DiscreteLaplace(Fraction(scale) * STEPS).sample(shape) / STEPS, dtype=np.float64)


def uniform(size: int) -> NDArray[np.float64]:
    """Floats in (0, 1], multiples of 2^-53: what textbook samplers start from."""
    return np.asarray(((entropy.current().words(size) >> np.uint64(11)) + np.uint64(1)) * 2.0**-53)
