"""Pictures and pages of releases, guarantees and budgets; never of data.

Each picture is a matplotlib Figure, readable in print and by colour-blind people, with a sentence for those who cannot
see it (`alt_text`). Guarantees are drawn from their certified answers, so a curve never shows more privacy than they
have; releases are drawn from released numbers alone. Names load when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dither.plots.curves import Drawable, draw, loss, profile, tradeoff
    from dither.plots.errors import accuracy_by_epsilon, competing, error_by_epsilon, error_by_rows
    from dither.plots.intervals import answers
    from dither.plots.page import report
    from dither.plots.sliders import explore
    from dither.plots.spending import budget
    from dither.plots.streams import errors_over_time, over_time
    from dither.plots.style import alt_text
    from dither.plots.two_laws import outcomes

# Public name → the file it lives in, which has another name: a file would take the place of the name.
_HOMES = {
    "Drawable": "curves",
    "accuracy_by_epsilon": "errors",
    "alt_text": "style",
    "answers": "intervals",
    "budget": "spending",
    "competing": "errors",
    "draw": "curves",
    "error_by_epsilon": "errors",
    "error_by_rows": "errors",
    "errors_over_time": "streams",
    "explore": "sliders",
    "loss": "curves",
    "outcomes": "two_laws",
    "over_time": "streams",
    "profile": "curves",
    "report": "page",
    "tradeoff": "curves",
}

__all__ = [
    "Drawable",
    "accuracy_by_epsilon",
    "alt_text",
    "answers",
    "budget",
    "competing",
    "draw",
    "error_by_epsilon",
    "error_by_rows",
    "errors_over_time",
    "explore",
    "loss",
    "outcomes",
    "over_time",
    "profile",
    "report",
    "tradeoff",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'dither.plots' has no attribute {name!r}. Public names: {', '.join(__all__)}.")
    value = getattr(importlib.import_module(f"dither.plots.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
