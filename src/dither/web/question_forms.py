"""The forms by which somebody asks: a box for SQL and fields, filled in again where something is to be changed."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from html import escape
from itertools import pairwise
from typing import Any, Final

from dither.errors import ParameterError
from dither.exact import in_words, rational
from dither.web.strict_json import read_object

__all__ = ["asked_in_words", "field", "fields_of", "form_fields", "question_of", "sql_fields"]

_PRICES: Final = ("epsilon", "delta", "rho")
_SMALL: Final = Fraction(1, 10**7)
_WORD: Final = re.compile("[A-Za-z_][A-Za-z0-9_]*")


def field(
    name: str,
    label: str,
    example: str,
    *,
    long: bool = False,
    kind: str = "text",
    id: str | None = None,
    value: str = "",
) -> str:
    """A labelled box; `example` stands below its label."""
    at = id or name
    shown = "<br>".join(["", *escape(example).splitlines()]) if "\n" in example else f" {escape(example)}"
    about = f'<small id="about-{at}">Such as{shown}</small>' if example else ""
    described = f' aria-describedby="about-{at}"' if example else ""
    shared = f'id="{at}" name="{name}"{described}'
    said = f' value="{escape(value)}"' if value else ""
    box = f'<input {shared}{said} type="{kind}" autocomplete="off">'
    if long:
        box = f"<textarea {shared}>\n{escape(value)}</textarea>"  # of a first newline HTML takes no notice
    return f'<label for="{at}">{escape(label)}</label>{about}{box}\n'


def sql_fields(about: Mapping[str, Any], filled: Mapping[str, str]) -> str:
    """The box for SQL, and the price."""
    keyed = next((_named(each["name"]) for each in about["columns"] if "keys" in each), None)
    table = _named(about["table"])
    example = (
        f"SELECT {keyed}, COUNT(*) AS n FROM {table} GROUP BY {keyed}" if keyed else f"SELECT COUNT(*) FROM {table}"
    )
    text = field("sql", "One SELECT", example, long=True, value=filled.get("sql", ""))
    return text + _price_fields(about, filled if filled.get("sql") else {})


def form_fields(about: Mapping[str, Any], filled: Mapping[str, str]) -> str:
    """The same without SQL."""
    ranged = next((each for each in about["columns"] if "bounds" in each and each["kind"] != "date"), None)
    keyed = next((each for each in about["columns"] if "keys" in each), None)
    mean = f"\naverage = mean({_named(ranged['name'])})" if ranged else ""
    where = f"{_named(ranged['name'])} >= {_middle(ranged)}" if ranged else ""
    groups = "The groups, separated by commas (optional; without them those that are publicly known)"
    shown = (
        ("agg", "What to ask, one per line", f"n = count{mean}", True),
        ("where", "Which rows (optional)", where, False),
        ("group_by", "Group by (optional)", _named(keyed["name"]) if keyed else "", False),
        ("keys", groups, _some(keyed["keys"]) if keyed else "", False),
    )
    boxes = "".join(field(*each[:3], long=each[3], value=filled.get(each[0], "")) for each in shown)
    return boxes + _price_fields(about, {} if filled.get("sql") else filled, "-form")


def _price_fields(about: Mapping[str, Any], filled: Mapping[str, str], suffix: str = "") -> str:
    """The price in the figures of the budget."""
    figure = "rho" if "rho" in about["budget"] else "epsilon"
    delta = rational(about["budget"].get("delta", "0"))
    example = "0.01" if figure == "rho" else "0.1"
    boxes = field(figure, f"Price ({figure})", example, id=f"{figure}{suffix}", value=filled.get(figure, ""))
    if delta > 0:
        label = "Price (delta), where groups or values are found in the data (optional)"
        small = in_words(min(delta / 10, _SMALL))
        boxes += field("delta", label, small, id=f"delta{suffix}", value=filled.get("delta", ""))
    return boxes


def _named(name: str) -> str:
    """A name as it stands in a question: in double quotes where it is no plain word."""
    return name if _WORD.fullmatch(name) else '"' + name.replace('"', '""') + '"'


def _middle(ranged: Mapping[str, Any]) -> str:
    """A number between its bounds."""
    low, high = (rational(each) for each in ranged["bounds"])
    return in_words(Fraction((low + high) // 2) if high - low > 1 else (low + high) / 2)


def _some(keys: list[Any]) -> str:
    return ", ".join(_quoted(str(key)) for key in keys[:2])


def _quoted(key: str) -> str:
    return "'" + key.replace("'", "''") + "'" if "," in key or key.startswith("'") else key


def question_of(fields: Mapping[str, str]) -> dict[str, Any]:
    """What a form asks, in the form of the API."""
    price = {name: said for name in _PRICES if (said := fields.get(name, "").strip())}
    if fields.get("sql", "").strip():
        return {"sql": fields["sql"], **price}
    lines = [line for line in fields.get("agg", "").splitlines() if line.strip()]
    if not lines:
        raise ParameterError("say what to ask: a SELECT, or a line such as visits = count.")
    if not price:
        raise ParameterError("say what the answer may cost: a price such as 0.1.")
    aggregates: dict[str, str] = {}
    for line in lines:
        name, is_named, text = (part.strip() for part in line.partition("="))
        if not (is_named and name):
            raise ParameterError("each line is a name, '=' and what to ask, such as visits = count.")
        if name in aggregates:
            raise ParameterError(f"two lines have the name {name!r}. Give each its own.")
        aggregates[name] = text
    question: dict[str, Any] = {"agg": aggregates, **price}
    if where := fields.get("where", "").strip():
        question["where"] = [where]
    if groups := fields.get("group_by", "").strip():
        question["group_by"] = _parts(groups)
        if keys := fields.get("keys", "").strip():
            question["keys"] = keys
    return question


def _parts(groups: str) -> list[str]:
    """What commas separate that stand neither in brackets nor in quotes.

    >>> _parts('city, band = bins(age, [0, 18]), "a, b"')
    ['city', 'band = bins(age, [0, 18])', '"a, b"']
    """
    ends, depth, is_quoted = [-1], 0, False
    for at, sign in enumerate(groups):
        is_quoted ^= sign == '"'
        depth += 0 if is_quoted else (sign in "([") - (sign in ")]")
        if sign == "," and depth <= 0 and not is_quoted:
            ends.append(at)
    parts = [groups[before + 1 : after].strip() for before, after in pairwise([*ends, len(groups)])]
    return [part for part in parts if part]


def fields_of(asked: str) -> dict[str, str]:
    """The fields of a form that asks this, as far as a form can."""
    values = read_object(asked.encode())
    found: dict[str, str] = {name: _plain(values[name]) for name in ("sql", *_PRICES) if name in values}
    if isinstance(agg := values.get("agg"), dict):
        found["agg"] = "\n".join(f"{name} = {text}" for name, text in agg.items())
    for name in ("where", "group_by", "keys"):
        if isinstance(listed := values.get(name), list):
            found[name] = (" and " if name == "where" else ", ").join(map(str, listed))
        elif isinstance(listed, str):
            found[name] = listed
    return found


def asked_in_words(asked: str) -> str:
    """A request as people read it.

    >>> asked_in_words('{"agg": {"n": "count"}, "where": ["age >= 18"], "group_by": ["city"], "epsilon": "0.1"}')
    'n = count; where age >= 18; by city; epsilon 0.1'
    """
    values = read_object(asked.encode())
    agg = values.pop("agg", None)
    said = [str(values.pop("sql"))] if "sql" in values else []
    said += [f"{name} = {text}" for name, text in agg.items()] if isinstance(agg, dict) else []
    names = {"group_by": "by", "keys": "groups", "columns": "with"}
    return "; ".join([*said, *(f"{names.get(name, name)} {_plain(each)}" for name, each in values.items())])


def _plain(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_plain, value))
    if isinstance(value, Decimal):
        return str(value).lower()  # 1e-7, as it is typed
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, dict) else str(value)
