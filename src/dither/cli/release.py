"""`dither release`: a private answer, paid for and written down."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dither.cli import options
from dither.cli.screen import print_json, working
from dither.cli.table import print_markdown, print_sentence, print_table
from dither.errors import ParameterError

if TYPE_CHECKING:
    from dither.cli.description import Asked, Description
    from dither.cli.files import Files
    from dither.engine import TableRelease
    from dither.ledger import Account

__all__ = ["answer", "check_form", "command"]

_FORMS = ("table", "csv", "json", "markdown")


@options.asks
def command(
    context: typer.Context,
    source: options.SOURCE,
    question: Annotated[
        str | None, typer.Argument(metavar="QUESTION", help="Which question of the description, if it has several.")
    ] = None,
    *,
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
    """Answer a question privately, with error bars.

    The ledger is charged, and then noise is drawn. A question that cannot be asked or paid is refused before anything
    is spent. The budget is given once: from then on the ledger knows it. Files that exist are overwritten, but never
    the data or the ledger.

    \b
    Example:
      dither release dither.toml by_city --out by_city.csv \\
        --report by_city.html
      dither release visits.csv --person user_id --max-groups 3 --max-rows-per-group 1 \\
        --group-by city --keys Paris,Lyon --agg visits=count \\
        --agg 'spend=mean(cost, 0, 200)' --epsilon 0.5 \\
        --budget-epsilon 2 --ledger visits.ledger \\
        --certificate certificate.json
    """
    from dither.cli.files import Files
    from dither.cli.flags import described

    check_form(form)
    description = described(context.params)
    _, asked = description.question(question)
    files = Files(out=out, certificate=certificate, report=report, plot=plot)
    files.check(description, source)
    answer(description, asked, files, "json" if json else form)


def check_form(form: str) -> None:
    """Refuse what `--format` does not know, before anything is spent."""
    if form not in _FORMS:
        raise ParameterError(f"--format must be one of {', '.join(_FORMS)}, got {form!r}.")


def answer(description: Description, asked: Asked, files: Files, form: str) -> None:
    """Charge, draw, write the files, and print."""
    from dither.cli.files import as_csv

    (plan,), known = description.plans([asked])  # what cannot be asked is refused before there is a ledger
    files.check_picture(plan)
    with description.for_releasing(known) as data, working("asking the engine and drawing noise"):
        release_path = data.origin.release_path
        newest = int(release_path.ledger.anchor().partition(":")[0])
        release = asked.of(data).release(key=asked.key, **asked.price)
        account = release_path.ledger.account(release_path.account)
    is_repeated = release.entry.number <= newest  # its charge was there before this was asked
    failure = files.write(release)  # first: whoever reads what is printed may go away, as `head` does
    if form == "json":
        print_json(_as_dict(release, account, is_repeated))
    elif form == "csv":
        typer.echo(as_csv(release.tidy()), nl=False)
    else:
        _print(release, account, is_repeated, markdown=form == "markdown")
    if failure is not None:
        raise failure


def _is_about_a_number(column: str, answers: list[str]) -> bool:
    """Whether this is an end of a bin, or a probability."""
    return any(column == f"{name}_{end}" for name in answers for end in ("from", "to", "probability", "place"))


def _print(release: TableRelease, account: Account, is_repeated: bool, *, markdown: bool) -> None:
    from dither.cli.answers import rows
    from dither.cli.figures import figures, left_of

    plan, number, answers = release.plan, release.entry.number, release._shown[1]
    about = release._about_left_out
    if about is not None and about[1]:
        print_sentence(about[0])
        typer.echo()
    columns, cells = rows(release)
    if cells or plan.discovery is None or release.parts.num_rows:
        right = [*answers, *(name for name in columns if _is_about_a_number(name, answers))]
        (print_markdown if markdown else print_table)(columns, cells, right=right)
    else:
        print_sentence(
            f"No group is shown: none had {plan.discovery.threshold:,} people or more, counted with noise. Ask for "
            "larger groups, pay more, or name the groups with --keys if they are public."
        )
    if (empty := release._about_empty_groups()) is not None:
        typer.echo()
        print_sentence(empty)
    if plan.left_out is not None:
        typer.echo()
        print_sentence(plan.left_out)
    if about is not None and not about[1]:
        print_sentence(about[0])
    cost, left = figures(plan.cost), f"left {left_of(account)}"
    if is_repeated:
        typer.echo(f"\nThis answer was charged before, {cost} in entry {number} of the ledger, and is repeated.")
        typer.echo(f"Nothing was spent now; {left}.")
    else:
        typer.echo(f"\nSpent {cost}; {left}.")
        typer.echo(f"Recorded as entry {number} of the ledger.")
    if account.changed is not None:
        print_sentence(
            f"The data was written to after its budget was given (found {account.changed[:10]}). Earlier answers are "
            "about what it held then; the budget goes on."
        )


def _as_dict(release: TableRelease, account: Account, is_repeated: bool) -> dict[str, Any]:
    from dither.cli.figures import as_dict

    plan, cost = release.plan, as_dict(release.plan.cost)
    return {
        **({} if (about := release._about_left_out) is None else {"warning" if about[1] else "estimate": about[0]}),
        "rows": release.value.to_pylist(),
        "level": str(plan.level),
        "left_out": plan.left_out,
        "left_out_shares": [asdict(each) for each in release.left_out],
        "cost": cost,
        "repeated": is_repeated,
        "spent": dict.fromkeys(cost, "0") if is_repeated else cost,
        "remaining": as_dict(account.remaining),
        "data_changed": account.changed,
        **({} if plan.discovery is None else {"shown_from_people": plan.discovery.threshold}),
        "question": release.entry.content["question"],
        "ledger_entry": {"number": release.entry.number, "hash": release.entry.hash},
    }
