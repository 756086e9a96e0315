"""Mechanisms: an exact value and its sensitivity go in, a noisy value and an event come out."""

from dither.mechanisms.mechanism import Mechanism
from dither.mechanisms.released import Release

__all__ = ["Mechanism", "Release"]
