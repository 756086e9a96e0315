"""Ranges that are chosen do not collapse, and answers without bounds do not go wild."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import dither as dp
from dither.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency
from dither.estimators.answer import Spent
from dither.estimators.binned import HalfOctaves
from dither.estimators.range_search import _EVEN, _LITTLE_DOUBT, Goal, _Search
from dither.estimators.tails import Seen, Tail

pytestmark = pytest.mark.statistical

DRAWN = np.random.default_rng(20_261_116)
ZEROS = np.where(DRAWN.random(4406) < 0.8, 0.0, np.minimum(DRAWN.poisson(1.2, 4406) + 1.0, 8.0))
INCOMES = DRAWN.lognormal(10.3, 0.7, 744)
ASKED: dict[str, tuple[Callable[..., Any], Callable[[Any], Any]]] = {
    "sum": (dp.stats.sum, np.sum),
    "mean": (dp.stats.mean, np.mean),
    "std": (dp.stats.std, np.std),
}
RUNS = 12


@pytest.mark.parametrize("adjacency", [ADD_REMOVE, REPLACE_ONE], ids=str)
@pytest.mark.parametrize("name", ASKED)
def test_mostly_zeros_are_not_clamped_to_zero(name: str, adjacency: Adjacency) -> None:
    """80 % zeros, bounds (0, 8), ε = 0.5: off by a third or more is 50 standard deviations away; of a root, 8.

    At ε = 0.1 the noise of a variance has the scale 0.15 beside 1.03: it is negative, and its root 0, once in 2000
    times, which is allowed, and the root twice as large once in 10⁹. The old search answered 2·10⁻⁷ in every run.
    """
    ask, truth = ASKED[name]
    exact = truth(ZEROS)
    for epsilon in (0.1, 0.5, 2):
        for _ in range(RUNS):
            value = ask(ZEROS, epsilon=epsilon, bounds=(0, 8), adjacency=adjacency).value
            assert abs(value - exact) <= exact * (0.5 if epsilon > 0.1 else 1)


@pytest.mark.parametrize("name", ASKED)
def test_incomes_without_bounds_are_close_or_refused(name: str) -> None:
    """744 incomes at ε = 0.5. The old search gave 43 % of means beyond 10⁶, up to 10¹¹¹.

    With noise of three times the scale 124 of 551 sums and means are wild, of twice the scale 2 of 315, of its own none
    of 495: some 10⁻⁷ by these, and two of twelve once in 10¹².
    """
    ask, truth = ASKED[name]
    found = [ask(INCOMES, epsilon=0.5).value for _ in range(RUNS)]
    answers = [value for value in found if not isinstance(value, dp.NoAnswer)]
    assert len(answers) >= RUNS - 4
    # The noise of a variance of so few may be as large as itself: its root is not wild, no more is promised.
    least, most = (0.0, 10 * INCOMES.max()) if name == "std" else (0.1 * truth(INCOMES), 10 * truth(INCOMES))
    assert sum(not least <= value < most for value in answers) <= 1


def test_a_second_cluster_far_from_the_first_is_not_cut_off_without_bounds() -> None:
    """400 records of 10 and 100 of 1000, ε = 1: the look alone took the second for noise, and the mean was 10.

    4 of 80 were cut off with both looks together, 80 of 80 without. 20 of 40 have a probability below 10⁻⁶ at 15 %.
    """
    records = np.repeat([10.0, 1000.0], [400, 100])
    found = [dp.stats.mean(records, epsilon=1).value for _ in range(40)]
    assert sum(value < 100 for value in found) < 20


def test_far_too_wide_bounds_are_left_and_tight_ones_kept() -> None:
    """744 incomes at ε = 0.5: kept bounds (0, 10⁹) mean an error of 10⁶; 0 of 60 were, where half were by one look.

    Six of 24 is what a probability of 1 in 30 gives once in 10⁵. Ten thousand ages fill their bounds (0, 120): a range
    inside them gains too little, and the look is all that they cost.
    """
    wide = [dp.stats.mean(INCOMES, epsilon=0.5, bounds=(0, 10**9)).found["clip"] for _ in range(2 * RUNS)]
    assert sum(high == 10**9 for _, high in wide) < 6
    ages = np.floor(120 * DRAWN.random(10_000))
    for name, (ask, _) in ASKED.items():
        release = ask(ages, epsilon=1, bounds=(0, 120))
        assert release.found["clip"] == (0, 120), name
        assert release.split["look"] < 0.05


def test_noise_alone_is_no_evidence() -> None:
    """E[ratio] = 1 where there are no records: of 2000, none exceeds 10⁶ but for 2·10⁻³, and none of these 10⁹.

    With records it does: the test would notice an evidence that is always small.
    """
    empty = [Tail.of([Seen(DRAWN.laplace(0, 1, 59), 1.0)]).evidence for _ in range(2000)]
    assert max(empty) < np.log(1e9)
    assert np.mean(np.exp(empty)) < 1.5
    records = np.zeros(59)
    records[20:26] = 8
    assert all(Tail.of([Seen(records + DRAWN.laplace(0, 1, 59), 1.0)]).evidence > np.log(1e6) for _ in range(50))


def test_records_that_are_spread_out_are_evidence_and_noise_is_not() -> None:
    """Three scales in each of 40 cells. Of noise, a ratio of mean 1 exceeds 1000 in 1 of 1000 cases at most.

    That is 2 of 2000, and 21 or more have a probability below 10⁻¹³; without (1 − t²)^j nearly all do. Whole numbers as
    noise, of a scale below their step, have smaller moments.
    """
    whole = DRAWN.geometric(1 - np.exp(-2), (2, 2000, 59))
    for noise, scale in ((DRAWN.laplace(0, 1, (2000, 59)), 1.0), (1.0 * (whole[0] - whole[1]), 0.5)):
        empty = np.array([Tail.of([Seen(each, scale)]).spread_out for each in noise])
        assert np.sum(empty > np.log(1000)) <= 20
    records = np.zeros(59)
    records[10:50] = 3
    for _ in range(50):
        seen = Seen(records + DRAWN.laplace(0, 1, 59), 1.0)
        assert Tail.of([seen]).spread_out > np.log(10**9)
        assert Tail.of([seen, seen]).spread_out > 1.9 * Tail.of([seen]).spread_out


def test_what_two_looks_show_is_multiplied() -> None:
    """The second look counts what the first one showed; a first one inside bounds goes by its chains alone."""
    search = _Search(
        HalfOctaves.within((0.0, 100.0)).binned(np.full(95, 40.0)), Goal("sum", replaces=False), Fraction(1),
        ADD_REMOVE, Spent(ADD_REMOVE), Fraction(1),
    )  # fmt: skip
    seen = (Seen(np.array(search.binned.counts, dtype=np.float64), 5.0),)
    alone = search._choice(seen)
    assert not alone.is_sure
    assert replace(search, known=8.0)._choice(seen).evidence == pytest.approx(alone.evidence + 8)
    assert replace(search, known=8.0)._choice(seen).is_sure
    chains = replace(search, joined=4)._choice(seen).evidence
    assert chains != alone.evidence


def test_a_tail_goes_on_beyond_what_is_seen() -> None:
    """Counts that halve from cell to cell: those that the noise hides are expected to go on, and to end."""
    counts = np.zeros(59)
    counts[20:40] = 4096 * 0.5 ** np.arange(20)
    tail = Tail.of([Seen(counts + DRAWN.laplace(0, 30, 59), 30.0)])
    mean, square = tail.moments(tail.last_with(0.5))
    assert (square >= mean * (1 - 1e-9)).all()
    last = tail.last_with(0.5)
    assert 24 <= last <= 29
    assert 0 < mean[last + 1] < 200
    assert mean[50:].max() < 1


def test_few_ties_at_the_end_of_bounds_are_seldom_cut_off() -> None:
    """Prices with empty cells between them, 5 % at the largest, n·ε = 500: a sum loses 30 times its noise without them.

    10 of 400 were cut off, so that the probability is below 6.5 % at a confidence of 0.9999, and 30 of 150 are met once
    in 10⁷ runs. At 1 in 4 nine of ten runs would notice. Bounds are often tight: their last octave has more starts.
    """
    prices = np.repeat([9.99, 19.99, 4.99, 49.0, 99.0, 0.99, 199.0], [386, 193, 128, 96, 77, 65, 55])
    ends = [dp.stats.sum(prices, epsilon=0.5, bounds=(0, 210)).found["clip"][1] for _ in range(150)]
    assert sum(end < 199 for end in ends) < 30
    _, above = _chosen(prices, 210.0, scale=44.0).starts_in(HalfOctaves.within((0.0, 210.0)))
    assert min(above[-2:]) >= 0.1 > above[-3]


@pytest.mark.parametrize("adjacency", [ADD_REMOVE, REPLACE_ONE], ids=str)
def test_records_far_from_zero_and_close_together_get_a_range_of_their_own(adjacency: Adjacency) -> None:
    """10⁶ ± 5 inside (0, 2·10⁶): ranges wider than a twentieth of that are rare, as noise is seldom taken for records.

    8 of 2500 were under add/remove and 18 of 2500 under replace-one (before doubts were settled, one in seven). So the
    probabilities are below 1.0 % and 1.6 % at a confidence of 0.9999 each, and 8 of 40 are met once in 5·10⁶ runs of
    both tests: Σ C(40, k) pᵏ(1 − p)⁴⁰⁻ᵏ from k = 8 on is 5·10⁻⁹ and 2·10⁻⁷.
    """
    records = DRAWN.normal(10**6, 5, 3000)
    ranges = [
        dp.stats.mean(records, epsilon=1, bounds=(0, 2 * 10**6), adjacency=adjacency).found["clip"] for _ in range(40)
    ]
    assert sum(high - low > 10**5 for low, high in ranges) < 8


def _first_look(values: Any, noise: dict[int, float]) -> Any:
    """What a first look with noise of scale 22 says that happens to be 0 but in these cells; bounds (0, 2·10⁶)."""
    binned = HalfOctaves.within((0.0, 2e6)).binned(np.asarray(values, dtype=np.float64)).coarse()
    search = _Search(
        binned, Goal("mean", replaces=False), Fraction(1), ADD_REMOVE, Spent(ADD_REMOVE), Fraction(1), joined=4
    )
    counts = np.array(binned.counts, dtype=np.float64)
    for cell, scales in noise.items():
        counts[cell] += 22 * scales
    return search._choice((Seen(counts, 22.0),))


@pytest.mark.parametrize("cell", [0, 1, 5], ids=["at the anchor", "next to it", "farther"])
def test_noise_elsewhere_puts_the_anchor_in_doubt_and_no_more(cell: int) -> None:
    """Noise of 4 scales, or 7 farther out: the first look does not move the anchor, and a second one follows.

    Records elsewhere that are seen but for little doubt keep the anchor where it is.
    """
    far = np.full(3000, 1e6)
    assert _first_look(far, {}).narrow(_EVEN) is not None
    seen = _first_look(far, {cell: 7.0 if cell == 5 else 4.0})
    assert seen.narrow(_EVEN) is None
    assert seen.narrow(_LITTLE_DOUBT) is not None
    assert _first_look(far, {cell: 16.0}).narrow(_LITTLE_DOUBT) is None


def test_a_doubt_is_settled_by_a_second_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bounds were kept where the first look had noise of 4 scales at the anchor: 1000 times too wide."""
    look, shares = _Search.look, []

    def looked(search: _Search, share: Fraction) -> Any:
        chosen = look(search, share)
        shares.append(share)
        return chosen if len(shares) > 1 else _first_look(far, {0: 4.0})

    far = DRAWN.normal(10**6, 5, 3000)
    monkeypatch.setattr(_Search, "look", looked)
    low, high = dp.stats.mean(far, epsilon=10**6, bounds=(0, 2 * 10**6)).found["clip"]
    assert len(shares) == 3
    assert high - low < 10**3


@pytest.mark.parametrize("at", [1, 2], ids=["first look", "second look"])
@pytest.mark.parametrize("ask", [dp.stats.sum, dp.stats.mean, dp.stats.variance])
def test_noise_in_a_far_cell_leads_to_another_look(ask: Any, at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """8 to 10 scales of noise in the outermost cell kept the whole bounds, 10⁵ times too wide, in one of 150 looks.

    At ε = 10⁴ there is no other noise to speak of: its scale is made to look like 22 or 6 records.
    """
    look, shares = _Search.look, []

    def looked(search: _Search, share: Fraction) -> Any:
        chosen = look(search, share)
        shares.append(share)
        last = len(search.binned.counts) - 1 - search.binned.bins.below.cells
        counts, scale = chosen.looks[-1].counts.copy(), 22.0 if len(shares) == 1 else 5.9
        counts[last] += (6 + 2 * at) * scale * (len(shares) == at)
        return search._choice((*search.before, Seen(counts, scale)))

    near = DRAWN.exponential(10, 3000)
    monkeypatch.setattr(_Search, "look", looked)
    release = ask(near, epsilon=10**4, bounds=(0, 10**6))
    assert len(shares) > at
    assert release.found["clip"][1] < 10**4
    assert sum(release.split.values()) == 10**4


def test_what_one_look_suspects_the_next_one_notices() -> None:
    """38 of 500 at 0, the others near 10⁶: 6 scales in each of two looks are 13 together, and were cut off as noise."""
    records = np.append(np.zeros(38), DRAWN.normal(10**6, 5, 462))
    before = _chosen(records, 2e6, scale=5.9)
    around = HalfOctaves.around(10.0**6, (0.0, 2e6)).binned(records)
    search = _Search(around, Goal("mean", replaces=False), Fraction(2), ADD_REMOVE, Spent(ADD_REMOVE), Fraction(1))
    counts = np.array(around.counts, dtype=np.float64)
    assert search._choice((Seen(counts, 5.9),)).gain > 1000
    known = replace(search, starts=before.starts_in(around.bins, before.narrow(_LITTLE_DOUBT)))
    assert known._choice((Seen(counts, 5.9),)).gain < 2


@pytest.mark.parametrize("share", [0.97, 0.9])
def test_shares_keep_their_bounds(share: float) -> None:
    """500 records of 0 and 1, ε = 1: 15 zeros are hidden by the noise. Nobody moves the anchor to the end of bounds.

    The range was one around 1 in one of five runs, and the mean was 1. To choose one, the second look would have to
    overlook 450 ones, 76 scales of its noise.
    """
    records = (np.arange(500) < 500 * share).astype(np.float64)
    assert all(dp.stats.mean(records, epsilon=1, bounds=(0, 1)).found["clip"] == (0, 1) for _ in range(2 * RUNS))
    assert _chosen(records, 1.0, scale=500.0).narrow(_EVEN) is None


def test_shares_of_a_population_stay_between_0_and_1() -> None:
    for records in (np.zeros(40), np.ones(40), np.arange(40) % 2.0):
        for adjacency in (ADD_REMOVE, REPLACE_ONE):
            release = dp.stats.mean(records, epsilon=1, bounds=(0, 1), population=True, adjacency=adjacency)
            low, high = release.interval(0.95)
            assert 0 <= low <= release.value <= high <= 1


@pytest.mark.parametrize("bounds", [None, (0, 10**9)])
@pytest.mark.parametrize("constant", [3.0, 1000.0, 1024.0, 1536.0])
def test_a_constant_is_found_where_its_cells_end_and_elsewhere(constant: float, bounds: Any) -> None:
    """10,000 equal records, ε = 1. A new anchor right on them shows nothing, and the first look stands.

    Without that, half of the constants on an edge of the cells got no answer, and others were off by 400 times. In one
    run of a thousand (5 of 4,500 inside of bounds) noise is taken for records that are far away, and the mean is one of
    a wider range: in 4 of 12 runs with probability 495·10⁻¹², which is below 10⁻⁸ for all eight tests.
    """
    found = [dp.stats.mean(np.full(10_000, constant), epsilon=1, bounds=bounds).value for _ in range(RUNS)]
    close = [value for value in found if not isinstance(value, dp.NoAnswer) and abs(value - constant) < constant / 10]
    assert len(close) >= RUNS - 3


def test_counts_that_fit_no_level_warn_of_nothing() -> None:
    """Two looks that contradict each other beyond what doubles hold, as noise may make them though it never does."""
    with np.errstate(divide="raise", invalid="raise", over="raise"):
        tail = Tail.of([Seen(np.array([1e9, -1e9, 0.0, 5.0]), 1.0), Seen(np.array([-1e9, 1e9, 1e9, 5.0]), 0.01)])
    assert np.isfinite(tail.posterior).all()
    assert np.isfinite(tail.evidence)


def _chosen(values: Any, high: float, scale: float) -> Any:
    """What a look says whose noise happens to be 0."""
    binned = HalfOctaves.within((0.0, high)).binned(np.asarray(values, dtype=np.float64))
    search = _Search(binned, Goal("mean", replaces=False), Fraction(2), ADD_REMOVE, Spent(ADD_REMOVE), Fraction(1))
    return search._choice((Seen(np.array(binned.counts, dtype=np.float64), scale),))


def test_ties_that_are_far_apart_are_all_inside() -> None:
    """Prices with empty cells between them. Three times 31 records, ten scales each, were taken for noise."""
    prices = np.repeat([0.99, 4.99, 9.99, 19.99, 49.0, 99.0, 199.0], [25, 31, 110, 63, 31, 31, 31])
    edges = HalfOctaves.within((0.0, 200.0)).above.edges
    assert edges[_chosen(prices, 200.0, scale=2.94).reach[1]] == 200


def test_the_anchor_stays_where_there_are_records() -> None:
    """A half of zeros and a half of ones are not within an octave: moving there cost a second look in vain."""
    assert _chosen([1.0] * 500, 3.0, scale=5.0).narrow(_EVEN) is not None
    for doubt in (_EVEN, _LITTLE_DOUBT):
        assert _chosen([0.0] * 500 + [1.0] * 500, 3.0, scale=5.0).narrow(doubt) is None
