"""C9 and C12 to C16: choosing one of many, and answering by chance."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import pairwise, product
from math import ceil, floor
from typing import TypeAlias

from flint import acb

from dither.audit.claims import grid
from dither.audit.claims.claim import Evidence, Figure, at_most, claim, equal, exceeds, implemented
from dither.exact import Ball, ball
from dither.guarantees import multiplicative_distance
from dither.mechanisms import (
    Exponential,
    NoisyMax,
    RandomizedResponse,
    exponential_tail,
    largest_exponential_tail,
)
from dither.mechanisms.piecewise_scores import Pieces
from dither.mechanisms.selection import NoiseName
from dither.mechanisms.selection_error import error_distribution
from dither.noise.race import NOISES, Scores
from dither.pairs.bounded_range import BoundedRangePair

__all__ = ["c9", "c12", "c13", "c14", "c15", "c16"]

_EPSILONS = tuple(Fraction(x) for x in ("0.1", "1", "3"))
_MANY = 10**12


@claim(
    "C9",
    "S1",
    "Randomized response (keep with probability p, else a fair coin) is ln(1 + 2p/(1−p))-DP, and no less.",
    "ε = ln(1 + 2p/(1−p))",
)
def c9(factor: Fraction = Fraction(1)) -> Iterator[Evidence]:
    """Two and more answers: d◇ of the exact answer laws. For d answers the 2 is a d."""
    for keep, answers in product((Fraction(1, 10), Fraction(1, 2), Fraction(9, 10), Fraction(999, 1000)), (2, 3, 10)):
        printed = 1 + factor * answers * keep / (1 - keep)
        other = (1 - keep) / answers
        laws = [[keep + other if answer == true else other for answer in range(answers)] for true in (0, 1)]
        yield equal("ε", ball(printed).log(), multiplicative_distance(*laws), p=keep, answers=answers)
        built = RandomizedResponse(answers=range(answers), keep=keep)
        yield implemented("ε that it states", ball(printed).log(), built.guarantee.epsilon(0), p=keep, answers=answers)
        wrong = built.expected_error
        yield implemented("chance of a wrong answer", Fraction(answers - 1) * other, wrong, p=keep, answers=answers)
    for keep, people in product((Fraction(1, 3), Fraction(9, 10)), (("a", "b", "b"), ("a", "c", "c", "c"))):
        yield from _estimates(RandomizedResponse(answers=("a", "b", "c"), keep=keep), people)
    for epsilon in _EPSILONS:
        kept = RandomizedResponse(answers=("no", "yes"), epsilon=epsilon).keep
        yield implemented("p for a budget", ball(epsilon / 2).tanh(), ball(kept), ε=epsilon)
    asked = RandomizedResponse(answers=("no", "yes"), epsilon=1)
    true = float(asked.keep + (1 - asked.keep) / 2)
    yield Figure(
        "deviation of the unbiased share, ε = 1, n = 10000", (true * (1 - true) / 10000) ** 0.5 / float(asked.keep)
    )


def _estimates(mechanism: RandomizedResponse, people: tuple[str, ...]) -> Iterator[Evidence]:
    """Over every way in which the answers may come out: the mean of the estimate and its variance, exactly.

    The stated variance is linear in the estimate, so that its mean is the variance itself.
    """
    size, other = len(people), (1 - mechanism.keep) / len(mechanism.answers)
    mean, square, stated = (Fraction(0),) * 3
    for shown in product(mechanism.answers, repeat=size):
        chance = Fraction(1)
        for told, true in zip(shown, people, strict=True):
            chance *= other + (mechanism.keep if told == true else 0)
        found = mechanism.estimate(list(shown))
        estimate = Fraction(float(found.estimate[0]))
        mean, square = mean + chance * estimate, square + chance * estimate**2
        stated += chance * Fraction(float(found.variance[0]))
    at: dict[str, object] = {"p": mechanism.keep, "answers": people}
    yield implemented("mean of the estimated share", ball(Fraction(people.count("a"), size)), ball(mean), **at)
    yield implemented("mean of the stated variance", ball(square - mean**2), ball(stated), **at)


Law: TypeAlias = "list[Ball]"


@claim(
    "C12",
    "S4 Alg 2, Th 4",
    "Exponential mechanism: Pr[y] ∝ exp(ε q(y)/(2Δ)) is ε-DP, also with base weights; exp(ε q(y)/Δ) if all scores "
    "move together.",
    "Pr[y] ∝ exp(ε q(y)/(2Δ))",
)
def c12(general: Fraction = Fraction(2), monotone: Fraction = Fraction(1)) -> Iterator[Evidence]:
    """Scores of up to 10¹² candidates: one rises and the others fall (or stay, for monotone scores)."""
    for epsilon, count in product(_EPSILONS, (2, 100, _MANY)):
        opposite = _odds_loss(epsilon / general, count, rise=1, fall=-1)
        yield at_most("ε", ball(epsilon), opposite, ε=epsilon, candidates=count)
        together = _odds_loss(epsilon / monotone, count, rise=1, fall=0)
        yield at_most("ε, monotone scores", ball(epsilon), together, ε=epsilon, candidates=count)
        built = Exponential(sensitivity=1, epsilon=epsilon)
        yield implemented("scale that the mechanism uses", ball(general / epsilon), ball(built.scale), ε=epsilon)
        built = Exponential(sensitivity=1, epsilon=epsilon, monotone=True)
        yield implemented("scale that it uses, monotone scores", ball(monotone / epsilon), ball(built.scale), ε=epsilon)
    for epsilon in _EPSILONS:
        yield from _range_of_losses(epsilon)
    weights, scores = [Fraction(1, 2), Fraction(1, 3), Fraction(1, 6)], (5, 3, 0)
    for moves in product((-1, 0, 1), repeat=3):
        moved = [q + move for q, move in zip(scores, moves, strict=True)]
        laws = [_weighted(weights, each, 1 / general) for each in (scores, moved)]
        yield at_most("ε with base weights", Ball(1), grid.largest_loss(*laws), move=moves)
        drawn = Exponential(sensitivity=1, epsilon=1).probabilities(moved, weights=weights)
        for i, chance in enumerate(drawn):
            yield implemented("Pr[y] that the mechanism states", laws[1][i], chance, move=moves, y=i)
        laws = [_points_of_pieces(each, 1 / general) for each in (scores, moved)]
        yield at_most("ε on an interval", Ball(1), grid.largest_loss(*laws), move=moves)
    yield from _sizes_of_pieces(scores)
    yield Figure("δ(ε/2) of bounded range over that of ε-DP, ε = 1", _bounded_range_gain(Fraction(1)))


def _odds_loss(rate: Fraction, count: int, rise: int, fall: int) -> Ball:
    """All scores equal, then the first one moves by `rise` and the others by `fall`."""
    up, down = ball(rate * rise).exp(), ball(rate * fall).exp()
    total = (up + (count - 1) * down) / count
    return grid.largest_loss([up / total, down / total], [Ball(1), Ball(1)])


def _range_of_losses(epsilon: Fraction) -> Iterator[Evidence]:
    """The mechanism's own probabilities of three candidates, before and after every move of their scores.

    Losses lie in an interval of width ε, and some of exactly that width; so a release has the bounded-range profile.
    """
    mechanism, scores = Exponential(sensitivity=1, epsilon=epsilon), (1, 0, 0)
    before = mechanism.probabilities(scores)
    profile = BoundedRangePair(epsilon).profile(ball(epsilon / 2))
    widest = Ball(0)
    for moves in product((-1, 0, 1), repeat=3):
        after = mechanism.probabilities([q + move for q, move in zip(scores, moves, strict=True)])
        losses = [(a / b).log() for a, b in zip(before, after, strict=True)]
        widest = grid.largest([widest, *(x - y for x in losses for y in losses)])
        odds = ball(epsilon / 2).exp()
        delta = sum(((a - odds * b).max(Ball(0)) for a, b in zip(before, after, strict=True)), Ball(0))
        yield at_most("δ(ε/2) that a release states", profile, delta, ε=epsilon, move=moves)
    yield equal("range of the losses", ball(epsilon), widest, ε=epsilon)
    # A share of very many candidates rises and the rest fall: the best share attains the profile.
    attained = grid.largest(_delta_of_a_share(epsilon, Fraction(i, 200)) for i in range(1, 200))
    yield at_most("δ(ε/2) that a release states", profile, attained, ε=epsilon, move="a share rises")
    yield at_most("least δ(ε/2) that a release may state", attained * ball(Fraction(1001, 1000)), profile, ε=epsilon)


def _delta_of_a_share(epsilon: Fraction, share: Fraction) -> Ball:
    """δ(ε/2) between equal scores and those of which a share rises by Δ and the rest fall by Δ; the worse direction."""
    up, down = ball(epsilon / 2).exp(), ball(-epsilon / 2).exp()
    here = [ball(share), ball(1 - share)]
    there = grid.normalised([here[0] * up, here[1] * down])
    both = ((here, there), (there, here))
    return grid.largest(sum(((a - up * b).max(Ball(0)) for a, b in zip(p, q, strict=True)), Ball(0)) for p, q in both)


def _weighted(weights: Sequence[Fraction], scores: Sequence[int], rate: Fraction) -> Law:
    return grid.normalised([ball(w) * ball(rate * q).exp() for w, q in zip(weights, scores, strict=True)])


def _points_of_pieces(scores: Sequence[int], rate: Fraction) -> Law:
    """Pr[one grid point] in each of three pieces of [0, 1], as the mechanism lays them."""
    laid = Pieces.of(_EDGES, list(scores)).scores
    each = [ball(rate * q).exp() for q in scores]
    total = sum((ball(laid.weight(i)) * each[i] for i in range(3)), Ball(0))
    return [weight / total for weight in each]


_EDGES = [Fraction(i, 6) for i in (0, 2, 3, 6)]


def _sizes_of_pieces(scores: Sequence[int]) -> Iterator[Evidence]:
    """A point of the grid belongs to the piece that begins at it or before it; the last one to the last piece."""
    laid = Pieces.of(_EDGES, list(scores))
    step = Fraction(2) ** laid.grid.exponent
    starts = [ceil(edge / step) for edge in _EDGES[:-1]] + [floor(_EDGES[-1] / step) + 1]
    for i, (start, end) in enumerate(pairwise(starts)):
        yield implemented("points of a piece", end - start, laid.scores.weight(i), piece=i)


def _bounded_range_gain(epsilon: Fraction) -> Ball:
    pure = (ball(epsilon).exp() - ball(epsilon / 2).exp()) / (1 + ball(epsilon).exp())
    return BoundedRangePair(epsilon).profile(ball(epsilon / 2)) / pure


@claim(
    "C13",
    "S4 Ex 1, 2",
    "The most common condition: Δ = 1. The price of a digital good, q(p) = p·#{x ≥ p} in cents: Δ = the highest price.",
    "Δ = 1 and Δ = 99 cents",
)
def c13(condition: int = 1, price: int = 99) -> Iterator[Evidence]:
    """Sensitivities by trying each pair of records; then the exact chance of a bad choice on the shipped examples."""
    kinds = [frozenset(i for i in range(3) if mask >> i & 1) for mask in range(8)]
    moved = max(abs((i in a) - (i in b)) for i in range(3) for a in kinds for b in kinds)
    yield equal("Δ of a condition's count", condition, moved)
    cents = range(1, 100)
    moved = max(abs(p * (a >= p) - p * (b >= p)) for p in cents for a in (*cents, 0) for b in (*cents, 0))
    yield equal("Δ of the revenue, in cents", price, moved)
    answers = [20 + (7 * i) % 80 for i in range(1000)]
    revenue = [p * sum(x >= p for x in answers) for p in cents]
    sold = error_distribution("gumbel", Fraction(2 * price), Scores.of(revenue))
    bound = Exponential(sensitivity=price, epsilon=1, candidates=len(revenue)).utility("0.05")
    stated = 2 * price * (Ball(len(revenue)).log() + Ball(20).log())
    yield implemented("2Δ ln(d/β)/ε that the mechanism states, β = 0.05", stated, bound)
    best, law = max(revenue), grid.normalised([ball(Fraction(q, 2 * price)).exp() for q in revenue])
    missed = sum((p for q, p in zip(revenue, law, strict=True) if best - q > bound), Ball(0))
    yield at_most("Pr[revenue misses the best by more than 2Δ ln(d/β)/ε], β = 0.05", Fraction(1, 20), missed)
    near = sum((p for q, p in zip(revenue, law, strict=True) if best - q > price), Ball(0))
    yield implemented("Pr[revenue misses the best by more than Δ]", near, sold.beyond(price))
    mean = sum((ball(best - q) * p for q, p in zip(revenue, law, strict=True)), Ball(0))
    yield implemented("mean loss of revenue", mean, sold.expected)
    yield Figure("mean loss of revenue over the best, 1000 answers, ε = 1", sold.expected / max(revenue))


@claim(
    "C14",
    "S4 Alg 3, notes",
    "Report noisy max with Exp(2Δ/ε) noise is ε-DP, also with Laplace and Gumbel noise; Gumbel noise is exactly the "
    "exponential mechanism, and exponential noise is never worse.",
    "scale 2Δ/ε",
)
def c14(scale: Fraction = Fraction(2)) -> Iterator[Evidence]:
    """Exact laws of the winner of three, before and after each score moves by at most 1."""
    for noise, epsilon in product(("exponential", "laplace", "gumbel"), _EPSILONS):
        for scores in ((0, 0, 0), (2, 1, 0), (40, 0, 0)):
            loss = grid.largest(_winner_loss(noise, scale / epsilon, scores, moves) for moves in _MOVES)
            yield at_most("ε", ball(epsilon), loss, noise=noise, ε=epsilon, scores=scores)
            somebody = sum(_winner(noise, scale / epsilon, scores), Ball(0))
            yield equal("Pr[somebody wins]", 1, somebody, noise=noise, ε=epsilon, scores=scores)
    for epsilon, scores in product(_EPSILONS, ((1, 0, 0), (3, 2, 0), (5, 5, 1))):
        best = max(scores)
        weights = grid.normalised([ball((q - best) * epsilon / scale).exp() for q in scores])
        gumbel, flip = (_winner(noise, scale / epsilon, scores) for noise in ("gumbel", "exponential"))
        for candidate in range(3):
            yield equal("Pr[winner], Gumbel noise", weights[candidate], gumbel[candidate], ε=epsilon, scores=scores)
        missed = [sum(((best - q) * p for q, p in zip(scores, law, strict=True)), Ball(0)) for law in (weights, flip)]
        yield at_most("mean error of exponential noise", missed[0], missed[1], ε=epsilon, scores=scores)
        gaps = error_distribution("gumbel", scale / epsilon, Scores.of(list(scores))).errors
        for gap, q in zip(gaps, sorted(set(scores), reverse=True), strict=True):
            yield implemented("errors that may occur", best - q, gap, ε=epsilon, scores=scores)
    yield implemented("scale that the mechanism uses", scale, NoisyMax(sensitivity=1, epsilon=1).scale)
    for noise, winners in product(_NOISES, ((1, 0, 0), (5, 5, 1))):
        drawn = NoisyMax(sensitivity=1, epsilon=1, noise=noise).probabilities(winners)
        for i, chance in enumerate(_by_integration(noise, scale, winners)):
            yield implemented("Pr[winner] that the mechanism states", chance, drawn[i], noise=noise, scores=winners)
    yield Figure("mean error, Gumbel over exponential noise, scores (5, 5, 1), ε = 3", missed[0] / missed[1])


_NOISES: tuple[NoiseName, ...] = ("exponential", "laplace", "gumbel")
_MOVES = ((1, -1, -1), (-1, 1, 1), (-1, 1, -1), (1, 0, 0), (0, 1, 0))


def _winner(noise: str, scale: Fraction, scores: Sequence[int]) -> Law:
    """Pr[candidate wins], shared equally among candidates of equal score."""
    found = error_distribution(noise, scale, Scores.of(list(scores)))
    by_score = dict(zip(sorted(set(scores), reverse=True), found.probabilities, strict=True))
    return [by_score[q] / scores.count(q) for q in scores]


def _by_integration(noise: str, scale: Fraction, scores: Sequence[int]) -> Law:
    """Pr[candidate i has the largest score + noise] = ∫ f(x − qᵢ) Π F(x − qⱼ) dx, each ∫ cut at the scores.

    Written from the densities, in the unit of the scale; beyond 130 scales there is less than 10⁻⁵⁰ of it.
    """
    places = [ball(q / scale) for q in scores]
    cuts = sorted({Fraction(q) / scale for q in scores})
    ends = [cuts[0] - 130, *cuts, cuts[-1] + 130]
    found = []
    for i in range(len(scores)):
        total = Ball(0)
        for left, right in pairwise(ends):
            # A place at or above the piece is on the lower branch of its law, the others on the upper one.
            below = [Fraction(q) / scale >= right for q in scores]

            def integrand(x: acb, _: bool, i: int = i, below: list[bool] = below) -> acb:
                out = _DENSITY[noise](x - places[i], below[i])
                for j, place in enumerate(places):
                    if j != i:
                        out *= _BELOW[noise](x - place, below[j])
                return out

            total += acb.integral(integrand, acb(ball(left)), acb(ball(right))).real
        found.append(total)
    return found


_DENSITY: dict[str, Callable[[acb, bool], acb]] = {
    "exponential": lambda x, low: acb(0) if low else (-x).exp(),
    "laplace": lambda x, low: (x if low else -x).exp() / 2,
    "gumbel": lambda x, low: (-x - (-x).exp()).exp(),
}
_BELOW: dict[str, Callable[[acb, bool], acb]] = {
    "exponential": lambda x, low: acb(0) if low else 1 - (-x).exp(),
    "laplace": lambda x, low: x.exp() / 2 if low else 1 - (-x).exp() / 2,
    "gumbel": lambda x, low: (-((-x).exp())).exp(),
}


def _winner_loss(noise: str, scale: Fraction, scores: Sequence[int], moves: Sequence[int]) -> Ball:
    other = [q + move for q, move in zip(scores, moves, strict=True)]
    return grid.largest_loss(_winner(noise, scale, scores), _winner(noise, scale, other))


@claim(
    "C15",
    "S4 L5",
    "Pr[Exp(λ) > tλ] = e^{−t}; Pr[max of d > λ(ln d + t)] ≤ e^{−t}, and less for d > 1. The notes print = for both.",
    "Pr[max of d > λ(ln d + t)] = e^{−t}  (corrected: ≤)",
)
def c15(union: Fraction = Fraction(1)) -> Iterator[Evidence]:
    """Exactly 1 − (1 − e^{−t}/d)^d for the maximum; the tail from the law that noisy max draws, F(V) with uniform V."""
    for count, t in product((1, 2, 10, 1000, 10**6), (Fraction(0), Fraction(1), Fraction(3), Fraction(10))):
        exact = 1 - (1 - ball(-t).exp() / count) ** count
        yield at_most("Pr[max > λ(ln d + t)]", ball(union) * ball(-t).exp(), exact, d=count, t=t)
        yield implemented(
            "Pr[max > …] that the library states", exact, largest_exponential_tail(count, t), d=count, t=t
        )
        yield implemented("e^{−t} that the library states", ball(union) * ball(-t).exp(), exponential_tail(t), t=t)
    drawn = NOISES["exponential"]
    for t in (Fraction(1, 100), Fraction(1), Fraction(10), Fraction(700)):
        # F falls, so F(V) > t where V < e^{−t}: with probability e^{−t} if and only if F(e^{−t}) = t.
        yield equal("t with Pr[noise > tλ] = e^{−t}", ball(t), drawn.at(ball(union) * ball(-t).exp()), t=t)


@claim(
    "C16",
    "S4 Th 6",
    "q_max − q(Y) ≤ 2Δ(ln d + t)/ε except with probability e^{−t}. The notes print 4Δ; 2Δ holds.",
    "4Δ(ln d + t)/ε  (corrected: 2Δ)",
)
def c16(factor: Fraction = Fraction(2)) -> Iterator[Evidence]:
    """The worst scores put the d − 1 others just beyond the bound; with a = e^{−x/b} there, b = 2Δ/ε,

    the best loses with probability (d−1)a/(1 + (d−1)a) for Gumbel and 1 − (1 − (1−a)^d)/(da) for exponential noise.
    """
    losing: dict[NoiseName, Callable[[Ball, int], Ball]] = {
        "exponential": lambda a, d: 1 - (1 - (1 - a) ** d) / (d * a),
        "gumbel": lambda a, d: (d - 1) * a / (1 + (d - 1) * a),
    }
    for noise, count, t in product(losing, (2, 10, 1000, 10**6), (Fraction(1), Fraction(3), Fraction(10))):
        bound = ball(factor / 2) * (Ball(count).log() + ball(t))  # in scales 2Δ/ε
        missed = losing[noise]((-bound).exp(), count)
        yield at_most("Pr[error > bound]", ball(-t).exp(), missed, noise=noise, d=count, t=t)
    mechanism = NoisyMax(sensitivity=1, epsilon=1, candidates=1000)
    ours, quantile = mechanism.utility("0.05"), mechanism.error("0.05")
    stated = ball(factor) * (Ball(1000).log() + Ball(20).log())
    yield implemented("bound that the mechanism states, d = 1000, t = ln 20", stated, ours)
    for noise, count in product(losing, (2, 10, 1000)):
        exact = NoisyMax(sensitivity=1, epsilon=1, candidates=count, noise=noise).error("0.05")
        for far, point in ((exact, at_most), (exact * (1 - 1e-6), exceeds)):
            missed = losing[noise]((-Ball(far) / 2).exp(), count)
            yield point("Pr[error > the mechanism's own bound]", Fraction(1, 20), missed, noise=noise, d=count)
    yield Figure("printed 4Δ bound over the exact 95 % error, d = 1000", 2 * ours / quantile)
    yield Figure("corrected 2Δ bound over the exact 95 % error, d = 1000", ours / quantile)
    printed = losing["exponential"]((-2 * (Ball(1000).log() + Ball(20).log())).exp(), 1000)
    yield Figure("Pr[error > printed bound] where the notes allow 0.05, d = 1000", printed)
