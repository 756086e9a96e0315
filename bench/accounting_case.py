"""The cases of the topic `accounting`, in terms that every accountant understands."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["Gaussian", "Laplace", "response"]


@dataclass(frozen=True, slots=True)
class Release:
    """Noise of a scale on a value of sensitivity 1, or a true answer with that probability; on a Poisson sample."""

    kind: Kind
    scale: float
    times: int
    sampling_rate: float = 1.0


@dataclass(frozen=True, slots=True)
class AccountingCase:
    """What was done, the δ at which ε is asked for, and between which numbers the truth is known to lie."""

    name: str
    releases: tuple[Release, ...]
    delta: float
    truth: tuple[float, float]


@dataclass(frozen=True, slots=True)
class Calibration:
    """The smallest σ of Gaussian noise for `times` releases within (epsilon, delta); it lies in `around`."""

    name: str
    epsilon: float
    delta: float
    times: int
    around: tuple[float, float]
    sampling_rate: float = 1.0


# Truths: (a) closed form; randomized response by exact binomials; the others between what several accountants found.
CASES = (
    AccountingCase("(a) 1000 Gaussian, σ = 20", (Release("Gaussian", 20, 1000),), 1e-6, (8.30622504, 8.30622506)),
    AccountingCase("(b) 1000 Laplace, scale 50", (Release("Laplace", 50, 1000),), 1e-6, (2.90491, 2.9054001)),
    AccountingCase("(c) q = 0.01, σ = 1, T = 10^4", (Release("Gaussian", 1, 10_000, 0.01),), 1e-5, (6.1864, 6.187745)),
    AccountingCase(
        "(d) Laplace, Gaussian and responses",
        (Release("Laplace", 50, 200), Release("Gaussian", 20, 200), Release("response", 0.75, 100)),
        1e-6,
        (94.808, 94.829),
    ),
    AccountingCase("100 responses, p = 0.75", (Release("response", 0.75, 100),), 1e-6, (94.289867892, 94.289867894)),
)

# Between dp-accounting's optimistic and pessimistic answers at an interval of 5e-5.
MANY = AccountingCase(
    "2000 different Laplace events",
    tuple(Release("Laplace", 50 + i / 8, 1) for i in range(2000)),
    1e-6,
    (1.54378, 1.593527),
)

CALIBRATIONS = (
    Calibration("σ for T = 1000 at (1, 1e-6)", 1.0, 1e-6, 1000, (50.0, 500.0)),
    Calibration("σ for q = 0.01, T = 1000 at (1, 1e-5)", 1.0, 1e-5, 1000, (0.7, 5.0), 0.01),
    Calibration("σ for q = 0.01, T = 10^4 at (2, 1e-5)", 2.0, 1e-5, 10_000, (1.0, 8.0), 0.01),
)
