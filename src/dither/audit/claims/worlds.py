"""Small worlds: every dataset that fits, and who its neighbours are, for each adjacency (claim D5).

Sensitivities are taken from their definitions by going through all pairs of neighbours. Nothing here is clever, and
nothing is shared with the code that is compared with it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, combinations_with_replacement, product
from typing import Generic, TypeAlias, TypeVar

from dither import adjacency
from dither.adjacency import Adjacency
from dither.audit.claims import grid
from dither.exact import Ball, ball

__all__ = ["Edges", "Graph", "Records", "World", "add_remove", "by_edge", "by_vertex", "persons", "replace_one"]

Records: TypeAlias = tuple[int, ...]
Edges: TypeAlias = frozenset[tuple[int, int]]
Graph: TypeAlias = tuple[frozenset[int], Edges]
"""Vertices, and edges (a, b) with a < b."""

Data = TypeVar("Data", bound=Hashable)
Answer = TypeVar("Answer")
Distance: TypeAlias = "Callable[[Answer, Answer], Fraction | int]"


@dataclass(frozen=True)
class World(Generic[Data]):
    """Every dataset of a kind, with its neighbours under `adjacency`."""

    adjacency: Adjacency
    neighbours: Mapping[Data, frozenset[Data]]

    def local(self, query: Callable[[Data], Answer], distance: Distance[Answer]) -> dict[Data, Fraction | int]:
        """LS(D) = max d(f(D), f(D′)) over the neighbours D′ of D."""
        answers = {data: query(data) for data in self.neighbours}
        return {
            data: max((distance(answers[data], answers[other]) for other in others), default=0)
            for data, others in self.neighbours.items()
        }

    def sensitivity(self, query: Callable[[Data], Answer], distance: Distance[Answer]) -> Fraction | int:
        """Δ = max d(f(D), f(D′)) over all neighbours."""
        return max(self.local(query, distance).values())

    @cached_property
    def distances(self) -> dict[Data, dict[Data, int]]:
        """From each dataset to each that can be reached: the number of steps from neighbour to neighbour."""
        return {data: self._steps_from(data) for data in self.neighbours}

    def _steps_from(self, start: Data) -> dict[Data, int]:
        found, edge = {start: 0}, [start]
        while edge:
            edge = list({other for data in edge for other in self.neighbours[data]} - found.keys())
            found |= dict.fromkeys(edge, max(found.values()) + 1)
        return found

    def within(self, local: Mapping[Data, Fraction | int]) -> dict[Data, list[Fraction | int]]:
        """A^(t)(D) for t = 0, 1, …: the largest local sensitivity at distance t of D or nearer."""
        found = {}
        for data, steps in self.distances.items():
            at: list[Fraction | int] = [0] * (max(steps.values()) + 1)
            for other, step in steps.items():
                at[step] = max(at[step], local[other])
            found[data] = [max(at[: step + 1]) for step in range(len(at))]
        return found

    def smooth(self, local: Mapping[Data, Fraction | int], beta: Fraction) -> dict[Data, Ball]:
        """S_β(D) = max_t e^{−βt} A^(t)(D)."""
        return {
            data: grid.largest(ball(-beta * step).exp() * ball(reached) for step, reached in enumerate(within))
            for data, within in self.within(local).items()
        }


def _world(adjacency: Adjacency, everything: Iterable[Data], smaller: Callable[[Data], Iterable[Data]]) -> World[Data]:
    """Each dataset is the neighbour of those that it becomes by taking one away, and they are its neighbours."""
    neighbours: dict[Data, set[Data]] = defaultdict(set)
    for data in everything:
        neighbours[data].update(smaller(data))
        for other in smaller(data):
            neighbours[other].add(data)
    return World(adjacency, {data: frozenset(others - {data}) for data, others in neighbours.items()})


def replace_one(universe: Sequence[int], size: int) -> World[Records]:
    """Lists of `size` records, one of which becomes another."""
    return _world(
        adjacency.REPLACE_ONE, grid.datasets(universe, size), lambda data: set(grid.replacements(data, universe))
    )


def add_remove(universe: Sequence[int], most: int) -> World[Records]:
    """Bags of up to `most` records, in which one comes or goes."""
    bags = [bag for size in range(most + 1) for bag in combinations_with_replacement(universe, size)]
    return _world(adjacency.ADD_REMOVE, bags, _without_one)


def _without_one(bag: Records) -> set[Records]:
    return {(*bag[:place], *bag[place + 1 :]) for place in range(len(bag))}


def persons(universe: Sequence[int], people: int, max_records: int) -> World[tuple[Records, ...]]:
    """Up to `people` persons, each with 1 to `max_records` records, of whom one comes or goes with all of them."""
    bags = [bag for size in range(max_records + 1) for bag in combinations_with_replacement(universe, size)]

    def without_one(everyone: tuple[Records, ...]) -> set[tuple[Records, ...]]:
        return {(*everyone[:place], (), *everyone[place + 1 :]) for place in range(people)}

    return _world(adjacency.person("id", max_records), product(bags, repeat=people), without_one)


def _graphs(vertices: Iterable[int]) -> list[Edges]:
    places = list(combinations(sorted(vertices), 2))
    return [frozenset(chosen) for size in range(len(places) + 1) for chosen in combinations(places, size)]


def by_edge(vertices: int) -> World[Edges]:
    """Graphs on fixed vertices, in which one edge comes or goes."""
    return _world(adjacency.EDGE, _graphs(range(vertices)), lambda edges: {edges - {edge} for edge in edges})


def by_vertex(most: int) -> World[Graph]:
    """Graphs of up to `most` vertices, of which one comes or goes with its edges."""
    everything = [
        (frozenset(chosen), edges)
        for size in range(most + 1)
        for chosen in combinations(range(most), size)
        for edges in _graphs(chosen)
    ]

    def without_one(graph: Graph) -> set[Graph]:
        vertices, edges = graph
        return {(vertices - {v}, frozenset(edge for edge in edges if v not in edge)) for v in vertices}

    return _world(adjacency.VERTEX, everything, without_one)
