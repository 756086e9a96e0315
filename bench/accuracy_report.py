"""What the runs of all settings say: ratios to the best peer, collapsed and wild answers, refusals, intervals."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bench.accuracy_case import Data, Question, Setting, width_name
from bench.accuracy_runs import LEVEL, Measured
from bench.families import Floats
from bench.row import Row, none_allowed

RESAMPLES = 200
SLIGHTLY, CLEARLY = 1.05, 1.5
MOST_SLIGHTLY = 5.0
"""Per cent of the cells that may be slightly above the best peer."""
MOST_NAMED = 12
ENOUGH_FOR_HINDSIGHT = 2000
HINDSIGHT = {1: 1.4, 10: 2.5, 1000: 2.5}
STEPS = (0, 25, 50, 100, 200, 500, 1000, 2000, 10**9)
NEGLIGIBLE = 1e-9


@dataclass(frozen=True)
class Outcome:
    """All contenders in one setting; `hindsight` is the error of the best clip, for means with bounds."""

    setting: Setting
    measured: Sequence[Measured]
    hindsight: float | None = None


@dataclass(frozen=True)
class Cell:
    """Ours against the best peer of the same setting: the ratio of errors, and its bootstrap distribution."""

    ours: Measured
    peer: Measured
    ratio: float
    resampled: Floats

    @property
    def surely(self) -> float:
        """The ratio is above this with confidence 97.5 %."""
        return float(np.quantile(self.resampled, 0.025))

    @property
    def is_excepted(self) -> bool:
        """Rare far outliers inside tight bounds: any small share of the budget overlooks them."""
        return self.ours.setting.family.name.startswith("outliers") and self.ours.setting.widening == 1


def cells(outcome: Outcome) -> Iterator[Cell]:
    """One for each of our doors that answered, if a peer did."""
    peers = [each for each in outcome.measured if not each.is_ours and len(each.errors)]
    for ours in outcome.measured:
        if ours.is_ours and len(ours.errors) and peers:
            yield _cell(ours, min(peers, key=lambda peer: _error(peer.errors, peer)))


def _cell(ours: Measured, peer: Measured) -> Cell:
    """Over equally many runs, since a heavy tail shows only in many."""
    runs = min(len(ours.errors), len(peer.errors))
    rng = np.random.default_rng([ours.setting.seed, 5])
    first, second = ours.errors[:runs], peer.errors[:runs]
    resampled = _error(first[rng.integers(runs, size=(RESAMPLES, runs))], ours)
    resampled = resampled / _error(second[rng.integers(runs, size=(RESAMPLES, runs))], peer)
    return Cell(ours, peer, float(_error(first, ours) / _error(second, peer)), resampled)


def _error(errors: Floats, of: Measured) -> Floats:
    """The root mean squared error, or the mean regret; never quite 0, so that it can be divided by."""
    mean = np.mean(errors, axis=-1)
    if of.setting.question.statistic == "top":
        return np.asarray(mean + 1 / errors.shape[-1])
    return np.asarray(np.sqrt(mean) + NEGLIGIBLE * of.scale)


def asked_ratio(question: Question, widening: float | None) -> float | None:
    """The median of our error ÷ the best peer's that is good enough."""
    if question.statistic in ("count", "top"):
        return 1.0 if question.statistic == "top" else None
    if not question.clip:
        return 0.75
    if question.statistic == "quantile":
        return 0.5 if question.q == 0.5 else 0.75
    wide = {1: 1.05, 10: 0.4, 1000: 0.4} if question.statistic == "sum" else {1: 0.75, 10: 0.4, 1000: 0.1}
    return wide[int(widening or 1)]


def answered_from(setting: Setting) -> float:
    """The n·ε from which nothing is refused, as docs/stats.md says.

    Without bounds 500 for a moment (of records that are not 0), 100 for a median, and as many records beyond any other
    quantile. Inside bounds 40 for a median, 80 for another quantile, and 2.5 records beyond it. An interval leaves two
    fifths of ε for the answer, and a record that is replaced costs up to twice as much.
    """
    question, is_bounded = setting.question, setting.widening is not None
    if question.statistic != "quantile":
        return 0 if is_bounded else 500 * (2 if setting.change == "replace" else 1)
    dearer = (2.5 if question.interval else 1) * (2 if setting.change == "replace" else 1)
    if is_bounded:
        return (40 if question.q == 0.5 else max(80, 2.5 / min(question.q, 1 - question.q))) * dearer
    return 50 / min(question.q, 1 - question.q) * dearer


def _counted_size(setting: Setting) -> float:
    """n·ε of the smallest group; without bounds a moment counts the records that are not 0, as its rule does."""
    if setting.widening is not None or setting.question.statistic not in ("sum", "mean", "variance"):
        return setting.smallest * setting.epsilon
    return min(int(np.count_nonzero(part)) for part in Data.of(setting).parts) * setting.epsilon


def rows(outcomes: Sequence[Outcome]) -> Iterator[Row]:
    compared = [cell for outcome in outcomes for cell in cells(outcome)]
    ours = [each for outcome in outcomes for each in outcome.measured if each.is_ours]
    yield from _medians(compared)
    yield from _hindsight(outcomes)
    for door in sorted({each.who for each in ours}):
        yield from _losses(door, [cell for cell in compared if cell.ours.who == door])
        mine = [each for each in ours if each.who == door]
        for kind in ("collapsed", "wild"):
            yield from _counted(door, kind, mine, lambda each, kind=kind: int(getattr(each, kind)))  # type: ignore[misc]
        yield from _refusals(door, mine)
        yield from _intervals(door, mine)
        yield from _failures(door, mine)
    yield from _peer_failures(outcomes)


def _medians(compared: Sequence[Cell]) -> Iterator[Row]:
    strata: dict[tuple[str, str, Question, float | None], list[Cell]] = defaultdict(list)
    for cell in compared:
        setting = cell.ours.setting
        strata[cell.ours.who, setting.change, setting.question, setting.widening].append(cell)
    for (door, change, question, widening), found in sorted(strata.items(), key=lambda item: str(item[0])):
        low, high = _bootstrap_of_median(found)
        median = float(np.median([cell.ratio for cell in found]))
        asked = asked_ratio(question, widening)
        peers = Counter(cell.peer.who for cell in found)
        where = f"{door}, {change}, {question.name}, {width_name(widening)}"
        yield Row(
            f"{where}: error ÷ best peer, median of {len(found)} cells", median, peers.most_common(1)[0][0], 1.0,
            1 / median, None if asked is None else 1 / asked, f"({low:.2f} to {high:.2f})",
        )  # fmt: skip


def _bootstrap_of_median(found: Sequence[Cell]) -> tuple[float, float]:
    """95 %, over cells and over the runs in each."""
    rng = np.random.default_rng(len(found))
    ratios = np.array([cell.resampled for cell in found])
    picked = rng.integers(len(found), size=(RESAMPLES, len(found)))
    medians = [np.median(ratios[cells_, resample]) for resample, cells_ in enumerate(picked)]
    low, high = np.quantile(medians, [0.025, 0.975])
    return float(low), float(high)


def _hindsight(outcomes: Sequence[Outcome]) -> Iterator[Row]:
    found: dict[tuple[str, float], list[float]] = defaultdict(list)
    for outcome in outcomes:
        best, setting = outcome.hindsight, outcome.setting
        if best is None or setting.widening is None or setting.n * setting.epsilon < ENOUGH_FOR_HINDSIGHT:
            continue
        for each in outcome.measured:
            if each.is_ours and len(each.errors) and best > NEGLIGIBLE * each.scale:
                found[each.who, setting.widening].append(each.rmse / best)
    for (door, widening), ratios in sorted(found.items()):
        yield _limit(
            f"{door}, mean, {width_name(widening)}, n·ε ≥ {ENOUGH_FOR_HINDSIGHT}: error ÷ best clip in hindsight, "
            f"median of {len(ratios)} cells",
            float(np.median(ratios)), HINDSIGHT[int(widening)], "×",
        )  # fmt: skip


def _losses(door: str, compared: Sequence[Cell]) -> Iterator[Row]:
    """Cells where a peer is better. A cell counts as surely above a figure if its bootstrap interval is."""
    if not compared:
        return
    above = 100 * float(np.mean([cell.ratio > SLIGHTLY for cell in compared]))
    surely = 100 * float(np.mean([cell.surely > SLIGHTLY for cell in compared]))
    yield Row(f"{door}: cells above {SLIGHTLY} × best peer, with chance", above, "", 0.0, 0.0, None, "%")
    yield _limit(f"{door}: of {len(compared)} cells surely above {SLIGHTLY} × best peer", surely, MOST_SLIGHTLY, "%")
    worst = sorted((cell for cell in compared if cell.surely > CLEARLY), key=lambda cell: -cell.surely)
    counted = [cell for cell in worst if not cell.is_excepted]
    excepted = len(worst) - len(counted)
    yield none_allowed(
        f"{door}: cells surely above {CLEARLY} × best peer (and {excepted} with outliers in tight bounds)",
        found=len(counted), unit="cells",
    )  # fmt: skip
    for cell in worst[:MOST_NAMED]:
        yield Row(
            f"  above {CLEARLY}: {cell.ours}", cell.ours.rmse, cell.peer.who, cell.peer.rmse, 1 / cell.ratio, None,
            f"RMSE, {len(cell.ours.errors)} runs",
        )  # fmt: skip


def _counted(door: str, kind: str, mine: Sequence[Measured], number: Callable[[Measured], int]) -> Iterator[Row]:
    answers = sum(each.answers for each in mine)
    yield none_allowed(
        f"{door}: {kind} answers of {answers}", found=sum(map(number, mine)), unit="answers",
    )  # fmt: skip
    worst = sorted((each for each in mine if number(each)), key=lambda each: -number(each) / each.answers)
    for each in worst[:MOST_NAMED]:
        yield Row(f"  {kind}: {each}", number(each), "of its answers", each.answers, 0.0, None, "answers")


def _refusals(door: str, mine: Sequence[Measured]) -> Iterator[Row]:
    """Answers that were refused, by n·ε (of the smallest group, if there are groups)."""
    by_step: dict[tuple[str, int], list[Measured]] = defaultdict(list)
    late = 0
    for each in mine:
        setting = each.setting
        size = setting.smallest * setting.epsilon
        step = int(np.searchsorted(STEPS, size, "right")) - 1
        by_step[f"{setting.question.name}, {width_name(setting.widening)}", step].append(each)
        if each.refused and _counted_size(setting) >= answered_from(setting):
            late += each.refused
    yield none_allowed(
        f"{door}: refusals from the documented n·ε on", found=late,
        unit="answers",
    )  # fmt: skip
    for (name, step), found in sorted(by_step.items()):
        refused, asked = sum(each.refused for each in found), sum(each.answers + each.refused for each in found)
        if refused:
            yield Row(
                f"  refused: {door}, {name}, n·ε {STEPS[step]} to {STEPS[step + 1]}", 100 * refused / asked,
                "of its answers", asked, 0.0, None, "%",
            )  # fmt: skip


def _falls_short(held: int, intervals: int) -> bool:
    """Below what is promised by more than three standard errors."""
    return intervals > 0 and held / intervals < LEVEL - 3 * np.sqrt(LEVEL * (1 - LEVEL) / intervals)


def _intervals(door: str, mine: Sequence[Measured]) -> Iterator[Row]:
    given = [each for each in mine if each.intervals]
    for name in dict.fromkeys(each.setting.question.name for each in given):
        found = [each for each in given if each.setting.question.name == name]
        total = sum(each.intervals for each in found)
        claimed, raw = sum(each.covered for each in found) / total, sum(each.holds_raw for each in found) / total
        yield Row(
            f"{door}, {name}: coverage of what is claimed, over {len(found)} cells (raw value: {100 * raw:.1f} %)",
            100 * claimed, "promised", 100 * LEVEL, claimed / LEVEL, None, "%",
        )  # fmt: skip
        yield from _widths(door, name, found)
    short = [each for each in given if _falls_short(each.covered, each.intervals)]
    short_raw = [each for each in given if _falls_short(each.covered_raw, each.raw_intervals)]
    what = f"coverage below {100 * LEVEL:g} % − 3 standard errors"
    yield none_allowed(f"{door}: cells of {len(given)}, {what}", found=len(short), unit="cells")
    claims = sum(each.raw_intervals > 0 for each in given)
    yield none_allowed(
        f"{door}: cells of {claims} that claim the raw value, {what}", found=len(short_raw), unit="cells"
    )
    for each in sorted(short, key=lambda each: each.covered / each.intervals)[:MOST_NAMED]:
        share = each.covered / each.intervals
        yield Row(f"  misses: {each}", 100 * share, "promised", 100 * LEVEL, share / LEVEL, None, "%")


def _widths(door: str, name: str, found: Sequence[Measured]) -> Iterator[Row]:
    """How much wider intervals are than they would have to be."""
    known = [each for each in found if each.percentile > NEGLIGIBLE * each.scale]
    if known:
        is_quantile = known[0].setting.question.statistic == "quantile"
        ratios = [each.half_width / each.percentile for each in known]
        yield _limit(
            f"{door}, {name}: half-width ÷ 95th percentile of the error, median of {len(known)} cells "
            f"(90 %: {np.quantile(ratios, 0.9):.3g})",
            float(np.median(ratios)), 3.0 if is_quantile else 1.25, "×",
        )  # fmt: skip


def _failures(door: str, mine: Sequence[Measured]) -> Iterator[Row]:
    failed = [each for each in mine if each.failure is not None]
    yield none_allowed(f"{door}: cells of {len(mine)} that raised", found=len(failed), unit="cells")
    kinds: dict[str, list[Measured]] = defaultdict(list)
    for each in failed:
        kinds[str(each.failure)[:90]].append(each)
    for message, found in sorted(kinds.items(), key=lambda item: -len(item[1])):
        yield Row(f"  raised: {message} — first: {found[0]}", len(found), "", 0.0, 0.0, None, "cells")


def _peer_failures(outcomes: Sequence[Outcome]) -> Iterator[Row]:
    failed = Counter(
        f"{each.who}: {str(each.failure).splitlines()[0][:80]}"
        for outcome in outcomes
        for each in outcome.measured
        if not each.is_ours and each.failure is not None
    )
    for message, number in failed.most_common():
        yield Row(f"  a peer raised: {message}", number, "", 0.0, 0.0, None, "cells")


def _limit(case: str, ours: float, limit: float, unit: str) -> Row:
    """A figure that must not be above its limit; a ratio of at most 1000."""
    return Row(case, ours, "limit", limit, limit / max(ours, limit / 1000), 1.0, unit)
