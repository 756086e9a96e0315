"""What costs one of two things, composed: the largest cost of all mixes.

Of k releases that are each a or b, fixed in advance, j are a and k − j are b: the whole is one of the k + 1 products
a^j b^{k−j}, and its cost is the largest of theirs; with several choices it is one of as many products as boxes of counts
have points. `mixes` bounds whole boxes of them at once. The mix that seems dearest, of those that take one of the two
throughout, gives an ε; then all mixes are shown to stay below δ a little above that ε. A box that does not is halved, and
a single mix that does not moves ε up. So the upper end holds for every mix, and the lower end is the cost of a use that
the releases allow.

Both directions have to stay below δ: the one that seems cheaper is held against the ε of the other.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

from dither.accounting.bracket_search import Groups, LossWindow
from dither.accounting.loss_law import LossLaw, from_above
from dither.accounting.mixes import Box, Mixes
from dither.accounting.saddle import Saddle, Sketch, saddle_for_delta, sketch
from dither.accounting.tilted import Underflow
from dither.pairs.choice import ChoicePair
from dither.pairs.pair import Pair

__all__ = ["Above", "are_mixed", "largest_delta", "largest_epsilon", "product"]

_MOST_BOXES = 400
_MOST_TERMS = 1 << 20  # of all boxes together: about a tenth of a second
_FEWEST_BOXES = 24
_MARGIN = 0.25  # of the width that is asked for
_TOLERANCE = 0.05
_MOST_ROUNDS = 16
_OF_LATTICE = 0.4  # of that width
_LARGEST_LOG = 700.0
_IGNORED = 1e-10
_MANY = 100


class Above(NamedTuple):
    """An upper bound for all mixes, and the one that seems dearest: how many of each choice are the first of the two."""

    bound: float
    dearest: tuple[int, ...]


def are_mixed(groups: Groups) -> bool:
    """Whether several releases are composed of which some may be one of two things."""
    return sum(times for _, times in groups) > 1 and any(isinstance(pair, ChoicePair) for pair, _ in groups)


def product(groups: Groups, firsts: tuple[int, ...]) -> Counter[Pair]:
    """The pairs of one mix."""
    counts: Counter[Pair] = Counter()
    ranges = iter(firsts)
    for pair, count in groups:
        if not isinstance(pair, ChoicePair):
            counts[pair] += count
            continue
        first = next(ranges)
        counts[pair.first] += first
        counts[pair.second] += count - first
    return +counts


class _Way:
    """One direction: what is composed, sketched, with the tilt and the window of the use that seems dearest."""

    def __init__(self, groups: Groups, share: float, saddle_of: Callable[[list[Sketch]], Saddle]) -> None:
        self._groups = groups
        self._sketches = [self._both(pair, times, share) for pair, times in groups]
        uses = [[each[index] for each in self._sketches] for index in (0, -1)]
        self.saddle = max(map(saddle_of, uses), key=lambda saddle: saddle.epsilon)
        self._plan = LossWindow(uses[1], self.saddle)

    def _both(self, pair: Pair, times: int, share: float) -> tuple[Sketch, ...]:
        pairs = (pair.first, pair.second) if isinstance(pair, ChoicePair) else (pair,)
        return tuple(sketch(one, times, share, len(self._groups)) for one in pairs)

    @property
    def steepness(self) -> float:
        """How far ln δ moves with ε."""
        return self._plan.steepness

    def mixes(self, error: float, saddle: Saddle) -> Mixes:
        """All mixes on a lattice that makes their ε too large by about `error`."""
        step = self._step(error)
        fixed: list[tuple[LossLaw, int]] = []
        choices: list[tuple[LossLaw, LossLaw, int]] = []
        for sketches in self._sketches:
            low, high = min(one.low for one in sketches), max(one.high for one in sketches)
            laws = [from_above(one.pair, step, low, high, at_zero=len(sketches) > 1) for one in sketches]
            if len(laws) > 1:
                choices.append((*laws, sketches[0].count))
            else:
                fixed.append((*laws, sketches[0].count))
        return Mixes(fixed, choices, saddle)

    def _step(self, error: float) -> float:
        """As large as the sketches allow; the lattice need not meet the atoms of a choice."""
        saddle, releases = self.saddle, self._plan.releases

        def foreseen(step: float) -> float:
            moved = (
                each[0].count * max(one.moved_by(step, saddle.tilt, at_zero=len(each) > 1) for one in each)
                for each in self._sketches
            )
            return (1 + saddle.tilt) / 2 * math.fsum(moved)

        step = math.sqrt(2 * error / (releases * (1 + saddle.tilt)))
        while step < saddle.deviation / 8 and foreseen(2 * step) <= error:
            step *= 2
        return self._plan.fitted(min(step, saddle.deviation / 4))


class _Open(NamedTuple):
    """A box that is not shown to stay below δ yet; the largest bound comes first."""

    order: float
    box: Box
    at: int | None


def largest_epsilon(ways: list[Groups], delta: float, relative: float) -> Above:
    """An upper bound on ε(δ) of every mix, in each direction, about `relative` above that of the dearest."""
    total = sum(times for _, times in ways[0])
    found = [_Way(each, delta * _IGNORED / total, lambda use: saddle_for_delta(use, delta)) for each in ways]
    found.sort(key=lambda way: way.saddle.epsilon, reverse=True)
    best = Above(0.0, ())
    for index, way in enumerate(found):
        error = relative * max(best.bound, way.saddle.epsilon)
        saddle = way.saddle.narrowed() if total >= _MANY else way.saddle
        try:
            search = _Search(way.mixes(_OF_LATTICE * error, saddle), delta, way.steepness, _MARGIN * error)
            above = search.epsilon(best.bound if index else None, way.saddle.epsilon)
            if above.bound == math.inf and saddle is not way.saddle:
                search = _Search(way.mixes(_OF_LATTICE * error, way.saddle), delta, way.steepness, _MARGIN * error)
                above = search.epsilon(best.bound if index else None, way.saddle.epsilon)
        except Underflow:
            above = Above(math.inf, ())
        best = max(best, above)
    return best


class _Search:
    """The smallest ε at which all mixes of one direction are shown to stay below δ."""

    def __init__(self, mixes: Mixes, delta: float, steepness: float, margin: float) -> None:
        self._mixes = mixes
        self._delta = delta
        self._steepness = steepness
        self._margin = margin
        self._left = max(min(_MOST_BOXES, _MOST_TERMS // len(mixes.places)), _FEWEST_BOXES)

    def epsilon(self, known: float | None, near: float) -> Above:
        """From an ε that is `known` to be needed; else from the dearest corner, which is looked for around `near`."""
        dearest: tuple[int, ...] = ()
        if known is None:
            epsilon, corner = self._of(self._mixes.corners(), near)
            dearest = tuple(n for n, _ in corner)
            epsilon += self._margin
        else:
            epsilon = known
        whole: Box = tuple((0, count) for count in self._mixes.counts)
        heap = []
        kernel = self._mixes.at(epsilon)

        def look(box: Box) -> None:
            bound, at = kernel.bound(box)
            self._left -= 1
            if bound > self._delta:
                heapq.heappush(heap, _Open(-bound, box, at))

        look(whole)
        while heap and epsilon < math.inf:
            if heap[0].at is None or self._left <= 0:
                # A single mix, or no time is left: the ε at which the dearest box stays below δ.
                worst = heap[0].box
                epsilon, _ = self._of([worst], epsilon)
                if heap[0].at is None:
                    dearest = tuple(n for n, _ in worst)
                    epsilon += self._margin
                kernel = self._mixes.at(epsilon)
                again, heap[:] = list(heap), []
                for each in again:
                    look(each.box)
                continue
            opened = heapq.heappop(heap)
            for half in _halves(opened.box, opened.at):
                look(half)
        return Above(max(epsilon, 0.0), dearest)

    def _of(self, boxes: list[Box], near: float) -> tuple[float, Box]:
        """The ε at which the largest bound of some boxes falls to δ, or a little more; ∞ if it is not found."""
        goal, slope, tolerance = math.log(self._delta), self._steepness, _TOLERANCE * self._margin * self._steepness
        low, high = 0.0, math.inf
        epsilon, before = max(near, 0.0), None
        box = boxes[0]
        for _ in range(_MOST_ROUNDS):
            value, box = self._mixes.at(epsilon).largest(boxes)
            gap = min(math.log(value), _LARGEST_LOG) - goal if value > 0 else -math.inf
            if before and epsilon != before[0] and (before[1] - gap) / (epsilon - before[0]) > 0:
                slope = (before[1] - gap) / (epsilon - before[0])
            before = epsilon, gap
            if gap <= 0:
                high = epsilon
                if gap >= -tolerance or epsilon <= 0:
                    break
            else:
                low = epsilon
            epsilon = max(epsilon + (gap + tolerance / 2) / slope, 0.0)
            if not low <= epsilon < high:
                epsilon = (low + high) / 2
        return high, box


def _halves(box: Box, at: int) -> Iterator[Box]:
    low, high = box[at]
    middle = (low + high) // 2
    for ends in ((low, middle), (middle + 1, high)):
        yield (*box[:at], ends, *box[at + 1 :])
