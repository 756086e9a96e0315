"""The test switch: the exact numbers of needs under a fixed salt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from dither.engine.found_ranges import Ranged
from dither.engine.group_sensitivity import Measured, Need
from dither.engine.groups import Groups
from dither.tables import BoundedTable, Measure

__all__ = ["exact_batches", "exact_numbers", "looks_of", "needs_of", "numbers_of"]

_SALT = 12345

Batches = dict[str, list[pa.RecordBatch]]


def needs_of(aggregates: Mapping[str, Any]) -> dict[str, Need]:
    """All that aggregates need, by key; sums in a range that is found as those in the bounds, and see `looks_of`."""
    all_needs = {key: need for aggregate in aggregates.values() for key, need in aggregate.needs.items()}
    return {key: need.in_bounds if isinstance(need, Ranged) else need for key, need in all_needs.items()}


def looks_of(aggregates: Mapping[str, Any]) -> dict[str, Need]:
    """The looks by which ranges are found: about all groups together."""
    all_needs = {key: need for aggregate in aggregates.values() for key, need in aggregate.needs.items()}
    return {f"look for {key}": need for key, need in all_needs.items() if isinstance(need, Ranged)}


def exact_batches(bounded: BoundedTable, needs: Mapping[str, Need]) -> Batches:
    """What the engine answers to each need, before any noise; measures by one question, as in a release."""
    wholes: dict[str, Measure] = {}
    for name, need in _measured(needs).items():
        wholes |= need.measures(name)
    pooled = list(bounded.totals(wholes, _SALT)._open()) if wholes else []
    return {
        key: pooled if isinstance(need, Measured) else list(need.ask(bounded, _SALT)._open())
        for key, need in needs.items()
    }


def numbers_of(batches: Batches, needs: Mapping[str, Need], groups: pa.Table) -> dict[str, Any]:
    """What each need is in each of the groups."""
    known = Groups(groups)
    names = dict(zip((key for key, need in needs.items() if isinstance(need, Measured)), _measured(needs), strict=True))
    found: dict[str, Any] = {}
    for key, need in needs.items():
        if isinstance(need, Measured):
            answers = {name: known.vector(batches[key], name) for name in need.measures(names[key])}
            found[key] = need.exact(answers, names[key])
        else:
            found[key] = need.collect(batches[key], known)
    return found


def exact_numbers(bounded: BoundedTable, needs: Mapping[str, Need], groups: pa.Table) -> dict[str, Any]:
    """What each need is in each of the groups, before any noise."""
    return numbers_of(exact_batches(bounded, needs), needs, groups)


def _measured(needs: Mapping[str, Need]) -> dict[str, Measured]:
    """Those that one question answers, under names of columns."""
    return {f"m{at}": need for at, need in enumerate(needs.values()) if isinstance(need, Measured)}
