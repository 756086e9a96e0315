"""diffprivlib: noise for one value at a time, and a mean."""

from importlib.metadata import version
from typing import Any

from diffprivlib import mechanisms, tools  # type: ignore[import-not-found,import-untyped,unused-ignore]

from bench.noise_case import NoiseCase, values
from bench.timing import Work


def scalar(case: NoiseCase, calls: int) -> Work:
    mechanism = _mechanism(case)
    data = values(case, calls).tolist()
    who = f"diffprivlib {version('diffprivlib')} scalar ({calls:,} samples)"
    return Work(who, calls, lambda: [mechanism.randomise(value) for value in data])


def supports(case: NoiseCase) -> bool:
    """Its discrete Gaussian takes time in proportion to the scale, so wide ones are left out."""
    return case.law == "Laplace" or case.is_real or case.scale <= 1000


def mean(values: Any, bounds: tuple[float, float]) -> object:
    """Its mean at ε = 1."""
    return tools.mean(values, epsilon=1.0, bounds=bounds)


def _mechanism(case: NoiseCase) -> Any:
    if case.law == "Laplace":
        kind = mechanisms.Laplace if case.is_real else mechanisms.Geometric
        return kind(epsilon=1 / case.scale, sensitivity=1)
    kind = mechanisms.GaussianAnalytic if case.is_real else mechanisms.GaussianDiscrete
    mechanism = kind(epsilon=1.0, delta=1e-6, sensitivity=1)
    # Its noise can only be asked for by epsilon and delta; here the scale is what must agree.
    mechanism._scale = float(case.scale)
    return mechanism
