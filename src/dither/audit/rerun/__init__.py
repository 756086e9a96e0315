"""Record and replay: one pipeline on two neighbouring inputs, with the same answers to every draw."""

from dither.audit.rerun.run import replay
from dither.audit.rerun.verdict import Replayed

__all__ = ["Replayed", "replay"]
