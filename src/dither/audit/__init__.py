"""Audits: refute privacy claims from samples, replay pipelines on neighbours, check the claims of the lectures."""

from dither.audit import claims
from dither.audit.attack.lower_bound import attack
from dither.audit.attack.lowest_bits import Support, support
from dither.audit.attack.verdict import Verdict, Witness
from dither.audit.replay import Replayed, replay

__all__ = ["Replayed", "Support", "Verdict", "Witness", "attack", "claims", "replay", "support"]
