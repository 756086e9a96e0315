"""Every mechanism, replayed on generated neighbours."""

from __future__ import annotations

from typing import Any

import pytest

from tests.replay.case import Case
from tests.replay.mechanism_cases import CASES


@pytest.mark.parametrize("case", CASES, ids=str)
def test_neighbours_differ_by_what_was_paid_for(case: Case, record_property: Any) -> None:
    record_property("replayed pairs", case.replay_all())
