"""Which strategies a workload may use."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial

from dither.errors import ParameterError
from dither.workloads.marginals import Marginals
from dither.workloads.queries import Queries
from dither.workloads.ranges import Ranges
from dither.workloads.strategies.direct import AnswersStrategy, CellsStrategy
from dither.workloads.strategies.optimal import MOST_CELLS, Optimal
from dither.workloads.strategies.residuals import Residuals
from dither.workloads.strategies.square_root import SquareRoot
from dither.workloads.strategies.strategy import Strategy
from dither.workloads.strategies.tree import Tree

__all__ = ["named", "names"]

_BRANCHES = (2, 4, 16)
_FINE = 1 << 20
_LARGEST_ENTRY = 1 << 28


def names(queries: Queries, *, gaussian: bool) -> list[str]:
    """The strategies that are worth a look for these queries and this noise."""
    return list(_ways(queries, gaussian=gaussian))


@lru_cache(maxsize=16)
def named(queries: Queries, name: str, *, gaussian: bool) -> Strategy:
    """The strategy of this name."""
    ways = _ways(queries, gaussian=gaussian)
    if name not in ways:
        noise = "Gaussian" if gaussian else "Laplace"
        raise ParameterError(
            f"strategy {name!r} is not known for these queries and {noise} noise. Known: best, {', '.join(ways)}."
        )
    return ways[name]()


def _ways(queries: Queries, *, gaussian: bool) -> dict[str, Callable[[], Strategy]]:
    scale = _scale(queries) if gaussian else 1
    ways: dict[str, Callable[[], Strategy]] = {
        "cells": partial(CellsStrategy, queries, scale),
        "answers": partial(AnswersStrategy, queries, scale),
    }
    if isinstance(queries, Ranges) and queries.cells > 1:
        for branching in _BRANCHES:
            ways[f"tree of {branching}"] = partial(Tree, queries, branching, 2 if gaussian else 1)
    if gaussian and isinstance(queries, Ranges) and queries.is_prefix:
        ways["square root"] = partial(SquareRoot, queries.cells)
    if gaussian and isinstance(queries, Marginals) and Residuals.fits(queries):
        ways["residuals"] = partial(Residuals, queries)
    elif gaussian and queries.cells <= MOST_CELLS:
        ways["optimal"] = partial(Optimal, queries)
    return ways


def _scale(queries: Queries) -> int:
    """How many steps of the lattice make a count, so that Gaussian noise is as good as continuous."""
    return min(_FINE, _LARGEST_ENTRY // queries.largest_entry)
