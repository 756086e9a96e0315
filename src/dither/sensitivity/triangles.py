"""Triangles of a graph: the classic statistic whose sensitivity depends on the data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import Any

import numpy as np

from dither.adjacency import EDGE, Adjacency
from dither.exact import check
from dither.exact.certified import exactly_above
from dither.sensitivity.graph import Graph, of_graphs
from dither.sensitivity.statistic import Profile
from dither.sensitivity.stepwise import Stepwise

__all__ = ["Triangles"]


@dataclass(frozen=True, slots=True)
class Triangles:
    """The number of triangles of a simple graph, with its sensitivities by edge or by vertex; a `Statistic`.

    The data is a list of edges (u, v) with 0 ≤ u, v < `vertices`; direction and repetition mean nothing. Under `VERTEX`
    it is a pair: the vertices that are there, and the edges between them.

    Parameters
    ----------
    vertices : int
        The public number of vertices, at least 3; under `VERTEX` the largest number that there may be.
    adjacency : Adjacency, default EDGE
        `dp.adjacency.EDGE`, or `dp.adjacency.VERTEX`: a vertex comes or goes with all of its edges.

    Notes
    -----
    An edge {u, v} is part of as many triangles as u and v have common neighbours, say c; e more vertices are tied to
    exactly one of the two. Within t steps, one edge each makes min(t, e) of those common, two edges each the others:

        A^(t) = max over u ≠ v of min(c + ⌊(t + min(t, e))/2⌋, vertices − 2)

    (Nissim, Raskhodnikova, Smith 2007, claim 3.13 of the full version). All of it is whole numbers, so exact. It takes
    one product of two vertices × vertices matrices.

    A vertex that comes closes a triangle with each edge, at most; t vertices before it bring at most n, n + 1, … edges
    to a graph of n vertices and m edges. Under `VERTEX`

        A^(t) ≤ min(m + n·t + t(t − 1)/2, (vertices − 1)(vertices − 2)/2),

    which is what is used: it never falls with t, and is at most its value at t + 1 for a neighbour, because a vertex
    that goes takes at most n − 1 edges along.

    Examples
    --------
    >>> from dither.adjacency import VERTEX
    >>> from dither.sensitivity import local_sensitivity
    >>> square = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)]
    >>> Triangles(4).value(square), local_sensitivity(Triangles(4), square)
    (2.0, 2.0)
    >>> local_sensitivity(Triangles(100, VERTEX), (range(4), square))  # one more vertex could be tied to all
    5.0
    """

    vertices: int
    adjacency: Adjacency = EDGE

    def __post_init__(self) -> None:
        check.count(3, vertices=self.vertices)
        of_graphs(self.adjacency)

    @property
    def global_sensitivity(self) -> float:
        """The number of vertices − 2 by edge, and of pairs among all vertices but one by vertex."""
        if self.adjacency == EDGE:
            return float(self.vertices - 2)
        return exactly_above(Fraction(comb(self.vertices - 1, 2)))

    def value(self, data: Any) -> float:
        """Count the triangles, exactly (below 2^53).

        Parameters
        ----------
        data : sequence of (int, int), or a pair of vertices and edges
            The graph.

        Returns
        -------
        float
            The exact number, not private.
        """
        return float(self._graph(data).triangles)

    def sensitivity_within(self, data: Any, distance: int) -> float:
        """Compute A^(t): exactly by edge, and a bound on it by vertex.

        Parameters
        ----------
        data : sequence of (int, int), or a pair of vertices and edges
            The graph.
        distance : int
            t, the number of edges or vertices that are added or removed.

        Returns
        -------
        float
            The largest local sensitivity within that distance, never below the truth.
        """
        return self.profile(data).within(distance)

    def profile(self, data: Any) -> Profile:
        """Prepare the sensitivities of this graph.

        By edge it keeps, for each number of common neighbours, the largest number of vertices tied to one of the two.

        Parameters
        ----------
        data : sequence of (int, int), or a pair of vertices and edges
            The graph.

        Returns
        -------
        Profile
            Ask it for `within(distance)` or `smooth(beta)`.
        """
        graph = self._graph(data)
        return Stepwise(
            self._by_edge(graph) if self.adjacency == EDGE else self._by_vertex(graph), self.global_sensitivity
        )

    def _graph(self, data: Any) -> Graph:
        return Graph.of(data, self.vertices, self.adjacency)

    def _by_edge(self, graph: Graph) -> Callable[[int], float]:
        ties = graph.ties
        pairs = np.triu_indices(self.vertices, 1)
        common = (ties @ ties)[pairs].astype(np.int64)
        degree = ties.sum(axis=0).astype(np.int64)
        half = degree[pairs[0]] + degree[pairs[1]] - 2 * common - 2 * ties[pairs].astype(np.int64)
        most_half = np.full(self.vertices - 1, -1)
        np.maximum.at(most_half, common, half)
        counts = np.flatnonzero(most_half >= 0)
        halves = most_half[counts]

        def at(distance: int) -> float:
            steps = min(distance, 2 * self.vertices)
            reached = counts + (steps + np.minimum(steps, halves)) // 2
            return float(min(int(reached.max()), self.vertices - 2))

        return at

    def _by_vertex(self, graph: Graph) -> Callable[[int], float]:
        edges, present, most = len(graph.edges), graph.present, comb(self.vertices - 1, 2)
        return lambda t: exactly_above(Fraction(min(edges + present * t + comb(t, 2), most)))
