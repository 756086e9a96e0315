"""From what was done to the pairs that dominate it.

`parts(thing)` answers with pairs and how often each occurs. A new event joins by registering here.

Pairs have a direction. The cost of several is the larger of all (P, Q) together and all (Q, P) together, so (P, Q)
must mean the same change of the data in each of them: a record removed, say. What promises (P, Q) in either order,
as `ProfileOf` does, is accounted for by a pair that dominates both. A bare pair is taken in the direction given; if
that is not the same for all, give `either(pair)`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import singledispatch
from itertools import accumulate
from math import floor, isqrt
from typing import Any, Protocol, TypeAlias

import numpy as np

from dither import events
from dither.accounting.composed_brackets import composed_delta, merged
from dither.adjacency import Adjacency, common
from dither.errors import ParameterError
from dither.exact import Ball, ball, binomial, precision, upper
from dither.exact.certified import fraction_above
from dither.guarantees import ZCDP, ApproxDP, GaussianDP, Guarantee, PureDP, RenyiDP, TVStable
from dither.pairs import ProfileOf
from dither.pairs.bounded import AtMostPair
from dither.pairs.bounded_range import BoundedRangePair
from dither.pairs.choice import ChoicePair
from dither.pairs.discrete_noise import DiscreteGaussianPair, DiscreteLaplacePair
from dither.pairs.finite import FinitePair
from dither.pairs.gaussian import GaussianPair
from dither.pairs.gaussian_mixture import GaussianMixturePair
from dither.pairs.groups import grouped
from dither.pairs.laplace import LaplacePair
from dither.pairs.moments import ConcentratedPair, RenyiPair
from dither.pairs.pair import Pair
from dither.pairs.poisson_replaced import poisson_replaced
from dither.pairs.rescaled import RescaledPair, largest_loss
from dither.pairs.selected import selected
from dither.pairs.shuffled import ShuffledPair, best_half
from dither.pairs.staircase import StaircasePair
from dither.pairs.subsampled import WorstPair, either, fixed_size, poisson
from dither.pairs.tested import TestedPair
from dither.pairs.truncated import grid_above, truncated
from dither.pairs.two_point import TwoPointPair, approximate, pure
from dither.pairs.with_replacement import with_replacement

__all__ = ["HasEvent", "Parts", "Spending", "adjacency_of", "events_of", "of_groups", "parts", "parts_of_all"]

Parts: TypeAlias = tuple[tuple[Pair, int], ...]
"""Pairs, each with how often it occurs."""

Spending: TypeAlias = "events.Event | Guarantee | Pair"
"""What can be accounted for by itself."""


class HasEvent(Protocol):
    """What says which event it is, such as a mechanism or a release."""

    @property
    def event(self) -> events.Event:
        """What is or was done."""
        ...


_FREE: Parts = ((pure(Fraction(0)), 1),)
_LARGEST_LATTICE_VARIANCE = 10**24
_MOST_TOGETHER = 64
_LEAST_SHARE = Fraction(1, 10**30)
_LARGEST_ODDS = Fraction(10**250)
_BITS = 320
_ROUGH = 1e-2
_LARGEST_THRESHOLD = 10**9  # beyond, test and answer are taken part by part: the search over distances is too long


def parts_of_all(things: Iterable[Spending | HasEvent]) -> tuple[Parts, Adjacency | None]:
    """The pairs of all things, and the adjacency that they share."""
    known = events_of(things)
    if not known:
        raise ParameterError("there must be at least one thing to compose, got an empty list.")
    found = tuple(pair for thing in known for pair in parts(thing))
    return found, common(adjacency_of(thing) for thing in known)


def events_of(things: Iterable[Spending | HasEvent]) -> list[Any]:
    """The things, with the event in place of what only has one, such as a mechanism or a release."""
    return [getattr(thing, "event", thing) if not _is_known(thing) else thing for thing in things]


def _is_known(thing: object) -> bool:
    return parts.dispatch(type(thing)) is not parts.dispatch(object)


def adjacency_of(thing: Spending) -> Adjacency | None:
    """The adjacency under which the thing holds; a bare pair leaves it unstated."""
    return None if isinstance(thing, Pair) else thing.adjacency


@singledispatch
def parts(thing: object) -> Parts:
    """The pairs that dominate `thing`, with their counts."""
    raise ParameterError(
        f"the cost of a {type(thing).__name__} is not known. Give events, guarantees or pairs; "
        "what was proved elsewhere can be given as a guarantee."
    )


@parts.register
def _(pair: Pair) -> Parts:
    return ((pair, 1),)


@parts.register
def _(event: events.LaplaceNoise) -> Parts:
    if event.step is None:
        return ((LaplacePair(event.sensitivity / event.scale), 1),)
    return ((DiscreteLaplacePair(event.scale / event.step, int(event.sensitivity / event.step)), 1),)


@parts.register
def _(event: events.GaussianNoise) -> Parts:
    squared_mu = event.sensitivity_squared / event.variance
    if event.step is None:
        return ((GaussianPair(squared_mu), 1),)
    variance = event.variance / event.step**2
    if event.dimension == 1 and variance <= _LARGEST_LATTICE_VARIANCE:
        return ((DiscreteGaussianPair(variance, isqrt(int(event.sensitivity_squared / event.step**2))), 1),)
    # Canonne, Kamath and Steinke 2020, Theorem 14: in any dimension it is as concentrated as the continuous one.
    return ((ConcentratedPair(squared_mu / 2), 1),)


@parts.register
def _(event: events.MixtureOfGaussians) -> Parts:
    weights: dict[Fraction, Fraction] = {}
    for sensitivity, probability in zip(event.sensitivities, event.probabilities, strict=True):
        square = sensitivity**2 / event.variance
        weights[square] = weights.get(square, Fraction(0)) + probability
    if len(weights) == 1:
        return ((GaussianPair(*weights), 1),)
    return ((GaussianMixturePair(tuple(weights), tuple(weights.values())), 1),)


@parts.register
def _(event: events.StaircaseNoise) -> Parts:
    return ((StaircasePair(event.epsilon, 2 * event.fraction), 1),)


@parts.register
def _(event: events.RandomizedAnswer) -> Parts:
    other = (1 - event.keep) / event.answers
    true, rest = event.keep + other, (event.answers - 2) * other
    if not rest:
        return ((TwoPointPair(odds=true / other), 1),)
    return ((FinitePair((true, other, rest), (other, true, rest)), 1),)


@parts.register
def _(event: events.FiniteAnswer) -> Parts:
    return ((FinitePair(event.p, event.q), 1),)


@parts.register
def _(event: events.Selection) -> Parts:
    width = (1 if event.monotone else 2) * event.sensitivity / event.scale
    return ((BoundedRangePair(width) if event.noise == "gumbel" else pure(width), 1),)


@parts.register
def _(event: events.SparseVectorRun) -> Parts:
    answers = (1 if event.monotone else 2) * event.max_above * event.sensitivity / event.query_scale
    return ((pure(event.sensitivity / event.threshold_scale + answers), 1),)


@parts.register
def _(event: events.SmoothNoise) -> Parts:
    """Noise with a polynomial tail has a largest loss; other noise is known by bounds on its profile."""
    extra, tail = event.lattice_loss or Fraction(0), event.exponent
    if tail is None:
        return ((RescaledPair(event.noise, event.smoothness, event.scale, extra), 1),)
    if not Fraction(101, 100) <= tail <= 100:  # as mechanisms have it; beyond, the search for the loss has no end
        raise ParameterError("the cost of noise with a tail exponent below 1.01 or above 100 is not known.")
    loss = fraction_above(lambda: largest_loss(event.noise, tail, event.smoothness, event.scale).upper())
    return ((pure(loss + extra), 1),)


@parts.register
def _(event: events.TestAndRelease) -> Parts:
    """Whole distances with integer noise and one pair for the answer: both jointly (claim C20). Else part by part.

    If one of two neighbours is at a positive distance, the answer has its stated sensitivity between them. If
    both are at distance 0, each answers with probability at most P[noise > threshold].
    """
    (test, _), *_, (answer, times) = found = (*parts(event.test), *parts(event.answer))
    is_one = len(found) == 2 and times == 1 and answer.is_symmetric
    if isinstance(test, DiscreteLaplacePair | DiscreteGaussianPair) and is_one and _is_whole_distance(event):
        return ((TestedPair(test, floor(event.threshold), answer), 1),)
    with precision(128):
        leak = min(Fraction(upper(_passes(event))), Fraction(1))
    return (*found, (approximate(Fraction(0), leak), 1))


def _is_whole_distance(event: events.TestAndRelease) -> bool:
    """Whether noise on the integers is compared with a threshold that may be rounded down to them."""
    test = event.test
    assert isinstance(test, events.LaplaceNoise | events.GaussianNoise), "the event has checked it"
    size = test.sensitivity if isinstance(test, events.LaplaceNoise) else test.sensitivity_squared
    spread = test.scale**2 if isinstance(test, events.LaplaceNoise) else test.variance
    is_near = event.threshold <= _LARGEST_THRESHOLD and spread <= _LARGEST_THRESHOLD**2
    return test.step == size == 1 and event.threshold >= 0 and is_near


def _passes(event: events.TestAndRelease) -> Ball:
    """P[noise > threshold], from above: on a lattice the tail is at most twice that of the law on the line."""
    test, threshold = event.test, ball(event.threshold)
    if event.threshold <= 0:
        return Ball(1)
    if isinstance(test, events.LaplaceNoise):
        return (-threshold / ball(test.scale)).exp() / (2 if test.step is None else 1)
    assert isinstance(test, events.GaussianNoise)
    tail = (threshold / (2 * ball(test.variance)).sqrt()).erfc() / 2
    return tail if test.step is None else (-threshold * threshold / (2 * ball(test.variance))).exp()


@parts.register
def _(event: events.Composed) -> Parts:
    return tuple(pair for part in event.events for pair in parts(part))


@parts.register
def _(event: events.Repeated) -> Parts:
    return tuple((pair, count * event.times) for pair, count in parts(event.event))


@parts.register
def _(event: events.Either) -> Parts:
    first, second = (_one_pair(parts(part), "that may be done instead of others") for part in event.parts)
    return ((first if first == second else ChoicePair(first, second), 1),)


@parts.register
def _(event: events.PoissonSampled) -> Parts:
    return _FREE if not event.rate else ((_on_sample(poisson, event.event, event.rate), 1),)


@parts.register
def _(event: events.FixedSizeSampled) -> Parts:
    rate = Fraction(event.sample, event.population)
    return _FREE if not rate else ((_on_sample(fixed_size, event.event, rate), 1),)


@parts.register
def _(event: events.WithReplacementSampled) -> Parts:
    def drawn(pair: Pair, _: Fraction) -> Pair:
        return with_replacement(pair, event.sample, event.population)

    return ((_on_sample(drawn, event.event, Fraction(1, event.population)), 1),)


@parts.register
def _(event: events.TruncatedPoissonSampled) -> Parts:
    if not event.rate:
        return _FREE
    return ((truncated(_squared_mu(event.event), event.rate, event.batch, event.population), 1),)


@parts.register
def _(event: events.BallsInBinsSampled) -> Parts:
    """As if the place were known: wherever a record is thrown it moves one batch, and a mix of such costs no more.

    From below, one batch alone: to whoever sees only that, it is a Poisson sample.
    """
    known = GaussianPair(_squared_mu(event.event))
    return ((known if event.batches == 1 else AtMostPair(known, poisson(known, Fraction(1, event.batches))), 1),)


def _squared_mu(event: events.Event) -> Fraction:
    assert isinstance(event, events.GaussianNoise), "the event has checked it"
    return event.sensitivity_squared / event.variance


@parts.register(events.MatrixNoise)
@parts.register(events.TreeNoise)
def _(event: events.MatrixNoise | events.TreeNoise) -> Parts:
    above, below = (GaussianPair(square / event.variance) for square in (event.distance_squared, event.reached_squared))
    return ((above if above == below else AtMostPair(above, below), 1),)


@parts.register
def _(event: events.ShuffledReports) -> Parts:
    """By the largest loss of one report; other answers of randomized response hide more than its loss says."""
    pair = _one_pair(parts(event.event))
    if event.reports == 1:
        return ((pair, 1),)
    tops = [each.largest_loss for each in (pair, pair.swapped())]
    if pair.infinity or pair.swapped().infinity or None in tops:
        raise ParameterError(
            "shuffled reports are accounted for if the loss of one report is bounded, as with Laplace noise or "
            f"randomized response; got: {event.event}. Without shuffling its own cost holds."
        )
    top = max(top for top in tops if top is not None)
    if not top:
        return _FREE
    blanket = _blanket(event.event) if isinstance(event.event, events.RandomizedAnswer) else None
    return ((ShuffledPair(top, event.reports, blanket, best_half(_example(parts(event.event)))), 1),)


def _blanket(event: events.RandomizedAnswer) -> Fraction:
    """2/(e + 1) for the odds e of the true answer against each other one."""
    other = (1 - event.keep) / event.answers
    return 2 / ((event.keep + other) / other + 1)


@parts.register
def _(event: events.RepeatAndSelect) -> Parts:
    run = parts(event.event)
    base = either(run[0][0] if len(run) == 1 and run[0][1] == 1 else _one_pair(run, "in one run"))
    return ((selected(base, event.shape, event.stop, event.mean), 1),)


@parts.register
def _(event: events.ReplaceOne) -> Parts:
    """Part by part: noise on a Poisson sample as one, everything else by two steps."""
    inside = event.event
    if isinstance(inside, events.Composed):
        return tuple(pair for part in inside.events for pair in parts(events.ReplaceOne(part)))
    if isinstance(inside, events.Repeated):
        return tuple((pair, count * inside.times) for pair, count in parts(events.ReplaceOne(inside.event)))
    if isinstance(inside, events.PoissonSampled):
        return _FREE if not inside.rate else ((_on_sample(poisson_replaced, inside.event, inside.rate), 1),)
    return tuple((_sampled(_in_steps, pair, Fraction(2)), count) for pair, count in parts(inside))


def _in_steps(pair: Pair, steps: Fraction) -> Pair:
    return grouped(either(pair), int(steps))


def of_groups(pair: Pair, size: int) -> Pair:
    """What a pair costs between datasets that are `size` steps apart, whichever way each step goes."""
    return _sampled(_in_steps, pair, Fraction(size))


@parts.register
def _(event: events.GroupOf) -> Parts:
    """Part by part; records that are sampled by themselves are in a batch together as often as a binomial law says."""
    inside, size = event.event, event.size
    if isinstance(inside, events.Composed):
        return tuple(pair for part in inside.events for pair in parts(events.GroupOf(part, size)))
    if isinstance(inside, events.Repeated):
        return tuple((pair, count * inside.times) for pair, count in parts(events.GroupOf(inside.event, size)))
    if isinstance(inside, events.PoissonSampled) and 0 < inside.rate < 1:
        base = _one_pair(parts(inside.event))
        if isinstance(base, GaussianPair):
            drawn = _drawn_together(size, inside.rate)
            squares = tuple(base.squared_mu * count**2 for count, _ in drawn)
            return ((GaussianMixturePair(squares, tuple(share for _, share in drawn)), 1),)
    # To come and to go are two directions, and a group goes in one of them; a replacement has none.
    one_way = inside.adjacency is not None and inside.adjacency.change != "replace"
    step = _alike if one_way else _in_steps
    return tuple((_sampled(step, pair, Fraction(size)), count) for pair, count in parts(inside))


def _drawn_together(size: int, rate: Fraction) -> list[tuple[int, Fraction]]:
    """How many of a group are drawn, with probabilities: a few numbers, some rounded up, which only costs more.

    So does a probability to draw more that is rounded up: each is one on a grid, whatever the digits of the rate. What
    that adds falls to the whole group.
    """
    odds = float(min(rate / (1 - rate), _LARGEST_ODDS))
    first, shares = binomial.law(size, odds, float(_LEAST_SHARE))
    likely = (first + np.flatnonzero(shares > float(_LEAST_SHARE))).tolist()
    stride = -(-len(likely) // _MOST_TOGETHER)
    kept = sorted({likely[-1], *likely[::stride], size})
    with precision(_BITS):
        beyond = [min(grid_above(binomial.at_least(size, rate, count + 1)), Fraction(1)) for count in kept]
    falling = [Fraction(1), *accumulate(beyond, min)]
    drawn = zip(kept, falling, falling[1:], strict=False)
    return [(count, before - after) for count, before, after in drawn if before > after]


def _alike(pair: Pair, steps: Fraction) -> Pair:
    """All steps in one direction: records that all come, or all go."""
    return grouped(pair, int(steps))


def _sampled(sample: Callable[[Pair, Fraction], Pair], pair: Pair, rate: Fraction) -> Pair:
    """The pair on a sample. Which of two things is done does not depend on the sample: it is one of two sampled."""
    if isinstance(pair, ChoicePair):
        return ChoicePair(sample(pair.first, rate), sample(pair.second, rate))
    return sample(pair, rate)


def _on_sample(sample: Callable[[Pair, Fraction], Pair], inside: events.Event, rate: Fraction) -> Pair:
    """What is done to a sample, as one pair; what costs more than several things do is bounded by one of them below."""
    found = parts(inside)
    pair = _one_pair(found)
    if (
        isinstance(pair, AtMostPair) and pair.may_leak
    ):  # each end for itself, so that infinite losses stay what they are
        return AtMostPair(sample(pair.above, rate), sample(pair.below, rate))
    whole = _sampled(sample, pair, rate)
    if len(found) == 1 == found[0][1] or all(isinstance(pair, GaussianPair) for pair, _ in found):
        return whole
    return AtMostPair(whole, sample(_example(found), rate))


def _example(found: Parts) -> Pair:
    """One of several things, or of the two that a choice is between: whoever sees only that sees no more."""
    pair = max(found, key=lambda part: part[0].support[1])[0]
    return pair.second if isinstance(pair, ChoicePair) else pair


def _one_pair(found: Parts, where: str = "on one sample") -> Pair:
    """One pair that dominates the product of all: exact for one pair and for Gaussians, else of the summed losses."""
    if len(found) == 1 and found[0][1] == 1:
        return found[0][0]
    gaussians = [(pair, count) for pair, count in found if isinstance(pair, GaussianPair)]
    if len(gaussians) == len(found):
        return GaussianPair(sum((pair.squared_mu * count for pair, count in gaussians), Fraction(0)))
    largest, leak = Fraction(0), Fraction(0)
    for each, count in found:
        pair = each.above if isinstance(each, AtMostPair) else each
        top = max(pair.support[1], pair.swapped().support[1])
        if top == float("inf"):
            raise ParameterError(
                f"several events {where} are accounted for only if their losses are bounded, or if all of them are "
                "Gaussian. State what they cost together, as Stated('ApproxDP', (epsilon, delta)) with the epsilon of "
                "dp.compose."
            )
        largest += Fraction(top) * count
        leak += max(pair.infinity, pair.swapped().infinity) * count
    return approximate(largest, min(leak, Fraction(1)))


@parts.register
def _(event: events.Stated) -> Parts:
    first, *others = event.values
    if event.measure == "RenyiDP":
        return ((RenyiPair(tuple(zip(event.values[::2], event.values[1::2], strict=True))), 1),)
    if event.measure == "ApproxDP":
        return ((approximate(first, others[0]), 1),)
    if event.measure == "ZCDP" and any(others):
        return ((ConcentratedPair(first, others[0]) if first else pure(others[0]), 1),)
    return _STATED[event.measure](first)


@parts.register
def _(guarantee: PureDP) -> Parts:
    return _STATED["PureDP"](guarantee.stated_epsilon)


@parts.register
def _(guarantee: ApproxDP) -> Parts:
    if (done := _done_for(guarantee)) is not None:
        return parts(done)
    return ((approximate(guarantee.stated_epsilon, guarantee.stated_delta), 1),)


def _done_for(promise: object) -> Any:
    """The event that keeps a promise, if it names one; None if that certainly costs more than is promised."""
    done = getattr(promise, "done", None)
    if not isinstance(promise, ApproxDP) or done is None:
        return None
    done = getattr(done, "event", done)
    counts: Counter[Pair] = Counter()
    for pair, times in parts(done):
        counts[pair] += times
    found = composed_delta(tuple(merged(counts)), promise.stated_epsilon, _ROUGH)
    return done if found.lower <= promise.stated_delta else None


@parts.register
def _(guarantee: TVStable) -> Parts:
    return _STATED["TVStable"](guarantee.stated_tv)


@parts.register
def _(guarantee: GaussianDP) -> Parts:
    return _STATED["GaussianDP"](guarantee.mu_squared)


@parts.register
def _(guarantee: ZCDP) -> Parts:
    return _STATED["ZCDP"](guarantee.rho)


@parts.register
def _(guarantee: RenyiDP) -> Parts:
    return ((RenyiPair(guarantee.points), 1),)


@parts.register
def _(guarantee: ProfileOf) -> Parts:
    """Each release may have its worst neighbours in its own order, so one pair has to dominate both orders.

    One of two things whose orders are alike stays that: what a mechanism guarantees costs what its event costs.
    """
    pair = guarantee.pair
    if isinstance(pair, ChoicePair) and not (pair.first.is_symmetric and pair.second.is_symmetric):
        pair = WorstPair(pair.first, pair.second)
    return ((either(pair), 1),)


_STATED: dict[str, Callable[[Fraction], Parts]] = {
    "PureDP": lambda epsilon: ((pure(epsilon), 1),),
    "TVStable": lambda tv: ((approximate(Fraction(0), tv), 1),),
    "GaussianDP": lambda square: ((GaussianPair(square), 1),) if square else _FREE,
    "ZCDP": lambda rho: ((ConcentratedPair(rho), 1),) if rho else _FREE,
}
