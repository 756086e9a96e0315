"""The price of a wish: the smallest ε at which every column that was named is as exact as was asked for.

It inverts `planned`, which says the error of a price and reads no data. The error of Laplace noise falls about as 1/ε,
so the logarithm of the error is nearly a line over that of the price, and a few steps lead to where it is what was
asked; counts have whole errors, so every other step halves. With δ the same is done for ρ of Gaussian noise, which is
planned far faster than (ε, δ), and read as ε at the end. What is found is planned once more, exactly as a release would
be: it holds, or a little is added until it does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction

from dither.accounting import compose
from dither.engine.plan import Plan
from dither.engine.price import Terms
from dither.errors import ParameterError
from dither.exact import Number, check, rational
from dither.exact.certified import read_above

__all__ = ["Wish", "smallest_epsilon", "wishes"]

_NEAR = 1.004
"""How near the price comes to the smallest one, as a ratio."""
_ASIDE = 1.0015
"""So much beyond where the error is likely what was asked goes a step: the next one comes from the other side."""
_CALIBRATED = 1.001
"""What the ρ that a plan finds for (ε, δ) may be short of the largest one."""
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

    def ratios(at: Terms) -> dict[str, float]:
        made = plan(at)
        return {name: _ratio(made, name, amount, rows) for name, amount in amounts.items()}

    def smallest(at: Callable[[Fraction], Terms], start: float, each: dict[str, float]) -> float:
        """That of the worst column; most others are kept at its price, and if not, the worst of them is next."""
        found = start
        for _ in asked:
            worst = max(each, key=lambda name: each[name])

            def ratio(price: Fraction, name: str = worst) -> float:
                try:
                    made = plan(at(price))
                except ParameterError:
                    if price < 1:
                        return math.inf  # at 1 there is a plan, and here its noise would be too large for an answer
                    raise
                return _ratio(made, name, amounts[name], rows)

            found = _smallest(ratio, found, each[worst])
            each = ratios(at(Fraction(found)))
            if max(each.values()) <= 1:
                break
        return found

    def laplace(price: Fraction) -> Terms:
        return replace(terms, epsilon=price, noise="laplace")

    def gaussian(price: Fraction) -> Terms:
        return replace(terms, epsilon=None, delta=None, rho=price, noise=None)

    first = plan((gaussian if terms.noise == "gaussian" else laplace)(Fraction(1)))
    amounts = {name: _amount(first, name, wish, rows) for name, wish in asked.items()}
    prices = list[float]()
    if terms.delta is not None and terms.noise != "laplace" and not finds:
        event = plan(gaussian(Fraction(smallest(gaussian, 1.0, ratios(gaussian(Fraction(1))))))).event
        prices.append(float(read_above(compose([event]).epsilon(terms.delta))) * _CALIBRATED)
    if terms.noise != "gaussian":
        start = prices[0] if prices else 1.0
        each = ratios(laplace(Fraction(start)))
        if not prices or max(each.values()) <= 1:  # else it costs more
            prices.append(smallest(laplace, start, each))
    for price in sorted(prices):  # at the smaller one, the plan may take the other noise
        found = Fraction(price)
        for _ in range(_MOST_ADDED if price == max(prices) else 1):
            rounded = _rounded_up(found)
            if terms.delta is None or finds or max(ratios(replace(terms, epsilon=rounded)).values()) <= 1:
                return float(rounded)
            found = rounded * _MORE
    raise ParameterError("no epsilon was found for this error. Ask for a larger one, or say noise='laplace'.")


def _ratio(plan: Plan, name: str, amount: float, rows: int | None) -> float:
    """The error of a column, as a multiple of what is asked."""
    error = plan.error(name, rows)
    if error is None:
        raise ParameterError(
            f"{name} is chosen, not added noise to, so no error of it is known before the answer. Name the other "
            "columns: error={...}."
        )
    return error / amount


def _amount(plan: Plan, name: str, wish: Wish, rows: int | None) -> float:
    """The error that is asked of a column; what is expected of it is a supposition, whatever the price is."""
    _ratio(plan, name, wish.amount, rows)
    if not wish.is_relative:
        return wish.amount
    if rows is None:
        raise ParameterError(f"a share of {name} depends on how many rows a group has. Give them: rows=1000.")
    expected = abs(plan.expected(name, rows))
    if not expected > 0:
        raise ParameterError(
            f"{name} is expected to be 0, so that no relative error can be stated. Ask for error=... instead."
        )
    return wish.amount * expected


def _smallest(worst: Callable[[Fraction], float], start: float, first: float) -> float:
    """The smallest price at which `worst` is 1 or less, to a thousandth; it falls as the price rises.

    It is `first` at `start`.
    """
    fails, holds, at, ratio = (0.0, math.inf), (math.inf, 0.0), start, first
    for tried in range(_MOST_TRIES):
        if ratio <= 1:
            holds = at, ratio
        else:
            fails = at, ratio
        if holds[0] <= fails[0] * _NEAR:
            return holds[0]
        if not fails[0] or math.isinf(holds[0]):
            step = min(max(ratio, 1 / _LONGEST_STEP), _LONGEST_STEP)
            least = _NEAR ** (1 << min(tried, _DOUBLINGS))  # ever longer, where the error hardly depends on the price
            at *= max(step * _ASIDE, least) if ratio > 1 else min(step / _ASIDE, 1 / least)
        else:
            at = _between(fails, holds) if tried % 3 else math.sqrt(fails[0] * holds[0])
        if at < _SMALLEST:
            return holds[0]
        if at > _LARGEST:
            break
        ratio = worst(Fraction(at))
    raise ParameterError(
        f"no price up to {_LARGEST:,.0f} gives this error: part of it does not depend on the price. Ask for a larger "
        "error, or for more rows."
    )


def _between(fails: tuple[float, float], holds: tuple[float, float]) -> float:
    """Where the line through both, of logarithms, is 1; a little to the side of the farther one, to close in on it."""
    (low, above), (high, below) = fails, holds
    if not (math.isfinite(above) and below > 0):
        return math.sqrt(low * high)
    part = math.log(above) / (math.log(above) - math.log(below))
    guess = low * (high / low) ** part
    aside = guess * _ASIDE if guess / low < high / guess else guess / _ASIDE
    return aside if low < aside < high else math.sqrt(low * high)


def _rounded_up(value: Fraction) -> Fraction:
    return Fraction(_DIGITS.divide(Decimal(value.numerator), Decimal(value.denominator)))
