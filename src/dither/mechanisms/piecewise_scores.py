"""Scores that are constant on pieces of an interval, on a public grid."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.errors import NotANumberError, ParameterError
from dither.exact import check
from dither.noise import Grid, UniformBelow
from dither.noise.law import Integers, integer_array
from dither.noise.race import Numbers, Scores, numbers

__all__ = ["Pieces"]

_LARGEST_EDGE = 1e300
_INT64_ROOM = 2.0**61
_CELLS = 1 << 13  # at most 2^41 + 1 points: fewer than 2^29 in a cell, times 24 bits of a level, are exact doubles
_LEAST_LEVEL = 1e-30


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
    owners: NDArray[np.intp]
    """The piece, of those that were given, that each belongs to."""

    @classmethod
    def of(cls, edges: Numbers, scores: Numbers, density: Callable[[float], float] | None = None) -> Pieces:
        """Lay the pieces on the grid. Edges must not decrease, and be one more than the scores.

        With a density each piece is cut at the ends of public cells, and each point of a cell weighs as much as the
        density in its middle, up to 24 binary digits. So where data cut the cells changes the weight of no point.
        """
        known, values = _checked_edges(edges), Scores.of(scores).values
        if len(known) != len(values) + 1:
            raise ParameterError("there must be one edge more than scores. Give both ends of every piece.")
        grid = Grid.for_scale(Fraction(known[-1]) - Fraction(known[0]))
        starts = _first_points(known, grid)
        starts[-1] += int(starts[-1] * grid.step == Fraction(known[-1]))  # the right end itself
        if density is None:
            sizes = np.diff(starts)
            raced = np.where(sizes > 0, values, -math.inf)
            return cls(grid, starts, Scores.of(raced, np.maximum(sizes, 1)), np.arange(len(values)))
        cells = _cells(int(starts[0]), int(starts[-1]))
        cut = np.unique(np.concatenate([starts, cells]))
        owners = np.searchsorted(starts, cut[:-1], side="right") - 1
        levels = _levels(density, cells, grid)[np.searchsorted(cells, cut[:-1], side="right") - 1]
        weights = np.diff(cut).astype(np.float64) * levels
        return cls(grid, cut, Scores.of(values[owners], weights), owners)

    def point_in(self, piece: int) -> float:
        """A uniform point of the piece."""
        first, end = int(self.starts[piece]), int(self.starts[piece + 1])
        return self.grid.to_float(first + UniformBelow(end - first).sample())


def _cells(first: int, end: int) -> Integers:
    """The ends of public cells of equally many points, but for one."""
    count = min(_CELLS, end - first)
    return integer_array([first + (end - first) * i // count for i in range(count + 1)])


def _levels(density: Callable[[float], float], cells: Integers, grid: Grid) -> NDArray[np.float64]:
    """The density in the middle of each cell over the largest of them, up to 24 binary digits; never 0."""
    check.takes(1, density=density)
    found = np.array([_level(density, grid.to_float(int(a + b) // 2)) for a, b in pairwise(cells.tolist())])
    if not ((found > 0) & (found < math.inf)).all():
        raise ParameterError("density must be a function of a point that is positive and finite all over the interval.")
    short: NDArray[np.float32] = np.maximum(found / found.max(), _LEAST_LEVEL).astype(np.float32)
    return short.astype(np.float64)


def _level(density: Callable[[float], float], y: float) -> float:
    try:
        return float(density(y))
    except (ArithmeticError, TypeError, ValueError) as problem:
        raise ParameterError(
            f"density must give one number all over the interval, and fails at {y:g} ({type(problem).__name__})."
        ) from problem


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
