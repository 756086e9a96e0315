"""Triangles of a graph: the classic statistic whose sensitivity depends on the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from dither.adjacency import EDGE, Adjacency
from dither.errors import AdjacencyMismatch, ParameterError
from dither.exact import check
from dither.sensitivity.statistic import Profile
from dither.sensitivity.stepwise import Stepwise

__all__ = ["Triangles"]


@dataclass(frozen=True, slots=True)
class Triangles:
    """The number of triangles of a simple graph, with its sensitivities under edge privacy; a `Statistic`.

    The data is a list of edges (u, v) with 0 ≤ u, v < `vertices`; direction and repetition mean nothing.

    Parameters
    ----------
    vertices : int
        The public number of vertices, at least 3.
    adjacency : Adjacency, default EDGE
        Only `dp.adjacency.EDGE` is supported.

    Notes
    -----
    An edge {u, v} is part of as many triangles as u and v have common neighbours, say c; e more vertices are tied to
    exactly one of the two. Within t steps, one edge each makes min(t, e) of those common, two edges each the others:

        A^(t) = max over u ≠ v of min(c + ⌊(t + min(t, e))/2⌋, vertices − 2)

    (Nissim, Raskhodnikova, Smith 2007, claim 3.13 of the full version). All of it is whole numbers, so exact. It takes
    one product of two vertices × vertices matrices.

    Examples
    --------
    >>> from dither.sensitivity import local_sensitivity
    >>> square = [(0, 1), (1, 2), (2, 3), (3, 0), (0, 2)]
    >>> Triangles(4).value(square), local_sensitivity(Triangles(4), square)
    (2.0, 2.0)
    """

    vertices: int
    adjacency: Adjacency = EDGE

    def __post_init__(self) -> None:
        check.count(3, vertices=self.vertices)
        if self.adjacency != EDGE:
            raise AdjacencyMismatch(
                f"the sensitivity of triangles is known when one edge comes or goes, got '{self.adjacency}'. Use EDGE."
            )

    @property
    def global_sensitivity(self) -> float:
        """The number of vertices − 2: an edge may close a triangle with every other vertex."""
        return float(self.vertices - 2)

    def value(self, data: Any) -> float:
        """Count the triangles, exactly (below 2^53).

        Parameters
        ----------
        data : sequence of (int, int)
            The edges.

        Returns
        -------
        float
            The exact number, not private.
        """
        ties = self._ties(data)
        return float((ties @ ties * ties).sum() / 6)

    def sensitivity_within(self, data: Any, distance: int) -> float:
        """Compute A^(t), exactly.

        Parameters
        ----------
        data : sequence of (int, int)
            The edges.
        distance : int
            t, the number of edges that are added or removed.

        Returns
        -------
        float
            The largest local sensitivity within that distance.
        """
        return self.profile(data).within(distance)

    def profile(self, data: Any) -> Profile:
        """Prepare the sensitivities of this graph.

        For each number of common neighbours it keeps the largest number of vertices tied to one of the two.

        Parameters
        ----------
        data : sequence of (int, int)
            The edges.

        Returns
        -------
        Profile
            Ask it for `within(distance)` or `smooth(beta)`.
        """
        ties = self._ties(data)
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

        return Stepwise(at, self.global_sensitivity)

    def _ties(self, data: Any) -> npt.NDArray[np.float64]:
        """The symmetric matrix of edges; products of its whole numbers are exact."""
        edges = np.asarray(data) if len(data) else np.empty((0, 2), dtype=np.int64)
        if edges.dtype.kind not in "iu" or edges.ndim != 2 or edges.shape[1] != 2:
            raise ParameterError("data must be a list of edges (u, v), two whole numbers each.")
        if not ((edges >= 0) & (edges < self.vertices)).all():
            raise ParameterError(f"data must name vertices from 0 to {self.vertices - 1}. Renumber them, or give more.")
        if (edges[:, 0] == edges[:, 1]).any():
            raise ParameterError("data must not tie a vertex to itself. Leave such edges out.")
        ties = np.zeros((self.vertices, self.vertices))
        ties[edges[:, 0], edges[:, 1]] = ties[edges[:, 1], edges[:, 0]] = 1
        return ties
