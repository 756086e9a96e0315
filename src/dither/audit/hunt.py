"""A lower bound on ε from samples alone, or the proof that a claim is false.

The protocol. Pairs of neighbours are screened with few runs; the better ones get more, the best one gets most. Then
come three rounds. In each, events are proposed from all runs so far; where there are runs enough, the more promising
ones race on fresh runs, by which they were not chosen; and the winners are tested on fresh runs again, so that an event
never meets runs by which it was chosen. The test is exact: a lower bound on its chance on one input and an upper bound
on the other, each wrong with its share of `alpha` (`binomial`).

Confidence. Let round r test m events, at 2 bounds each, and let each bound fail with probability at most α_r/(2m), with
α₁ + α₂ + α₃ = α. Given everything before the round, this holds for any events, so all bounds of all rounds hold
together with probability 1 − α or more, although the search looked at everything and stops when it has found enough.
A true claim is thus called violated with probability at most α; the lower bound on ε is above the truth as rarely.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.audit.binomial import at_least, at_most
from dither.audit.curve import Allowed, epsilon_at_least
from dither.audit.events import Proposal, hits, propose, race
from dither.audit.neighbours import Pair, candidates
from dither.audit.outcomes import Rows, fitted
from dither.audit.target import Target, as_target
from dither.audit.verdict import Verdict, Witness
from dither.errors import ParameterError
from dither.exact import Number, check, rational
from dither.measures import ApproxDP, Guarantee, PureDP

__all__ = ["attack"]

_SCREENING, _FIRST_LOOK = Fraction(1, 4), Fraction(1, 20)
"""Of all runs, what the choice of a pair may take; and what comes before the first round where there is no choice."""
_KEPT = 4
"""One in so many pairs stays for the next screening, with so many times the runs."""
_FEW_RUNS, _FEWEST_RUNS = 60, 4
"""What a pair gets in a screening at least, if a quarter of what is left allows it; and in any case."""
_ROUNDS = (
    (Fraction(1, 20), Fraction(1, 10), 3),
    (Fraction(1, 5), Fraction(1, 5), 2),
    (Fraction(1), Fraction(7, 10), 1),
)
"""For each round: its share of the runs that are left, its share of alpha, and how many pairs are still in it."""
_MOST_REMEMBERED, _REMEMBERED_SHARE = 40_000, 50
"""Runs of a pair that the search looks at: so many, or one in so many of all."""
_RACERS, _RACE_SHARE = 48, Fraction(1, 4)
"""How many events race for each pair, and their share of the runs of a round that has more than the search looks at."""
_FIRST_RACE = 3
"""The first race, which chooses between pairs, has so many times the runs by which its events were found."""
_MOST_NUMBERS_AT_ONCE = 4_000_000
_FEWEST_SAMPLES, _FEWEST_FOR_A_PAIR = 400, 20

Progress = Callable[[float], object]


def attack(
    target: Any,
    neighbours: Any = None,
    epsilon: Number | None = None,
    delta: Number = 0,
    *,
    claim: Guarantee | None = None,
    samples: int = 300_000,
    alpha: Number = Fraction(1, 10**6),
    progress: Progress | None = None,
) -> Verdict:
    """Try to refute a claim of privacy by running the target on neighbouring inputs.

    `target` is a mechanism, a function of one input, or anything with a method ``many(input, size)`` that gives many
    independent answers at once. `neighbours` is a pair of inputs, a list of pairs, or a family by name: "number",
    "real", "answers" (each changes by at most 1), "counts" (one changes by 1), "add or remove" or "replace" (a record).
    None tries the pairs that are neighbours in every reading: one number changes by 1.

    The claim is (`epsilon`, `delta`)-DP, or any guarantee as `claim`, which is then checked as a whole curve. With
    neither, it is what a mechanism itself promises, and ε = 1 for a function. At most `samples` runs a side are made,
    fewer if the claim falls earlier. A true claim is called violated with probability at most `alpha`.

    >>> import dither as dp
    >>> broken = dp.Laplace(sensitivity=1, scale="1/2")
    >>> verdict = dp.audit.attack(broken, neighbours=(0, 1), epsilon=1)
    >>> verdict.violated, 1 < verdict.lower_bound <= 2
    (True, True)
    """
    hunted = as_target(target)
    allowed = Allowed(_claim(target, epsilon, delta, claim))
    failure, miss = rational(delta, "delta"), rational(alpha, "alpha")
    check.between(0, 1, alpha=miss)
    check.count(least=_FEWEST_SAMPLES, samples=samples)
    pairs = _pairs(target, hunted, neighbours)
    check.count(least=_FEWEST_FOR_A_PAIR * len(pairs), samples=samples)
    return _Hunt(hunted, allowed, failure, miss, samples, progress).verdict(pairs)


def _claim(target: Any, epsilon: Number | None, delta: Number, claim: Guarantee | None) -> Guarantee:
    if claim is not None:
        if epsilon is not None:
            raise ParameterError("the claim must be given in one way: epsilon (and delta), or claim=.")
        return claim
    promised = getattr(target, "guarantee", None)
    if epsilon is None and isinstance(promised, Guarantee):
        return promised
    stated = 1 if epsilon is None else epsilon
    return ApproxDP(stated, delta) if rational(delta, "delta") else PureDP(stated)


def _pairs(target: Any, hunted: Target, neighbours: Any) -> Sequence[Pair]:
    if neighbours is None:
        neighbours = getattr(target, "neighbours", None)
    if neighbours is not None:
        return candidates(neighbours)
    possible = [pair for name in ("number", "real", "counts") for pair in candidates(name) if _runs(hunted, pair)]
    if not possible:
        raise ParameterError("the target answers none of the usual inputs. Give neighbours=(left, right).")
    return possible


def _runs(target: Target, pair: Pair) -> bool:
    try:
        return all(len(target.rows(data, 1)) == 1 for data in pair)
    except Exception:  # whatever a stranger's function raises on an input that is not its own
        return False


@dataclass
class _Trail:
    """One pair of neighbours, and what the target answered so far."""

    pair: Pair
    rows: list[list[Rows]] = field(default_factory=lambda: [[], []])
    runs: int = 0
    proposals: list[Proposal] = field(default_factory=list)
    winners: list[Proposal] = field(default_factory=list)
    """Of the last race: they run again in the next."""

    @property
    def promise(self) -> float:
        return max((proposal.promise for proposal in self.proposals), default=-np.inf)

    def keep_the_best(self) -> None:
        """One proposal of each order and band, the most promising."""
        best = {(each.on_left, each.band): each for each in sorted(self.proposals, key=lambda each: each.promise)}
        self.proposals = list(best.values())

    def remember(self, new: Sequence[Rows], most: int) -> None:
        """Keep new answers for the next search, until there are `most`; what is beyond is only counted."""
        if self.runs < most:
            for kept, rows in zip(self.rows, new, strict=True):
                kept.append(rows[: most - self.runs])
        self.runs += len(new[0])

    def both(self) -> tuple[Rows, Rows]:
        width = max(rows.shape[1] for kept in self.rows for rows in kept)
        left, right = (np.concatenate([fitted(rows, width) for rows in kept]) for kept in self.rows)
        return left, right


@dataclass
class _Hunt:
    target: Target
    allowed: Allowed
    delta: Fraction
    alpha: Fraction
    samples: int
    progress: Progress | None
    used: int = 0

    def verdict(self, pairs: Sequence[Pair]) -> Verdict:
        trails = self._screened([_Trail(pair) for pair in pairs])
        best: tuple[bool, float, Witness] | None = None
        for share, alpha, finalists in _ROUNDS:
            trails = sorted(trails, key=lambda trail: -trail.promise)[:finalists]
            for found in self._round(trails, int(share * (self.samples - self.used)), alpha * self.alpha):
                if best is None or found[:2] > best[:2]:
                    best = found
            if best is not None and best[0]:
                break
        assert best is not None
        self._say(1.0)
        violated, bound, witness = best
        return Verdict(
            self.target.name,
            self.allowed.claim,
            violated,
            bound,
            self.delta,
            self.alpha,
            witness,
            self.used,
            len(pairs),
        )

    # ------------------------------------------------------------- the search

    def _screened(self, trails: list[_Trail]) -> list[_Trail]:
        """Every pair gets few runs, the better ones more, until three are left."""
        stages = 1
        while len(trails) > 3 * _KEPT ** (stages - 1):
            stages += 1
        share = _SCREENING if stages > 1 else _FIRST_LOOK
        while True:
            few = max(_FEWEST_RUNS, min(_FEW_RUNS, (self.samples - self.used) // (4 * len(trails))))
            runs = max(few, int(share * self.samples) // (stages * len(trails)))
            for trail in trails:
                if trail.proposals and self._is_large(runs):
                    self._race(trail, runs, self.samples // 2)
                    continue
                self._run(trail, runs)
                self._search(trail, self.samples // 2)
                if len(trails) > 3 and self._is_large(2 * _FIRST_RACE * runs):
                    self._race(trail, _FIRST_RACE * runs, self.samples // 2)
            if len(trails) <= 3:
                return trails
            trails = sorted(trails, key=lambda trail: -trail.promise)[: max(3, len(trails) // _KEPT)]

    def _search(self, trail: _Trail, runs: int) -> None:
        for_race = self._is_large(self.samples // 20)
        trail.proposals = propose(*trail.both(), self.allowed.objective(), runs, self.allowed.bands, for_race=for_race)

    @property
    def _most_remembered(self) -> int:
        return max(_MOST_REMEMBERED, self.samples // _REMEMBERED_SHARE)

    def _is_large(self, runs: int) -> bool:
        """Whether so many runs say more of an event than those by which it was found."""
        return runs > self._most_remembered

    def _race(self, trail: _Trail, seen: int, runs: int) -> None:
        """Leave the proposal of each order and band that does best in `seen` fresh runs, for a test with `runs`."""
        contenders = [*trail.winners, *trail.proposals[:_RACERS]]
        counts = self._counts(trail, contenders, seen)
        trail.proposals = trail.winners = race(contenders, counts, seen, self.allowed.objective(), runs)

    def _counts(self, trail: _Trail, proposals: Sequence[Proposal], runs: int) -> NDArray[np.int64]:
        """How often each event happens on both inputs, in fresh runs."""
        counts = np.zeros((len(proposals), 2), dtype=np.int64)
        done = 0
        while done < runs:
            width = max((rows.shape[1] for rows in trail.rows[0]), default=1)
            size = min(runs - done, max(1, _MOST_NUMBERS_AT_ONCE // max(width, 1)))
            fresh = self._run(trail, size)
            done += size
            counts += np.array([hits(proposals, rows) for rows in fresh]).T
        return counts

    def _run(self, trail: _Trail, runs: int) -> tuple[Rows, Rows]:
        left, right = (self.target.rows(data, runs) for data in trail.pair)
        self.used += runs
        trail.remember((left, right), self._most_remembered)
        self._say(self.used / self.samples)
        return left, right

    def _say(self, share: float) -> None:
        if self.progress is not None:
            self.progress(min(1.0, share))

    # --------------------------------------------------------------- the test

    def _round(self, trails: Sequence[_Trail], runs: int, alpha: Fraction) -> list[tuple[bool, float, Witness]]:
        """Fresh runs for the events that look best now; all bounds of the round hold together but for `alpha`."""
        left: list[int] = []
        for trail in trails:
            share = runs // len(trails)
            self._search(trail, share)
            seen = int(_RACE_SHARE * share) if self._is_large(share) else 0
            left.append(share - seen)
            if seen:
                self._race(trail, seen, left[-1])
            else:
                trail.keep_the_best()
        tests = sum(len(trail.proposals) for trail in trails)
        miss = alpha / (2 * max(tests, 1))
        return [found for each in zip(trails, left, strict=True) for found in self._tested(*each, miss)]

    def _tested(self, trail: _Trail, runs: int, miss: Fraction) -> list[tuple[bool, float, Witness]]:
        counts = self._counts(trail, trail.proposals, runs)
        return [self._judged(trail.pair, *both, runs, miss) for both in zip(trail.proposals, counts, strict=True)]

    def _judged(
        self, pair: Pair, proposal: Proposal, counts: Any, runs: int, miss: Fraction
    ) -> tuple[bool, float, Witness]:
        order = (0, 1) if proposal.on_left else (1, 0)
        here, there = (int(counts[side]) for side in order)
        low, high = at_least(here, runs, miss), at_most(there, runs, miss)
        witness = Witness(pair[order[0]], pair[order[1]], proposal.event, runs, here, there, float(low), float(high))
        return self.allowed.is_exceeded(low, high), epsilon_at_least(low, high, self.delta), witness
