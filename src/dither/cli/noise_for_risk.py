"""`dither solve event.json --advantage 0.1`: the smallest noise that keeps what an attacker can do below a limit."""

from __future__ import annotations

from collections.abc import Mapping
from json import loads
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from dither.cli.screen import print_json
from dither.cli.table import print_table
from dither.errors import ParameterError

if TYPE_CHECKING:
    from dither.events import Event

__all__ = ["print_noise", "read_event", "said", "training_run"]

_USUAL_DELTA = "1e-6"


def said(**risk: str | None) -> dict[str, str]:
    """The numbers of a risk that were given, as `calibrate` takes them."""
    return {name: value for name, value in risk.items() if value is not None}


def read_event(file: Path) -> Event:
    """An event, as `dither.events.to_json` writes it."""
    from dither.events import from_json

    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise ParameterError(
            f"there is no event in {str(file)!r}, or it cannot be read. Write one: dither.events.to_json(event)."
        ) from None
    return from_json(text)


def training_run(noise: Any, rate: str, steps: int) -> Event:
    """So many batches with Gaussian noise, each a Poisson sample unless the rate is 1."""
    from dither.adjacency import ADD_REMOVE
    from dither.events import GaussianNoise, PoissonSampled, Repeated
    from dither.exact import rational

    each = GaussianNoise.of(noise, adjacency=ADD_REMOVE)
    share = rational(rate, "rate")
    return Repeated(each if share == 1 else PoissonSampled(each, share), steps)


def print_noise(
    source: str | None, steps: int | None, rate: str | None, risk: Mapping[str, str], delta: str | None, *, json: bool
) -> None:
    """Find the noise of an event in a file, or of a training run. No data is read, and nothing is spent."""
    from dither.accounting.risk import calibrate
    from dither.events import to_json

    if (source is None) == (steps is None) or (source is not None and rate is not None):
        raise ParameterError(
            "say what the noise is for: an event in a file, such as `dither solve event.json --advantage 0.1`, or a "
            "training run: --steps, with --rate or without."
        )
    if source is not None:
        found = calibrate(read_event(Path(source)), **risk)
    else:
        assert steps is not None
        found = calibrate(lambda scale: training_run(scale, rate or "1", steps), **risk)
    shown = delta or _USUAL_DELTA
    epsilon = found.guarantee.epsilon(shown)
    if json:
        print_json(
            {
                "scale": found.scale,
                "risk": {"lower": found.risk.lower, "upper": found.risk.upper},
                "epsilon": epsilon,
                "delta": shown,
                "event": loads(to_json(found.event)),
            }
        )
        return
    what = "The smallest factor on all noise" if source is not None else "The smallest noise multiplier"
    typer.echo(f"{what} is {found.scale:.6g}.\n{found.event}\n")
    rows = [
        [f"The {_name(risk)}", f"{found.risk.upper:.6g}", f"and not below {found.risk.lower:.6g}"],
        [f"ε at δ = {shown}", f"{epsilon:.6g}", ""],
    ]
    print_table(("", "at most", "  "), rows, right=("at most",), prose=("", "  "))


def _name(risk: Mapping[str, str]) -> str:
    """What is limited, and under which condition."""
    first, *others = risk
    words = {"tpr": "true positive rate", "fpr": "false positive rate", "guess": "rate of right guesses"}
    given = ", ".join(f"{words.get(name, name)} {risk[name]}" for name in others)
    return words.get(first, first) + (f" ({given})" if given else "")
