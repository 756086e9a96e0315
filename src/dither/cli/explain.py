"""`dither explain`: a privacy parameter as risk, and as noise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from dither.cli import options
from dither.cli.screen import print_json
from dither.cli.table import print_table

if TYPE_CHECKING:
    from dither.guarantees import Guarantee

__all__ = ["command"]

_RATES = ("0.001", "0.01", "0.1")
_BASELINE = "0.001"
"""With which probability a record is reconstructed without the answer (Hayes, Mahloujifar and Balle 2023)."""
_COUNTS = (10, 100, 1_000, 10_000, 100_000)
_ASIDE = 10
"""With δ, outputs of ten times that probability are left aside unless stated otherwise."""


def command(
    epsilon: Annotated[str | None, typer.Option(metavar="NUMBER", help="The epsilon of the guarantee.")] = None,
    delta: Annotated[
        str | None, typer.Option(metavar="NUMBER", help="With epsilon: the delta of the guarantee; 0 unless given.")
    ] = None,
    rho: Annotated[str | None, typer.Option(metavar="NUMBER", help="Zero-concentrated DP, instead of epsilon.")] = None,
    mu: Annotated[str | None, typer.Option(metavar="NUMBER", help="Gaussian DP, instead of epsilon.")] = None,
    prior: Annotated[
        str, typer.Option(metavar="NUMBER", help="How sure the attacker is beforehand, as a probability.")
    ] = "0.5",
    chance: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER",
            help="Outputs of this probability in all are left aside when asking how sure the attacker may become; "
            "10 delta, or 1e-6, unless given.",
        ),
    ] = None,
    json: options.JSON = False,
) -> None:
    """Say what epsilon means, as a risk and as noise.

    The attacker knows everything except whether a person is in the data, and sees the answer. Each figure is the worst
    case over all mechanisms that keep the promise, never below the truth.

    \b
    Example:
      dither explain --epsilon 1
      dither explain --epsilon 0.5 --delta 1e-6 --prior 0.01
      dither explain --rho 0.1 --json
    """
    found = _explained(epsilon, delta, rho, mu, prior, chance)
    print_json(found) if json else _print(found)


def _explained(
    epsilon: str | None, delta: str | None, rho: str | None, mu: str | None, prior: str, chance: str | None
) -> dict[str, Any]:
    from dither.exact import rational
    from dither.guarantees import best_guess, largest_posterior

    promise = _promise(epsilon, delta, rho, mu)
    aside = rational(chance, "chance") if chance is not None else _usual_chance(delta, rho, mu)
    before = rational(prior, "prior")
    noise, error = _of_a_count(epsilon, delta, rho, mu)
    return {
        "guarantee": str(promise),
        "prior": float(before),
        "posterior_at_most": largest_posterior(promise, before, aside),
        "except_with_probability": float(aside),
        "right_guesses_without": float(max(before, 1 - before)),
        "right_guesses_at_most": best_guess(promise, before),
        "advantage_at_most": promise.tv(),
        "true_positive_rate_at_most": {rate: promise.true_positive_rate(rate) for rate in _RATES},
        "reconstruction_at_most": {_BASELINE: promise.true_positive_rate(_BASELINE)},
        "noise": noise,
        "count_error_95": error,
        "relative_error_of_a_count": {count: error / count for count in _COUNTS},
    }


def _promise(epsilon: str | None, delta: str | None, rho: str | None, mu: str | None) -> Guarantee:
    from dither.errors import ParameterError
    from dither.guarantees import ZCDP, ApproxDP, GaussianDP, PureDP

    if [epsilon, rho, mu].count(None) != 2 or (delta is not None and epsilon is None):
        raise ParameterError("give one guarantee to explain: --epsilon (with --delta or without), --rho, or --mu.")
    if rho is not None:
        return ZCDP(rho)
    if mu is not None:
        return GaussianDP(mu)
    assert epsilon is not None
    return PureDP(epsilon) if delta is None else ApproxDP(epsilon, delta)


def _usual_chance(delta: str | None, rho: str | None, mu: str | None) -> Any:
    from dither.exact import rational

    if rho is not None or mu is not None:
        return rational("1e-6")
    return min(1, _ASIDE * rational(delta, "delta")) if delta is not None else rational(0)


def _of_a_count(epsilon: str | None, delta: str | None, rho: str | None, mu: str | None) -> tuple[str, float]:
    """The noise of a count of people for this price and its error, as a plan states them."""
    from dither.engine.moment_aggregates import count_people
    from dither.engine.plan import planned
    from dither.engine.price import Terms
    from dither.exact import rational
    from dither.mechanisms import Gaussian
    from dither.unit import Neighbour, Person

    if mu is not None:
        noise = Gaussian(sensitivity=1, sigma=1 / rational(mu, "mu"))
        assert noise.for_integers is not None
        return str(noise), float(noise.for_integers.reach(rational("0.05")))
    person = Neighbour.of(Person("person", max_groups=1, max_rows_per_group=1), grouped=False)
    plan = planned({"people": count_people()}, person, False, Terms(epsilon, delta, rho, None, None, "0.95", False))
    ((_, said, _, _),) = plan.lines()
    return said, plan.error("people") or 0.0


def _print(found: dict[str, Any]) -> None:
    from dither.exact import in_percent

    typer.echo(f"{found['guarantee']}\n")
    before, aside = in_percent(found["prior"]), found["except_with_probability"]
    blind = in_percent(found["right_guesses_without"])
    rows = [
        [f"An attacker who is {before} sure becomes", in_percent(found["posterior_at_most"]), f"sure{_but(aside)}"],
        ["They guess right", in_percent(found["right_guesses_at_most"]), f"of the time; {blind} without the answer"],
        ["Their advantage is", in_percent(found["advantage_at_most"]), "(total variation)"],
    ]
    for rate, most in found["true_positive_rate_at_most"].items():
        rows.append([f"At {in_percent(float(rate))} false alarms they find", in_percent(most), "of the members"])
    for chance, most in found["reconstruction_at_most"].items():
        rows.append(
            [f"A record guessed at {in_percent(float(chance))} is guessed", in_percent(most), "with the answer"]
        )
    print_table(("the risk to a person", "at most", ""), rows, right=("at most",), prose=("the risk to a person", ""))
    typer.echo(f"\nA count of people gets noise of ±{found['count_error_95']:,.4g} (95 %), {found['noise']}:")
    sizes = [[f"{count:,}", in_percent(part)] for count, part in found["relative_error_of_a_count"].items()]
    print_table(("of a count of", "that is"), sizes, right=("of a count of", "that is"))


def _but(chance: float) -> str:
    return f", unless an answer of probability {chance:g} comes up" if chance else ""
