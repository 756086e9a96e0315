"""A mechanism as the contract suite sees it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.mechanisms import Mechanism

__all__ = ["Case", "Errors"]

Errors = NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """One mechanism, with what the suite must know to put it to the test."""

    name: str
    make: Callable[[], Mechanism]
    value: Any
    """Something it may be asked to release."""
    refused_builds: Sequence[Callable[[], object]] = ()
    """Each must raise `ParameterError`: bad sensitivities, budgets, scales."""
    refused_values: Sequence[Any] = ()
    """Each must be refused by `release`, with nothing drawn."""
    profile: Callable[[float], float] | None = None
    """The true δ(ε) for the worst neighbours of `value`, found without the code under test; None: not known."""
    slack: float = 1e-9
    """How far the release's own guarantee may lie above `profile`, relatively (and 1e-15 absolutely).

    Infinite where `profile` is that of some neighbours, and the guarantee a bound for all of them.
    """
    errors: Callable[[Mechanism, int], Errors] | None = None
    """The absolute errors of so many independent releases; None where an error is not a number."""
    worst_errors: Callable[[Mechanism, float, int], Errors] | None = None
    """The errors of so many releases where as much as possible lies just beyond the given bound; for selection."""
    quieter: Callable[[], Mechanism] | None = None
    """The same with 10 % less noise: it must not pass for `make()`."""
    epsilons: Sequence[float] = field(default=(0.0, 0.1, 0.5, 1.0, 2.0))

    def __str__(self) -> str:
        return self.name
