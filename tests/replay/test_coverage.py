"""Everything public that touches data is replayed: what is new must join."""

from __future__ import annotations

import re
from types import FunctionType
from typing import Any

import pytest

import dither as dp
from dither import mechanisms
from dither.audit.replay.allowed_differences import RULES
from dither.engine.query import Query
from dither.engine.shortcuts import Shortcuts
from dither.mechanisms import Mechanism
from dither.tables import Expression
from dither.tables.row_functions import RowFunctions
from tests.replay import engine_cases, mechanism_cases, stats_cases, stream_cases
from tests.replay.trace import deeds

COVERED = frozenset[str]().union(
    *(case.covers for case in mechanism_cases.CASES),
    *(case.covers for case in stats_cases.CASES),
    *(case.covers for case in engine_cases.CASES),
    *(case.covers for case in engine_cases.APART),
    *(case.covers for case in stream_cases.CASES),
)
TOUCH_NO_DATA = {
    "Dataset", "check_certificate",  # what holds questions, and what reads certificates
    "Dataset.budget", "Dataset.changed", "Dataset.close", "Dataset.failures", "Dataset.per_period", "Dataset.remaining",
    "Dataset.spent",
    "Query.columns", "Query.public_keys", "Query.words",
}  # fmt: skip
SAID = {"Candidate", "Check", "OracleAnswer", "Promise"}
"""Of `dp.adaptive`: what oracles say."""


REFUSES = {"__bool__"}
"""Of expressions: what is refused whatever the data, and makes no expression. All other operators are new questions."""


def public(owner: type) -> set[str]:
    """Methods and properties, by the names that cases declare; of expressions the operators as well."""
    kinds = (FunctionType, classmethod, staticmethod, property)
    owned = {**vars(RowFunctions), **vars(owner)} if owner is Expression else vars(owner)
    names = {name for name, value in owned.items() if isinstance(value, kinds)}
    is_operator = re.compile("__[a-z]+__").fullmatch
    operators = {name for name in names if is_operator(name)} - REFUSES if owner is Expression else set()
    return {f"{owner.__name__}.{name}" for name in names if not name.startswith("_") or name in operators}


def wanted() -> set[str]:
    """Mechanisms, oracles, workloads, estimators, aggregates, verbs and operators, as they stand in the public face."""
    named = {name: getattr(dp, name) for name in dp.__all__} | {
        name: getattr(mechanisms, name) for name in mechanisms.__all__
    }
    acting = {name: value for name, value in named.items() if _is_mechanism(value)}
    acting |= {name: getattr(dp.adaptive, name) for name in set(dp.adaptive.__all__) - SAID}
    found = {"Workload", *acting} | {
        f"{name}.{deed}" for name, kind in acting.items() for deed in deeds(kind) - {"release"}
    }
    found |= {f"stats.{name}" for name in dp.stats.__all__}
    found |= {name for name, home in dp._HOMES.items() if home == "engine"}
    for owner in (Query, dp.Dataset, Shortcuts, Expression):
        found |= public(owner)
    return found - TOUCH_NO_DATA


def _is_mechanism(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, Mechanism) and value is not Mechanism


def test_everything_that_touches_data_is_replayed() -> None:
    assert wanted() - COVERED == set(), "give it a case in tests/replay"


def test_a_new_name_would_be_missed() -> None:
    assert {"Laplace", "stats.median", "Query.where", "top", "Shortcuts.sum"} <= wanted()
    assert {"Oracle.ask_all", "Exponential.release_interval", "Expression.floor", "Expression.hour"} <= wanted()


@pytest.mark.parametrize("name", ["__mod__", "__rpow__", "__contains__", "__getitem__", "__call__", "cbrt"])
def test_a_new_operator_would_be_missed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    before = wanted()
    assert "Expression.__eq__" in before
    monkeypatch.setattr(Expression, name, lambda self, other: self, raising=False)
    assert wanted() - before - COVERED == {f"Expression.{name}"}


def test_every_kind_of_call_has_a_rule_that_some_case_uses() -> None:
    assert set(RULES) == {
        "added", "comparison", "discovered", "groups", "keys", "metric", "place", "point", "response", "salt",
        "selection", "smooth", "table", "test", "tested", "threshold", "told", "vector",
    }  # fmt: skip
