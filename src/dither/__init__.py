"""dither: differential privacy that people can check.

    import dither as dp

Names load when they are first used, so that importing dither is quick and loads no heavy library.
"""

from __future__ import annotations

import importlib
import logging
from typing import TYPE_CHECKING, Any

from dither.version import __version__ as __version__
from dither.views import views

if TYPE_CHECKING:
    from dither import (
        accounting,
        adaptive,
        adjacency,
        audit,
        events,
        guarantees,
        mechanisms,
        pairs,
        plots,
        sensitivity,
        unit,
        workloads,
    )
    from dither.accounting import compose
    from dither.accounting.risk import calibrate
    from dither.adaptive import Oracle, ReusableHoldout
    from dither.engine import Dataset, bins, check_certificate, col, if_else
    from dither.engine.distribution_aggregates import count_distinct, histogram, max, median, min, quantile, top
    from dither.engine.moment_aggregates import count, count_people, mean, share, std, sum, variance
    from dither.engine.ratio_aggregate import ratio
    from dither.engine.stream import Stream
    from dither.estimators import solve, stats
    from dither.guarantees import ZCDP, ApproxDP, GaussianDP, PureDP, RenyiDP, TVStable
    from dither.ledger import PerPeriod
    from dither.mechanisms import (
        Exponential,
        FiniteMechanism,
        Gaussian,
        Histogram,
        KNorm,
        Laplace,
        MatrixMechanism,
        MetricExponential,
        NoAnswer,
        NoisyMax,
        ProposeTestRelease,
        RandomizedResponse,
        Release,
        ScoredSelection,
        SmoothSensitivity,
        SparseVector,
        Staircase,
        TopK,
    )
    from dither.unit import Person, Rows
    from dither.web.client import connect
    from dither.workloads import Workload

logging.getLogger("dither").addHandler(logging.NullHandler())  # silent unless the application says otherwise
views.provide(
    plots=lambda: importlib.import_module("dither.plots"), html=lambda: importlib.import_module("dither.plots.html")
)

# Public name → the package it lives in; a package stands for itself. Names without an entry live in `engine`.
_HOMES: dict[str, str | None] = {
    "ApproxDP": "guarantees",
    "Exponential": "mechanisms",
    "FiniteMechanism": "mechanisms",
    "Gaussian": "mechanisms",
    "GaussianDP": "guarantees",
    "Histogram": "mechanisms",
    "KNorm": "mechanisms",
    "Laplace": "mechanisms",
    "MatrixMechanism": "mechanisms",
    "MetricExponential": "mechanisms",
    "NoAnswer": "mechanisms",
    "NoisyMax": "mechanisms",
    "Oracle": "adaptive",
    "PerPeriod": "ledger",
    "ProposeTestRelease": "mechanisms",
    "PureDP": "guarantees",
    "RandomizedResponse": "mechanisms",
    "Release": "mechanisms",
    "RenyiDP": "guarantees",
    "ReusableHoldout": "adaptive",
    "ScoredSelection": "mechanisms",
    "SmoothSensitivity": "mechanisms",
    "SparseVector": "mechanisms",
    "Staircase": "mechanisms",
    "Stream": "engine.stream",
    "TVStable": "guarantees",
    "TopK": "mechanisms",
    "ZCDP": "guarantees",
    "Person": "unit",
    "Rows": "unit",
    "Workload": "workloads",
    "calibrate": "accounting.risk",
    "compose": "accounting",
    "connect": "web.client",
    "solve": "estimators",
    "stats": "estimators",
    "accounting": None,
    "adaptive": None,
    "adjacency": None,
    "audit": None,
    "events": None,
    "guarantees": None,
    "mechanisms": None,
    "pairs": None,
    "plots": None,
    "sensitivity": None,
    "unit": None,
    "workloads": None,
}

__all__ = [
    "ZCDP",
    "ApproxDP",
    "Dataset",
    "Exponential",
    "FiniteMechanism",
    "Gaussian",
    "GaussianDP",
    "Histogram",
    "KNorm",
    "Laplace",
    "MatrixMechanism",
    "MetricExponential",
    "NoAnswer",
    "NoisyMax",
    "Oracle",
    "PerPeriod",
    "Person",
    "ProposeTestRelease",
    "PureDP",
    "RandomizedResponse",
    "Release",
    "RenyiDP",
    "ReusableHoldout",
    "Rows",
    "ScoredSelection",
    "SmoothSensitivity",
    "SparseVector",
    "Staircase",
    "Stream",
    "TVStable",
    "TopK",
    "Workload",
    "accounting",
    "adaptive",
    "adjacency",
    "audit",
    "bins",
    "calibrate",
    "check_certificate",
    "col",
    "compose",
    "connect",
    "count",
    "count_distinct",
    "count_people",
    "events",
    "guarantees",
    "histogram",
    "if_else",
    "max",
    "mean",
    "mechanisms",
    "median",
    "min",
    "pairs",
    "plots",
    "quantile",
    "ratio",
    "sensitivity",
    "share",
    "solve",
    "stats",
    "std",
    "sum",
    "top",
    "unit",
    "variance",
    "workloads",
]

_HOMES |= {name: "engine" for name in __all__ if name not in _HOMES}


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
