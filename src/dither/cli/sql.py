"""`dither sql`: a question in SQL, planned or answered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from dither.cli import options
from dither.cli.plan import plan_as_dict, print_account, print_plan
from dither.cli.release import answer, check_form
from dither.cli.screen import print_json, printable
from dither.cli.table import print_sentence

if TYPE_CHECKING:
    from dither.cli.description import Description

__all__ = ["command"]


@options.asks_in_sql
def command(
    context: typer.Context,
    source: options.SOURCE,
    text: Annotated[str, typer.Argument(metavar="SELECT", help="One SELECT, in quotes.")],
    *,
    plan: Annotated[
        bool, typer.Option("--plan", help="Show protection, noise, error, cost and the question in Python.")
    ] = False,
    budget_epsilon: options.BUDGET_EPSILON = None,
    budget_delta: options.BUDGET_DELTA = None,
    budget_rho: options.BUDGET_RHO = None,
    failures_allowed: options.FAILURES_ALLOWED = None,
    key: options.KEY = None,
    out: options.OUT = None,
    certificate: options.CERTIFICATE = None,
    report: options.REPORT = None,
    plot: options.PLOT = None,
    form: options.FORM = "table",
    json: options.JSON = False,
    **_question: Any,
) -> None:
    """Answer a question in SQL privately, with error bars.

    The text is compiled to a question of dither and costs what that costs; nothing of it reaches an engine. HAVING,
    ORDER BY, LIMIT and arithmetic between aggregates are done after the noise. With --plan nothing is spent. Ranges and
    keys of columns come from the description, or from --bounds and --keys.

    \b
    Example:
      dither sql dither.toml 'SELECT COUNT(DISTINCT user_id) FROM visits' \\
        --epsilon 0.1
      dither sql --plan visits.csv --person user_id --max-groups 2 --max-rows-per-group 1 \\
        --keys city=Paris,Lyon --bounds cost=0,200 --epsilon 0.5 \\
        'SELECT city, COUNT(*) AS n, AVG(cost) FROM visits GROUP BY city'
    """
    from dither.cli.files import Files
    from dither.cli.flags import described

    check_form(form)
    description = described(context.params)
    if plan:
        _show(description, is_json=json or form == "json")
        return
    files = Files(out=out, certificate=certificate, report=report, plot=plot)
    files.check(description, source)
    answer(description, description.questions["sql"], files, "json" if json else form)


def _show(description: Description, *, is_json: bool) -> None:
    ((question, plan),), account = description.planned(description.questions.values())
    if is_json:
        said = {"protected": str(question.neighbour), "python": question.code}
        print_json({**plan_as_dict("sql", plan, account), **said})
        return
    print_sentence(f"protected: {question.neighbour}")
    print_plan("sql", plan)
    typer.echo("The same question in Python:\n")
    for line in question.code.split("\n"):
        typer.echo(printable(line))
    typer.echo()
    print_account(account)
