"""Brackets of ε and δ for groups of dominating pairs: which of several ways is exact, cheap, or fine enough.

What is known in closed form is answered by it; the rest is composed on lattices (search.py), once rounded up and once
down, in both directions. Answers are remembered.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache

import numpy as np

from dither.accounting.bracket_search import (
    MOST_POINTS,
    Bracket,
    Group,
    Groups,
    LossWindow,
    delta_bracket,
    epsilon_bracket,
    plan_for_delta,
    plan_for_epsilon,
    upper_delta,
    upper_epsilon,
)
from dither.accounting.choices import are_mixed, largest_delta, largest_epsilon, product
from dither.accounting.delta_and_epsilon import DeltaCurve, nothing
from dither.accounting.nearly_continuous import NearlyContinuous, nearly_continuous
from dither.errors import ParameterError
from dither.exact import ball, lower, precision, upper
from dither.exact.certified import exactly_above, exactly_below, named
from dither.pairs.between import BetweenPair
from dither.pairs.bounded import AtMostPair
from dither.pairs.choice import ChoicePair
from dither.pairs.gaussian import GaussianPair
from dither.pairs.moments import ConcentratedPair, RenyiPair
from dither.pairs.one_sided import GeometricPair
from dither.pairs.pair import POSITION_ERROR, Pair
from dither.pairs.subsampled import FixedSizePair, MixturePair, PoissonAddPair, PoissonRemovePair, WorstPair
from dither.pairs.two_point import TwoPointPair

__all__ = [
    "composed_curve",
    "composed_delta",
    "composed_deltas",
    "composed_epsilon",
    "delta_in_one_pass",
    "directions",
    "epsilon_in_one_pass",
    "forget",
    "is_closed",
    "is_single",
    "lower_deltas",
    "merged",
]

_COARSER = 30.0
_FEW = 64
_OF_LOWER = 0.4  # of the width that is asked for
_FINER_LATTICES = 1, 4
_GAINED, _POOR = 0.25, 10.0  # of that width
_LOWER_ROUNDS, _FINER = 4, 4
_MIXTURES = (FixedSizePair, MixturePair, PoissonAddPair, PoissonRemovePair, WorstPair)
_SIZES_OF_DELTA = (1e-2, 1e-4, 1e-6, 1e-9, 1e-12)
_SUPPORT_SLACK = 2.0**-44
_TOO_EXTREME = (OverflowError, ZeroDivisionError)
"""Sizes or counts that floats cannot hold: then the sum of the largest losses, or nothing, is what is certain."""


def merged(counts: Counter[Pair]) -> Iterator[Group]:
    """Groups of equal pairs; those whose parameters add up become one, those that cost nothing none."""
    squares, rho, xi = Fraction(0), Fraction(0), Fraction(0)
    between: tuple[Fraction, Fraction] | None = None
    bounded: tuple[Fraction, Fraction] | None = None
    one_sided: dict[bool, Fraction] = {}
    curves: list[dict[Fraction, Fraction]] = []
    for pair, count in counts.items():
        if isinstance(pair, GaussianPair):
            squares += count * pair.squared_mu
        elif isinstance(pair, BetweenPair) and (ends := _squares(pair)):
            above, below = between or (Fraction(0), Fraction(0))
            between = above + count * ends[0], below + count * ends[1]
        elif isinstance(pair, AtMostPair) and (ends := _squares(pair)):
            above, below = bounded or (Fraction(0), Fraction(0))
            bounded = above + count * ends[0], below + count * ends[1]
        elif isinstance(pair, ConcentratedPair):
            rho, xi = rho + count * pair.rho, xi + count * pair.xi
        elif isinstance(pair, RenyiPair):
            curves.append({order: count * value for order, value in pair.points})
        elif isinstance(pair, GeometricPair):
            one_sided[pair.is_swapped] = one_sided.get(pair.is_swapped, Fraction(0)) + count * pair.largest
        elif not _is_free(pair):
            yield Group(pair, count)
    if between:
        yield Group(BetweenPair(GaussianPair(between[0] + squares), GaussianPair(between[1] + squares)), 1)
        squares = Fraction(0)
    if bounded:
        yield Group(AtMostPair(GaussianPair(bounded[0] + squares), GaussianPair(bounded[1] + squares)), 1)
    elif squares:
        yield Group(GaussianPair(squares), 1)
    if rho:
        yield Group(ConcentratedPair(rho, xi), 1)
    for is_swapped, largest in one_sided.items():
        yield Group(GeometricPair(largest, is_swapped), 1)
    if curves:
        shared = sorted(set.intersection(*map(set, curves)))
        if not shared:
            raise ParameterError("the Rényi curves share no order. Give them at the same orders.")
        yield Group(
            RenyiPair(tuple((order, sum((curve[order] for curve in curves), Fraction(0))) for order in shared)), 1
        )


def _squares(pair: BetweenPair | AtMostPair) -> tuple[Fraction, Fraction] | None:
    """The μ² of both ends, if they are Gaussian."""
    above, below = pair.above, pair.below
    if isinstance(above, GaussianPair) and isinstance(below, GaussianPair):
        return above.squared_mu, below.squared_mu
    return None


def _ends(groups: Groups) -> tuple[Groups, Groups] | None:
    """What dominates all, and what all dominates, where a bound has infinite losses: each end has its own.

    In one law for both, an infinite loss of the bound could only count as a large one. Products are monotone, so what
    is composed of the bounds costs at least as much as the truth, and what is composed of the examples at most as much.
    """
    if not any(_may_leak(pair) for pair, _ in groups):
        return None
    above, below = (_on_one_side(groups, is_above) for is_above in (True, False))
    return above, below


def _may_leak(pair: Pair) -> bool:
    if isinstance(pair, WorstPair):
        return _may_leak(pair.first) or _may_leak(pair.second)
    return isinstance(pair, AtMostPair) and pair.may_leak


def _on_one_side(groups: Groups, is_above: bool) -> Groups:
    counts: Counter[Pair] = Counter()
    for pair, times in groups:
        counts[_end_of(pair, is_above)] += times
    return tuple(merged(counts))


def _end_of(pair: Pair, is_above: bool) -> Pair:
    """The bound of a pair, or the example of it; of two things both."""
    if isinstance(pair, AtMostPair) and pair.may_leak:
        return _end_of(pair.above if is_above else pair.below, is_above)
    if isinstance(pair, WorstPair):
        return replace(pair, first=_end_of(pair.first, is_above), second=_end_of(pair.second, is_above))
    return pair


def _is_free(pair: Pair) -> bool:
    return isinstance(pair, TwoPointPair) and not pair.leak and (pair.loss == 0 or pair.odds == 1)


def directions(groups: Groups) -> list[Groups]:
    """All pairs (P, Q), and all of them swapped unless that is the same."""
    if all(group.pair.is_symmetric for group in groups):
        return [groups]
    return [groups, tuple(Group(group.pair.swapped(), group.times) for group in groups)]


def _largest(groups: Groups) -> Fraction | None:
    """The sum of the largest losses: exact where they are, else rounded up; None if they have no bound."""
    total = Fraction(0)
    for pair, times in groups:
        top = pair.largest_loss
        if top is None:
            return None
        # Sums of many different fractions grow without end: rounded up to floats, they do not.
        total += (top if len(groups) <= _FEW else Fraction(exactly_above(top))) * times
    return total


def _in_sum(groups: Groups) -> float:
    """The same as a float: the very number where it has a name, so that three times 0.1 are 0.3."""
    total = _largest(groups)
    return math.inf if total is None else named(total)


def is_single(groups: Groups) -> bool:
    """Whether it is one release, or as good as one: many Gaussian ones are."""
    return len(groups) == 1 and groups[0].times == 1


def is_closed(groups: Groups, delta: Fraction) -> bool:
    return not delta or delta == 1 or not groups or is_single(groups)


def epsilon_in_one_pass(groups: Groups, delta: Fraction, relative: float) -> float:
    """An upper bound on ε(δ), from one pass where it is not known without; a choice counts as its worst pair here."""
    if ends := _ends(groups):
        return epsilon_in_one_pass(ends[0], delta, relative)
    if is_closed(groups, delta):
        return composed_epsilon(groups, delta, relative).upper
    basic = _epsilon_if_pure(groups, delta)
    try:
        return min(_upper_of_all(groups, delta, relative), basic)
    except _TOO_EXTREME:
        return basic


def _least_in_one_way(groups: Groups, delta: Fraction, relative: float, goal: float) -> float:
    """A lower bound on ε(δ) in this direction: on a finer lattice if it is not near the `goal` at once."""
    if is_closed(groups, delta):
        return composed_epsilon(groups, delta, relative).lower
    if any(pair.infinity > delta for pair, _ in groups):
        return 0.0
    with precision(64):
        low, high = lower(ball(delta)), upper(ball(delta))
    best = 0.0
    try:
        plan = plan_for_delta(groups, max(low, 1e-300))
        step = plan.step_for(_OF_LOWER * relative * max(plan.saddle.epsilon, 1e-3 * plan.saddle.deviation))
        step = plan.step_below(step, _OF_LOWER * relative)
        best = max(plan.read(step, above=False).epsilon(high), 0.0)
        if Bracket(best, goal).is_within(relative) or plan.is_finest(step):
            return best
        if not plan.has_free_atoms(step):
            return max(best, composed_epsilon(groups, delta, relative).lower)
        for _ in range(_LOWER_ROUNDS):
            step = plan.fitted(step / _FINER)
            best = max(best, plan.read(step, above=False).epsilon(high))
            if best > goal / 2 or plan.is_finest(step):  # a law of few points loses the last of them
                break
    except _TOO_EXTREME:
        return best
    return best


def _epsilon_of_mixes(groups: Groups, delta: Fraction, relative: float, known: Bracket) -> Bracket:
    """Above all mixes, and below the one that seems dearest, inside a bracket that is `known`.

    Where that is wide, a finer lattice is tried; where the lower end is poor, also what is all the second of the two.
    """
    ways = directions(groups)
    if any(pair.infinity > delta for each in ways for pair, _ in each):
        return Bracket(math.inf if all(pair.is_exact for pair, _ in groups) else known.lower, math.inf)
    with precision(64):
        low = lower(ball(delta))
    least, most = known
    looked_at: set[Groups] = set()
    for finer in _FINER_LATTICES:
        above = largest_epsilon(ways, max(low, 1e-300), relative / finer)
        if above.bound >= most * (1 - _GAINED * relative):
            break
        most = above.bound
        for firsts, width in ((above.dearest, relative), ((0,) * len(above.dearest), _POOR * relative)):
            mix = tuple(merged(product(above.way, firsts)))
            if mix not in looked_at and not Bracket(least, most).is_within(width):
                looked_at.add(mix)
                least = max(least, _least_in_one_way(mix, delta, relative, most))
        if Bracket(least, most).is_within(relative):
            break
    if most < math.inf and Bracket(least, most).is_within(_POOR * relative):
        return Bracket(least, most)
    # The two are so different that no window holds them well: what both are dominated by, and what one of them costs.
    least = max([least, *(composed_epsilon(use, delta, relative).lower for use in _plain_uses(groups))])
    return Bracket(least, max(least, min(most, _upper_of_all(groups, delta, relative))))


def _plain_uses(groups: Groups) -> list[Groups]:
    """Of each choice, all the second of the two; and all the first."""
    counts = [times for pair, times in groups if isinstance(pair, ChoicePair)]
    return [tuple(merged(product(groups, tuple(share * n for n in counts)))) for share in (0, 1)]


def _delta_of_mixes(groups: Groups, epsilon: Fraction, relative: float) -> Bracket:
    """Above all mixes, and below the one that seems dearest."""
    ways = [each for each in directions(groups) if not _is_beyond(each, epsilon)]
    if not ways:
        return Bracket(0.0, 0.0)
    with precision(64):
        low = lower(ball(epsilon))
    above = largest_delta(ways, low, relative)
    second, first = _plain_uses(above.way)
    uses = {second, tuple(merged(product(above.way, above.dearest)))} if above.dearest else {second, first}
    least = max(composed_delta(use, epsilon, relative).lower for use in uses)
    most = above.bound
    if not Bracket(least, most).is_within(_POOR * relative):  # what both are dominated by, and what one of them costs
        most = min(most, delta_in_one_pass(groups, epsilon, relative))
        least = max(least, composed_delta(first, epsilon, relative).lower)
    return Bracket(min(least, most), most)


def _upper_of_all(groups: Groups, delta: Fraction, relative: float) -> float:
    """Upper bounds of both directions; the cheaper direction only as finely as needed to show that it is."""
    if any(pair.infinity > delta for each in directions(groups) for pair, _ in each):
        return math.inf
    with precision(64):
        low = lower(ball(delta))
    plans = _dearest_first(groups, low)
    best = upper_epsilon(plans[0], low, relative * max(plans[0].saddle.epsilon, 1e-300))
    for plan in plans[1:]:
        rough = upper_epsilon(plan, low, 1e-3 * max(best, 1e-300))
        if rough > best and relative < 1e-3:
            rough = upper_epsilon(plan, low, relative * max(best, 1e-300))
        best = max(best, rough)
    return best


def _dearest_first(groups: Groups, delta: float) -> list[LossWindow]:
    """How to search in each direction; the one that seems to cost more comes first, and decides most often."""
    plans = [plan_for_delta(each, max(delta, 1e-300)) for each in directions(groups)]
    return sorted(plans, key=lambda plan: plan.saddle.epsilon, reverse=True)


@lru_cache(maxsize=256)
def composed_epsilon(groups: Groups, delta: Fraction, relative: float) -> Bracket:
    if ends := _ends(groups):
        most, least = (composed_epsilon(each, delta, relative) for each in ends)
        return Bracket(min(least.lower, most.upper), most.upper)
    try:
        return _found_epsilon(groups, delta, relative)
    except _TOO_EXTREME:
        return Bracket(0.0, _epsilon_if_pure(groups, delta))


def _found_epsilon(groups: Groups, delta: Fraction, relative: float) -> Bracket:
    if delta == 1 or not groups:
        return Bracket(0.0, 0.0)
    if is_single(groups):
        answers = [Bracket(*each[0].pair.bracket(delta)) for each in directions(groups)]
        highest = max(a.upper for a in answers)
        return Bracket(max(a.lower for a in answers), min(highest, _epsilon_if_pure(groups, delta)))
    if not delta:
        return _without_delta(groups)
    if are_mixed(groups):
        nearly = nearly_continuous(groups, merged, float(delta), relative)
        found = _epsilon_of_nearly(nearly, delta, relative) if nearly else Bracket(0.0, _epsilon_if_pure(groups, delta))
        is_enough = found.upper < math.inf and found.is_within(relative)
        return found if is_enough else _epsilon_of_mixes(groups, delta, relative, found)
    found = _worst_direction(groups, delta, relative)
    return Bracket(found.lower, min(found.upper, _epsilon_if_pure(groups, delta)))


def _epsilon_of_nearly(nearly: NearlyContinuous, delta: Fraction, relative: float) -> Bracket:
    """ε(δ) ≤ ε′(e^{−R}δ − T) + 2R, where e^{−R} ≥ 1 − R."""
    factor = Fraction(nearly.factor)
    upper = composed_epsilon(nearly.groups, (1 - factor) * delta - nearly.leak, relative)
    return Bracket(
        upper.lower, exactly_above(Fraction(upper.upper) + 2 * factor) if upper.upper < math.inf else math.inf
    )


def _without_delta(groups: Groups) -> Bracket:
    """The largest losses. Supports are rounded outwards, those of mixtures also by an absolute amount."""
    best = Bracket(0.0, 0.0)
    is_exact = all(pair.is_exact for pair, _ in groups)
    slack = _SUPPORT_SLACK * sum(times for pair, times in groups if isinstance(pair, _MIXTURES))
    for each in directions(groups):
        top = math.inf if any(pair.infinity for pair, _ in each) else _in_sum(each)
        low = top * (1 - 2.0**-40) - slack if is_exact else 0.0
        best = Bracket(max(best.lower, low), max(best.upper, top))
    return best


def _epsilon_if_pure(groups: Groups, delta: Fraction) -> float:
    """Basic composition of the largest losses, where δ covers all infinite ones."""
    return max(0.0, *(math.inf if _exceeds(each, delta) else _in_sum(each) for each in directions(groups)))


def _exceeds(groups: Groups, delta: Fraction) -> bool:
    """Whether infinite losses may be likelier than δ; by the union bound first, as exact powers may be long."""
    return sum((pair.infinity * count for pair, count in groups), Fraction(0)) > delta


def _worst_direction(groups: Groups, delta: Fraction, relative: float) -> Bracket:
    if any(pair.infinity > delta for each in directions(groups) for pair, _ in each):
        return Bracket(math.inf, math.inf)
    with precision(64):
        low, high = lower(ball(delta)), upper(ball(delta))
    plans = _dearest_first(groups, low)
    best = epsilon_bracket(plans[0], low, high, relative)
    for plan in plans[1:]:
        above = _rough(plan, low, best.upper, relative) if best.upper else math.inf
        both = Bracket(best.lower, max(best.upper, above))
        if above == math.inf or (above > best.upper and not both.is_within(relative)):
            other = epsilon_bracket(plan, low, high, relative)
            both = Bracket(max(best.lower, other.lower), max(best.upper, other.upper))
        best = both
    return best


def _rough(plan: LossWindow, delta: float, dearest: float, relative: float) -> float:
    """An upper bound on ε(δ) in the direction that seems cheaper: only as fine as it takes to stay below `dearest`."""
    for error in (_COARSER * relative, relative / _COARSER**0.5):
        found = upper_epsilon(plan, delta, error * dearest)
        if found <= dearest:
            break
    return found


@lru_cache(maxsize=256)
def composed_delta(groups: Groups, epsilon: Fraction, relative: float) -> Bracket:
    if ends := _ends(groups):
        most, least = (composed_delta(each, epsilon, relative) for each in ends)
        return Bracket(min(least.lower, most.upper), most.upper)
    try:
        return _found_delta(groups, epsilon, relative)
    except _TOO_EXTREME:
        return Bracket(0.0, 1.0)


def _found_delta(groups: Groups, epsilon: Fraction, relative: float) -> Bracket:
    if not groups:
        return Bracket(0.0, 0.0)
    if are_mixed(groups):
        return _delta_of_mixes(groups, epsilon, relative)
    if is_single(groups):
        answers = [_delta_of_one(each[0].pair, epsilon) for each in directions(groups)]
    else:
        with precision(64):
            low, high = lower(ball(epsilon)), upper(ball(epsilon))
        answers = [
            Bracket(0.0, 0.0) if _is_beyond(each, epsilon) else delta_bracket(each, low, high, relative)
            for each in directions(groups)
        ]
    return Bracket(max(a.lower for a in answers), max(a.upper for a in answers))


def _delta_of_one(pair: Pair, epsilon: Fraction) -> Bracket:
    """Beyond the largest loss δ is what is infinite, exactly: the very number where it has a name."""
    top = pair.largest_loss
    if pair.is_exact and top is not None and epsilon >= top:
        return Bracket(exactly_below(pair.infinity), named(pair.infinity))
    return Bracket(*pair.delta_bracket(epsilon))


def delta_in_one_pass(groups: Groups, epsilon: Fraction, relative: float, most_points: int = MOST_POINTS) -> float:
    """An upper bound on δ(ε); a choice counts as its worst pair here."""
    if ends := _ends(groups):
        return delta_in_one_pass(ends[0], epsilon, relative, most_points)
    if not groups or is_single(groups):
        return composed_delta(groups, epsilon, relative).upper
    with precision(64):
        low = lower(ball(epsilon))
    ways = [each for each in directions(groups) if not _is_beyond(each, epsilon)]
    try:
        return max((upper_delta(each, low, relative, most_points) for each in ways), default=0.0)
    except _TOO_EXTREME:
        return 1.0


def _is_beyond(groups: Groups, epsilon: Fraction) -> bool:
    """Whether no loss can exceed ε."""
    largest = None if any(pair.infinity for pair, _ in groups) else _largest(groups)
    return largest is not None and epsilon >= largest


def forget() -> None:
    """Forget all answers, so that the next one is computed anew (for measurements)."""
    for remembered in (composed_epsilon, composed_delta, composed_curve, _readings):
        remembered.cache_clear()


@lru_cache(maxsize=64)
def composed_curve(groups: Groups, relative: float) -> tuple[np.ndarray, np.ndarray]:
    """Points ε ≥ 0 and upper bounds on δ there, the larger of both directions."""
    if ends := _ends(groups):
        return composed_curve(ends[0], relative)
    if not groups:
        return np.zeros(1), np.zeros(1)
    readings = [_readings(each, relative) for each in directions(groups)]
    (first, *_), *_ = readings
    points = first.first + first.step * np.arange(len(first.values))
    epsilons = np.concatenate([[0.0], points[points > 0]])
    return epsilons, _upper_deltas(readings, epsilons)


def lower_deltas(groups: Groups, epsilons: np.ndarray, relative: float) -> list[np.ndarray]:
    """Lower bounds on δ at each ε > 0 in each direction; twice the same where both are."""
    if ends := _ends(groups):
        return lower_deltas(ends[1], epsilons, relative)
    found = [_lower_deltas(each, epsilons, relative) for each in directions(groups)]
    return found if len(found) == 2 else found * 2


def _lower_deltas(groups: Groups, epsilons: np.ndarray, relative: float) -> np.ndarray:
    if not groups:
        return np.zeros(len(epsilons))
    if is_single(groups):  # the line of the test {L > ε} at ε itself
        pair = groups[0].pair
        p, scaled_q, error = pair.tails(epsilons)
        slack = (error + POSITION_ERROR * (1 + epsilons)) * (p + scaled_q)
        least: np.ndarray = np.maximum(p - scaled_q - slack, 0.0) + exactly_below(pair.infinity)
        return least
    if are_mixed(groups):  # what one allowed use costs: no use need cost what both are dominated by
        uses: np.ndarray = np.max([_lower_deltas(use, epsilons, relative) for use in _plain_uses(groups)], axis=0)
        return uses
    plans = [plan_for_epsilon(groups, 0.0), *(plan_for_delta(groups, size) for size in _SIZES_OF_DELTA[:3])]
    reads = [plan.read(plan.step_for(relative * plan.saddle.deviation), above=False) for plan in plans]
    found: np.ndarray = np.max([read.deltas(epsilons) for read in reads], axis=0)
    return found


def composed_deltas(groups: Groups, epsilons: np.ndarray, relative: float) -> np.ndarray:
    """Upper bounds on δ at many ε: from a few passes, each tilted to losses of another size."""
    if ends := _ends(groups):
        return composed_deltas(ends[0], epsilons, relative)
    if not groups or all(_is_beyond(each, Fraction(0)) for each in directions(groups)):
        return np.zeros(len(epsilons))
    if is_single(groups):
        worst: np.ndarray = np.max([_dots_of_one(each[0].pair, epsilons) for each in directions(groups)], axis=0)
        return worst
    deltas = _upper_deltas([_readings(each, relative) for each in directions(groups)], epsilons)
    tops = [None if any(pair.infinity for pair, _ in each) else _largest(each) for each in directions(groups)]
    if None not in tops:
        deltas = np.where(epsilons >= max(exactly_above(top) for top in tops if top is not None), 0.0, deltas)
    return deltas


def _dots_of_one(pair: Pair, epsilons: np.ndarray) -> np.ndarray:
    """Upper bounds of one pair at losses in any order."""
    order = np.argsort(epsilons, kind="stable")
    found = np.empty(len(epsilons))
    found[order] = pair.dots(epsilons[order])
    whole: np.ndarray = np.minimum(np.nextafter(found + exactly_above(pair.infinity), 2.0), 1.0)
    return whole


@lru_cache(maxsize=64)
def _readings(groups: Groups, relative: float) -> list[DeltaCurve]:
    """The profile of one direction from above, once around ε = 0 and once around each of a few sizes of δ."""
    try:
        plans = [plan_for_epsilon(groups, 0.0)]
        infinity = float(sum((pair.infinity * count for pair, count in groups), Fraction(0)))
        plans += [plan_for_delta(groups, size) for size in _SIZES_OF_DELTA if size > infinity]
        return [plan.read(plan.step_for(relative * plan.saddle.deviation), above=True) for plan in plans]
    except _TOO_EXTREME:
        return [nothing(above=True)]


def _upper_deltas(readings: list[list[DeltaCurve]], epsilons: np.ndarray) -> np.ndarray:
    """The smallest bound of each direction, and the larger of both."""
    found: np.ndarray = np.max([np.min([one.deltas(epsilons) for one in each], axis=0) for each in readings], axis=0)
    return found
