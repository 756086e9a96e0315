"""The topic `guidance`: the error after `suggest` beside that of the best limits and bounds, at the same total ε.

The best are chosen by hand: with the rows in view, by trying some thousands, and all of ε is spent on the answer.
`suggest` spends a tenth of ε on its choice, and the answer a fiftieth of the rest on what is left out.

In each case the engine makes one suggestion, which is charged and released. The others make the same choice from looks
of the same people with noise that NumPy draws: the looks of an engine take most of the time, and are alike.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

import dither as dp
from bench.guidance_case import STATISTICS, Limits, Trips, invented, real
from bench.guidance_looks import NumPyLooks
from bench.progress import bar
from bench.row import Row, less_is_better
from dither.engine.left_out import SHARE
from dither.engine.looks import chosen

EPSILON, RUNS, SEED = 2, 12, 66998
MOST_SPENT = Fraction(15, 100)
_LOOKS = Fraction(1, 10)
_ASKED = 1 / 1.3


def rows() -> Iterator[Row]:
    cases = [*invented(SEED), *real()]
    for at, trips in enumerate(cases):
        for which, statistic in enumerate(STATISTICS):
            bar((at + which / len(STATISTICS)) / len(cases), trips.name)
            yield measured(trips, statistic, RUNS, [SEED, at, which])
    bar(1.0, "done")


def measured(trips: Trips, statistic: str, runs: int, seed: list[int]) -> Row:
    """The mean error after so many suggestions, the first of which is the engine's."""
    least, _ = trips.best(statistic, EPSILON)
    chosen_limits = [suggested(trips, statistic), *(drawn(trips, statistic, runs - 1, seed))]
    errors = [trips.error(statistic, *each) for each in chosen_limits]
    case = f"{statistic}: {trips.name}"
    ours = float(np.mean(errors))
    return less_is_better(case, ours=ours, peer="best by hand", peer_value=least, asked=_ASKED, unit="error")


def suggested(trips: Trips, statistic: str) -> tuple[Limits, float]:
    """What `suggest` chooses, and the ε that is left for the answer."""
    budget = dp.PureDP(EPSILON)
    with dp.Dataset(trips.table(), unit=dp.Person("who"), budget=budget, ledger=":memory:", identity="trips") as data:
        groups = data.group_by("place", keys=list(range(trips.groups))) if trips.groups > 1 else data
        found = data.suggest(groups.agg(answer=_asked(trips, statistic)), epsilon=EPSILON)
        assert data.spent["epsilon"] == EPSILON - found.epsilon
    unit = found.unit
    assert isinstance(unit, dp.Person)
    limits = Limits(
        unit.stated("max_groups"), unit.stated("max_rows_per_group"), found.bounds.get("answer", trips.bounds)
    )
    return limits, _for_the_answer(found.epsilon)


def drawn(trips: Trips, statistic: str, runs: int, seed: list[int]) -> Iterator[tuple[Limits, float]]:
    """The same from looks with noise that NumPy draws."""
    looks, asked = NumPyLooks(trips, np.random.default_rng(seed)), {"answer": _asked(trips, statistic)}
    for _ in range(runs):
        choice = chosen(looks, asked, dp.Person("who"), trips.groups, Fraction(EPSILON), _LOOKS)
        best = choice.considered[0]
        bounds = best.bounds.get("answer", trips.bounds)
        yield Limits(best.max_groups, best.max_rows_per_group, bounds), _for_the_answer(choice.left)


def _asked(trips: Trips, statistic: str) -> Any:
    return {"count": dp.count(), "sum": dp.sum("value", trips.bounds), "mean": dp.mean("value", trips.bounds)}[
        statistic
    ]


def _for_the_answer(left: Fraction) -> float:
    """After what is left out is estimated; together, the choice and that estimate take no more than was asked."""
    answer = left * (1 - SHARE)
    assert EPSILON - answer <= MOST_SPENT * EPSILON
    return float(answer)
