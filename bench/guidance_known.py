"""`python -m bench.guidance_known [TABLES]`: what no private choice of limits could do, for the cases that miss.

Two figures, both with the least error by hand as 1:

- *The law is known.* Other tables are drawn from the law of the case, and one choice is made for all of them: that with
  the least mean of its error over the least error of each table. It spends nothing on looks, and knows all that could
  be known beforehand. What remains is chance in the rows, which the best by hand sees in hindsight.
- *A few people more.* Of the table and the same one with k more people of r rows each, which is which cannot be told:
  a choice that loses ε chooses a thing at most e^(k·ε) times as often in one as in the other. The least of the larger
  mean of the two, over all such choices, is a linear program. k and r are those for which it is largest.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import scipy

from bench.guidance import EPSILON, MOST_SPENT, SEED
from bench.guidance_case import Bounds, Floats, Limits, Trips, invented

CASES = tuple((case, statistic) for case in (1, 2, 3) for statistic in ("count", "sum", "mean"))
_MORE = ((1, 2, 3, 4, 6, 8), (1.5, 2.0, 3.0, 4.0))
"""Numbers of people, and their rows as times the most of anybody."""
_PER_OCTAVE = 4


def known_law(case: int, statistic: str, seeds: Sequence[int]) -> float:
    """The least mean, over tables of the law, of the error of one choice over the least of each table."""
    tables = [_of(case, seed) for seed in seeds]
    best = [table.best(statistic, EPSILON) for table in tables]
    tried = {found for _, found in best} | set(_tried(tables[0], statistic, [found.bounds for _, found in best]))
    return float(min(np.mean(_ratios(tables, statistic, limits, [least for least, _ in best])) for limits in tried))


def few_more(trips: Trips, statistic: str) -> tuple[float, int, int]:
    """The least of the larger mean that any choice could have; of how many people more, of how many rows."""
    most, epsilon = int(np.bincount(trips.person).max()), float(MOST_SPENT) * EPSILON
    found = []
    for people, times in product(*_MORE):
        rows = round(most * times)
        other = _with_more(trips, people, rows)
        least = [each.best(statistic, EPSILON) for each in (trips, other)]
        tried = [limits for _, limits in least]
        tried += _tried(other, statistic, [limits.bounds for limits in tried])
        ratios = np.array([_ratios([trips, other], statistic, limits, [of for of, _ in least]) for limits in tried])
        found.append((least_of_two(ratios, people * epsilon), people, rows))
    return max(found)


def least_of_two(ratios: Floats, loss: float) -> float:
    """With ratios of each choice in both tables: the least of the larger mean, if e^loss bounds how chances differ.

    Chances p and q of the choices, and a bound v of both means: v is least with p·r ≤ v, q·s ≤ v, p ≤ e^loss·q, and
    q ≤ e^loss·p.
    """
    number, most = len(ratios), float(np.exp(loss))
    nothing, one = np.zeros((1, number)), np.ones((1, number))
    means = np.block([[ratios[:, :1].T, nothing, -np.ones((1, 1))], [nothing, ratios[:, 1:].T, -np.ones((1, 1))]])
    same, last = np.eye(number), np.zeros((number, 1))
    near = np.block([[same, -most * same, last], [-most * same, same, last]])
    sums = np.block([[one, nothing, np.zeros((1, 1))], [nothing, one, np.zeros((1, 1))]])
    found = scipy.optimize.linprog(
        np.r_[np.zeros(2 * number), 1.0],
        A_ub=np.vstack([means, near]),
        b_ub=np.zeros(2 + 2 * number),
        A_eq=sums,
        b_eq=np.ones(2),
    )
    assert found.status == 0, found.message
    return float(found.fun)


def _of(case: int, seed: int) -> Trips:
    return next(trips for at, trips in enumerate(invented(seed)) if at == case)


def _ratios(tables: Sequence[Trips], statistic: str, limits: Limits, least: Sequence[float]) -> list[float]:
    return [table.error(statistic, limits, EPSILON) / of for table, of in zip(tables, least, strict=True)]


def _with_more(trips: Trips, people: int, rows: int) -> Trips:
    """With people who have so many rows each, of values as those of others; in one group."""
    more, rng = people * rows, np.random.default_rng(SEED)
    return replace(
        trips,
        person=np.r_[trips.person, trips.person.max() + 1 + np.repeat(np.arange(people), rows)],
        group=np.r_[trips.group, np.zeros(more, dtype=np.int64)],
        value=np.r_[trips.value, rng.choice(trips.value, more)],
    )


def _tried(trips: Trips, statistic: str, bounds: Sequence[Bounds]) -> Iterator[Limits]:
    """Limits for one group, with bounds that are best somewhere."""
    most = int(np.bincount(trips.person).max())
    steps = {round(2 ** (step / _PER_OCTAVE)) for step in range(_PER_OCTAVE * most.bit_length() + 1)}
    for rows, both in product([*sorted(step for step in steps if step <= most), most], sorted(set(bounds))):
        yield Limits(1, rows, trips.bounds if statistic == "count" else both)


def main(tables: int) -> None:
    for case, statistic in CASES:
        seeds = [SEED + 1 + at for at in range(tables)]
        print(f"{statistic}: {_of(case, SEED).name}", flush=True)
        print(
            f"  the law is known: {known_law(case, statistic, seeds):.2f} on average over {tables} tables", flush=True
        )
        if statistic != "mean":
            found, people, rows = few_more(_of(case, SEED), statistic)
            print(
                f"  {people} more people of {rows} rows: {found:.2f} in one of the two, for 15 % of epsilon", flush=True
            )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 24)
