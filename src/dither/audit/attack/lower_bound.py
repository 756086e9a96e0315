"""A lower bound on ε from samples alone, or the proof that a claim is false.

The protocol. Pairs of neighbours are screened with few runs; the better ones get more, the best one gets most. Then
come three rounds. In each, events are proposed from the runs so far; where there are many runs, the better ones race on
fresh runs, by which they were not chosen; and the winners are tested on fresh runs again, so that an event never meets
runs by which it was chosen.

The test. A fair coin decides for each run which of both inputs it gets; runs that are made many at once are taken as
independent. Let the event have the chance P on one and Q on
the other. Given that it happens, the input was the first one with probability P/(P + Q), for each run independently; so
of all hits those on the first input are binomial, and a lower bound r on that probability (`binomial`) proves
P ≥ r/(1 − r)·Q, that is ε ≥ ln(r/(1 − r)). This is for claims with δ = 0. Other claims are tested by a lower bound on
P and an upper bound on Q at once, each wrong with half of what the test may miss: given the coins, both counts are
binomial.

Confidence. Let round r test m events, each wrong with probability at most α_r/m, with α₁ + α₂ + α₃ = α. Given
everything before the round, this holds for any events, so all bounds of all rounds hold together with probability 1 − α
or more, although the search looked at everything and stops when it has found enough. A true claim is thus called
violated with probability at most α; the lower bound on ε is above the truth as rarely.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.audit.attack.binomial import at_least, at_most
from dither.audit.attack.curve import Allowed, epsilon_at_least
from dither.audit.attack.events import Proposal, best, hits, judged_again, propose
from dither.audit.attack.neighbours import Pair, candidates
from dither.audit.attack.outcomes import Rows, fitted
from dither.audit.attack.own_neighbours import neighbours_of
from dither.audit.attack.target import AttackTarget, as_target
from dither.audit.attack.verdict import Verdict, Witness
from dither.errors import ParameterError
from dither.exact import Number, check, rational
from dither.guarantees import ApproxDP, Guarantee, PureDP
from dither.mechanisms import Mechanism
from dither.noise import entropy

__all__ = ["FEWEST_SAMPLES", "attack", "claim_of", "promises"]

_SCREENING, _FIRST_LOOK = Fraction(3, 10), Fraction(1, 20)
"""Of all runs, what the choice of a pair may take; and what comes before the first round where there is no choice."""
_KEPT = 4
"""One in so many pairs stays for the next screening, with so many times the runs."""
_FINALISTS = 3
"""So many pairs are left when the rounds begin."""
_FEW_RUNS, _FEWEST_RUNS = 60, 4
"""What a pair gets in a screening at least, if a quarter of what is left allows it; and in any case."""
_ROUNDS = (
    (Fraction(1, 20), Fraction(1, 10), _FINALISTS),
    (Fraction(1, 5), Fraction(1, 5), 2),
    (Fraction(1), Fraction(7, 10), 1),
)
"""For each round: its share of the runs that are left, its share of alpha, and how many pairs are still in it."""
_MOST_REMEMBERED, _REMEMBERED_SHARE = 40_000, 50
"""Runs of a pair that the search looks at: so many, or one in so many of all."""
_RACERS, _RACED = 96, Fraction(1, 4)
"""How many events race for each pair, about, and their share of the runs of a stage that has many."""
_MOST_NUMBERS_AT_ONCE = 4_000_000
FEWEST_SAMPLES, _FEWEST_FOR_A_PAIR = 400, 20
"""With fewer runs a side no audit is begun, nor with fewer for each pair."""

Progress = Callable[[float], object]


def attack(
    target: Any,
    neighbours: Any = None,
    epsilon: Number | None = None,
    delta: Number | None = None,
    *,
    claim: Guarantee | None = None,
    samples: int = 300_000,
    alpha: Number = Fraction(1, 10**6),
    progress: Progress | None = None,
) -> Verdict:
    """Try to refute a privacy claim by running the target on neighbouring inputs.

    It searches for an answer, or set of answers, that is likelier on one input than the claim allows, and tests it on
    fresh runs. A refutation is a proof with confidence 1 − `alpha`; finding nothing proves nothing.

    Parameters
    ----------
    target : Any
        What is audited: a mechanism, a `ScoredSelection`, a function of one input, or an object with a method
        ``many(input, size)`` that returns many independent answers at once, which is faster.
    neighbours : tuple, list of tuple or str, optional
        A pair of inputs, a list of pairs, or the name of a family of pairs: "number" or "real" (a number changes by 1),
        "answers" (each number of a list changes by at most 1), "counts" (one of them changes by 1), "add or remove" or
        "replace" (a record). By default those that a mechanism is made for; for a function, numbers that differ by 1.
    epsilon : Number, optional
        The claim is (`epsilon`, `delta`)-DP. With neither `epsilon` nor `claim`, it is what a mechanism promises
        itself; for a function it is ε = 1, and `Verdict.is_usual_claim` is True.
    delta : Number, optional
        The δ of the claim, and of the lower bound on ε. By default 0, or the δ of `claim`.
    claim : Guarantee, optional
        Any guarantee instead of `epsilon`; it is tested as a whole curve.
    samples : int, default 300000
        The largest number of runs on each input; fewer if the claim is refuted earlier.
    alpha : Number, default 1e-6
        The probability that a true claim is called violated; an upper bound.
    progress : callable, optional
        Called with the share of the runs that is done, from 0 to 1.

    Returns
    -------
    Verdict
        `violated`, `lower_bound` on ε, and `witness`, the event with its counts on both inputs.

    Raises
    ------
    ParameterError
        If the claim is given in two ways, a number is out of range, or the target does not answer on `neighbours`.

    Notes
    -----
    The lower bound is a Clopper-Pearson bound, corrected for the number of events that are tested; the module docstring
    of `dither.audit.attack.lower_bound` has the protocol and the proof.

    Examples
    --------
    >>> import dither as dp
    >>> broken = dp.Laplace(sensitivity=1, scale="1/2")
    >>> verdict = dp.audit.attack(broken, neighbours=(0, 1), epsilon=1, alpha="1e-9")
    >>> verdict.violated, 1 < verdict.lower_bound <= 2
    (True, True)
    """
    hunted = as_target(target)
    allowed = Allowed(claim_of(target, epsilon, 0 if delta is None else delta, claim))
    failure = allowed.delta if delta is None else rational(delta, "delta")
    check.probability(delta=failure)
    miss = rational(alpha, "alpha")
    check.between(0, 1, alpha=miss)
    check.count(least=FEWEST_SAMPLES, samples=samples)
    pairs = _pairs(target, hunted, neighbours)
    check.count(least=_FEWEST_FOR_A_PAIR * len(pairs), samples=samples)
    found = _Hunt(hunted, allowed, failure, miss, samples, progress).verdict(pairs)
    return replace(found, is_usual_claim=epsilon is None and claim is None and not promises(target))


def claim_of(
    target: Any, epsilon: Number | None = None, delta: Number = 0, claim: Guarantee | None = None
) -> Guarantee:
    """Build the claim: as given, or what a mechanism promises itself, or ε = 1."""
    if claim is not None:
        if epsilon is not None:
            raise ParameterError("the claim must be given in one way: epsilon (and delta), or claim=.")
        if not isinstance(claim, Guarantee):
            raise ParameterError(
                f"claim must be a guarantee such as PureDP(1), got the type {type(claim).__name__}. Give what a "
                "composition promises as epsilon= and delta=."
            )
        return claim
    if epsilon is None and promises(target):
        promised: Guarantee = target.guarantee
        return promised
    stated = 1 if epsilon is None else epsilon
    return ApproxDP(stated, delta) if rational(delta, "delta") else PureDP(stated)


def promises(target: Any) -> bool:
    """Whether a target states its own guarantee."""
    return isinstance(getattr(target, "guarantee", None), Guarantee)


def _pairs(target: Any, hunted: AttackTarget, neighbours: Any) -> Sequence[Pair]:
    if neighbours is None:
        neighbours = getattr(target, "neighbours", None)
    if neighbours is not None:
        return candidates(neighbours)
    if isinstance(target, Mechanism):
        return neighbours_of(target)
    possible = [pair for name in ("number", "real") for pair in candidates(name) if _runs(hunted, pair)]
    if not possible:
        raise ParameterError(
            "the target does not answer on a number. Describe its inputs: neighbours such as 'add or remove' or "
            "'counts', or, in Python, a pair (left, right)."
        )
    return possible


def _runs(target: AttackTarget, pair: Pair) -> bool:
    try:
        return all(len(target.rows(data, 1)) == 1 for data in pair)
    except Exception:  # whatever an unknown function raises on an input that is not its own
        return False


def _fewer(pairs: int) -> Iterator[int]:
    """How many pairs are left after each screening but the last."""
    while (pairs := pairs // _KEPT) > _FINALISTS:
        yield pairs


@dataclass
class _Trail:
    """One pair of neighbours, and what the target answered so far."""

    pair: Pair
    rows: list[list[Rows]] = field(default_factory=lambda: [[], []])
    runs: int = 0
    proposals: list[Proposal] = field(default_factory=list)

    @property
    def surety(self) -> float:
        return max((proposal.surety for proposal in self.proposals), default=-np.inf)

    @property
    def winners(self) -> list[Proposal]:
        """Of races so far: they run again in the next, and what was counted is kept."""
        return [proposal for proposal in self.proposals if proposal.seen]

    def remember(self, new: Sequence[Rows], most: int) -> None:
        """Keep new answers for the next search, until there are `most`; what is beyond is only counted."""
        size = min(map(len, new))
        if self.runs < most:
            for kept, rows in zip(self.rows, new, strict=True):
                kept.append(rows[: min(size, most - self.runs)])
        self.runs += size

    def both(self) -> tuple[Rows, Rows]:
        width = max(rows.shape[1] for kept in self.rows for rows in kept)
        left, right = (np.concatenate([fitted(rows, width) for rows in kept]) for kept in self.rows)
        return left, right


@dataclass
class _Hunt:
    target: AttackTarget
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
            trails = sorted(trails, key=lambda trail: -trail.surety)[:finalists]
            for found in self._round(trails, int(share * (self.samples - self.used)), alpha * self.alpha):
                if best is None or found[:2] >= best[:2]:  # of equals, as where nothing is proved, the later and surer
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
        share = _SCREENING if len(trails) > _FINALISTS else _FIRST_LOOK
        stages = 1 + sum(1 for _ in _fewer(len(trails)))
        for left in (*_fewer(len(trails)), _FINALISTS):
            few = max(_FEWEST_RUNS, min(_FEW_RUNS, (self.samples - self.used) // (4 * len(trails))))
            runs = max(few, int(share * self.samples) // (stages * len(trails)))
            raced = int(_RACED * runs) if self._is_large(runs) else 0
            for trail in trails:
                self._run(trail, runs - raced, runs - raced)
                self._search(trail, raced, self.samples // 2)
            trails = sorted(trails, key=lambda trail: -trail.surety)[:left]
        return trails

    @property
    def _most_remembered(self) -> int:
        return max(_MOST_REMEMBERED, self.samples // _REMEMBERED_SHARE)

    def _is_large(self, runs: int) -> bool:
        """Whether so many runs say more of an event than those by which it was found."""
        return runs > _MOST_REMEMBERED

    def _search(self, trail: _Trail, raced: int, runs: int) -> None:
        """Leave the best events for a test with `runs` runs, after a race on `raced` fresh ones."""
        found = propose(*trail.both(), self.allowed, runs)
        if raced:
            each = max(1, _RACERS // (4 * len(self.allowed.bands)))
            contenders = [*trail.winners, *best(found, each)]
            counts = self._counts(trail, contenders, (raced, raced))
            found = [
                judged_again(contender, both, raced, self.allowed, runs)
                for contender, both in zip(contenders, counts, strict=True)
            ]
        trail.proposals = best(found)

    def _counts(self, trail: _Trail, proposals: Sequence[Proposal], runs: tuple[int, int]) -> NDArray[np.int64]:
        """How often each event happens on both inputs, in fresh runs of each."""
        counts = np.zeros((len(proposals), 2), dtype=np.int64)
        width = max((rows.shape[1] for rows in trail.rows[0]), default=1)
        parts = -(-max(runs) * max(width, 1) // _MOST_NUMBERS_AT_ONCE)
        for part in range(parts):
            size = [side * (part + 1) // parts - side * part // parts for side in runs]
            counts += np.array([hits(proposals, rows) for rows in self._run(trail, *size)]).T
        return counts

    def _run(self, trail: _Trail, left: int, right: int) -> tuple[Rows, Rows]:
        both = self.target.both(trail.pair, left, right)
        self.used += max(left, right)
        trail.remember(both, self._most_remembered)
        self._say(self.used / self.samples)
        return both

    def _say(self, share: float) -> None:
        if self.progress is not None:
            self.progress(min(1.0, share))

    # --------------------------------------------------------------- the test

    def _round(self, trails: Sequence[_Trail], runs: int, alpha: Fraction) -> list[tuple[bool, float, Witness]]:
        """Fresh runs for the events that look best now; all bounds of the round hold together but for `alpha`.

        The surest comes last.
        """
        share = runs // len(trails)
        raced = int(_RACED * share) if self._is_large(share) else 0
        for trail in trails:
            self._search(trail, raced, share - raced)
        tests = sum(len(trail.proposals) for trail in trails)
        miss = alpha / max(tests, 1)
        found = [found for trail in trails for found in self._tested(trail, share - raced, miss)]
        surety = [proposal.surety for trail in trails for proposal in trail.proposals]
        return [found[place] for place in sorted(range(tests), key=surety.__getitem__)]

    def _tested(self, trail: _Trail, runs: int, miss: Fraction) -> list[tuple[bool, float, Witness]]:
        sizes = _sides(runs)
        counts = self._counts(trail, trail.proposals, sizes)
        return [
            self._judged(trail.pair, proposal, sizes, (int(left), int(right)), miss)
            for proposal, (left, right) in zip(trail.proposals, counts, strict=True)
        ]

    def _judged(
        self, pair: Pair, proposal: Proposal, sizes: tuple[int, int], counts: tuple[int, int], miss: Fraction
    ) -> tuple[bool, float, Witness]:
        one, other = (0, 1) if proposal.on_left else (1, 0)
        hits, runs = (counts[one], counts[other]), (sizes[one], sizes[other])
        witness = Witness(pair[one], pair[other], proposal.event, *runs, *hits)
        return *proved(self.allowed, self.delta, hits, runs, miss), witness


def proved(
    allowed: Allowed, delta: Fraction, hits: tuple[int, int], runs: tuple[int, int], miss: Fraction
) -> tuple[bool, float]:
    """Whether the claim is refuted and the ε that is proved at `delta`: one of both is wrong with at most `miss`."""
    here, there = hits
    if not here or not runs[1]:
        return False, 0.0
    if allowed.is_pure and not delta:  # of the hits, how many were on the likelier input
        low = at_least(here, here + there, miss)
        high = 1 - low
    else:
        low, high = at_least(here, runs[0], miss / 2), at_most(there, runs[1], miss / 2)
    return allowed.is_exceeded(low, high), epsilon_at_least(low, high, delta)


def _sides(runs: int) -> tuple[int, int]:
    """How many runs each input gets: a fair coin decides for each of nearly 2·`runs`.

    Four roots are left free on each side, so that it gets more than `runs` only once in 10^8 rounds.
    """
    both = max(runs, 2 * runs - 2 * math.isqrt(16 * runs))
    left = entropy.current().bits(both).bit_count()
    return left, both - left
