"""The cost of everything together, bracketed from both sides.

>>> from fractions import Fraction
>>> from dither.pairs.laplace import LaplacePair
>>> from dither.pairs.two_point import response
>>> both = of_pairs([(LaplacePair(Fraction(1, 50)), 200), (response(Fraction(3, 4)), 20)])
>>> lower, upper = both.bracket(1e-6)
>>> round(lower, 2), round(upper, 2)
(22.76, 22.76)
"""

from __future__ import annotations

import math
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Self

import numpy as np

from dither.accounting.bracket_search import (
    MOST_POINTS,
    Bracket,
    Groups,
)
from dither.accounting.choices import are_mixed
from dither.accounting.composed_brackets import (
    composed_curve,
    composed_delta,
    composed_deltas,
    composed_epsilon,
    delta_in_one_pass,
    directions,
    epsilon_in_one_pass,
    is_closed,
    is_single,
    merged,
)
from dither.accounting.divergences import mu_squared_of, renyi_of, rho_of
from dither.accounting.dominate import HasEvent, Parts, Spending, of_groups, parts, parts_of_all
from dither.adjacency import Adjacency
from dither.errors import ParameterError
from dither.exact import Ball, Number, check, rational
from dither.exact.certified import exactly_below
from dither.guarantees import ZCDP, GaussianDP, Guarantee, PureDP
from dither.pairs.groups import GroupPair
from dither.pairs.pair import Pair
from dither.pairs.two_point import pure

__all__ = ["RELATIVE_WIDTH", "Composition", "WideBracket", "compose", "of_pairs"]

RELATIVE_WIDTH = 1e-4
"""How wide a bracket may be, relative to its upper end, before the lattice is refined."""

_OF_DELTA = 10.0
"""How much wider a bracket on δ may be: where ε moves by a little, δ moves by more."""

_MOST_WORK = 1 << 24  # points of all lattices in one pass
_FEWEST_POINTS = 1 << 12
_DOWN = 1 - 2.0**-50
_FEW_DELTAS = 32  # of a single release that are found to the last digit
_LEAST_SEEN = 1e-300  # below, floats have no narrower bracket to offer


class WideBracket(UserWarning):
    """The bracket is valid, but wider than asked; the message states the reason.

    The largest lattice was reached; or something is known by bounds only, as a zCDP guarantee is; or something may be
    one of two things, and the mixes of them are too many to look at each. `epsilon`, `delta` and `tv`, which return the
    upper end only, do not warn about bounds: no computation improves on them.
    """


@dataclass(frozen=True, repr=False)
class Composition(Guarantee):
    """The privacy cost of several releases on the same data, each with its own randomness, fixed in advance.

    `dp.compose` returns it. It is a guarantee like any other: it can be drawn, converted and composed again. `bracket`
    and `delta_bracket` return both ends of the answer, the other methods the safe one. The lower ends are about the
    dominating pairs: no accounting that rests on them can do better. Where a release may be one of two things, the
    upper end covers all mixes, and the lower end is what one of them costs.

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

    def _epsilon(self, delta: Fraction) -> float:
        return composed_epsilon(self.groups, delta, self.relative_width).upper

    def _around_epsilon(self, delta: Number) -> tuple[Bracket, str]:
        exact = rational(delta, "delta")
        check.probability(delta=exact)
        return composed_epsilon(self.groups, exact, self.relative_width), f"epsilon at delta={float(exact)}"

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
            return composed_epsilon(self.groups, exact, self.relative_width).upper
        return epsilon_in_one_pass(self.groups, exact, self.relative_width)

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
        return is_closed(self.groups, delta)

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
        found = composed_delta(self.groups, exact, _OF_DELTA * self.relative_width)
        return found, f"delta at epsilon={float(exact)}"

    def _profile(self, epsilon: Fraction) -> Ball:
        found = composed_delta(self.groups, epsilon, _OF_DELTA * self.relative_width)
        return Ball(found.lower).union(Ball(found.upper))

    def deltas(self, epsilons: Iterable[Number]) -> list[float]:
        """Compute δ at many ε, as curves need it: a few passes for all of them together, and no warning.

        Parameters
        ----------
        epsilons : iterable of Number
            Where δ is asked for, each at least 0.

        Returns
        -------
        list of float
            Upper bounds on δ. Each may be a little wider than that of `delta`, and below 1e-12 much wider.

        Examples
        --------
        >>> import dither as dp
        >>> whole = dp.compose([dp.events.Repeated(dp.events.GaussianNoise.of(20), 100)])
        >>> [round(delta, 4) for delta in whole.deltas([0, 1, 2])]
        [0.1974, 0.0068, 0.0]
        """
        exact = [rational(epsilon, "epsilon") for epsilon in epsilons]
        for epsilon in exact:
            check.nonnegative(epsilon=epsilon)
        if is_single(self.groups) and len(exact) <= _FEW_DELTAS:
            return [self.delta(epsilon) for epsilon in exact]
        below = np.array([exactly_below(epsilon) for epsilon in exact])
        return [float(delta) for delta in composed_deltas(self.groups, below, _OF_DELTA * self.relative_width)]

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
        return delta_in_one_pass(self.groups, exact, _OF_DELTA * self.relative_width, points)

    def _beta(self, alpha: Fraction) -> float:
        """β(α) ≥ max(1 − δ(ε) − e^ε α, e^{−ε}(1 − δ(ε) − α)) for every ε ≥ 0 (Dong, Roth and Su 2022, Prop. 2.5)."""
        level = math.nextafter(float(alpha), 2.0)
        epsilons, deltas = composed_curve(self.groups, self.relative_width)
        # Down by 2^-50 of itself before anything is taken away: that is more than all roundings that follow, of 1 − δ,
        # of e^ε α (smaller than it wherever the difference is positive), of e^-ε, of differences and products.
        rest = (1 - deltas) * _DOWN
        with np.errstate(over="ignore"):
            steep = rest - np.exp(epsilons) * level
        flat = np.exp(-epsilons) * np.maximum(rest - level, 0.0)
        return float(np.max(np.maximum(steep, flat)))

    def _renyi(self, order: Fraction) -> float:
        """The sum of all divergences, in the direction where it is larger."""
        sums = (math.fsum(times * renyi_of(pair, order) for pair, times in each) for each in directions(self.groups))
        return max(sums, default=0.0) * (1 + 2.0**-48) if self.groups else 0.0

    def _rho(self) -> Fraction | None:
        return self._summed(rho_of)

    def _mu_squared(self) -> Fraction | None:
        return self._summed(mu_squared_of)

    def _summed(self, of: Callable[[Pair], Fraction | None]) -> Fraction | None:
        """The sum over all releases of what each keeps; None if one of them keeps none."""
        sums = []
        for each in directions(self.groups):
            kept = [(of(pair), times) for pair, times in each]
            sums.append([value * times for value, times in kept if value is not None])
            if len(sums[-1]) < len(kept):
                return None
        return max(sum(values, Fraction(0)) for values in sums)

    def _group(self, size: int) -> Guarantee:
        """Each release for itself, in steps that go either way; by what all keep together where that is not enough."""
        if size == 1:
            return replace(self, adjacency=None)
        with suppress(ParameterError):  # Rényi curves and groups have no rule
            pairs = [(of_groups(pair, size), times) for pair, times in self.groups]
            if not any(isinstance(pair, GroupPair) and pair.support[1] == math.inf for pair, _ in pairs):
                return of_pairs(pairs, relative_width=self.relative_width)
        largest = self.epsilon(0)
        if largest < math.inf:
            return PureDP(largest).group(size)
        if (squared := self._mu_squared()) is not None:
            return GaussianDP.from_square(squared).group(size)
        if (rho := self._rho()) is not None:
            return ZCDP(rho).group(size)
        return super()._group(size)

    def _is_implied_by(self, other: Guarantee) -> bool:
        return isinstance(other, Composition) and other.groups == self.groups

    def _under(self, adjacency: Adjacency | None) -> Self:
        return replace(self, adjacency=adjacency)

    def _parameters(self) -> Mapping[str, object]:
        return {"releases": sum(group.times for group in self.groups), "kinds": len(self.groups)}

    def is_perfect(self) -> bool:
        """Decide whether nothing that is composed costs anything.

        Returns
        -------
        bool
            Whether there is nothing left that costs.
        """
        return not self.groups

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
                "tested release, noise scaled to smooth sensitivity, shuffled reports, random bins, or a sample that "
                "is cut or drawn with replacement. Give events in place of promises, or use the upper end."
            )
        if are_mixed(self.groups):
            return "Say what each value will be, event_for(value) of its mechanism, or give a larger relative_width."
        return "Give a larger relative_width, or fewer different events."


@parts.register
def _(whole: Composition) -> Parts:
    return tuple((pair, times) for pair, times in whole.groups) or ((pure(Fraction(0)), 1),)


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
    return Composition(tuple(merged(counts)), adjacency, float(relative_width))
