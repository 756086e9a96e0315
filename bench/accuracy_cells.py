"""The outcome of a setting as a line of JSON, so that a gauntlet can be run in slices and judged as one."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from bench.accuracy_case import QUESTIONS, Setting
from bench.accuracy_report import Outcome
from bench.accuracy_runs import Measured
from bench.families import Family, families, real_columns

_QUESTIONS = {question.name: question for question in QUESTIONS}
_SETTING = ("n", "epsilon", "widening", "change", "seed")
_MEASURED = tuple(field.name for field in fields(Measured) if field.name not in ("setting", "errors"))


def line(outcome: Outcome, seed: int) -> str:
    """`seed` is that of the gauntlet, from which the random mixtures come."""
    setting = outcome.setting
    said = {"gauntlet": seed, "question": setting.question.name, "family": setting.family.name}
    said |= {name: getattr(setting, name) for name in _SETTING}
    measured = [
        {"rmse": each.rmse, "errors": each.errors.tolist()} | {name: getattr(each, name) for name in _MEASURED}
        for each in outcome.measured
    ]
    return json.dumps({**said, "hindsight": outcome.hindsight, "measured": measured}, ensure_ascii=False)


def outcomes(files: Iterable[str]) -> Iterator[Outcome]:
    """Those of several files; the doors of one setting that were measured apart stand together again."""
    found: dict[Setting, Outcome] = {}
    for file in files:
        for each in Path(file).read_text().splitlines():
            outcome = _read(json.loads(each))
            known = found.get(outcome.setting)
            if known is not None:
                more = [each for each in outcome.measured if each.who not in {here.who for here in known.measured}]
                outcome = replace(known, measured=[*known.measured, *more])
            found[outcome.setting] = outcome
    yield from found.values()


def _read(said: dict[str, Any]) -> Outcome:
    family = _family(said["gauntlet"], said["family"])
    setting = Setting(_QUESTIONS[said["question"]], family, **{name: said[name] for name in _SETTING})
    measured = [
        Measured(setting=setting, errors=np.array(each["errors"]), **{name: each[name] for name in _MEASURED})
        for each in said["measured"]
    ]
    return Outcome(setting, measured, said["hindsight"])


@cache
def _family(seed: int, name: str) -> Family:
    """By its name; real columns are there only where their packages are."""
    drawn = {family.name: family for family in families(seed)}
    return drawn.get(name) or next(family for family in real_columns() if family.name == name)
