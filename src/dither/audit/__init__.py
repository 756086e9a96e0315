"""Tries to prove things wrong: a mechanism by its answers, and the claims of the lectures by the exact truth."""

from dither.audit import claims
from dither.audit.grids import Support, support
from dither.audit.hunt import attack
from dither.audit.rerun import Replayed, replay
from dither.audit.verdict import Verdict, Witness

__all__ = ["Replayed", "Support", "Verdict", "Witness", "attack", "claims", "replay", "support"]
