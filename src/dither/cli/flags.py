"""What the flags of `plan` and `release` mean: the same description that a file gives."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from dither.cli.aggregates import aggregate, assigned, bounds, group
from dither.cli.conditions import condition
from dither.cli.description import Asked, Description, column_names
from dither.cli.group_key_texts import keys
from dither.cli.public_file import PublicFile
from dither.cli.toml_file import CHANGES, budget_of, read
from dither.engine.aggregate import Aggregate
from dither.errors import ParameterError
from dither.tables.lattice import checked_bounds
from dither.unit import Person, Rows, TableUnit

__all__ = ["described"]

_COST = ("epsilon", "delta", "rho")
_PRICE = (*_COST, "noise", "level", "population", "left_out")
_NOT_OF_THE_QUESTION = (
    "source",
    "json",
    "form",
    "key",
    "out",
    "certificate",
    "report",
    "plot",
    "question",
    "questions",
    "text",
    "plan",
    "share",
)
"""Flags that go with a description in a file as well; the others say what the file says."""

_Value = TypeVar("_Value")


def described(flags: Mapping[str, Any], *, asks: bool = True) -> Description:
    """The description in the file that is named, or in the flags; without a question where none is asked."""
    given = {name: value for name, value in flags.items() if not (value is None or value is False or value in ((), []))}
    in_sql = {"sql": _in_sql(given)} if "text" in given else None
    if Path(flags["source"]).suffix.lower() == ".toml":
        found = read(Path(flags["source"]))
        return _with_price(found if in_sql is None else replace(found, questions=in_sql), given) if asks else found
    return Description(
        source=flags["source"],
        unit=_unit(given),
        questions=in_sql or ({"question": _asked(given)} if asks else {}),
        budget=budget_of(*(given.get(f"budget_{name}") for name in _COST)),
        failures_allowed=given.get("failures_allowed"),
        ledger=given.get("ledger"),
        table=given.get("table"),
        identity=given.get("identity"),
        kinds=dict.fromkeys(given.get("number", ()), "number"),
        looks_for_kinds=True,
        columns={} if in_sql is None else _domains(given),
    )


def _with_price(description: Description, given: Mapping[str, Any]) -> Description:
    """The file's questions, with the price that the flags say."""
    for name in given:
        if name not in (*_PRICE, *_NOT_OF_THE_QUESTION):
            raise ParameterError(
                f"--{name.replace('_', '-')} does not go with a description: its questions say all but the price. "
                f"Write {name} = ... into one of them, or into one of its own, [questions.my_question]; or leave the "
                "description out, and ask of the data with flags alone."
            )
    if not description.questions:
        raise ParameterError("the description asks no question. Add one: [questions.visits] with agg and epsilon.")
    new = {name: value for name, value in given.items() if name in _PRICE}
    costs_anew = any(name in new for name in _COST)

    def priced(asked: Asked) -> Asked:
        old = {name: value for name, value in asked.price.items() if not (costs_anew and name in _COST)}
        return replace(asked, price={**old, **new}, key=given.get("key", asked.key))

    return replace(description, questions={name: priced(asked) for name, asked in description.questions.items()})


def _unit(given: Mapping[str, Any]) -> TableUnit:
    person, rows = given.get("person"), given.get("rows")
    if (person is None) == (rows is None):
        raise ParameterError(
            "state the privacy unit: --person and the column that identifies a person, or --rows add-remove if "
            "each row is another person."
        )
    limits = {name: given[name] for name in ("max_groups", "max_rows_per_group") if name in given}
    if person is not None:
        return Person(person, **limits)
    if limits:
        raise ParameterError("--max-groups and --max-rows-per-group go with --person: a row is one row in one group.")
    if rows not in CHANGES:
        raise ParameterError(f"--rows must be one of {', '.join(CHANGES)}.")
    return Rows(CHANGES[rows])


def _in_sql(given: Mapping[str, Any]) -> Asked:
    price = {name: given[name] for name in _PRICE if name in given}
    return Asked(
        {}, joins=_joins(given.get("join", ())), price=price | _weights(given), key=given.get("key"), sql=given["text"]
    )


def _domains(given: Mapping[str, Any]) -> dict[str, Any]:
    """What `--bounds` and `--keys` say of columns, for SQL."""
    known: dict[str, Any] = dict(_bounds(given))
    for text in given.get("keys", ()):
        name, is_named, rest = text.partition("=")
        if not is_named:
            raise ParameterError(f"keys are those of a column: --keys city=Paris,Lyon; got {text!r}.")
        if name.strip() in known:
            raise ParameterError(f"--keys and --bounds say {name.strip()!r} twice. A column has a range or keys.")
        known[name.strip()] = keys(rest)
    return known


def _bounds(given: Mapping[str, Any]) -> dict[str, Any]:
    read_all = _assigned("bounds", given, bounds, example="'cost=0,200'")
    return {name: checked_bounds(both) for name, both in read_all.items()}


def _weights(given: Mapping[str, Any]) -> dict[str, Any]:
    weights = _assigned("weight", given, str, example="visits=2")
    return {"weights": weights} if weights else {}


def _asked(given: Mapping[str, Any]) -> Asked:
    if "agg" not in given:
        raise ParameterError("say what to ask: --agg visits=count, or --agg 'spend=mean(cost, 0, 200)'.")
    known = _bounds(given)
    groups = tuple(group(each) for each in given.get("group_by", ()))
    joins = _joins(given.get("join", ()))
    columns = _assigned("column", given, condition, example="'total=price * quantity'")

    def of_rows() -> list[str]:
        own = column_names(given["source"], given.get("table"), given.get("identity"))
        return [*own, *columns, *(name for file in joins.values() for name in file.table.schema.names)]

    def aggregates(flag: str, existing: Callable[[], list[str]]) -> dict[str, Aggregate]:
        return _assigned(flag, given, lambda text: aggregate(text, known, existing), example="visits=count")

    per_person = aggregates("per_person", of_rows)
    return Asked(
        aggregates=aggregates("agg", (lambda: [given["person"], *per_person]) if per_person else of_rows),
        joins=joins,
        columns=columns,
        where=tuple(condition(each) for each in given.get("where", ())),
        per_person=per_person,
        group_by=groups,
        keys=_keys([each for each in groups if isinstance(each, str)], given.get("keys", ())),
        price={name: given[name] for name in _PRICE if name in given} | _weights(given),
        key=given.get("key"),
    )


def _assigned(
    flag: str, given: Mapping[str, Any], read_one: Callable[[str], _Value], *, example: str
) -> dict[str, _Value]:
    """`name=value` of a flag that may be repeated, by name."""
    found: dict[str, _Value] = {}
    shown = f"--{flag.replace('_', '-')}"
    for text in given.get(flag, ()):
        name, rest = assigned(text, f"{shown} {example}")
        if name in found:
            raise ParameterError(f"{shown} says {name!r} twice. Rename one, or leave it out.")
        found[name] = read_one(rest)
    return found


def _joins(texts: Sequence[str]) -> dict[str, PublicFile]:
    """`column=file`, by column."""
    found: dict[str, PublicFile] = {}
    for text in texts:
        name, is_said, place = (each.strip() for each in text.partition("="))
        if not (name and is_said and place):
            raise ParameterError(f"expected a column, '=' and a file, such as --join city=cities.csv; got {text!r}.")
        if name in found:
            raise ParameterError(f"--join says {name!r} twice. Put the columns into one file.")
        found[name] = PublicFile.at(place)
    return found


def _keys(columns: Sequence[str], texts: Sequence[str]) -> Any:
    """One list for one column; else one for each, `column=key,key`."""
    if not texts:
        return None
    if not columns:
        raise ParameterError("--keys are the keys of groups. Give --group-by too, or use --where.")
    found: dict[str, list[Any]] = {}
    for text in texts:
        name, is_named, rest = text.partition("=")
        if is_named and name.strip() in columns:
            found.setdefault(name.strip(), []).extend(keys(rest))
        elif len(columns) == 1:
            found.setdefault(columns[0], []).extend(keys(text))
        else:
            raise ParameterError(
                f"several columns need their keys each: --keys {columns[0]}=... --keys {columns[1]}=..."
            )
    return found
