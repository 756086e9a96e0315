"""dither's own noise, in the same shape as the peers."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from bench.noise_case import NoiseCase, values
from bench.timing import Work
from dither.noise import DiscreteGaussian, DiscreteLaplace, Grid, Law, add_integers


def vector(case: NoiseCase, size: int) -> Work:
    release = _release(case)
    data = values(case, size)
    return Work("dither", size, lambda: release(data))


def scalar(case: NoiseCase, calls: int) -> Work:
    release = _release(case)
    data = values(case, calls).tolist()
    return Work("dither", calls, lambda: [release(value) for value in data])


def _release(case: NoiseCase) -> Callable[[Any], object]:
    """Value plus noise, with the law and the grid made once, as the peers' mechanisms are."""
    scale = Fraction(case.scale)
    if not case.is_real:
        law = _integer_law(case, scale)
        return lambda value: add_integers(value, law)
    grid = Grid.for_scale(scale)
    law = _integer_law(case, scale / grid.step)
    return lambda value: grid.add(value, law)


def _integer_law(case: NoiseCase, scale: Fraction) -> Law:
    return DiscreteLaplace(scale) if case.law == "Laplace" else DiscreteGaussian.from_sigma(scale)
