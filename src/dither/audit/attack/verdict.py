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
    """An event and two neighbouring inputs, with how often the event happened on each.

    The runs that are counted are fresh: they were not used to choose the event. `str(witness)` is a sentence.

    Parameters
    ----------
    likelier : Any
        The input on which the event is likelier.
    other : Any
        The neighbouring input.
    event : Event
        A set of answers; `str(event)` describes it.
    runs : int
        The number of runs on the likelier input.
    other_runs : int
        The number of runs on the other input.
    hits : int
        In how many runs on the likelier input the event happened.
    other_hits : int
        In how many runs on the other input the event happened.
    """

    likelier: Any
    other: Any
    event: Event
    runs: int
    other_runs: int
    hits: int
    other_hits: int

    def __str__(self) -> str:
        return (
            f"{self.event}: {self.hits:,} of {self.runs:,} runs on {_short(self.likelier)}, "
            f"{self.other_hits:,} of {self.other_runs:,} on {_short(self.other)}"
        )

    def as_dict(self) -> dict[str, Any]:
        """Convert to plain JSON values.

        Returns
        -------
        dict of str to Any
            The fields by name; inputs and event as text.
        """
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
    """The result of an audit: whether a claim was refuted, and the largest ε that was proved.

    `str(verdict)` is a sentence with all of it.

    Parameters
    ----------
    target : str
        The name of what was audited.
    claim : Guarantee
        The claim that was tested.
    violated : bool
        True: the claim is false, with confidence 1 − `alpha`. False: this audit found nothing, which proves nothing.
    lower_bound : float
        The largest ε that was proved: with confidence 1 − `alpha`, no smaller ε holds at `delta`. Rounded down.
    delta : Fraction
        The δ at which `lower_bound` holds.
    alpha : Fraction
        The probability that the audit accuses a true claim, or that `lower_bound` is too large; an upper bound.
    witness : Witness
        The event that refutes the claim, or the one that came closest.
    samples : int
        The number of runs on each input, those of the search included.
    pairs : int
        The number of pairs of neighbours that were tried.
    is_usual_claim : bool, default False
        Whether no claim was given, so that ε = 1 was tested.
    """

    target: str
    claim: Guarantee
    violated: bool
    lower_bound: float
    delta: Fraction
    alpha: Fraction
    witness: Witness
    samples: int
    pairs: int
    is_usual_claim: bool = False

    def __str__(self) -> str:
        found = "VIOLATED" if self.violated else "not refuted"
        at = f" at δ = {in_words(self.delta)}" if self.delta else ""
        return (
            f"{self.target}: {self._claimed} is {found}{self._whose}. ε ≥ {self.lower_bound:.4g}{at}, with confidence "
            f"1 − {in_words(self.alpha)}, from {self.samples:,} runs a side on {self.pairs} "
            f"pair{'s' if self.pairs > 1 else ''} of neighbours.\nWitness: {self.witness}."
        )

    @property
    def _whose(self) -> str:
        return " (no claim was given, so ε = 1 was tested; epsilon= tests another)" if self.is_usual_claim else ""

    @property
    def _claimed(self) -> str:
        words = repr(self.claim)
        if len(words) <= _MOST_SHOWN:
            return words
        at = f" at δ = {in_words(self.delta)}" if self.delta else ""
        return f"its privacy profile, with ε = {self.claim.epsilon(self.delta):.4g}{at},"

    def as_dict(self) -> dict[str, Any]:
        """Convert to plain JSON values.

        Returns
        -------
        dict of str to Any
            The fields by name; claim and exact numbers as text.
        """
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
