"""Tries to prove things wrong: a mechanism by its answers, and the claims of the lectures by the exact truth."""

from dither.audit import claims
from dither.audit.attack import attack
from dither.audit.verdict import Verdict, Witness

__all__ = ["Verdict", "Witness", "attack", "claims"]
