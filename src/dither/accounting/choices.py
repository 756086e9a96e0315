"""What costs one of two things, composed: the largest cost of all mixes.

Of k releases that are each a or b, fixed in advance, j are a and k − j are b: the whole is one of the k + 1 products
a^j b^{k−j}, and its cost is the largest of theirs; with several choices j is a point of a box. `mixes` bounds whole
boxes at once. The dearest of the mixes that take one of the two throughout gives an ε; then all mixes are shown to
stay below δ a little above that ε. A box that does not is halved, and a single mix that does not moves ε up. So the
upper end holds for every mix, and the lower end is the cost of a use that the releases allow.

Both directions have to stay below δ: the one that seems cheaper is held against the ε of the other.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

from dither.accounting.bracket_search import MOST_POINTS, Groups, LossWindow
from dither.accounting.loss_law import LossLaw, from_above
from dither.accounting.mixes import Box, Mixes
from dither.accounting.saddle import Saddle, Sketch, saddle_at, saddle_for_delta, saddle_for_epsilon, sketch
from dither.accounting.tilted import Underflow
from dither.pairs.choice import ChoicePair
from dither.pairs.pair import Pair

__all__ = ["Above", "are_mixed", "largest_delta", "largest_epsilon", "product"]

_MOST_BOXES = 400
_MOST_TERMS = 1 << 20  # of all boxes together: about a tenth of a second
_FEWEST_BOXES = 24
_MARGIN = 0.2  # of the width that is asked for
_TOLERANCE = 0.05
_MOST_ROUNDS = 16
_OF_LATTICE = 0.3  # of that width
_LARGEST_LOG = 700.0
_DEARER = 1.0  # in ln δ: from there on another use than all the second of the two says where the answer is
_ALIKE = 0.2  # of the margin
_IGNORED = 1e-10
_MANY = 100


class Above(NamedTuple):
    """A bound above all mixes, and the one that seems dearest: how many of each choice are the first of the two."""

    bound: float
    dearest: tuple[int, ...]
    way: Groups = ()


def are_mixed(groups: Groups) -> bool:
    """Whether several releases are composed of which some may be one of two things."""
    return sum(times for _, times in groups) > 1 and any(isinstance(pair, ChoicePair) for pair, _ in groups)


class _TooLong(Underflow):
    """On a lattice that suits one use, another has too many points."""


def product(groups: Groups, firsts: tuple[int, ...]) -> Counter[Pair]:
    """The pairs of one mix; a choice within a choice is all its second, so that it is a use that is allowed."""
    counts: Counter[Pair] = Counter()
    ranges = iter(firsts)
    for pair, count in groups:
        if not isinstance(pair, ChoicePair):
            counts[pair] += count
            continue
        first = next(ranges)
        counts[_plain(pair.first)] += first
        counts[_plain(pair.second)] += count - first
    return +counts


def _plain(pair: Pair) -> Pair:
    while isinstance(pair, ChoicePair):
        pair = pair.second
    return pair


class _Way:
    """One direction: what is composed, sketched, with the tilt and the window of the use that seems dearest."""

    def __init__(self, groups: Groups, share: float, saddle_of: Callable[[list[Sketch]], Saddle]) -> None:
        self.groups = groups
        self._sketches = [self._both(pair, times, share) for pair, times in groups]
        seconds = [each[-1] for each in self._sketches]
        self.saddle = saddle_of(seconds)
        tilt = self.saddle.tilt
        dearer = [max(each, key=lambda one: one.log_mgf(tilt)) for each in self._sketches]
        gained = sum(
            one.count * (one.log_mgf(tilt) - two.log_mgf(tilt)) for one, two in zip(dearer, seconds, strict=True)
        )
        self.saddles = [self.saddle]
        if gained > _DEARER:
            self.saddle = max(self.saddle, saddle_of(dearer), key=lambda saddle: saddle.epsilon)
            self.saddles = [self.saddle, _shared(dearer, seconds, min(tilt, self.saddle.tilt))]
        self._plan = LossWindow(seconds, self.saddle)

    def _both(self, pair: Pair, times: int, share: float) -> tuple[Sketch, ...]:
        pairs = (pair.first, pair.second) if isinstance(pair, ChoicePair) else (pair,)
        return tuple(sketch(one, times, share, len(self.groups)) for one in pairs)

    @property
    def steepness(self) -> float:
        """How far ln δ moves with ε."""
        return self._plan.steepness

    def mixes(self, error: float, saddle: Saddle) -> Mixes:
        """All mixes on a lattice that makes their ε too large by about `error`."""
        step = self._step(error)
        longest = max(max(one.high for one in each) - min(one.low for one in each) for each in self._sketches)
        if not max(longest, saddle.right - saddle.left) <= MOST_POINTS * step:
            raise _TooLong
        fixed: list[tuple[LossLaw, int]] = []
        choices: list[tuple[LossLaw, LossLaw, int]] = []
        for sketches in self._sketches:
            low, high = min(one.low for one in sketches), max(one.high for one in sketches)
            laws = [from_above(one.pair, step, low, high, at_zero=len(sketches) > 1) for one in sketches]
            if len(laws) > 1:
                choices.append((laws[0], laws[1], sketches[0].count))
            else:
                fixed.append((laws[0], sketches[0].count))
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

        enough = error / (4 * releases)  # each loss is off by a step at most
        step = max(math.sqrt(2 * error / (releases * (1 + saddle.tilt))), enough)
        while step < saddle.deviation / 8 and foreseen(2 * step) <= error:
            step *= 2
        return self._plan.fitted(min(step, max(saddle.deviation / 4, enough)))


def _shared(one: list[Sketch], other: list[Sketch], tilt: float) -> Saddle:
    """A tilt and a window that hold two uses which differ much."""
    first, second = saddle_at(one, tilt), saddle_at(other, tilt)
    return replace(
        first,
        epsilon=max(first.epsilon, second.epsilon),
        deviation=max(first.deviation, second.deviation),
        left=min(first.left, second.left),
        right=max(first.right, second.right),
        theta_right=min(first.theta_right, second.theta_right),
    )


class _Open(NamedTuple):
    """A box that is not shown to stay below δ yet; the largest bound comes first."""

    order: float
    box: Box
    at: int | None


def largest_epsilon(ways: list[Groups], delta: float, relative: float) -> Above:
    """An upper bound on ε(δ) of every mix, in each direction, about `relative` above that of the dearest."""
    total = sum(times for _, times in ways[0])
    share = delta * _IGNORED / total
    found = [_Way(each, share, lambda use: saddle_for_delta(use, delta)) for each in ways]
    found.sort(key=lambda way: way.saddle.epsilon, reverse=True)
    best = Above(0.0, (), ways[0])
    for way in found:
        error = relative * max(best.bound, way.saddle.epsilon, 1e-3 * way.saddle.deviation)
        for saddle in [*([way.saddle.narrowed()] if total >= _MANY else []), *way.saddles]:
            try:
                search = _MixedEpsilon(way.mixes(_OF_LATTICE * error, saddle), delta, way.steepness, _MARGIN * error)
                above = search.epsilon(way, best if best.dearest else None)
            except Underflow:
                above = Above(math.inf, (), way.groups)
            if above.bound < math.inf:
                break
        best = max(best, above, key=lambda one: one.bound)
        if best.bound == math.inf:
            break
    return best


def largest_delta(ways: list[Groups], epsilon: float, relative: float) -> Above:
    """An upper bound on δ(ε) of every mix, in each direction, about `relative` above that of the dearest."""
    total = sum(times for _, times in ways[0])
    best = Above(0.0, (), ways[0])
    for each in ways:
        likely = 1e-12
        for _ in range(2):
            way = _Way(each, likely * _IGNORED / total, lambda use: saddle_for_epsilon(use, epsilon))
            if likely <= (likely := math.exp(max(min(way.saddle.log_delta, 0.0), -600.0))) or likely >= 1e-10:
                break
        found = [_largest_delta(way, saddle, epsilon, relative, best.bound) for saddle in way.saddles]
        best = max(best, min(found, key=lambda one: one.bound), key=lambda one: one.bound)
    return best


def _largest_delta(way: _Way, saddle: Saddle, epsilon: float, relative: float, known: float) -> Above:
    try:
        mixes = way.mixes(_OF_LATTICE * relative / way.steepness, saddle)
    except Underflow:
        return Above(1.0, (), way.groups)
    kernel = mixes.at(epsilon)
    lowest, box = kernel.largest(mixes.corners())
    heap: list[_Open] = []
    goal = max(known, lowest * (1 + _MARGIN * relative))
    left = _boxes(mixes)

    def look(box: Box) -> None:
        bound, at = kernel.bound(box)
        if bound > goal:
            heapq.heappush(heap, _Open(-bound, box, at))

    look(tuple((0, count) for count in mixes.counts))
    while heap and left > 0:
        opened = heapq.heappop(heap)
        if -opened.order <= goal:
            break
        if opened.at is None:
            goal, box = -opened.order, opened.box
            continue
        for half in _halves(opened.box, opened.at):
            look(half)
            left -= 1
    bound = max([goal, *(-each.order for each in heap)])
    return Above(min(bound, 1.0), tuple(n for n, _ in box), way.groups)


def _boxes(mixes: Mixes) -> int:
    """How many boxes may be looked at."""
    return max(min(_MOST_BOXES, _MOST_TERMS // len(mixes.places)), _FEWEST_BOXES)


class _MixedEpsilon:
    """The smallest ε at which all mixes of one direction are shown to stay below δ."""

    def __init__(self, mixes: Mixes, delta: float, steepness: float, margin: float) -> None:
        self._mixes = mixes
        self._delta = delta
        self._steepness = steepness
        self._margin = margin
        self._left = _boxes(mixes)

    def epsilon(self, way: _Way, known: Above | None) -> Above:
        """From an ε that is `known` to be needed; else from that of the dearest corner."""
        dearest: tuple[int, ...] = known.dearest if known else ()
        if known:
            epsilon = known.bound
        else:
            epsilon, corner = self._of(self._mixes.corners(), way.saddle.epsilon)
            if epsilon == math.inf:
                return Above(math.inf, (), way.groups)
            dearest = tuple(n for n, _ in self._plainest(epsilon, corner))
            epsilon += self._margin
        whole: Box = tuple((0, count) for count in self._mixes.counts)
        heap: list[_Open] = []
        kernel = self._mixes.at(epsilon)

        def look(box: Box) -> None:
            bound, at = kernel.bound(box)
            self._left -= 1
            if bound > self._delta:
                heapq.heappush(heap, _Open(-bound, box, at))

        look(whole)
        while heap:
            _, worst, at = heap[0]
            if at is None or self._left <= 0:
                # A single mix, or no time is left: the ε at which the dearest box stays below δ.
                epsilon, _ = self._of([worst], epsilon)
                if epsilon == math.inf:
                    return Above(math.inf, (), way.groups)
                known = None
                if at is None:
                    dearest = tuple(n for n, _ in worst)
                    epsilon += self._margin
                kernel = self._mixes.at(epsilon)
                again, heap[:] = list(heap), []
                for each in again:
                    look(each.box)
                continue
            heapq.heappop(heap)
            for half in _halves(worst, at):
                look(half)
        return known or Above(max(epsilon, 0.0), dearest, way.groups)

    def _plainest(self, epsilon: float, dearest: Box) -> Box:
        """Of the corners that cost nearly as much, the one with the fewest of the first: it is easier to bracket."""
        kernel = self._mixes.at(epsilon)
        enough = kernel.bound(dearest)[0] * math.exp(-_ALIKE * self._margin * self._steepness)
        alike = [box for box in self._mixes.corners() if kernel.bound(box)[0] >= enough]
        return min([dearest, *alike], key=lambda box: sum(n for n, _ in box))

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
