"""`dither suggest`: limits and bounds for a question, from private histograms."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from dither.cli import options
from dither.cli.screen import print_json, printable, working
from dither.errors import ParameterError

if TYPE_CHECKING:
    from dither.engine.first_look import FirstLook
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
    look: Annotated[
        bool, typer.Option("--look", help="Take a first look at all columns; so does a file without --agg.")
    ] = False,
    report: Annotated[Path | None, typer.Option(metavar="FILE", help="Of a first look: one page, .html.")] = None,
    budget_epsilon: options.BUDGET_EPSILON = None,
    budget_delta: options.BUDGET_DELTA = None,
    budget_rho: options.BUDGET_RHO = None,
    failures_allowed: options.FAILURES_ALLOWED = None,
    json: options.JSON = False,
    **_question: Any,
) -> None:
    """Choose limits and bounds privately, or take a first look at a file.

    A part of epsilon pays for private histograms: groups of each person, rows in one of them, sizes of values. The
    limits and bounds with the least estimated error are printed with what else was considered. In a description, the
    limits are written into [unit] and the bounds into [bounds], with the entry of the ledger that they come from.

    Without a question it is a first look, which costs all of epsilon: how many rows and people there are, and of each
    column what it holds, the share of missing values, how many different texts there are, and where numbers lie. With
    --delta the most common texts are found as well.

    \b
    Example:
      dither suggest dither.toml by_city --epsilon 0.2
      dither suggest visits.csv --person user_id --agg visits=count \\
        --epsilon 0.2 --ledger visits.ledger
      dither suggest visits.csv --person user_id --epsilon 0.2 \\
        --ledger visits.ledger --report look.html
    """
    from dither.cli.flags import described

    if look or not (context.params["agg"] or Path(source).suffix.lower() == ".toml"):
        _first_look(context.params, report)
        return
    if report is not None:
        raise ParameterError("--report is about a first look. Leave it out, or take one: --look.")
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
    written = written or [_next(found)]
    for line in [*str(found).split("\n"), *written]:
        typer.echo(printable(line))


_OF_A_LOOK: Final = (
    "source", "person", "rows", "max_groups", "max_rows_per_group", "epsilon", "delta", "ledger", "table", "identity",
    "budget_epsilon", "budget_delta", "budget_rho", "failures_allowed", "look", "report", "json", "share",
)  # fmt: skip


def _first_look(flags: Mapping[str, Any], report: Path | None) -> None:
    """All columns, for one epsilon."""
    from dither.cli.flags import described

    given = [name for name, value in flags.items() if value and name not in _OF_A_LOOK]
    if given:
        raise ParameterError(
            f"--{given[0].replace('_', '-')} is about a question, and a first look asks none. Leave it out, or say "
            "what to ask: --agg visits=count."
        )
    if flags["epsilon"] is None:
        raise ParameterError("say what the first look may cost: --epsilon 1.")
    if report is not None:
        import dither.plots.style  # noqa: F401  # without matplotlib, refused before anything is spent
        from dither.cli.files import check_place

        check_place("report", report)
    description = described(flags, asks=False)
    with description.for_planning() as planned:
        known = description.account_of(planned.origin.release_path.account)
    with description.for_releasing(known) as data, working("asking the engine and drawing noise"):
        found = data.suggest(epsilon=flags["epsilon"], delta=flags["delta"])
        left = _in_words(data.remaining)
    if report is not None:
        found.report(report)
    if flags["json"]:
        print_json(_look_as_dict(found))
        return
    for line in [*str(found).split("\n"), f"Left of the budget: {left}."]:
        typer.echo(printable(line))


def _next(found: Suggestion) -> str:
    """What to ask now, where no description has it."""
    from dither.exact import in_words

    limits = (f"--{name.replace('_', '-')} {found.unit.stated(name)}" for name in ("max_groups", "max_rows_per_group"))
    bounds = ", these bounds" if found.bounds else ""
    flags = f"{' '.join(limits)} --epsilon {in_words(found.epsilon)} --left-out"
    return f"Next: dither release with the same question{bounds} and {flags}"


def _in_words(amounts: Mapping[str, Any]) -> str:
    """What is left, by name."""
    from dither.exact import in_words

    return ", ".join(f"{name} {in_words(amount)}" for name, amount in amounts.items() if amount or name != "delta")


def _look_as_dict(found: FirstLook) -> dict[str, Any]:
    sizes = {name: dict(zip(("value", "low", "high"), numbers, strict=True)) for name, numbers in found.sizes.items()}
    return {
        "unit": {name: getattr(found.unit, name, None) for name in ("max_groups", "max_rows_per_group")},
        **sizes,
        "columns": found.to_arrow().to_pylist(),
        "read_as_text": list(found.untold),
        "ledger_entries": [{"number": each.entry.number, "hash": each.entry.hash} for each in found.releases],
    }


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
