"""riskcal: noise for an attacker's advantage, and for a true positive rate at a false positive rate."""

from importlib.metadata import version

from riskcal.calibration import dpsgd  # type: ignore[import-not-found,import-untyped,unused-ignore]

from bench.accounting_risk_case import RiskCase

NAME = f"riskcal {version('riskcal')}"
TOLERANCE = 1e-3
"""Of the risk, its default."""


def scale(case: RiskCase) -> float:
    """σ at its default tolerance; told where to look."""
    where = {"noise_min": case.around[0], "noise_max": case.around[1]}
    if case.fpr is None:
        return float(dpsgd.find_noise_multiplier_for_advantage(case.risk, case.sampling_rate, case.times, **where))
    return float(
        dpsgd.find_noise_multiplier_for_err_rates(case.fpr, 1 - case.risk, case.sampling_rate, case.times, **where)
    )
