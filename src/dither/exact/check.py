"""Border checks. Each takes named values, so that the message can say which one broke the rule.

Every rule is asked as ``if not value > 0``: NaN fails each of them. Values are public parameters, so the
message may show them.
"""

from __future__ import annotations

from fractions import Fraction
from inspect import signature
from typing import Any

from dither.errors import ParameterError
from dither.exact.numbers import whole

__all__ = ["at_least", "between", "count", "distinct", "nonnegative", "positive", "probability", "takes"]


def positive(**named: Any) -> None:
    """Each value is greater than 0."""
    for name, value in named.items():
        # A fraction has the sign of its numerator, and is slower to compare.
        if not (value.numerator if type(value) is Fraction else value) > 0:
            raise ParameterError(f"{name} must be greater than 0, got {name}={value}. Give a positive number.")


def nonnegative(**named: Any) -> None:
    """Each value is 0 or greater."""
    for name, value in named.items():
        if not value >= 0:
            raise ParameterError(f"{name} must not be negative, got {name}={value}. Give 0 or more.")


def probability(**named: Any) -> None:
    """Each value lies in [0, 1]."""
    for name, value in named.items():
        if not 0 <= value <= 1:
            raise ParameterError(f"{name} must lie between 0 and 1, got {name}={value}.")


def at_least(least: Any, **named: Any) -> None:
    """Each value is `least` or greater."""
    for name, value in named.items():
        if not value >= least:
            raise ParameterError(f"{name} must be at least {least}, got {name}={value}.")


def between(low: Any, high: Any, **named: Any) -> None:
    """Each value lies strictly between `low` and `high`."""
    for name, value in named.items():
        if not low < value < high:
            raise ParameterError(f"{name} must lie strictly between {low} and {high}, got {name}={value}.")


def distinct(**named: Any) -> None:
    """Each is a sequence of hashable values, all different."""
    for name, values in named.items():
        try:
            different = len(set(values))
        except TypeError:
            raise ParameterError(f"{name} must be hashable. Give tuples in place of lists or arrays.") from None
        if different != len(values):
            raise ParameterError(
                f"{name} must be all different, got {different} different ones of {len(values)}. Give each once."
            )


def count(least: int = 1, **named: Any) -> None:
    """Each value is a whole number (see `whole`) of at least `least`."""
    for name, value in named.items():
        at_least(least, **{name: whole(value, name)})


def takes(values: int, **named: Any) -> None:
    """Each is a function that can be called with so many values, as far as its signature tells."""
    for name, function in named.items():
        wanted = f"{name} must be a function of {_NUMBERS[values]}"
        if not callable(function):
            raise ParameterError(f"{wanted}, got the type {type(function).__name__}. Give a function or a lambda.")
        try:
            known = signature(function)
        except (TypeError, ValueError):  # of many functions in C nothing is known
            continue
        try:
            known.bind(*[None] * values)
        except TypeError as problem:
            raise ParameterError(f"{wanted}, got one that cannot be called so: {problem}.") from None


_NUMBERS = {1: "one value", 2: "two values"}
