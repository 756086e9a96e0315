"""Our accountant on the cases of the topic `accounting`."""

from collections.abc import Callable
from fractions import Fraction

from bench.accounting_case import AccountingCase, Calibration, Release
from bench.accounting_risk_case import RiskCase
from dither import events
from dither.accounting import Bracket, compose
from dither.accounting.composed_brackets import forget
from dither.accounting.noise_calibration import gaussian_scale
from dither.accounting.risk import calibrate
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


def risk_scale(case: RiskCase) -> float:
    forget()
    risk = {"advantage": case.risk} if case.fpr is None else {"tpr": case.risk, "fpr": case.fpr}
    return calibrate(lambda sigma: _run(sigma, case), **risk).scale


def risk_at(case: RiskCase, sigma: float) -> Bracket:
    """The risk of other noise; of a true positive rate only the upper end is certain, and known to a thousandth."""
    whole = compose([_run(rational(sigma), case)], relative_width=1e-5)
    if case.fpr is None:
        return whole.delta_bracket(0)
    highest = whole.true_positive_rate(case.fpr)
    return Bracket(highest * (1 - WIDTH), highest)


def many_events() -> float:
    """3000 of them, half Laplace and half Gaussian."""
    forget()
    laplace = [events.LaplaceNoise(rational(50 + at / 8)) for at in range(1500)]
    gaussian = [events.GaussianNoise.of(rational(50 + at / 8)) for at in range(1500)]
    return compose([*laplace, *gaussian], relative_width=WIDTH).epsilon(1e-6)


def many_gaussians() -> float:
    """200 of them, before release: on integers or on reals."""
    forget()
    return compose([Gaussian(sensitivity=1, sigma=20 + at / 8).event for at in range(200)]).epsilon(1e-6)


def certified_gaussians() -> float:
    """200 of them on the integers, as a certificate is checked."""
    forget()
    noise = [events.GaussianNoise(variance=rational(400 + at), step=rational(1)) for at in range(200)]
    return compose(noise).upper_delta(1)


def curve() -> object:
    """δ(ε) and β(α) of 1000 steps, each at 200 places."""
    forget()
    run = events.Repeated(events.PoissonSampled(events.GaussianNoise.of(1), rational("0.01")), 1000)
    whole = compose([run])
    return whole.deltas([at / 50 for at in range(200)]), [whole.beta(at / 200) for at in range(200)]


def shuffled_reports() -> float:
    forget()
    return compose([events.ShuffledReports(events.RandomizedAnswer("1/2"), 10**6)]).epsilon(1e-6)


def _run(sigma: Fraction, case: RiskCase) -> events.Event:
    noise = events.GaussianNoise.of(sigma, adjacency=ADD_REMOVE)
    sampled = events.PoissonSampled(noise, rational(case.sampling_rate)) if case.sampling_rate < 1 else noise
    return events.Repeated(sampled, case.times)


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
