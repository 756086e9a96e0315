"""Engines of other packages: one file and an entry point make a new Ibis backend a source."""

from __future__ import annotations

import shutil
from pathlib import Path

import ibis
import pyarrow as pa
import pytest

import dither as dp
from dither.errors import ParameterError
from dither.tables.database_engines.duckdb import DuckDB
from dither.tables.database_engines.registry import GROUP, engine_class, engine_names

_ROWS = pa.table({"city": ["Paris"] * 60 + ["Lyon"] * 40, "user": [str(n) for n in range(100)]})


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package with an engine, installed as any other: a module, and the metadata that names it."""
    shutil.copy(Path(__file__).with_name("toy_engine.py"), tmp_path)
    described = tmp_path / "toy_engine-1.0.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-engine\nVersion: 1.0\n")
    points = ["toy = toy_engine:Toy", "duckdb = toy_engine:Toy", "wrong = toy_engine:ToyBackend"]
    (described / "entry_points.txt").write_text("\n".join([f"[{GROUP}]", *points]) + "\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_a_table_of_a_new_backend_is_a_source(installed: Path, tmp_path: Path) -> None:
    toy = engine_class("toy")
    assert toy is not None
    assert engine_names() == ["duckdb", "postgres", "pyspark", "toy", "wrong"]
    file = tmp_path / "toy.duckdb"
    own = ibis.duckdb.connect(file)
    own.create_table("visits", _ROWS)
    own.disconnect()
    backend = toy.at(f"toy://{file}").backend
    assert backend.name == "toy"
    unit, budget = dp.Person("user", 1, 1), dp.PureDP(10**7)
    table = dp.Dataset(backend.table("visits"), unit=unit, budget=budget, ledger=tmp_path / "1.ledger", identity="a")
    by_url = dp.Dataset(
        f"toy://{file}", table="visits", unit=unit, budget=budget, ledger=tmp_path / "2.ledger", identity="b"
    )
    for data in (table, by_url):
        asked = data.group_by("city", keys=["Lyon", "Paris"]).agg(n=dp.count())
        assert asked.release(epsilon=10**5).to_arrow()["n"].to_pylist() == [40, 60]
    by_url.close()
    with pytest.raises(ParameterError, match="Give it one that stays the same"):
        dp.Dataset(f"toy://{file}", table="visits", unit=unit, budget=budget, ledger=tmp_path / "3.ledger")


def test_what_is_built_in_is_not_replaced_and_what_is_no_engine_is_refused(installed: Path) -> None:
    assert engine_class("duckdb") is DuckDB
    assert engine_class("mysql") is None
    with pytest.raises(ParameterError, match="must be one class derived from"):
        engine_class("wrong")
