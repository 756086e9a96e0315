"""The ways to answer k questions from n rows, and how far each answer may lie from the population.

Every route says `error(beta)`: all its answers are within it of the means over the population at once, except with
probability β over the sample and the noise. It is never below what its theorem proves.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, Self

from scipy.optimize import minimize_scalar

from dither.adaptive import transfer
from dither.adaptive.mean import MOST_ROWS, ROUNDING, QueryMean
from dither.exact import Ball, Real, ball, once, rational
from dither.exact.certified import above, exactly_above
from dither.guarantees import ApproxDP, GaussianDP, PureDP

__all__ = ["ADAPTIVE", "GaussianRoute", "LaplaceRoute", "Rounding", "Route", "Splitting", "UnionBound", "rows_needed"]


@dataclass(frozen=True)
class Route(ABC):
    """A way to answer `queries` questions from `rows` rows."""

    rows: int
    queries: int
    mean: QueryMean
    """How one question is answered."""

    name: ClassVar[str]
    theorem: ClassVar[str]
    is_adaptive: ClassVar[bool] = True
    """Whether a question may depend on the answers before."""

    @classmethod
    @abstractmethod
    def best(cls, rows: int, queries: int, beta: Fraction) -> Self:
        """The constants that make `error(beta)` about as small as it can be."""

    @abstractmethod
    def _bound(self, beta: Fraction) -> Fraction:
        """`error` as long as it is below 1, rounded up."""

    def error(self, beta: Fraction) -> float:
        """A bound on the largest |answer − mean over the population|; both lie in [0, 1], so it is at most 1."""
        return min(1.0, exactly_above(self._bound(beta) + ROUNDING))

    @once
    def guarantee(self) -> GaussianDP | PureDP | ApproxDP:
        """What all answers together reveal, under replace-one."""
        return self.mean.composed(self.queries)

    def told(self, mean: Fraction) -> float:
        """An answer as it is shown."""
        return self.mean.shown(mean)

    def sample_reach(self, miss: Fraction) -> Fraction:
        """A bound on |answer − mean over the rows that were used| for one answer, missed with probability `miss`."""
        return self.mean._reach(miss)


# ---------------------------------------------------------------------------- noise


@dataclass(frozen=True)
class _NoisyRoute(Route):
    shape: ClassVar[transfer.Shape]

    def _bound(self, beta: Fraction) -> Fraction:
        guarantee = self.guarantee
        assert not isinstance(guarantee, ApproxDP)
        shortfall = self.mean.scale * transfer.expected_shortfall(self.shape, self.queries, beta)
        return shortfall + Fraction(transfer.gap(guarantee, beta))


@dataclass(frozen=True)
class GaussianRoute(_NoisyRoute):
    """Gaussian noise on every mean; σ balances the noise against what the answers give away."""

    name: ClassVar[str] = "gaussian"
    theorem: ClassVar[str] = "expected shortfall and privacy profile (transfer.md), after Jung et al. 2020"
    shape: ClassVar[transfer.Shape] = "gaussian"

    @classmethod
    def best(cls, rows: int, queries: int, beta: Fraction) -> Self:
        """σ = √k/(nμ) for the best μ of the whole conversation."""
        spread = math.sqrt(queries) / rows
        shortfall = float(transfer.expected_shortfall(cls.shape, queries, beta)) * spread
        sigma = spread / transfer.gaussian_mu(shortfall, float(beta))
        return cls.given(rows, queries, rational(_short(sigma), "sigma"))

    @classmethod
    def given(cls, rows: int, queries: int, sigma: Fraction) -> Self:
        """σ as it is given, for each answer."""
        return cls(rows, queries, QueryMean.gaussian(rows, sigma))


@dataclass(frozen=True)
class LaplaceRoute(_NoisyRoute):
    """Laplace noise on every mean: pure privacy for the whole conversation."""

    name: ClassVar[str] = "laplace"
    theorem: ClassVar[str] = "expected shortfall and pure privacy (transfer.md, δ = 0)"
    shape: ClassVar[transfer.Shape] = "laplace"

    @classmethod
    def best(cls, rows: int, queries: int, beta: Fraction) -> Self:
        """b = k/(nε) for the best ε of the whole conversation."""
        spread = queries / rows
        epsilon = transfer.laplace_epsilon(float(transfer.expected_shortfall(cls.shape, queries, beta)) * spread)
        return cls(rows, queries, QueryMean.laplace(rows, _short(spread / epsilon)))

    @classmethod
    def given(cls, rows: int, queries: int, epsilon: Fraction) -> Self:
        """b = k/(nε), for an ε of the whole conversation that is given."""
        return cls(rows, queries, QueryMean.laplace(rows, queries / (rows * epsilon)))


# ------------------------------------------------------------------------- baselines


@dataclass(frozen=True)
class Splitting(Route):
    """Fresh rows for every question: ⌊n/k⌋ of them, exactly.

    Given the answers before, the next question is fixed and its rows are fresh, so that it fails with probability
    2 e^{−2mα²} at most (Hoeffding 1963), and all succeed with probability (1 − 2 e^{−2mα²})^k or more.
    """

    name: ClassVar[str] = "splitting"
    theorem: ClassVar[str] = "Hoeffding 1963 on fresh rows for each query"

    @classmethod
    def best(cls, rows: int, queries: int, beta: Fraction) -> Self:
        """There is nothing to choose; without a row for each question the bound is 1."""
        return cls(rows, queries, QueryMean.exact(max(rows // queries, 1)))

    def _bound(self, beta: Fraction) -> Fraction:
        if self.rows < self.queries:
            return Fraction(1)
        return _hoeffding(self.mean.rows, lambda: (2 / -(ball(1 - beta).log() / self.queries).expm1()).log())


@dataclass(frozen=True)
class Rounding(Route):
    """Exact means over all rows, rounded to the nearest of `levels` points (i + ½)/m: short answers cannot say much.

    An analyst, with her coins fixed, is a tree: the next question is a function of the answers so far. Its first k
    levels hold N = 1 + m + … + m^{k−1} questions, fixed before the sample is drawn, all of which are right up to α′
    except with probability 2N e^{−2nα′²} (Hoeffding 1963, union bound; description length as in Dwork et al. 2015).
    The rounding adds 1/(2m).
    """

    levels: int

    name: ClassVar[str] = "rounding"
    theorem: ClassVar[str] = "Hoeffding 1963 for all conversations that rounding allows (Dwork et al. 2015)"

    @classmethod
    def best(cls, rows: int, queries: int, beta: Fraction) -> Self:
        """About the number of levels that makes the bound smallest."""
        found = minimize_scalar(
            lambda log: _rounded(rows, queries, float(beta), math.exp(log)), bounds=(0, 14), method="bounded"
        )
        levels = max(round(math.exp(found.x)), 1)
        return cls(rows, queries, QueryMean.exact(rows), levels)

    def _bound(self, beta: Fraction) -> Fraction:
        """N ≤ k for one level, and (m^k − 1)/(m − 1) ≤ m^k/(m − 1) for more."""

        def log_miss() -> Ball:
            conversations = (
                self.queries * ball(self.levels).log() - ball(self.levels - 1).log()
                if self.levels > 1
                else ball(self.queries).log()
            )
            return ball(2 / beta).log() + conversations

        return _hoeffding(self.rows, log_miss) + Fraction(1, 2 * self.levels)

    def told(self, mean: Fraction) -> float:
        """The nearest level."""
        return float(Fraction(2 * min(math.floor(mean * self.levels), self.levels - 1) + 1, 2 * self.levels))

    def sample_reach(self, miss: Fraction) -> Fraction:
        """Half the distance between levels."""
        return self.mean._reach(miss) + Fraction(1, 2 * self.levels)


@dataclass(frozen=True)
class UnionBound(Route):
    """Exact means over all rows, for questions that were all fixed before the first answer; no other questions."""

    name: ClassVar[str] = "union"
    theorem: ClassVar[str] = "Hoeffding 1963 and a union bound: queries fixed in advance only"
    is_adaptive: ClassVar[bool] = False

    @classmethod
    def best(cls, rows: int, queries: int, beta: Fraction) -> Self:
        """There is nothing to choose."""
        return cls(rows, queries, QueryMean.exact(rows))

    def _bound(self, beta: Fraction) -> Fraction:
        return _hoeffding(self.rows, lambda: ball(2 * self.queries / beta).log())


ADAPTIVE: tuple[type[Route], ...] = (GaussianRoute, LaplaceRoute, Splitting, Rounding)


def rows_needed(route: type[Route], accuracy: Fraction, beta: Fraction, queries: int) -> int | None:
    """An n whose bound is at most `accuracy`, a part in 2^14 above the smallest; None if 2^32 rows are not enough."""

    def suffices(rows: int) -> bool:
        return Fraction(route.best(rows, queries, beta).error(beta)) <= accuracy

    if not suffices(MOST_ROWS):
        return None
    low, high = 0, 1
    while not suffices(high):
        low, high = high, min(2 * high, MOST_ROWS)
    while high - low > max(1, high >> 14):
        middle = (low + high) // 2
        low, high = (low, middle) if suffices(middle) else (middle, high)
    return high


def _hoeffding(rows: int, log_miss: Real) -> Fraction:
    """√(ln(1/miss)/(2n)), rounded up."""
    return Fraction(above(lambda: (log_miss() / (2 * rows)).sqrt()))


def _rounded(rows: int, queries: int, beta: float, levels: float) -> float:
    """The bound for N = m^{k−1}, in doubles: only where to look."""
    return math.sqrt((math.log(2 / beta) + (queries - 1) * math.log(levels)) / (2 * rows)) + 1 / (2 * levels)


def _short(scale: float) -> str:
    """Six digits: a scale that people can read, as near to the best one as matters."""
    return f"{scale:.6g}"
