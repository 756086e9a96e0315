"""Which floats can come out: a look at the lowest bits of the answers, in less than a second.

A sampler in floating point reaches only some numbers, and which ones depends on the value to which noise is added
(Mironov 2012; Haney et al. 2022 for the precision attack). Near 0, value 0 gives numbers with bits far below those of
value 1, whose sum with noise was rounded to the grid of 1. So one answer may tell the value, whatever ε is claimed.

The look: on each of two inputs, how fine is the grid 2^k ℤ that holds an answer, and how often. The test is the exact
one of `attack`, on the event "the answer is not on the grid 2^k ℤ" for one k that other answers proposed.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.audit.attack.hunt import attack, claim_of
from dither.audit.attack.outcomes import lowest_bits
from dither.audit.attack.target import AttackTarget, as_target
from dither.audit.attack.verdict import Verdict
from dither.errors import ParameterError
from dither.exact import Number

__all__ = ["Support", "support"]

_RUNS = 20_000


@dataclass(frozen=True)
class Support:
    """What the lowest bits of the answers say about the input."""

    grids: tuple[int, int]
    """For each input, k of the coarsest grid 2^k ℤ on which all answers lay, among those that are not 0."""
    verdict: Verdict
    """Whether the grid alone refutes the claim."""

    @property
    def has_leak(self) -> bool:
        """Whether the lowest bits tell the inputs apart by more than is claimed."""
        return self.verdict.violated

    def __str__(self) -> str:
        found = "the lowest bits tell the inputs apart" if self.has_leak else "the lowest bits tell nothing more"
        return f"Grids 2^{self.grids[0]} and 2^{self.grids[1]}: {found}. {self.verdict}"


def support(
    target: Any,
    neighbours: Any = (0.0, 1.0),
    epsilon: Number | None = None,
    *,
    samples: int = _RUNS,
    alpha: Number = Fraction(1, 10**6),
) -> Support:
    """Look at the lowest bits of numbers that come out on two neighbouring inputs, which are given as a pair.

    They may tell as much as ε allows: unless given, what a mechanism promises itself, and 1 for a function.

    >>> import dither as dp
    >>> dp.audit.support(dp.Laplace(sensitivity=1, epsilon=1)).has_leak
    False
    """
    if not (isinstance(neighbours, tuple) and len(neighbours) == 2):
        raise ParameterError("neighbours must be a pair (left, right).")
    if neighbours[0] is neighbours[1]:
        raise ParameterError("neighbours must be two different inputs.")
    whole = as_target(target)
    coarsest: dict[int, int] = {}

    def bits(data: Any, runs: int) -> NDArray[np.float64]:
        found = lowest_bits(whole.rows(data, runs))
        side = int(data is neighbours[1])
        coarsest[side] = min(coarsest.get(side, 2000), int(np.nanmin(found, initial=2000)))
        return found

    claim = claim_of(target, epsilon)
    verdict = attack(AttackTarget(whole.name, bits), neighbours, claim=claim, samples=samples, alpha=alpha)
    return Support((coarsest[0], coarsest[1]), verdict)
