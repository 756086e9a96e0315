"""Record and replay: one pipeline on two neighbouring inputs, with the same answers to every draw."""

from dither.audit.replay.run import replay
from dither.audit.replay.verdict import Replayed

__all__ = ["Replayed", "replay"]
