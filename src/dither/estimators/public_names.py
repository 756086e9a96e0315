"""The public names of `dither.estimators`, which it takes from here when one of them is first used."""

from dither.estimators import stats as stats
from dither.estimators.answer import Estimate as Estimate
from dither.estimators.solving import Option as Option
from dither.estimators.solving import Solution as Solution
from dither.estimators.solving import solve as solve
