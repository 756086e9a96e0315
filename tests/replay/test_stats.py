"""Every estimator of dp.stats, replayed on generated neighbours."""

from __future__ import annotations

from typing import Any

import pytest

from tests.replay.case import Case, on_pairs
from tests.replay.stats_cases import CASES, NEIGHBOURS


@pytest.mark.parametrize("case", CASES, ids=str)
@on_pairs(NEIGHBOURS)
def test_neighbours_differ_by_what_was_paid_for(case: Case, drawn: bytes, record_property: Any) -> None:
    record_property("replayed pairs", case.check(drawn))
