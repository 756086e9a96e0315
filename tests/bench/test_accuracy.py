"""The judgement of `python -m bench accuracy` can fail: estimators that are bent in known ways are reported.

False alarms: the noise comes from a fixed seed, so that each verdict is the same in every run.
"""

from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pytest

from bench import accuracy_cells, accuracy_report, accuracy_table
from bench.accuracy_case import QUESTIONS, Data, Setting, settings
from bench.accuracy_report import Outcome
from bench.accuracy_runs import Answer, Contender, Measured, measure
from bench.families import Family, draw, families
from bench.row import Row

ZEROS = next(family for family in families(1) if family.name == "zeros 80 %, small integers")
MEAN = next(question for question in QUESTIONS if question.name == "mean")
MEDIAN = next(question for question in QUESTIONS if question.name == "median")
SETTING = Setting(MEAN, ZEROS, 4000, 0.5, 1, "add or remove", seed=1)
TRUTH = float(draw(ZEROS, 4000, seed=1).mean())
SCALE = 9 / (4000 * 0.5)
HALF_WIDTH = SCALE * np.log(20)  # of a 95 % interval of Laplace noise
RNG = np.random.default_rng(7)


def answered(value: float, half_width: float = HALF_WIDTH) -> Answer:
    return Answer(np.array([value]), np.array([value - half_width]), np.array([value + half_width]))


def honest() -> Answer:
    return answered(TRUTH + RNG.laplace(0, SCALE))


def judged(ask: Callable[[], Answer], setting: Setting = SETTING) -> list[Row]:
    """Ours bent, beside an honest peer."""
    data = Data.of(setting)
    contenders = [Contender("dp.stats", ask, is_ours=True), Contender("peer", honest)]
    measured = [measure(each, data, seconds=60) for each in contenders]
    return list(accuracy_report.rows([Outcome(setting, measured)]))


def verdict(rows: list[Row], part: str) -> str:
    (row,) = [row for row in rows if part in row.case and row.asked is not None]
    return row.verdict


RATIO = "error ÷ best peer"
CLEARLY = "surely above 1.5"
COVERAGE = "of 1, coverage below"
RAW_COVERAGE = "of 1 that claim the raw value"
COLLAPSED, WILD, RAISED, REFUSED = "collapsed answers", "wild answers", "that raised", "refusals from the documented"
WIDTH = "half-width"
MUST_HOLD = (CLEARLY, COVERAGE, RAW_COVERAGE, COLLAPSED, WILD, RAISED, REFUSED, WIDTH)


def test_an_honest_estimator_is_not_accused() -> None:
    rows = judged(honest)
    assert [part for part in MUST_HOLD if verdict(rows, part) != "holds"] == []


def test_twice_the_noise_is_reported() -> None:
    rows = judged(lambda: answered(TRUTH + RNG.laplace(0, 2 * SCALE), 2 * HALF_WIDTH))
    assert verdict(rows, RATIO) == "MISSED"
    assert verdict(rows, CLEARLY) == "MISSED"
    assert any("above 1.5: dp.stats: mean, zeros 80 %" in row.case for row in rows)


def test_half_the_noise_is_good_enough() -> None:
    rows = judged(lambda: answered(TRUTH + RNG.laplace(0, SCALE / 2), HALF_WIDTH / 2))
    assert verdict(rows, RATIO) == "holds"


def test_a_collapse_with_a_narrow_interval_is_reported() -> None:
    rows = judged(lambda: answered(2e-7, 1e-6))
    assert verdict(rows, COLLAPSED) == "MISSED"
    assert verdict(rows, COVERAGE) == "MISSED"
    assert verdict(rows, CLEARLY) == "MISSED"


def test_a_collapse_that_only_claims_the_clamped_mean_is_a_collapse_all_the_same() -> None:
    collapsed = answered(2e-7, 1e-6)
    rows = judged(lambda: replace(collapsed, clips=[(0.0, 2e-7)]))
    assert verdict(rows, COLLAPSED) == "MISSED"
    assert verdict(rows, COVERAGE) == "holds"  # of what it claims


def test_too_narrow_an_interval_is_reported() -> None:
    rows = judged(lambda: answered(TRUTH + RNG.laplace(0, SCALE), HALF_WIDTH / 2))
    assert verdict(rows, COVERAGE) == "MISSED"
    assert verdict(rows, RAW_COVERAGE) == "MISSED"
    assert verdict(rows, COLLAPSED) == "holds"


def test_too_wide_an_interval_is_reported() -> None:
    assert verdict(judged(lambda: answered(honest().value[0], 2 * HALF_WIDTH)), WIDTH) == "MISSED"


def test_a_wild_answer_is_reported_in_one_run_of_a_hundred() -> None:
    rows = judged(lambda: answered(1e6) if RNG.random() < 0.05 else honest())
    assert verdict(rows, WILD) == "MISSED"


def test_a_wild_answer_that_knows_how_little_it_knows_is_excused_only_inside_given_bounds() -> None:
    unsure = answered(1e6, 1e6)
    assert verdict(judged(lambda: unsure), WILD) == "holds"
    assert verdict(judged(lambda: unsure, replace(SETTING, widening=None)), WILD) == "MISSED"


def test_a_collapsed_median_is_reported_by_its_rank() -> None:
    family = Family("far from 0", lambda rng, n: rng.normal(100, 5, n))
    setting = replace(SETTING, question=MEDIAN, family=family)
    assert verdict(judged(lambda: Answer(np.array([0.5])), setting), COLLAPSED) == "MISSED"
    assert verdict(judged(lambda: Answer(np.array([100.0])), setting), COLLAPSED) == "holds"


@pytest.mark.parametrize(("epsilon", "expected"), [(0.01, "holds"), (0.5, "holds"), (1.0, "MISSED")])
def test_refusals_without_bounds_are_for_small_n_times_epsilon(epsilon: float, expected: str) -> None:
    """Of records that are not 0: here one of five."""
    setting = replace(SETTING, widening=None, epsilon=epsilon)
    assert verdict(judged(lambda: Answer(np.array([np.nan])), setting), REFUSED) == expected


def test_an_exception_of_ours_is_a_failure_with_the_name_of_its_cell() -> None:
    def raising() -> Answer:
        raise ZeroDivisionError("by zero")

    rows = judged(raising)
    assert verdict(rows, RAISED) == "MISSED"
    assert any("ZeroDivisionError: by zero — first: dp.stats: mean, zeros 80 %" in row.case for row in rows)


def test_rows_are_json_and_become_the_table_of_the_readme() -> None:
    rows = [Row.from_json(row.to_json()) for row in judged(honest)]
    assert "| mean | **" in accuracy_table.render(rows)


def test_settings_are_drawn_by_seed_and_meet_every_question_with_every_kind_of_bounds() -> None:
    drawn = list(islice(settings(3, families(3)), 60))
    assert [str(each) for each in drawn] == [str(each) for each in islice(settings(3, families(3)), 60)]
    assert [str(each) for each in drawn] != [str(each) for each in islice(settings(4, families(3)), 60)]
    wanted = {(question.name, widening) for question in QUESTIONS for widening in question.widenings}
    assert {(each.question.name, each.widening) for each in drawn} == wanted


def test_a_measured_setting_counts_every_run() -> None:
    found: Measured = measure(Contender("peer", honest), Data.of(SETTING), seconds=0)
    assert found.runs == found.answers == found.intervals == len(found.errors) == 10


def test_each_group_claims_its_own_range() -> None:
    question = next(question for question in QUESTIONS if question.name == "mean by group")
    data = Data.of(replace(SETTING, question=question))
    clips = [(0.0, float(group)) for group in range(len(data.parts))]
    means = np.array([np.clip(part, *clip).mean() for part, clip in zip(data.parts, clips, strict=True)])
    answer = Answer(means, means, means, clips)
    found = measure(Contender("dp.stats", lambda: answer, is_ours=True), data, seconds=0)
    assert found.covered == found.intervals == 10 * len(data.parts)
    assert found.raw_intervals == 0


def test_slices_that_were_kept_are_judged_as_one(tmp_path: Path) -> None:
    """Two doors of one setting in two files: the rows are those of both measured at once."""
    data = Data.of(SETTING)
    doors = [
        measure(Contender(who, honest, is_ours=who != "peer"), data, seconds=60)
        for who in ("dp.stats", "Dataset", "peer")
    ]
    for door in doors[:2]:
        (tmp_path / door.who).write_text(accuracy_cells.line(Outcome(SETTING, [door, doors[2]]), seed=1) + "\n")
    kept = list(accuracy_cells.outcomes([str(tmp_path / "dp.stats"), str(tmp_path / "Dataset")]))
    together = Outcome(SETTING, [doors[0], doors[2], doors[1]])
    assert [row.to_json() for row in accuracy_report.rows(kept)] == [
        row.to_json() for row in accuracy_report.rows([together])
    ]
