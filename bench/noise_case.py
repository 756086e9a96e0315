"""The noise that is drawn, and the values it is added to: the same for ours and for every peer."""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from bench.timing import Work

Values = NDArray[np.int64] | NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class NoiseCase:
    """Laplace noise of scale `scale` or Gaussian noise of standard deviation `scale`.

    An integer scale means integers in and out, a float means real values.
    """

    law: Literal["Laplace", "Gaussian"]
    scale: int | float

    @property
    def is_real(self) -> bool:
        return isinstance(self.scale, float)

    @property
    def name(self) -> str:
        power = f"2^{self.scale.bit_length() - 1}" if isinstance(self.scale, int) else ""
        scale = power if power and self.scale >= 2**20 else f"{self.scale:g}"
        return f"{self.law} {'real' if self.is_real else 'integer'}, scale {scale}"

    @property
    def standard_deviation(self) -> float:
        """Of the continuous law; rounding to integers moves it by a few percent at scale 1."""
        return self.scale * (math.sqrt(2) if self.law == "Laplace" else 1.0)


def values(case: NoiseCase, size: int) -> Values:
    """`size` values to protect: counts up to a thousand, or measures of that size."""
    counts: NDArray[np.int64] = np.arange(size, dtype=np.int64) % 1000
    return counts + np.float64(0.3) if case.is_real else counts


def check_spread(case: NoiseCase, work: Work) -> None:
    """Refuse a contender whose noise is not of the asked width: it would be timed on other work.

    The tolerance is wide, for it is here to catch a wrong parameter, not a wrong sampler.
    """
    spread = np.std(np.asarray(work.run()) - values(case, work.samples)) / case.standard_deviation
    if not 0.8 < spread < 1.25:
        raise ValueError(f"{work.who} draws noise {spread:.2f} times as wide as {case.name}.")
