"""The language of questions: against Python's own grammar, which has the same precedence, and against every text."""

import ast
import inspect
import math
import re
from collections.abc import Callable
from datetime import date
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import dither as dp
from dither.cli import aggregates
from dither.cli.aggregates import aggregate, assigned, bounds, group
from dither.cli.conditions import condition
from dither.cli.group_key_texts import keys
from dither.engine import AGGREGATES, Bins
from dither.errors import ParameterError

OPERATORS: dict[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.And: "and", ast.Or: "or", ast.Eq: "==",
    ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip


def by_python(node: Any) -> str:
    """What `str` of the expression must be, from the tree that Python reads."""
    match node:
        case ast.BoolOp(op, values):
            found = by_python(values[0])
            for each in values[1:]:
                found = f"({found} {OPERATORS[type(op)]} {by_python(each)})"
            return found
        case ast.BinOp(left, op, right):
            return f"({by_python(left)} {OPERATORS[type(op)]} {by_python(right)})"
        case ast.UnaryOp(ast.Not(), operand):
            return f"not({by_python(operand)})"
        case ast.UnaryOp(ast.USub(), ast.Constant(int() | float() as value)) if type(value) is not bool:
            return repr(-value)
        case ast.UnaryOp(ast.USub(), operand):
            return f"negative({by_python(operand)})"
        case ast.Compare(left, [op], [right]):
            return f"({by_python(left)} {OPERATORS[type(op)]} {by_python(right)})"
        case ast.Call(ast.Name(name), arguments):
            return f"{name}({', '.join(map(by_python, arguments))})"
        case ast.Constant(value):
            return repr(value)
        case ast.Name(name):
            return str(name)
    raise AssertionError(ast.dump(node))


SIMPLE = st.sampled_from(["a", "b", "age", "3", "0", "2.5", "'Paris'", "''", "True", "floor(a)", "coalesce(a, b)"])
COMPARED = ["==", "!=", "<", "<=", ">", ">="]


def joined(parts: Any, signs: list[str]) -> Any:
    """Two to four parts with signs between them, and no brackets."""
    return st.lists(parts, min_size=2, max_size=4).flatmap(
        lambda listed: st.lists(st.sampled_from(signs), min_size=len(listed) - 1, max_size=len(listed) - 1).map(
            lambda chosen: " ".join(
                [listed[0], *(f"{sign} {part}" for sign, part in zip(chosen, listed[1:], strict=True))]
            )
        )
    )


def expressions() -> Any:
    """Texts that Python and dither both read."""
    return st.recursive(
        SIMPLE,
        lambda inner: st.one_of(
            joined(st.one_of(SIMPLE, inner.map("({})".format), SIMPLE.map("-{}".format)), ["+", "-", "*", "/"]),
            st.tuples(SIMPLE, st.sampled_from(COMPARED), SIMPLE).map(" ".join),
            joined(st.one_of(inner.map("({})".format), SIMPLE.map("not {}".format)), ["and", "or"]),
        ),
        max_leaves=8,
    )


@given(expressions())
@example("not a == b and c or d - -2 * -a < 3")
@example("a - b - c / d / 2")
def test_precedence_is_that_of_python(text: str) -> None:
    expected = by_python(ast.parse(text, mode="eval").body)
    assert str(condition(text)) == expected


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("age = 3", "(age == 3)"),
        ("age <> 3", "(age != 3)"),
        ("city IN ('Paris', 'Lyon')", "is_in(city, 'Paris', 'Lyon')"),
        ("city not in ('a')", "not(is_in(city, 'a'))"),
        ("city is null or age IS NOT NULL", "(is_null(city) or not(is_null(age)))"),
        ("date >= date '2024-01-31'", "(date >= 2024-01-31)"),
        ("date >= 2024-01-31", "(date >= 2024-01-31)"),
        ("day>=2024-07-01 and(2024-12-31>=day)", "((day >= 2024-07-01) and (2024-12-31 >= day))"),
        ("day in (2024-01-31, date '2024-02-29')", "is_in(day, 2024-01-31, 2024-02-29)"),
        ("a between 18 and 65", "((a >= 18) and (a <= 65))"),
        ("a + 1 BETWEEN b - 1 AND 2 * b and c", "((((a + 1) >= (b - 1)) and ((a + 1) <= (2 * b))) and c)"),
        ("a not between 1 and 2 or b", "(not(((a >= 1) and (a <= 2))) or b)"),
        ("not a between 1 and 2", "not(((a >= 1) and (a <= 2)))"),
        ("day between 2024-01-01 and 2024-01-31", "((day >= 2024-01-01) and (day <= 2024-01-31))"),
        ("between between between and between", "((between >= between) and (between <= between))"),
        ("\"first name\" = 'L''Aquila'", "(col('first name') == \"L'Aquila\")"),
        ("\"and\" = '-'", "(and == '-')"),
        ("city = ','", "(city == ',')"),
        ("year(day) = 2024 and weekday(day) < 5", "((year(day) == 2024) and (weekday(day) < 5))"),
        ("if_else(age > 40, 1, 0)", "if_else((age > 40), 1, 0)"),
        ("1e2 * .5 + a", "((100 * 0.5) + a)"),
        ("größe > 1", "(größe > 1)"),
    ],
)
def test_what_python_does_not_say(text: str, meaning: str) -> None:
    assert str(condition(text)) == meaning


REFUSED = [
    *("", " ", "age >", "age > > 3", "a b", "(a", "a)", "a == b == c", "a in ()", "a in b", "a is 3", "and", "not"),
    *("'open", '"open', "a; b", "a.b", "__import__('os')", "eval(a)", "lambda: a", "a[0]", "f(a)", "floor()"),
    *("floor(a, b)", "date '2024-13-01'", "1x", "1.5.2", "a ** b", "a % 2", "a // 2", "@", "1e999", "1e999999999 = a"),
    *("9223372036854775808 < a", "(" * 60 + "a" + ")" * 60, "not " * 60 + "a", "-" * 60 + "a", "a + " * 60 + "a"),
    *("day > 2024-13-45", "day > 2024-02-30", "a - 2024-01-31 T", "a between 1", "a between 1 or 2", "a not 3"),
    *("a between (1, 2)", "a between 1 and 2 between 3 and 4"),
    "a" * 30_000,
]


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: text[:20])
def test_what_is_no_expression_is_refused(text: str) -> None:
    with pytest.raises(ParameterError):
        condition(text)


DIGITS = st.sampled_from(["2024", "07", "01", "1", "31", "12", "2024.5", "0.5", "20240", "202", "1e2", "007", "a"])


@given(
    first=DIGITS,
    rest=st.lists(st.tuples(st.sampled_from("+-*/"), st.sampled_from(["", " "]), DIGITS), max_size=6),
    ends=st.sampled_from(["", " ", " - 5"]),
)
@example(first="2024", rest=[("-", "", "07"), ("-", " ", "01")], ends="")
@example(first="2024", rest=[("-", "", "07"), ("-", "", "01"), ("-", "", "01")], ends="")
@example(first="2024", rest=[("-", "", "07"), ("-", "", "2024.5")], ends="")
@example(first="1", rest=[("-", "", "2024"), ("-", "", "07"), ("-", "", "01")], ends="")
def test_only_a_day_is_read_as_a_day(first: str, rest: list[tuple[str, str, str]], ends: str) -> None:
    """Whatever else has signs and digits means what it means with spaces around every sign."""
    text = first + "".join(f"{space}{sign}{space}{digits}" for sign, space, digits in rest) + ends
    spaced = first + "".join(f" {sign} {digits}" for sign, _, digits in rest) + ends
    if re.search(r"(?<![0-9]-)(?<![\w.])[0-9]{4}-[0-9]{2}-[0-9]{2}(?![\w.]|-[0-9])", text) is None:
        assert str(condition(text)) == str(condition(spaced))


@given(st.dates())
def test_every_day_can_be_written(day: date) -> None:
    found: Any = condition(f"day<{day.isoformat()}")
    assert found.parts[1].value == day
    assert str(found) == str(condition(f"day < date '{day.isoformat()}'"))


def test_a_day_that_is_none_is_told_from_a_difference() -> None:
    assert "no day of the calendar" in str(refusal(condition, "day > 2024-13-45"))
    assert str(condition("a = 2024 - 13 - 45")) == "(a == ((2024 - 13) - 45))"


def test_a_column_may_be_called_date() -> None:
    assert str(condition("date = a and a = date")) == "((date == a) and (a == date))"


def refusal(read: Callable[[str], object], text: str) -> str | None:
    """What is said against a text; None if it means something. Any other error ends the test."""
    try:
        read(text)
    except ParameterError as error:
        return str(error)
    return None


@given(st.text(max_size=60))
@example("a\x00")
def test_no_text_does_anything_else_than_mean_something_or_be_refused(text: str) -> None:
    for read in (condition, lambda each: aggregate(each, {}), group, keys, bounds, lambda each: assigned(each, "x=y")):
        assert (refusal(read, text) or "fine.").endswith(".")


@given(st.text(max_size=20), st.text(min_size=1, max_size=20))
def test_any_text_and_any_name_can_be_written_in_quotes(text: str, name: str) -> None:
    written = "\"{}\" = '{}'".format(name.replace('"', '""'), text.replace("'", "''"))
    found: Any = condition(written)
    assert (found.parts[0].name, found.parts[1].value) == (name, text)


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("count", "count()"),
        ("count()", "count()"),
        ("COUNT_PEOPLE", "count_people()"),
        ("count_distinct(city)", "count_distinct(city)"),
        ("sum(cost, -1, 2.5)", "total(cost, bounds=(-1, 5/2))"),
        ("mean(cost * 2, 0, 1e2)", "mean((cost * 2), bounds=(0, 100))"),
        ("mean(cost)", "mean(cost, bounds=(0, 200))"),
        ('mean("cost")', "mean(cost, bounds=(0, 200))"),
        ("std(cost, 0, 1)", "std(cost, bounds=(0, 1))"),
        ("min(cost)", "min(cost, bounds=(0, 200))"),
        ("median(cost, 0, 8)", "quantile(cost, [1/2], bounds=(0, 8))"),
        (
            "quantile(cost, [0.25, 0.75], interval=0.9)",
            "quantile(cost, [1/4, 3/4], bounds=(0, 200), interval_level=9/10)",
        ),
        ("quantile(cost, 0.1, 0, 8)", "quantile(cost, [1/10], bounds=(0, 8))"),
        ("histogram(age, [0, 18, 99])", "histogram of bins(age, 0, 18, 99)"),
        (
            "histogram(day, [2024-01-01,2025-01-01,2026-01-01])",
            "histogram of bins(day, 2024-01-01, 2025-01-01, 2026-01-01)",
        ),
        ("histogram(day, [date '2024-01-01', date '2025-01-01', date '2026-01-01'])", None),
        ("top(city, 2)", "top(city, 2)"),
        ("top(city, 1, ['Paris', 'Lyon'])", "top(city, 1, candidates=['Paris', 'Lyon'])"),
    ],
)
def test_aggregates(text: str, meaning: str | None) -> None:
    found = str(aggregate(text, {"cost": (0, 200)}))
    assert meaning is None or found in (meaning, meaning.replace("total", "sum"))


@pytest.mark.parametrize(
    "text",
    ["mean", "mean()", "mean(age)", "mean(age, 0)", "mean(cost, 0, 1, 2)", "count(age)", "top(city)", "top(city, 1.5)",
     "quantile(cost)", "quantile(cost, [])", "sum(cost, low, high)", "mean(cost + 1)", "count n",
     "mean(cost, nan, 1)", "mean(cost, 0, 1e999)", "histogram(age, 0, 18)", "os.system('x')"],
)  # fmt: skip
def test_what_is_no_aggregate_is_refused(text: str) -> None:
    with pytest.raises(ParameterError):
        aggregate(text, {"cost": (0, 200)})


def test_the_interval_of_a_median_is_read() -> None:
    found: Any = aggregate("median(cost, 0, 8, interval=0.9)", {})
    assert found.interval_level == Fraction(9, 10)


def test_groups() -> None:
    assert group("city") == "city"
    assert group('"home town"') == "home town"
    binned = group("bins(age, [0, 18, 65])")
    named = group("band = bins(age + 1, [0, 18, 65])")
    assert isinstance(binned, Bins)
    assert isinstance(named, Bins)
    assert (binned.name, binned.edges, named.name) == ("age", (0, 18, 65), "band")
    days = group("bins(day, [2024-01-01, 2024-07-01, 2025-01-01])")
    assert isinstance(days, Bins)
    assert days.edges == (date(2024, 1, 1), date(2024, 7, 1), date(2025, 1, 1))
    for wrong in ("bins(age)", "band = city", "bins(age + 1, [0, 1, 2])", "city, age", "3"):
        with pytest.raises(ParameterError):
            group(wrong)


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("Paris,Lyon", ["Paris", "Lyon"]),
        (" New York , L'Aquila ", ["New York", "L'Aquila"]),
        ("'Washington, D.C.',''", ["Washington, D.C.", ""]),
        ("1,-2,30", [1, -2, 30]),
        ("01,02", ["01", "02"]),
        ("1,b", ["1", "b"]),
        ("'1','2'", ["1", "2"]),
        ("true,False", [True, False]),
        ("2024-01-31,2024-02-01", [date(2024, 1, 31), date(2024, 2, 1)]),
        ("20240131", [20240131]),
        ("1.5", ["1.5"]),
        ("9223372036854775808", ["9223372036854775808"]),
    ],
)
def test_keys(text: str, meaning: list[object]) -> None:
    assert keys(text) == meaning


@given(st.lists(st.text(max_size=8), min_size=1, max_size=5))
def test_any_texts_can_be_keys(texts: list[str]) -> None:
    assert keys(", ".join("'" + text.replace("'", "''") + "'" for text in texts)) == texts


@given(st.lists(st.integers(-(2**62), 2**62), min_size=1, max_size=5))
def test_whole_numbers_can_be_keys(numbers: list[int]) -> None:
    assert keys(",".join(map(str, numbers))) == numbers


@pytest.mark.parametrize("text", ["", "a,,b", "a,", "'open", "'a' b", ","])
def test_what_are_no_keys_is_refused(text: str) -> None:
    with pytest.raises(ParameterError):
        keys(text)


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**6), max_value=10**6, places=9))
def test_bounds_are_exact(number: Any) -> None:
    low, high = bounds(f"{number:f}, {number:f}")
    assert low == high == Fraction(number)
    assert math.isfinite(float(low))


def test_every_aggregate_of_the_registry_can_be_written() -> None:
    """A new one is read by the names of its parameters; one of a new name needs a reader in cli/aggregates.py."""
    for name, function in AGGREGATES.items():
        unread = inspect.signature(function).parameters.keys() - {"of"} - aggregates._PARAMETERS.keys()
        assert not unread, f"{name} has parameters that cannot be written: {', '.join(unread)}"


def test_an_aggregate_that_joins_the_registry_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    def double_sum(of: Any, bounds: Any) -> Any:
        return dp.sum(dp.col(of.name) * 2, bounds)

    monkeypatch.setitem(AGGREGATES, "double_sum", double_sum)
    assert str(aggregates.aggregate("double_sum(spend, 0, 9)", {})) == "sum((spend * 2), bounds=(0, 9))"
