"""PyDP, Google's C++ library: one value at a time; it has no vector call, so a vector is a loop."""

from importlib.metadata import version
from typing import Any

import pydp.algorithms.numerical_mechanisms as pydp  # type: ignore[import-not-found,import-untyped,unused-ignore]

from bench.noise_case import NoiseCase, values
from bench.timing import Work


def loop(case: NoiseCase, calls: int) -> Work:
    add_noise = _mechanism(case).add_noise
    data = values(case, calls).tolist()
    who = f"PyDP {version('python-dp')} loop ({calls:,} samples)"
    return Work(who, calls, lambda: [add_noise(value) for value in data])


def _mechanism(case: NoiseCase) -> Any:
    scale = float(case.scale)
    if case.law == "Laplace":
        # By sensitivity, not by a tiny epsilon: at epsilon 2^-40 its noise would be twice too wide.
        return pydp.LaplaceMechanism(1.0, scale)
    return pydp.GaussianMechanism.create_from_standard_deviation(scale)
