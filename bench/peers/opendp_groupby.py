"""OpenDP on Polars, as a process of its own: `python -m bench.peers.opendp_groupby PATH`."""

import sys
import warnings
from typing import Any

import opendp.prelude as dp  # type: ignore[import-not-found,import-untyped,unused-ignore]
import polars as pl

from bench import meter
from bench.groupby_case import DELTA, EPSILON, GROUPS, HIGH, MAX_GROUPS, MAX_ROWS_PER_GROUP

dp.enable_features("contrib")

MOST_ROWS = 10**7


def release(path: str) -> pl.DataFrame:
    """Count and sum for public keys. Sums of floats need a bound on the length of a group, so one is stated.

    A person keeps their first groups, which is less work than a choice by chance. The latter (keep="sample") is refused
    by the version of Polars that this version of OpenDP asks for: "multiple fields with name 'g' found".
    """
    context = dp.Context.compositor(
        data=pl.scan_parquet(path),
        privacy_unit=dp.unit_of(contributions=1, identifier=pl.col("user_id")),
        privacy_loss=dp.loss_of(epsilon=float(EPSILON), delta=DELTA),
        split_evenly_over=1,
        margins=[dp.polars.Margin(by=["g"], max_length=MOST_ROWS, max_groups=GROUPS)],
    )
    spend: Any = pl.col("spend").fill_null(0.0).fill_nan(0.0)
    query = (
        context.query()
        .truncate_per_group(MAX_ROWS_PER_GROUP, by=["g"])
        .truncate_num_groups(MAX_GROUPS, by=["g"], keep="first")
        .group_by("g")
        .agg(dp.len(), spend.dp.sum((0.0, float(HIGH))))
        .with_keys(pl.LazyFrame({"g": range(GROUPS)}, schema={"g": pl.Int32}))
    )
    answer: pl.DataFrame = query.release().collect()
    assert answer.height == GROUPS
    return answer


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    print(meter.cost_of(lambda: release(sys.argv[1]), repetitions=1).to_json())
