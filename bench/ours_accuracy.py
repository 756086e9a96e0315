"""dither's two doors to an answer: `dp.stats` for arrays, `dp.Dataset` for tables."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

import dither as dp
from bench.accuracy_case import CHOSEN, GROUPS, NAMES, Data, Question
from bench.accuracy_runs import LEVEL, Answer, Contender
from bench.families import Bounds, Floats
from bench.timing import Work
from dither.adjacency import ADD_REMOVE, REPLACE_ONE

STATS, DATASET = "dp.stats", "Dataset"
_PLENTY = 10**9


def stats(data: Data) -> Contender:
    """Group by group with the whole ε, since nobody is in two groups."""
    return Contender(STATS, lambda: _together([_estimate(part, data) for part in data.parts]), is_ours=True)


def _estimate(part: Floats, data: Data) -> Answer:
    setting, question = data.setting, data.setting.question
    common: dict[str, Any] = {
        "epsilon": setting.epsilon,
        "adjacency": ADD_REMOVE if setting.change == "add or remove" else REPLACE_ONE,
    }
    release: Any
    if question.statistic == "count":
        release = dp.stats.count(part, **common)
    elif question.statistic == "top":
        release = dp.stats.top(part.astype(int), CHOSEN, categories=list(range(NAMES)), **common)
        return Answer(np.asarray(release.value, dtype=np.float64))
    elif question.statistic == "quantile":
        level = LEVEL if question.interval else None
        known = part.astype(np.int64) if setting.family.whole else part
        release = dp.stats.quantile(known, question.q, bounds=setting.bounds, interval_level=level, **common)
    else:
        function = getattr(dp.stats, question.statistic)
        release = function(part, bounds=setting.bounds, clip=question.clip, **common)
    if isinstance(release.value, dp.NoAnswer):
        return Answer(np.array([np.nan]))
    low, high = release.interval(LEVEL) if release.bars is not None else (None, None)
    clips = [release.found["clip"]] if "found['clip']" in release.covers else None
    return Answer(_array(release.value), _array(low), _array(high), clips)


def _array(value: float | None) -> Any:
    return None if value is None else np.array([value], dtype=np.float64)


def _together(answers: list[Answer]) -> Answer:
    """The groups side by side."""
    if len(answers) == 1:
        return answers[0]
    return Answer(
        np.concatenate([each.value for each in answers]),
        np.concatenate([np.full(1, np.nan) if each.low is None else each.low for each in answers]),
        np.concatenate([np.full(1, np.nan) if each.high is None else each.high for each in answers]),
        [each.clips[0] if each.clips else None for each in answers],
    )


def dataset(data: Data, folder: Path) -> Contender:
    """One query over all groups; the ledger is a new file in `folder`."""
    setting, question = data.setting, data.setting.question
    whole = setting.family.whole or question.statistic == "top"
    table = pa.table({"x": data.values.astype(np.int64) if whole else data.values, "group": data.groups})
    source = dp.Dataset(
        table,
        unit=dp.Rows() if setting.change == "add or remove" else dp.Rows("replace"),
        budget=dp.PureDP(_PLENTY),
        ledger=str(folder / f"{setting.seed}.ledger"),
        identity=f"setting {setting.seed}",
    )

    def ask() -> Answer:
        rows = source.group_by("group", keys=list(range(GROUPS))) if question.is_grouped else source
        release = rows.agg(v=_aggregate(question, setting.bounds)).release(epsilon=setting.epsilon)
        answer = release.value
        if question.statistic == "top":
            return Answer(np.array(answer["v"][0].as_py(), dtype=np.float64))
        value, low, high = (
            _column(answer, name) if name in answer.column_names else None for name in ("v", "v_low", "v_high")
        )
        assert value is not None
        clip = release.found.get("v", {}).get("clip")
        if clip is None and low is not None and high is not None:  # an interval of everything is none
            low, high = (np.where(np.isnan(value), np.nan, ends) for ends in (low, high))
        return Answer(value, low, high, None if clip is None else [clip] * len(value))

    return Contender(DATASET, ask, is_ours=True)


def _aggregate(question: Question, bounds: Bounds | None) -> Any:
    if question.statistic == "count":
        return dp.count()
    if question.statistic == "top":
        return dp.top("x", CHOSEN, candidates=list(range(NAMES)))
    if question.statistic == "quantile":
        return dp.quantile("x", question.q, bounds=bounds, interval_level=LEVEL if question.interval else None)
    function = {"sum": dp.sum, "mean": dp.mean, "variance": dp.variance}[question.statistic]
    return function("x", bounds=bounds, clip=question.clip)


def _column(answer: pa.Table, name: str) -> Floats:
    """A group without an answer is NULL, here NaN."""
    return np.array(answer[name].to_pylist(), dtype=np.float64)


def many_values(count: int) -> Work:
    data: Floats = np.random.default_rng(0).lognormal(np.log(40_000), 0.8, count)

    def run() -> None:
        dp.stats.median(data, epsilon=1, bounds=(0, 10**6))
        dp.stats.quantile(data, [0.1, 0.25, 0.5, 0.75, 0.9], epsilon=1, bounds=(0, 10**6))

    return Work("dither", count, run)
