"""Privacy filters and odometers: what was spent when each question depends on earlier answers.

`compose` is for what is fixed in advance. If the *parameters* of later releases may depend on earlier answers, the
tight rule does not hold in general. What does:

* sums of ε and δ (Rogers, Roth, Ullman and Vadhan 2016, Theorem 3.3), the `BasicFilter`;
* sums of ρ for zCDP, and of the Rényi divergence order by order (Feldman and Zrnic 2021, Theorem 3.1; Lécuyer
  2021), the `ZCDPFilter` and the `RenyiFilter`: stopped when a fixed budget would be passed, the whole keeps that
  budget. Sums of ρ also cover Gaussian noise, exactly as concentrated as it is.

A filter refuses what would pass its budget before anything is charged, and states both figures. Its `promise`, fixed
in advance, is the guarantee of everything that passes. `spent` is a plain number: what the releases that happened to
be chosen add up to, ex post. It depends on the answers, so it is no guarantee of the mechanism, however small it is;
an odometer, which never refuses, has no other figure and guarantees nothing.
All sums are exact rationals. Filters are frozen: `charge` returns the filter after the release.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Self, TypeVar

from dither.accounting.dominate import Spending, parts_of_all
from dither.adjacency import Adjacency, common
from dither.errors import OverBudget
from dither.exact import Number, ball, check, in_words, precision, rational, set_fields, upper
from dither.guarantees import ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP, RenyiDP
from dither.pairs.bounded import AtMostPair
from dither.pairs.bounded_range import BoundedRangePair
from dither.pairs.choice import ChoicePair
from dither.pairs.discrete_noise import DiscreteGaussianPair
from dither.pairs.gaussian import GaussianPair
from dither.pairs.moments import ConcentratedPair, RenyiPair
from dither.pairs.pair import Pair

__all__ = ["BasicFilter", "BasicOdometer", "RenyiFilter", "ZCDPFilter", "pure_cost", "zcdp_cost"]


@dataclass(frozen=True)
class BasicOdometer:
    """A running sum of ε and δ that never refuses: what was realised, ex post, not a guarantee of the mechanism.

    Parameters
    ----------
    epsilon : Fraction, default 0
        The sum of ε so far.
    delta : Fraction, default 0
        The sum of δ so far.
    adjacency : Adjacency, optional
        Which datasets are neighbours; the first release sets it.
    releases : int, default 0
        The number of releases so far.

    Examples
    --------
    >>> import dither as dp
    >>> odometer = BasicOdometer().charge(dp.PureDP("0.7")).charge(dp.ApproxDP("0.4", "1e-6"))
    >>> odometer.spent
    (Fraction(11, 10), Fraction(1, 1000000))
    """

    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    adjacency: Adjacency | None = None
    releases: int = 0

    def __post_init__(self) -> None:
        _exact_fields(self, "epsilon", "delta")
        check.nonnegative(epsilon=self.epsilon, releases=self.releases)
        check.probability(delta=self.delta)

    def charge(self, thing: Spending) -> Self:
        """Add the cost of a release.

        Parameters
        ----------
        thing : mechanism, release, event, guarantee or pair
            What is released.

        Returns
        -------
        BasicOdometer
            The odometer after it; this one stays as it is.
        """
        epsilon, delta = pure_cost(thing)
        adjacency = _joined(self, thing)
        return replace(
            self,
            epsilon=self.epsilon + epsilon,
            delta=min(self.delta + delta, Fraction(1)),
            adjacency=adjacency,
            releases=self.releases + 1,
        )

    @property
    def spent(self) -> tuple[Fraction, Fraction]:
        """The sums (ε, δ) of the releases so far: realised, ex post, not a guarantee of the mechanism."""
        return self.epsilon, self.delta


@dataclass(frozen=True)
class BasicFilter:
    """Privacy filter for pure and approximate DP: refuse what would raise the sums of ε and δ above a budget.

    Parameters
    ----------
    epsilon : Number
        The budget ε ≥ 0 of everything together.
    delta : Number, default 0
        The budget δ, between 0 and 1.
    odometer : BasicOdometer, optional
        What was spent already; nothing by default.

    Notes
    -----
    Rogers, Roth, Ullman and Vadhan 2016, Theorem 3.3.

    Examples
    --------
    >>> import dither as dp
    >>> after = BasicFilter(1).charge(dp.PureDP("0.7"))
    >>> after.charge(dp.PureDP("0.4"))
    Traceback (most recent call last):
    dither.errors.OverBudget: this release costs epsilon 0.4 (delta 0), but only 0.3 (delta 0) ...
    """

    epsilon: Number
    delta: Number = Fraction(0)
    odometer: BasicOdometer = field(default_factory=BasicOdometer)

    def __post_init__(self) -> None:
        _exact_fields(self, "epsilon", "delta")
        check.nonnegative(epsilon=self.epsilon)
        check.probability(delta=self.delta)

    def charge(self, thing: Spending) -> Self:
        """Charge a release before it is made.

        Parameters
        ----------
        thing : mechanism, release, event, guarantee or pair
            What is to be released.

        Returns
        -------
        BasicFilter
            The filter after it; this one stays as it is.

        Raises
        ------
        OverBudget
            If the budget would be exceeded. Then the release must not be made.
        """
        after = self.odometer.charge(thing)
        budget = rational(self.epsilon), rational(self.delta)
        if after.epsilon > budget[0] or after.delta > budget[1]:
            cost, left = pure_cost(thing), (budget[0] - self.odometer.epsilon, budget[1] - self.odometer.delta)
            raise OverBudget(
                f"this release costs epsilon {in_words(cost[0])} (delta {in_words(cost[1])}), but only "
                f"{in_words(left[0])} (delta {in_words(left[1])}) of {in_words(budget[0])} "
                f"(delta {in_words(budget[1])}) is left."
            )
        return replace(self, odometer=after)

    @property
    def spent(self) -> tuple[Fraction, Fraction]:
        """The sums (ε, δ) of the releases so far: realised, ex post. The guarantee is `promise`."""
        return self.odometer.spent

    @property
    def promise(self) -> ApproxDP:
        """The guarantee of everything that passes the filter, whenever it stops."""
        return ApproxDP(self.epsilon, self.delta, adjacency=self.odometer.adjacency)


@dataclass(frozen=True)
class ZCDPFilter:
    """Privacy filter for zero-concentrated DP: refuse what would raise the sum of ρ above a budget.

    Parameters
    ----------
    rho : Number
        The budget ρ ≥ 0 of everything together.
    used : Fraction, default 0
        The sum of ρ so far.
    adjacency : Adjacency, optional
        Which datasets are neighbours; the first release sets it.
    releases : int, default 0
        The number of releases so far.

    Notes
    -----
    Feldman and Zrnic 2021, Theorem 3.1 at every order.

    Examples
    --------
    >>> import dither as dp
    >>> after = ZCDPFilter("0.1").charge(dp.ZCDP("0.04"))
    >>> after.spent, after.promise
    (Fraction(1, 25), ZCDP(rho=0.1))
    """

    rho: Number
    used: Fraction = Fraction(0)
    adjacency: Adjacency | None = None
    releases: int = 0

    def __post_init__(self) -> None:
        _exact_fields(self, "rho", "used")
        check.nonnegative(rho=self.rho, used=self.used, releases=self.releases)

    def charge(self, thing: Spending) -> Self:
        """Charge a release before it is made.

        Parameters
        ----------
        thing : mechanism, release, event, guarantee or pair
            What is to be released.

        Returns
        -------
        ZCDPFilter
            The filter after it; this one stays as it is.

        Raises
        ------
        OverBudget
            If the budget would be exceeded, or a δ cannot be charged as ρ. Then the release must not be made.
        """
        cost = zcdp_cost(thing)
        return _charged(self, thing, cost, rational(self.rho), f"rho {in_words(cost)}")

    @property
    def spent(self) -> Fraction:
        """The sum of ρ of the releases so far: realised, ex post. The guarantee is `promise`."""
        return self.used

    @property
    def promise(self) -> ZCDP:
        """The guarantee of everything that passes the filter, whenever it stops."""
        return ZCDP(rational(self.rho), adjacency=self.adjacency)


@dataclass(frozen=True)
class RenyiFilter:
    """Privacy filter for Rényi DP of one order: refuse what would raise the sum of divergences above a budget.

    The order is fixed in advance: the filter may not change to whichever order is cheapest in hindsight.

    Parameters
    ----------
    order : Number
        The order α > 1.
    divergence : Number
        The budget of everything together, at this order.
    used : Fraction, default 0
        The sum of divergences so far.
    adjacency : Adjacency, optional
        Which datasets are neighbours; the first release sets it.
    releases : int, default 0
        The number of releases so far.

    Notes
    -----
    Feldman and Zrnic 2021, Theorem 3.1.

    Examples
    --------
    >>> import dither as dp
    >>> RenyiFilter(order=8, divergence=1).charge(dp.ZCDP("0.1")).used
    Fraction(4, 5)
    """

    order: Number
    divergence: Number
    used: Fraction = Fraction(0)
    adjacency: Adjacency | None = None
    releases: int = 0

    def __post_init__(self) -> None:
        _exact_fields(self, "order", "divergence", "used")
        check.nonnegative(divergence=self.divergence, used=self.used, releases=self.releases)
        RenyiDP({self.order: self.divergence})  # refuses orders of 1 or less

    def charge(self, thing: Spending) -> Self:
        """Charge a release, whose Rényi divergence of this order must be known, before it is made.

        Parameters
        ----------
        thing : mechanism, release, event, guarantee or pair
            What is to be released.

        Returns
        -------
        RenyiFilter
            The filter after it; this one stays as it is.

        Raises
        ------
        OverBudget
            If the budget would be exceeded, or the divergence is not known. Then the release must not be made.
        """
        order = rational(self.order)
        cost = _renyi_cost(thing, order)
        words = f"a divergence of {in_words(cost)} of order {in_words(order)}"
        return _charged(self, thing, cost, rational(self.divergence), words)

    @property
    def promise(self) -> RenyiDP:
        """The guarantee of everything that passes the filter, whenever it stops."""
        return RenyiDP({self.order: self.divergence}, adjacency=self.adjacency)


_Sum = TypeVar("_Sum", bound=ZCDPFilter | RenyiFilter)


def _charged(before: _Sum, thing: Spending, cost: Fraction, budget: Fraction, words: str) -> _Sum:
    """A filter after `thing`, or `OverBudget` if the sum would pass its budget."""
    if before.used + cost > budget:
        raise OverBudget(
            f"this release costs {words}, but only {in_words(budget - before.used)} of {in_words(budget)} is left."
        )
    adjacency = _joined(before, thing)
    return replace(before, used=before.used + cost, adjacency=adjacency, releases=before.releases + 1)


def _renyi_cost(thing: Spending, order: Fraction) -> Fraction:
    """The divergence of that order: exact where it is stated, else rounded up; `OverBudget` if it is unknown.

    Of an event it is that of its pairs, added up: what is ρ-concentrated has at most ρ·order.
    """
    if isinstance(thing, Guarantee):
        return _renyi_cost_of(thing, order)
    total = Fraction(0)
    for pair, count in parts_of_all([thing])[0]:
        if isinstance(pair, RenyiPair):
            each = _renyi_cost_of(RenyiDP(dict(pair.points)), order)
        else:
            each = order * _zcdp_cost(pair)
        total += count * each
    return total


def _renyi_cost_of(guarantee: Guarantee, order: Fraction) -> Fraction:
    if isinstance(guarantee, ZCDP):
        return order * guarantee.rho
    if isinstance(guarantee, GaussianDP):
        return order * guarantee.mu_squared / 2
    stated = dict(guarantee.points).get(order) if isinstance(guarantee, RenyiDP) else None
    if stated is not None:
        return stated
    bound = guarantee.renyi(order)
    if bound == float("inf"):
        raise OverBudget(
            f"the divergence of order {in_words(order)} of a {type(guarantee).__name__} is not bounded, or not known. "
            "Charge a RenyiDP that states it."
        )
    return Fraction(bound)


def pure_cost(thing: Spending) -> tuple[Fraction, Fraction]:
    """Compute (ε, δ) of one release as sums need it: the largest loss in either direction, and the infinite mass.

    Parameters
    ----------
    thing : mechanism, release, event, guarantee or pair
        What is released.

    Returns
    -------
    tuple of (Fraction, Fraction)
        ε and δ.

    Raises
    ------
    OverBudget
        If the privacy loss has no bound, as that of Gaussian noise.
    """
    if isinstance(thing, PureDP | ApproxDP):  # its pair has the loss and the mass that it states
        return thing.stated_epsilon, thing.stated_delta if isinstance(thing, ApproxDP) else Fraction(0)
    epsilon, delta = Fraction(0), Fraction(0)
    for pair, count in parts_of_all([thing])[0]:
        each, leak = _pure_cost(pair)
        epsilon += count * each
        delta += count * leak
    return epsilon, delta


def _pure_cost(pair: Pair) -> tuple[Fraction, Fraction]:
    if isinstance(pair, AtMostPair):
        return _pure_cost(pair.above)
    directions = (pair,) if pair.is_symmetric else (pair, pair.swapped())
    tops = [each.largest_loss for each in directions]
    if None in tops:
        raise OverBudget(
            f"the loss of a {type(pair).__name__} has no bound, so that no sum of epsilons covers it. "
            "Charge an ApproxDP(epsilon, delta) that it satisfies, or use a ZCDPFilter."
        )
    return max(top for top in tops if top is not None), max(each.infinity for each in directions)


def zcdp_cost(thing: Spending) -> Fraction:
    """Compute ρ of one release: μ²/2 for Gaussians, ε·tanh(ε/2) for pure DP, η²/8 for bounded range.

    Bun and Steinke 2016, Proposition 1.6; `dither.guarantees.conversions`; Cesar and Rogers 2021, Lemma 3.

    Parameters
    ----------
    thing : mechanism, release, event, guarantee or pair
        What is released.

    Returns
    -------
    Fraction
        ρ, rounded up if it is not rational.

    Raises
    ------
    OverBudget
        If it has no ρ, as a δ has none.
    """
    return sum((count * _zcdp_cost(pair) for pair, count in parts_of_all([thing])[0]), Fraction(0))


def _zcdp_cost(pair: Pair) -> Fraction:
    if isinstance(pair, ChoicePair):  # a filter may learn which of the two it is as late as the release is chosen
        return max(_zcdp_cost(pair.first), _zcdp_cost(pair.second))
    if isinstance(pair, GaussianPair):
        return pair.squared_mu / 2
    if isinstance(pair, ConcentratedPair):
        return pair.rho + pair.xi
    if isinstance(pair, DiscreteGaussianPair):
        return Fraction(pair.sensitivity**2) / (2 * pair.variance)
    if isinstance(pair, BoundedRangePair):
        return pair.width**2 / 8
    if isinstance(pair, RenyiPair):
        raise OverBudget("a list of Rényi divergences bounds no rho. Use a RenyiFilter.")
    epsilon, delta = _pure_cost(pair)
    if delta:
        raise OverBudget("a zCDP filter cannot charge a delta. Use a BasicFilter.")
    with precision(128):
        return Fraction(upper(ball(epsilon) * (ball(epsilon) / 2).tanh()))


def _joined(before: BasicOdometer | ZCDPFilter | RenyiFilter, thing: Spending) -> Adjacency | None:
    """The adjacency of all releases; the first one sets it."""
    adjacency = thing.adjacency if isinstance(thing, Guarantee) else parts_of_all([thing])[1]
    return common([before.adjacency, adjacency]) if before.releases else adjacency


def _exact_fields(instance: object, *names: str) -> None:
    set_fields(instance, **{name: rational(getattr(instance, name), name) for name in names})
