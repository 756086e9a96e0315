"""Known attacks on noise. Each test tries one on ours, and on an imitation of a broken sampler that must be caught.

False alarms: see fit.py. Where a test compares a correlation or a share with a bound, the bound is 7 standard
deviations or more (3e-12).
"""

from __future__ import annotations

import ast
import inspect
import math
import multiprocessing
import os
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray

import dither.noise
from dither.noise import BernoulliExp, DiscreteGaussian, DiscreteLaplace, Grid, Law, entropy
from dither.noise.entropy import BitSource
from dither.noise.law import Integers
from tests.architecture import repository
from tests.noise.fit import ALARM, p_value, p_value_of_counts

pytestmark = pytest.mark.statistical

Floats = NDArray[np.float64]
Mechanism = Callable[[float, int], Floats]

_GRID = Grid.for_scale(1.0)
_STEPS = int(1 / _GRID.step)  # a scale of 1


def _laplace(value: float, count: int) -> Floats:
    return np.asarray(_GRID.add(np.full(count, value), DiscreteLaplace(_STEPS)))


def _gaussian(value: float, count: int) -> Floats:
    return np.asarray(_GRID.add(np.full(count, value), DiscreteGaussian.from_sigma(_STEPS)))


def _textbook_laplace(value: float, count: int) -> Floats:
    return value + np.random.default_rng().laplace(size=count)


def _textbook_gaussian(value: float, count: int) -> Floats:
    return value + np.random.default_rng().normal(size=count)


# ---------------------------------------------------------- A1, A2, A3: digits


def _share_on_grid_near_zero(release: Mechanism, value: float, step: float) -> float:
    """Of the outputs near 0, the share that are whole multiples of `step`."""
    out = release(value, 400_000)
    near = out[np.abs(out) < 2.0**-4]
    assert len(near) > 1000
    return float(np.mean(np.mod(near, step) == 0))


def _odd_near_zero(release: Mechanism, value: float) -> list[int]:
    """How many outputs near 0 are even and odd multiples of the step."""
    out = release(value, 400_000)
    steps = (out[np.abs(out) < 2.0**-4] / float(_GRID.step)).astype(np.int64)
    return [int(n) for n in np.bincount(steps & 1, minlength=2)]


def _assert_same_grid(release: Mechanism) -> None:
    for value in (0.0, 1.0, 1 / 3, 1e-300):
        assert _share_on_grid_near_zero(release, value, float(_GRID.step)) == 1.0
        assert p_value_of_counts(_odd_near_zero(release, value), [0.5, 0.5]) > ALARM


def test_a01_precision_of_outputs_near_zero_is_the_same_for_every_value() -> None:
    _assert_same_grid(_laplace)


@pytest.mark.parametrize("release", [_textbook_laplace, _textbook_gaussian])
def test_a01_textbook_noise_tells_zero_from_one_by_its_precision(release: Mechanism) -> None:
    around_zero = _share_on_grid_near_zero(release, 0.0, 2.0**-53)
    around_one = _share_on_grid_near_zero(release, 1.0, 2.0**-53)
    assert around_one == 1.0
    assert around_zero < 0.9


def _reached(out: Floats, step: float) -> set[int]:
    """The multiples of `step` among the outputs within ±1, by number."""
    inside = out[np.abs(out) <= 1]
    assert (np.mod(inside, step) == 0).all()
    return set((inside / step).astype(np.int64).tolist())


_COARSE = Grid(-6)
_NEAR = set(range(-64, 65))


@pytest.mark.parametrize("value", [0.0, 0.25, 1 / 3, -1.0])
def test_a02_no_holes_in_the_outputs(value: float) -> None:
    """Every grid point within ±1 is reached (one is missed with probability e^{-100}), as often as the law says."""
    noise = DiscreteLaplace(64)
    out = np.asarray(_COARSE.add(np.full(100_000, value), noise))
    assert _reached(out, 2.0**-6) == _NEAR
    steps = (out * 64).astype(np.int64) - int(_COARSE.round(value))
    assert p_value(steps, noise) > ALARM


def test_a02_noise_from_few_uniform_digits_would_leave_holes() -> None:
    """Inverting the distribution function at 2^6 points, as floats do at 2^53 points on a finer scale."""
    uniform = np.random.default_rng().integers(1, 64, size=100_000) / 64
    out = np.round(-np.log(uniform) * np.random.default_rng().choice([-1, 1], size=100_000) * 64) / 64
    assert not _reached(out, 2.0**-6) >= _NEAR


def test_a03_gaussian_outputs_near_zero_have_the_same_precision_for_every_value() -> None:
    _assert_same_grid(_gaussian)


@pytest.mark.parametrize("value", [0.0, 1 / 3])
def test_a03_gaussian_noise_has_no_holes(value: float) -> None:
    noise = DiscreteGaussian.from_sigma(64)
    out = np.asarray(_COARSE.add(np.full(100_000, value), noise))
    assert _reached(out, 2.0**-6) == _NEAR
    steps = (out * 64).astype(np.int64) - int(_COARSE.round(value))
    assert p_value(steps, noise) > ALARM


@pytest.mark.parametrize("release", [_laplace, _gaussian])
def test_a03_low_digits_do_not_depend_on_the_value(release: Mechanism) -> None:
    """All of the last eight digits, for values on and off the grid."""
    for value in (0.0, 1.0, math.pi):
        steps = (release(value, 100_000) / float(_GRID.step)).astype(np.int64)
        found = np.bincount(steps & 255, minlength=256).tolist()
        assert p_value_of_counts(found, [1 / 256] * 256) > ALARM


# -------------------------------------------------------------------- A5: work


@dataclass
class _Counting:
    """A source that counts the bits it hands out."""

    source: BitSource
    used: int = 0
    word_bits: int = 64

    def words(self, count: int) -> NDArray[np.uint64]:
        self.used += 64 * count
        return self.source.words(count)

    def bits(self, count: int) -> int:
        self.used += count
        return self.source.bits(count)


def _work_and_noise(draw: Callable[[BitSource], Integers], batches: int) -> float:
    """The correlation, over many batches, of the bits used with the mean |noise|."""
    work, noise = [], []
    for _ in range(batches):
        source = _Counting(entropy.current())
        noise.append(float(np.abs(draw(source)).mean()))
        work.append(source.used)
    if len(set(work)) == 1:
        return 0.0
    return float(np.corrcoef(work, noise)[0, 1])


_BATCHES = 2000
_VISIBLE = 7 / math.sqrt(_BATCHES)


@pytest.mark.parametrize(
    "law",
    [DiscreteLaplace(10), DiscreteLaplace(2**40), DiscreteGaussian.from_sigma(10), DiscreteGaussian.from_sigma(2**40)],
)
def test_a05_batch_work_does_not_tell_the_noise(law: Law) -> None:
    """Batches of 1000. Of single draws rejection.md says what can be seen."""
    assert abs(_work_and_noise(lambda source: law._draw_many(source, 1000), _BATCHES)) < _VISIBLE


def test_a05_a_sampler_that_counts_coins_would_be_seen() -> None:
    """A geometric variable drawn coin by coin uses as many coins as its value says."""
    coin = BernoulliExp("0.1")

    def draw(source: BitSource) -> Integers:
        def one() -> int:
            tosses = 0
            while coin._draw(source):
                tosses += 1
            return tosses

        return np.array([one() for _ in range(20)], dtype=np.int64)

    assert _work_and_noise(draw, 300) > 0.9


# -------------------------------------------------------------------- A14: fork


def _noise(_: int = 0) -> list[int]:
    """Noise from both paths, wide enough that two equal values are a sign of equal randomness."""
    law = DiscreteLaplace(2**55)
    return [*law.sample(300).tolist(), *(law.sample() for _ in range(10))]


def _forked(work: Callable[[], list[int]]) -> list[int]:
    """What `work` gives in a child made by os.fork."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, " ".join(map(str, work())).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as answer:
        numbers = [int(x) for x in answer.read().split()]
    assert os.waitpid(child, 0)[1] == 0
    return numbers


def _repetitions(draws: list[list[int]]) -> int:
    everything = [x for draw in draws for x in draw]
    return len(everything) - len(set(everything))


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a14_eight_forked_workers_and_their_parent_draw_distinct_noise() -> None:
    before = _noise()
    children = [_forked(_noise) for _ in range(8)]
    grandchild = _forked(lambda: _forked(_noise))
    assert _repetitions([before, *children, grandchild, _noise()]) == 0


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a14_a_pool_of_forked_workers_draws_distinct_noise() -> None:
    before = _noise()
    with multiprocessing.get_context("fork").Pool(8) as pool:
        children = pool.map(_noise, range(8), chunksize=1)
    assert _repetitions([before, *children, _noise()]) == 0


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a14_a_generator_that_is_not_told_of_the_fork_would_be_seen() -> None:
    generator = np.random.default_rng()
    generator.integers(2**60)

    def work() -> list[int]:
        return [int(n) for n in generator.integers(2**60, size=10)]

    assert _repetitions([_forked(work), _forked(work)]) == 10


# -------------------------------------------------------------------- A15: seed


def _public_callables() -> Iterator[tuple[str, Callable[..., object]]]:
    for name in dither.noise.__all__:
        value = getattr(dither.noise, name)
        if inspect.isclass(value):
            yield name, value
            yield from (
                (f"{name}.{member}", getattr(value, member))
                for member in dir(value)
                if not member.startswith("_") and callable(getattr(value, member))
            )
        elif callable(value):
            yield name, value


def _seed_parameters(function: Callable[..., object]) -> list[str]:
    words = ("seed", "rng", "random", "generator", "state", "source", "entropy", "key")
    return [name for name in inspect.signature(function).parameters if any(word in name.lower() for word in words)]


def test_a15_nothing_public_takes_a_seed() -> None:
    callables = dict(_public_callables())
    assert "DiscreteLaplace.sample" in callables
    assert {name: found for name, f in callables.items() if (found := _seed_parameters(f))} == {}
    assert _seed_parameters(np.random.default_rng) == ["seed"], "one would be seen"


@contextmanager
def _seeded() -> Iterator[None]:
    """All the seeds that an analyst can set; put back afterwards, so that other tests keep theirs."""
    python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)  # noqa: NPY002


def test_a15_seeding_other_generators_changes_nothing() -> None:
    draws, others = [], []
    for _ in range(2):
        with _seeded():
            draws.append(_noise())
            others.append([random.getrandbits(60), int(np.random.randint(2**60))])  # noqa: NPY002
    assert _repetitions(draws) == 0
    assert _repetitions(others) == 2, "the seeds work"


# -------------------------------------------------- A16: randomness from elsewhere


_RANDOM_MODULES = ("random", "secrets", "numpy.random", "scipy.stats", "uuid")


def _foreign_randomness(code: str) -> list[str]:
    """Imports of random modules, and uses of np.random, os.urandom or os.getrandom."""
    found: list[str] = []
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.Import(names=names):
                found += [alias.name for alias in names if alias.name in _RANDOM_MODULES]
            case ast.ImportFrom(module=str(module), names=names):
                spelled = [module, *(f"{module}.{alias.name}" for alias in names)]
                found += [name for name in spelled if name in (*_RANDOM_MODULES, "os.urandom", "os.getrandom")]
            case ast.Attribute(value=ast.Name(id="np" | "numpy"), attr="random"):
                found.append("numpy.random")
            case ast.Attribute(value=ast.Name(id="os"), attr="urandom" | "getrandom" as attribute):
                found.append(f"os.{attribute}")
    return found


def test_a16_only_one_file_draws_randomness() -> None:
    """Invented tables have a seed, to be the same each time, and protect nobody: those of the demo and of audits, and
    those that a suggestion supposes from what was released."""
    found = {
        path.relative_to(repository.SOURCE).as_posix(): foreign
        for path in repository.SOURCE.rglob("*.py")
        if (foreign := _foreign_randomness(path.read_text(encoding="utf-8")))
    }
    assert found.pop("cli/demo/visits.py") == ["numpy.random", "numpy.random"]
    assert found.pop("audit/project/made_up_tables.py") == ["random"]
    assert found.pop("engine/supposed.py") == ["numpy.random"] * 3
    assert found == {"noise/entropy.py": ["os.urandom"]}


@pytest.mark.parametrize(
    "code",
    [
        "import random",
        "import numpy.random as r",
        "from random import random",
        "from numpy import random",
        "from numpy.random import default_rng",
        "from os import urandom",
        "import secrets",
        "def f():\n    from scipy import stats\n    return stats.norm.rvs()",
        "x = np.random.rand()",
        "x = numpy.random.rand()",
        "x = os.getrandom(3)",
    ],
)
def test_a16_randomness_from_elsewhere_would_be_seen(code: str) -> None:
    assert _foreign_randomness(code)
