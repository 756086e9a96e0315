"""What one neighbour may move, held against exact numbers before and after: need by need, group by group."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from dither.engine.group_sensitivity import Added, turned
from dither.engine.most_common import Best, FoundValues
from dither.engine.quantiles import Extreme, Ranks
from dither.estimators.order_statistic import RankedRows
from dither.unit import Neighbour

__all__ = ["check", "check_rows", "declared"]


def check(need: Any, neighbour: Neighbour, before: Any, after: Any) -> None:
    """Assert that `after` is a neighbour of `before`, as the noise of the need was made for."""
    if isinstance(need, Ranks):
        check_scores(need, neighbour, before, after)
    elif isinstance(need, Best):
        check_votes(neighbour, before - after)
    elif isinstance(need, FoundValues):
        check_pairs(need, neighbour, before, after)
    else:
        check_moves(need, neighbour, before - after)


@lru_cache(maxsize=4096)
def declared(need: Any, neighbour: Neighbour) -> tuple[Any, Any]:
    """What is said of the noise: the events of Laplace and of Gaussian noise."""
    return need.pure(neighbour, Fraction(1)).event, need.concentrated(neighbour, Fraction(1)).event


def check_moves(need: Any, neighbour: Neighbour, moved: Any) -> None:
    laplace, gaussian = declared(need, neighbour)
    each = [sum(abs(int(x)) for x in group.ravel()) for group in noised(need, neighbour, moved)]
    assert sum(each) <= laplace.sensitivity
    assert sum(int(x) ** 2 for x in moved.ravel()) <= gaussian.sensitivity_squared
    assert np.count_nonzero(moved) <= gaussian.dimension
    assert np.count_nonzero(each) <= neighbour.touched
    if not neighbour.replaces:
        assert max(each, default=0) * neighbour.groups <= laplace.sensitivity


def noised(need: Any, neighbour: Neighbour, moved: Any) -> Any:
    """By how much the numbers move to which Laplace noise is added; those are linear in the exact ones."""
    noise = need.pure(neighbour, Fraction(1))
    return turned(moved) if isinstance(noise, Added) and noise.is_turned else moved


def check_pairs(need: FoundValues, neighbour: Neighbour, before: list[Any], after: list[Any]) -> None:
    """Pairs of group and value, in people: each by one at most, and no more of them than the histogram knows."""
    histogram = need.approximate(neighbour, Fraction(1), Fraction(1, 10**6)).histogram
    moves: list[int] = []
    for old, new in zip(before, after, strict=True):
        people = Counter(dict(zip(new[1].to_pylist(), new[0].tolist(), strict=True)))
        people.subtract(dict(zip(old[1].to_pylist(), old[0].tolist(), strict=True)))
        moves += people.values()
    assert max(map(abs, moves), default=0) <= 1
    assert np.count_nonzero(moves) <= histogram.max_bins


def check_votes(neighbour: Neighbour, moved: Any) -> None:
    assert np.abs(moved).max(initial=0) <= neighbour.rows
    assert np.count_nonzero(np.abs(moved).max(axis=1)) <= neighbour.touched
    if not neighbour.replaces:
        assert (moved >= 0).all()


def check_scores(need: Ranks, neighbour: Neighbour, before: list[RankedRows], after: list[RankedRows]) -> None:
    """Naive scores, place by place: what the groups lose together is what they were made for."""
    in_place = neighbour.is_in_place
    slopes: dict[Any, Any] = {None: 4}
    if not isinstance(need.asked, Extreme):
        slopes = {q: 1 if in_place else max(q, 1 - q) for q in need.asked}
    for q, slope in slopes.items():
        changes = [
            max(abs(score(old, y, q, in_place) - score(new, y, q, in_place)) for y in places(old, new))
            for old, new in zip(before, after, strict=True)
        ]
        assert sum(changes) <= slope * neighbour.rows * neighbour.touched
        if not neighbour.replaces:
            assert max(changes) <= slope * neighbour.rows


def places(*groups: RankedRows) -> list[int]:
    """Every place at which a score may change, and one before them all."""
    edges = {edge for rows in groups for edge in (*rows.starts.tolist(), *rows.ends.tolist())}
    return sorted({-(2**62), *edges})


def score(rows: RankedRows, y: int, q: Fraction | None, in_place: bool) -> Fraction:
    bins: list[tuple[int, int, int]] = list(zip(rows.starts.tolist(), rows.ends.tolist(), counts_of(rows), strict=True))
    total = sum(count for _, _, count in bins)
    above = sum(count for start, _, count in bins if start > y)
    below = sum(count for _, end, count in bins if end <= y)
    if q is None:  # 7 rows are to lie beyond, and half of them at most
        few = min(14, total)
        if in_place:
            return -Fraction(2 * max(0, 2 * above - few) + 2 * max(0, 2 * below - (2 * total - few)))
        return -Fraction(max(0, 2 * above - few) + 3 * max(0, 2 * below - (2 * total - few)) + 2 * (total - few))
    return -max(Fraction(0), above - (1 - q) * total, below - q * total)


def counts_of(rows: RankedRows) -> list[int]:
    assert rows.sums is not None
    return [int(count) for count in np.diff(rows.sums)]


def check_rows(neighbour: Neighbour, before: list[RankedRows], after: list[RankedRows]) -> None:
    """Counts per bin where somebody was added: rows come and none goes, few in each of few groups.

    That is what the scores of places are made of, and is found in no time.
    """
    come = []
    for old, new in zip(before, after, strict=True):
        counts = Counter(dict(zip(new.starts.tolist(), counts_of(new), strict=True)))
        counts.subtract(dict(zip(old.starts.tolist(), counts_of(old), strict=True)))
        assert min(counts.values(), default=0) >= 0
        come.append(sum(counts.values()))
    assert max(come, default=0) <= neighbour.rows
    assert np.count_nonzero(come) <= neighbour.groups
