"""docs/claims.md, written by `dither claims --markdown`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dither.cli.claims import slack_in_words

if TYPE_CHECKING:
    from dither.audit.claims import Row

__all__ = ["page"]

_HEAD = """# The claims

Every definition and theorem of the five source lectures, and two theorems about streams, checked against the exact
truth. This page is written by `make claims`; a test fails when it is stale. `dither claims` computes the same table on
your machine in seconds, and `dither claims --id C6` shows one claim in detail. `dither claims --id C6 --set factor=1.98
--points` bends a constant of the printed formula, prints the whole grid, and shows where it breaks; in Python that is
`dp.audit.claims.find("C6").points(factor="1.98")`, and `.constants` names what can be bent.

*Textbook* is what the lecture's formula promises and *exact* is what is true, both at the point of the grid where they
are closest. *Slack* is their ratio there, and at the point where they are farthest apart: 1 is tight. (It is the
difference where one of them is 0.) A claim holds if the comparison is certain, in ball arithmetic or exact fractions,
at every point. That each claim would notice a library 5 % off, in either direction, is [tested too](bent_library.md).

Sources: S0 Brown, lecture 3; S1 Lalanne, lecture 2; S2 Sorrell, lecture 12; S3 Gaussian noise mechanism; S4 Roth and
Smith, lecture 11; [streams](streams.md).

"""


def page(rows: Sequence[Row]) -> str:
    """The whole page. Numbers have four digits, so that another machine writes the same."""
    columns = "| id | claim | source | what is compared | textbook | exact | slack | verdict |\n"
    table = columns + "|---|---|---|---|--:|--:|--:|---|\n" + "".join(map(_line, rows))
    corrections = [_correction(row) for row in rows if row.counterexample or "corrected" in row.formula]
    figures = [_figures(row) for row in rows if row.figures]
    slack = [f"- **{row.id}** {row.tightness}\n" for row in rows]
    return (
        f"{_HEAD}{table}\n## Corrections, and what happens outside the range of a theorem\n\n{''.join(corrections)}"
        f"\n## Beyond the textbook\n\n{''.join(figures)}"
        f"\n## Where the slack is\n\n{''.join(slack)}"
    )


def _line(row: Row) -> str:
    texts = (_cell(text) for text in (row.statement, row.source, row.quantity))
    numbers = (f"{row.textbook:.4g}", f"{row.exact:.4g}", slack_in_words(row))
    anchor = f'<a id="{row.id.lower()}"></a>'  # links such as claims.md#c19 lead to the row
    return f"| {anchor}{row.id} | {' | '.join(texts)} | {' | '.join(numbers)} | {row.verdict} |\n"


def _cell(text: str) -> str:
    """A bar would end the cell."""
    return text.replace("|", "\\|")


def _correction(row: Row) -> str:
    found = row.counterexample
    if found is None:
        return f"- **{row.id}** `{row.formula}`: {row.statement}\n"
    where = ", ".join(f"{name} = {value}" for name, value in found["at"].items())
    return (
        f"- **{row.id}** `{row.formula}`: at {where} the true {found['quantity']} is {found['exact']:.4g}, "
        f"and the formula says {found['printed']:.4g}: the truth is {found['ratio']:.4g} times that.\n"
    )


def _figures(row: Row) -> str:
    return "".join(f"- **{row.id}** {name}: {value:.4g}\n" for name, value in row.figures.items())
