"""The cost of everything together, bracketed from both sides.

>>> from fractions import Fraction
>>> from dither.pairs.pair import LaplacePair, response
>>> both = of_pairs([(LaplacePair(Fraction(1, 50)), 200), (response(Fraction(3, 4)), 20)])
>>> lower, upper = both.bracket(1e-6)
>>> round(lower, 2), round(upper, 2)
(22.76, 22.76)
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from dither.accounting.choices import are_mixed, worst_mix
from dither.accounting.dominate import HasEvent, Spending, parts_of_all
from dither.accounting.search import (
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
from dither.adjacency import Adjacency
from dither.errors import ParameterError
from dither.exact import Number, ball, check, lower, precision, rational, upper
from dither.exact.certified import exactly_above, exactly_below, named
from dither.pairs.moments import ConcentratedPair, RenyiPair
from dither.pairs.one_sided import GeometricPair
from dither.pairs.pair import GaussianPair, Pair, TwoPointPair
from dither.pairs.subsampled import FixedSizePair, MixturePair, PoissonAddPair, PoissonRemovePair, WorstPair

__all__ = ["RELATIVE_WIDTH", "Composition", "WideBracket", "compose", "forget", "of_pairs"]

RELATIVE_WIDTH = 1e-4
"""How wide a bracket may be, relative to its upper end, before the lattice is refined."""

_OF_DELTA = 10.0
"""How much wider a bracket on δ may be: where ε moves by a little, δ moves by more."""

_COARSER = 30.0
_MOST_WORK = 1 << 24  # points of all lattices in one pass
_FEWEST_POINTS = 1 << 12
_FEW = 64
_DOWN = 1 - 2.0**-50
_LEAST_SEEN = 1e-300  # below, floats have no narrower bracket to offer
_MIXTURES = (FixedSizePair, MixturePair, PoissonAddPair, PoissonRemovePair, WorstPair)
_SUPPORT_SLACK = 2.0**-44
_TOO_EXTREME = (OverflowError, ZeroDivisionError)
"""Sizes or counts that floats cannot hold: then the sum of the largest losses, or nothing, is what is certain."""


class WideBracket(UserWarning):
    """The bracket is valid, but wider than asked; the message states the reason.

    The largest lattice was reached; or something is known by bounds only, as a zCDP guarantee is; or something may be
    one of two things, and the mixes of them are too many to look at each. `epsilon`, `delta` and `tv`, which return the
    upper end only, do not warn about bounds: no computation improves on them.
    """


@dataclass(frozen=True)
class Composition:
    """The privacy cost of several releases on the same data, each with its own randomness, fixed in advance.

    `dp.compose` returns it. `bracket` and `delta_bracket` return both ends of the answer, the other methods the safe
    one. The lower ends are about the dominating pairs: no accounting that rests on them can do better. Where a release
    may be one of two things, the upper end covers all mixes, and the lower end is what one of them costs.

    Parameters
    ----------
    groups : tuple of Group
        Dominating pairs with their counts.
    adjacency : Adjacency, optional
        Which datasets are neighbours; all releases share it.
    relative_width : float, default 1e-4
        How wide a bracket may be, relative to its upper end.
    """

    groups: Groups
    adjacency: Adjacency | None = None
    relative_width: float = RELATIVE_WIDTH

    def bracket(self, delta: Number) -> Bracket:
        """Bracket the smallest ε ≥ 0 for which everything together is (ε, δ)-DP.

        Parameters
        ----------
        delta : Number
            δ between 0 and 1.

        Returns
        -------
        Bracket
            (lower, upper): the smallest ε lies between them, and `upper` is safe.

        Warns
        -----
        WideBracket
            If it is wider than `relative_width`.
        """
        found, question = self._around_epsilon(delta)
        self._warn(found, question)
        return found

    def epsilon(self, delta: Number) -> float:
        """Compute the smallest ε ≥ 0 for which everything together is (ε, δ)-DP.

        Parameters
        ----------
        delta : Number
            δ between 0 and 1.

        Returns
        -------
        float
            ε(δ), never below the truth; ∞ if there is none.
        """
        found, question = self._around_epsilon(delta)
        if self._is_exact:
            self._warn(found, question)
        return found.upper

    def _around_epsilon(self, delta: Number) -> tuple[Bracket, str]:
        exact = rational(delta, "delta")
        check.probability(delta=exact)
        return _epsilon(self.groups, exact, self.relative_width), f"epsilon at delta={float(exact)}"

    def upper_epsilon(self, delta: Number) -> float:
        """Compute ε(δ) without the lower end: about twice as fast as `epsilon`, in one pass of the given width.

        Parameters
        ----------
        delta : Number
            δ between 0 and 1.

        Returns
        -------
        float
            An upper bound on ε(δ).
        """
        exact = rational(delta, "delta")
        check.probability(delta=exact)
        if are_mixed(self.groups):
            return _epsilon(self.groups, exact, self.relative_width).upper
        return _one_pass(self.groups, exact, self.relative_width)

    def is_closed(self, delta: Fraction) -> bool:
        """Decide whether ε(δ) is known without a lattice: a single pair, or δ = 0.

        Parameters
        ----------
        delta : Fraction
            δ between 0 and 1.

        Returns
        -------
        bool
            Whether it is known in closed form.
        """
        return _is_closed(self.groups, delta)

    def delta_bracket(self, epsilon: Number) -> Bracket:
        """Bracket the smallest δ for which everything together is (ε, δ)-DP.

        Parameters
        ----------
        epsilon : Number
            ε ≥ 0.

        Returns
        -------
        Bracket
            (lower, upper): the smallest δ lies between them, and `upper` is safe.

        Warns
        -----
        WideBracket
            If it is wider than ten times `relative_width`.
        """
        found, question = self._around_delta(epsilon)
        self._warn(found, question, _OF_DELTA)
        return found

    def delta(self, epsilon: Number) -> float:
        """Compute the smallest δ for which everything together is (ε, δ)-DP.

        Parameters
        ----------
        epsilon : Number
            ε ≥ 0.

        Returns
        -------
        float
            δ(ε), never below the truth.
        """
        found, question = self._around_delta(epsilon)
        if self._is_exact:
            self._warn(found, question, _OF_DELTA)
        return found.upper

    def _around_delta(self, epsilon: Number) -> tuple[Bracket, str]:
        exact = rational(epsilon, "epsilon")
        check.nonnegative(epsilon=exact)
        found = _delta(self.groups, exact, _OF_DELTA * self.relative_width)
        return found, f"delta at epsilon={float(exact)}"

    def upper_delta(self, epsilon: Number) -> float:
        """Bound δ from above only: one pass over a bounded number of points, so a little wider than `delta`.

        Parameters
        ----------
        epsilon : Number
            Where δ is asked for, at least 0.

        Returns
        -------
        float
            An upper bound on δ. All lattices together have at most 2^24 points, whatever is composed.
        """
        exact = rational(epsilon, "epsilon")
        check.nonnegative(epsilon=exact)
        points = max(min(MOST_POINTS, _MOST_WORK // max(len(self.groups), 1)), _FEWEST_POINTS)
        return _delta_in_one_pass(self.groups, exact, _OF_DELTA * self.relative_width, points)

    def tv(self) -> float:
        """Compute the total variation distance δ(0): the advantage of the best attacker.

        Returns
        -------
        float
            The distance, never below the truth.
        """
        return self.delta(0)

    def beta(self, alpha: Number) -> float:
        """Compute the smallest type II error (false negative rate) of any test at type I error `alpha` (claim C27).

        Parameters
        ----------
        alpha : Number
            The type I error (false positive rate), between 0 and 1.

        Returns
        -------
        float
            β(α), never above the truth.

        Notes
        -----
        β(α) ≥ max(1 − δ(ε) − e^ε α, e^{−ε}(1 − δ(ε) − α)) for every ε ≥ 0 (Dong, Roth and Su 2022, Prop. 2.5).
        """
        exact = rational(alpha, "alpha")
        check.probability(alpha=exact)
        level = math.nextafter(float(exact), 2.0)
        epsilons, deltas = _curve(self.groups, self.relative_width)
        # Down by 2^-50 of itself before anything is taken away: that is more than all roundings that follow, of 1 − δ,
        # of e^ε α (smaller than it wherever the difference is positive), of e^-ε, of differences and products.
        rest = (1 - deltas) * _DOWN
        with np.errstate(over="ignore"):
            steep = rest - np.exp(epsilons) * level
        flat = np.exp(-epsilons) * np.maximum(rest - level, 0.0)
        return max(float(np.max(np.maximum(steep, flat))), 0.0)

    @property
    def _is_exact(self) -> bool:
        return all(group.pair.is_exact for group in self.groups)

    def _warn(self, found: Bracket, question: str, factor: float = 1.0) -> None:
        """Say that the bracket is wider than asked, if it is; called by what the user called."""
        width = factor * self.relative_width
        if not found.is_within(width) and _LEAST_SEEN < found.upper < math.inf:
            warnings.warn(
                f"{question} is between {found.lower} and {found.upper}: certain, but wider than {width} relative. "
                + self._advice,
                WideBracket,
                stacklevel=3,
            )

    @property
    def _advice(self) -> str:
        if not self._is_exact:
            return (
                "Part of it is known by bounds only: a zCDP or Rényi promise, an integer vector with Gaussian noise, a "
                "tested release, or noise scaled to smooth sensitivity. Give events in place of promises, or use the "
                "upper end."
            )
        if are_mixed(self.groups):
            return "Say what each value will be, event_for(value) of its mechanism, or give a larger relative_width."
        return "Give a larger relative_width, or fewer different events."


def compose(things: Iterable[Spending | HasEvent], *, relative_width: float = RELATIVE_WIDTH) -> Composition:
    """Compute the tight privacy cost of several releases on the same data together.

    Parameters
    ----------
    things : iterable
        What was or will be done: mechanisms, releases, events, guarantees or dominating pairs, mixed as you like. All
        must hold under the same adjacency, and be fixed in advance; for choices that depend on earlier answers use a
        filter of `dither.accounting.filters`.
    relative_width : float, default 1e-4
        How wide a bracket may be, relative to its upper end: brackets are refined until they are narrower. Smaller
        takes longer.

    Returns
    -------
    Composition
        Ask it for `.epsilon(delta)`, `.delta(epsilon)`, `.bracket(delta)` with both ends, `.tv()` or `.beta(alpha)`.

    Raises
    ------
    AdjacencyMismatch
        If two of them hold under different adjacencies.
    ParameterError
        If there is nothing to compose, or the cost of something is not known.

    Notes
    -----
    Privacy loss distributions of the dominating pairs are convolved on a lattice, once rounded up and once rounded
    down, so that the answer is bracketed from both sides.

    Examples
    --------
    >>> import dither as dp
    >>> counts = [dp.Laplace(sensitivity=1, epsilon=0.1)] * 100
    >>> everything = dp.compose([*counts, dp.GaussianDP(0.2)])  # ours, and what somebody else guarantees
    >>> round(everything.epsilon(1e-6), 3)  # the sum of ε alone would be 10
    4.893
    >>> lower, upper = everything.bracket(1e-6)
    >>> upper - lower < 1e-4 * upper
    True
    """
    pairs, adjacency = parts_of_all(things)
    return of_pairs(pairs, adjacency=adjacency, relative_width=relative_width)


def of_pairs(
    pairs: Iterable[tuple[Pair, int]],
    *,
    adjacency: Adjacency | None = None,
    relative_width: float = RELATIVE_WIDTH,
) -> Composition:
    """Compose dominating pairs with their counts; equal ones are counted together, Gaussians become one.

    Parameters
    ----------
    pairs : iterable of (Pair, int)
        Dominating pairs, each with the number of times that it occurs.
    adjacency : Adjacency, optional
        Which datasets are neighbours.
    relative_width : float, default 1e-4
        How wide a bracket may be, relative to its upper end.

    Returns
    -------
    Composition
        The cost of all of them together.
    """
    if not 0 < relative_width < 1:
        raise ParameterError(f"relative_width must lie strictly between 0 and 1, got {relative_width}.")
    counts: Counter[Pair] = Counter()
    for pair, count in pairs:
        check.count(count=count)
        counts[pair] += int(count)
    if not counts:
        raise ParameterError("there must be at least one thing to compose, got an empty list.")
    return Composition(tuple(_merged(counts)), adjacency, float(relative_width))


def _merged(counts: Counter[Pair]) -> Iterator[Group]:
    """Groups of equal pairs; those whose parameters add up become one, those that cost nothing none."""
    squares, rho = Fraction(0), Fraction(0)
    one_sided: dict[bool, Fraction] = {}
    curves: list[dict[Fraction, Fraction]] = []
    for pair, count in counts.items():
        if isinstance(pair, GaussianPair):
            squares += count * pair.squared_mu
        elif isinstance(pair, ConcentratedPair):
            rho += count * pair.rho
        elif isinstance(pair, RenyiPair):
            curves.append({order: count * value for order, value in pair.points})
        elif isinstance(pair, GeometricPair):
            one_sided[pair.is_swapped] = one_sided.get(pair.is_swapped, Fraction(0)) + count * pair.largest
        elif not _is_free(pair):
            yield Group(pair, count)
    if squares:
        yield Group(GaussianPair(squares), 1)
    if rho:
        yield Group(ConcentratedPair(rho), 1)
    for is_swapped, largest in one_sided.items():
        yield Group(GeometricPair(largest, is_swapped), 1)
    if curves:
        shared = sorted(set.intersection(*map(set, curves)))
        if not shared:
            raise ParameterError("the Rényi curves share no order. Give them at the same orders.")
        yield Group(
            RenyiPair(tuple((order, sum((curve[order] for curve in curves), Fraction(0))) for order in shared)), 1
        )


def _is_free(pair: Pair) -> bool:
    return isinstance(pair, TwoPointPair) and not pair.leak and (pair.loss == 0 or pair.odds == 1)


def _directions(groups: Groups) -> list[Groups]:
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


def _is_single(groups: Groups) -> bool:
    return len(groups) == 1 and groups[0].times == 1


def _is_closed(groups: Groups, delta: Fraction) -> bool:
    return not delta or delta == 1 or not groups or _is_single(groups)


def _one_pass(groups: Groups, delta: Fraction, relative: float) -> float:
    """An upper bound on ε(δ), from one pass where it is not known without; a choice counts as its worst pair here."""
    if _is_closed(groups, delta):
        return _epsilon(groups, delta, relative).upper
    basic = _epsilon_if_pure(groups, delta)
    try:
        return min(_upper_of_all(groups, delta, relative), basic)
    except _TOO_EXTREME:
        return basic


def _upper_of_all(groups: Groups, delta: Fraction, relative: float) -> float:
    """Upper bounds of both directions; the cheaper direction only as finely as needed to show that it is."""
    if any(pair.infinity > delta for each in _directions(groups) for pair, _ in each):
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
    plans = [plan_for_delta(each, max(delta, 1e-300)) for each in _directions(groups)]
    return sorted(plans, key=lambda plan: plan.saddle.epsilon, reverse=True)


@lru_cache(maxsize=256)
def _epsilon(groups: Groups, delta: Fraction, relative: float) -> Bracket:
    try:
        return _found_epsilon(groups, delta, relative)
    except _TOO_EXTREME:
        return Bracket(0.0, _epsilon_if_pure(groups, delta))


def _found_epsilon(groups: Groups, delta: Fraction, relative: float) -> Bracket:
    if delta == 1 or not groups:
        return Bracket(0.0, 0.0)
    if _is_single(groups):
        answers = [Bracket(*each[0].pair.bracket(delta)) for each in _directions(groups)]
        highest = max(a.upper for a in answers)
        return Bracket(max(a.lower for a in answers), min(highest, _epsilon_if_pure(groups, delta)))
    if not delta:
        return _without_delta(groups)
    if are_mixed(groups):
        return worst_mix(
            groups,
            _merged,
            lambda product: _epsilon(product, delta, relative),
            lambda block: _one_pass(block, delta, relative),
            relative,
        )
    found = _worst_direction(groups, delta, relative)
    return Bracket(found.lower, min(found.upper, _epsilon_if_pure(groups, delta)))


def _without_delta(groups: Groups) -> Bracket:
    """The largest losses. Supports are rounded outwards, those of mixtures also by an absolute amount."""
    best = Bracket(0.0, 0.0)
    is_exact = all(pair.is_exact for pair, _ in groups)
    slack = _SUPPORT_SLACK * sum(times for pair, times in groups if isinstance(pair, _MIXTURES))
    for each in _directions(groups):
        top = math.inf if any(pair.infinity for pair, _ in each) else _in_sum(each)
        low = top * (1 - 2.0**-40) - slack if is_exact else 0.0
        best = Bracket(max(best.lower, low), max(best.upper, top))
    return best


def _epsilon_if_pure(groups: Groups, delta: Fraction) -> float:
    """Basic composition of the largest losses, where δ covers all infinite ones."""
    return max(0.0, *(math.inf if _exceeds(each, delta) else _in_sum(each) for each in _directions(groups)))


def _exceeds(groups: Groups, delta: Fraction) -> bool:
    """Whether infinite losses may be likelier than δ; by the union bound first, as exact powers may be long."""
    return sum((pair.infinity * count for pair, count in groups), Fraction(0)) > delta


def _worst_direction(groups: Groups, delta: Fraction, relative: float) -> Bracket:
    if any(pair.infinity > delta for each in _directions(groups) for pair, _ in each):
        return Bracket(math.inf, math.inf)
    with precision(64):
        low, high = lower(ball(delta)), upper(ball(delta))
    plans = _dearest_first(groups, low)
    best = epsilon_bracket(plans[0], low, high, relative)
    for plan in plans[1:]:
        above = _rough(plan, low, best.upper, relative) if best.upper else math.inf
        both = Bracket(best.lower, max(best.upper, above))
        if above > best.upper and not both.is_within(relative):
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
def _delta(groups: Groups, epsilon: Fraction, relative: float) -> Bracket:
    try:
        return _found_delta(groups, epsilon, relative)
    except _TOO_EXTREME:
        return Bracket(0.0, 1.0)


def _found_delta(groups: Groups, epsilon: Fraction, relative: float) -> Bracket:
    if not groups:
        return Bracket(0.0, 0.0)
    if are_mixed(groups):
        return worst_mix(
            groups,
            _merged,
            lambda product: _delta(product, epsilon, relative),
            lambda block: _delta_in_one_pass(block, epsilon, relative),
            relative,
        )
    if _is_single(groups):
        answers = [_delta_of_one(each[0].pair, epsilon) for each in _directions(groups)]
    else:
        with precision(64):
            low, high = lower(ball(epsilon)), upper(ball(epsilon))
        answers = [
            Bracket(0.0, 0.0) if _is_beyond(each, epsilon) else delta_bracket(each, low, high, relative)
            for each in _directions(groups)
        ]
    return Bracket(max(a.lower for a in answers), max(a.upper for a in answers))


def _delta_of_one(pair: Pair, epsilon: Fraction) -> Bracket:
    """Beyond the largest loss δ is what is infinite, exactly: the very number where it has a name."""
    top = pair.largest_loss
    if pair.is_exact and top is not None and epsilon >= top:
        return Bracket(exactly_below(pair.infinity), named(pair.infinity))
    return Bracket(*pair.delta_bracket(epsilon))


def _delta_in_one_pass(groups: Groups, epsilon: Fraction, relative: float, most_points: int = MOST_POINTS) -> float:
    """An upper bound on δ(ε); a choice counts as its worst pair here."""
    if not groups or _is_single(groups):
        return _delta(groups, epsilon, relative).upper
    with precision(64):
        low = lower(ball(epsilon))
    ways = [each for each in _directions(groups) if not _is_beyond(each, epsilon)]
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
    for remembered in (_epsilon, _delta, _curve):
        remembered.cache_clear()


@lru_cache(maxsize=64)
def _curve(groups: Groups, relative: float) -> tuple[np.ndarray, np.ndarray]:
    """Points ε ≥ 0 and upper bounds on δ there, the larger of both directions."""
    if not groups:
        return np.zeros(1), np.zeros(1)
    epsilons = np.zeros(1)
    readings = []
    try:
        for each in _directions(groups):
            plan: LossWindow = plan_for_epsilon(each, 0.0)
            readings.append(plan.read(plan.step_for(relative * plan.saddle.deviation), above=True))
    except _TOO_EXTREME:
        return epsilons, np.ones(1)
    first = readings[0]
    points = first.first + first.step * np.arange(len(first.values))
    epsilons = np.concatenate([[0.0], points[points > 0]])
    deltas = np.max([[reading.delta(float(e)) for e in epsilons] for reading in readings], axis=0)
    return epsilons, deltas
