"""Accounting: the privacy cost of everything that was done, never below the truth and provably close to it.

>>> from fractions import Fraction
>>> from dither.events import GaussianNoise, LaplaceNoise, PoissonSampled, Repeated
>>> step = PoissonSampled(GaussianNoise.of(1), rate=Fraction(1, 100))
>>> lower, upper = compose([Repeated(step, times=1000)]).bracket(1e-5)
>>> print(f"{lower:.3f} ≤ ε ≤ {upper:.3f}")
1.828 ≤ ε ≤ 1.828

`compose` is for what is fixed in advance; `dither.accounting.filters` has privacy filters and odometers for choices
that depend on earlier answers; `dither.accounting.calibrate` finds the noise for a budget.
"""

from dither.accounting.bracket_search import MOST_POINTS, Bracket
from dither.accounting.composition import RELATIVE_WIDTH, Composition, WideBracket, compose, of_pairs

__all__ = ["MOST_POINTS", "RELATIVE_WIDTH", "Bracket", "Composition", "WideBracket", "compose", "of_pairs"]
