"""Everything public that touches data is replayed: what is new must join."""

from __future__ import annotations

import inspect

import dither as dp
from dither.audit.rerun.rules import RULES
from dither.engine.query import Query
from dither.engine.shortcuts import Shortcuts
from dither.mechanisms import Mechanism
from tests.replay import engine_cases, mechanism_cases, stats_cases

COVERED = frozenset[str]().union(
    *(case.covers for case in mechanism_cases.CASES),
    *(case.covers for case in stats_cases.CASES),
    *(case.covers for case in engine_cases.CASES),
    *(case.covers for case in engine_cases.APART),
)
TOUCH_NO_DATA = {"Dataset", "check_certificate"}
"""Of the engine: what holds questions, and what reads certificates."""


def public_methods(owner: type) -> set[str]:
    return {name for name, value in vars(owner).items() if inspect.isfunction(value) and not name.startswith("_")}


def wanted() -> set[str]:
    """Mechanisms, oracles, workloads, estimators, aggregates and verbs, as they stand in the public face."""
    found = {name for name in dp.__all__ if _is_mechanism(name)} | {"Oracle", "ReusableHoldout", "Workload"}
    found |= {f"stats.{name}" for name in dp.stats.__all__}
    found |= {name for name, home in dp._HOMES.items() if home == "engine"} - TOUCH_NO_DATA
    found |= {f"Query.{name}" for name in public_methods(Query)}
    return found | {f"Shortcuts.{name}" for name in public_methods(Shortcuts)}


def _is_mechanism(name: str) -> bool:
    value = getattr(dp, name)
    return isinstance(value, type) and issubclass(value, Mechanism)


def test_everything_that_touches_data_is_replayed() -> None:
    assert wanted() - COVERED == set(), "give it a case in tests/replay"


def test_a_new_name_would_be_missed() -> None:
    assert {"Laplace", "stats.median", "Query.where", "top", "Shortcuts.sum"} <= wanted()


def test_every_kind_of_call_has_a_rule_that_some_case_uses() -> None:
    assert set(RULES) == {
        "added", "comparison", "discovered", "groups", "keys", "metric", "point", "response", "salt", "selection",
        "smooth", "test", "tested", "threshold", "told",
    }  # fmt: skip
