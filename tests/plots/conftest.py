"""Releases of every shape, with names that would act in a page or a picture if nobody escaped them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest

import dither as dp
from dither.ledger import Ledger

HOSTILE = ["<script>alert(1)</script>", '"><img src=x onerror=alert(2)>', "$\\frac{1$", "a\nb\u202ec", "名前", "&amp;"]


@pytest.fixture(scope="session")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ledger]:
    with closing(Ledger(tmp_path_factory.mktemp("plots") / "visits.ledger")) as book:
        yield book


@pytest.fixture(scope="session")
def data(ledger: Ledger) -> Iterator[dp.Dataset]:
    rows = range(600)
    table = pa.table(
        {
            "user": list(rows),
            "place": [HOSTILE[row % len(HOSTILE)] for row in rows],
            "age": [row % 90 for row in rows],
            "spend": [float(row % 37) for row in rows],
        }
    )
    budget = dp.ApproxDP(100, "1e-3")
    unit = dp.Person("user", 1, 1)
    with dp.Dataset(table, unit=unit, budget=budget, ledger=ledger, identity="<b>visits</b>") as opened:
        yield opened


@pytest.fixture(scope="session")
def releases(data: dp.Dataset) -> dict[str, dp.Release]:
    grouped = data.group_by("place", keys=HOSTILE)
    return {
        "grouped": grouped.agg(n=dp.count(), m=dp.mean("spend", bounds=(0, 40))).release(
            epsilon=1, delta="1e-6", noise="gaussian"
        ),
        "lists": grouped.agg(
            q=dp.quantile("spend", ["0.25", "0.5"], bounds=(0, 40), interval_level="0.9"),
            h=dp.histogram("age", [0, 30, 60, 90]),
            t=dp.top("age", 2, [1, 2, 3]),
        ).release(epsilon=30),  # fewer would get no quantiles
        "histogram": data.histogram("age", [0, 30, 60, 90], epsilon=1),
        "names": data.top("place", 2, HOSTILE, epsilon=1),
        "one": data.count(epsilon=1),
        "median": data.median("spend", (0, 40), epsilon=1),
        "estimate": dp.stats.quantile(list(range(400)), [0.25, 0.5], epsilon=1, bounds=(0, 400)),
        "vector": dp.Laplace(sensitivity=1, epsilon=1).release([3, 4, 5]),
        "found": dp.Histogram(epsilon=5, delta="1e-6", adjacency=dp.adjacency.ADD_REMOVE).release(
            dict.fromkeys(HOSTILE, 100)
        ),
    }


@pytest.fixture(scope="session")
def page(releases: dict[str, dp.Release], ledger: Ledger, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report of all of them."""
    place = tmp_path_factory.mktemp("page") / "report.html"
    return dp.plots.report(list(releases.values()), place, title="<i>All</i>", ledger=ledger)
