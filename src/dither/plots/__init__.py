"""Pictures of guarantees; never of data.

Each function takes one or several guarantees and returns a matplotlib Figure, readable in print and by
colour-blind people. Pictures are drawn from the certified answers, so a curve never promises more than the
guarantee does.
"""

from dither.plots.curves import Drawable, draw, loss, profile, tradeoff

__all__ = ["Drawable", "draw", "loss", "profile", "tradeoff"]
