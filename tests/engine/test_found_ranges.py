"""Ranges that are found before sums are asked for: one person moves one count, and answers are about the range."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import dither as dp
from dither.engine.found_ranges import FoundRange, PeopleByValue, Ranged
from dither.errors import ParameterError
from dither.estimators import range_search
from dither.estimators.binned import HalfOctaves
from dither.estimators.sums import STEPS, released_places
from dither.noise import entropy
from dither.testing.exact_answers import exact_answers
from dither.unit import Neighbour
from tests.engine.exact import exact_numbers, looks_of

BOUNDS = [(0, 100), (-10, 10**6), (18, 99), (-5, -1), (10**9, 10**9 + 1), (-1, "1e90"), (0, "1e-95"), None]
UNITS: dict[str, Any] = {
    "rows": dp.Rows(),
    "replaced rows": dp.Rows("replace"),
    "persons": dp.Person("user", max_groups=2, max_rows_per_group=2),
}


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Any]:
    made: list[dp.Dataset] = []

    def opened(table: pa.Table, unit: Any = UNITS["rows"], budget: Any = None) -> dp.Dataset:
        ledger = tmp_path / f"{len(made)}.ledger"
        paid = dp.PureDP(10**6) if budget is None else budget
        made.append(dp.Dataset(table, unit=unit, budget=paid, ledger=ledger, identity="data"))
        return made[-1]

    yield opened
    for each in made:
        each.close()


def counts(data: dp.Dataset, bounds: Any, **grouped: Any) -> list[int]:
    query: Any = data.group_by("g", **grouped) if grouped else data
    question = query.agg(m=dp.mean("x", bounds, clip=True))
    needs = looks_of(question.aggregates)
    (found,) = exact_numbers(question._bounded, needs, pa.table({})).values()
    return list(found.binned.counts)


def people(seed: int, rows: int = 60) -> pa.Table:
    random = np.random.default_rng(seed)
    x = np.concatenate([random.lognormal(0, 8, rows // 2), -random.lognormal(1, 3, rows // 4)])
    x = np.concatenate([x, random.choice([0.0, -0.0, 1.0, 1.5, 2.0, 1e9, 1e9 + 0.5, 99.0], rows - len(x))])
    return pa.table({"x": x, "g": random.integers(3, size=rows), "user": random.integers(12, size=rows)})


@pytest.mark.parametrize("bounds", BOUNDS, ids=str)
def test_rows_are_in_the_cells_in_which_arrays_have_them(bounds: Any, opened: Any) -> None:
    table = people(1, 400)
    limits = None if bounds is None else (float(bounds[0]), float(bounds[1]))
    cells = HalfOctaves.everywhere() if limits is None else HalfOctaves.within(limits)
    values = table["x"].to_numpy() if limits is None else np.clip(table["x"].to_numpy(), *limits)
    assert counts(opened(table), bounds) == cells.binned(values).counts


@pytest.mark.parametrize(("kind", "bounds"), [*((kind, (-10, 10**6)) for kind in UNITS), ("persons", None)], ids=str)
def test_a_neighbour_moves_one_count_by_one(kind: str, bounds: Any, opened: Any) -> None:
    """Whoever is taken away, in however many groups and rows: by brute force. With replacement, two counts."""
    unit, moved = UNITS[kind], set()
    table = people(2, 24)
    whole = np.array(counts(opened(table, unit), bounds, keys=[0, 1, 2]))
    users = table["user"].to_pylist()
    for one in sorted(set(users))[:6] if kind == "persons" else range(0, len(users), 3):
        others = [at for at, user in enumerate(users) if (user != one if kind == "persons" else at != one)]
        less = table.take(others)
        if kind == "replaced rows":
            less = pa.concat_tables([less, pa.table({"x": [1e4], "g": [0], "user": [99]}).cast(less.schema)])
        change = whole - np.array(counts(opened(less, unit), bounds, keys=[0, 1, 2]))
        moved.add(int(np.abs(change).sum()))
        assert (kind == "replaced rows" and change.sum() == 0) or change.min() == 0
    assert moved <= ({0, 2} if kind == "replaced rows" else {1})
    assert max(moved) == (2 if kind == "replaced rows" else 1)


def test_around_any_anchor_a_person_is_in_one_cell_that_holds_their_value(opened: Any) -> None:
    """By brute force: whoever is taken away moves one count, and no value is beyond the farther edge of its cell."""
    values = np.concatenate([people(5, 40)["x"].to_numpy(), [1e6, 1e6 + 5, 1e6 - 5, -1e6]])
    need = next(iter(looks_of(opened(pa.table({"x": [1.0]})).agg(m=dp.mean("x")).aggregates).values()))
    assert isinstance(need, Ranged)

    def seen(some: Any) -> PeopleByValue:
        numbers = need.bins.numbers(some)
        return PeopleByValue(need.cells, need.bins, numbers, np.ones_like(numbers))

    for anchor in (0.0, 0.3, 1e6, 1e6 + 3, -7.25, 1e12):
        whole = np.array(seen(values).around(anchor).counts)
        assert whole.sum() == len(values)
        for at, value in enumerate(values):
            change = whole - np.array(seen(np.delete(values, at)).around(anchor).counts)
            assert (change.min(), change.sum()) == (0, 1)
            alone = seen(values[at : at + 1]).around(anchor)
            side = alone.above if sum(alone.above.counts) else alone.below
            edges = np.array(side.side.edges)
            assert abs(value - anchor) <= edges[np.flatnonzero(side.counts)[0] + 1] * (1 + 2.0**-30)


@pytest.mark.parametrize("kind", ["rows", "replaced rows"])
def test_values_close_together_far_from_zero_get_a_range_of_their_own(kind: str, opened: Any) -> None:
    """10⁶ ± 5 inside (0, 2·10⁶): as of arrays, of which 8 of 2500 had a range beyond a twentieth of the bounds.

    Before, all had one of 10⁶ or more. 8 of 15 have a probability below 10⁻¹⁰ at 2 %.
    """
    data = opened(pa.table({"x": np.random.default_rng(6).normal(10**6, 5, 3000)}), UNITS[kind])
    found = [data.mean("x", (0, 2 * 10**6), clip=True, epsilon=2).found["value"]["clip"] for _ in range(15)]
    assert sum(high - low > 10**5 for low, high in found) < 8


@pytest.mark.parametrize("kind", ["rows", "replaced rows"])
def test_the_number_of_values_is_not_taken_for_public(kind: str, opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where rows are replaced, a NULL may take the place of a value: a new anchor is found as if it did."""
    asked: list[Any] = []

    def places(*given: Any, **said: Any) -> Any:
        asked.append((said, released_places(*given, **said)))
        return asked[-1][1]

    monkeypatch.setattr(range_search, "released_places", places)
    data = opened(pa.table({"x": np.random.default_rng(6).normal(10**6, 5, 3000)}), UNITS[kind])
    for _ in range(5):
        data.mean("x", (0, 2 * 10**6), clip=True, epsilon=10)
    assert asked
    for said, noisy in asked:
        assert said["is_count_public"] is False
        assert not noisy.is_shared
        assert noisy.released.mechanism.sensitivity == STEPS * (2 if kind == "replaced rows" else 1)


@pytest.fixture
def without_noise(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a look that shows all counts as they are leads to."""
    monkeypatch.setattr(entropy, "DOOR_MAY_OPEN", True)
    with exact_answers():
        yield


def in_memory(table: pa.Table) -> dp.Dataset:
    """A dataset whose ledger may be charged for answers without noise."""
    return dp.Dataset(table, unit=dp.Rows(), budget=dp.PureDP(10**6), ledger=":memory:", identity="data")


def incomes(rows: int = 4000, seed: int = 3) -> pa.Table:
    random = np.random.default_rng(seed)
    return pa.table({"x": random.lognormal(3, 0.7, rows), "g": random.integers(2, size=rows)})


@pytest.mark.parametrize("verb", ["sum", "mean", "variance", "std"])
def test_bounds_that_are_far_too_wide_cost_little(verb: str, opened: Any) -> None:
    """With a thousand times the range, the error is a small part of that in the bounds; so it is without any.

    One answer in a hundred is not (2 of 167 variances and roots; sums and means less often): noise was taken for
    records farther out. 8 of 15 are with probability 6435·10⁻¹⁶, and 4·10⁻⁸ if it were one in 25.
    """
    table = incomes()
    data, x = opened(table), table["x"].to_numpy()
    exact = {"sum": x.sum(), "mean": x.mean(), "variance": x.var(), "std": x.std()}[verb]
    ask = getattr(data, verb)

    def error(*bounds: Any, **said: Any) -> float:
        return float(np.median([abs(ask("x", *bounds, **said, epsilon=4).value - exact) for _ in range(15)]))

    in_bounds = data.agg(v=getattr(dp, verb)("x", (0, 300_000))).plan(epsilon=4, level="0.5").error("v", len(x))
    assert error((0, 300_000), clip=True) < min(in_bounds / 10, exact / 4)
    assert verb != "mean" or error() < in_bounds / 10


def test_many_zeros_are_no_reason_to_collapse(opened: Any) -> None:
    random = np.random.default_rng(4)
    x = np.where(random.random(4400) < 0.8, 0, random.integers(1, 9, 4400))
    data = opened(pa.table({"x": x}))
    for epsilon in ("0.5", 1, 2):
        answers = [data.mean("x", (0, 8), clip=True, epsilon=epsilon).value for _ in range(10)]
        assert 0.8 * x.mean() < min(answers)
        assert max(answers) < 1.2 * x.mean()


@pytest.mark.usefixtures("without_noise")
def test_a_range_narrower_than_a_step_of_sums_is_not_taken() -> None:
    """All at 10⁹ + 10 inside (10⁹, 4·10⁹): a range of 12 was found in every run, which no sum can tell apart.

    Without noise, which is taken for a record farther out in one look of some hundred.
    """
    data = in_memory(pa.table({"x": np.full(20_000, 1e9 + 10)}))
    release = data.agg(s=dp.sum("x", (10**9, 4 * 10**9), clip=True)).release(epsilon=4)
    assert release.found["s"] == {"clip": (1e9, 4e9)}
    assert data.agg(m=dp.mean("x", (10**9, 4 * 10**9), clip=True)).release(epsilon=4).found["m"]["clip"][1] < 2e9


def test_what_was_found_is_said_and_kept(opened: Any) -> None:
    """Beside the answer, and in the stored one as well: the same key gives the same table and the same range."""
    data = opened(incomes())
    question = data.group_by("g", keys=[0, 1]).agg(
        n=dp.count(), m=dp.mean("x", (0, 300_000), clip=True), k=dp.sum("x", (0, 60))
    )
    first, second = (question.release(epsilon=4, key="k") for _ in range(2))
    assert first.value == second.value
    assert first.found == second.found
    assert set(first.found) == {"m"}
    assert "m: of values clamped to " in str(first)
    assert dp.check_certificate(first.certificate()).guarantee == first.guarantee


@pytest.mark.usefixtures("without_noise")
def test_the_range_that_was_found_is_said_with_what_is_outside() -> None:
    query = in_memory(incomes()).group_by("g", keys=[0, 1])
    release = query.agg(n=dp.count(), m=dp.mean("x", (0, 300_000), clip=True)).release(epsilon=4)
    low, high = release.found["m"]["clip"]
    assert low == 0
    assert 60 < high < 3000
    assert release.found["m"]["outside"] < 40
    assert f"m: of values clamped to 0 to {high:,.0f}; about" in str(release)


def test_what_bounds_leave_out_is_told_beside_the_range(opened: Any) -> None:
    """Both are kept with the noisy numbers; where there are no bounds, none leave anything out."""
    asked = opened(incomes()).agg(m=dp.mean("x", (0, 10), clip=True), free=dp.sum("x"))
    release = asked.release(epsilon=50, left_out=True, key="k")
    assert [each.of for each in release.left_out] == ["rows with a clamped value", "the values of x"]
    assert set(release.found) == {"m", "free"}
    assert release.left_out[0].share > 0.5


@pytest.mark.usefixtures("without_noise")
def test_too_few_rows_get_no_answer_without_bounds() -> None:
    data = in_memory(incomes(20))
    release = data.group_by("g", keys=[0, 1]).agg(m=dp.mean("x"), n=dp.count()).release(epsilon=1)
    assert release.value["m"].to_pylist() == [None, None]
    assert release.found == {"m": {"clip": None}}
    assert "m: too few rows to find a range" in str(release)
    assert isinstance(data.sum("x", epsilon=1).value, dp.NoAnswer)
    assert data.mean("x", (0, 100), clip=True, epsilon=1).found["value"] == {"clip": (0.0, 100.0)}  # bounds are kept


def test_aggregates_of_one_column_look_at_the_same_counts(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Ranged] = []
    ask = Ranged.ask

    def counted(need: Ranged, *where: Any) -> Any:
        asked.append(need)
        return ask(need, *where)

    monkeypatch.setattr(Ranged, "ask", counted)
    question = opened(incomes()).agg(
        **{
            name: function("x", (0, high), clip=True)
            for name, function, high in [("m", dp.mean, 900), ("s", dp.std, 900), ("o", dp.mean, 800)]
        }
    )
    asked.clear()
    question.release(epsilon=10)
    assert len(asked) == 2


@pytest.mark.parametrize("price", [{"epsilon": 3}, {"epsilon": 3, "delta": "1e-6"}, {"rho": 2}], ids=str)
def test_the_price_is_known_before(price: Any, opened: Any) -> None:
    """Whatever the looks show, the plan, the charge and the certificate say the same."""
    budget = dp.ZCDP(100) if "rho" in price else dp.ApproxDP(100, "1e-3")
    for rows in (10, 4000):
        data = opened(incomes(rows), UNITS["rows"], budget)
        question = data.agg(m=dp.mean("x", (0, 10**6), clip=True), v=dp.variance("x"))
        plan, release = question.plan(**price), question.release(**price)
        assert release.event == plan.event
        assert release.guarantee == plan.cost
        assert "look for" in str(plan)
        dp.check_certificate(release.certificate())


@pytest.mark.parametrize("bounds", [(0, 10**9), (0, 5000), (1, "1.0001"), None], ids=str)
@pytest.mark.parametrize("verb", ["sum", "mean", "variance", "std"])
def test_a_price_that_could_not_pay_the_answer_after_all_looks_is_refused(verb: str, bounds: Any, opened: Any) -> None:
    """Whatever range is found, noise fits. Prices were accepted, and charged, that failed after the first look."""
    data = opened(pa.table({"x": [1.0] * 3000}))
    question = data.agg(v=getattr(dp, verb)("x", bounds, clip=True))

    def is_accepted(price: Fraction) -> bool:
        try:
            return question.plan(epsilon=price) is not None
        except ParameterError:
            return False

    low, high = Fraction(1, 10**12), Fraction(1)
    for _ in range(40):
        low, high = (low, (low + high) / 2) if is_accepted((low + high) / 2) else ((low + high) / 2, high)
    for _ in range(3):
        question.release(epsilon=high)
    with pytest.raises(ParameterError, match=r"2\^62"):
        question.release(epsilon=low)
    # Where it passes, so does the finest lattice that a range has: twice 2^24 steps of a sum, 4·2^24 of squares.
    assert high * 2**62 / 64 >= 2**24
    plan = question.plan(epsilon=high)
    least, most = (0.0, 1.0) if bounds is None else map(float, bounds)
    inside = least + (most - least) / 4, most - (most - least) / 4
    looked = {key: noise._epsilon * noise.all_looks for key, noise in plan.looks.items()}
    plan.narrowed({key: FoundRange(inside, None, noise._left(looked[key])) for key, noise in plan.looks.items()})


def test_the_longest_way_of_looks_costs_what_was_set_aside(monkeypatch: pytest.MonkeyPatch) -> None:
    """A range around another anchor, found too wide, and then two more looks here: noise makes it so in most runs.

    340 records far out are hidden by the noise of one cell, in noise scales, or stand out from it; else there is none.
    """
    far, scales = 340, [0, 6, 10, 6, 6]

    class OneNoisyCell:
        def __init__(self, **price: Any) -> None:
            self.mechanism = dp.Laplace(**price)
            self.scale = self.mechanism.scale

        def release(self, counts: Any) -> Any:
            shown = round(scales.pop(0) * float(self.scale))
            value = np.array([shown if count == far else count for count in counts])
            return SimpleNamespace(value=value, event=self.mechanism.event)

    monkeypatch.setattr(range_search, "Laplace", OneNoisyCell)
    (need,) = dp.mean("x", bounds=(0, 10_000), clip=True).needs.values()
    assert isinstance(need, Ranged)
    noise = need.pure(Neighbour.of(dp.Rows(), grouped=False), Fraction(1, 10))
    values = np.concatenate([1720 + np.arange(20_000) % 60, np.full(far, 9000.0)])
    numbers, people = np.unique(need.bins.numbers(values - need.cells.anchor), return_counts=True)
    found = noise.found(PeopleByValue(need.cells, need.bins, numbers, people))
    assert not scales
    assert found.left == noise.price * (1 - noise.all_looks)


def test_clip_is_true_or_false() -> None:
    with pytest.raises(ParameterError, match="clip must be True or False, got the type int"):
        dp.mean("x", (0, 1), clip=1)  # type: ignore[arg-type]
