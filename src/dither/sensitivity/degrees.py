"""The edges of a graph, and how many vertices have how many of them, whole or cut to a largest degree."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dither.adjacency import EDGE, Adjacency
from dither.errors import ParameterError
from dither.exact import check
from dither.exact.certified import above, exactly_above, sqrt
from dither.sensitivity.graph import Graph, of_graphs
from dither.sensitivity.statistic import Profile
from dither.sensitivity.stepwise import Stepwise

__all__ = ["DegreeHistogram", "EdgeCount"]

_NORMS = ("l1", "l2")


@dataclass(frozen=True, slots=True)
class _OfDegrees:
    """What depends on degrees: a vertex that comes or goes moves those of at most `reach` others, by 1 each in all."""

    vertices: int
    adjacency: Adjacency = EDGE
    max_degree: int | None = None

    def __post_init__(self) -> None:
        check.count(2, vertices=self.vertices)
        of_graphs(self.adjacency)
        if self.max_degree is not None:
            check.count(1, max_degree=self.max_degree)
            if not self.max_degree < self.vertices:
                raise ParameterError(
                    f"max_degree must be below the number of vertices, got max_degree={self.max_degree} of "
                    f"{self.vertices}. Leave it out to keep every edge."
                )

    @property
    def global_sensitivity(self) -> float:
        """The largest local sensitivity, never below the truth."""
        return self._moved(self.vertices - 1 if self.max_degree is None else self.max_degree)

    def _moved(self, reach: int) -> float:
        """By how much one step moves the statistic, if a vertex has at most `reach` edges."""
        raise NotImplementedError

    def sensitivity_within(self, data: Any, distance: int) -> float:
        """Compute a bound on A^(t), which is attained unless a degree is full.

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
        """Prepare the sensitivities of this graph: a vertex that comes can be tied to all that are there.

        Parameters
        ----------
        data : sequence of (int, int), or a pair of vertices and edges
            The graph.

        Returns
        -------
        Profile
            Ask it for `within(distance)` or `smooth(beta)`.
        """
        present, most = Graph.of(data, self.vertices, self.adjacency).present, self.vertices - 1
        reach = most if self.max_degree is None else self.max_degree
        return Stepwise(lambda t: self._moved(min(present + t, reach)), self.global_sensitivity)

    def _graph(self, data: Any) -> Graph:
        graph = Graph.of(data, self.vertices, self.adjacency)
        return graph if self.max_degree is None else graph.cut(self.max_degree)


@dataclass(frozen=True, slots=True)
class EdgeCount(_OfDegrees):
    """The number of edges of a simple graph, with its sensitivities by edge or by vertex; a `Statistic`.

    The data is a list of edges (u, v) with 0 ≤ u, v < `vertices`; direction and repetition mean nothing. Under `VERTEX`
    it is a pair: the vertices that are there, and the edges between them.

    Parameters
    ----------
    vertices : int
        The public number of vertices, at least 2; under `VERTEX` the largest number that there may be.
    adjacency : Adjacency, default EDGE
        `dp.adjacency.EDGE`, or `dp.adjacency.VERTEX`: a vertex comes or goes with all of its edges.
    max_degree : int, optional
        θ: edges are counted only while both of their ends have fewer than θ. Then a vertex moves the count by θ at most
        (restricted sensitivity); what is beyond is left out.

    Notes
    -----
    One edge moves the count by 1. A vertex moves it by θ at most with `max_degree` = θ; without it by n + t within
    t steps of a graph of n vertices, and by `vertices` − 1 at most. With θ the edges are taken in the order of the
    names of the vertices (Day, Li and Lyu 2016; the proof stands beside `Graph.cut`): let d be the number of edges of
    the new vertex that are taken and D the changes of the other degrees, Σ|D| ≤ d ≤ θ; the count moves by
    (d + ΣD)/2, which lies between 0 and θ.

    Examples
    --------
    >>> import dither as dp
    >>> from dither.adjacency import VERTEX
    >>> friends = EdgeCount(1000, VERTEX, max_degree=10)
    >>> star = (range(100), [(0, v) for v in range(1, 100)])
    >>> EdgeCount(1000, VERTEX).value(star), friends.value(star), friends.global_sensitivity
    (99.0, 10.0, 10.0)
    >>> noisy = dp.Laplace(sensitivity=10, epsilon=1, adjacency=VERTEX).release(int(friends.value(star)))
    """

    def value(self, data: Any) -> float:
        """Count the edges, exactly.

        Parameters
        ----------
        data : sequence of (int, int), or a pair of vertices and edges
            The graph.

        Returns
        -------
        float
            The exact number, not private.
        """
        return float(len(self._graph(data).edges))

    def _moved(self, reach: int) -> float:
        return 1.0 if self.adjacency == EDGE else float(reach)


@dataclass(frozen=True, slots=True)
class DegreeHistogram(_OfDegrees):
    """How many vertices of a simple graph have 0, 1, 2, … edges, with its sensitivities by edge or by vertex.

    A `Statistic` with several numbers: release it by `dp.Laplace` or `dp.Gaussian` with its global sensitivity.

    Parameters
    ----------
    vertices : int
        The public number of vertices, at least 2; under `VERTEX` the largest number that there may be.
    adjacency : Adjacency, default EDGE
        `dp.adjacency.EDGE`, or `dp.adjacency.VERTEX`: a vertex comes or goes with all of its edges.
    max_degree : int, optional
        θ: edges are taken only while both of their ends have fewer than θ, so that there are θ + 1 counts.
    norm : {"l1", "l2"}, default "l1"
        The norm of the sensitivities: "l1" for Laplace noise, "l2" for Gaussian noise.

    Notes
    -----
    By edge two vertices change their count: Δ₁ = 4 and Δ₂ = √8 (both from the same count). A vertex that comes has a
    count itself, and moves at most θ others by one (n + t within t steps without θ): Δ₁ = 2θ + 1 (Day, Li and Lyu
    2016), and Δ₂ = √(θ² + (θ + 1)²), as at most θ leave their counts and at most θ + 1 come to one.

    Examples
    --------
    >>> import dither as dp
    >>> from dither.adjacency import VERTEX
    >>> degrees = DegreeHistogram(1000, VERTEX, max_degree=3)
    >>> star = (range(100), [(0, v) for v in range(1, 100)])
    >>> degrees.value(star), degrees.global_sensitivity
    ((96, 3, 0, 1), 7.0)
    >>> noisy = dp.Laplace(sensitivity=7, epsilon=1, adjacency=VERTEX).release(degrees.value(star))
    """

    norm: str = "l1"

    def __post_init__(self) -> None:
        _OfDegrees.__post_init__(self)
        if self.norm not in _NORMS:
            raise ParameterError(f"norm must be one of {', '.join(_NORMS)}, got norm={self.norm!r}.")

    @property
    def dimension(self) -> int:
        """How many numbers it has: one for each degree."""
        return self.vertices if self.max_degree is None else self.max_degree + 1

    def value(self, data: Any) -> Any:
        """Count the vertices of each degree, exactly.

        Parameters
        ----------
        data : sequence of (int, int), or a pair of vertices and edges
            The graph.

        Returns
        -------
        tuple of int
            The exact numbers for the degrees 0, 1, …, not private.
        """
        return tuple(np.bincount(self._graph(data).degrees, minlength=self.dimension).tolist())

    def _moved(self, reach: int) -> float:
        leave, come = (2, 2) if self.adjacency == EDGE else (reach, reach + 1)
        if self.norm == "l1":
            return exactly_above(Fraction(leave + come))
        return above(lambda: sqrt(Fraction(leave**2 + come**2)))
