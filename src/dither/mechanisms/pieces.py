"""Scores that are constant on pieces of an interval, on a public grid."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.errors import NotANumberError, ParameterError
from dither.noise import Grid, UniformBelow
from dither.noise.law import Integers, integer_array
from dither.noise.race import Numbers, Scores, numbers

__all__ = ["Pieces"]

_LARGEST_EDGE = 1e300
_INT64_ROOM = 2.0**61


@dataclass(frozen=True, eq=False)
class Pieces:
    """Piece i holds the grid points starts[i], …, starts[i + 1] − 1, counted in steps of `grid`.

    The grid comes from the first and the last edge alone, which are public. A grid point on an edge belongs to
    the piece that begins there, the last one to the last piece.
    """

    grid: Grid
    starts: Integers
    scores: Scores
    """The score of each piece, weighted by its number of points; −inf if it has none."""

    @classmethod
    def of(cls, edges: Numbers, scores: Numbers) -> Pieces:
        """Lay the pieces on the grid. Edges must not decrease, and be one more than the scores."""
        known, values = _checked_edges(edges), Scores.of(scores).values
        if len(known) != len(values) + 1:
            raise ParameterError("there must be one edge more than scores. Give both ends of every piece.")
        grid = Grid.for_scale(Fraction(known[-1]) - Fraction(known[0]))
        starts = _first_points(known, grid)
        starts[-1] += int(starts[-1] * grid.step == Fraction(known[-1]))  # the right end itself
        sizes = np.diff(starts)
        raced = np.where(sizes > 0, values, -math.inf)
        return cls(grid, starts, Scores.of(raced, np.maximum(sizes, 1)))

    def point_in(self, piece: int) -> float:
        """A uniform point of the piece."""
        first, end = int(self.starts[piece]), int(self.starts[piece + 1])
        return self.grid.to_float(first + UniformBelow(end - first).sample())


def _checked_edges(edges: Numbers) -> NDArray[Any]:
    """Exact numbers in order. How many there are may be data, and no message states it."""
    known = numbers("edges", edges)
    if known.ndim != 1 or known.size < 2:
        raise ParameterError("edges must be a list of two numbers or more. Give both ends of every piece.")
    if not (np.abs(known) <= _LARGEST_EDGE).all():
        raise NotANumberError("edges must lie between −1e300 and 1e300. Clamp or drop the others first.")
    if not (np.diff(known) >= 0).all() or not known[0] < known[-1]:
        raise ParameterError("edges must not decrease, and the last must be above the first. Sort them first.")
    return known


def _first_points(edges: NDArray[Any], grid: Grid) -> Integers:
    """⌈edge/step⌉ for each edge, exactly."""
    if edges.dtype == np.float64:
        scaled = np.ldexp(edges, -grid.exponent)  # exact: an underflow, far below the step, still rounds up to 0, 1
        if (np.abs(scaled) < _INT64_ROOM).all() and (np.abs(edges[edges != 0]) > 2.0**-900).all():
            first: NDArray[np.int64] = np.ceil(scaled).astype(np.int64)
            return first
    return integer_array([math.ceil(Fraction(edge) / grid.step) for edge in edges.tolist()])
