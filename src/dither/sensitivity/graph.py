"""Graphs as data: vertices and edges, checked, and cut to a largest degree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from dither.adjacency import EDGE, VERTEX, Adjacency
from dither.errors import AdjacencyMismatch, ParameterError
from dither.exact import once

__all__ = ["Graph", "of_graphs"]


def of_graphs(adjacency: Adjacency) -> Adjacency:
    """The adjacency, refused unless an edge or a vertex comes and goes."""
    if adjacency not in (EDGE, VERTEX):
        raise AdjacencyMismatch(
            f"the sensitivity of a graph is known when one edge or one vertex comes or goes, got '{adjacency}'. "
            "Use EDGE or VERTEX."
        )
    return adjacency


@dataclass(frozen=True, eq=False)
class Graph:
    """A simple graph on some of the vertices 0, …, `vertices` − 1.

    `present` is the number of vertices that are there. `edges` are pairs u < v, each once, in increasing order.
    """

    vertices: int
    here: npt.NDArray[np.bool_]
    edges: npt.NDArray[np.int64]

    @classmethod
    def of(cls, data: Any, vertices: int, adjacency: Adjacency) -> Graph:
        """Read edges (u, v) on all vertices, or under VERTEX a pair of the vertices that are there and the edges."""
        if adjacency == EDGE:
            return cls(vertices, np.ones(vertices, bool), _edges(data, vertices))
        try:
            some, ties = data
        except (TypeError, ValueError):
            raise ParameterError(
                "data must be a pair of vertices and edges (u, v) when vertices come and go."
            ) from None
        here = np.zeros(vertices, bool)
        here[_numbers(some, vertices, 1)] = True
        edges = _edges(ties, vertices)
        if not here[edges].all():
            raise ParameterError("data must not tie a vertex that is not there. Name both ends among the vertices.")
        return cls(vertices, here, edges)

    @property
    def present(self) -> int:
        """The number of vertices that are there."""
        return int(self.here.sum())

    @once
    def ties(self) -> npt.NDArray[np.float64]:
        """The symmetric matrix of edges; products of its whole numbers are exact."""
        found = np.zeros((self.vertices, self.vertices))
        found[self.edges[:, 0], self.edges[:, 1]] = found[self.edges[:, 1], self.edges[:, 0]] = 1
        return found

    @once
    def degrees(self) -> npt.NDArray[np.int64]:
        """The number of edges of each vertex that is there."""
        return np.bincount(self.edges.ravel(), minlength=self.vertices)[self.here]

    @property
    def triangles(self) -> int:
        """The number of triangles: each is one edge u < v and one way over a vertex between them."""
        size = (self.vertices, self.vertices)
        upper = scipy.sparse.csr_array(
            (np.ones(len(self.edges), np.int64), (self.edges[:, 0], self.edges[:, 1])), shape=size
        )
        return int((upper @ upper).multiply(upper).sum())

    def cut(self, max_degree: int) -> Graph:
        """The graph of the edges that are taken, one after the other, while both ends have fewer than `max_degree`.

        The order is that of the names of the vertices, so that it is the same in a neighbour.

        Notes
        -----
        Let a vertex v come, and let D(w) be the degree of w with it minus the degree without it, at any time. An edge
        of v that is taken adds 1 to the D of its other end; at most `max_degree` are. Another edge {a, b} is taken in
        one of the two graphs alone only if an end, say a, is full in the other, so that D(a) is not 0 and moves
        towards it by 1, while D(b) moves by 1. So Σ|D| never grows but by edges of v, and stays at most `max_degree`
        (Day, Li and Lyu 2016). An edge that comes adds 1 to the D of both of its ends: Σ|D| ≤ 2.
        """
        room = [max_degree] * self.vertices
        taken = []
        for u, v in self.edges.tolist():
            if room[u] and room[v]:
                room[u] -= 1
                room[v] -= 1
                taken.append((u, v))
        return Graph(self.vertices, self.here, np.array(taken, np.int64).reshape(-1, 2))


def _numbers(data: Any, vertices: int, dimensions: int) -> npt.NDArray[np.int64]:
    """Names of vertices, refused unless all are whole numbers in range."""
    shape = (0,) if dimensions == 1 else (0, 2)
    try:
        found = np.asarray(data if isinstance(data, np.ndarray) else list(data))
    except (TypeError, ValueError):  # nothing to go through, or edges of different lengths
        found = np.empty((), object)
    found = found if found.size else np.empty(shape, np.int64)
    if found.dtype.kind not in "iu" or found.ndim != dimensions or found.shape[1:] != shape[1:]:
        raise ParameterError("data must be a list of edges (u, v), two whole numbers each.")
    if not ((found >= 0) & (found < vertices)).all():
        raise ParameterError(f"data must name vertices from 0 to {vertices - 1}. Renumber them, or give more.")
    return found.astype(np.int64)


def _edges(data: Any, vertices: int) -> npt.NDArray[np.int64]:
    """Pairs u < v, each once, in order."""
    found = np.sort(_numbers(data, vertices, 2), axis=1)
    if (found[:, 0] == found[:, 1]).any():
        raise ParameterError("data must not tie a vertex to itself. Leave such edges out.")
    found = found[np.lexsort((found[:, 1], found[:, 0]))]
    is_new = np.append(True, (found[1:] != found[:-1]).any(axis=1))[: len(found)]
    once_each: npt.NDArray[np.int64] = found[is_new]
    return once_each
