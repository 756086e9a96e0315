"""What an audit found, for a terminal and as a picture."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from dither.errors import DitherError

if TYPE_CHECKING:
    from dither.audit import Verdict
    from dither.guarantees import Guarantee

__all__ = ["after_the_verdict", "claimed", "draw"]

_DRAWN = 20_000
_SYMBOLS = {"epsilon": "ε", "delta": "δ", "rho": "ρ"}


def claimed(claim: Guarantee) -> str:
    """A claim in a cell of a table."""
    from dither.exact import in_words
    from dither.guarantees import ZCDP, ApproxDP, PureDP
    from dither.ledger.budget import amounts

    if not isinstance(claim, PureDP | ApproxDP | ZCDP):  # curves
        return f"{type(claim).__name__}(…)"
    return ", ".join(
        f"{_SYMBOLS[name]} = {in_words(amount)}" for name, amount in amounts(claim).items() if amount or name != "delta"
    )


@contextmanager
def after_the_verdict(is_violated: bool) -> Iterator[None]:
    """A picture that cannot be drawn ends the command with its error, unless a violation must end it."""
    try:
        yield
    except (DitherError, typer.BadParameter) as error:
        if not is_violated:
            raise
        typer.echo(f"The picture was not drawn: {error}", err=True)


def draw(hunted: Any, verdict: Verdict, file: Path) -> None:
    """The answers on both inputs of the witness, as histograms of the score by which they were told apart."""
    from dither.audit.attack.target import as_target
    from dither.plots.histograms import histograms
    from dither.plots.style import save

    event, target, runs = verdict.witness.event, as_target(hunted), min(_DRAWN, verdict.samples)
    inputs = {"likelier input": verdict.witness.likelier, "other input": verdict.witness.other}
    answers = {name: event.scores(target.rows(data, runs)) for name, data in inputs.items()}
    figure = histograms(answers, verdict.target, event.threshold)
    try:
        save(figure, file) if file.suffix.lower() == ".svg" else figure.savefig(file)
    except OSError as error:
        raise typer.BadParameter(f"the picture cannot be written: {error}", param_hint="--plot") from None
