"""Optimisation in private: python examples/noisy_descent.py (claims C7 and C3).

Gradient descent on clipped gradients: replacing one record moves their sum by at most twice the clipping length in ℓ₂,
so that each step is a Gaussian mechanism on a vector, and all steps are composed. Gradients are rounded towards 0, to
whole multiples of a unit, so that sums are exact. Invented data: y ≈ 2 x₁ − x₂ + ½.
"""

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dither as dp
from dither.accounting.noise_calibration import gaussian_scale

STEPS, RATE, CLIP = 60, 0.5, 2
UNIT = 2**-20
TRUTH = np.array([2.0, -1.0, 0.5])
EPSILON, DELTA = 1, "1e-6"


def records(count: int) -> tuple[NDArray[Any], NDArray[Any]]:
    """Points that fill the square evenly, and what is measured there."""
    at = np.arange(count)
    x = np.column_stack([2 * (at * 0.754877666 % 1) - 1, 2 * (at * 0.569840291 % 1) - 1, np.ones(count)])
    return x, x @ TRUTH + 0.3 * np.sin(at * 12.9898)


def gradient(x: NDArray[Any], y: NDArray[Any], weights: NDArray[Any]) -> list[int]:
    """The sum of the gradients of least squares, each of length CLIP at most, in units."""
    each = x * (x @ weights - y)[:, None]
    lengths = np.linalg.norm(each, axis=1, keepdims=True)
    clipped = each * (CLIP * (1 - 1e-9) / np.maximum(lengths, CLIP))
    total: list[int] = np.trunc(clipped / UNIT).astype(np.int64).sum(axis=0).tolist()
    return total


def descend(x: NDArray[Any], y: NDArray[Any], step: dp.Gaussian | None) -> NDArray[Any]:
    """Gradient descent; without a mechanism the exact one."""
    weights = np.zeros(x.shape[1])
    for _ in range(STEPS):
        total = gradient(x, y, weights)
        shown = total if step is None else step.release(total).value
        weights = weights - RATE * UNIT / len(x) * np.array(shown)
    return weights


def main() -> None:
    """Calibrate the noise to all steps together, then fit."""
    moved = Fraction(2 * CLIP) / Fraction(UNIT)
    sigma = gaussian_scale(releases=STEPS, sensitivity=moved, epsilon=EPSILON, delta=DELTA)
    step = dp.Gaussian(sensitivity=moved, sigma=sigma, dimension=len(TRUTH), adjacency=dp.adjacency.REPLACE_ONE)
    cost = dp.compose([step.event] * STEPS).epsilon(DELTA)
    print(f"{STEPS} steps, σ = {sigma * UNIT:.1f} each: ε = {cost:.3f} at δ = {DELTA}\n")
    print("  records   exact descent            private descent          largest error")
    for count in (1_000, 10_000, 100_000):
        x, y = records(count)
        exact, private = descend(x, y, None), descend(x, y, step)
        shown = ["  ".join(f"{w:6.3f}" for w in weights) for weights in (exact, private)]
        print(f"  {count:7,}   {shown[0]}   {shown[1]}   {np.abs(private - exact).max():.4f}")


if __name__ == "__main__":
    main()
