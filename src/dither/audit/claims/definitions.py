"""D1 to D7: the definitions, as statements that can be false.

Each is compared with a second way to the same number: every event of a finite pair, every pair of neighbours in a
small world.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import permutations, product

from flint import acb

from dither import adjacency
from dither.audit.claims import grid
from dither.audit.claims.claim import Evidence, at_most, claim, equal, refused
from dither.exact import Ball, ball
from dither.measures import (
    hockey_stick,
    indistinguishable,
    multiplicative_distance,
    privacy_loss,
    pure_three_ways,
    total_variation,
)
from dither.measures.pairs import Gaussian

__all__ = ["d1", "d2", "d3", "d4", "d5", "d6", "d7"]

_NUDGE = Fraction(1, 10**9)


@claim(
    "D1",
    "S0 1.1",
    "Pure DP in its three forms (every event, every output, privacy loss at most ε) is one and the same promise.",
    "P(E) ≤ e^ε P′(E) for all E  ⇔  P(y) ≤ e^ε P′(y) for all y  ⇔  L ≤ ε",
)
def d1(exponent: Fraction = Fraction(1)) -> Iterator[Evidence]:
    """All three turn from false to true at one ε: the largest |ln p(y)/p′(y)|."""
    for name, p, q in grid.FINITE_PAIRS:
        turn = Fraction(multiplicative_distance(p, q)) * exponent
        every_event = grid.largest(abs((ball(a) / ball(b)).log()) for a, b in grid.events(p, q))
        yield equal("smallest ε", every_event, ball(turn), pair=name)
        above, below = (pure_three_ways(p, q, turn * (1 + nudge)) for nudge in (_NUDGE, -_NUDGE))
        yield equal("forms that hold", 3, sum(above), pair=name, at="just above that ε")
        yield equal("forms that hold", 0, sum(below), pair=name, at="just below that ε")


@claim(
    "D2",
    "S1, S3, S4",
    "(ε, δ)-DP: P(E) ≤ e^ε P′(E) + δ for every event E, in both directions.",
    "P(E) ≤ e^ε P′(E) + δ",
)
def d2(exponent: Fraction = Fraction(1)) -> Iterator[Evidence]:
    """The smallest δ over all events, both ways round, is where `indistinguishable` turns."""
    for (name, p, q), epsilon in product(grid.FINITE_PAIRS, (Fraction(0), *grid.EPSILONS[1:4])):
        odds = ball(exponent * epsilon).exp()
        smallest = grid.largest(ball(a) - odds * ball(b) for pair in ((p, q), (q, p)) for a, b in grid.events(*pair))
        found = max(hockey_stick(p, q, epsilon), hockey_stick(q, p, epsilon))
        yield equal("smallest δ", smallest, found, pair=name, ε=epsilon)
        if found:
            delta = Fraction(found)
            answers = [indistinguishable(p, q, epsilon, delta * (1 + nudge)) for nudge in (_NUDGE, -_NUDGE)]
            yield equal("kept just above, not just below", 1, int(answers == [True, False]), pair=name, ε=epsilon)


@claim(
    "D3",
    "S0",
    "Privacy loss L = ln p/p′, its distribution, and the profile δ(ε) = E[(1 − e^{ε−L})₊].",
    "δ(ε) = E[(1 − e^{ε−L})₊]",
)
def d3(exponent: Fraction = Fraction(1)) -> Iterator[Evidence]:
    """The mean over the loss against the best event: a sum for finite pairs, a certified integral for normal ones."""
    for (name, p, q), epsilon in product(grid.FINITE_PAIRS, grid.EPSILONS[1:4]):
        expected = Ball(0)
        for odds, probability in privacy_loss(p, q).atoms:
            assert odds is not None, "these pairs have finite losses"
            part = 1 - (ball(exponent) * (ball(epsilon) - ball(odds).log())).exp()
            expected += ball(probability) * part.max(Ball(0))
        yield equal("δ(ε)", expected, hockey_stick(p, q, epsilon), pair=name, ε=epsilon)
    for mu, epsilon in product((Fraction(1, 2), Fraction(1), Fraction(3)), grid.EPSILONS[1:5]):
        yield equal(
            "δ(ε)", _gaussian_mean(mu, epsilon, exponent), Gaussian(mu**2).profile(ball(epsilon)), μ=mu, ε=epsilon
        )


def _gaussian_mean(mu: Fraction, epsilon: Fraction, exponent: Fraction) -> Ball:
    """∫ (1 − e^{c(ε−ℓ)}) dN(μ²/2, μ²)(ℓ) over ℓ > ε, up to 16 deviations; the rest is below 1e-56."""
    mean, deviation, start = ball(mu**2 / 2), ball(mu), ball(epsilon)

    def integrand(x: acb, _: bool) -> acb:
        density = (-((x - mean) ** 2) / (2 * deviation**2)).exp() / (deviation * (2 * Ball.pi()).sqrt())
        return (1 - (ball(exponent) * (start - x)).exp()) * density

    inside: Ball = acb.integral(integrand, acb(start), acb(start + mean + 16 * deviation)).real
    return inside + Ball(0).union(Ball(10) ** -56)


@claim(
    "D4",
    "S2",
    "d◇ = sup |ln P(E)/P′(E)| makes pure DP a metric; total variation is sup |P(E) − P′(E)|.",
    "d◇(P, R) ≤ d◇(P, Q) + d◇(Q, R)",
)
def d4(weight: Fraction = Fraction(1)) -> Iterator[Evidence]:
    """The triangle inequality, with equality along randomized response; both suprema over every event."""
    odds = [Fraction(2) ** n for n in (-2, -1, 0, 1, 2)]
    coins = [(odd / (1 + odd), 1 / (1 + odd)) for odd in odds]
    for p, q, r in permutations(coins, 3):
        way = ball(weight) * (Ball(multiplicative_distance(p, q)) + Ball(multiplicative_distance(q, r)))
        direct = grid.largest_loss([ball(x) for x in p], [ball(x) for x in r])
        yield at_most("d◇", way, direct, P=p[0], Q=q[0], R=r[0])
    for name, p6, q6 in grid.FINITE_PAIRS:
        both = list(grid.events(p6, q6))
        ratio = grid.largest(abs((ball(a) / ball(b)).log()) for a, b in both)
        yield equal("d◇ over all events", ball(weight) * ratio, multiplicative_distance(p6, q6), pair=name)
        gap = max(abs(a - b) for a, b in both)
        yield equal("TV over all events", ball(gap), total_variation(p6, q6), pair=name)


@claim(
    "D5",
    "S4 1.1",
    "Neighbours: replace one record, add or remove one, one person with many records, a vertex, an edge. "
    "What holds under one is never mixed with another.",
    "sensitivity of a count: replace-one 0, add/remove 1, person m, edge 1, vertex (edges) n − 1",
)
def d5(
    records: int = 1, replaced: int = 0, per_person: int = 1, edges: int = 1, per_vertex: int = 1
) -> Iterator[Evidence]:
    """Counting records (or edges), by trying all neighbours of all small datasets; and every mixture refused."""
    most, vertices = 3, 4
    sizes = range(5)
    yield equal("Δ of a count", records, max(abs((n + 1) - n) for n in sizes), neighbours=adjacency.ADD_REMOVE)
    lists = [data for n in range(1, 4) for data in grid.datasets((0, 1), n)]
    moved = max(abs(len(other) - len(data)) for data in lists for other in grid.replacements(data, (0, 1)))
    yield equal("Δ of a count", replaced, moved, neighbours=adjacency.REPLACE_ONE)
    held = max(abs((n + m) - n) for n in sizes for m in range(most + 1))
    yield equal("Δ of a count", per_person * most, held, neighbours=adjacency.person("id", most))
    edge, vertex = _graph_sensitivities(vertices)
    yield equal("Δ of the number of edges", edges, edge, neighbours=adjacency.EDGE)
    yield equal("Δ of the number of edges", per_vertex * (vertices - 1), vertex, neighbours=adjacency.VERTEX)
    kinds = [
        adjacency.ADD_REMOVE,
        adjacency.REPLACE_ONE,
        adjacency.person("id", most),
        adjacency.VERTEX,
        adjacency.EDGE,
    ]
    mixed = sum(refused(lambda both=both: adjacency.common(both)) for both in permutations([*kinds, None], 2))  # type: ignore[misc]
    yield equal("mixtures refused", len(kinds) * (len(kinds) + 1), mixed)
    yield equal(
        "adjacencies that combine with themselves", len(kinds), sum(adjacency.common([k, k]) == k for k in kinds)
    )


def _graph_sensitivities(vertices: int) -> tuple[int, int]:
    """How far one edge, and one vertex with its edges, moves the number of edges, over all graphs of that size."""
    places = [(a, b) for b in range(vertices) for a in range(b)]
    by_edge = by_vertex = 0
    for present in product((False, True), repeat=len(places)):
        graph = {place for place, is_there in zip(places, present, strict=True) if is_there}
        by_edge = max([by_edge, *(len(graph) - len(graph - {edge}) for edge in graph)])
        by_vertex = max([by_vertex, *(sum(v in edge for edge in graph) for v in range(vertices))])
    return by_edge, by_vertex


@claim(
    "D6",
    "S0 2.1, S1",
    "Global sensitivity in ℓ₁, ℓ₂ and a metric space; local sensitivity; β-smooth sensitivity, which no neighbour "
    "changes by more than e^β.",
    "S_β(D) = max_D′ e^{−β d(D, D′)} LS(D′) ≤ e^β S_β(D″) for neighbours D, D″",
)
def d6(rate: Fraction = Fraction(1)) -> Iterator[Evidence]:
    """The median of three records in {0, …, 3}, all 64 datasets: LS ≤ S_β ≤ Δ, and ln S_β moves by at most β."""
    universe = range(4)
    everyone = list(grid.datasets(universe, 3))
    middle = {data: sorted(data)[1] for data in everyone}
    local = {d: max(abs(middle[d] - middle[e]) for e in grid.replacements(d, universe)) for d in everyone}
    largest = max(local.values())
    for beta in (Fraction(1, 10), Fraction(1, 2), Fraction(2)):
        smooth = {d: _smooth(d, local, beta) for d in everyone}
        neighbours = [(d, e) for d in everyone for e in grid.replacements(d, universe)]
        step = grid.largest((smooth[d] / smooth[e]).log() for d, e in neighbours)
        yield equal("|ln S_β(D) − ln S_β(D′)|", ball(rate * beta), step, β=beta)
        for d in ((0, 0, 0), (0, 3, 3), (1, 1, 2), (3, 3, 3)):
            yield at_most("S_β(D) ≤ Δ", ball(largest), smooth[d], β=beta, D=d)
            yield at_most("LS(D) ≤ S_β(D)", smooth[d], ball(local[d]), β=beta, D=d)
    yield equal("Δ of the median of data in [0, 3]", 3, largest)
    yield equal(
        "Δ of the record farthest along a path metric", 3, max(abs(a - b) for a, b in product(universe, repeat=2))
    )


def _smooth(data: tuple[int, ...], local: dict[tuple[int, ...], int], beta: Fraction) -> Ball:
    """The definition: over all datasets, by Hamming distance."""
    far = dict.fromkeys(range(len(data) + 1), 0)
    for other, sensitivity in local.items():
        distance = sum(a != b for a, b in zip(data, other, strict=True))
        far[distance] = max(far[distance], sensitivity)
    return grid.largest(ball(-beta * distance).exp() * found for distance, found in far.items())


@claim(
    "D7",
    "S2, S3",
    "A statistical query is the mean over n records of φ: X → [0, 1]: replacing one record moves it by at most 1/n, "
    "each of a workload of k alike.",
    "Δ = 1/n",
)
def d7(reach: Fraction = Fraction(1)) -> Iterator[Evidence]:
    """Three queries on a universe of four kinds of record, all datasets of up to three records."""
    universe = range(4)
    queries: dict[str, Callable[[int], Fraction]] = {
        "is it 0?": lambda x: Fraction(int(x == 0)),
        "x/3": lambda x: Fraction(x, 3),
        "half or none": lambda x: Fraction(x % 2, 2),
    }
    for n in range(1, 4):
        moves = {name: Fraction(0) for name in queries}
        for data in grid.datasets(universe, n):
            for other in grid.replacements(data, universe):
                for name, query in queries.items():
                    gap = abs(sum((query(x) - query(y) for x, y in zip(data, other, strict=True)), Fraction(0))) / n
                    moves[name] = max(moves[name], gap)
        for name, move in moves.items():
            yield at_most("Δ", reach / n, move, query=name, n=n)
