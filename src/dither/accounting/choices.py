"""What costs one of two things, composed: the largest cost of all mixes.

Of k releases that are each a or b, fixed in advance, j are a and k − j are b: the whole is one of the k + 1 products
a^j b^{k−j}, and its cost is the largest of theirs. Their worst pair e dominates both, so

    a^j b^{k−j}   is dominated by   a^l b^{k−h} e^{h−l}   for every j from l to h.

That bounds a whole block of mixes at once. Blocks are halved, the dearest first, until none of them can cost more than
a mix that was looked at: a throughout, b throughout, or a block of one. So the upper end holds for every mix, and the
lower end is the cost of a use that the releases allow.

By how much e exceeds both is told by ∫ δ(ε) dε over ε > 0, roughly: a block is cut where that, times the releases that
are left open, is largest. It decides how soon the search ends, not what holds.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import TypeAlias

import numpy as np

from dither.accounting.bracket_search import Bracket, Group, Groups
from dither.pairs.choice import ChoicePair
from dither.pairs.pair import Pair

__all__ = ["are_mixed", "worst_mix"]

_MOST_STEPS = 16
"""How many blocks are halved: a few hundredths of a second each. What is left open widens the bracket."""

_FARTHEST, _NEAREST, _POINTS = 50.0, 1e-7, 64  # of the losses at which costs are compared

_Block: TypeAlias = tuple[tuple[int, int], ...]
"""For each choice, how many of its releases are the first of the two: from, to."""


def are_mixed(groups: Groups) -> bool:
    """Whether several releases are composed of which some may be one of two things."""
    return sum(times for _, times in groups) > 1 and any(isinstance(pair, ChoicePair) for pair, _ in groups)


def worst_mix(
    groups: Groups,
    merged: Callable[[Counter[Pair]], Iterable[Group]],
    exact: Callable[[Groups], Bracket],
    bound: Callable[[Counter[Pair]], float],
    least: Callable[[Groups], float],
    relative: float,
) -> Bracket:
    """The cost of the dearest mix: `exact` brackets that of a product; in one pass `bound` is above, `least` below."""
    choices = [(pair, count) for pair, count in groups if isinstance(pair, ChoicePair)]
    excesses = [_excess(pair) for pair, _ in choices]
    times = [count for _, count in choices]

    def product(block: _Block) -> Groups:
        return tuple(merged(_product(groups, block)))

    def known(block: _Block) -> Bracket:
        mix = product(block)
        return Bracket(least(mix), math.inf) if any(_is_slow(pair) for pair, _ in mix) else exact(mix)

    first: _Block = tuple((0, count) for count in times)
    heap = [(-bound(_product(groups, first)), first)]
    lower = 0.0
    for counts in ([0] * len(times), times):  # all the second of the two, all the first
        lower = max(lower, least(product(tuple((n, n) for n in counts))))
        if Bracket(lower, -heap[0][0]).is_within(relative):
            break
    settled: set[_Block] = set()
    for _ in range(_MOST_STEPS):
        cost, block = -heap[0][0], heap[0][1]
        if Bracket(lower, cost).is_within(relative) or block in settled:
            break
        heapq.heappop(heap)
        if all(low == high for low, high in block):
            found = known(block)
            lower = max(lower, found.lower)
            settled.add(block)
            heapq.heappush(heap, (-min(found.upper, cost), block))
            continue
        for half in _halves(block, excesses):
            heapq.heappush(heap, (-min(bound(_product(groups, half)), cost), half))
    return Bracket(lower, -heap[0][0])


def _is_slow(pair: Pair) -> bool:
    """Whether it is noise on a lattice on a sample: its losses meet no lattice, and from below they need a fine one."""
    base = getattr(pair, "base", None)
    return isinstance(base, Pair) and base.atoms is not None and pair.atoms is None


@lru_cache(maxsize=256)
def _excess(pair: ChoicePair) -> float:
    """How much more the worst pair of one choice seems to cost than either."""
    top = min(max(pair.support[1], pair.swapped().support[1]), _FARTHEST)
    losses = top * np.concatenate([[0.0], np.geomspace(_NEAREST, 1.0, _POINTS)])

    def cost(one: Pair) -> float:
        deltas = np.maximum(one.dots(losses), one.swapped().dots(losses)) + float(one.infinity)
        return float(np.trapezoid(deltas, losses))

    first, second = cost(pair.first), cost(pair.second)
    return max(cost(pair) - max(first, second), 0.0)


def _product(groups: Groups, block: _Block) -> Counter[Pair]:
    """The pairs that dominate every mix of the block."""
    counts: Counter[Pair] = Counter()
    ranges = iter(block)
    for pair, count in groups:
        if not isinstance(pair, ChoicePair):
            counts[pair] += count
            continue
        low, high = next(ranges)
        counts[pair.first] += low
        counts[pair.second] += count - high
        counts[pair] += high - low
    return +counts


def _halves(block: _Block, excesses: Sequence[float]) -> tuple[_Block, _Block]:
    """The block cut where what is left open seems to cost most; where nothing seems to, where most is left open."""

    def open_cost(index: int) -> tuple[float, int]:
        low, high = block[index]
        return excesses[index] * (high - low), high - low

    at = max((index for index in range(len(block)) if block[index][0] < block[index][1]), key=open_cost)
    low, high = block[at]
    middle = (low + high) // 2
    lower, upper = (low, middle), (middle + 1, high)
    return (*block[:at], lower, *block[at + 1 :]), (*block[:at], upper, *block[at + 1 :])
