"""`dither solve dither.toml QUESTION --error 100`: the smallest epsilon for a wanted error of a question."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import typer

from dither.cli.flags import described
from dither.cli.plan import print_plan
from dither.cli.screen import print_json
from dither.errors import ParameterError

__all__ = ["print_price"]


def print_price(
    source: str,
    name: str | None,
    error: Sequence[str],
    relative: Sequence[str],
    rows: int | None,
    delta: str | None,
    *,
    json: bool,
) -> None:
    """Say the price, and what a release at that price would do. No data is read, and nothing is spent."""
    description = described({"source": source})
    known, asked = description.question(name)
    kept = {key: value for key, value in asked.price.items() if key not in ("epsilon", "rho")}
    kept |= {} if delta is None else {"delta": delta}
    with description.for_planning() as data:
        question = asked.of(data)
        epsilon = question.price(_wanted(error, "error"), relative=_wanted(relative, "relative"), rows=rows, **kept)
        plan = question.plan(**kept, epsilon=epsilon)
    if json:
        print_json(
            {
                "question": known,
                "epsilon": epsilon,
                "errors": {each: plan.error(each, rows or 1_000) for each in plan.aggregates},
            }
        )
        return
    typer.echo(f"The smallest epsilon is {epsilon:g}.")
    print_plan(known, plan)
    typer.echo(plan.risk)
    typer.echo("Nothing was spent.")


def _wanted(said: Sequence[str], flag: str) -> Any:
    """One number for all columns, or a number for each that is named."""
    pairs = [each.rpartition("=") for each in said]
    if not pairs:
        return None
    if len(pairs) == 1 and not pairs[0][1]:
        return pairs[0][2]
    if not all(sign for _, sign, _ in pairs):
        raise ParameterError(f"--{flag} is one number for all columns, or name=number for each that is named.")
    return {column: number for column, _, number in pairs}
