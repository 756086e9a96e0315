"""OpenDP: exact noise, on vectors and on single values."""

from importlib.metadata import version
from typing import Any

import opendp.prelude as dp  # type: ignore[import-not-found,import-untyped,unused-ignore]

from bench.noise_case import NoiseCase, values
from bench.timing import Work

dp.enable_features("contrib")

GRIDS: tuple[int | None, ...] = (None, -20)
"""For real values: OpenDP's default grid, the finest that doubles have (2^-1074), and steps of 2^-20."""


def vectors(case: NoiseCase, size: int) -> list[Work]:
    return [_vector(case, size, grid) for grid in _grids(case)]


def scalars(case: NoiseCase, calls: int) -> list[Work]:
    return [_scalar(case, calls, grid) for grid in _grids(case)]


def released_once(case: NoiseCase, value: Any) -> None:
    """A mechanism of its own for one value, or for one list of them."""
    shape = isinstance(value, list)
    domain = dp.vector_domain(_atoms(case), size=len(value)) if shape else _atoms(case)
    _measurement(case, domain, None, vector=shape)(value)


def _vector(case: NoiseCase, size: int, grid: int | None) -> Work:
    data = values(case, size)
    measurement = _measurement(case, dp.vector_domain(_atoms(case), size=size), grid, vector=True)
    return Work(_name("vector", size, case, grid), size, lambda: measurement(data))


def _scalar(case: NoiseCase, calls: int, grid: int | None) -> Work:
    data = values(case, calls).tolist()
    measurement = _measurement(case, _atoms(case), grid, vector=False)
    return Work(_name("scalar", calls, case, grid), calls, lambda: [measurement(value) for value in data])


def _measurement(case: NoiseCase, domain: Any, grid: int | None, *, vector: bool) -> Any:
    number = "f64" if case.is_real else "i64"
    if case.law == "Laplace":
        metric = dp.l1_distance(T=number) if vector else dp.absolute_distance(T=number)
        return dp.m.make_laplace(domain, metric, scale=float(case.scale), k=grid)
    metric = dp.l2_distance(T="f64") if vector else dp.absolute_distance(T="f64")
    return dp.m.make_gaussian(domain, metric, scale=float(case.scale), k=grid)


def _atoms(case: NoiseCase) -> Any:
    return dp.atom_domain(T="f64", nan=False) if case.is_real else dp.atom_domain(T="i64")


def _grids(case: NoiseCase) -> tuple[int | None, ...]:
    return GRIDS if case.is_real else (None,)


def _name(shape: str, size: int, case: NoiseCase, grid: int | None) -> str:
    steps = "" if not case.is_real else ", default grid" if grid is None else f", grid 2^{grid}"
    return f"OpenDP {version('opendp')} {shape}{steps} ({size:,} samples)"
