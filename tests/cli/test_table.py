"""Tables on terminals of any width, and in pipes: no number is ever cut."""

import re
import shlex
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from rich.cells import cell_len

from dither.cli.table import fitted
from tests.cli.world import BUDGET, run

SEVEN = (
    "release visits.csv --person user_id --max-groups 2 --max-rows-per-group 1 --group-by city --keys Paris,Lyon "
    "--agg visits=count "
    "--agg people=count_people --agg 'mean=mean(cost, 0, 1e6)' --agg 'sum=sum(cost, 0, 1e6)' "
    "--agg 'largest=max(cost, 0, 1e6)' --agg 'variance=variance(cost, 0, 1e6)' --agg 'std=std(cost, 0, 1e6)' "
    f"--epsilon 0.5 --key once {BUDGET}"
)
WIDTHS = [60, 80, 200, None]

LETTERS = st.characters(codec="utf-8", categories=["L", "N", "P"])
WORDS = st.text(LETTERS, min_size=1, max_size=30)
TEXTS = st.lists(WORDS, max_size=12).map(" ".join)


@pytest.mark.parametrize("columns", WIDTHS)
def test_seven_aggregates_fit_any_width(columns: int | None, folder: Path) -> None:
    wide = run(*shlex.split(SEVEN), columns=10_000)
    assert wide.code == 0, wide.err
    table = wide.out.partition("\n\n")[0].splitlines()  # below it stand sentences, some of them by chance
    cells = [cell for line in table for cell in re.split("  +", line)]
    assert len(cells) == 3 * (1 + 7 + 6), "a key, seven values, and six intervals"
    shown = run(*shlex.split(SEVEN), columns=columns).out.partition("\n\nAt most")[0].splitlines()
    for cell in cells:
        assert any(re.search(rf"(^|  ){re.escape(cell)}($|  )", line) for line in shown), cell
    assert columns is None or max(map(len, shown)) <= columns
    assert columns is not None or shown[: len(table)] == table, "a pipe has no width"


EMPTY = (
    "release visits.csv --person user_id --max-groups 2 --max-rows-per-group 1 --group-by city "
    f"--keys {','.join(f'Nowhere{i}' for i in range(40))} --agg visits=count --epsilon 1 {BUDGET}"
)


@pytest.mark.parametrize("columns", [60, 80])
def test_the_sentence_about_groups_that_seem_empty_fits_any_width(columns: int, folder: Path) -> None:
    """Forty groups of nobody: each looks empty in most runs, so the sentence is missing less than once in 10⁹."""
    shown = run(*shlex.split(EMPTY), columns=columns)
    assert shown.code == 0, shown.err
    assert "Perhaps nothing is there" in shown.out
    assert max(map(len, shown.out.splitlines())) <= columns


@pytest.mark.parametrize("columns", WIDTHS)
@pytest.mark.parametrize(
    "line",
    [
        "plan dither.toml",
        "ledger visits.ledger",
        "explain --epsilon 1",
        "solve --queries 10 --accuracy 0.05 --n 2000 --delta 1e-6",
    ],
)
def test_every_table_shows_the_same_words_at_any_width(line: str, columns: int | None, folder: Path) -> None:
    run("release", "dither.toml", "by_city")
    wide, shown = (run(*line.split(), columns=width) for width in (10_000, columns))
    assert shown.code == 0, shown.err
    assert set(wide.out.split()) == set(shown.out.split())
    assert columns is not None or shown.out == wide.out


@pytest.mark.parametrize("columns", WIDTHS)
def test_the_claims_fit_any_width(columns: int | None) -> None:
    """On a narrow terminal it is not said where they are from and what is compared."""
    done = run("claims", "--id", "C6", "--id", "C22", columns=columns)
    words = done.out.split()
    assert {"C6", "C22", "0.0309", "1.05e+05", "0.0003989", "3.99", "1/(√(2π)·m·σ).", "holds"} <= set(words)


@given(
    rows=st.lists(st.tuples(WORDS, st.integers(), TEXTS), max_size=4),
    limit=st.none() | st.integers(1, 200),
)
@example(rows=[("Zürich", 10**40, "a b")], limit=10)
def test_names_and_numbers_stay_whole(rows: list[tuple[str, int, str]], limit: int | None) -> None:
    """Whatever stands in a table and however narrow it is; and lines are longer than allowed only for one word."""
    cells = [[name, f"{number:,}", text] for name, number, text in rows]
    lines = fitted(["name", "number", "text"], cells, limit, right=["number"], prose=["text"])
    words = [word for line in lines for word in line.split()]
    for cell in (each for row in cells for each in row):
        for word in cell.split():
            assert word in words
    for line in lines:
        assert limit is None or cell_len(line) <= limit or len(line.split()) == 1
        assert line == line.rstrip()
    if limit is None:
        assert len(lines) == 1 + len(rows)


def test_a_narrow_table_becomes_blocks() -> None:
    columns, rows = (
        ["city", "visits", "95 % interval"],
        [["Paris", "14,849", "14,800 – 14,900"], ["Lyon", "7", "0 – 9"]],
    )
    assert fitted(columns, rows, 30, right=["visits"]) == [
        "city   visits  95 % interval",
        "Paris  14,849  14,800 – 14,900",
        "Lyon        7  0 – 9",
    ]
    block = ["city           Paris", "visits         14,849", "95 % interval  14,800 – 14,900"]
    assert fitted([*columns, "most"], [[*row, "1,000,000"] for row in rows], 30) == [
        *block, "most           1,000,000", "", "city           Lyon", "visits         7", "95 % interval  0 – 9",
        "most           1,000,000",
    ]  # fmt: skip
    assert fitted(columns, rows[:1], 29) == [
        "city",
        "  Paris",
        "visits",
        "  14,849",
        "95 % interval",
        "  14,800 – 14,900",
    ]


def test_keys_are_names(folder: Path) -> None:
    """Years and postcodes have no thousands; counts have.

    At ε = 0.5 for each of two aggregates, a count of 8,000 is below 6,999 with probability e^-500 or so.
    """
    lines = ["user_id,year,code", *(f"u{n},{2020 + n % 2},{69001 + n % 2}" for n in range(16_000))]
    Path("odd.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    question = "--group-by year --group-by code --keys year=2020,2021 --keys code=69001,69002 --agg n=count"
    top = "--agg 'years=top(year, 2, [2020, 2021, 2022])'"
    done = run(*shlex.split(f"release odd.csv --rows add-remove {question} {top} --epsilon 1 {BUDGET}"))
    assert done.code == 0, done.err
    assert re.search(r"^2020  69001  [78],\d\d\d ", done.out, re.MULTILINE)
    assert re.search(r"^2020  69001 .*  2  +20\d\d$", done.out, re.MULTILINE), "the second of the most common years"
    assert "69,00" not in done.out
    assert "2,020" not in done.out
