"""Tails of sums of noise, against the definition."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.signal import fftconvolve

from dither.estimators.noise_tails import NoiseLaw, beyond, reach

SCALES = [[1.0], [1.0, 1.0], [1.0, 0.5], [0.2, 3.0], [1.0, 1.0, 1.0], [2.0, -0.5, 0.0], [1.0, 0.999, 1e-9], [0.0, 0.0]]


def by_definition(x: float, scales: list[float], normal: float) -> float:
    """The densities one after the other on a fine mesh."""
    mesh = np.linspace(-60, 60, 24_001)
    step = mesh[1] - mesh[0]
    density = np.zeros(len(mesh))
    density[len(mesh) // 2] = 1 / step
    parts = [np.exp(-np.abs(mesh) / abs(a)) / (2 * abs(a)) for a in scales if abs(a) > 0.01]
    if normal:
        parts.append(np.exp(-((mesh / normal) ** 2) / 2) / (normal * np.sqrt(2 * np.pi)))
    for part in parts:
        density = fftconvolve(density, part, mode="same") * step
    return float(density[np.abs(mesh) > x].sum() * step)


@pytest.mark.parametrize("normal", [0.0, 1.5])
@pytest.mark.parametrize("scales", SCALES, ids=str)
def test_a_tail_is_that_of_the_definition_or_little_more(scales: list[float], normal: float) -> None:
    for x in (0.5, 2.0, 7.0):
        exact = by_definition(x, scales, normal)
        found = beyond(x, scales, normal)
        # Scales that are set apart by a hundredth move e^{−x/a} by x/100 parts, twice.
        assert exact * 0.99 - 1e-4 <= found <= exact * (1.03 + 0.03 * x) + 1e-4


@pytest.mark.parametrize("miss", [0.3, 0.05, 1e-9, 1e-290])
@pytest.mark.parametrize("normal", [0.0, 1.5])
@pytest.mark.parametrize("scales", SCALES[:-1], ids=str)
def test_the_reach_is_where_the_tail_is_what_was_asked_for(scales: list[float], normal: float, miss: float) -> None:
    far = reach(scales, miss, normal)
    assert beyond(far, scales, normal) == pytest.approx(miss, rel=1e-5)
    assert beyond(far * 0.99, scales, normal) > miss


@pytest.mark.parametrize("scale", [1e-9, 0.7, 1e12])
@pytest.mark.parametrize("weights", [[1.0], [1.0, 1.0], [0.2, 1.0, 0.5]], ids=str)
def test_a_reach_grows_with_the_scale(weights: list[float], scale: float) -> None:
    for is_normal in (False, True):
        law, scales = NoiseLaw(scale, is_normal), [scale * weight for weight in weights]
        plain = reach([], 0.05, np.linalg.norm(scales)) if is_normal else reach(scales, 0.05)
        assert law.reach(weights, 0.05) == pytest.approx(float(plain), rel=1e-12)


def test_huge_and_tiny_normals_do_not_overflow() -> None:
    for normal in (1e-6, 1e6):
        assert 0 < beyond(1.0, [1.0, 0.3], normal) < 1
        assert np.isfinite(reach([1.0, 0.3], 1e-12, normal))
