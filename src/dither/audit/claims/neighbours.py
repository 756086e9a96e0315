"""D5 and D6: who is protected, and how far one of them moves an answer, in worlds small enough to see all of them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from itertools import combinations, permutations
from typing import Any, TypeVar

from dither import adjacency
from dither.accounting import compose
from dither.adjacency import Adjacency
from dither.audit.claims import grid, worlds
from dither.audit.claims.claim import Evidence, at_most, claim, equal, exceeds, implemented, refused
from dither.audit.claims.worlds import Edges, Records, World
from dither.exact import Ball, ball
from dither.guarantees import PureDP
from dither.mechanisms import Exponential, Gaussian, Histogram, Laplace, MetricExponential
from dither.noise import DiscreteLaplace
from dither.sensitivity import Median, Minimum, Statistic, smooth_sensitivity

__all__ = ["d5", "d6"]

Data = TypeVar("Data", bound=Hashable)
Vector = tuple[int, ...]

_VALUES = (0, 1, 3)
_PER_PERSON = 2
_VERTICES = 4


def _number(x: int, y: int) -> int:
    return abs(x - y)


def _first(x: Vector, y: Vector) -> int:
    """ℓ₁."""
    return sum(abs(a - b) for a, b in zip(x, y, strict=True))


def _second(x: Vector, y: Vector) -> int:
    """ℓ₂, squared."""
    return sum((a - b) ** 2 for a, b in zip(x, y, strict=True))


def _bins(records: Records) -> Vector:
    return tuple(records.count(value) for value in _VALUES)


def _triangles(edges: Edges) -> int:
    vertices = sorted({v for edge in edges for v in edge})
    return sum(edges.issuperset(combinations(three, 2)) for three in combinations(vertices, 3))


@dataclass(frozen=True)
class _Asked:
    """A query, and the sensitivity that the textbook states for it under the adjacency of the world."""

    name: str
    world: World[Any]
    query: Callable[[Any], int]
    promised: int


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
    """All neighbours of all small datasets: sensitivities, the ε of noise made for them, distances, and mixtures."""
    one, other = worlds.add_remove(_VALUES, 4), worlds.replace_one(_VALUES, 3)
    many = worlds.persons(_VALUES, people=2, max_records=_PER_PERSON)
    edge, vertex = worlds.by_edge(_VERTICES), worlds.by_vertex(_VERTICES)
    top, held, rest = max(_VALUES), per_person * _PER_PERSON, per_vertex * (_VERTICES - 1)
    asked = [
        _Asked("records", one, len, records),
        _Asked("records", other, len, replaced),
        _Asked("records", many, lambda data: sum(map(len, data)), held),
        _Asked("the sum of values up to 3", one, sum, records * top),
        _Asked("the sum of values up to 3", other, sum, top),
        _Asked("the sum of values up to 3", many, lambda data: sum(map(sum, data)), held * top),
        _Asked("edges", edge, len, edges),
        _Asked("edges", vertex, lambda graph: len(graph[1]), rest),
        _Asked("triangles", edge, _triangles, edges * (_VERTICES - 2)),
        _Asked("triangles", vertex, lambda graph: _triangles(graph[1]), rest * (_VERTICES - 2) // 2),
    ]
    for each in asked:
        found = each.world.sensitivity(each.query, _number)
        yield equal("Δ", each.promised, found, query=each.name, neighbours=each.world.adjacency)
    yield from _drawn(records)
    for each in asked:
        if each.promised:
            yield equal("ε of noise made for Δ", Ball(1), _loss(each), query=each.name, neighbours=each.world.adjacency)
    yield from _histograms(one, other, many)
    yield from _distances(one, other, many, edge)
    yield from _mixtures([world.adjacency for world in (one, other, many, edge, vertex)])
    protected = Laplace(sensitivity=records, epsilon=1, adjacency=one.adjacency)
    for name, world in (("a person", many), ("a vertex", vertex)):
        counted = next(each for each in asked if each.world is world)
        yield exceeds("ε to " + name + " of noise made for one record", Ball(1), _loss(counted, protected))


def _drawn(scale: int) -> Iterator[Evidence]:
    """The chance of no noise at all: losses are ratios, and do not show it."""
    yield implemented("Pr[noise = 0]", grid.zero(scale), DiscreteLaplace(scale).pmf(0), scale=scale)


def _loss(asked: _Asked, mechanism: Laplace | None = None) -> Ball:
    """The largest privacy loss between neighbours, of the law that is drawn for Δ and ε = 1."""
    world, query = asked.world, asked.query
    made = mechanism or Laplace(sensitivity=asked.promised, epsilon=1, adjacency=world.adjacency)
    law = DiscreteLaplace(made.scale)
    moves = set(world.local(query, _number).values())
    return grid.largest((law.pmf(0) / law.pmf(int(move))).log() for move in moves)


def _histograms(one: World[Records], other: World[Records], many: World[tuple[Records, ...]]) -> Iterator[Evidence]:
    """What the histogram mechanism uses, against all neighbours; and whether counts move in one direction only."""

    def people(everyone: tuple[Records, ...]) -> Vector:
        return tuple(sum(value in records for records in everyone) for value in _VALUES)

    cases: list[tuple[World[Any], Callable[[Any], Vector], int]] = [
        (one, _bins, 1), (other, _bins, 1), (many, people, _PER_PERSON)
    ]  # fmt: skip
    for world, query, max_bins in cases:
        who = world.adjacency
        build = partial(Histogram, bins=len(_VALUES), epsilon=1, max_bins=max_bins, adjacency=who)
        by_laplace, by_gaussian = build().mechanism, build(noise="gaussian", delta="1e-6").mechanism
        assert isinstance(by_laplace, Laplace)
        assert isinstance(by_gaussian, Gaussian)
        first, second = (world.sensitivity(query, distance) for distance in (_first, _second))
        yield implemented("Δ₁ that the histogram uses", by_laplace.sensitivity, first, neighbours=who)
        yield implemented("Δ₂² that the histogram uses", by_gaussian.sensitivity_squared, second, neighbours=who)
        both_ways = world.sensitivity(query, _moves_both_ways)
        monotone = partial(Exponential, sensitivity=1, epsilon=1, monotone=True, adjacency=who)
        yield equal("counts that rise and fall at once are refused as monotone", both_ways, refused(monotone), to=who)


def _moves_both_ways(x: Vector, y: Vector) -> int:
    return int(any(a < b for a, b in zip(x, y, strict=True)) and any(a > b for a, b in zip(x, y, strict=True)))


def _distances(
    one: World[Records], other: World[Records], many: World[tuple[Records, ...]], edge: World[Edges]
) -> Iterator[Evidence]:
    """Steps from neighbour to neighbour, against the distance by which each adjacency is known."""
    known: list[tuple[str, World[Any], Callable[[Any, Any], int]]] = [
        ("Hamming", other, lambda x, y: sum(a != b for a, b in zip(x, y, strict=True))),
        ("set difference", one, lambda x, y: _first(_bins(x), _bins(y))),
        ("set difference", edge, lambda x, y: len(x ^ y)),
        (
            "set difference of persons",
            many,
            lambda x, y: sum((a != ()) + (b != ()) for a, b in zip(x, y, strict=True) if a != b),
        ),
    ]
    for name, world, formula in known:
        apart = [abs(formula(x, y) - steps) for x, reached in world.distances.items() for y, steps in reached.items()]
        yield equal("pairs whose distance is another", 0, sum(map(bool, apart)), distance=name, among=world.adjacency)
        missing = len(world.neighbours) ** 2 - len(apart)
        yield equal("pairs that no steps connect", 0, missing, distance=name, among=world.adjacency)


def _mixtures(kinds: Sequence[Adjacency]) -> Iterator[Evidence]:
    """Every two adjacencies (or one, and one that is left unsaid), as adjacencies, mechanisms and guarantees."""
    combined: dict[str, Callable[[Sequence[Adjacency | None]], Adjacency | None]] = {
        "adjacencies": adjacency.common,
        "mechanisms": lambda who: (
            compose([Laplace(sensitivity=1, epsilon=1, adjacency=w).event for w in who]).adjacency
        ),
        "guarantees": lambda who: compose([PureDP(1, adjacency=w) for w in who]).adjacency,
    }
    for name, together in combined.items():
        mixed = sum(refused(partial(together, both)) for both in permutations([*kinds, None], 2))
        yield equal("mixtures refused", len(kinds) * (len(kinds) + 1), mixed, of=name)
        kept = sum(together([kind, kind]) == kind for kind in kinds)
        yield equal("alike that combine", len(kinds), kept, of=name)


@claim(
    "D6",
    "S0 2.1, S1",
    "Global sensitivity in ℓ₁, ℓ₂ and a metric space; local sensitivity; β-smooth sensitivity, which no neighbour "
    "changes by more than e^β.",
    "S_β(D) = max_D′ e^{−β d(D, D′)} LS(D′) ≤ e^β S_β(D″) for neighbours D, D″",
)
def d6(
    rate: Fraction = Fraction(1), first: int = 1, second: int = 1, metric: int = 2, window: int = 1
) -> Iterator[Evidence]:
    """By definition, over all neighbours at all distances, against the closed forms for a median, minimum, triangles.

    `window`: A^(t) of the median is the widest of `window` + t gaps in a row that touch the middle.
    """
    three, five, graphs = _worlds_of_d6()
    bounds = (0, _TOP)
    cases = [
        _Case("median of 3 in [0, 3]", three, _middle, lambda data, t: _widest_gap(data, t, window), Median(bounds)),
        _Case("median of 5 in [0, 3]", five, _middle, lambda data, t: _widest_gap(data, t, window), Median(bounds)),
        _Case("minimum of 3 in [0, 3]", three, min, _minimum_within, Minimum(bounds)),
        _Case("triangles of 4 vertices", graphs, _triangles, _triangles_within),
    ]
    for case in cases:
        yield from _smoothness(case, rate)
    for case in cases:
        for data, within in case.world.within(case.world.local(case.query, _number)).items():
            for t, found in enumerate(within):
                yield equal("A^(t)(D)", case.formula(data, t), found, query=case.name, D=_shown(data), t=t)
                for statistic in case.knows(data):
                    stated = statistic.sensitivity_within(data, t)
                    yield implemented(
                        "A^(t)(D) that the library states", found, stated, query=case.name, D=_shown(data), t=t
                    )
    yield from _norms(three, first, second)
    yield from _in_a_metric_space(three, metric)


@dataclass(frozen=True)
class _Case:
    """A query, A^(t) of it in closed form, and what the library knows of it."""

    name: str
    world: World[Any]
    query: Callable[[Any], int]
    formula: Callable[[Any, int], int]
    statistic: Statistic | None = None

    def knows(self, data: Any) -> list[Statistic]:
        """The statistic to compare with, if there is one; once for all orders of the same records."""
        return [self.statistic] if self.statistic and data == tuple(sorted(data)) else []


_ASKED = Fraction(1, 2)
_BETAS = (Fraction(1, 10), _ASKED, Fraction(2))
_TOP = 3


@cache
def _worlds_of_d6() -> tuple[World[Records], World[Records], World[Edges]]:
    return worlds.replace_one(range(_TOP + 1), 3), worlds.replace_one(_VALUES, 5), worlds.by_edge(_VERTICES)


def _smoothness(case: _Case, rate: Fraction) -> Iterator[Evidence]:
    """LS ≤ S_β ≤ Δ, S_β falls as β grows, and ln S_β moves by at most β: by all of it for some neighbours."""
    name, world = case.name, case.world
    local = world.local(case.query, _number)
    largest = max(local.values())
    wider = dict.fromkeys(local, ball(largest))
    for beta in _BETAS:
        smooth = world.smooth(local, beta)
        logs = {data: found.log() for data, found in smooth.items()}
        step = grid.largest(logs[d] - logs[e] for d, others in world.neighbours.items() for e in others)
        yield equal("|ln S_β(D) − ln S_β(D′)|", ball(rate * beta), step, query=name, β=beta)
        for data, found in smooth.items():
            at: dict[str, object] = {"query": name, "β": beta, "D": _shown(data)}
            yield at_most("S_β(D) ≤ Δ, and ≤ S of a smaller β", wider[data], found, **at)
            yield at_most("LS(D) ≤ S_β(D)", found, ball(local[data]), **at)
            for statistic in case.knows(data) if beta == _ASKED else ():
                stated = smooth_sensitivity(statistic, data, beta)
                yield implemented("S_β(D) that the library states", found, stated, **at)
                yield at_most("S_β(D) ≤ what the library states", stated, found, **at)
        wider = smooth
    if case.statistic:
        yield implemented("Δ that the library states", largest, case.statistic.global_sensitivity, query=name)


def _shown(data: Any) -> str:
    return str(sorted(data))


def _middle(records: Records) -> int:
    return sorted(records)[len(records) // 2]


def _widest_gap(data: Records, t: int, window: int) -> int:
    """max_j x_{m+j} − x_{m+j−t−1}, j = 0, …, t + 1, beyond the data the bounds (Nissim, Raskhodnikova, Smith 2007)."""
    gaps = t + window
    x = [0] * gaps + sorted(data) + [_TOP] * gaps
    middle = gaps + len(data) // 2
    return max(x[middle + j] - x[middle + j - gaps] for j in range(gaps + 1))


def _minimum_within(data: Records, t: int) -> int:
    """max(x_{t+1} − low, x_{t+2} − x_1), sorted; beyond the data the upper bound (the same paper)."""
    x = sorted(data) + [_TOP] * (t + 2)
    return max(x[t], x[t + 1] - x[0])


def _triangles_within(edges: Edges, t: int) -> int:
    """max over pairs of min(a + ⌊(t + min(t, b))/2⌋, n − 2): a vertices adjacent to both, b to one (the same paper)."""
    near = {v: {u for edge in edges if v in edge for u in edge} - {v} for v in range(_VERTICES)}
    found = 0
    for i, j in combinations(range(_VERTICES), 2):
        both, either = len(near[i] & near[j]), len((near[i] ^ near[j]) - {i, j})
        found = max(found, min(both + (t + min(t, either)) // 2, _VERTICES - 2))
    return found


def _norms(replaced: World[Records], first: int, second: int) -> Iterator[Evidence]:
    """The count and the sum of values up to 3, told together: Δ₁ and Δ₂ of a vector, and Laplace noise made for Δ₁."""

    def both(records: Records) -> Vector:
        return len(records), sum(records)

    added = worlds.add_remove(range(_TOP + 1), 3)
    for world, counted in ((added, 1), (replaced, 0)):
        who, promised = world.adjacency, first * (counted + _TOP)
        yield equal("Δ₁ of (count, sum)", promised, world.sensitivity(both, _first), neighbours=who)
        square = second * (counted + _TOP**2)
        yield equal("Δ₂² of (count, sum)", square, world.sensitivity(both, _second), neighbours=who)
        law = DiscreteLaplace(Laplace(sensitivity=promised, epsilon=1, dimension=2, adjacency=who).scale)
        moves = {(a[0] - b[0], a[1] - b[1]) for d, e in _pairs(world) for a, b in ((both(d), both(e)),)}
        loss = grid.largest(sum(((law.pmf(0) / law.pmf(x)).log() for x in move), Ball(0)) for move in moves)
        yield equal("ε of noise made for Δ₁", Ball(1), loss, neighbours=who)
        yield from _drawn(promised)


def _pairs(world: World[Data]) -> Iterator[tuple[Data, Data]]:
    return ((data, other) for data, others in world.neighbours.items() for other in others)


def _in_a_metric_space(world: World[Records], metric: int) -> Iterator[Evidence]:
    """The commonest of four hours on a clock, and the median on a line: Δ by the metric, and ε of noise made for it."""
    hours = range(_TOP + 1)

    def around(x: int, y: int) -> int:
        return min((x - y) % len(hours), (y - x) % len(hours))

    def commonest(records: Records) -> int:
        return max(hours, key=records.count)

    spaces: list[tuple[str, Callable[[Records], int], Callable[[int, int], int], int, int]] = [
        ("clock", commonest, around, metric, 1),  # every hour sees the same distances: the normaliser is constant
        ("line", _middle, _number, _TOP, 2),
    ]
    for name, query, distance, promised, factor in spaces:
        yield equal("Δ in a metric space", promised, world.sensitivity(query, distance), space=name)
        made = MetricExponential(points=hours, distance=distance, sensitivity=promised, epsilon=1)
        laws = {hour: list(made.probabilities(hour).values()) for hour in hours}
        answers = {(query(d), query(e)) for d, e in _pairs(world)}
        loss = grid.largest(grid.largest_loss(laws[a], laws[b]) for a, b in answers)
        yield at_most("ε of a choice made for Δ", Ball(1), loss, space=name)
        yield implemented("scale of the choice", factor * promised, made.scale, space=name)
        for hour, law in laws.items():
            weights = [ball(-Fraction(distance(hour, y), factor * promised)).exp() for y in hours]
            for y, (chance, stated) in enumerate(zip(grid.normalised(weights), law, strict=True)):
                yield implemented("Pr[y] that the choice states", chance, stated, space=name, f=hour, y=y)
