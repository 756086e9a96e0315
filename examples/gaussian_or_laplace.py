"""Gaussian against Laplace noise in high dimension: python examples/gaussian_or_laplace.py (claim C29).

One person moves each of k counts by at most 1: Δ₁ = k and Δ₂ = √k. Laplace noise of scale k/ε is ε-DP, Gaussian noise
is (ε, δ)-DP with σ growing as √k only. From which dimension on does Gaussian noise have the smaller deviation?
"""

import math

import dither as dp

DELTA = "1e-6"


def deviations(dimension: int, epsilon: str) -> tuple[float, float]:
    """Standard deviations of Laplace and of exactly calibrated Gaussian noise on each coordinate."""
    laplace = math.sqrt(2) * float(dp.Laplace(sensitivity=dimension, epsilon=epsilon).scale)
    gaussian = dp.Gaussian(sensitivity_squared=dimension, epsilon=epsilon, delta=DELTA).sigma
    return laplace, gaussian


def crossover(epsilon: str) -> int:
    """The first dimension in which Gaussian noise is the narrower, by trying them one after the other."""
    dimension = 1
    while True:
        laplace, gaussian = deviations(dimension, epsilon)
        if gaussian <= laplace:
            return dimension
        dimension += 1


def main() -> None:
    """The deviations at ε = 1, and the cross-over for several ε."""
    print(f"ε = 1, δ = {DELTA}: standard deviation of the noise on each of k counts\n")
    print("       k     Laplace    Gaussian")
    for dimension in (1, 3, 10, 30, 100, 1000):
        laplace, gaussian = deviations(dimension, "1")
        better, ratio = ("Laplace", gaussian / laplace) if laplace < gaussian else ("Gaussian", laplace / gaussian)
        print(f"  {dimension:6d} {laplace:11.2f} {gaussian:11.2f}   {better} is better, {ratio:.1f}×")
    print("\nGaussian noise is the better one from this dimension on:")
    for epsilon in ("0.1", "1", "4"):
        print(f"  ε = {epsilon:4} k = {crossover(epsilon)}")
    print("\nLaplace noise promises more, though: no δ. With δ it composes better than its kε says:")
    tight = dp.compose([dp.events.Repeated(dp.Laplace(sensitivity=1, scale=100).event, 100)]).epsilon(DELTA)
    print(f"  100 counts with Laplace noise of scale 100 are 1-DP, and ({tight:.2f}, {DELTA})-DP.")


if __name__ == "__main__":
    main()
