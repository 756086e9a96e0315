"""Noise for a risk, by ours and by riskcal in the same run; and works that have a limit of their own."""

from collections.abc import Callable, Iterator

from bench import ours_accounting
from bench.accounting_risk_case import RISKS, RiskCase
from bench.peers import riskcal_risk
from bench.progress import say
from bench.row import Row, less_is_better, none_allowed
from bench.timing import cpu_seconds

TIMES = 10.0
REPETITIONS = 2

LIMITS: dict[str, tuple[Callable[[], object], float]] = {
    "3000 different events": (ours_accounting.many_events, 2.0),
    "200 different Gaussians": (ours_accounting.many_gaussians, 1.0),
    "200 different Gaussians, δ(ε) as of certificates": (ours_accounting.certified_gaussians, 1.0),
    "a curve of a DP-SGD run": (ours_accounting.curve, 2.0),
    "10^6 shuffled reports": (ours_accounting.shuffled_reports, 1.0),
}
"""Works and how many CPU seconds are asked of each."""


def rows() -> Iterator[Row]:
    for case in RISKS:
        say(f"{case.name} ...")
        yield from judged(case, *_measured(case))
    for name, (work, limit) in LIMITS.items():
        say(f"{name} ...")
        seconds = min(cpu_seconds(work) for _ in range(REPETITIONS))
        yield less_is_better(f"{name}: time", ours=seconds, peer="limit", peer_value=limit, asked=1.0, unit="s")


def judged(case: RiskCase, ours: float, theirs: float, found: float, peer_found: float) -> Iterator[Row]:
    """Both times, then both scales, which agree if at theirs the certified risk is what was asked, up to its error."""
    name = riskcal_risk.NAME
    yield less_is_better(f"{case.name}: time", ours=ours, peer=name, peer_value=theirs, asked=TIMES, unit="s")
    yield less_is_better(case.name, ours=found, peer=name, peer_value=peer_found, asked=None, unit="σ")
    lower, upper = ours_accounting.risk_at(case, peer_found)
    is_far = upper < case.risk - riskcal_risk.TOLERANCE or lower > case.risk + riskcal_risk.TOLERANCE
    yield none_allowed(f"{case.name}: further apart than its error", found=int(is_far), unit="cases")


def _measured(case: RiskCase) -> tuple[float, float, float, float]:
    """The best of two runs of ours, and one of theirs, which takes long; and what both found."""
    found: list[float] = []
    ours = min(cpu_seconds(lambda: found.append(ours_accounting.risk_scale(case))) for _ in range(REPETITIONS))
    theirs = cpu_seconds(lambda: found.append(riskcal_risk.scale(case)))
    return ours, theirs, found[0], found[-1]
