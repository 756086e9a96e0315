"""dither: differential privacy that people can check.

    import dither as dp

Names load when they are first used, so that importing dither is quick and loads no heavy library.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dither import accounting, adjacency, audit, events, measures, mechanisms, plots, unit
    from dither.accounting import compose
    from dither.estimators import stats
    from dither.measures import ZCDP, ApproxDP, GaussianDP, PureDP, RenyiDP, TVStable
    from dither.mechanisms import (
        Exponential,
        Gaussian,
        Histogram,
        Laplace,
        MetricExponential,
        NoAnswer,
        NoisyMax,
        ProposeTestRelease,
        RandomizedResponse,
        Release,
        SmoothSensitivity,
        SparseVector,
        Staircase,
        TopK,
    )

__version__ = "0.1.0.dev0"

# Public name → the room it lives in; a room stands for itself.
_HOMES = {
    "ApproxDP": "measures",
    "Exponential": "mechanisms",
    "Gaussian": "mechanisms",
    "GaussianDP": "measures",
    "Histogram": "mechanisms",
    "Laplace": "mechanisms",
    "MetricExponential": "mechanisms",
    "NoAnswer": "mechanisms",
    "NoisyMax": "mechanisms",
    "ProposeTestRelease": "mechanisms",
    "PureDP": "measures",
    "RandomizedResponse": "mechanisms",
    "Release": "mechanisms",
    "RenyiDP": "measures",
    "SmoothSensitivity": "mechanisms",
    "SparseVector": "mechanisms",
    "Staircase": "mechanisms",
    "TVStable": "measures",
    "TopK": "mechanisms",
    "ZCDP": "measures",
    "compose": "accounting",
    "stats": "estimators",
    "accounting": None,
    "adjacency": None,
    "audit": None,
    "events": None,
    "measures": None,
    "mechanisms": None,
    "plots": None,
    "unit": None,
}

__all__ = [
    "ZCDP",
    "ApproxDP",
    "Exponential",
    "Gaussian",
    "GaussianDP",
    "Histogram",
    "Laplace",
    "MetricExponential",
    "NoAnswer",
    "NoisyMax",
    "ProposeTestRelease",
    "PureDP",
    "RandomizedResponse",
    "Release",
    "RenyiDP",
    "SmoothSensitivity",
    "SparseVector",
    "Staircase",
    "TVStable",
    "TopK",
    "accounting",
    "adjacency",
    "audit",
    "compose",
    "events",
    "measures",
    "mechanisms",
    "plots",
    "stats",
    "unit",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'dither' has no attribute {name!r}. Public names: {', '.join(__all__)}.")
    home = _HOMES[name]
    room = importlib.import_module(f"dither.{home or name}")
    value = room if home is None else getattr(room, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
