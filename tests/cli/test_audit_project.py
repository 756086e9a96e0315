"""`dither audit dither.toml`: right projects pass, broken engines are found, and nothing of the project is touched.

False alarms. Each right project is attacked at alpha = 1e-11, fewer than thirty times; a replay has none.
"""

from __future__ import annotations

import errno
import json
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from dither.audit.project import examination
from dither.engine import noisy_groups
from dither.engine.groups import counted
from dither.engine.noisy_groups import Drawing
from dither.estimators.quantile_search import QuantileSearch
from dither.mechanisms import additive
from dither.noise import DiscreteLaplace, add_integers, entropy
from dither.plots import style
from dither.tables import exact_totals, lattice
from dither.tables.bounded_table import BoundedTable
from tests.cli.world import CITIES, Done, run, write_visits

WRITTEN = """\
[dataset]
source = "visits.csv"

[columns]
age = "number"
cost = "number"
day = "date"

[unit]
person = "user_id"
max_groups = 2
max_rows_per_group = 2

[bounds]
cost = [0, 200]
age = [0, 120]

[budget]
epsilon = 100
delta = 1e-3
ledger = "visits.ledger"

[questions.counts]
where = ["age >= 18", "member = 'true' and not (city is null)"]
group_by = "city"
keys = ["Paris", "Lyon"]
agg = { visits = "count", people = "count_people", shops = "count_distinct(shop)" }
epsilon = 1

[questions.numbers]
columns = { doubled = "cost * 2 + coalesce(age, 0)" }
group_by = "bins(age, [0, 18, 65, 120])"
agg = { spend = "sum(doubled, 0, 500)", mean = "mean(cost)", variance = "variance(cost)", std = "std(cost)" }
epsilon = 1
weights = { spend = 2 }

[questions.places]
agg = { q = "quantile(cost, [0.25, 0.75])", m = "median(cost, interval=0.9)", low = "min(cost)", high = "max(cost)" }
epsilon = 2

[questions.common]
columns = { weekday = "weekday(day)" }
group_by = ["city", "weekday"]
keys = { city = ["Paris", "Lyon"], weekday = [0, 6] }
agg = { h = "histogram(cost, [0, 10, 200])", t = "top(shop, 1, ['a', 'b', 'c'])" }
rho = 0.5

[questions.found]
group_by = "city"
agg = { visits = "count", spend = "sum(cost)" }
epsilon = 2
delta = 1e-5

[questions.found_values]
agg = { t = "top(shop, 2)" }
epsilon = 2
delta = 1e-5
key = "asked once"

[questions.gaussian]
where = "day >= date '2024-01-31'"
agg = { visits = "count", spend = "sum(cost)" }
epsilon = 1
delta = 1e-6
noise = "gaussian"

[questions.joined]
join = { city = "cities.csv" }
where = "people > 1 and cost < 150"
group_by = "country"
keys = ["France", "Italy"]
agg = { visits = "count", spend = "sum(cost)" }
epsilon = 1
"""
"""Every verb and aggregate that a description can say, of a file of separated values."""
WITHIN = """
[questions.within]
per_person = { total = "sum(cost)", visits = "count" }
group_by = "bins(visits, [1, 3, 9])"
agg = { people = "count", spend = "mean(total, 0, 1000)" }
epsilon = 1
"""
"""And what only persons have."""
TYPED = (
    WRITTEN.replace("visits.csv", "visits.parquet")
    .replace("member = 'true'", "member")
    .replace('person = "user_id"\nmax_groups = 2\nmax_rows_per_group = 2', 'rows = "replace"')
)
"""The same of a table with types, where rows are replaced."""
QUESTIONS = ("counts", "numbers", "places", "common", "found", "found_values", "gaussian", "joined")
RUNS = "--samples=4000"


@pytest.fixture
def door(monkeypatch: pytest.MonkeyPatch) -> None:
    """Open, so that the command audits in this process."""
    monkeypatch.setattr(entropy, "DOOR_MAY_OPEN", True)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with descriptions, a public table and no data: the source that they name is not there."""
    (tmp_path / "cities.csv").write_text(CITIES, encoding="utf-8")
    (tmp_path / "written.toml").write_text(WRITTEN + WITHIN, encoding="utf-8")
    (tmp_path / "typed.toml").write_text(TYPED, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def audit(*flags: str) -> Done:
    return run("audit", *flags, "--alpha=1e-11")


# ------------------------------------------------------------- right projects


@pytest.mark.usefixtures("project", "door")
@pytest.mark.parametrize(
    ("file", "questions"), [("written.toml", ["counts", "within"]), ("typed.toml", ["found", "gaussian", "joined"])]
)
def test_right_questions_stand(file: str, questions: list[str]) -> None:
    done = audit(file, *questions, "--pairs=2", RUNS)
    assert done.code == 0, done.out + done.err
    assert done.out.count("not refuted") == len(questions)
    assert "No data was read and nothing was charged" in done.out


@pytest.mark.nightly
@pytest.mark.usefixtures("project", "door")
@pytest.mark.parametrize(
    ("file", "question"), [*product(["written.toml", "typed.toml"], QUESTIONS), ("written.toml", "within")]
)
def test_every_question_stands_on_many_tables(file: str, question: str) -> None:
    done = audit(file, question, "--pairs=30")
    assert done.code == 0, done.out + done.err


def test_a_first_description_stands_in_a_process_of_its_own_and_nothing_is_touched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The door is shut here, so that the command starts itself; a module of the folder does not take our place."""
    monkeypatch.chdir(tmp_path)
    write_visits(tmp_path)
    bounds = ("--bounds", "cost=0,200", "--public", "--budget-epsilon", "10")
    limits = ("--max-groups", "2", "--max-rows-per-group", "1")
    assert run("init", "visits.csv", "--person", "user_id", *limits, *bounds).code == 0
    assert run("release", "dither.toml", "people").code == 0
    (tmp_path / "dither.py").write_text("raise SystemExit(99)\n", encoding="utf-8")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    (tmp_path / "visits.csv").chmod(0)
    done = audit("dither.toml", "people", "groups", "--pairs=1", RUNS, "--json")
    assert done.code == 0, done.err
    assert not entropy.DOOR_MAY_OPEN
    assert [found["question"] for found in json.loads(done.out)] == ["people", "groups"]
    assert all(found["replayed_pairs"] == 1 for found in json.loads(done.out))
    (tmp_path / "visits.csv").chmod(0o600)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.usefixtures("project", "door")
def test_a_picture_is_drawn() -> None:
    done = audit("written.toml", "gaussian", "--pairs=1", RUNS, "--plot", "both.svg")
    assert done.code == 0, done.err
    assert Path("both.svg").read_text(encoding="utf-8").lstrip().startswith("<?xml")


@pytest.mark.parametrize("place", ["visits.csv", "visits.svg", "written.toml", "pictured.toml", "no/folder/both.svg"])
@pytest.mark.usefixtures("project", "door")
def test_a_picture_goes_over_nothing_that_matters(place: str) -> None:
    """Refused before the audit; a ledger may have any name."""
    text = Path("written.toml").read_text(encoding="utf-8").replace("visits.ledger", "visits.svg")
    Path("pictured.toml").write_text(text, encoding="utf-8")
    Path("visits.svg").write_text("a ledger", encoding="utf-8")
    done = audit("pictured.toml", "gaussian", "--pairs=1", RUNS, "--plot", place)
    assert (done.code, done.out) == (2, "")
    assert "--plot" in done.err
    assert Path("visits.svg").read_text(encoding="utf-8") == "a ledger"


@pytest.mark.usefixtures("project", "door")
def test_a_full_disk_takes_the_picture_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(figure: Any, file: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(style, "save", full)
    done = audit("written.toml", "gaussian", "--pairs=1", RUNS, "--plot", "both.svg", "--json")
    assert done.code == 2
    assert "the picture cannot be written" in " ".join(done.err.split())
    assert [found["question"] for found in json.loads(done.out)] == ["gaussian"]


# ------------------------------------------------------------ broken engines


def clamp_left_out(patch: pytest.MonkeyPatch) -> None:
    """Of a value, and of what a person's rows add up to."""
    for module in (lattice, exact_totals):
        patch.setattr(module, "between", lambda value, low, high: value)


def groups_not_bounded(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(BoundedTable, "_few_groups", lambda self, each, salt, *rank: each)


def rows_not_bounded(patch: pytest.MonkeyPatch) -> None:
    groups = BoundedTable._few_groups

    def all_rows(self: BoundedTable, table: Any, salt: int, *how: Any) -> Any:
        return groups(self, table, salt, *how[:1], *(10**6 for _ in how[1:]))  # after the rank

    patch.setattr(BoundedTable, "_few_groups", all_rows)


def scores_too_steep(patch: pytest.MonkeyPatch) -> None:
    """Quantiles are chosen with half the noise that their ranks need."""
    mechanism = QuantileSearch.mechanism
    patch.setattr(
        QuantileSearch, "mechanism", lambda self, q, epsilon, *adjacency: mechanism(self, q, 2 * epsilon, *adjacency)
    )


def large_tables_fail(patch: pytest.MonkeyPatch) -> None:
    """As an overflow would, that nobody thought of."""

    def counted_or_failed(column: Any) -> Any:
        values = counted(column)
        if (abs(values) > 3).any():
            raise OverflowError
        return values

    patch.setattr(noisy_groups, "counted", counted_or_failed)


def noise_halved(patch: pytest.MonkeyPatch) -> None:
    """Where no tape sees it: the law that is said is the right one."""
    patch.setattr(additive, "add_integers", lambda values, law: add_integers(values, DiscreteLaplace(law.scale / 2)))


def all_groups_shown(patch: pytest.MonkeyPatch) -> None:
    """Whoever is alone in a group is seen."""

    class Everyone:
        threshold = -(10**9)

    shown = Drawing._shown

    def without_threshold(self: Drawing, batch: Any) -> Any:
        object.__setattr__(self.plan, "discovery", Everyone())
        return shown(self, batch)

    patch.setattr(Drawing, "_shown", without_threshold)


ONE = """\
[dataset]
source = "visits.csv"
[unit]
person = "user_id"
max_groups = 2
max_rows_per_group = 1
[budget]
epsilon = 100
ledger = "visits.ledger"
[questions.{name}]
{question}
"""
SUMS = 'group_by = "city"\nkeys = ["Paris", "Lyon", "Nice"]\nagg = { spend = "sum(cost, 0, 200)" }\nepsilon = 1'
BINS = 'group_by = "city"\nkeys = ["Paris", "Lyon"]\nagg = { costs = "histogram(cost, [0, 100, 200])" }\nepsilon = 1'
JOINED = (
    'join = { city = "cities.csv" }\ngroup_by = "country"\nkeys = ["France", "Italy", "Norway"]\n'
    'agg = { spend = "sum(cost, 0, 200)" }\nepsilon = 1'
)
WITHIN_ONE = 'per_person = { total = "sum(cost, 0, 200)" }\nagg = { spend = "sum(total, 0, 400)" }\nepsilon = 1'
MIDDLE = 'agg = { cost = "median(cost, 0, 200)" }\nepsilon = 1'
VISITS = 'agg = { visits = "count_people" }\nepsilon = 1'
FOUND = 'group_by = "city"\nagg = { visits = "count" }\nepsilon = 1\ndelta = 1e-5'


MOVED, CERTAIN, ATTACKED = "moved by more than the sensitivity", "Replayed, certainly", "Attacked: ε ≥ "
FEW = "--samples=1000"
FAULTS: list[tuple[Callable[[pytest.MonkeyPatch], None], str, str, tuple[str, ...]]] = [
    (clamp_left_out, SUMS, CERTAIN, (FEW,)),
    (clamp_left_out, JOINED, CERTAIN, (FEW,)),
    (clamp_left_out, WITHIN_ONE, CERTAIN, (FEW,)),
    (groups_not_bounded, JOINED, MOVED, (FEW,)),
    (groups_not_bounded, SUMS, MOVED, (FEW,)),
    (rows_not_bounded, BINS, MOVED, (FEW,)),
    (scores_too_steep, MIDDLE, "more than was charged", (FEW,)),
    (large_tables_fail, VISITS, CERTAIN, (FEW,)),
    (noise_halved, SUMS, f"{ATTACKED}1.", ("--samples=40000", "--pairs=1")),
    (all_groups_shown, FOUND, ATTACKED, (RUNS, "--pairs=1")),
]


@pytest.mark.usefixtures("project", "door")
@pytest.mark.parametrize(
    ("fault", "question", "by", "flags"), FAULTS, ids=[fault.__name__.replace("_", " ") for fault, *_ in FAULTS]
)
def test_a_broken_engine_is_found_and_named(
    fault: Callable[[pytest.MonkeyPatch], None],
    question: str,
    by: str,
    flags: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Path("broken.toml").write_text(ONE.replace("{name}", "spending").replace("{question}", question), encoding="utf-8")
    fault(monkeypatch)
    done = audit("broken.toml", *flags)
    assert done.code == 1, done.out + done.err
    assert "spending: " in done.out
    assert "is VIOLATED" in done.out
    assert by in done.out
    assert "One table: " in done.out
    assert "such as: " in done.out


# ------------------------------------------------------------------ bad usage


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (("missing.toml",), "cannot be read"),
        (("written.toml", "nothing"), "Existing questions: counts"),
        (("written.toml", "--epsilon", "1"), "set by the description"),
        (("written.toml", "--neighbours", "number"), "set by the description"),
        (("written.toml", "--zoo"), "either"),
        (("Laplace", "counts"), "go with a dither.toml"),
        (("Laplace", "--pairs", "3"), "go with a dither.toml"),
    ],
)
def test_bad_usage_ends_with_two(flags: tuple[str, ...], says: str) -> None:
    done = audit(*flags)
    assert done.code == 2
    assert says in " ".join(done.err.split())
    assert not done.out


@pytest.mark.usefixtures("project", "door")
@pytest.mark.parametrize(
    ("flag", "says"),
    [
        ("--samples=0", "samples must be at least 400"),
        ("--samples=399", "samples must be at least 400"),
        ("--pairs=0", "pairs must be at least 1"),
        ("--alpha=0", "alpha must lie strictly between 0 and 1"),
    ],
)
def test_a_bad_number_is_refused_before_anything_is_replayed(
    flag: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(examination, "replay", lambda *inputs, **options: pytest.fail("a pair was replayed"))
    done = run("audit", "written.toml", flag)
    assert (done.code, done.out) == (2, "")
    assert says in " ".join(done.err.split())


@pytest.mark.usefixtures("project", "door")
def test_the_fewest_samples_are_enough_for_all_worst_cases() -> None:
    """What is not refused at first is not refused after the replays."""
    done = audit("written.toml", "found", "--samples=400", "--pairs=15")
    assert done.code == 0, done.out + done.err


@pytest.mark.usefixtures("project", "door")
@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("max_groups = 2", "max_groups = 0", "line 11"),
        ("epsilon = 1\n\n[questions.numbers]", "\n[questions.numbers]", "counts: the question has no price"),
        ("agg = { visits", "agg = { visits = 'cuont', v", "cuont"),
    ],
    ids=["a bound", "no price", "a word"],
)
def test_a_bad_description_ends_with_two(old: str, new: str, says: str) -> None:
    assert old in WRITTEN
    Path("bad.toml").write_text(WRITTEN.replace(old, new, 1), encoding="utf-8")
    done = audit("bad.toml", "--pairs=1", RUNS)
    assert done.code == 2, done.out
    assert says in " ".join(done.err.split())
