"""`python -m bench.guidance_figures [RUNS]`: how long `price` takes and how near it comes, and whether intervals hold.

Two figures beside the topic `guidance`: `price` inverts `plan`, and the interval of what limits leave out holds what it
is about. For the second, the sums of five shapes are taken once without noise, and noise is drawn for each run.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

import dither as dp
from bench.guidance_case import Trips, invented
from dither.engine.left_out import LEFT_OUT

SEED, EPSILON, LEVEL = 400713, 4, Fraction("0.95")
_LIMIT, _HIGH = 4, 20.0
_ROUNDED = 1e-4
"""What is left out is counted in steps of persons."""


def prices() -> Iterator[tuple[str, float, float]]:
    """For each question: its processor time in ms, and the error at its price as a part of what was asked."""
    rng = np.random.default_rng(SEED)
    table = pa.table({"who": np.arange(4000) // 4, "zone": rng.integers(0, 9, 4000), "fare": rng.random(4000) * 50})
    budget, unit = dp.ApproxDP(100, "1e-5"), dp.Person("who", max_groups=3, max_rows_per_group=4)
    data = dp.Dataset(table, unit=unit, budget=budget, ledger=":memory:", identity="prices")
    zones, bounds = data.group_by("zone", keys=list(range(9))), (0, 50)
    asked: dict[str, tuple[Any, float, dict[str, Any], dict[str, Any]]] = {
        "count": (data.agg(x=dp.count()), 50, {}, {}),
        "count by 9 zones": (zones.agg(x=dp.count()), 50, {}, {}),
        "count by 9 zones, delta": (zones.agg(x=dp.count()), 50, {"delta": "1e-6"}, {}),
        "count by groups that are found, delta": (data.group_by("zone").agg(x=dp.count()), 50, {"delta": "1e-6"}, {}),
        "sum": (data.agg(x=dp.sum("fare", bounds)), 900, {}, {}),
        "mean by 9 zones": (zones.agg(x=dp.mean("fare", bounds)), 2, {}, {"rows": 1000}),
        "mean by 9 zones, delta": (zones.agg(x=dp.mean("fare", bounds)), 2, {"delta": "1e-6"}, {"rows": 1000}),
        "median": (data.agg(x=dp.median("fare", bounds)), 0.05, {}, {"rows": 1000}),
        "0.9 quantile, delta": (data.agg(x=dp.quantile("fare", 0.9, bounds)), 0.05, {"delta": "1e-6"}, {"rows": 1000}),
        "variance": (data.agg(x=dp.variance("fare", bounds)), 40, {}, {"rows": 1000}),
        "variance by 9 zones, delta": (zones.agg(x=dp.variance("fare", bounds)), 40, {"delta": "1e-6"}, {"rows": 1000}),
    }
    for name, (question, error, price, expected) in asked.items():
        before = time.process_time()
        try:
            epsilon = question.price(error=error, **price, **expected)
        except dp.errors.ParameterError as refusal:
            print(f"  {name}: {refusal}")
            continue
        taken = (time.process_time() - before) * 1000
        plan = question.plan(epsilon=epsilon, **price)
        yield name, taken, float(plan.error("x", expected.get("rows"))) / error


def drawn_prices(number: int, seed: int) -> Iterator[tuple[str, float, float]]:
    """The same of questions that are drawn: aggregates, groups, limits, bounds, δ and the error that is asked for.

    The error is that of the plan at an ε that is drawn, where that is known and finite.
    """
    rng = np.random.default_rng(seed)
    table = pa.table({"who": np.arange(400) // 4, "zone": rng.integers(0, 9, 400), "fare": rng.random(400) * 50})
    for _ in range(number):
        unit = dp.Person("who", int(rng.integers(1, 30)), int(rng.integers(1, 60)))
        data = dp.Dataset(table, unit=unit, budget=dp.ApproxDP(10**6, "0.1"), ledger=":memory:", identity="prices")
        low, width = float(np.round(rng.choice([0, rng.normal(0, 100)]), 2)), float(f"{10 ** rng.uniform(-1, 4):.3g}")
        bounds, rows = (low, low + width), int(10 ** rng.uniform(2, 6))
        aggregates = {
            "count": dp.count(),
            "people": dp.count_people(),
            "sum": dp.sum("fare", bounds),
            "mean": dp.mean("fare", bounds),
            "variance": dp.variance("fare", bounds),
            "std": dp.std("fare", bounds),
            "share": dp.share(dp.col("fare") > 10),
        }
        name = str(rng.choice(list(aggregates)))
        groups = int(rng.choice([0, 1, 9, 300]))
        asked = data.group_by("zone", keys=list(range(groups))) if groups else data
        question = asked.agg(x=aggregates[name])
        price: dict[str, Any] = {"delta": "1e-6"} if rng.random() < 0.5 else {}
        at = Fraction(str(float(f"{10 ** rng.uniform(-1.3, 0.7):.3g}")))
        error = float(question.plan(epsilon=at, **price).error("x", rows) or 0)
        case = f"{name}, {groups} zones, {unit.max_groups} x {unit.max_rows_per_group} rows, {'delta' if price else ''}"
        if not 0 < error < np.inf:
            continue
        before = time.process_time()
        try:
            epsilon = question.price(error=error, rows=rows, **price)
        except dp.errors.ParameterError as refusal:
            raise AssertionError(f"{case} at epsilon {at}, {rows} rows, bounds {bounds}: {refusal}") from None
        taken = (time.process_time() - before) * 1000
        yield case, taken, float(question.plan(epsilon=epsilon, **price).error("x", rows) or 0) / error


def _truth(trips: Trips, times: Callable[[str], int | None]) -> dict[str, float]:
    """The shares as they are, of people who have at most so many times what the limits allow; no groups."""
    rows, value = np.bincount(trips.person), trips.value
    clipped, kept = np.clip(value, 0, _HIGH), {"rows": np.minimum(rows, _LIMIT) / _LIMIT}
    lost = {"rows": rows / _LIMIT - kept["rows"]}

    def each(of: Any) -> Any:
        return np.bincount(trips.person, of)

    unit = _LIMIT * _HIGH
    kept["sum"] = np.minimum(each(clipped), unit) / unit
    lost["sum"] = (each(clipped) + each(value - clipped)) / unit - kept["sum"]
    part = np.minimum(rows, _LIMIT) / np.maximum(rows, 1) / unit
    kept["mean"], lost["mean"] = each(clipped) * part, each(value - clipped) * part
    found = {}
    for name in kept:
        seen = kept[name] + lost[name] <= (times(name) or np.inf)
        found[name] = float(lost[name][seen].sum() / (lost[name][seen].sum() + kept[name].sum()))
    cut = np.logical_or.reduce([each > 1e-9 for each in lost.values()])
    return found | {"people": float(cut.mean())}


def held(trips: Trips, runs: int) -> dict[str, int]:
    """In how many runs the interval of each share holds what it is about."""
    unit = dp.Person("who", max_groups=1, max_rows_per_group=_LIMIT)
    data = dp.Dataset(trips.table(), unit=unit, budget=dp.PureDP(10), ledger=":memory:", identity="shapes")
    question = data.agg(n=dp.count(), sum=dp.sum("value", (0, _HIGH)), mean=dp.mean("value", (0, _HIGH)))
    plan = question.plan(epsilon=EPSILON, left_out=True)
    assert plan.cuts is not None
    need, noise, names = plan.cuts[0], plan.parts[LEFT_OUT].noise, ["people", "rows", "sum", "mean"]
    exact: Any = need.collect(need.ask(question._bounded, 0)._open(), None)[0]  # type: ignore[arg-type]
    counts, known = dict.fromkeys(names, 0), {}
    for _ in range(runs):
        noisy = noise.draw(exact[None, :]).flatten().to_pylist()
        for name, each in zip(names, need.shares(noisy, noise, LEVEL), strict=True):  # type: ignore[arg-type]
            if (name, each.times) not in known:
                known[name, each.times] = _truth(trips, lambda _, most=each.times: most)[name]  # type: ignore[misc]
            counts[name] += each.low - _ROUNDED <= known[name, each.times] <= each.high + _ROUNDED
    return counts


def main(runs: int) -> None:
    print("price: ms of processor time, error at the price / asked")
    for name, taken, part in prices():
        print(f"  {name}: {taken:.0f} ms, {part:.4f}", flush=True)
    drawn = list(drawn_prices(runs, SEED))
    times, parts = np.array([taken for _, taken, _ in drawn]), np.array([part for _, _, part in drawn])
    print(
        f"  {len(drawn)} questions that were drawn: median {np.median(times):.0f} ms, {(times >= 200).sum()} of 200 ms"
    )
    far = ((parts > 1) | (parts < 0.99)).sum()
    print(f"  or more; {parts.min():.4f} to {parts.max():.4f}, {far} farther than 1 % off")
    for name, taken, part in sorted(drawn, key=lambda each: -each[1])[:3] + sorted(drawn, key=lambda each: each[2])[:3]:
        print(f"    {name}: {taken:.0f} ms, {part:.4f}", flush=True)
    print(f"left out: intervals at {float(LEVEL):.0%} that hold, of {runs} runs each")
    for trips in list(invented(SEED))[:5]:
        print(f"  {trips.name}: {held(trips, runs)}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
