"""Names of records: what is equal is spelt alike, so that no record decides how a common name is shown."""

from datetime import UTC, datetime, time, timedelta, timezone
from enum import StrEnum
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dither as dp
from dither.estimators.labels import label

EAST = timezone(timedelta(hours=1))


class Colour(StrEnum):
    RED = "red"


class Raw(bytes):
    pass


NOON = datetime(2020, 1, 1, 12, tzinfo=UTC)
SPELLINGS: list[tuple[Any, Any]] = [
    (NOON, NOON.astimezone(EAST)),
    (datetime(2020, 1, 1), datetime(2020, 1, 1, fold=1)),
    (datetime(2020, 1, 1), pd.Timestamp("2020-01-01")),
    (time(11, tzinfo=UTC), time(12, tzinfo=EAST)),
    (timedelta(1), pd.Timedelta(days=1)),
    ("red", Colour.RED),
    ("red", np.str_("red")),
    (b"red", Raw(b"red")),
    (1, True),
    (0, -0.0),
]


@pytest.mark.parametrize(("plain", "other"), SPELLINGS, ids=repr)
def test_equal_names_are_spelt_alike(plain: Any, other: Any) -> None:
    assert plain == other
    assert type(label(plain)) is type(label(other))
    assert repr(label(plain)) == repr(label(other))
    shown = dp.stats.histogram([other, *[plain] * 500], epsilon=1, delta="1e-9").value
    assert repr(list(shown)) == repr([label(plain)])


@pytest.mark.parametrize(
    "odd",
    [None, pd.NaT, pd.NA, float("nan"), 10**5000, datetime.min.replace(tzinfo=EAST), [1]],
    ids=["null", "nat", "na", "nan", "huge", "before UTC", "list"],
)
def test_an_entry_without_a_name_is_no_error(odd: Any) -> None:
    assert label(odd) is None
    assert list(dp.stats.histogram([odd, *["a"] * 500], epsilon=1, delta="1e-9").value) == ["a"]
