"""What stands in columns of texts: the kind of the majority of the first lines, as aggregates would read them."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dither.errors import EngineError
from dither.tables import column_kinds, open_source
from dither.tables.column_kinds import text_kinds
from dither.tables.text_parsing import written_day, written_number

COLUMNS = {
    "number": ["1", "-2.5", "1e3", "", "n/a"],
    "ids": ["0012", "7", "19", "20", "5"],
    "date": ["2024-01-31", "2024-02-01 12:30:00", "", "", "soon"],
    "no_date": ["2024-13-31", "31/01/2024", "2024-01-31", "x", "12:30"],
    "truth": ["true", "FALSE", " True", "", "1"],
    "text": ["Paris", "Lyon", "12", "13", "x"],
    "empty": ["", "", "", "", ""],
}
EXPECTED = {
    "number": "number",
    "ids": "number",
    "date": "date",
    "no_date": "text",
    "truth": "truth",
    "text": "text",
}


def written(folder: Path, columns: dict[str, list[str]], separator: str = ",") -> Path:
    lines = [separator.join(columns), *(separator.join(row) for row in zip(*columns.values(), strict=True))]
    (folder / "rows.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder / "rows.csv"


@pytest.mark.parametrize("separator", [",", ";", "\t"], ids=["comma", "semicolon", "tab"])
def test_the_kinds_of_a_file(separator: str, tmp_path: Path) -> None:
    source = open_source(written(tmp_path, COLUMNS, separator))
    assert text_kinds(source, list(COLUMNS)) == EXPECTED
    assert text_kinds(source, ["truth"]) == {"truth": "truth"}, "only what is asked for"
    assert text_kinds(source, []) == {}


def test_later_lines_are_not_looked_at(tmp_path: Path) -> None:
    source = open_source(written(tmp_path, {"x": ["1"] * 1_000 + ["word"] * 9_000}))
    assert text_kinds(source, ["x"]) == {"x": "number"}


def test_a_typed_table_is_not_looked_into(tmp_path: Path) -> None:
    pa.parquet.write_table(pa.table({"number": [1], "written": ["1"], "yes": [True]}), tmp_path / "rows.parquet")
    source = open_source(tmp_path / "rows.parquet")
    assert text_kinds(source, source.table.columns) == {"written": "text"}


@pytest.mark.parametrize(("kind", "read"), [("number", written_number), ("date", written_day)])
def test_a_value_is_of_a_kind_if_the_engine_reads_it_so(kind: str, read: Callable[[Any], Any], tmp_path: Path) -> None:
    texts = [
        "1",
        " +.5e-3 ",
        "1e999",
        "0x1f",
        "٣",
        "2024-02-29",
        "2023-02-29",
        "0000-01-01",
        "2024-01-01T1",
        "x",
        "- 1",
    ]
    table = open_source(written(tmp_path, {"text": texts})).table
    engine = [value is not None for value in read(table["text"]).to_pyarrow().to_pylist()]
    ours = []
    for text in texts:
        source = open_source(written(tmp_path, {"text": [text]}))
        ours.append(text_kinds(source, ["text"]) == {"text": kind})
    assert ours == engine


_OF = {"1": "number", "-0.5": "number", "2024-01-31": "date", "true": "truth", "word": "text"}


@given(st.lists(st.sampled_from(list(_OF)), min_size=1, max_size=12))
def test_the_majority_is_that_of_an_oracle(values: list[str]) -> None:
    """And with two numbers more than the rest has values, no change of one row turns it."""
    count = Counter(_OF[value] for value in values)
    half = [kind for kind in ("number", "date", "truth") if 2 * count[kind] >= count.total()]
    assert column_kinds._majority(values) == (half or ["text"])[0]
    if count["number"] >= count.total() - count["number"] + 2:
        assert {column_kinds._majority([*values[:at], "word", *values[at + 1 :]]) for at in range(len(values))} == {
            "number"
        }


def test_what_the_engine_says_is_not_told(tmp_path: Path) -> None:
    source = open_source(written(tmp_path, COLUMNS))
    source.engine.backend.disconnect()
    with pytest.raises(EngineError, match="cannot be read") as caught:
        text_kinds(source, ["number"])
    assert caught.value.__cause__ is None
    assert "rows.csv" not in str(caught.value)
