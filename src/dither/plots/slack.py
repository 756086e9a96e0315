"""How far promises are from the truth."""

from __future__ import annotations

from collections.abc import Mapping

from dither.errors import ParameterError
from dither.plots.style import Figure, described, new_axes

__all__ = ["slack"]


def slack(ranges: Mapping[str, tuple[float, float]]) -> Figure:
    """For each named promise, promise ÷ truth from its tightest to its loosest point, on a logarithmic axis."""
    if not ranges:
        raise ParameterError("there is nothing to draw. Give at least one promise.")
    figure, axes = new_axes("Promise over truth", "slack (1 is tight)", "claim")
    figure.set_figheight(max(2.0, 0.8 + 0.2 * len(ranges)))
    names = list(ranges)[::-1]
    least, most = zip(*(ranges[name] for name in names), strict=True)
    axes.set_xscale("log")
    axes.hlines(names, least, most, color="#0072B2", linewidth=3)
    axes.plot(least, names, "o", color="#0072B2", markersize=4)
    axes.axvline(1.0, color="#000000", linewidth=0.8)
    axes.tick_params(axis="y", labelsize=8)
    loosest = max(ranges, key=lambda name: ranges[name][1])
    return described(figure, f"Promise over truth of {len(ranges)} claims; the loosest is {loosest}.")
