"""Dominating pairs: for each law and event, two distributions at least as far apart as any two neighbours.

One file per family of laws; `pair.py` says what a pair must answer. `ProfileOf` makes a guarantee of a pair.
"""

from dither.pairs.profile import ProfileOf

__all__ = ["ProfileOf"]
