"""Which answers tell two inputs apart: a search among many events, on samples that are not used to test them.

One half of the samples teaches scores, the other half chooses where to cut them: an event is {score ≥ threshold}.
Nothing that happens here can accuse a private mechanism: an event is only a proposal, which fresh samples put to the
test.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray

from dither.audit.attack.answer_readings import Entries, Reading, distinct
from dither.audit.attack.curve import Allowed, Floats
from dither.audit.attack.expected_evidence import Outlook
from dither.audit.attack.outcomes import Rows, fitted
from dither.audit.attack.scores import Score, scores

__all__ = ["Event", "Proposal", "best", "hits", "judged_again", "propose"]

_MOST_CUTS = 160
_CHOICE = 1.5  # what chance does for the best of many events, in deviations
_RACE = 1.0  # and for the best of a few


@dataclass(frozen=True)
class Event:
    """A set of answers: those with a score of at least, or at most, a threshold."""

    _entries: Entries
    _score: Score
    _sign: float
    _threshold: float

    def holds(self, rows: Rows) -> NDArray[np.bool_]:
        """Whether each row is in it."""
        return self._holds(self._entries.of(rows))

    def _holds(self, entries: Reading) -> NDArray[np.bool_]:
        return np.asarray(self._sign * self._score(entries) >= self._threshold)

    def scores(self, rows: Rows) -> Floats:
        """The number by which the event is cut out, for each row: what a picture shows."""
        return self._score(self._entries.of(rows))

    @property
    def handicap(self) -> float:
        """What it must promise more than a plainer event."""
        return self._score.handicap

    @property
    def threshold(self) -> float:
        """Where it is cut."""
        return self._sign * self._threshold

    def __str__(self) -> str:
        return self._score.words(self._entries.names, self._sign, self._threshold)


@dataclass(frozen=True)
class Proposal:
    """An event, likelier on the one input than on the other, and what a test of it would show, about."""

    event: Event
    on_left: bool
    """Whether it is likelier on the left input."""
    band: float
    """The upper end of the band of chances that it is the answer for."""
    promise: float
    """How far beyond the claim the bounds of the test will be, as the objective says it; less a handicap."""
    surety: float
    """How many standard deviations of both counts the claim is away: beyond it if positive."""
    seen: int = 0
    """In so many runs, by which it was not chosen, it was counted."""
    counts: tuple[int, int] = (0, 0)
    """On the left and on the right input."""


def propose(left: Rows, right: Rows, allowed: Allowed, runs: int) -> list[Proposal]:
    """Events that look promising for a test with `runs` fresh runs, or sure to end beyond the claim.

    Each score gives, for each order of the inputs and each band of chances that the claim asks for, the event that
    promises most and the one that is surest.
    """
    width = max(left.shape[1], right.shape[1])
    left, right = fitted(left, width), fitted(right, width)
    half = len(left) // 2
    entries = Entries.for_rows(np.concatenate([left[:half], right[:half]])).with_relations(left[:half], right[:half])
    learn = entries.of(left[:half]), entries.of(right[:half])
    choose = entries.of(left[half:]), entries.of(right[half:])
    found: list[Proposal] = []
    for score in scores(entries, *learn, allowed):
        values = score(choose[0]), score(choose[1])
        of_score: list[Proposal] = []
        for sign in (1.0, -1.0):
            ordered = [np.sort(sign * part[~np.isnan(part)]) for part in values]
            cuts = _cuts(np.sort(np.concatenate(ordered), kind="stable"))
            if len(cuts):
                counts = np.stack([len(part) - np.searchsorted(part, cuts, side="left") for part in ordered])
                events = [Event(entries, score, sign, float(cut)) for cut in cuts]
                of_score += _proposals(events, Outlook(counts, counts[::-1], len(left) - half, runs, _CHOICE), allowed)
        found += best(of_score)
    return found


def _proposals(events: Sequence[Event], outlook: Outlook, allowed: Allowed) -> Iterator[Proposal]:
    """For each order of the inputs, which are the two rows of the outlook, and each band the best of some events."""
    promise, surety = outlook.promise(allowed) - events[0].handicap, outlook.surety(allowed)
    for row, on_left in enumerate((True, False)):
        for before, band in zip([-1.0, *allowed.bands], allowed.bands, strict=False):
            inside = np.flatnonzero((outlook.high[row] > before) & (outlook.high[row] <= band))
            if len(inside):
                for top in {int(inside[np.argmax(measure[row][inside])]) for measure in (promise, surety)}:
                    yield Proposal(events[top], on_left, band, float(promise[row][top]), float(surety[row][top]))


def best(proposals: Sequence[Proposal], each: int = 1) -> list[Proposal]:
    """For each order of the inputs and each band, the `each` that promise most and as many that are surest."""
    places: dict[tuple[bool, float], list[Proposal]] = {}
    for proposal in proposals:
        places.setdefault((proposal.on_left, proposal.band), []).append(proposal)
    found: dict[int, Proposal] = {}
    for place in places.values():
        for measure in (lambda one: -one.promise, lambda one: -one.surety):
            found |= {id(one): one for one in sorted(place, key=measure)[:each]}
    return list(found.values())


def hits(proposals: Sequence[Proposal], rows: Rows) -> list[int]:
    """How many rows are in the event of each proposal."""
    readings = {entries: entries.of(rows) for entries in {each.event._entries for each in proposals}}
    return [int(each.event._holds(readings[each.event._entries]).sum()) for each in proposals]


def judged_again(proposal: Proposal, counts: tuple[int, int], seen: int, allowed: Allowed, runs: int) -> Proposal:
    """The proposal after `seen` more runs by which it was not chosen, for a test with `runs`."""
    left, right = (old + int(new) for old, new in zip(proposal.counts, counts, strict=True))
    here, there = (left, right) if proposal.on_left else (right, left)
    outlook = Outlook(np.array([here]), np.array([there]), proposal.seen + seen, runs, _RACE)
    return replace(
        proposal,
        promise=float(outlook.promise(allowed)[0]) - proposal.event.handicap,
        surety=float(outlook.surety(allowed)[0]),
        seen=proposal.seen + seen,
        counts=(left, right),
    )


def _cuts(values: Floats) -> Floats:
    """Where to cut scores, which come in order: at each of a few, or at more and more from the top."""
    return distinct(values if len(values) <= _MOST_CUTS else values[-_ranks(len(values))])


@cache
def _ranks(size: int) -> NDArray[np.int64]:
    """Places from the end, which grow by a constant factor until they are all: from the last to the first."""
    return np.unique(np.geomspace(1, size, _MOST_CUTS).astype(np.int64))[::-1]
