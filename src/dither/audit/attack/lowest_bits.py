"""Which floats can come out: a look at the lowest bits of the answers, in less than a second.

A sampler in floating point reaches only some numbers, and which ones depends on the value to which noise is added
(Mironov 2012; Haney et al. 2022 for the precision attack). Near 0, value 0 gives numbers with bits far below those of
value 1, whose sum with noise was rounded to the grid of 1. So one answer may reveal the value, whatever ε is claimed.

The look: on each of two inputs, how fine is the grid 2^k ℤ that holds an answer, and how often. The test is the exact
one of `attack`, on the event "the answer is not on the grid 2^k ℤ" for one k that other answers proposed.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.audit.attack.lower_bound import attack, claim_of
from dither.audit.attack.outcomes import lowest_bits
from dither.audit.attack.target import AttackTarget, as_target
from dither.audit.attack.verdict import Verdict
from dither.errors import ParameterError
from dither.exact import Number

__all__ = ["Support", "support"]

_RUNS = 20_000


@dataclass(frozen=True)
class Support:
    """The result of `support`: what the lowest bits of the answers reveal about the input.

    Parameters
    ----------
    grids : tuple of int
        For each of both inputs, k of the coarsest grid 2^k ℤ on which all answers lay that are not 0.
    verdict : Verdict
        Whether the grid alone refutes the claim.
    """

    grids: tuple[int, int]
    verdict: Verdict

    @property
    def has_leak(self) -> bool:
        """Whether the lowest bits distinguish the inputs by more than is claimed."""
        return self.verdict.violated

    def __str__(self) -> str:
        found = "the lowest bits distinguish the inputs" if self.has_leak else "the lowest bits reveal nothing more"
        return f"Grids 2^{self.grids[0]} and 2^{self.grids[1]}: {found}. {self.verdict}"


def support(
    target: Any,
    neighbours: Any = (0.0, 1.0),
    epsilon: Number | None = None,
    *,
    samples: int = _RUNS,
    alpha: Number = Fraction(1, 10**6),
) -> Support:
    """Test whether the lowest bits of floating-point answers reveal the input.

    Noise that is drawn in floating point reaches only some numbers, and which ones depends on the value to which it is
    added (Mironov 2012; Haney et al. 2022). This looks only at the grid 2^k ℤ on which answers lie, and takes less than
    a second; `attack` looks at everything.

    Parameters
    ----------
    target : Any
        A mechanism, a function of one input, or an object with a method ``many(input, size)``, as in `attack`.
    neighbours : tuple, default (0.0, 1.0)
        The two neighbouring inputs (left, right).
    epsilon : Number, optional
        The claim. By default what a mechanism promises itself, and 1 for a function.
    samples : int, default 20000
        The number of runs on each input.
    alpha : Number, default 1e-6
        The probability that a target without leak is accused; an upper bound.

    Returns
    -------
    Support
        `has_leak` is the answer; `verdict` has the numbers.

    Raises
    ------
    ParameterError
        If `neighbours` is not a pair of two different inputs, or a number is out of range.

    Examples
    --------
    >>> import dither as dp
    >>> dp.audit.support(dp.Laplace(sensitivity=1, epsilon=1), alpha="1e-11").has_leak
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
