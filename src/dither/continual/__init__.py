"""Releases period by period: factorisations of running totals, their noise, and the state that a stream keeps."""

from dither.continual.participation import Participation
from dither.continual.periods import Horizon

__all__ = ["Horizon", "Participation"]
