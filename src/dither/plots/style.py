"""One look for all pictures: small, quiet, distinguishable without colour.

The only file that imports matplotlib, which `pip install dither` does not bring.
"""

from __future__ import annotations

import base64
import warnings
from io import BytesIO
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from dither.errors import MissingPackage, ParameterError

try:
    import matplotlib as mpl
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator, StrMethodFormatter
except ModuleNotFoundError:
    raise MissingPackage("pictures and reports need matplotlib. Install it: pip install 'dither[plots]'.") from None

__all__ = [
    "Axes",
    "Figure",
    "MaxNLocator",
    "alt_text",
    "data_uri",
    "described",
    "legend_below",
    "new_axes",
    "new_panels",
    "save",
    "strokes",
    "thousands",
]

# Okabe and Ito (2008): distinguishable with every common form of colour blindness.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)))


def new_axes(title: str, x_label: str, y_label: str, ax: Axes | None = None) -> tuple[Figure, Axes]:
    """A picture with its labels, on `ax` or empty. An empty one belongs to no window and leaves no global state."""
    if ax is not None and not isinstance(ax, Axes):
        raise ParameterError(f"ax must be axes of matplotlib, got the type {type(ax).__name__}.")
    axes = _plain(Figure(figsize=(5.2, 3.6), dpi=150, layout="constrained").add_subplot()) if ax is None else ax
    figure = axes.get_figure(root=True)
    assert figure is not None
    axes.set_title(title, fontsize=11)
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    return figure, axes


def new_panels(count: int, height: float) -> tuple[Figure, list[Axes]]:
    """Empty panels beside each other, at most three in a row; `height` of each in inches."""
    across = min(count, 3)
    down = -(-count // across)
    figure = Figure(figsize=(1.6 + 3.6 * across, height * down), dpi=150, layout="constrained")
    return figure, [_plain(figure.add_subplot(down, across, at + 1)) for at in range(count)]


def _plain(axes: Axes) -> Axes:
    axes.grid(visible=True, linewidth=0.4, alpha=0.5)
    axes.spines[["top", "right"]].set_visible(False)
    return axes


def thousands(axis: Axis) -> None:
    """Few numbers on an axis, with separators."""
    axis.set_major_locator(MaxNLocator(5))
    axis.set_major_formatter(StrMethodFormatter("{x:,g}"))
    axis.set_tick_params(labelsize=8)


def legend_below(axes: Axes) -> None:
    """The legend where nothing is drawn. Names are text, also if they look like formulas."""
    legend = axes.legend(fontsize=8, frameon=False, loc="upper center", bbox_to_anchor=(0.5, -0.12), ncols=3)
    for text in legend.get_texts():
        text.set_parse_math(False)


def strokes(count: int) -> list[dict[str, Any]]:
    """Line styles that differ both in colour and in dashes."""
    pairs = zip(cycle(_COLOURS), cycle(_DASHES), strict=False)
    return [{"color": colour, "linestyle": dashes, "linewidth": 1.6} for colour, dashes in islice(pairs, count)]


def described(figure: Figure, words: str) -> Figure:
    """The figure, with a sentence for those who cannot see it."""
    figure.set_label(words)
    return figure


def alt_text(figure: Figure) -> str:
    """Describe a figure of dither in a sentence, for those who cannot see it.

    Parameters
    ----------
    figure : matplotlib.figure.Figure
        A figure that `dp.plots` drew.

    Returns
    -------
    str
        The sentence.
    """
    titles = ", ".join(axes.get_title() for axes in figure.axes if axes.get_title())
    return str(figure.get_label()) or titles or "a picture"


def save(figure: Figure, path: Path) -> Path:
    """Write the picture as SVG and say where it is: text stays text, and the same picture gives the same bytes."""
    path.write_bytes(_svg(figure))
    return path


def data_uri(figure: Figure) -> str:
    """The picture as an address that holds all of it, for pages that load nothing."""
    return f"data:image/svg+xml;base64,{base64.b64encode(_svg(figure)).decode()}"


def _svg(figure: Figure) -> bytes:
    buffer = BytesIO()
    with warnings.catch_warnings(), mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "dither"}):
        warnings.filterwarnings("ignore", "Glyph .* missing from")  # text stays text: the reader has the letters
        figure.savefig(buffer, format="svg", metadata={"Date": None, "Creator": None})
    return buffer.getvalue()
