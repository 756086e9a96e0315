"""Events made of one event, by brute force: what they are said to cost is at least what the worst neighbours lose.

Records are numbers that are added up, at most 1 in size, so that a record and one that takes its place may be 2 apart.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

import dither as dp
from dither import events
from dither.accounting import WideBracket, compose, of_pairs
from dither.accounting.dominate import _drawn_together
from dither.accounting.filters import pure_cost
from dither.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency
from dither.errors import AdjacencyMismatch, ParameterError
from dither.exact.negative_binomial import mean_repetitions, stop_for
from dither.pairs.finite import FinitePair, worst_of
from dither.pairs.gaussian_mixture import GaussianMixturePair
from dither.pairs.selected import SelectedPair
from tests.oracle import samples as oracle
from tests.oracle.points import stream

HALF = Fraction(1, 2)
VALUES = (-1, 1)
EPSILONS = (0.0, 0.1, 0.4, 1.0, 2.0)
Law = Mapping[object, float]
Data = tuple[int, ...]
CELLS = 0.25

NOISE: dict[str, tuple[events.Event, Callable[[float], float]]] = {
    "Gaussian": (events.GaussianNoise.of(1), oracle.normal_cdf),
    "little Gaussian": (events.GaussianNoise.of(HALF), lambda x: oracle.normal_cdf(2 * x)),
    "Laplace": (events.LaplaceNoise(1), oracle.laplace_cdf),
}


def noisy(name: str) -> Callable[[Data], Law]:
    """The sum of the records with noise, in cells; where the neighbours move it by Δ = 1 for each record."""
    known: dict[int, Law] = {}

    def law(data: Data) -> Law:
        total = sum(data)
        if total not in known:
            known[total] = oracle.in_cells(NOISE[name][1], float(total), width=CELLS)
        return known[total]

    return law


def check(
    event: events.Event, pairs: Iterator[tuple[Law, Law]], slack: float = 1e-7, *, is_below: bool = False
) -> float:
    """That no pair of laws is farther apart than the event is said to be; how near the worst comes to it, relatively.

    `is_below` if the pairs are exact and all there are: then the lower end is below the worst.
    """
    composed = compose([event], relative_width=0.01)
    found = {epsilon: composed.delta(epsilon) for epsilon in EPSILONS}
    worst = dict.fromkeys(EPSILONS, 0.0)
    for one, other in pairs:
        for epsilon in EPSILONS:
            for first, second in ((one, other), (other, one)):
                worst[epsilon] = max(worst[epsilon], oracle.delta(dict(first), dict(second), epsilon))
    for epsilon in EPSILONS:
        assert found[epsilon] >= worst[epsilon] - slack, (str(event), epsilon)
        if is_below:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", WideBracket)
                assert composed.delta_bracket(epsilon).lower <= worst[epsilon] + 1e-12, (str(event), epsilon)
    return min((worst[epsilon] / found[epsilon] for epsilon in EPSILONS if found[epsilon] > 1e-3), default=1.0)


def datasets(size: int) -> Iterator[Data]:
    return itertools.product(VALUES, repeat=size)


def replaced(size: int) -> Iterator[tuple[Data, Data]]:
    for data in datasets(size):
        yield data, (-data[0], *data[1:])


def removed(size: int) -> Iterator[tuple[Data, Data]]:
    for data in datasets(size):
        yield data, data[1:]


def mixture(parts: Iterator[tuple[Law, float]]) -> Law:
    law: dict[object, float] = {}
    for part, chance in parts:
        for outcome, share in part.items():
            law[outcome] = law.get(outcome, 0.0) + chance * share
    return law


# ---------------------------------------------------------------------------------- samples


@pytest.mark.parametrize("name", NOISE)
@pytest.mark.parametrize(("draws", "population"), [(1, 1), (2, 1), (1, 3), (2, 2), (3, 2), (2, 3)])
def test_draws_with_replacement(name: str, draws: int, population: int) -> None:
    """One place that is filled by another record moves the sum by 2: so far that the event must say it."""
    noise = NOISE[name][0]
    event = (
        events.LaplaceNoise(noise.scale, 2)
        if isinstance(noise, events.LaplaceNoise)
        else events.GaussianNoise(variance=noise.variance, sensitivity_squared=4)  # type: ignore[union-attr]
    )
    mechanism = noisy(name)

    def law(data: Data) -> Law:
        places = list(itertools.product(data, repeat=draws))
        return mixture((mechanism(place), 1 / len(places)) for place in places)

    check(
        events.WithReplacementSampled(event, draws, population),
        ((law(one), law(other)) for one, other in replaced(population)),
    )


def test_one_draw_is_a_sample_of_one() -> None:
    """Then both ways of sampling are the same, and so are their costs; of much noise, in many draws, too."""
    one, same = (
        compose([events.Repeated(sampled(events.GaussianNoise.of(1), 1, 50), 100)]).bracket("1e-6")
        for sampled in (events.WithReplacementSampled, events.FixedSizeSampled)
    )
    assert one.lower <= same.upper
    assert same.lower <= one.upper


@pytest.mark.parametrize("name", ["Gaussian", "little Gaussian"])
@pytest.mark.parametrize(("batch", "population"), [(1, 1), (1, 2), (1, 3), (2, 3), (3, 3), (1, 4), (2, 4)])
@pytest.mark.parametrize("rate", [Fraction(1, 10), HALF, Fraction(1)])
def test_poisson_samples_that_are_cut(name: str, batch: int, population: int, rate: Fraction) -> None:
    mechanism = noisy(name)

    def law(data: Data) -> Law:
        def parts() -> Iterator[tuple[Law, float]]:
            for drawn, chance in oracle.poisson(data, rate):
                kept = list(itertools.combinations(drawn, min(batch, len(drawn))))
                yield from ((mechanism(each), chance / len(kept)) for each in kept)

        return mixture(parts())

    check(
        events.TruncatedPoissonSampled(NOISE[name][0], rate, batch, population),
        ((law(one), law(other)) for one, other in removed(population)),
    )


@pytest.mark.parametrize(("batch", "population"), [(1, 2), (1, 4), (2, 4), (3, 5)])
@pytest.mark.parametrize("rate", [Fraction(1, 10), HALF, Fraction(1)])
def test_the_lower_end_of_cut_samples_is_an_example(batch: int, population: int, rate: Fraction) -> None:
    """The others are 0: then it counts how often the record that differs is kept, found here by drawing all samples."""
    data = (1, *(0 for _ in range(population - 1)))
    chance = sum(
        share * min(1.0, batch / sum(drawn)) * drawn[0]
        for drawn in itertools.product((0, 1), repeat=len(data))
        if (share := math.prod(float(rate) if kept else float(1 - rate) for kept in drawn)) and any(drawn)
    )
    step = events.GaussianNoise.of(1)
    true = dp.compose([events.PoissonSampled(step, Fraction(chance))])
    whole = dp.compose([events.TruncatedPoissonSampled(step, rate, batch, population)])
    _check_below(whole, true)


@pytest.mark.parametrize(
    "noise",
    [
        events.GaussianNoise.of(1, adjacency=REPLACE_ONE),
        events.LaplaceNoise(1, adjacency=REPLACE_ONE),
        events.RandomizedAnswer(HALF, adjacency=REPLACE_ONE),
    ],
    ids=["Gaussian", "Laplace", "answer"],
)
def test_the_lower_end_of_draws_with_replacement_is_an_example(noise: events.Event) -> None:
    """The mechanism only looks whether the record is drawn at all."""
    whole = dp.compose([events.WithReplacementSampled(noise, 3, 5)])
    true = dp.compose([events.FixedSizeSampled(noise, 61, 125)])  # 1 − (4/5)³
    _check_below(whole, true)


def test_the_lower_end_of_several_things_on_a_sample_is_one_of_them() -> None:
    several = events.PoissonSampled(events.Repeated(events.LaplaceNoise(1), 3), "0.1")
    _check_below(dp.compose([several]), dp.compose([events.PoissonSampled(events.LaplaceNoise(1), "0.1")]))


LEAKY = events.Stated("ApproxDP", (1, "0.01"))
LEAKS: dict[str, events.Event] = {
    "several on a sample": events.PoissonSampled(events.Composed((events.LaplaceNoise(1), LEAKY)), "0.1"),
    "on a sample of a sample": events.PoissonSampled(
        events.PoissonSampled(events.Composed((events.LaplaceNoise(1), LEAKY)), "0.5"), "0.2"
    ),
    "with replacement": events.WithReplacementSampled(
        events.Stated("ApproxDP", (1, "1e-3"), adjacency=REPLACE_ONE), 3, 50
    ),
    "a group": events.GroupOf(LEAKY, 2),
}


@pytest.mark.parametrize("event", LEAKS.values(), ids=LEAKS)
def test_infinite_losses_of_a_bound_stay_infinite_losses(event: events.Event) -> None:
    """Beyond n times the largest loss δ is at most n times that of one; and the lower end is below what is composed."""
    one, n = compose([event]).delta(100), 10
    whole = compose([event] * n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WideBracket)
        lower, upper = whole.delta_bracket(100)
    assert 0 < one < 0.1
    assert lower <= upper <= n * one * (1 + 1e-9)
    assert upper >= 1 - (1 - one) ** n - 1e-9  # what is composed is that bound itself
    assert whole.tv() < 1 - 1e-4
    assert whole.deltas([50, 100]) == pytest.approx([upper] * 2, rel=1e-3)
    assert whole.upper_delta(100) == pytest.approx(upper, rel=1e-3)
    assert whole.epsilon(Fraction(upper) * 2) <= 20
    assert whole.beta(1e-6) > 0.01


def test_lower_ends_of_what_may_leak_are_those_of_the_example() -> None:
    example = events.PoissonSampled(events.LaplaceNoise(1), "0.1")
    _check_below(compose([LEAKS["several on a sample"]] * 3), compose([example] * 3))


def test_what_a_filter_charges_for_a_leak_on_a_sample() -> None:
    """ln(1 + 0.1(e^2 − 1)) and a tenth of the leak."""
    event = LEAKS["several on a sample"]
    epsilon, delta = pure_cost(event)
    assert epsilon == pytest.approx(math.log1p(0.1 * math.expm1(2)))
    assert delta == Fraction(1, 1000)


def _check_below(whole: dp.accounting.Composition, true: dp.accounting.Composition) -> None:
    """The lower end is what the example costs, and no more."""
    for epsilon in EPSILONS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", WideBracket)
            found, known = whole.delta_bracket(epsilon), true.delta_bracket(epsilon)
        assert found.lower <= known.upper * (1 + 1e-9)
        assert found.lower >= known.lower * (1 - 1e-6)


def test_a_rate_that_no_grid_holds_costs_next_to_nothing() -> None:
    whole = compose([events.TruncatedPoissonSampled(events.GaussianNoise.of(1), "1e-100", 1, 10)])
    assert whole.delta("0.01") < 1e-50
    assert whole.delta_bracket("0.01").lower == 0


def test_a_cut_that_never_comes_costs_nothing() -> None:
    step = events.GaussianNoise.of(1)
    plain = compose([events.Repeated(events.PoissonSampled(step, "0.01"), 100)]).bracket("1e-6")
    for batch in (100, 1000):
        cut = compose([events.Repeated(events.TruncatedPoissonSampled(step, "0.01", batch, 1000), 100)]).bracket("1e-6")
        assert cut.upper <= plain.upper * 1.001
        assert cut.lower >= plain.lower * 0.999


# ---------------------------------------------------------------------------------- neighbours


@pytest.mark.parametrize("name", NOISE)
@pytest.mark.parametrize("rate", [Fraction(1, 10), HALF, Fraction(99, 100), Fraction(1)])
def test_poisson_samples_where_one_is_replaced(name: str, rate: Fraction) -> None:
    mechanism = noisy(name)

    def law(data: Data) -> Law:
        return mixture((mechanism(drawn), chance) for drawn, chance in oracle.poisson(data, rate))

    worst = check(
        events.ReplaceOne(events.PoissonSampled(NOISE[name][0], rate)),
        ((law(one), law(other)) for size in (1, 2) for one, other in replaced(size)),
    )
    if name == "Gaussian":  # tight: only the cells lose a little
        assert worst > 0.8


def test_replacing_is_no_cheaper_than_removing_and_no_dearer_than_two_steps() -> None:
    for noise in (events.GaussianNoise.of(1), events.LaplaceNoise(1)):
        sampled = events.PoissonSampled(noise, "0.05")
        for times in (1, 30):
            replaced_, removed_, two = (
                compose([events.Repeated(each, times)], relative_width=1e-3).epsilon("1e-5")
                for each in (events.ReplaceOne(sampled), sampled, events.GroupOf(sampled, 2))
            )
            assert removed_ * 0.999 <= replaced_
            if isinstance(noise, events.LaplaceNoise):
                assert replaced_ <= two * 1.1  # both are bounds


@pytest.mark.parametrize("name", NOISE)
@pytest.mark.parametrize("size", [1, 2, 3])
def test_groups_on_poisson_samples(name: str, size: int) -> None:
    mechanism, rate = noisy(name), Fraction(1, 3)

    def law(data: Data) -> Law:
        return mixture((mechanism(drawn), chance) for drawn, chance in oracle.poisson(data, rate))

    worst = check(
        events.GroupOf(events.PoissonSampled(NOISE[name][0], rate), size),
        ((law(data), law(data[size:])) for data in datasets(3)),
    )
    if name == "Gaussian":  # tight: cells of a quarter lose some, most of it far out
        assert worst > 0.5


@pytest.mark.parametrize(
    "event",
    [
        events.LaplaceNoise(2),
        events.LaplaceNoise(3, step=1),
        events.GaussianNoise.of(2),
        events.GaussianNoise.of(2, step=Fraction(1)),
    ],
    ids=str,
)
def test_groups_of_noise_are_as_if_the_sensitivity_were_larger(event: events.Event) -> None:
    larger = (
        events.LaplaceNoise(event.scale, 3, event.step)
        if isinstance(event, events.LaplaceNoise)
        else events.GaussianNoise(variance=event.variance, sensitivity_squared=9, step=event.step)  # type: ignore[union-attr]
    )
    group = events.GroupOf(events.Composed((event, events.Repeated(event, 3))), 3)
    assert compose([group]).bracket("1e-5") == compose([events.Repeated(larger, 4)]).bracket("1e-5")
    assert group.adjacency is None


def test_groups_of_anything_are_between_one_step_and_the_sum_of_largest_losses() -> None:
    for event in (
        events.StaircaseNoise(1, HALF),
        events.Stated("ApproxDP", (1, "1e-3")),
        events.Selection(2),
        events.FiniteAnswer(("0.7", "0.2", "0.1"), ("0.1", "0.2", "0.7")),
        events.FiniteAnswer(("0.699", "0.3", "0.001"), ("0.3", "0.7", "0")),
        events.RandomizedAnswer(HALF),
    ):
        for size in (2, 3):
            one, group = (compose([each]) for each in (event, events.GroupOf(event, size)))
            for epsilon in EPSILONS:
                assert group.delta(epsilon) >= one.delta(epsilon) * (1 - 1e-9)
                ratio = math.exp(epsilon / size)
                steps = sum(ratio**step for step in range(size)) * one.delta(epsilon / size)
                assert group.delta(epsilon) <= min(1.0, steps) * (1 + 1e-6) + 1e-9


def test_groups_of_a_table_by_a_chain_of_laws() -> None:
    """P₀, P₁, P₂, P₃ on four outcomes: each step within the pair of the table, three steps within the group's."""
    for points in stream("chains", 40):
        rows = [points.masses(4) for _ in range(4)]
        pairs = [FinitePair(tuple(a), tuple(b)) for a, b in itertools.pairwise(rows)]
        if any(pair.infinity for pair in pairs):
            continue
        worst = worst_of((pair.p, pair.q) for pair in pairs)
        group = compose([events.GroupOf(events.FiniteAnswer(worst.p, worst.q), 3)])
        for epsilon in EPSILONS:
            odds = math.exp(epsilon)
            true = sum(max(float(p) - odds * float(q), 0.0) for p, q in zip(rows[0], rows[3], strict=True))
            assert group.delta(epsilon) >= true - 1e-12


@pytest.mark.parametrize(("size", "rate"), [(3, "0.01"), (3, "1e-100"), (100, "0.02"), (1000, "0.001")])
def test_groups_on_a_sample_lose_what_a_mixture_does(size: int, rate: str) -> None:
    """More than 64 that are drawn together are counted in steps: no less than all of them, and at most 5 % more."""
    run = events.Repeated(events.PoissonSampled(events.GaussianNoise.of(4), rate), 3)
    found = compose([events.GroupOf(run, size)])
    share = Fraction(rate)
    chances = [math.comb(size, k) * share**k * (1 - share) ** (size - k) for k in range(size + 1)]
    if rate != "1e-100":
        kept = [(k, chance) for k, chance in enumerate(chances) if chance > Fraction(1, 10**30)]
        rest = 1 - sum(chance for _, chance in kept)
        kept = [(k, chance + (rest if k == 0 else 0)) for k, chance in kept]
        exact = GaussianMixturePair(tuple(Fraction(k**2, 16) for k, _ in kept), tuple(chance for _, chance in kept))
        lower, upper = of_pairs([(exact, 3)]).bracket("1e-6")
        assert lower <= found.epsilon("1e-6") <= upper * 1.05
    assert found.epsilon("1e-6") <= compose(
        [events.GroupOf(events.Repeated(events.GaussianNoise.of(4), 3), size)]
    ).epsilon("1e-6") * (1 + 1e-9)


@pytest.mark.parametrize("rate", ["0.1", "0.5"])
def test_the_group_of_a_composition_holds_where_one_record_comes_and_one_goes(rate: str) -> None:
    """Replacing one is two steps. `GroupOf` is proved of groups that all come or go, and not of this."""
    run = events.PoissonSampled(events.GaussianNoise.of(1), rate)
    x, step = np.linspace(-14.0, 14.0, 400_001, retstep=True)
    drawn, kept = float(rate), 1 - float(rate)
    p, q = (kept * norm.pdf(x) + drawn * norm.pdf(x, loc=place) for place in (1.0, -1.0))
    any_way = compose([run]).group(2)
    truth = [float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum() * step) for epsilon in (0.5, 1.0, 2.0)]
    for true, epsilon in zip(truth, (0.5, 1.0, 2.0), strict=True):
        assert any_way.delta(epsilon) >= true * (1 - 1e-6)
    assert compose([run]).group(1).epsilon("1e-6") == compose([run]).epsilon("1e-6")


def test_groups_of_what_has_no_rule_by_itself_lose_what_all_keep() -> None:
    mixed = dp.compose([events.GaussianNoise.of(2), dp.RenyiDP({2: "0.1"})])
    with pytest.raises(ParameterError, match="no rule for groups"):
        mixed.group(2)
    assert dp.compose([events.GroupOf(events.GaussianNoise.of(2), 2)]).group(3).epsilon("1e-6") == pytest.approx(
        dp.GaussianDP(3).epsilon("1e-6"), rel=1e-9
    )


def _renyi_of_replacement(mu: float, rate: float, order: float) -> float:
    """By a sum over a fine grid."""
    x = np.linspace(-40 - 2 * mu * order, 40 + 2 * mu * order, 400_001)
    logs = [np.logaddexp(math.log1p(-rate) - x**2 / 2, math.log(rate) - (x - sign * mu) ** 2 / 2) for sign in (1, -1)]
    terms = order * logs[0] + (1 - order) * logs[1] - 0.5 * math.log(2 * math.pi)
    most = float(terms.max())
    return (most + math.log(np.exp(terms - most).sum() * (x[1] - x[0]))) / (order - 1)


@pytest.mark.parametrize(("sigma", "rate"), [("1", "0.01"), ("0.5", "0.3"), ("20", "0.3"), ("2", "0.001")])
def test_renyi_curves_where_a_record_is_replaced(sigma: str, rate: str) -> None:
    """Never below the truth, and within three hundredths of it."""
    step = events.ReplaceOne(events.PoissonSampled(events.GaussianNoise.of(Fraction(sigma)), rate))
    whole = compose([step])
    for order in (1.25, 2, 3, 8, 16):
        true = _renyi_of_replacement(1 / float(sigma), float(rate), order)
        assert true * (1 - 1e-6) <= whole.renyi(order) <= true * 1.03
    assert whole.renyi(64) < math.inf
    assert dp.guarantees.to_zcdp(whole).rho <= 2 / Fraction(sigma) ** 2


@pytest.mark.parametrize("adjacency", [None, REPLACE_ONE])
def test_groups_of_replaced_records_have_no_direction(adjacency: Adjacency | None) -> None:
    """Two laws on either side of a third, each as far from it as the event says, in one order or in the other."""
    left, middle, right = ((Fraction(p, 202), Fraction(202 - p, 202)) for p in (200, 101, 2))
    group = compose([events.GroupOf(events.FiniteAnswer(left, middle, adjacency), 2)])
    for epsilon in EPSILONS:
        odds = math.exp(epsilon)
        true = sum(max(float(p) - odds * float(q), 0.0) for p, q in zip(left, right, strict=True))
        assert group.delta(epsilon) >= true - 1e-12


# ---------------------------------------------------------------------------------- shuffled reports


def shuffled(reports: list[Law]) -> Law:
    """How often each answer is among the reports."""
    counts: dict[object, float] = {(): 1.0}
    for report in reports:
        grown: dict[object, float] = {}
        for (known, chance), (answer, share) in itertools.product(counts.items(), report.items()):
            assert isinstance(known, tuple)
            key = tuple(sorted((*known, answer), key=repr))
            grown[key] = grown.get(key, 0.0) + chance * share
        counts = grown
    return counts


@pytest.mark.parametrize("answers", [2, 3])
@pytest.mark.parametrize("reports", [1, 2, 3, 5])
@pytest.mark.parametrize("keep", [Fraction(1, 10), HALF, Fraction(9, 10)])
def test_shuffled_answers(answers: int, reports: int, keep: Fraction) -> None:
    def report(answer: int) -> Law:
        other = float((1 - keep) / answers)
        return {each: other + float(keep) * (each == answer) for each in range(answers)}

    def pairs() -> Iterator[tuple[Law, Law]]:
        for others in itertools.combinations_with_replacement(range(answers), reports - 1):
            for one, other in itertools.combinations(range(answers), 2):
                yield tuple(shuffled([report(x), *map(report, others)]) for x in (one, other))  # type: ignore[misc]

    event = events.ShuffledReports(events.RandomizedAnswer(keep, answers), reports)
    worst = check(event, pairs(), is_below=True)
    if answers == 2 and reports <= 2:  # the others then are as few as they can be, and one of them is as good as random
        assert worst > 0.95


@pytest.mark.parametrize("reports", [2, 3])
def test_shuffled_reports_of_any_bounded_loss(reports: int) -> None:
    """Tables of three outcomes with losses of at most 1: the blanket of any randomizer, not that of an answer."""
    for points in stream(f"shuffled tables {reports}", 60):
        rows = _bounded_rows(points.masses)
        event = events.ShuffledReports(events.Stated("PureDP", (1,), REPLACE_ONE), reports)

        def pairs(rows: list[Law] = rows) -> Iterator[tuple[Law, Law]]:
            for others in itertools.combinations_with_replacement(rows, reports - 1):
                yield shuffled([rows[0], *others]), shuffled([rows[1], *others])

        check(event, pairs())


def _bounded_rows(masses: Callable[[int], list[Fraction]]) -> list[Law]:
    """Three laws whose probabilities are within a factor e of each other."""
    centre = np.array([float(x) for x in masses(3)]) + 0.02
    rows: list[Law] = []
    for _ in range(3):
        weights = centre * np.exp(np.array([float(x) for x in masses(3)]) / 2)  # a factor √e, and √e by their sum
        rows.append({at: float(x) for at, x in enumerate(weights / weights.sum())})
    for one, other in itertools.permutations(rows, 2):
        assert max(one[at] / other[at] for at in range(3)) <= math.e
    return rows


@pytest.mark.parametrize("reports", [10**6, 10**9, 10**12])
def test_very_many_reports(reports: int) -> None:
    """About √(ln(1/δ)/n), and with bounded memory: few runs where tables are long."""
    event = events.ShuffledReports(events.Stated("PureDP", ("1.5",)), reports)
    whole = compose([event])
    delta = Fraction(1, 10**9)
    assert whole.epsilon(delta) < 20 / math.sqrt(reports)
    assert whole.epsilon(delta) > 3 / math.sqrt(reports)
    if reports == 10**6:
        assert whole.epsilon("1e-6") == pytest.approx(0.008091, rel=1e-3)  # 0.0080913 from below, of this bound itself


def test_the_lower_end_of_shuffled_reports_is_an_example() -> None:
    """All others answer 0: how many ones there are is two binomial laws, here added up one by one."""
    keep, reports = HALF, 40
    event = events.ShuffledReports(events.RandomizedAnswer(keep), reports)
    others = [math.comb(reports - 1, k) * 0.25**k * 0.75 ** (reports - 1 - k) for k in range(reports)]
    laws = [
        [chance * a + (1 - chance) * b for a, b in zip([0.0, *others], [*others, 0.0], strict=True)]
        for chance in (0.75, 0.25)
    ]
    for epsilon in (0.0, 0.1, 0.3, 0.6):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", WideBracket)
            lower = compose([event]).delta_bracket(epsilon).lower
        true = math.fsum(max(p - math.exp(epsilon) * q, 0.0) for p, q in zip(*laws, strict=True))
        assert true * (1 - 1e-6) <= lower <= true * (1 + 1e-12)


# -------------------------------------------------------------------------------------- balls in bins


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.0])
def test_an_epoch_of_two_random_batches_costs_no_more_than_is_said(epsilon: float) -> None:
    """½N((1, 0), I) + ½N((0, 1), I) against N(0, I), both ways, by a sum over a grid of the plane."""
    x = np.linspace(-9, 10, 1200)
    outside = np.exp(-(x[:, None] ** 2 + x**2) / 2) / (2 * math.pi) * (x[1] - x[0]) ** 2
    inside = outside * (np.exp(x[:, None] - 0.5) + np.exp(x - 0.5)) / 2
    event = events.BallsInBinsSampled(events.GaussianNoise.of(1), 2)
    stated, least = compose([event]).delta(epsilon), 0.0
    for p, q in ((inside, outside), (outside, inside)):
        true = float(np.maximum(p - math.exp(epsilon) * q, 0).sum())
        assert true < stated
        least = max(least, true)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", WideBracket)
        assert 0 < compose([event]).delta_bracket(epsilon).lower <= least
    assert stated == pytest.approx(dp.GaussianDP(1).delta(epsilon), rel=1e-9)


# ---------------------------------------------------------------------------------- the best of many runs


def _times(shape: Fraction | None, stop: Fraction | None, mean: Fraction | None) -> dict[int, float]:
    """The law of the number of runs, up to where nothing is left."""
    if mean is not None:
        return {k: math.exp(-float(mean) + k * math.log(mean) - math.lgamma(k + 1)) for k in range(150)}
    assert shape is not None
    assert stop is not None
    eta, rest = float(shape), float(1 - stop)
    if not rest:
        return {1: 1.0}
    weights = {1: 1.0}
    for k in range(2, 800):
        weights[k] = weights[k - 1] * rest * (k - 1 + eta) / k
    total = math.fsum(weights.values())
    return {k: weight / total for k, weight in weights.items()}


def _best(law: np.ndarray, times: dict[int, float]) -> Law:
    """Outcomes rank as they are numbered."""
    below = np.concatenate([[0.0], np.cumsum(law)])
    best: dict[object, float] = {
        at: sum(p * (below[at + 1] ** k - below[at] ** k) for k, p in times.items() if k) for at in range(len(law))
    }
    best["none"] = times.get(0, 0.0)
    return best


@pytest.mark.parametrize(
    ("shape", "stop", "mean"),
    [
        (1, "0.1", None),
        (1, "0.9", None),
        (0, "0.2", None),
        (2, "0.5", None),
        ("-0.5", "0.1", None),
        ("0.5", "0.3", None),
        (None, None, "0.3"),
        (None, None, 5),
        (1, 1, None),
    ],
)
def test_the_best_of_many_runs(shape: str | None, stop: str | None, mean: str | None) -> None:
    for points in stream(f"best of {shape} {stop} {mean}", 12):
        p, q = (tuple(points.masses(4)) for _ in range(2))
        event = events.RepeatAndSelect(events.FiniteAnswer(p, q), shape, stop, mean)
        times = _times(event.shape, event.stop, event.mean)

        def pairs(
            p: tuple[Fraction, ...] = p, q: tuple[Fraction, ...] = q, times: dict[int, float] = times
        ) -> Iterator[tuple[Law, Law]]:
            for order in itertools.permutations(range(4)):
                one, other = (np.array([float(law[at]) for at in order]) for law in (p, q))
                yield _best(one, times), _best(other, times)

        check(event, pairs(), slack=1e-9)


def test_the_best_of_pure_runs_costs_shape_plus_two_times_as_much() -> None:
    for shape in (0, HALF, 1, 3):
        event = events.RepeatAndSelect(events.LaplaceNoise(2), shape, "0.01")
        assert compose([event]).epsilon(0) == pytest.approx((2 + float(shape)) / 2, rel=1e-12)


def test_the_mean_of_runs_and_the_stop_for_a_mean() -> None:
    for shape, stop in (
        (Fraction(1), Fraction(1, 10)),
        (Fraction(0), Fraction(1, 5)),
        (Fraction(-1, 2), Fraction(1, 4)),
    ):
        times = _times(shape, stop, None)
        mean = math.fsum(k * p for k, p in times.items())
        assert float(mean_repetitions(shape, stop)) == pytest.approx(mean, rel=1e-6)
        found = stop_for(shape, Fraction(mean))
        assert float(found) == pytest.approx(float(stop), rel=1e-5)
        assert mean_repetitions(shape, found) >= mean
    assert stop_for(Fraction(1), Fraction(1)) == 1


# ---------------------------------------------------------------------------------- matrices and trees


def _patterns(steps: int, most: int, separation: int) -> Iterator[tuple[int, ...]]:
    for size in range(1, most + 1):
        for pattern in itertools.combinations(range(steps), size):
            if all(b - a >= separation for a, b in itertools.pairwise(pattern)):
                yield pattern


def _moved(matrix: np.ndarray, most: int, separation: int) -> float:
    """The largest ‖C x‖² over all patterns and signs."""
    best = 0.0
    for pattern in _patterns(matrix.shape[1], most, separation):
        for signs in itertools.product((-1.0, 1.0), repeat=len(pattern)):
            best = max(best, float(np.sum((matrix[:, pattern] @ np.array(signs)) ** 2)))
    return best


def test_matrices_move_at_most_as_far_as_is_said() -> None:
    generator = np.random.default_rng(1)
    for _ in range(150):
        steps, most, separation = (int(x) for x in generator.integers(1, (8, 4, 5)))
        bands = int(generator.integers(1, 7))
        falling = bool(generator.integers(0, 2))
        coefficients = np.round(generator.normal(size=bands), 2) + 0.001
        if falling:
            coefficients = np.sort(np.abs(coefficients))[::-1]
        matrix = np.zeros((steps, steps))
        for gap in range(min(bands, steps)):
            matrix += coefficients[gap] * np.eye(steps, k=-gap)
        event = events.MatrixNoise(
            variance=1, coefficients=coefficients.tolist(), steps=steps, participations=most, separation=separation
        )
        found, true = float(event.distance_squared), _moved(matrix, most, separation)
        assert found >= true * (1 - 1e-12)
        assert float(event.reached_squared) <= true * (1 + 1e-12)
        assert event.reached_squared > 0
        if falling or most == 1 or separation >= bands:
            assert found <= true * (1 + 1e-12)


def test_trees_move_at_most_as_far_as_is_said() -> None:
    for steps, most, separation in itertools.product(range(1, 9), (1, 2, 3), (1, 2, 3)):
        nodes = []
        for level in range(steps.bit_length()):
            nodes += [[i // 2**level == node for i in range(steps)] for node in range(steps // 2**level)]
        event = events.TreeNoise(variance=1, steps=steps, participations=most, separation=separation)
        true = _moved(np.array(nodes, dtype=float), most, separation)
        assert float(event.reached_squared) <= true <= float(event.distance_squared)
        assert event.reached_squared >= event.distance_squared / 2
        if most == 1:
            assert float(event.distance_squared) == true


def test_noise_on_what_moves_is_gaussian_noise() -> None:
    for event, square in (
        (events.MatrixNoise(variance=4, coefficients=(1, 1), steps=5, sensitivity_squared=3), 6),
        (events.TreeNoise(variance=4, steps=8, sensitivity_squared=3), 12),
    ):
        same = events.GaussianNoise(variance=4, sensitivity_squared=square)
        assert compose([event]).bracket("1e-6") == compose([same]).bracket("1e-6")


# ---------------------------------------------------------------------------------- zCDP with ξ


def test_xi_only_moves_what_zcdp_says() -> None:
    """(ξ, ρ) holds for Gaussian noise together with ξ-DP, whose Rényi divergence is ξ at most at every order."""
    stated = events.Stated("ZCDP", ("0.5", "0.3"))
    truth = compose([events.GaussianNoise.of(1), events.Stated("PureDP", ("0.3",))])
    bound = compose([stated])
    for epsilon in EPSILONS:
        assert bound.delta(epsilon) >= truth.delta_bracket(epsilon).lower
    assert bound.epsilon("1e-6") == pytest.approx(0.3 + dp.ZCDP("0.5").epsilon("1e-6"), rel=1e-12)
    assert compose([stated, stated]).epsilon("1e-6") == pytest.approx(0.6 + dp.ZCDP(1).epsilon("1e-6"), rel=1e-12)
    assert compose([events.Stated("ZCDP", (0, 1))]).epsilon(0) == 1
    assert compose([events.Stated("ZCDP", ("0.5", 0))]).epsilon("1e-6") == dp.ZCDP("0.5").epsilon("1e-6")
    mixed = compose([stated, events.LaplaceNoise(2)])
    assert mixed.epsilon("1e-6") >= compose([truth, events.LaplaceNoise(2)]).bracket("1e-6").lower


# ---------------------------------------------------------------------------------- what is refused

NOISY, ANSWER = events.GaussianNoise.of(1), events.RandomizedAnswer(HALF)
REFUSED: list[tuple[Callable[[], object], type[Exception], str]] = [
    (
        lambda: compose([events.RepeatAndSelect(events.Composed((NOISY, events.LaplaceNoise(1))), mean=3)]),
        ParameterError,
        "several events in one run are accounted for only if",
    ),
    (
        lambda: events.GroupOf(events.Repeated(events.GroupOf(NOISY, 2), 3), 3),
        ParameterError,
        "a group cannot be made of groups",
    ),
    (lambda: events.WithReplacementSampled(NOISY, 0, 10), ParameterError, "sample must be at least 1"),
    (lambda: events.WithReplacementSampled(NOISY, 1, 0), ParameterError, "population must be at least 1"),
    (
        lambda: events.WithReplacementSampled(events.FixedSizeSampled(NOISY, 1, 2), 1, 2),
        ParameterError,
        "cannot be sampled again",
    ),
    (
        lambda: events.WithReplacementSampled(events.GaussianNoise.of(1, adjacency=ADD_REMOVE), 1, 2),
        AdjacencyMismatch,
        "sampling with replacement is accounted for under 'replace'",
    ),
    (lambda: events.TruncatedPoissonSampled(NOISY, 2, 1, 1), ParameterError, "rate"),
    (lambda: events.TruncatedPoissonSampled(NOISY, HALF, 0, 1), ParameterError, "batch must be at least 1"),
    (
        lambda: events.TruncatedPoissonSampled(events.LaplaceNoise(1), HALF, 1, 1),
        ParameterError,
        "Gaussian noise on real numbers",
    ),
    (
        lambda: events.TruncatedPoissonSampled(events.GaussianNoise.of(1, adjacency=REPLACE_ONE), HALF, 1, 1),
        AdjacencyMismatch,
        "accounted for under 'add or remove'",
    ),
    (lambda: events.BallsInBinsSampled(NOISY, 0), ParameterError, "batches must be at least 1"),
    (lambda: events.BallsInBinsSampled(NOISY, 10**7), ParameterError, "batches must be at most"),
    (lambda: events.BallsInBinsSampled(ANSWER, 2), ParameterError, "Gaussian noise on real numbers"),
    (lambda: events.ShuffledReports(ANSWER, 0), ParameterError, "reports must be at least 1"),
    (lambda: events.ShuffledReports(ANSWER, 10**13), ParameterError, "reports must be at most"),
    (
        lambda: events.ShuffledReports(events.LaplaceNoise(1, adjacency=ADD_REMOVE), 9),
        AdjacencyMismatch,
        "where a record is replaced",
    ),
    (lambda: compose([events.ShuffledReports(NOISY, 9)]), ParameterError, "the loss of one report is bounded"),
    (lambda: compose([events.ShuffledReports(events.LaplaceNoise("0.01"), 9)]), ParameterError, "at most 20"),
    (lambda: events.RepeatAndSelect(NOISY), ParameterError, "got none of them"),
    (lambda: events.RepeatAndSelect(NOISY, 1), ParameterError, "got shape"),
    (lambda: events.RepeatAndSelect(NOISY, 1, HALF, 2), ParameterError, "got shape, stop, mean"),
    (lambda: events.RepeatAndSelect(NOISY, -1, HALF), ParameterError, "shape must be above -1"),
    (lambda: events.RepeatAndSelect(NOISY, 1, 0), ParameterError, "stop must be in"),
    (lambda: events.RepeatAndSelect(NOISY, 1, 2), ParameterError, "stop must be in"),
    (lambda: events.RepeatAndSelect(NOISY, mean=0), ParameterError, "mean must be greater than 0"),
    (lambda: events.RepeatAndSelect(NOISY, mean=float("nan")), ParameterError, "mean"),
    (lambda: stop_for(Fraction(1), HALF), ParameterError, "mean must be at least 1"),
    (lambda: events.ReplaceOne(ANSWER), ParameterError, "how many answered"),
    (
        lambda: events.ReplaceOne(events.GaussianNoise.of(1, adjacency=REPLACE_ONE)),
        AdjacencyMismatch,
        "a record that comes or goes",
    ),
    (lambda: events.ReplaceOne(events.Selection(1, monotone=True)), ParameterError, "monotone"),
    (lambda: events.GroupOf(NOISY, 0), ParameterError, "size must be at least 1"),
    (lambda: events.GroupOf(NOISY, 1001), ParameterError, "size must be at most 1000"),
    (
        lambda: events.PoissonSampled(events.ShuffledReports(ANSWER, 3), HALF),
        ParameterError,
        "cannot be done on a sample",
    ),
    (lambda: events.FixedSizeSampled(events.GroupOf(NOISY, 2), 1, 2), ParameterError, "cannot be done on a sample"),
    (lambda: events.MatrixNoise(variance=0, coefficients=(1,), steps=1), ParameterError, "variance must be greater"),
    (lambda: events.MatrixNoise(variance=1, coefficients=(), steps=1), ParameterError, "not all 0"),
    (lambda: events.MatrixNoise(variance=1, coefficients=(0,), steps=1), ParameterError, "not all 0"),
    (lambda: events.MatrixNoise(variance=1, coefficients=(1,), steps=0), ParameterError, "steps must be at least 1"),
    (
        lambda: events.MatrixNoise(variance=1, coefficients=(1,), steps=1, participations=0),
        ParameterError,
        "participations must be at least 1",
    ),
    (
        lambda: events.MatrixNoise(variance=1, coefficients=(1,) * 9, steps=10**9, participations=10**8),
        ParameterError,
        "coefficients times participations",
    ),
    (lambda: events.TreeNoise(variance=1, steps=10**10), ParameterError, "steps must be at most"),
    (lambda: events.TreeNoise(variance=-1, steps=1), ParameterError, "variance must be greater"),
    (lambda: events.Stated("ZCDP", (1, 2, 3)), ParameterError, "ZCDP has the values"),
    (lambda: events.Stated("ZCDP", (1, -1)), ParameterError, "negative"),
]


@pytest.mark.parametrize(("build", "error", "sentence"), REFUSED)
def test_what_is_refused(build: Callable[[], object], error: type[Exception], sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        build()


def test_selected_pairs_need_a_base_that_is_the_same_in_both_directions() -> None:
    with pytest.raises(ParameterError, match="both directions"):
        SelectedPair(FinitePair((HALF, HALF), (Fraction(1, 4), Fraction(3, 4))), Fraction(2), Fraction(1))


@pytest.mark.parametrize(
    ("size", "rate"), [(1000, "0.0123456789012345"), (1000, "1e-100"), (3, "0.3"), (70, "0.999999")]
)
def test_how_many_of_a_group_are_drawn_is_never_rounded_down(size: int, rate: str) -> None:
    """Tails on a grid of 192 bits, whatever the digits of the rate: each at least that of the binomial law."""
    drawn = dict(_drawn_together(size, Fraction(rate)))
    assert sum(drawn.values()) == 1
    assert min(drawn.values()) > 0
    assert max(drawn) == size
    assert max(share.denominator for share in drawn.values()) <= 2**192
    p = Fraction(rate)
    for count in range(3):
        truth = 1 - sum(math.comb(size, k) * p**k * (1 - p) ** (size - k) for k in range(count + 1))
        kept = sum((share for number, share in drawn.items() if number > count), Fraction(0))
        assert kept >= truth
