"""`dither solve`: how much data, how much ε, for which accuracy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dither.cli import options
from dither.cli.noise_for_risk import print_noise, said
from dither.cli.screen import print_json
from dither.cli.table import print_table
from dither.errors import ParameterError

if TYPE_CHECKING:
    from dither.estimators.solving import Solution

__all__ = ["command"]

_USUAL_CONFIDENCE = "0.95"


@options.asks_for_risk
def command(
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="[dither.toml]",
            help="A description: then for one of its questions; or an event, event.json: then for a risk.",
        ),
    ] = None,
    question: Annotated[
        str | None, typer.Argument(metavar="[QUESTION]", help="The question; may be left out if there is one.")
    ] = None,
    error: Annotated[
        list[str] | None,
        typer.Option(metavar="NUMBER", help="For a question: the error asked of all columns, or 'visits=100' of one."),
    ] = None,
    relative: Annotated[
        list[str] | None, typer.Option(metavar="NUMBER", help="The same as a share of what is expected: 0.05.")
    ] = None,
    rows: Annotated[
        int | None, typer.Option(metavar="N", help="How many rows a group has, for means and for shares.")
    ] = None,
    queries: Annotated[int | None, typer.Option(metavar="N", help="How many counting queries are asked.")] = None,
    n: Annotated[int | None, typer.Option("--n", metavar="N", help="How many records there are.")] = None,
    epsilon: Annotated[str | None, typer.Option(metavar="NUMBER", help="The privacy budget.")] = None,
    accuracy: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="The largest error of any answer, as a share of n: 0.01.")
    ] = None,
    confidence: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="How likely that is; 0.95 unless it is what you look for.")
    ] = None,
    delta: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="Allows Gaussian noise: far below 1/n, such as 1e-9.")
    ] = None,
    steps: Annotated[
        int | None, typer.Option(metavar="N", help="For a risk: the number of batches of a training run.")
    ] = None,
    rate: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="With --steps: the probability that a record is in a batch.")
    ] = None,
    json: options.JSON = False,
    **_risk: str | None,
) -> None:
    """Find n, epsilon, accuracy or confidence from the others.

    Solve for the one number that is left out: queries, n, epsilon, accuracy or confidence.
    The answer is exact for the noise that is drawn, and stands beside what the textbook says. It reads no data.
    With a description, find the smallest epsilon for a wanted error of a question, with its own unit, groups and keys.
    With a risk, find the smallest noise of an event, or of a training run, with which no attacker does better.

    \b
    Example:
      dither solve --queries 100 --accuracy 0.01 --n 100000 --delta 1e-7
      dither solve dither.toml by_city --error visits=100
      dither solve dither.toml by_city --relative visits=0.05 --rows 2000
      dither solve event.json --tpr 0.05 --fpr 0.01
      dither solve --steps 1000 --rate 0.01 --posterior 0.1 --prior 0.01 --chance 1e-6
    """
    risk = said(**_risk)
    if risk or steps is not None or rate is not None or (source is not None and source.endswith(".json")):
        foreign = (question, queries, n, epsilon, accuracy, confidence, rows)
        if error or relative or any(value is not None for value in foreign):
            raise ParameterError(
                "noise for a risk is found for an event or a training run: leave out what belongs to other questions."
            )
        print_noise(source, steps, rate, risk, delta, json=json)
        return
    if source is not None:
        from dither.cli.wanted_error import print_price

        print_price(source, question, error or [], relative or [], rows, delta, json=json)
        return
    if error or relative or rows is not None:
        raise ParameterError("--error, --relative and --rows are for a question: name its description first.")
    others = {"queries": queries, "n": n, "epsilon": epsilon, "accuracy": accuracy}
    if confidence is None and None in others.values():
        confidence = _USUAL_CONFIDENCE
    _check_one_is_missing({**others, "confidence": confidence})
    from dither.estimators.solving import solve  # behind what can be said without it

    found = solve(queries, n=n, epsilon=epsilon, accuracy=accuracy, confidence=confidence, delta=delta)
    if json:
        print_json(_as_dict(found))
    else:
        _print(found)


def _check_one_is_missing(asked: Mapping[str, object]) -> None:
    missing = [f"--{name}" for name, value in asked.items() if value is None]
    if len(missing) != 1:
        raise ParameterError(
            f"leave out the one number that is to be found, of {', '.join(f'--{name}' for name in asked)}, and say the "
            f"others; left out: {', '.join(missing) or 'none'}."
        )


def _as_dict(found: Solution) -> dict[str, Any]:
    return {
        "solved_for": found.solved_for,
        "queries": found.queries,
        "n": found.n,
        "epsilon": str(found.epsilon),
        "delta": None if found.delta is None else str(found.delta),
        "accuracy": found.accuracy,
        "confidence": found.confidence,
        "noise": found.noise,
        "options": [
            {"noise": each.noise, found.solved_for: each.value, "textbook": each.textbook} for each in found.options
        ],
        "trade_off": [{"epsilon": epsilon, **errors} for epsilon, errors in found.trade_off()],
    }


def _print(found: Solution) -> None:
    typer.echo(
        f"{found.queries} queries, {found.n} records, epsilon {float(found.epsilon):.6g}: every error at most "
        f"{found.accuracy:.4g} of n ({found.accuracy * found.n:.4g} records) with probability {found.chance}."
    )
    solved = found.solved_for
    rows = [
        (each.noise, f"{each.value:.6g}", "-" if each.textbook is None else f"{each.textbook:.6g}")
        for each in found.options
    ]
    print_table(("noise", solved, "textbook"), rows, right=(solved, "textbook"))
    typer.echo("")
    names = [each.noise for each in found.options]
    table = [(f"{epsilon:.4g}", *(f"{errors[name]:.4g}" for name in names)) for epsilon, errors in found.trade_off()]
    headings = [f"accuracy, {name}" for name in names]
    print_table(("epsilon", *headings), table, right=("epsilon", *headings))
