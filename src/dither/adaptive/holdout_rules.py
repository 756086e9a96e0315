"""When a finding of the training set counts as overfitted, what the holdout then says, and what both promise."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from dither.adaptive.mean import ROUNDING, QueryMean
from dither.adaptive.transfer import expected_shortfall, gap, laplace_epsilon
from dither.adjacency import REPLACE_ONE
from dither.events import SparseVectorRun
from dither.exact import Ball, ball, once, precision
from dither.exact.certified import above, exactly_above
from dither.guarantees import ApproxDP, Guarantee, PureDP
from dither.mechanisms import SparseVector

__all__ = ["RULES", "NoisyRule", "RoundedRule", "Rule"]

_BITS = 128


class Session(Protocol):
    """Questions to one rule; what was drawn for it stays with it."""

    def ask(self, value: Fraction) -> Any: ...


@dataclass(frozen=True)
class Rule(ABC):
    """When a finding counts as overfitted, and what the holdout of `rows` rows then says."""

    rows: int
    threshold: Fraction
    """T: how far the two means may lie apart."""
    checks: int
    """k: how many findings may be checked."""
    max_overfit: int
    """B: how many of them may be overfitted."""
    mean: QueryMean

    name: ClassVar[str]
    theorem: ClassVar[str]

    @abstractmethod
    def error(self, beta: Fraction) -> float:
        """All answers are within this of the population except with probability β; never below what is proved."""

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """What all answers reveal about one row of the holdout, under replace-one."""

    @abstractmethod
    def start(self) -> Session:
        """Says whether a distance is above the threshold, again and again."""

    @abstractmethod
    def answer(self, parts: NDArray[np.int64]) -> float:
        """What the holdout says about an overfitted finding."""


@dataclass(frozen=True)
class NoisyRule(Rule):
    """Sparse vector (claim C30) on |mean on the training set − mean on the holdout|, which one row moves by 1/n.

    The answers get Laplace noise of the same scale b as the comparisons. So every answer is within
    X = T + |ρ| + (the largest of k + B noises) of the mean on the holdout, ρ being the noise of the threshold; ES_β is
    subadditive, and the whole is ε-DP, so that transfer.md promises ES_β(|ρ|) + ES_β(largest) + T + tanh(ε/4).
    """

    sparse: SparseVector

    name: ClassVar[str] = "sparse vector"
    theorem: ClassVar[str] = "sparse vector, expected shortfall and pure privacy (transfer.md)"

    @classmethod
    def best(cls, rows: int, threshold: Fraction, checks: int, max_overfit: int, beta: Fraction) -> NoisyRule:
        """The ε that balances the noise against what the answers give away, up to the split of the sparse vector."""
        share = 1 / (1 + (2 * max_overfit) ** (2 / 3))  # ε₁ as a share of ε₁ + ε₂
        one = float(expected_shortfall("laplace", 1, beta)) / share
        many = float(expected_shortfall("laplace", checks + max_overfit, beta)) * 2 * max_overfit / (1 - share)
        cost = share + 1.5 * (1 - share)  # all of ε₁ + ε₂ + ε₂/2
        comparing = laplace_epsilon(cost * (one + many) / rows) / cost
        sparse = SparseVector(
            threshold=threshold,
            epsilon=f"{comparing:.6g}",
            max_above=max_overfit,
            sensitivity=Fraction(1, rows),
            adjacency=REPLACE_ONE,
        )
        mean = QueryMean.laplace(rows, _comparisons(sparse).query_scale)
        return cls(rows, threshold, checks, max_overfit, mean, sparse)

    @property
    def guarantee(self) -> PureDP:
        """ε of the comparisons and of B answers."""
        answers = self.mean.composed(self.max_overfit)
        assert isinstance(answers, PureDP)
        return PureDP(self.sparse.epsilon + answers.stated_epsilon, adjacency=REPLACE_ONE)

    def error(self, beta: Fraction) -> float:
        """T + ES_β(|ρ|) + ES_β(largest of k + B noises) + tanh(ε/4), and all that is rounded."""
        scales = _comparisons(self.sparse)
        one = scales.threshold_scale * expected_shortfall("laplace", 1, beta)
        many = scales.query_scale * expected_shortfall("laplace", self.checks + self.max_overfit, beta)
        # Value, threshold and either noise are off by a step of the grid at most.
        rounded = 4 * self.sparse.grid.step + ROUNDING
        return min(1.0, exactly_above(self.threshold + one + many + Fraction(gap(self.guarantee, beta)) + rounded))

    def start(self) -> Session:
        return self.sparse.start()

    def answer(self, parts: NDArray[np.int64]) -> float:
        return self.mean.shown(self.mean.drawn(parts))


@dataclass(frozen=True)
class RoundedRule(Rule):
    """Exact comparisons, and answers rounded to the nearest of m levels, 1/(2m) ≤ T: the conversation is short.

    Between two answers of the holdout nothing is released but that all was well. So, with the analyst's coins fixed, at
    most N = Σ_{i<B} m^i C(k, i+1) findings can ever be checked, fixed before the holdout is drawn. All of them have
    their mean on the holdout within α′ of that on the population except with probability 2N e^{−2nα′²} (Hoeffding
    1963, union bound; SparseValidate of Dwork et al. 2015), and each answer is within T of the mean on the holdout.
    """

    levels: int

    name: ClassVar[str] = "rounding"
    theorem: ClassVar[str] = "Hoeffding 1963 for every conversation that short answers allow (Dwork et al. 2015)"

    @classmethod
    def best(cls, rows: int, threshold: Fraction, checks: int, max_overfit: int, beta: Fraction) -> RoundedRule:
        """As few levels as the threshold allows."""
        levels = math.ceil(1 / (2 * threshold))
        return cls(rows, threshold, checks, max_overfit, QueryMean.exact(rows), levels)

    @property
    def guarantee(self) -> ApproxDP:
        """Nothing is hidden."""
        return ApproxDP(0, 1, adjacency=REPLACE_ONE)

    @once
    def findings(self) -> Ball:
        """N: j checks, i < B of them overfitted, go in C(j, i) m^i ways; and Σ_j C(j, i) = C(k, i + 1).

        Each term m^i C(k, i + 1) is m(k − i)/(i + 1) times the one before; in balls, as N may have a million digits.
        """
        with precision(_BITS):
            term = total = ball(self.checks)
            for i in range(1, self.max_overfit):
                term = term * (self.levels * (self.checks - i)) / (i + 1)
                total += term
        return total

    def error(self, beta: Fraction) -> float:
        """T + √(ln(2N/β)/(2n))."""
        far = Fraction(above(lambda: ((2 * self.findings / ball(beta)).log() / (2 * self.rows)).sqrt()))
        return min(1.0, exactly_above(self.threshold + far + ROUNDING))

    def start(self) -> Session:
        return _Exactly(self.threshold)

    def answer(self, parts: NDArray[np.int64]) -> float:
        level = min(math.floor(self.mean.drawn(parts) * self.levels), self.levels - 1)
        return float(Fraction(2 * level + 1, 2 * self.levels))


@dataclass(frozen=True, slots=True)
class _Exactly:
    threshold: Fraction

    def ask(self, value: Fraction) -> bool:
        return value > self.threshold


def _comparisons(sparse: SparseVector) -> SparseVectorRun:
    assert isinstance(sparse.event, SparseVectorRun)
    return sparse.event


RULES: tuple[type[NoisyRule | RoundedRule], ...] = (NoisyRule, RoundedRule)
