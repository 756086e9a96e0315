"""Google's dp_accounting: privacy loss distributions, from above only."""

from importlib.metadata import version
from typing import Any

import dp_accounting  # type: ignore[import-not-found,import-untyped,unused-ignore]
from dp_accounting import pld  # type: ignore[import-not-found,import-untyped,unused-ignore]

from bench.accounting_case import AccountingCase, Calibration, Release

NAME = f"dp-accounting {version('dp-accounting')}"
INTERVAL = 1e-4


def epsilon(case: AccountingCase) -> float:
    """ε at its default interval of 1e-4. Distributions, not events: its events ignore repeated responses."""
    total: Any = None
    for release in case.releases:
        one = _distribution(release).self_compose(release.times)
        total = one if total is None else total.compose(one)
    return float(total.get_epsilon_for_delta(case.delta))


def scale(wanted: Calibration) -> float:
    """σ by its own calibration and default settings, told where to look (from its default start it takes minutes)."""
    adjacency = dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE

    def event(sigma: float) -> Any:
        noise = dp_accounting.GaussianDpEvent(sigma)
        if wanted.sampling_rate < 1:
            noise = dp_accounting.PoissonSampledDpEvent(wanted.sampling_rate, noise)
        return dp_accounting.SelfComposedDpEvent(noise, wanted.times)

    found = dp_accounting.calibrate_dp_mechanism(
        lambda: pld.PLDAccountant(adjacency),
        event,
        wanted.epsilon,
        wanted.delta,
        bracket_interval=dp_accounting.ExplicitBracketInterval(*wanted.around),
    )
    return float(found)


def _distribution(release: Release) -> Any:
    build = pld.privacy_loss_distribution
    if release.kind == "Laplace":
        return build.from_laplace_mechanism(
            release.scale, value_discretization_interval=INTERVAL, sampling_prob=release.sampling_rate
        )
    if release.kind == "Gaussian":
        return build.from_gaussian_mechanism(
            release.scale, value_discretization_interval=INTERVAL, sampling_prob=release.sampling_rate
        )
    return build.from_randomized_response(2 - 2 * release.scale, num_buckets=2, value_discretization_interval=INTERVAL)
