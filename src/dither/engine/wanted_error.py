"""The price of a wish: the smallest ε at which every column that was named is as exact as was asked for.

It inverts `planned`, which says the error of a price and reads no data. The error of Laplace noise falls as 1/ε, so a
few steps of error/wanted lead to the price; counts have whole errors, so it is then halved down to a thousandth. With
δ the same is done for ρ of Gaussian noise, which is planned far faster than (ε, δ), and read as ε at the end.
What is found is planned once more, exactly as a release would be: it holds, or a little is added until it does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import partial

from dither.accounting import compose
from dither.engine.plan import Plan
from dither.engine.price import Terms
from dither.errors import ParameterError
from dither.exact import Number, check, rational
from dither.exact.certified import read_above

__all__ = ["Wish", "smallest_epsilon", "wishes"]

_NEAR = 1.001
"""How near the price comes to the smallest one, as a ratio."""
_SMALLEST, _LARGEST = 1e-9, 1e6
_LONGEST_STEP = 64.0
_MOST_TRIES = 80
_DOUBLINGS = 12
_DIGITS = Context(prec=4, rounding=ROUND_CEILING)
_MORE = Fraction(1002, 1000)
_MOST_ADDED = 10


@dataclass(frozen=True, slots=True)
class Wish:
    """How exact a column is to be: an error in its own unit, or a share of what is expected of it."""

    amount: float
    is_relative: bool


def wishes(
    error: Number | Mapping[str, Number] | None, relative: Number | Mapping[str, Number] | None, columns: list[str]
) -> dict[str, Wish]:
    """What is asked of each column; one number is asked of all."""
    found: dict[str, Wish] = {}
    for said, name, is_relative in ((error, "error", False), (relative, "relative", True)):
        each = said if isinstance(said, Mapping) else {} if said is None else dict.fromkeys(columns, said)
        for column, amount in each.items():
            if column not in columns:
                raise ParameterError(f"{name} names the columns of the answer: {', '.join(columns)}; got {column!r}.")
            if column in found:
                raise ParameterError(f"column {column!r} has an error and a relative one. Ask for one of them.")
            exact = rational(amount, f"the {name} of {column}")
            check.positive(**{f"{name} of {column}": exact})
            found[column] = Wish(float(exact), is_relative)
    if not found:
        raise ParameterError("say how exact the answer is to be: error=100, relative=0.05, or error={'visits': 100}.")
    return found


def smallest_epsilon(
    plan: Callable[[Terms], Plan], terms: Terms, asked: Mapping[str, Wish], rows: int | None, *, finds: bool
) -> float:
    """The smallest ε, to four digits and rounded up, at which `plan` promises what is asked.

    `finds` tells whether groups or values are found in the data: then the noise is Laplace's.
    """

    def ratio(name: str, at: Terms) -> float:
        return _ratio(plan(at), name, asked[name], rows)

    def smallest(at: Callable[[Fraction], Terms]) -> float:
        """Column by column: most are kept already at the price of another."""
        found = 0.0
        for name in asked:
            if not found or ratio(name, at(Fraction(found))) > 1:
                found = _smallest(partial(_of_column, ratio, name, at), found or 1.0)
        return found

    candidates = []
    if terms.noise != "gaussian":
        candidates.append(smallest(lambda x: replace(terms, epsilon=x, noise="laplace")))
    if terms.delta is not None and terms.noise != "laplace" and not finds:
        rho = smallest(lambda x: replace(terms, epsilon=None, delta=None, rho=x, noise=None))
        event = plan(replace(terms, epsilon=None, delta=None, rho=Fraction(rho), noise=None)).event
        candidates.append(float(read_above(compose([event]).epsilon(terms.delta))))
    found = Fraction(min(candidates))
    for _ in range(_MOST_ADDED):
        rounded = _rounded_up(found)
        if terms.delta is None or finds or all(ratio(name, replace(terms, epsilon=rounded)) <= 1 for name in asked):
            return float(rounded)
        found = rounded * _MORE
    raise ParameterError("no epsilon was found for this error. Ask for a larger one, or say noise='laplace'.")


def _of_column(
    ratio: Callable[[str, Terms], float], name: str, at: Callable[[Fraction], Terms], price: Fraction
) -> float:
    return ratio(name, at(price))


def _ratio(plan: Plan, name: str, wish: Wish, rows: int | None) -> float:
    """The error of a column, as a multiple of what is asked."""
    error = plan.error(name, rows)
    if error is None:
        raise ParameterError(
            f"{name} is chosen, not added noise to, so no error of it is known before the answer. Name the other "
            "columns: error={...}."
        )
    if not wish.is_relative:
        return error / wish.amount
    if rows is None:
        raise ParameterError(f"a share of {name} depends on how many rows a group has. Give them: rows=1000.")
    expected = abs(plan.expected(name, rows))
    if not expected > 0:
        raise ParameterError(f"{name} is expected to be 0, of which no share can be told. Ask for error=... instead.")
    return error / (wish.amount * expected)


def _smallest(worst: Callable[[Fraction], float], start: float) -> float:
    """The smallest price at which `worst` is 1 or less, to a thousandth; it falls as the price rises."""
    fails, holds, at = 0.0, math.inf, start
    for tried in range(_MOST_TRIES):
        ratio = worst(Fraction(at))
        if ratio <= 1:
            holds = at
        else:
            fails = at
        if holds <= fails * _NEAR:
            return holds
        step = min(max(ratio, 1 / _LONGEST_STEP), _LONGEST_STEP)
        least = _NEAR ** (1 << min(tried, _DOUBLINGS))  # ever longer, where the error hardly depends on the price
        guess = at * (max(step, least) if ratio > 1 else min(step, 1 / least))
        is_open = not fails or math.isinf(holds)
        at = guess if is_open or (fails < guess < holds and tried % 2 == 0) else math.sqrt(fails * holds)
        if at < _SMALLEST:
            return holds
        if at > _LARGEST:
            break
    raise ParameterError(
        f"no price up to {_LARGEST:,.0f} gives this error: part of it does not depend on the price. Ask for a larger "
        "error, or for more rows."
    )


def _rounded_up(value: Fraction) -> Fraction:
    return Fraction(_DIGITS.divide(Decimal(value.numerator), Decimal(value.denominator)))
