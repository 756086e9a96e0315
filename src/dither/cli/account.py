"""`dither account`: what a training run costs, as ε and as risk, and the noise for a given one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dither.cli import options
from dither.cli.noise_for_risk import read_event, said, training_run
from dither.cli.screen import print_json
from dither.cli.table import print_table

if TYPE_CHECKING:
    from dither.accounting import Composition
    from dither.events import Event

__all__ = ["command"]

_RATES = ("0.001", "0.01", "0.1")


@options.asks_for_risk
def command(
    source: Annotated[
        Path | None, typer.Argument(metavar="[EVENT.json]", help="An event of dither, in place of a training run.")
    ] = None,
    noise: Annotated[
        str | None,
        typer.Option(metavar="NUMBER", help="Noise multiplier: σ over the clipping length. Left out: it is found."),
    ] = None,
    rate: Annotated[
        str, typer.Option(metavar="NUMBER", help="Sample rate: the probability that a record is in a batch.")
    ] = "1",
    steps: Annotated[int | None, typer.Option(metavar="N", help="How many batches.")] = None,
    epochs: Annotated[str | None, typer.Option(metavar="NUMBER", help="Or how many epochs: steps times rate.")] = None,
    delta: Annotated[str, typer.Option(metavar="NUMBER", help="The δ at which ε is shown.")] = "1e-6",
    epsilon: Annotated[str | None, typer.Option(metavar="NUMBER", help="Find the noise for this ε at δ.")] = None,
    plot: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw the trade-off of an attacker.")] = None,
    json: options.JSON = False,
    **_risk: str | None,
) -> None:
    """Account for a training run, or find its noise.

    Poisson-sampled Gaussian noise, as Opacus and JAX-Privacy name its numbers; a record comes or goes.
    Leave out --noise and say --epsilon or a risk, such as --advantage, or --tpr and --fpr: the smallest noise is found.
    It reads no data.

    \b
    Example:
      dither account --noise 1.1 --rate 0.01 --epochs 10 --delta 1e-5
      dither account --rate 0.01 --steps 1000 --advantage 0.1
      dither account --noise 1.1 --rate 0.01 --steps 1000 --plot curve.svg
    """
    risk = said(epsilon=epsilon, **_risk)
    if epsilon is not None:
        risk["delta"] = delta
    if plot is not None:
        from dither.cli.files import check_place

        check_place("plot", plot)
    done, multiplier = _done(source, noise, rate, _steps(steps, epochs, rate), risk)
    from dither.accounting import compose

    whole = compose([done], relative_width=1e-5)
    found = _shown(whole, delta, multiplier, str(done))
    if plot is not None:
        whole.plot("tradeoff").savefig(plot)
    print_json(found) if json else _print(found)


def _steps(steps: int | None, epochs: str | None, rate: str) -> int | None:
    from math import ceil

    from dither.errors import ParameterError
    from dither.exact import check, rational

    if steps is not None and epochs is not None:
        raise ParameterError("give --steps or --epochs, not both.")
    if epochs is None:
        return steps
    passes, share = rational(epochs, "epochs"), rational(rate, "rate")
    check.positive(epochs=passes, rate=share)
    return ceil(passes / share)


def _done(
    source: Path | None, noise: str | None, rate: str, steps: int | None, risk: dict[str, str]
) -> tuple[Event, float | None]:
    """The event, and the noise multiplier of a training run."""
    from dither.accounting.risk import calibrate
    from dither.errors import ParameterError
    from dither.exact import rational

    if source is not None:
        if noise is not None or steps is not None or risk:
            raise ParameterError("an event says all of it: leave out the numbers of a training run.")
        return read_event(source), None
    if steps is None or (noise is None) == (not risk):
        raise ParameterError(
            "give --steps or --epochs, and --noise or what it is to be found for: --epsilon, --advantage, --tpr and "
            "--fpr, or another risk."
        )

    if noise is not None:
        return training_run(noise, rate, steps), float(rational(noise, "noise"))
    found = calibrate(lambda scale: training_run(scale, rate, steps), **risk)
    return found.event, found.scale


def _shown(whole: Composition, delta: str, multiplier: float | None, said: str) -> dict[str, Any]:
    from dither.guarantees import best_guess

    lower, upper = whole.bracket(delta)
    return {
        "event": said,
        "noise_multiplier": multiplier,
        "delta": delta,
        "epsilon": upper,
        "epsilon_at_least": lower,
        "advantage_at_most": whole.tv(),
        "right_guesses_at_most": best_guess(whole),
        "true_positive_rate_at_most": {rate: whole.true_positive_rate(rate) for rate in _RATES},
    }


def _print(found: dict[str, Any]) -> None:
    from dither.exact import in_percent

    typer.echo(f"{found['event']}\n")
    rows = [
        [f"ε at δ = {found['delta']}", f"{found['epsilon']:.6g}", f"and not below {found['epsilon_at_least']:.6g}"],
        ["An attacker's advantage", in_percent(found["advantage_at_most"]), "(total variation)"],
        ["They guess right", in_percent(found["right_guesses_at_most"]), "of the time; 50 % without the output"],
    ]
    for rate, most in found["true_positive_rate_at_most"].items():
        rows.append([f"At {in_percent(float(rate))} false alarms they find", in_percent(most), "of the members"])
    if found["noise_multiplier"] is not None:
        rows.insert(0, ["Noise multiplier", f"{found['noise_multiplier']:.6g}", ""])
    print_table(("", "at most", "  "), rows, right=("at most",), prose=("", "  "))
