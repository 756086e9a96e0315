"""Microsoft's prv-accountant: from both sides."""

from importlib.metadata import version
from typing import Any

from prv_accountant import PRVAccountant  # type: ignore[import-not-found,import-untyped,unused-ignore]
from prv_accountant.privacy_random_variables import (  # type: ignore[import-not-found,import-untyped,unused-ignore]
    LaplaceMechanism,
    PoissonSubsampledGaussianMechanism,
)

from bench.accounting_case import AccountingCase, Release

NAME = f"prv-accountant {version('prv-accountant')}"
EPS_ERROR = 0.01


def supports(case: AccountingCase) -> bool:
    """It has no randomized response (as a pure mechanism it is far off, and says so to nobody)."""
    return all(release.kind != "response" for release in case.releases)


def bracket(case: AccountingCase) -> tuple[float, float]:
    """(lower, upper) at eps_error 0.01."""
    times = [release.times for release in case.releases]
    accountant = PRVAccountant(
        prvs=[_variable(release) for release in case.releases],
        max_self_compositions=times,
        eps_error=EPS_ERROR,
        delta_error=case.delta * 1e-3,
    )
    low, _, high = accountant.compute_epsilon(case.delta, times)
    return float(low), float(high)


def _variable(release: Release) -> Any:
    if release.kind == "Laplace":
        return LaplaceMechanism(mu=1 / release.scale)
    return PoissonSubsampledGaussianMechanism(
        noise_multiplier=release.scale, sampling_probability=release.sampling_rate
    )
