"""Our accountant on the cases of the topic `accounting`."""

from collections.abc import Callable

from bench.accounting_case import AccountingCase, Calibration, Release
from dither import events
from dither.accounting import Bracket, compose
from dither.accounting.composed_brackets import forget
from dither.accounting.noise_calibration import gaussian_scale
from dither.adjacency import ADD_REMOVE, Adjacency
from dither.exact import rational
from dither.mechanisms import Gaussian, Laplace

WIDTH = 1e-3
"""What is asked of a bracket, relative to its upper end."""


def bracket(case: AccountingCase, width: float = WIDTH) -> Bracket:
    forget()
    return compose(_events(case, _event), relative_width=width).bracket(case.delta)


def unreleased(case: AccountingCase, width: float = WIDTH) -> Bracket:
    """The same with the events of mechanisms that have not released: integers or floats, which is not known yet."""
    forget()
    return compose(_events(case, _planned), relative_width=width).bracket(case.delta)


def scale(wanted: Calibration) -> float:
    forget()
    return gaussian_scale(
        epsilon=wanted.epsilon, delta=wanted.delta, releases=wanted.times, sampling_rate=wanted.sampling_rate
    )


def is_just_enough(wanted: Calibration, found: float, relative: float) -> bool:
    """Whether σ keeps the budget, and `relative` less of it certainly would not."""
    enough = _bracket_at(wanted, found).upper <= wanted.epsilon
    return enough and _bracket_at(wanted, found * (1 - relative)).lower > wanted.epsilon


def query() -> float:
    """One question to a simple mechanism."""
    forget()
    return compose([events.LaplaceNoise(rational(2))]).epsilon(1e-6)


def gaussian_query() -> float:
    """One question to Gaussian noise."""
    forget()
    return compose([events.GaussianNoise.of(3)]).epsilon(1e-6)


def _bracket_at(wanted: Calibration, sigma: float) -> Bracket:
    release = Release("Gaussian", sigma, wanted.times, wanted.sampling_rate)
    return bracket(AccountingCase(wanted.name, (release,), wanted.delta, (0, 0)), 4e-7)


def _events(case: AccountingCase, noise: Callable[[Release, Adjacency | None], events.Event]) -> list[events.Event]:
    adjacency = ADD_REMOVE if any(release.sampling_rate < 1 for release in case.releases) else None
    done: list[events.Event] = []
    for release in case.releases:
        event = noise(release, adjacency)
        if release.sampling_rate < 1:
            event = events.PoissonSampled(event, rational(release.sampling_rate))
        done.append(events.Repeated(event, release.times))
    return done


def _event(release: Release, adjacency: Adjacency | None) -> events.Event:
    if release.kind == "Laplace":
        return events.LaplaceNoise(rational(release.scale), adjacency=adjacency)
    if release.kind == "Gaussian":
        return events.GaussianNoise.of(rational(release.scale), adjacency=adjacency)
    return events.RandomizedAnswer(keep=2 * rational(release.scale) - 1)


def _planned(release: Release, adjacency: Adjacency | None) -> events.Event:
    if release.kind == "Laplace":
        return Laplace(sensitivity=1, scale=release.scale, adjacency=adjacency).event
    return Gaussian(sensitivity=1, sigma=release.scale, adjacency=adjacency).event
