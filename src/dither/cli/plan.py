"""`dither plan`: what a release would do and how exact it would be, before anything is spent."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from dither.cli import options
from dither.cli.screen import print_json
from dither.cli.table import print_sentence, print_table

__all__ = ["command", "plan_as_dict", "print_account", "print_plan"]


@options.asks
def command(
    context: typer.Context,
    source: options.SOURCE,
    questions: Annotated[
        list[str] | None, typer.Argument(metavar="QUESTION", help="Questions of the description; all unless given.")
    ] = None,
    *,
    prices: Annotated[
        bool, typer.Option("--prices", help="Show the errors at a quarter, a half, twice and four times the price.")
    ] = False,
    json: options.JSON = False,
    **_question: Any,
) -> None:
    """Say what a question would cost, and how exact it would be.

    Nothing is spent: only names and types of columns are looked at, for which the first lines of a CSV file are read
    unless a description says the types. The error of a mean depends on the size of a group, so it is shown for several.

    \b
    Example:
      dither plan dither.toml
      dither plan visits.csv --person user_id --max-groups 3 --max-rows-per-group 1 \\
        --group-by city --keys Paris,Lyon --agg visits=count \\
        --agg 'spend=mean(cost, 0, 200)' --epsilon 0.5
    """
    from dither.cli.flags import described

    description = described(context.params)
    names = questions or list(description.questions)
    asked = dict(description.question(name) for name in names)
    found, account = description.plans(asked.values())
    plans = list(zip(asked, found, strict=True))
    if json:
        print_json([plan_as_dict(name, plan, account, prices=prices) for name, plan in plans])
        return
    for name, plan in plans:
        print_plan(name, plan)
        if prices:
            _print_prices(plan)
        typer.echo(f"{plan.risk}\n")
        if (refusal := _shortage(plan, account)) is not None:
            typer.echo(f"{refusal}\n")
    print_account(account)


def print_account(account: Any) -> None:
    """What is left of the budget, if the ledger knows one; a plan spends nothing."""
    if account is not None:
        from dither.cli.figures import left_of

        typer.echo(f"Left of the budget: {left_of(account)}.")
    typer.echo("Nothing was spent.")


def print_plan(name: str, plan: Any) -> None:
    """The cost of a question, and the noise and the error of its columns."""
    from dither.cli.figures import figures
    from dither.exact import in_words

    typer.echo(f"{name}: would cost {figures(plan.cost)}")
    columns = ("column", "noise", "share", f"error ({in_words(100 * plan.level)} %)")
    print_table(columns, plan.lines(), right=("share",), prose=(columns[1], columns[3]))
    if plan.left_out is not None:
        print_sentence(plan.left_out)
    typer.echo()


def _shortage(plan: Any, account: Any) -> str | None:
    from dither.ledger.budget import shortage

    return None if account is None else shortage(plan.cost, account.budget, account.remaining)


def _print_prices(plan: Any) -> None:
    """The error of each column at other prices, in groups of a thousand rows where that matters."""
    from dither.cli.figures import figures
    from dither.exact import rounded

    found = plan.trade_off()
    names = list(found[0][1])
    rows = [[figures(cost), *(f"±{rounded(errors[name], 4)}" for name in names)] for cost, errors in found]
    print_table(("at a price of", *names), rows, right=names)
    if any(plan.aggregates[name].depends_on_size for name in names):
        typer.echo("Of means and variances, in a group of 1,000 rows.")
    typer.echo()


_SIZES = (100, 1_000, 10_000, 100_000)


def plan_as_dict(name: str, plan: Any, account: Any, *, prices: bool = False) -> dict[str, Any]:
    """The same as plain values."""
    from dither.cli.figures import as_dict

    keys = ("column", "noise", "share", "error")
    found = {
        "question": name,
        "cost": as_dict(plan.cost),
        "level": str(plan.level),
        "left_out": plan.left_out,
        "columns": [dict(zip(keys, line, strict=True)) for line in plan.lines()],
        "errors": {each: {size: plan.error(each, size) for size in _SIZES} for each in plan.aggregates},
    }
    found["risk"] = plan.risk
    if prices:
        found["prices"] = [{"cost": as_dict(cost), "errors": errors} for cost, errors in plan.trade_off()]
    if account is None:
        return found
    return found | {"remaining": as_dict(account.remaining), "shortage": _shortage(plan, account)}
