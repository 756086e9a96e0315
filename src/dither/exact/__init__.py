"""The numbers that privacy rests on: rationals, balls, outward rounding, border checks, exact comparison.

Nothing in this package knows about privacy. Everything above it relies on three promises:

* a parameter has one meaning (`rational`), so ``0.1`` is 1/10 and ``3 × 0.1 ≤ 0.3`` holds;
* a real number is a ball that contains it (`balls`), and becomes a float only in a stated direction;
* a uniform random real is compared with a computable real without error (`uniform_is_below`).
"""

from dither.exact import check
from dither.exact.balls import Ball, Real, ball, lower, precision, upper
from dither.exact.compare import is_below, uniform_is_below
from dither.exact.frozen import once, set_fields, shared
from dither.exact.number_texts import in_percent, in_words, rounded
from dither.exact.numbers import Number, is_unicode, listed, plain, plain_entries, rational, relative_rounding, whole

__all__ = [
    "Ball",
    "Number",
    "Real",
    "ball",
    "check",
    "in_percent",
    "in_words",
    "is_below",
    "is_unicode",
    "listed",
    "lower",
    "once",
    "plain",
    "plain_entries",
    "precision",
    "rational",
    "relative_rounding",
    "rounded",
    "set_fields",
    "shared",
    "uniform_is_below",
    "upper",
    "whole",
]
