"""`dither suggest`: limits and bounds for a question, from private histograms."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dither.cli import options
from dither.cli.screen import print_json, printable, working
from dither.errors import ParameterError

if TYPE_CHECKING:
    from dither.engine.suggestion import Suggestion

__all__ = ["command"]


@options.asks
def command(
    context: typer.Context,
    source: options.SOURCE,
    question: Annotated[
        str | None, typer.Argument(metavar="QUESTION", help="Which question of the description, if it has several.")
    ] = None,
    *,
    share: Annotated[
        str, typer.Option(metavar="NUMBER", help="The part of epsilon that the suggestion costs: it is charged now.")
    ] = "0.1",
    budget_epsilon: options.BUDGET_EPSILON = None,
    budget_delta: options.BUDGET_DELTA = None,
    budget_rho: options.BUDGET_RHO = None,
    failures_allowed: options.FAILURES_ALLOWED = None,
    json: options.JSON = False,
    **_question: Any,
) -> None:
    """Choose how much of a person counts, and bounds, privately.

    A part of epsilon pays for private histograms: groups of each person, rows in one of them, sizes of values. The
    limits and bounds with the least estimated error are printed with what else was considered. In a description, the
    limits are written into [unit] and the bounds into [bounds], with the entry of the ledger that they come from.

    \b
    Example:
      dither suggest dither.toml by_city --epsilon 0.2
      dither suggest visits.csv --person user_id --agg visits=count \\
        --epsilon 0.2 --ledger visits.ledger
    """
    from dither.cli.flags import described

    description = described(context.params)
    name, asked = description.question(question)
    epsilon = asked.price.get("epsilon")
    if epsilon is None:
        raise ParameterError("say what may be spent on the suggestion and the question together: --epsilon 1.")
    known = description.account_for(asked)
    with description.for_releasing(known) as data, working("asking the engine and drawing noise"):
        asking = asked.of(data)
        found = data.suggest(asking, epsilon=epsilon, share=share)
    written = []
    if Path(source).suffix.lower() == ".toml":
        from dither.cli.toml_limits import write_limits

        written = write_limits(Path(source), found, name, asking)
    if json:
        print_json(_as_dict(found))
        return
    for line in [*str(found).split("\n"), *written]:
        typer.echo(printable(line))


def _as_dict(found: Suggestion) -> dict[str, Any]:
    return {
        "unit": {"max_groups": found.unit.max_groups, "max_rows_per_group": found.unit.max_rows_per_group},
        "bounds": {name: list(both) for name, both in found.bounds.items()},
        "considered": [
            {"max_groups": each.max_groups, "max_rows_per_group": each.max_rows_per_group, "errors": dict(each.errors)}
            for each in found.considered
        ],
        "epsilon_left_for_the_question": str(found.epsilon),
        "ledger_entries": [{"number": entry.number, "hash": entry.hash} for entry in found.entries],
    }
