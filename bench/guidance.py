"""The topic `guidance`: the error after `suggest` beside that of the best limits and bounds, at the same total ε.

The best are chosen by hand: with the rows in view, by trying some thousands, and all of ε is spent on the answer.
`suggest` spends a tenth of ε on its choice, and the answer a twentieth of the rest on what is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np

import dither as dp
from bench.guidance_case import STATISTICS, Limits, Trips, invented, real
from bench.progress import bar
from bench.row import Row, less_is_better
from dither.engine.left_out import SHARE

EPSILON, RUNS, SEED = 2, 8, 2026
_ASKED = 1 / 1.3


def rows() -> Iterator[Row]:
    cases = [*invented(SEED), *real()]
    for at, trips in enumerate(cases):
        for which, statistic in enumerate(STATISTICS):
            bar((at + which / len(STATISTICS)) / len(cases), trips.name)
            yield measured(trips, statistic, RUNS)
    bar(1.0, "done")


def measured(trips: Trips, statistic: str, runs: int) -> Row:
    """The mean error after so many suggestions."""
    least, _ = trips.best(statistic, EPSILON)
    errors = [trips.error(statistic, *suggested(trips, statistic)) for _ in range(runs)]
    case = f"{statistic}: {trips.name}"
    ours = float(np.mean(errors))
    return less_is_better(case, ours=ours, peer="best by hand", peer_value=least, asked=_ASKED, unit="error")


def suggested(trips: Trips, statistic: str) -> tuple[Limits, float]:
    """What `suggest` chooses, and the ε that is left for the answer."""
    of = {"count": dp.count(), "sum": dp.sum("value", trips.bounds), "mean": dp.mean("value", trips.bounds)}[statistic]
    budget = dp.PureDP(EPSILON)
    with dp.Dataset(trips.table(), unit=dp.Person("who"), budget=budget, ledger=":memory:", identity="trips") as data:
        groups = data.group_by("place", keys=list(range(trips.groups))) if trips.groups > 1 else data
        found = data.suggest(groups.agg(answer=of), epsilon=EPSILON)
        spent = EPSILON - found.epsilon
        assert spent <= Fraction(EPSILON, 10)
    unit = found.unit
    assert isinstance(unit, dp.Person)
    limits = Limits(
        unit.stated("max_groups"), unit.stated("max_rows_per_group"), found.bounds.get("answer", trips.bounds)
    )
    return limits, float(found.epsilon * (1 - SHARE))
