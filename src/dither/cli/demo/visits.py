"""An invented year of hospital visits, the same in every run and on every machine.

It has what makes real tables hard: a few people with very many visits, costs with a heavy tail, places and conditions
of very different size, values that are missing and values that are wrong. Nobody in it exists, so a demonstration may
show the truth beside each private answer.

The generator of NumPy that is used here makes *data*. It has no place anywhere near noise.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.special import ndtri

__all__ = ["CONDITIONS", "HOSPITALS", "VISITS_PER_PERSON", "hospital_visits"]

VISITS_PER_PERSON: Final = 10
"""On average; every person has one at least."""

HOSPITALS: Final = {
    "Central": 0.34,
    "Riverside": 0.22,
    "Saint Anne": 0.15,
    "North Hill": 0.11,
    "Harbour": 0.08,
    "Old Town": 0.05,
    "Lakeview": 0.03,
    "Mountain": 0.02,
}
"""Where people live: each hospital and its part of them."""

CONDITIONS: Final = {
    "hypertension": (0.23, 90.0),
    "back pain": (0.18, 70.0),
    "diabetes": (0.14, 140.0),
    "asthma": (0.11, 110.0),
    "infection": (0.10, 60.0),
    "injury": (0.08, 260.0),
    "migraine": (0.06, 80.0),
    "pregnancy": (0.04, 450.0),
    "heart failure": (0.03, 1_400.0),
    "cancer": (0.02, 3_200.0),
    "epilepsy": (0.007, 380.0),
    "rare disease": (0.003, 2_500.0),
}
"""What people come for: each condition, its part of them, and the median cost of a visit."""

_SEED: Final = 20260101
_FIRST_DAY: Final = np.datetime64("2025-01-01")
_DAYS: Final = 365
_CHRONIC: Final = 0.7  # of the visits are for a person's main condition
_AT_HOME: Final = 0.9  # of the visits are to the hospital where a person lives; the others are to one of two more
_SPREAD_OF_VISITS: Final = 0.7  # of the logarithm of how often a person comes
_SPREAD_OF_COSTS: Final = 0.7
_WITHOUT_COST: Final = 0.03
_WITHOUT_AGE: Final = 0.02
_WRONG_AGE: Final = 0.0005


def hospital_visits(people: int) -> pa.Table:
    """The visits of so many people, ten for each on average, in an order that tells nothing.

    Only uniform numbers are taken from the generator, whose stream NumPy keeps; all else is computed from them and
    rounded (to cents, years, days), so that the last digit of a logarithm does not show.
    """
    uniform = np.random.Generator(np.random.PCG64(_SEED)).random
    home = _chosen(uniform(people), list(HOSPITALS.values()))
    condition = _chosen(uniform(people), [part for part, _ in CONDITIONS.values()])
    others = _chosen(uniform(2 * people), list(HOSPITALS.values())).reshape(2, people)
    age = np.floor(95 * uniform(people) ** 0.8).astype(np.int64)
    patient = _patients(people, uniform(people), uniform((VISITS_PER_PERSON - 1) * people))
    patient = patient[np.argsort(uniform(len(patient)), kind="stable")]
    visits = len(patient)

    away = others[(uniform(visits) < 0.5).astype(np.int64), patient]
    where = np.where(uniform(visits) < _AT_HOME, home[patient], away)
    usual = uniform(visits) < _CHRONIC
    what = np.where(usual, condition[patient], _chosen(uniform(visits), [part for part, _ in CONDITIONS.values()]))
    medians = np.array([median for _, median in CONDITIONS.values()])
    cost = np.round(medians[what] * np.exp(_SPREAD_OF_COSTS * ndtri(uniform(visits))), 2)
    ages = np.where(uniform(visits) < _WRONG_AGE, 999, age[patient])
    day = _FIRST_DAY + np.floor(_DAYS * uniform(visits)).astype("timedelta64[D]")
    return pa.table(
        {
            "patient": pa.array(patient),
            "hospital": _named(where, list(HOSPITALS)),
            "day": pa.array(day),
            "age": pa.array(ages, mask=uniform(visits) < _WITHOUT_AGE),
            "condition": _named(what, list(CONDITIONS)),
            "cost": pa.array(cost, mask=uniform(visits) < _WITHOUT_COST),
        }
    )


def _chosen(uniform: NDArray[np.float64], parts: list[float]) -> NDArray[np.int64]:
    """A choice for each uniform number, with these parts of all."""
    ends = np.cumsum(parts)
    found: NDArray[np.int64] = np.searchsorted(ends[:-1], uniform * ends[-1], side="right")
    return found


def _patients(people: int, often: NDArray[np.float64], which: NDArray[np.float64]) -> NDArray[np.int64]:
    """Whose visit it is: everyone's first, then others by how often a person comes, which is lognormal."""
    weights = np.round(1_000 * np.exp(_SPREAD_OF_VISITS * ndtri(often))) + 1
    more = np.searchsorted(np.cumsum(weights), which * weights.sum(), side="right")
    return np.concatenate([np.arange(people), np.minimum(more, people - 1)])


def _named(numbers: NDArray[np.int64], names: list[str]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(numbers), pa.array(names)).cast(pa.string())
