"""What was spent of a budget, charge by charge."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Any

from dither.errors import ParameterError
from dither.ledger import Entry, Ledger
from dither.ledger.budget import Amounts, amounts, read_amounts, read_budget
from dither.plots.shown import plain
from dither.plots.style import Axes, Figure, MaxNLocator, described, legend_below, new_panels, strokes

__all__ = ["budget"]

_SYMBOLS = {"epsilon": "ε", "delta": "δ", "rho": "ρ"}
_SOON = timedelta(minutes=2)


def budget(ledger: Ledger | Iterable[Entry], account: str | None = None) -> Figure:
    """Draw how the sum of all charges of an account grew towards its budget.

    The horizontal axis is time, or the number of the charge if all happened within two minutes. δ is drawn where some
    was spent.

    Parameters
    ----------
    ledger : Ledger or iterable of Entry
        The ledger, or its entries.
    account : str, optional
        The account; may be left out where the ledger has one.

    Returns
    -------
    matplotlib.figure.Figure
        The figure.

    Raises
    ------
    ParameterError
        If the ledger has no such account.
    """
    entries = list(ledger.entries() if isinstance(ledger, Ledger) else ledger)
    name, opening = _opening(entries, account)
    cap = amounts(read_budget(opening["budget"]))
    charges = [entry.content for entry in entries if entry.account == name and entry.kind == "charge"]
    sums = [read_amounts(charge["spent"]) for charge in charges]
    figures = [figure for figure in cap if cap[figure] and (figure != "delta" or (sums and sums[-1][figure]))]
    panels, places = new_panels(len(figures), height=3.0)
    opened, *times = (datetime.fromisoformat(each["at"]) for each in (opening, *charges))
    is_soon = not times or times[-1] - opened < _SOON
    for axes, figure in zip(places, figures, strict=True):
        _steps(axes, figure, cap, sums, list(range(len(sums) + 1)) if is_soon else [opened, *times])
        axes.set_xlabel("charges" if is_soon else "time (UTC)", fontsize=9)
    last = sums[-1] if sums else dict.fromkeys(cap, 0)
    said = ", ".join(f"{_SYMBOLS[each]} {float(last[each]):.4g} of {float(cap[each]):.4g}" for each in figures)
    return described(panels, f"Spent of the budget of {plain(name)} after {len(sums)} charges: {said}.")


def _opening(entries: list[Entry], account: str | None) -> tuple[str, dict[str, Any]]:
    """The account, and the entry that opened it."""
    opened = {entry.account: entry.content for entry in entries if entry.kind == "budget"}
    if account is None and len(opened) == 1:
        (account,) = opened
    if account is None or account not in opened:
        listed = ", ".join(map(plain, opened)) or "none"
        raise ParameterError(f"account must name an account of this ledger. Its accounts: {listed}.")
    return account, opened[account]


def _steps(axes: Axes, figure: str, cap: Amounts, sums: list[Amounts], at: list[Any]) -> None:
    colour = strokes(2)
    spent = [0.0, *(float(each[figure]) for each in sums)]
    axes.step(at, spent, where="post", marker="o", markersize=4, label="spent", **colour[0])
    axes.fill_between(at, spent, step="post", alpha=0.15, color=colour[0]["color"])
    axes.axhline(float(cap[figure]), label="budget", **colour[1])
    axes.set_ylim(0, 1.12 * float(cap[figure]))
    axes.set_ylabel(f"{_SYMBOLS[figure]} in all")
    legend_below(axes)
    if not isinstance(at[0], datetime):
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
