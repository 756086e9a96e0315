"""A picture with sliders in a notebook, and the same picture without them elsewhere.

Sliders need ipywidgets (`pip install 'dither[notebook]'`) and a running kernel; the picture needs neither.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from dither.errors import ParameterError
from dither.plots.style import Figure, alt_text, data_uri

__all__ = ["explore"]


def explore(draw: Callable[..., Figure], **ranges: tuple[float, ...]) -> Figure:
    """Draw a picture with a slider for each parameter, where there is a notebook; else the picture alone.

    Parameters
    ----------
    draw : callable
        A function of the parameters, by their names, that returns a figure.
    **ranges : tuple of (float, float, float)
        For each parameter its least value, its largest one, and the one to start with. Whole numbers stay whole.

    Returns
    -------
    matplotlib.figure.Figure
        The picture at the values to start with.

    Raises
    ------
    ParameterError
        If a range is not three numbers in the order least ≤ start ≤ largest.

    Examples
    --------
    >>> import dither as dp
    >>> def profile(epsilon):
    ...     return dp.plots.profile(dp.PureDP(epsilon))
    >>> figure = dp.plots.explore(profile, epsilon=(0.1, 3.0, 1.0))
    >>> figure.axes[0].get_xlabel()
    'ε'
    """
    for name, given in ranges.items():
        if len(given) != 3 or not given[0] <= given[2] <= given[1]:
            raise ParameterError(f"{name} must be (least, largest, start) with the start between them, got {given}.")
    figure = draw(**{name: given[2] for name, given in ranges.items()})
    widgets = _widgets()
    if widgets is not None:
        sliders = {name: _slider(widgets, *given) for name, given in ranges.items()}
        widgets.interact(lambda **values: widgets.HTML(_image(draw(**values))), **sliders)
    return figure


def _widgets() -> Any:
    """ipywidgets, if it is there and a kernel listens."""
    console = sys.modules.get("IPython")
    if console is None or not hasattr(console.get_ipython(), "kernel"):
        return None
    try:
        import ipywidgets
    except ModuleNotFoundError:
        return None
    return ipywidgets


def _slider(widgets: Any, least: float, largest: float, start: float) -> Any:
    if all(isinstance(x, int) for x in (least, largest, start)):
        return widgets.IntSlider(start, least, largest, continuous_update=False)
    return widgets.FloatSlider(start, min=least, max=largest, step=(largest - least) / 100, continuous_update=False)


def _image(figure: Figure) -> str:
    return f'<img src="{data_uri(figure)}" alt="{alt_text(figure)}" width="520">'
