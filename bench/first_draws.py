"""Releases under a scale that was never seen before, as people meet them: nothing that was remembered helps.

Every call has a mechanism of its own, ours and OpenDP's, made within the time that counts. Ours checks the value,
draws, and states its guarantee; a Gaussian mechanism from (ε, δ) finds its σ as well.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

import dither as dp
from bench.noise_case import NoiseCase
from bench.peers import diffprivlib_noise, opendp_noise
from bench.progress import say
from bench.row import Row, less_is_better, more_is_better
from bench.timing import Work, samples_per_second
from dither.noise import Gumbel, Law, PowerLaw, StudentT

CALLS = 50
SHORT = 100
REPETITIONS = 7
VALUES = 10**4
LAW_SAMPLES = 10**6
VECTOR = 10**4

LIMITS_MS = {1: 0.1, SHORT: 0.3}
CALIBRATED_LIMIT_MS = 1.5
MEAN_LIMIT_MS = 2.0
LAW_LIMIT = 5e6


class Scales:
    """Scales of 100 to 10⁶, no two of them alike, for laws that are remembered by their scale."""

    def __init__(self) -> None:
        self._random = random.Random(31)

    def next(self) -> Fraction:
        return Fraction(self._random.randrange(10**8, 10**12), 10**6)

    def case(self, law: Any, is_real: bool) -> NoiseCase:
        return NoiseCase(law, float(self.next()) if is_real else int(self.next()))


def rows() -> Iterator[Row]:
    scales = Scales()
    for length in (1, SHORT):
        for law in ("Laplace", "Gaussian"):
            for is_real in (False, True):
                yield from _given(law, is_real, length, scales)
    yield from _calibrated()
    yield from _means()
    yield from _laws()


def _given(law: str, is_real: bool, length: int, scales: Scales) -> Iterator[Row]:
    numbers = "reals" if is_real else "integers"
    what = "one value" if length == 1 else f"{length} {numbers}"
    name = f"a first release of {what}, {law}{'' if length > 1 else ', real' if is_real else ', integer'}"
    say(f"{name} ...")
    value = _value(is_real, length)
    listed = value.tolist() if length > 1 else value

    def ours() -> None:
        scale = scales.next()
        if law == "Laplace":
            dp.Laplace(sensitivity=1, scale=scale, dimension=length).release(value)
        else:
            dp.Gaussian(sensitivity=1, sigma=scale, dimension=length).release(value)

    def theirs() -> None:
        opendp_noise.released_once(scales.case(law, is_real), listed)

    yield from _milliseconds(name, ours, [("OpenDP", theirs)], limit=LIMITS_MS[length])


def _value(is_real: bool, length: int) -> Any:
    if length == 1:
        return 5.3 if is_real else 5
    return np.full(length, 5.3) if is_real else np.full(length, 5)


def _calibrated() -> Iterator[Row]:
    """From an ε that no one asked for before, and δ = 10⁻⁶."""
    epsilons = iter(Fraction(number, 10**6) for number in random.Random(32).sample(range(10**5, 3 * 10**6), 10**4))
    for value, kind in ((5, "integer"), (5.3, "real")):
        name = f"a first release of one value, Gaussian from (ε, δ), {kind}"
        say(f"{name} ...")

        def ours(value: Any = value) -> None:
            dp.Gaussian(sensitivity=1, epsilon=next(epsilons), delta="1e-6").release(value)

        yield from _milliseconds(name, ours, [], limit=CALIBRATED_LIMIT_MS)


def _means() -> Iterator[Row]:
    name = f"dp.stats.mean of {VALUES:,} values"
    say(f"{name} ...")
    values = np.random.default_rng(33).normal(50, 10, VALUES)
    ours = partial(dp.stats.mean, values, bounds=(0, 100), epsilon=1)
    theirs = partial(diffprivlib_noise.mean, values, (0.0, 100.0))
    yield from _milliseconds(name, ours, [("diffprivlib", theirs)], limit=MEAN_LIMIT_MS)


def _laws() -> Iterator[Row]:
    scale = 2**40
    laws: dict[str, Law] = {
        "Gumbel": Gumbel(scale),
        "Student, 3": StudentT(scale, 3),
        "power law, 4": PowerLaw(scale, 4),
    }
    for name, law in laws.items():
        yield _rate(f"{name}, scale 2^40, vector of 10^6", LAW_SAMPLES, partial(law.sample, LAW_SAMPLES))
    for norm in ("l2", "linf"):
        mechanism = dp.KNorm(sensitivity=1, dimension=VECTOR, norm=norm, scale=10)
        yield _rate(f"a vector of 10^4 in the norm {norm}", VECTOR, partial(mechanism.release, np.zeros(VECTOR)))


def _rate(name: str, samples: int, run: Callable[[], object]) -> Row:
    say(f"{name} ...")
    (rate,) = samples_per_second([Work("dither", samples, run)], repetitions=3)
    return more_is_better(name, ours=rate, peer="limit", peer_value=LAW_LIMIT, asked=1.0, unit="numbers/s")


def _milliseconds(
    name: str, ours: Callable[[], object], peers: Sequence[tuple[str, Callable[[], object]]], *, limit: float
) -> Iterator[Row]:
    """The best mean of so many calls in turn: the clock of processor time is too coarse for one."""
    works = [Work(who, CALLS, partial(_called, run)) for who, run in (("dither", ours), *peers)]
    mine, *others = (1000 / rate for rate in samples_per_second(works, repetitions=REPETITIONS))
    yield less_is_better(name, ours=mine, peer="limit", peer_value=limit, asked=1.0, unit="ms")
    for (who, _), theirs in zip(peers, others, strict=True):
        yield less_is_better(name, ours=mine, peer=who, peer_value=theirs, asked=None, unit="ms")


def _called(run: Callable[[], object]) -> None:
    for _ in range(CALLS):
        run()
