"""One page that stands alone: what was asked, the answers with their intervals, what they cost, how to check it.

The page holds all that it shows, loads nothing and runs nothing: a policy in its head forbids both to the browser, so
that even a name that slipped through the escaping could not act.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import pyarrow as pa

from dither.errors import ParameterError
from dither.ledger import Ledger
from dither.ledger.budget import amounts, read_amounts
from dither.mechanisms import Release
from dither.plots.cost_texts import amounts_in_words, price, risk
from dither.plots.html import fold, paragraph, release_table
from dither.plots.intervals import answers
from dither.plots.shown import plain, shown
from dither.plots.spending import budget
from dither.plots.style import Figure, alt_text, data_uri

__all__ = ["report"]

_MOST_ROWS = 500
_STYLE = Path(__file__).with_name("page.css")


def report(
    releases: Release | Sequence[Release],
    path: str | os.PathLike[str],
    *,
    title: str = "Private answers",
    ledger: Ledger | None = None,
) -> Path:
    """Write one self-contained HTML page about releases: tables, pictures, costs and certificates.

    Of long tables the first 500 rows are shown. Only what was released is on the page, and what the ledger records
    about it.

    Parameters
    ----------
    releases : Release or sequence of Release
        What the page is about.
    path : str or os.PathLike
        The file to write.
    title : str, default "Private answers"
        The title of the page.
    ledger : Ledger, optional
        The ledger that was charged: then the page also shows what is left of its budgets.

    Returns
    -------
    pathlib.Path
        The file that was written.

    Raises
    ------
    ParameterError
        If there is no release, or the file cannot be written.
    """
    listed = [releases] if isinstance(releases, Release) else list(releases)
    if not listed or not all(isinstance(release, Release) for release in listed):
        raise ParameterError("a report is about one or more releases. Give a release, or a list of them.")
    sections = [_section(release, ledger) for release in listed]
    if ledger is not None:
        accounts = dict.fromkeys(release.entry.account for release in listed if hasattr(release, "entry"))
        sections += [_account(ledger, account) for account in accounts]
    page = _page(title, "\n".join(sections))
    place = Path(path)
    try:
        place.write_text(page, encoding="utf-8")
    except OSError as error:
        raise ParameterError(
            f"the report cannot be written to the path that was given ({type(error).__name__}). Check that its folder "
            "exists and may be written to."
        ) from None
    return place


def _page(title: str, body: str) -> str:
    policy = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(plain(title))}</title>
<style>
{_STYLE.read_text(encoding="utf-8")}</style>
</head>
<body>
<main>
<h1>{escape(plain(title))}</h1>
<p class="lead">These answers are noisy on purpose, so that they protect the people in the data. They may be shown to
anyone.</p>
{body}
</main>
<footer>Made by dither. This page loads nothing and runs nothing.</footer>
</body>
</html>
"""


def _section(release: Release, ledger: Ledger | None) -> str:
    certificate = release.certificate()
    parts = [f"<h2>{escape(_heading(release))}</h2>\n"]
    if "question" in certificate:
        parts.append(f'<p class="question">{escape(plain(certificate["question"]))}</p>\n')
    about: tuple[str, bool] | None = getattr(release, "_about_left_out", None)
    if about is not None and about[1]:
        parts.append(paragraph(plain(about[0])))
    parts.append(f'<div class="wide">{release_table(release, _MOST_ROWS)}</div>\n')
    plan = getattr(release, "plan", None)
    if plan is not None and plan.left_out is not None:
        parts.append(paragraph(plain(plan.left_out)))
    if about is not None and not about[1]:
        parts.append(paragraph(plain(about[0])))
    about_intervals = _about_intervals(release)
    parts.append(about_intervals)
    if _is_drawn(release):
        whiskers = "; whiskers are their intervals" if about_intervals else ""
        parts.append(_picture(answers(release), f"Dots and bars are private values{whiskers}."))
    parts.append(_cost(release, certificate))
    parts.append(_certificate(certificate))
    return f"<section>\n{''.join(parts)}</section>"


def _heading(release: Release) -> str:
    answer = shown(release)
    names = ", ".join(dict.fromkeys(plain(column.name) for column in answer.columns))
    is_grouped = isinstance(getattr(release, "value", None), pa.Table) and len(answer.keys) > 0
    return f"{names} by {', '.join(map(plain, answer.keys))}" if is_grouped else names


def _about_intervals(release: Release) -> str:
    answer = shown(release)
    if all(column.low is None for column in answer.columns):
        return ""
    plan = getattr(release, "plan", None)
    covered = getattr(release, "covers", "") or "the exact value of what is used of the data"
    if plan is not None and plan.population:
        covered = "the mean of the population that the rows were drawn from"
    return paragraph(f"Each interval holds {covered}, with the probability that stands above it or more.")


def _is_drawn(release: Release) -> bool:
    """One number needs no picture, and neither do names."""
    answer = shown(release)
    numeric = [column for column in answer.columns if column.is_numeric]
    return len(answer.rows) * len(numeric) > 1


def _picture(figure: Figure, caption: str) -> str:
    image = f'<img src="{data_uri(figure)}" alt="{escape(alt_text(figure))}">'
    return f"<figure>\n{image}\n<figcaption>{escape(caption)}</figcaption>\n</figure>\n"


def _cost(release: Release, certificate: dict[str, Any]) -> str:
    told = [f"It cost {price(release.guarantee)} for each change of this kind: {certificate['unit']}."]
    told.append(risk(release.guarantee))
    entry = getattr(release, "entry", None)
    if entry is not None:
        told.append(f"It is entry {entry.number} of the ledger, which wrote it down before any data was read:")
        told.append(f"{amounts_in_words(read_amounts(entry.content['spent']))} had then been spent in all.")
    return f"<h3>What it cost</h3>\n{paragraph(*told)}"


def _certificate(certificate: dict[str, Any]) -> str:
    text = json.dumps(certificate, indent=2, ensure_ascii=False)
    name = f"certificate-{certificate['digest'][:12]}.json"
    address = f"data:application/json;base64,{base64.b64encode(text.encode()).decode()}"
    link = f'<p><a download="{name}" href="{address}">Save it as {name}</a>, and check it: '
    command = f"<code>dither verify {name}</code></p>\n"
    return fold("Certificate", f"{link}{command}<pre>{escape(text)}</pre>\n")


def _account(ledger: Ledger, account: str) -> str:
    state = ledger.account(account)
    renewed = state.per_period
    whole = amounts_in_words(amounts(state.budget if renewed is None else renewed.each))
    when = "" if renewed is None else f" in this {renewed.every}"
    told = f"Of {whole}{when}, {amounts_in_words(state.remaining)} is left"
    drawn = _picture(budget(ledger, account), "Every charge is written down before data is read.")
    return f"<section>\n<h2>What is left</h2>\n{paragraph(f'{told} for {plain(account)}.')}{drawn}</section>"
