"""`dither.toml`: a dataset, whom it protects, its budget and its questions, read from text.

    [dataset]                                 [budget]
    source = "visits.csv"                     epsilon = 2
    # table, identity                         delta = 1e-6          # or rho alone
                                              ledger = "visits.ledger"
    [unit]
    person = "user_id"                        [questions.by_city]
    max_groups = 3                            where = "age >= 18"
    # max_rows_per_group, or rows = "replace" group_by = "city"
                                              keys = ["Paris", "Lyon"]
    [bounds]                                  agg = { visits = "count", spend = "mean(cost)" }
    cost = [0, 200]                           epsilon = 0.5

    [columns]  # number, date, truth or text, where the type is text, as in a CSV file
    cost = "number"                           [questions.in_sql]
    city = ["Paris", "Lyon"]  # a key set     sql = "SELECT city, AVG(cost) FROM visits GROUP BY city"
    age = [0, 120]            # a range       epsilon = 0.5
    days = { kind = "number", bounds = [0, 7] }

    [streams.daily]                           # period by period, for one price: `dither stream`
    over = "day"                              show = ["total", "last", 7, "month"]
    start = 2026-01-01                        state = "daily.stream"       # unless given
    periods = 365                             key_file = "daily.key"       # unless given
    max_periods = 10                          agg = { visits = "count" }   # group_by, keys, where, join, columns
    # every = "week", min_separation = 7      epsilon = 1                  # delta, rho, level, weights

Paths are those seen from the folder of the file. Numbers are exact decimals.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, TypeVar

from dither.cli.aggregates import Bounds, aggregate, group
from dither.cli.conditions import condition
from dither.cli.description import Asked, AskedStream, Description, column_names
from dither.cli.group_key_texts import keys_of_others
from dither.cli.public_file import PublicFile
from dither.cli.toml_lines import Section, document
from dither.errors import ParameterError
from dither.guarantees import ZCDP, ApproxDP, PureDP
from dither.ledger import PerPeriod
from dither.ledger.budget import Budget
from dither.ledger.failures import check_allowance
from dither.tables.column_kinds import KINDS
from dither.tables.lattice import checked_bounds
from dither.unit import Person, Rows, TableUnit

__all__ = ["CHANGES", "asked_by_others", "budget_of", "read", "server_section"]

CHANGES = {"add-remove": "add or remove", "replace": "replace"}
"""What may happen to a row, as it is written here and as `dp.Rows` calls it."""

_Value = TypeVar("_Value")
_PRICE = {
    "epsilon": Decimal,
    "delta": Decimal,
    "rho": Decimal,
    "noise": str,
    "level": Decimal,
    "population": bool,
    "left_out": bool,
    "weights": dict,
}
_PRICE_OF_STREAMS = ("epsilon", "delta", "rho", "level", "weights")
_OF_STREAMS = ("over", "start", "periods", "every", "max_periods", "min_separation", "show", "state", "key_file")


def read(file: Path) -> Description:
    """The description in a file; what is wrong in it is reported with its line."""
    return described(_text(file), file.parent)


def server_section(file: Path) -> Section:
    """What a description says of the service."""
    return document(_text(file)).section("server")


def _text(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8-sig")
    except OSError:
        raise ParameterError(f"the description {str(file)!r} cannot be read. Check the path.") from None
    except UnicodeDecodeError:
        raise ParameterError(f"the description {str(file)!r} is not text in UTF-8. Save it as UTF-8.") from None


def described(text: str, folder: Path) -> Description:
    """The description in a text, with paths as seen from `folder`."""
    whole = document(text)
    whole.only(("dataset", "columns", "unit", "bounds", "budget", "questions", "streams", "server"))
    dataset, budget = whole.section("dataset"), whole.section("budget")
    dataset.only(("source", "table", "identity"))
    budget.only(("epsilon", "delta", "rho", "every", "start", "periods", "failures_allowed", "ledger"))
    kinds, domains = _columns(whole.section("columns"))
    known = _bounds(whole.section("bounds"))
    for name in known.keys() & domains.keys():
        whole.section("bounds").refuse(name, f"{name!r} has a domain in [columns] already. State it in one place.")
    domains = {**known, **domains}
    known = {name: both for name, both in domains.items() if isinstance(both, tuple) and not isinstance(both[0], date)}
    ledger = budget.get("ledger", str)
    source = _seen_from(folder, dataset.need("source", str))

    def columns() -> list[str]:
        return column_names(source, dataset.get("table", str), dataset.get("identity", str))

    return Description(
        source=source,
        unit=_unit(whole.section("unit")),
        questions={
            name: _asked(section, known, folder, columns)
            for name, section in whole.section("questions").sections().items()
        },
        budget=_budget(budget),
        failures_allowed=_allowance(budget),
        ledger=None if ledger is None else _seen_from(folder, ledger),
        table=dataset.get("table", str),
        identity=dataset.get("identity", str),
        kinds=kinds,
        columns=domains,
        streams={
            name: _stream(name, section, known, folder, columns)
            for name, section in whole.section("streams").sections().items()
        },
    )


def asked_by_others(values: Mapping[str, Any], description: Description, kinds: Mapping[str, str]) -> Asked:
    """A question that somebody else sent, read as those of a description are. It cannot name files.

    `kinds` are those of the columns. JSON has no days, and forms have texts alone: keys are read by their kinds.
    """
    if "join" in values:
        raise ParameterError("join names a file, and a question from elsewhere names none. Leave it out.")
    known = {name: both for name, both in description.columns.items() if isinstance(both, tuple)}
    known = {name: both for name, both in known.items() if not isinstance(both[0], date)}
    whole = {**_known_groups(values, description), **values}
    if "keys" in values:
        whole["keys"] = keys_of_others(values["keys"], values.get("group_by"), kinds)
    return _asked(Section(None, ("question",), whole), known, Path(), lambda: list(kinds))


def _known_groups(values: Mapping[str, Any], description: Description) -> dict[str, Any]:
    """The public keys of the groups, where the owner states those of all columns that are grouped by."""
    names, own = values.get("group_by"), values.get("columns", {})
    if not isinstance(names, list) or not names or not isinstance(own, Mapping):
        return {}
    found = {name: description.columns.get(name) for name in names if isinstance(name, str) and name not in own}
    if len(found) < len(names) or not all(isinstance(keys, list) for keys in found.values()):
        return {}
    return {"keys": found if len(names) > 1 else found[names[0]]}


def budget_of(epsilon: Any, delta: Any, rho: Any) -> Budget | None:
    """ε, ε and δ, or ρ; None if nothing is said."""
    if epsilon is None and delta is None and rho is None:
        return None
    if (epsilon is None) == (rho is None) or (delta is not None and rho is not None):
        raise ParameterError("a budget is epsilon, epsilon and delta, or rho alone.")
    if rho is not None:
        return ZCDP(rho)
    return PureDP(epsilon) if delta is None else ApproxDP(epsilon, delta)


def _seen_from(folder: Path, place: str) -> str:
    return place if "://" in place else str(folder / place)


def _unit(section: Section) -> TableUnit:
    section.only(("person", "rows", "max_groups", "max_rows_per_group"))
    person, rows = section.get("person", str), section.get("rows", str)
    if (person is None) == (rows is None):
        raise ParameterError(
            "[unit] states the privacy unit: person = 'the column that identifies a person', "
            "or rows = 'add-remove' if each row is another person."
        )
    if person is None:
        section.only(("rows",))
        if rows not in CHANGES:
            section.refuse("rows", f"rows must be one of {', '.join(CHANGES)}.")
        return Rows(CHANGES[rows])
    limits = {name: section.get(name, int) for name in ("max_groups", "max_rows_per_group") if name in section.values}
    return section.at(next(iter(limits), "person"), lambda: Person(person, **limits))


def _budget(section: Section) -> Budget | PerPeriod | None:
    figures = [section.get(name, Decimal) for name in ("epsilon", "delta", "rho")]
    first = next((name for name in ("epsilon", "delta", "rho") if name in section.values), "epsilon")
    each = section.at(first, budget_of, *figures)
    renewal = ("every", "start", "periods")
    if section.values.keys().isdisjoint(renewal):
        return each
    if each is None or not section.values.keys() >= set(renewal):
        said = next(name for name in renewal if name in section.values)
        section.refuse(
            said, "a budget that is renewed has epsilon or rho, every = 'month', start = 2026-01-01 and periods = 36."
        )
    every, start, periods = section.get("every", str), section.get("start", date), section.get("periods", int)
    return section.at("every", PerPeriod, each, every, start, periods)


def _allowance(section: Section) -> int | None:
    said = section.get("failures_allowed", int)
    return None if said is None else section.at("failures_allowed", check_allowance, said)


def _bounds(section: Section) -> Bounds:
    known = {}
    for name in section.values:
        low_high = section.get(name, list)
        if len(low_high) != 2:
            section.refuse(name, f"the bounds of {name!r} must be two numbers: [0, 200].")
        known[name] = section.at(name, checked_bounds, low_high)
    return known


def _columns(section: Section) -> tuple[dict[str, str], dict[str, Any]]:
    """The kinds of columns and their domains: a word is a kind, two numbers or days are a range, other lists are keys.

    A table says it by name, as two keys that are numbers must: { keys = [0, 1] }.
    """
    kinds: dict[str, str] = {}
    domains: dict[str, Any] = {}
    for name, said in section.values.items():
        if isinstance(said, dict):
            inside = section.section(name)
            inside.only(("kind", "bounds", "keys"))
            if "bounds" in said and "keys" in said:
                inside.refuse("keys", f"{name!r} has bounds already: a column has a range or keys.")
            of = inside.get("bounds", list) if "bounds" in said else inside.get("keys", list)
            kind, is_range = inside.get("kind", str), "bounds" in said
        else:
            kind, of = (None, section.need(name, list)) if isinstance(said, list) else (section.need(name, str), None)
            is_range = of is not None and len(of) == 2 and all(_is_end(end) for end in of)
        if kind is not None and kind not in KINDS:
            section.refuse(name, f"{name} in {section.name} must be one of {', '.join(KINDS)}.")
        if kind is not None:
            kinds[name] = kind
        if of is not None:
            domains[name] = section.at(name, _range, of) if is_range else of
    return kinds, domains


def _is_end(value: Any) -> bool:
    return isinstance(value, Decimal | int | date) and not isinstance(value, bool)


def _range(ends: list[Any]) -> tuple[Any, Any]:
    if len(ends) != 2:
        raise ParameterError("a range is two numbers or days, such as [0, 200].")
    if all(isinstance(end, date) for end in ends):
        return ends[0], ends[1]
    return checked_bounds(ends)


def _asked(section: Section, known: Bounds, folder: Path, of_source: Callable[[], list[str]]) -> Asked:
    if "sql" in section.values:
        return _in_sql(section, folder)
    section.only(("join", "columns", "where", "per_person", "group_by", "keys", "agg", "key", "sql", *_PRICE))
    if not section.section("agg").values:
        raise ParameterError(f"{section.name} needs agg = {{ ... }}: what to ask, such as {{ visits = 'count' }}.")
    joins = _joins(section, folder)
    columns = _each(section.section("columns"), condition)

    def of_rows() -> list[str]:
        return [*of_source(), *columns, *(name for file in joins.values() for name in file.table.schema.names)]

    per_person = _each(section.section("per_person"), lambda text: aggregate(text, known, of_rows))
    existing = (lambda: list(per_person)) if per_person else of_rows
    return Asked(
        aggregates=_each(section.section("agg"), lambda text: aggregate(text, known, existing)),
        joins=joins,
        columns=columns,
        where=tuple(section.at("where", condition, each) for each in section.texts("where")),
        per_person=per_person,
        group_by=tuple(section.at("group_by", group, each) for each in section.texts("group_by")),
        keys=_keys(section),
        price=_price(section),
        key=section.get("key", str),
    )


def _stream(
    name: str, section: Section, known: Bounds, folder: Path, of_source: Callable[[], list[str]]
) -> AskedStream:
    """A question without what streams do not have, and what is stated about its periods."""
    of_question = ("join", "columns", "where", "group_by", "keys", "agg", *_PRICE_OF_STREAMS)
    section.only((*_OF_STREAMS, *of_question))
    question = {key: value for key, value in section.values.items() if key in of_question}
    over: dict[str, Any] = {"column": section.need("over", str)}
    over |= {key: section.need(key, kind) for key, kind in {"start": date, "periods": int}.items()}
    optional = {"every": str, "max_periods": int, "min_separation": int}
    over |= {key: section.get(key, kind) for key, kind in optional.items() if key in section.values}
    show = section.get("show", list)
    return AskedStream(
        asked=_asked(Section(section.text, section.path, question), known, folder, of_source),
        over=over,
        show=("total",) if show is None else tuple(show),
        state=folder / (section.get("state", str) or f"{name}.stream"),
        key_file=folder / (section.get("key_file", str) or f"{name}.key"),
    )


def _in_sql(section: Section, folder: Path) -> Asked:
    """The text says all but the public tables and the price."""
    section.only(("join", "sql", "key", *_PRICE))
    joins, price = _joins(section, folder), _price(section)
    return Asked({}, joins=joins, price=price, key=section.get("key", str), sql=section.need("sql", str))


def _joins(section: Section, folder: Path) -> dict[str, PublicFile]:
    return _each(section.section("join"), lambda place: PublicFile.at(_seen_from(folder, place)))


def _price(section: Section) -> dict[str, Any]:
    return {name: section.get(name, kind) for name, kind in _PRICE.items() if name in section.values}


def _each(section: Section, read_one: Callable[[str], _Value]) -> dict[str, _Value]:
    """What the texts of a section mean, by their names."""
    return {name: section.at(name, read_one, section.need(name, str)) for name in section.values}


def _keys(section: Section) -> Any:
    found = section.values.get("keys")
    if found is not None and not isinstance(found, list | dict):
        section.refuse("keys", "keys must be a list, or a table with a list for each column of group_by.")
    if found is not None and "group_by" not in section.values:
        section.refuse("keys", "keys are those of groups. Say group_by = ... too, or use where = ...")
    if isinstance(found, dict):
        inside = section.section("keys")
        found = {name: inside.need(name, list) for name in inside.values}
    lists = [] if found is None else list(found.values()) if isinstance(found, dict) else [found]
    if len(section.texts("group_by")) > 1:  # then a key may be a list with a value for each column
        lists += [key for listed in lists for key in listed if isinstance(key, list)]
        lists = [[key for key in listed if not isinstance(key, list)] for listed in lists]
    if any(isinstance(key, list | dict) for listed in lists for key in listed):
        section.refuse("keys", "a key is a text, a whole number, a day, or true or false.")
    return found
