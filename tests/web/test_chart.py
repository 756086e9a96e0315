"""The chart of an answer: every value is drawn, and an interval without an end has an arrow there."""

from __future__ import annotations

import re
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

from dither.web.chart import chart, spending_chart

_INF = float("inf")


def _drawn(values: list[Any], low: list[Any], high: list[Any]) -> str:
    real = pa.float64()
    columns = {"m": pa.array(values, real), "m_low": pa.array(low, real), "m_high": pa.array(high, real)}
    release: Any = SimpleNamespace(tidy=lambda: pa.table({"city": [f"c{at}" for at in range(len(values))], **columns}))
    return chart(release)


def _places(drawn: str, pattern: str) -> list[float]:
    return [float(each) for each in re.findall(pattern, drawn)]


@pytest.mark.parametrize("missing", [_INF, None])
def test_an_interval_without_an_end_has_an_arrow_there(missing: float | None) -> None:
    negative = None if missing is None else -missing
    drawn = _drawn([1.0, 2.0, 3.0], [0.0, negative, negative], [4.0, 4.0, missing])
    assert "inf" not in drawn
    assert "nan" not in drawn
    assert drawn.count("<polygon") == 3
    assert "an arrow where an interval has no end" in drawn
    assert _places(drawn, r'cx="([^"]+)"') == [362.5, 475.0, 587.5]  # between 250 for 0 and 700 for 4
    assert _places(drawn, r'<line x1="([^"]+)"') == [250.0, 250.0, 250.0]
    assert _places(drawn, r'<line x1="[^"]+" x2="([^"]+)"') == [700.0, 700.0, 700.0]


def test_values_alone_are_drawn_where_no_interval_has_an_end() -> None:
    drawn = _drawn([1.0, 3.0], [-_INF, -_INF], [_INF, _INF])
    assert _places(drawn, r'cx="([^"]+)"') == [250.0, 700.0]
    assert drawn.count("<polygon") == 4


def test_whole_intervals_have_no_arrows_and_refused_answers_are_left_out() -> None:
    drawn = _drawn([1.0, None], [0.0, None], [4.0, None])
    assert "<polygon" not in drawn
    assert "arrow" not in drawn
    assert drawn.count("<circle") == 1
    assert _drawn([None], [None], [None]) == ""


@pytest.mark.parametrize(
    "spent", [["0.5"] * 5, ["0.5", "0.49", "0.001", "0.001", "0.001"], ["1", "0.5"], ["0.2", "0.2", "0.2", "0.19", "0"]]
)
def test_labels_of_equal_spending_stand_apart(spent: list[str]) -> None:
    charges = [
        {"at": f"2026-11-18T21:2{at}:00+00:00", "by": f"anna{at}", "cost": {"epsilon": cost}}
        for at, cost in enumerate(spent)
    ]
    drawn = spending_chart(charges)
    places = _places(drawn, r'<text class="s\d" x="[^"]+" y="([^"]+)"')
    assert len(places) == len(spent)
    assert all(after - before >= 20.9 for before, after in pairwise(places))
    assert places[0] >= 15
    assert places[-1] <= 195


def test_the_group_of_what_is_missing_is_called_as_in_the_table() -> None:
    column = {"m": pa.array([1.0]), "m_low": pa.array([0.0]), "m_high": pa.array([4.0])}
    release: Any = SimpleNamespace(tidy=lambda: pa.table({"city": pa.array([None], pa.string()), **column}))
    assert ">(missing)<" in chart(release)


def test_labels_fit_beside_the_axis_on_a_small_screen() -> None:
    """Where letters are 20 high, and few are wider than 11: what stood left of the picture was cut."""
    release: Any = SimpleNamespace(
        tidy=lambda: pa.table(
            {"city": ["Saint-Quentin-en-Yvelines, spring"], "m": [1.0], "m_low": [0.0], "m_high": [4.0]}
        )
    )
    drawn = chart(release)
    (start, label), *_ = re.findall(r'<text x="(\d+)"[^>]*>([^<]*)<', drawn)
    assert label.startswith("Saint-Quentin")
    assert 11 * len(label) <= int(start) + 5
