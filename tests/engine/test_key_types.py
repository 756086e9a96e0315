"""Public keys of every type of Arrow: answered as what they say, or refused by name before anything is charged."""

from __future__ import annotations

import random
import uuid
from collections.abc import Callable, Iterator
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dither as dp
from dither.engine.groups import Groups, public_keys
from dither.errors import ParameterError
from tests.tables.hostile.arrow_types import arrow_types, column

_DAY = date(2024, 2, 29)
_ROWS = pa.table(
    {
        "whole": pa.array([1, 1, 2, None]),
        "text": pa.array(["1", "a", "a", None]),
        "truth": pa.array([True, True, False, None]),
        "date": pa.array([_DAY, _DAY, date(1999, 12, 31), None]),
        "bytes": pa.array([b"a", b"a", b"\xff", None]),
        "real": pa.array([1.0, 1.0, 2.0, None]),
    }
)
_KINDS = ("whole", "text", "truth", "date", "bytes", "real")
_ANSWERED: dict[str, tuple[str, Any, list[int]]] = {
    **{f"{of}": ("whole", pa.array([1, 7], of), [2, 0]) for of in (pa.int8(), pa.uint8(), pa.int32(), pa.uint64())},
    **{
        f"{of}": ("text", pa.array(["a", "b", None], of), [2, 0, 1])
        for of in (pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int8(), pa.large_string()))
    },
    "dictionary of whole numbers": ("whole", pa.array([1, 3], pa.dictionary(pa.int8(), pa.int16())), [2, 0]),
    "truth values": ("truth", pa.array([True, False]), [2, 1]),
    "date32": ("date", pa.array([_DAY, None]), [2, 1]),
    "date64": ("date", pa.array([_DAY], pa.date64()), [2]),
    "None of whole numbers": ("whole", [None], [1]),
    "None of texts": ("text", [None], [1]),
    "None of truth values": ("truth", [None], [1]),
    "None of days": ("date", pa.nulls(1), [1]),
    "digits of bytes": ("bytes", ["61", "FF"], [2, 1]),
    "a series of Polars": ("text", pl.Series(["a", None]), [2, 1]),
    "days of Polars": ("date", pl.Series([_DAY]), [2]),
    "categories of Polars": ("text", pl.Series(["a"], dtype=pl.Categorical), [2]),
    "a series of pandas": ("text", pd.Series(["a", None]), [2, 1]),
    "a series of pandas on Arrow": ("text", pd.Series(["a"], dtype="string[pyarrow]"), [2]),
    "categories of pandas": ("text", pd.Series(["a"], dtype="category"), [2]),
    "an array of NumPy": ("whole", np.array([1, 2], dtype=np.uint8), [2, 1]),
    "the ends of days": ("date", [date.min, date.max, _DAY], [0, 0, 2]),
    "the longest text": ("text", ["x" * 16_384, "a"], [0, 2]),
}
_STORED = {pa.uuid(): b"\0" * 16, pa.json_(): '"a"', pa.bool8(): 1, pa.opaque(pa.int32(), "a", "b"): 1}
_REFUSED: dict[str, Any] = {
    **{
        str(of): pa.ExtensionArray.from_storage(of, pa.array([value], of.storage_type)) for of, value in _STORED.items()
    },
    **{str(of): pa.array([b"a"], of) for of in (pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(1))},
    "dictionary of bytes": pa.array([b"a"], pa.dictionary(pa.int8(), pa.binary())),
    "UUIDs of Python": [uuid.UUID(int=7)],
    "bytes of Python": [b"a"],
    "decimals of Python": [Decimal(1)],
    "run ends": pc.run_end_encode(pa.array([1, 1, 2])),
    "lists": pa.array([["a"]]),
    "list views": pa.array([["a"]], pa.list_view(pa.string())),
    "structs": pa.array([{"a": 1}]),
    "durations": pa.array([1], pa.duration("us")),
    "times of day": pa.array([1], pa.time64("us")),
    "times": pa.array([datetime(2024, 2, 29)]),
    "times of Python": [datetime(2024, 2, 29)],
    "days with a time": pa.array([1]).view(pa.date64()),
    "days beyond 9999": pa.array([2_932_897], pa.int32()).view(pa.date32()),
    "days before 1": pa.array([-719_163], pa.int32()).view(pa.date32()),
    "whole numbers of 65 bits": pa.array([2**63], pa.uint64()),
    "texts that are not UTF-8": pa.array([b"\xff"]).view(pa.string()),
    "texts that are too long": ["x" * 16_385],
    "halves": pa.array([np.float16(1)]),
    "real numbers": [1.0],
    "complex numbers": [1j],
    "objects": [object()],
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dp.Dataset]:
    ledger = tmp_path_factory.mktemp("keys") / "rows.ledger"
    with dp.Dataset(_ROWS, unit=dp.Rows(), budget=dp.PureDP(10**15), ledger=ledger, identity="rows") as opened:
        yield opened


def _counted(data: dp.Dataset, name: str, keys: Any) -> pa.Table:
    return data.group_by(name, keys=keys).agg(n=dp.count()).release(epsilon=10**6).to_arrow()


_FORMS: dict[str, Callable[[str, Any], Any]] = {
    "alone": lambda name, keys: keys,
    "by name": lambda name, keys: {name: keys},
    "in a table": lambda name, keys: pa.table({name: keys}),
}


@pytest.mark.parametrize("form", _FORMS)
@pytest.mark.parametrize("case", _ANSWERED)
def test_e63_keys_are_answered_as_what_they_say(case: str, form: str, data: dp.Dataset) -> None:
    name, keys, counts = _ANSWERED[case]
    if form == "in a table" and not isinstance(keys, pa.Array | list):
        pytest.skip("a table of Arrow has columns of Arrow")
    answer = _counted(data, name, _FORMS[form](name, keys))
    assert answer["n"].to_pylist() == counts
    assert answer.schema.field(name).type in (pa.int64(), pa.string(), pa.bool_(), pa.date32())


@pytest.mark.parametrize("form", _FORMS)
@pytest.mark.parametrize("case", _REFUSED)
def test_e63_keys_that_no_column_can_have_are_refused_free_of_charge(case: str, form: str, data: dp.Dataset) -> None:
    keys = _REFUSED[case]
    if form == "in a table" and not isinstance(keys, pa.Array):
        pytest.skip("Arrow makes no column of them")
    before = data.spent
    for name in _KINDS:
        with pytest.raises(ParameterError, match=r"keys|texts?\b|holds real numbers"):
            _counted(data, name, _FORMS[form](name, keys))
    assert data.spent == before


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(choice=st.data())
def test_e63_keys_of_any_type_and_value_are_answered_or_refused(choice: st.DataObject, data: dp.Dataset) -> None:
    """No raw error, and no question that is charged and cannot be answered."""
    typed = choice.draw(st.sampled_from(arrow_types(random.Random(0))))
    values = [*typed.ordinary, *typed.hostile.values()]
    chosen = choice.draw(st.lists(st.sampled_from(range(len(values))), min_size=1, max_size=4, unique=True))
    name = choice.draw(st.sampled_from(_KINDS))
    keys = column(typed, [values[at] for at in chosen])
    before = data.spent["epsilon"]
    try:
        answer = _counted(data, name, keys)
    except ParameterError:
        assert data.spent["epsilon"] == before
        return
    if name == "bytes":
        held = [None if value is None else value.hex().upper() for value in _ROWS["bytes"].to_pylist()]
    else:
        held = _ROWS[name].to_pylist()
    assert answer["n"].to_pylist() == [held.count(key) for key in answer[name].to_pylist()]


def test_e63_a_look_up_that_cannot_be_done_is_refused_free_of_charge(
    data: dp.Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rehearsal reads an answer without rows as the answer will be read."""
    before = data.spent

    def places(self: Groups, batch: pa.RecordBatch) -> Any:
        raise pa.ArrowNotImplementedError("a kernel that is not there")

    monkeypatch.setattr(Groups, "places", places)
    for aggregate in (dp.count(), dp.median("real", bounds=(0, 1)), dp.count_distinct("text")):
        question = data.group_by("whole", keys=[1]).agg(v=aggregate)
        with pytest.raises(ParameterError, match="could not be read, not even if there were no rows"):
            question.release(epsilon=1)
    assert data.spent == before


def test_keys_of_none_without_a_column_are_texts() -> None:
    assert public_keys(["a"], [None]).schema == pa.schema({"a": pa.string()})


def test_e63_a_frame_opens_with_columns_of_every_type(tmp_path: Path) -> None:
    """Columns of types that have no total expression stay outside, and are refused where they are mentioned."""
    odd = {f"c{at}": keys for at, keys in enumerate(_REFUSED.values()) if isinstance(keys, pa.Array) and len(keys) == 1}
    del odd[next(name for name, keys in odd.items() if keys.type == pa.string())]  # a text that is not UTF-8
    rows = pa.table({"x": pa.array([1]), **odd})
    with dp.Dataset(rows, unit=dp.Rows(), budget=dp.PureDP(10**9), ledger=tmp_path / "l", identity="rows") as data:
        assert data.group_by("x", keys=[1]).agg(n=dp.count()).release(epsilon=10**6).to_arrow()["n"].to_pylist() == [1]
        outside = [name for name, keys in odd.items() if isinstance(keys.type, pa.BaseExtensionType)]
        assert len(outside) == 4
        for name in outside:
            with pytest.raises(ParameterError, match=f"column '{name}' has the type extension"):
                data.where(dp.col(name).is_null())


def test_e63_a_public_table_of_odd_types_is_refused_by_name(data: dp.Dataset) -> None:
    odd = _REFUSED[str(pa.uuid())]
    with pytest.raises(ParameterError, match=r"column 'u' has the type extension<arrow\.uuid>"):
        data.join(pa.table({"whole": [1], "u": odd}), on="whole")
