"""Tries to prove things wrong: the claims of the lectures, each against the exact truth."""

from dither.audit import claims

__all__ = ["claims"]
