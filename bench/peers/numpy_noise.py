"""NumPy's own noise: fast and unsafe (floating-point holes, a generator that can be predicted)."""

import numpy as np

from bench.noise_case import NoiseCase, values
from bench.timing import Work


def vector(case: NoiseCase, size: int) -> Work:
    """NumPy has no integer noise of these laws, so integers are compared with its unrounded floats."""
    data = values(case, size).astype(np.float64)
    generator = np.random.default_rng()
    draw = generator.laplace if case.law == "Laplace" else generator.normal
    scale = float(case.scale)
    return Work("unsafe NumPy vector", size, lambda: data + draw(0.0, scale, size))
