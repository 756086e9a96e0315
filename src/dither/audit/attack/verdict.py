"""What an audit found."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from dither.audit.attack.events import Event
from dither.exact import in_words
from dither.guarantees import Guarantee

__all__ = ["Verdict", "Witness"]

_MOST_SHOWN = 90


@dataclass(frozen=True)
class Witness:
    """An event and two neighbouring inputs: how often it happened on each, in runs that the event was not chosen by."""

    likelier: Any
    """The input on which the event is likelier."""
    other: Any
    event: Event
    runs: int
    """On the likelier input."""
    other_runs: int
    hits: int
    other_hits: int

    def __str__(self) -> str:
        return (
            f"{self.event}: {self.hits:,} of {self.runs:,} runs on {_short(self.likelier)}, "
            f"{self.other_hits:,} of {self.other_runs:,} on {_short(self.other)}"
        )

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "likelier": repr(self.likelier),
            "other": repr(self.other),
            "event": str(self.event),
            "runs": self.runs,
            "other_runs": self.other_runs,
            "hits": self.hits,
            "other_hits": self.other_hits,
        }


@dataclass(frozen=True)
class Verdict:
    """Whether a claim was refuted, and the largest ε that was proved."""

    target: str
    claim: Guarantee
    violated: bool
    """True is proved, with confidence 1 − alpha. False says only that this audit found nothing."""
    lower_bound: float
    """No ε below this one is true at `delta`, with confidence 1 − alpha; rounded down."""
    delta: Fraction
    alpha: Fraction
    witness: Witness
    """The event that says most: the one that refutes the claim, or the one that came closest."""
    samples: int
    """Runs on each side, those of the search included."""
    pairs: int
    """How many pairs of neighbours were tried."""
    is_usual_claim: bool = False
    """Whether nobody claimed anything, so that ε = 1 was tested."""

    def __str__(self) -> str:
        says = "VIOLATED" if self.violated else "not refuted"
        at = f" at δ = {in_words(self.delta)}" if self.delta else ""
        return (
            f"{self.target}: {self._claimed} is {says}{self._whose}. ε ≥ {self.lower_bound:.4g}{at}, with confidence "
            f"1 − {in_words(self.alpha)}, from {self.samples:,} runs a side on {self.pairs} "
            f"pair{'s' if self.pairs > 1 else ''} of neighbours.\nWitness: {self.witness}."
        )

    @property
    def _whose(self) -> str:
        return " (nothing was claimed, so ε = 1 was tested; epsilon says another)" if self.is_usual_claim else ""

    @property
    def _claimed(self) -> str:
        words = repr(self.claim)
        if len(words) <= _MOST_SHOWN:
            return words
        at = f" at δ = {in_words(self.delta)}" if self.delta else ""
        return f"its privacy profile, with ε = {self.claim.epsilon(self.delta):.4g}{at},"

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {
            "target": self.target,
            "claim": repr(self.claim),
            "is_usual_claim": self.is_usual_claim,
            "violated": self.violated,
            "lower_bound": self.lower_bound,
            "delta": str(self.delta),
            "alpha": str(self.alpha),
            "samples": self.samples,
            "pairs": self.pairs,
            "witness": self.witness.as_dict(),
        }


def _short(data: Any) -> str:
    text = repr(data)
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 1]}…"
