"""A mechanism as the contract suite sees it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.mechanisms import Mechanism, Release

__all__ = ["Case", "ErrorLaw", "Errors"]

Errors = NDArray[np.float64]


@dataclass(frozen=True)
class ErrorLaw:
    """The exact law of the errors that a case draws, found without the code under test."""

    beyond: Callable[[float], float]
    """The chance of an error greater than this."""
    mean: float
    one: float | None = None
    """What `expected_error` speaks of, where the errors drawn are of another kind."""


@dataclass(frozen=True)
class Case:
    """One mechanism, with what the suite must know to put it to the test; `missing` says what is not there."""

    name: str
    make: Callable[[], Mechanism]
    value: Any
    """Something it may be asked to release."""
    refused_builds: Sequence[Callable[[], object]] = ()
    """Each must raise `ParameterError`: bad sensitivities, budgets, scales."""
    refused_values: Sequence[Any] = ()
    """Each must be refused by `release`, with nothing drawn."""
    release: Callable[[Any, Any], Release] = lambda mechanism, value: mechanism.release(value)

    quieter: Callable[[], Mechanism] | None = None
    """The same with 10 % less noise: it must not pass for `make()`."""
    louder: Callable[[], Mechanism] | None = None
    """The same with 10 % more noise: nor must this, and its guarantee must be too small for `make()`."""

    profile: Callable[[float], float] | None = None
    """The largest δ(ε) over neighbours, found without the code under test."""
    slack: float = 1e-9
    """How far the release's own guarantee may lie above `profile`, relatively (and 1e-15 absolutely).

    Infinite where the guarantee promises less than a whole curve, such as ε alone; then `largest_loss` is close to it.
    """
    epsilons: Sequence[float] = field(default=(0.0, 0.1, 0.5, 1.0, 2.0))
    largest_loss: Callable[[], float] | None = None
    """The largest privacy loss over neighbours, for a guarantee of pure DP, found without the code under test."""

    errors: Callable[[Mechanism, int], Errors] | None = None
    """The errors of so many independent releases of this mechanism, on data that `make()` finds hardest."""
    error_law: Callable[[], ErrorLaw] | None = None
    """Their law, for `make()`."""
    beta: float = 0.05
    bound: Callable[[Mechanism], float] | None = None
    """Where errors are counted; None: beyond `error(beta)`. Given where `error` does not speak of these errors."""
    error_is_exact: bool = True
    """Whether `error(beta)` is the smallest bound for these errors; if not, it is only never too small."""
    mean_is_exact: bool = True
    """Whether `expected_error` is the mean of these errors; if not, it is only never too small."""

    def __str__(self) -> str:
        return self.name

    @property
    def missing(self) -> list[str]:
        """What the suite cannot do without."""
        wanted = ["refused_builds", "refused_values", "quieter", "louder", "profile", "errors", "error_law"]
        return [name for name in wanted if not getattr(self, name)]
