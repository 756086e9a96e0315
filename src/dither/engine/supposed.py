"""Draws of what could be in a table: no noise, and nobody is protected by them.

They are always the same, so that the same look leads to the same choice. All of it follows from released numbers.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

__all__ = ["Draws", "draws"]

Draws: TypeAlias = np.random.Generator

_SEED = 20261119


def draws(which: int = 0) -> Draws:
    """A stream of draws, one of several."""
    return np.random.Generator(np.random.PCG64([_SEED, which]))
