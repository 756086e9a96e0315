"""The cases of `python -m bench accounting --risk`."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RiskCase:
    """An advantage of at most `risk`, or where `fpr` is given a true positive rate, of Gaussian releases."""

    name: str
    risk: float
    fpr: float | None
    times: int
    sampling_rate: float
    around: tuple[float, float]
    """Where riskcal is told to look for σ: from its default start, little noise many times, it takes minutes."""


RISKS = (
    RiskCase("advantage 0.1, 100 Gaussian releases", 0.1, None, 100, 1.0, (5.0, 100.0)),
    RiskCase("TPR 0.05 at FPR 0.01, 100 Gaussian releases", 0.05, 0.01, 100, 1.0, (5.0, 100.0)),
    RiskCase("advantage 0.1, q = 0.01, 1000 steps", 0.1, None, 1000, 0.01, (0.4, 20.0)),
    RiskCase("TPR 0.05 at FPR 0.01, q = 0.01, 1000 steps", 0.05, 0.01, 1000, 0.01, (0.4, 20.0)),
)
