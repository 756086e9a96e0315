"""The topic `accounting`: certified brackets against the peers' answers; CPU time, width, memory, calibration."""

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from bench import accounting_risk, fresh_process, ours_accounting
from bench.accounting_case import CALIBRATIONS, CASES, MANY, AccountingCase, Calibration
from bench.accounting_mixtures import Outcome, judged, mixtures
from bench.accounting_options import AccountingOptions
from bench.peers import google_accounting, prv_accounting
from bench.progress import say
from bench.row import Row, less_is_better, none_allowed
from bench.timing import Work, cpu_seconds, samples_per_second
from dither.accounting import Bracket, WideBracket

REPETITIONS = 3
MIXTURE_REPETITIONS = 2
QUERIES = 50
GOOGLE_TIMES = 5.0
PRV_TIMES = 50.0
CALIBRATION_TIMES = 10.0
QUERY_LIMIT_SECONDS = 1e-3
MEMORY_LIMIT_MB = 300.0
CALIBRATION_PRECISION = 1e-6

_MEMORY = """
from bench import ours_accounting
from bench.accounting_case import CASES, MANY
for case in (*CASES, MANY):
    ours_accounting.bracket(case)
"""


def rows(arguments: Sequence[str] = ()) -> Iterator[Row]:
    options = AccountingOptions.parsed(arguments)
    if options.risk:
        return accounting_risk.rows()
    return _mixture_rows(options.seed, options.mixtures) if options.mixtures else _fixed()


def _fixed() -> Iterator[Row]:
    for case in CASES:
        yield from _case_rows(case)
    yield from _many_rows(MANY)
    for wanted in CALIBRATIONS:
        yield from _calibration_rows(wanted)
    yield _query_row("one ε(δ) of Laplace noise", ours_accounting.query)
    yield _query_row("one ε(δ) of Gaussian noise", ours_accounting.gaussian_query)
    yield _memory_row()


def _mixture_rows(seed: int, count: int) -> Iterator[Row]:
    cases = mixtures(seed, count)
    _outcome(cases[0])  # what is loaded and found once
    outcomes = []
    for number, case in enumerate(cases):
        if not number % 10:
            say(f"{case.name} ...")
        outcomes.append(_outcome(case))
    yield from judged(f"{count} mixtures of seed {seed}", google_accounting.NAME, outcomes)


def _outcome(case: AccountingCase) -> Outcome:
    """The best of two runs each, interleaved."""
    works = (ours_accounting.bracket, google_accounting.epsilon, ours_accounting.unreleased)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WideBracket)  # the rows say how wide
        runs = [[cpu_seconds(partial(work, case)) for work in works] for _ in range(MIXTURE_REPETITIONS)]
        bracket, answer = ours_accounting.bracket(case), google_accounting.epsilon(case)
        before_release = ours_accounting.unreleased(case)
    ours, theirs, unreleased = map(min, zip(*runs, strict=True))
    return Outcome(case, ours, theirs, unreleased, bracket, answer, before_release)


def _case_rows(case: AccountingCase) -> Iterator[Row]:
    say(f"{case.name} ...")
    found = ours_accounting.bracket(case)
    yield from _bracket_rows(case, found)
    yield _answer_row(case, found.upper, google_accounting.NAME, google_accounting.epsilon(case))
    seconds, google = _seconds(
        lambda: ours_accounting.bracket(case), lambda: google_accounting.epsilon(case), google_accounting.NAME
    )
    yield less_is_better(
        f"{case.name}: time", ours=seconds, peer=google_accounting.NAME, peer_value=google, asked=GOOGLE_TIMES, unit="s"
    )
    if prv_accounting.supports(case):
        yield _answer_row(case, found.upper, prv_accounting.NAME, prv_accounting.bracket(case)[1])
        seconds, prv = _seconds(
            lambda: ours_accounting.bracket(case), lambda: prv_accounting.bracket(case), prv_accounting.NAME
        )
        asked = PRV_TIMES if case.name.startswith("(c)") else None
        yield less_is_better(
            f"{case.name}: time", ours=seconds, peer=prv_accounting.NAME, peer_value=prv, asked=asked, unit="s"
        )


def _bracket_rows(case: AccountingCase, found: Bracket) -> Iterator[Row]:
    width = (found.upper - found.lower) / found.upper
    low, high = case.truth
    yield none_allowed(
        f"{case.name}: truth outside", found=int(not (found.lower <= high and low <= found.upper)), unit="cases"
    )
    yield less_is_better(
        f"{case.name}: width", ours=width, peer="limit", peer_value=ours_accounting.WIDTH, asked=1.0, unit="relative"
    )


def _many_rows(case: AccountingCase) -> Iterator[Row]:
    """Too long to be repeated: once each, and no ratio is asked for."""
    say(f"{case.name} ...")
    found = ours_accounting.bracket(case)
    yield from _bracket_rows(case, found)
    yield _answer_row(case, found.upper, google_accounting.NAME, google_accounting.epsilon(case))
    seconds, google = _seconds(
        lambda: ours_accounting.bracket(case),
        lambda: google_accounting.epsilon(case),
        google_accounting.NAME,
        repetitions=1,
    )
    yield less_is_better(
        f"{case.name}: time", ours=seconds, peer=google_accounting.NAME, peer_value=google, asked=None, unit="s"
    )


def _answer_row(case: AccountingCase, ours: float, peer: str, theirs: float) -> Row:
    return less_is_better(f"{case.name}: ε, upper", ours=ours, peer=peer, peer_value=theirs, asked=None, unit="ε")


def _calibration_rows(wanted: Calibration) -> Iterator[Row]:
    say(f"{wanted.name} ...")
    ours, theirs = ours_accounting.scale(wanted), google_accounting.scale(wanted)
    yield less_is_better(
        f"{wanted.name}", ours=ours, peer=google_accounting.NAME, peer_value=theirs, asked=None, unit="σ"
    )
    is_right = ours_accounting.is_just_enough(wanted, ours, CALIBRATION_PRECISION)
    yield none_allowed(f"{wanted.name}: too small or 1e-6 too large", found=int(not is_right), unit="cases")
    seconds, google = _seconds(
        lambda: ours_accounting.scale(wanted), lambda: google_accounting.scale(wanted), google_accounting.NAME
    )
    asked = CALIBRATION_TIMES if wanted.sampling_rate < 1 else None
    yield less_is_better(
        f"{wanted.name}: time", ours=seconds, peer=google_accounting.NAME, peer_value=google, asked=asked, unit="s"
    )


def _seconds(
    ours: Callable[[], object], theirs: Callable[[], object], peer: str, repetitions: int = REPETITIONS
) -> tuple[float, float]:
    works = [Work("dither", 1, ours), Work(peer, 1, theirs)]
    first, second = samples_per_second(works, repetitions=repetitions)
    return 1 / first, 1 / second


def _query_row(name: str, query: Callable[[], object]) -> Row:
    work = Work("dither", QUERIES, lambda: [query() for _ in range(QUERIES)])
    (rate,) = samples_per_second([work], repetitions=REPETITIONS)
    return less_is_better(name, ours=1 / rate, peer="limit", peer_value=QUERY_LIMIT_SECONDS, asked=1.0, unit="s")


def _memory_row() -> Row:
    megabytes = math.ceil(fresh_process.peak_bytes(_MEMORY) / 1e6)
    return less_is_better(
        "all cases, peak memory", ours=megabytes, peer="limit", peer_value=MEMORY_LIMIT_MB, asked=1.0, unit="MB"
    )
