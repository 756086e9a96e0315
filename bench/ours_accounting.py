"""Our accountant on the cases of the topic `accounting`."""

from bench.accounting_case import AccountingCase, Calibration, Release
from dither import events
from dither.accounting import Bracket, compose
from dither.accounting.calibrate import gaussian_scale
from dither.accounting.composition import forget
from dither.exact import rational

WIDTH = 1e-3
"""What is asked of a bracket, relative to its upper end."""


def bracket(case: AccountingCase, width: float = WIDTH) -> Bracket:
    forget()
    done = [events.Repeated(_event(release), release.times) for release in case.releases]
    return compose(done, relative_width=width).bracket(case.delta)


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


def _event(release: Release) -> events.Event:
    event: events.Event
    if release.kind == "Laplace":
        event = events.LaplaceNoise(rational(release.scale))
    elif release.kind == "Gaussian":
        event = events.GaussianNoise.of(rational(release.scale))
    else:
        event = events.RandomizedAnswer(keep=2 * rational(release.scale) - 1)
    if release.sampling_rate < 1:
        return events.PoissonSampled(event, rational(release.sampling_rate))
    return event
