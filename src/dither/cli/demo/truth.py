"""What is exactly true of the invented visits, by plain queries of DuckDB. For invented people only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb

__all__ = ["conditions", "hospitals", "quantiles"]

# A person's visits to one hospital count as `rows` at most, their mean cost as that of so many visits.
_HOSPITALS = """
WITH each AS (
  SELECT hospital, patient, count(*) AS visits, count(cost) AS costs,
         sum(CASE WHEN cost IS NOT NULL THEN least(cost, $most) END) AS clamped, sum(cost) AS cost
  FROM read_parquet($path) GROUP BY ALL
)
SELECT hospital, sum(least(visits, $rows))::BIGINT AS visits, count(*) AS patients,
       sum(clamped * least(1.0, $rows / costs)) FILTER (costs > 0) / sum(least(costs, $rows)) AS cost,
       sum(visits)::BIGINT AS all_visits, sum(cost) / sum(costs) AS all_cost
FROM each GROUP BY hospital
"""


def hospitals(path: Path, rows: int, most: float) -> dict[str, dict[str, Any]]:
    """For each hospital what the intervals are to hold (visits and costs within the bounds), and without any bounds."""
    with duckdb.connect() as engine:
        found = engine.execute(_HOSPITALS, {"path": str(path), "rows": rows, "most": most})
        names = [column[0] for column in found.description or []]
        return {row[0]: dict(zip(names, row, strict=True)) for row in found.fetchall()}


def quantiles(path: Path, probabilities: list[float]) -> list[float]:
    """The costs below which these parts of the visits lie."""
    with duckdb.connect() as engine:
        query = "SELECT quantile_disc(cost, $probabilities) FROM read_parquet($path)"
        (found,) = engine.execute(query, {"path": str(path), "probabilities": probabilities}).fetchall()
        return list(found[0])


def conditions(path: Path) -> list[str]:
    """All conditions, the most common first."""
    with duckdb.connect() as engine:
        query = "SELECT condition FROM read_parquet($path) GROUP BY condition ORDER BY count(*) DESC"
        return [row[0] for row in engine.execute(query, {"path": str(path)}).fetchall()]
