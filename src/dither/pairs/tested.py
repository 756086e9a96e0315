"""The pair of a test and an answer that is given only if the test passes (claim C20).

A distance d moves by at most 1 between neighbours and gets integer noise X. If d + X > T, an answer is given.
Neighbours of which one has d ≥ 1 are `answer` apart; two at d = 0 may be arbitrarily far apart. With
p(d) = P[X > T − d],

    δ(ε) = the largest of  p(0),
                           (m − e^ε m′)₊ + p·δ_answer(ε + ln p′/p)  over all neighbouring d, d′, with m = 1 − p.

Proof: mechanisms/propose_test_release.md.
"""

from __future__ import annotations

import heapq
import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import count

import numpy as np

from dither.errors import ParameterError
from dither.exact import Ball, ball, once, precision, upper
from dither.pairs.discrete_noise import DiscreteGaussianPair, DiscreteLaplacePair
from dither.pairs.pair import FloatArray, Pair, Tails
from dither.pairs.subsampled import WorstPair
from dither.pairs.two_point import approximate

__all__ = ["TestedPair"]

_BITS = 128
_CLOSE = Ball(2) ** -33
_MOST_SPLITS = 10_000
_MOST_BLOCKS = 256
_MOST_POINTS = 1 << 11
_ROUNDING = 2.0**-40  # more than all roundings of a float in `dots`


@dataclass(frozen=True)
class TestedPair(Pair):
    """What the answer `answer` costs behind the test d + X > T, T = `threshold`, X distributed as `test`.

    `test` is integer noise on a distance of sensitivity 1; `answer` a pair with the same profile in both directions.
    """

    __test__ = False  # pytest: a dominating pair, not a test case

    test: DiscreteLaplacePair | DiscreteGaussianPair
    threshold: int
    answer: Pair

    def __post_init__(self) -> None:
        if self.test.sensitivity != 1:
            raise ParameterError(f"test must have sensitivity 1, got sensitivity={self.test.sensitivity}.")
        if not self.threshold >= 0:
            raise ParameterError(f"threshold must not be negative, got threshold={self.threshold}.")
        if not self.answer.is_symmetric:
            raise ParameterError("answer must have the same profile in both directions. Give either(pair).")

    # ------------------------------------------------------------------ balls

    def passes(self, distance: int) -> Ball:
        """p(d) = P[X > T − d]."""
        return self.test.tail(self.threshold - distance)

    def fails(self, distance: int) -> Ball:
        """m(d) = P[X ≤ T − d] = P[X > d − T − 1], by symmetry, without cancellation."""
        return self.test.tail(distance - self.threshold - 1)

    def profile(self, epsilon: Ball) -> Ball:
        """δ(ε) by branch and bound over blocks of distances, to 2^-33 relatively."""
        if not epsilon.is_finite():
            return Ball(0).union(Ball(1))
        leak, everything = ball(self._leak), (-epsilon.expm1()).max(Ball(0))
        best = (leak + (1 - leak) * everything).max(self.answer.profile(epsilon))
        order = count()  # settles ties: balls have no order
        waiting: list[tuple[float, int, int, int | None]] = []
        parts = [(1, self.threshold + 1), (self.threshold + 2, None)]
        for splits in range(_MOST_SPLITS + 1):
            for first, last in parts:
                best = best.max(self._between(epsilon, first, first))
                if first != last:
                    heapq.heappush(waiting, (-upper(self._between(epsilon, first, last)), next(order), first, last))
            # Giving up comes before the worst block is taken out: its bound still counts.
            if splits == _MOST_SPLITS or not waiting or Ball(-waiting[0][0]) <= best * (1 + _CLOSE):
                break
            _, _, first, last = heapq.heappop(waiting)
            middle = 2 * first if last is None else (first + last) // 2
            parts = [(first, middle), (middle + 1, last)]
        return best.union(best.max(Ball(-waiting[0][0]))) if waiting else best

    def _between(self, epsilon: Ball, first: int, last: int | None) -> Ball:
        """A bound for neighbours at distances d − 1 and d, in both orders, for all first ≤ d ≤ last; exact for one d.

        p and m(d−1)/m(d) grow with d, m and p(d)/p(d−1) fall: the tails of log-concave noise are log-concave.
        """
        odds, far = epsilon.exp(), first if last is None else last
        gain, loss = self._gain(first), self._gain(far)
        up = (self.fails(first) - odds * self.fails(first - 1)).max(Ball(0))
        if last is None:
            down = self.fails(first - 1) + self.answer.profile(epsilon)
            return down.max(up + self.answer.profile(epsilon - gain))
        up += self.passes(last) * self.answer.profile(epsilon - gain)
        down = (self.fails(first - 1) * (1 - odds * self.fails(last) / self.fails(last - 1))).max(Ball(0))
        return up.max(down + self.passes(last - 1) * self.answer.profile(epsilon + loss))

    def _gain(self, distance: int) -> Ball:
        """ln p(d)/p(d−1)."""
        return (self.passes(distance) / self.passes(distance - 1)).log()

    # ----------------------------------------------------------------- floats

    def estimate(self, epsilon: float) -> float:
        """δ(ε) in floats, to a few percent: to search with, never to promise."""
        d: FloatArray = np.unique(np.floor(np.linspace(1, self._reach, min(self._reach, _MOST_POINTS))))
        passes, fails = self._logs(d)
        before, missed = self._logs(d - 1)
        gain = passes - before
        up = np.exp(passes) * self._answers(epsilon - gain)
        down = np.exp(before) * self._answers((epsilon + gain)[::-1])[::-1]
        down += np.exp(missed) * np.maximum(-np.expm1(epsilon + fails - missed), 0.0)
        alone = self._answers(np.array([epsilon]))[0]
        return float(max(up.max(), down.max(), alone, math.exp(self._log_leak)))

    def dots(self, losses: FloatArray) -> FloatArray:
        """As `profile`, for fixed blocks: a little more than the truth where a block holds several distances."""
        edges: FloatArray = np.unique(np.floor(np.linspace(1, self._reach, min(self._reach, _MOST_BLOCKS) + 1)))
        first, last, end = edges[:-1], edges[1:] - 1, edges[-1:]
        steep, gentle, least = (self._logs(d)[0] - self._logs(d - 1)[0] for d in (first, last, end))
        drops = self._logs(last - 1)[1] - self._logs(last)[1]
        passes, before = np.exp(self._logs(last)[0]), np.exp(self._logs(last - 1)[0])
        fails, missed, rest = (np.exp(self._logs(d)[1]) for d in (first, first - 1, end - 1))
        free = -np.expm1(np.minimum(losses, 0.0))
        best = np.maximum(
            self._answers(losses) + rest[0], self._answers(losses - least[0] - _ROUNDING) + rest[0] * free
        )
        for i in range(len(first)):
            up = passes[i] * self._answers(losses - steep[i] - _ROUNDING) + fails[i] * free
            down = before[i] * self._answers(losses + gentle[i] - _ROUNDING)
            kept = -np.expm1(np.minimum(losses - drops[i] - _ROUNDING, 0.0))
            best = np.maximum(best, np.maximum(up, down + missed[i] * kept))
        leak = float(self._leak)
        best = np.maximum(best, leak + (1 - leak) * free)
        dots: FloatArray = np.maximum(best * (1 + _ROUNDING) - float(self.infinity) * (1 - _ROUNDING), 0.0)
        return dots

    def _answers(self, losses: FloatArray) -> FloatArray:
        """Upper bounds on all of δ_answer, to within `_ROUNDING`."""
        return self.answer.dots(losses) + float(self.answer.infinity)

    @once
    def _reach(self) -> int:
        """The distance from which on no answer is as unlikely as 1e-18 of the leak."""
        nats = 42 - self._log_leak
        if isinstance(self.test, DiscreteLaplacePair):
            return self.threshold + 2 + math.ceil(float(self.test.scale) * nats)
        return self.threshold + 2 + math.ceil(math.sqrt(2 * nats * float(self.test.variance)))

    @once
    def _log_leak(self) -> float:
        return max(float(self.test.log_tail(np.array([float(self.threshold)]))[0]), -700.0)

    def _logs(self, distance: FloatArray) -> tuple[FloatArray, FloatArray]:
        """ln p(d) and ln m(d)."""
        return self.test.log_tail(self.threshold - distance), self.test.log_tail(distance - self.threshold - 1)

    def tails(self, losses: FloatArray) -> Tails:
        """From below: two datasets at distance 0, or far away from all that is unstable."""
        return WorstPair(approximate(Fraction(0), self._leak), self.answer).tails(losses)

    # --------------------------------------------------------------- the rest

    @property
    def is_exact(self) -> bool:
        return False

    def swapped(self) -> TestedPair:
        return self

    @property
    def infinity(self) -> Fraction:
        """An answer at distance 0 may give everything away, and so may the answer itself."""
        return max(self._leak, self.answer.infinity)

    @once
    def _leak(self) -> Fraction:
        """p(0), rounded up."""
        with precision(_BITS):
            return min(Fraction(upper(self.passes(0))), Fraction(1))

    @property
    def support(self) -> tuple[float, float]:
        if isinstance(self.test, DiscreteGaussianPair):
            return -math.inf, math.inf
        with precision(_BITS):
            top = upper(ball(1 / self.test.scale) + Ball(self.answer.support[1]))
        return -top, top
