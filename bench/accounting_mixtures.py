"""Random mixtures that nobody has tuned for, and what is asked of them: time, width and soundness."""

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench import ours_accounting
from bench.accounting_case import AccountingCase, Kind, Release
from bench.row import Row, less_is_better, none_allowed
from dither.accounting import Bracket

MOST_KINDS = 5
SCALES = (0.5, 1000.0)
COPIES = (1.0, 1000.0)
RATES = (1e-3, 0.5)
DELTAS = (1e-9, 1e-3)

TOTAL_TIMES = 3.0
SLOWEST_TIMES = 0.5
UNRELEASED_TIMES = 0.5

_KINDS: tuple[Kind, Kind] = ("Gaussian", "Laplace")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one mixture cost ours and the peer, in CPU seconds, and what both answered."""

    case: AccountingCase
    ours: float
    peer: float
    unreleased: float
    bracket: Bracket
    answer: float
    before_release: Bracket

    @property
    def width(self) -> float:
        return _width(self.bracket)


def _width(bracket: Bracket) -> float:
    return (bracket.upper - bracket.lower) / bracket.upper if bracket.upper else 0.0


def mixtures(seed: int, count: int) -> list[AccountingCase]:
    """1 to 5 kinds of noise, on all data or on a Poisson sample; three digits of each number are kept."""
    generator = random.Random(seed)
    return [_mixture(generator, f"mixture {number} of seed {seed}") for number in range(count)]


def _mixture(generator: random.Random, name: str) -> AccountingCase:
    def between(ends: tuple[float, float]) -> float:
        return float(f"{math.exp(generator.uniform(*map(math.log, ends))):.3g}")

    releases = tuple(
        Release(
            generator.choice(_KINDS),
            between(SCALES),
            round(between(COPIES)),
            between(RATES) if generator.random() < 0.5 else 1.0,
        )
        for _ in range(generator.randint(1, MOST_KINDS))
    )
    return AccountingCase(name, releases, between(DELTAS), (0.0, math.inf))


def judged(name: str, peer: str, outcomes: Sequence[Outcome]) -> Iterator[Row]:
    """What is asked of all of them together, and of each."""
    ours, theirs, unreleased = (
        math.fsum(getattr(outcome, field) for outcome in outcomes) for field in ("ours", "peer", "unreleased")
    )
    yield less_is_better(f"{name}: total time", ours=ours, peer=peer, peer_value=theirs, asked=TOTAL_TIMES, unit="s")
    slowest = max(outcomes, key=lambda outcome: outcome.ours / outcome.peer)
    yield less_is_better(
        f"{slowest.case.name}: time, the worst ratio",
        ours=slowest.ours,
        peer=peer,
        peer_value=slowest.peer,
        asked=SLOWEST_TIMES,
        unit="s",
    )
    widest = max(outcomes, key=lambda outcome: outcome.width)
    yield less_is_better(
        f"{widest.case.name}: the widest bracket",
        ours=widest.width,
        peer="limit",
        peer_value=ours_accounting.WIDTH,
        asked=1.0,
        unit="relative",
    )
    below = sum(outcome.answer < outcome.bracket.lower for outcome in outcomes)
    yield none_allowed(f"{name}: lower ends above the peer's upper answer", found=below, unit="cases")
    yield less_is_better(
        f"{name}: mechanisms that have not released yet, total time",
        ours=unreleased,
        peer="released",
        peer_value=ours,
        asked=UNRELEASED_TIMES,
        unit="s",
    )
    dearest = max(outcomes, key=lambda outcome: outcome.unreleased / outcome.ours)
    yield less_is_better(
        f"{dearest.case.name}: before release, time, the worst ratio",
        ours=dearest.unreleased,
        peer="released",
        peer_value=dearest.ours,
        asked=UNRELEASED_TIMES,
        unit="s",
    )
    loosest = max(outcomes, key=lambda outcome: _width(outcome.before_release))
    yield less_is_better(
        f"{loosest.case.name}: before release, the widest bracket",
        ours=_width(loosest.before_release),
        peer="limit",
        peer_value=ours_accounting.WIDTH,
        asked=1.0,
        unit="relative",
    )
