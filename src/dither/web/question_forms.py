"""The forms by which somebody asks: a box for SQL and fields, filled in again where something is to be changed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from typing import Any

from dither.errors import ParameterError
from dither.web.strict_json import read_object

__all__ = ["asked_in_words", "field", "fields_of", "form_fields", "question_of", "sql_fields"]


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
    keyed = next((each["name"] for each in about["columns"] if "keys" in each), None)
    table = about["table"]
    example = (
        f"SELECT {keyed}, COUNT(*) AS n FROM {table} GROUP BY {keyed}" if keyed else f"SELECT COUNT(*) FROM {table}"
    )
    text = field("sql", "One SELECT", example, long=True, value=filled.get("sql", ""))
    return text + field(
        "epsilon", "Price (epsilon)", "0.1", value=filled.get("epsilon", "") if filled.get("sql") else ""
    )


def form_fields(about: Mapping[str, Any], filled: Mapping[str, str]) -> str:
    """The same without SQL."""
    ranged = next((each for each in about["columns"] if "bounds" in each and each["kind"] != "date"), None)
    keyed = next((each for each in about["columns"] if "keys" in each), None)
    mean = f"\naverage = mean({ranged['name']})" if ranged else ""
    shown = (
        ("agg", "What to ask, one per line", f"n = count{mean}", True),
        (
            "where",
            "Which rows (optional)",
            f"{ranged['name']} >= {ranged['bounds'][0]}" if ranged else "age >= 18",
            False,
        ),
        ("group_by", "Group by (optional)", keyed["name"] if keyed else "city", False),
        ("keys", "The groups, separated by commas (optional)", _some(keyed["keys"]) if keyed else "Paris, Lyon", False),
    )
    boxes = "".join(field(*each[:3], long=each[3], value=filled.get(each[0], "")) for each in shown)
    price = "" if filled.get("sql") else filled.get("epsilon", "")
    return boxes + field("epsilon", "Price (epsilon)", "0.1", id="epsilon-form", value=price)


def _some(keys: list[Any]) -> str:
    return ", ".join(map(str, keys[:2]))


def question_of(fields: Mapping[str, str]) -> dict[str, Any]:
    """What a form asks, in the form of the API."""
    price = {"epsilon": fields.get("epsilon", "").strip()}
    if fields.get("sql", "").strip():
        return {"sql": fields["sql"], **price}
    lines = [line for line in fields.get("agg", "").splitlines() if line.strip()]
    if not lines:
        raise ParameterError("say what to ask: a SELECT, or a line such as visits = count.")
    aggregates = {}
    for line in lines:
        name, is_named, text = (part.strip() for part in line.partition("="))
        if not (is_named and name):
            raise ParameterError("each line is a name, '=' and what to ask, such as visits = count.")
        aggregates[name] = text
    question: dict[str, Any] = {"agg": aggregates, **price}
    if where := fields.get("where", "").strip():
        question["where"] = [where]
    if groups := fields.get("group_by", "").strip():
        question["group_by"] = [groups]
        if keys := [key.strip() for key in fields.get("keys", "").split(",") if key.strip()]:
            question["keys"] = keys
    return question


def fields_of(asked: str) -> dict[str, str]:
    """The fields of a form that asks this, as far as a form can."""
    values = read_object(asked.encode())
    found: dict[str, str] = {name: str(values[name]) for name in ("sql", "epsilon") if name in values}
    if isinstance(agg := values.get("agg"), dict):
        found["agg"] = "\n".join(f"{name} = {text}" for name, text in agg.items())
    for name in ("where", "group_by", "keys"):
        if isinstance(listed := values.get(name), list):
            found[name] = (" and " if name == "where" else ", ").join(map(str, listed))
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
    return json.dumps(value, ensure_ascii=False, default=str) if isinstance(value, dict) else str(value)
