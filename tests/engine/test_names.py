"""Names that a library or an engine takes for something else: answered as any other name, or refused for nothing."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import dither as dp
from dither.errors import ParameterError

_UNIT = dp.Person("who", max_groups=1, max_rows_per_group=1)
_PEOPLE = list(range(400))


def _opened(table: Any = None, unit: dp.Person = _UNIT, **said: Any) -> dp.Dataset:
    of: dict[str, Any] = {"source": table, **said} if table is not None else said
    return dp.Dataset(**of, unit=unit, budget=dp.ApproxDP(10**12, "1e-3"), ledger=":memory:", identity="people")


@pytest.mark.parametrize("name", [".", ".x", "[0]", "[1]", "x[0]", "a.b"])
def test_found_groups_may_be_called_like_paths_of_arrow(name: str) -> None:
    """Arrow reads them as paths: the question was charged and failed, or its groups stood in another order. 200 people
    in each group, and a price at which fewer than 150 are found once in 10^100 questions."""
    people = pa.table({"who": _PEOPLE, name: ["b", "a"] * 200, "number": [2, 1] * 200})
    with _opened(people) as data:
        answer = data.group_by(name, "number").agg(n=dp.count()).release(epsilon=10, delta="1e-6").value
        assert answer.select([name, "number"]).to_pylist() == [{name: "a", "number": 1}, {name: "b", "number": 2}]
        assert data.failures.failed == 0


@pytest.mark.parametrize("name", [".", ".x", "[0]", "[5]"])
def test_public_keys_may_be_called_like_paths_of_arrow(name: str) -> None:
    keys = [("a", 1), ("a", 2), ("b", 1)]
    with _opened(pa.table({"who": _PEOPLE, name: ["a", "b"] * 200, "number": [1, 2] * 200})) as data:
        answer = data.group_by(name, "number", keys=keys).agg(n=dp.count()).release(epsilon=10).value
        assert list(zip(*answer.select([name, "number"]).to_pydict().values(), strict=True)) == keys
        public = pa.table({name: ["a", "b"], "extra": [1, 2]})
        assert "extra" in data.join(public, on=name).columns
        with pytest.raises(ParameterError, match="different from each other"):
            data.group_by(name, "number", keys=[*keys, ("a", 1)])


def test_columns_may_be_called_like_parameters_of_python() -> None:
    with _opened(pa.table({"who": _PEOPLE, "self": [1] * 400, "by": [1.0] * 400})) as data:
        each = data.with_columns(having=dp.col("self") * 2).per_person(
            self=dp.sum("having", (0, 10)), by=dp.max("by", (0, 10)), metrics=dp.count()
        )
        answer = each.agg(self=dp.sum("self", (0, 10)), by=dp.sum("by", (0, 10))).release(epsilon=10**9).value
        assert answer.select(["self", "by"]).to_pylist() == [{"self": 800.0, "by": 400.0}]
        counted = data.sql("SELECT self, COUNT(*) AS by FROM data GROUP BY self").release(epsilon=1, delta="1e-6")
        assert counted.value.column_names[:2] == ["self", "by"]


@pytest.mark.parametrize("name", ["", "wh\0o", "DITHER_RANK", "D\u0130THER_RANK", "d\u0131ther rank"])
def test_names_that_engines_cut_off_or_take_for_ours_are_refused(name: str) -> None:
    with pytest.raises(ParameterError, match=r"Rename it|hold no NUL"):
        _opened(pa.table({"who": _PEOPLE, name: _PEOPLE}))
    with _opened(pa.table({"who": _PEOPLE, "x": _PEOPLE})) as data:
        for refused in (
            lambda: data.with_columns(**{name: dp.col("x")}),
            lambda: data.agg(**{name: dp.count()}),
            lambda: data.per_person(**{name: dp.count()}),
            lambda: data.join(pa.table({"x": [1], name: [2]}), on="x"),
            lambda: data.join(pa.table({name: [1], "y": [2]}), on={"x": name}),
            lambda: data.group_by(dp.bins("x", [0, 10, 500], name=name or "\0")),
            lambda: data.grouping_sets(["x"], [], level=name),
        ):
            with pytest.raises(ParameterError, match=r"Rename it|hold no NUL"):
                refused()


@pytest.mark.parametrize("name", ["WHO", "Who"])
def test_letters_of_another_case_are_one_name(name: str) -> None:
    with pytest.raises(ParameterError, match="upper and lower case"):
        _opened(pa.table({"who": _PEOPLE, name: _PEOPLE}))


@pytest.mark.parametrize("name", ["\u0131d", "\u0130d", "ID"])
def test_i_with_and_without_its_dot_are_one_letter(name: str) -> None:
    """As Java has it, which Spark runs on: Unicode's case folding keeps them apart."""
    with pytest.raises(ParameterError, match="upper and lower case"):
        _opened(pa.table({"id": _PEOPLE, name: _PEOPLE}), dp.Person("id"))


def test_two_columns_of_joined_rows_have_two_names() -> None:
    visits = {"who": [1, 2], "age": [3, 4]}
    people = {"who": [1, 2], "age": [30, 40]}
    for first, second in (
        (visits | {"people.age": [5, 6]}, people),
        (visits, people | {"people.age": [5, 6]}),
    ):
        tables = {"visits": pa.table(first), "people": pa.table(second)}
        with _opened(tables=tables) as data, pytest.raises(ParameterError, match=r"would be called 'people\.age'"):
            data.table("visits").join(data.table("people"), on="who")


@pytest.mark.parametrize("names", [("visits", "Visits"), ("visits", "Data")])
def test_tables_that_sql_takes_for_one_are_refused(names: tuple[str, str]) -> None:
    made = pa.table({"who": [1, 2]})
    first, second = names
    with pytest.raises(ParameterError, match="Choose another"):
        _opened(tables={first: made, second: made})
    with pytest.raises(ParameterError, match="Choose another"):
        _opened(tables={first: made}, public={second: pa.table({"x": [1]})})


def test_a_column_that_suggest_could_take_for_its_own_is_refused_before_it_pays() -> None:
    name = "Groups of a Person"
    with _opened(pa.table({name: _PEOPLE, "x": [1.0] * 400}), dp.Person(name)) as data:
        with pytest.raises(ParameterError, match="upper and lower case"):
            data.suggest(data.agg(n=dp.count()), epsilon=1)
        assert data.spent["epsilon"] == 0
