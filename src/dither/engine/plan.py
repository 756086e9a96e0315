"""From aggregates and a price to noise: which part gets what, before any data is touched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from dither.accounting import compose
from dither.engine.aggregate import Aggregate, Noisy
from dither.errors import ParameterError
from dither.events import Composed, Event
from dither.exact import Number, check, rational
from dither.ledger.budget import Budget
from dither.measures import ZCDP, ApproxDP, PureDP
from dither.mechanisms import Gaussian, Histogram, Laplace
from dither.tables import Measure, People
from dither.unit.contribution import Rows, TableUnit

__all__ = ["Part", "Plan", "Price", "planned"]

_BOUND = 1 << 62
_TRIES = 40
FOUND = "people"
"""The part whose noisy count decides which groups are shown, where groups are found privately."""


@dataclass(frozen=True, slots=True)
class Price:
    """What a release may cost: ε, or (ε, δ), or ρ."""

    epsilon: Fraction | None
    delta: Fraction | None
    rho: Fraction | None

    @classmethod
    def of(cls, epsilon: Number | None, delta: Number | None, rho: Number | None) -> Price:
        """Exactly one of ε and ρ, and a δ with ε only."""
        if (epsilon is None) == (rho is None) or (delta is not None and rho is not None):
            raise ParameterError("give the price as epsilon=..., as epsilon=... and delta=..., or as rho=...")
        exact = {name: None if value is None else rational(value, name) for name, value in
                 (("epsilon", epsilon), ("delta", delta), ("rho", rho))}  # fmt: skip
        for name, value in exact.items():
            if value is not None:
                check.positive(**{name: value})
        if exact["delta"] is not None:
            check.between(0, 1, delta=exact["delta"])
        return cls(**exact)

    def cost(self, unit: TableUnit, noise: str, found: bool) -> Budget:
        """The guarantee that is charged: δ only where something uses it."""
        if self.rho is not None:
            return ZCDP(self.rho, adjacency=unit.adjacency)
        assert self.epsilon is not None
        if self.delta is None or (noise == "laplace" and not found):
            return PureDP(self.epsilon, adjacency=unit.adjacency)
        return ApproxDP(self.epsilon, self.delta, adjacency=unit.adjacency)


@dataclass(frozen=True, slots=True)
class Part:
    """One exact number per group, the noise it gets, and its share of the price."""

    measure: Measure
    mechanism: Laplace | Gaussian
    share: Fraction

    def draw(self, exact: Any) -> Any:
        """The part with noise. Clipping to ±2^62 cannot raise the sensitivity, and keeps the sum inside 64 bits."""
        whole = np.clip(np.asarray(exact, dtype=object), -_BOUND, _BOUND).astype(np.int64)
        return self.mechanism.release(whole).value

    def bounded(self, noisy: Any, miss: Fraction) -> Noisy:
        """What was drawn, with the reach that the noise keeps except with probability `miss`."""
        return Noisy(noisy, self.mechanism.error(miss))

    @property
    def event(self) -> Event:
        """What is said of it."""
        return self.mechanism.event_for(np.zeros(1, dtype=np.int64))


@dataclass(frozen=True)
class Plan:
    """What a release will do: nothing here depends on data."""

    aggregates: Mapping[str, Aggregate]
    parts: Mapping[str, Part]
    discovery: Histogram | None
    cost: Budget
    noise: str
    level: Fraction

    @property
    def event(self) -> Event:
        """All noise of the release, in one sentence."""
        events = [part.event for name, part in self.parts.items() if self.discovery is None or name != FOUND]
        if self.discovery is not None:
            events.append(self.discovery.event)
        return events[0] if len(events) == 1 else Composed(tuple(events))

    def miss(self, aggregate: Aggregate) -> Fraction:
        """How improbable it may be that the noise of one part passes its reach, so that intervals keep their level."""
        return (1 - self.level) / len(aggregate.parts)


def planned(
    aggregates: Mapping[str, Aggregate],
    unit: TableUnit,
    grouped: bool,
    found: bool,
    price: Price,
    weights: Mapping[str, Number],
    noise: str | None,
    level: Number = 0.95,
) -> Plan:
    """Split the price over the parts of all aggregates by their weights, and make the noise of each."""
    measures: dict[str, Measure] = {FOUND: People()} if found else {}
    for aggregate in aggregates.values():
        measures |= aggregate.parts
    shares = _shares(aggregates, measures, weights)
    exact_level = rational(level, "level")
    check.between(0, 1, level=exact_level)

    def plan(kind: str) -> Plan:
        parts, discovery = _noised(measures, shares, unit, grouped, found, price, kind)
        return Plan(aggregates, parts, discovery, price.cost(unit, kind, found), kind, exact_level)

    if noise is not None and noise not in ("laplace", "gaussian"):
        raise ParameterError(f"noise must be laplace or gaussian, got noise={noise!r}.")
    if price.rho is not None:
        if found or noise == "laplace":
            raise ParameterError(
                "rho pays Gaussian noise on public groups. Give keys=..., or pay by epsilon and delta."
            )
        return plan("gaussian")
    if noise == "gaussian" and price.delta is None:
        raise ParameterError("Gaussian noise needs delta=... or rho=...")
    if noise is not None or price.delta is None or found:
        return plan(noise or "laplace")
    return min(
        (plan("laplace"), plan("gaussian")),
        key=lambda each: sum(part.mechanism.error(0.05) / part.measure.most(1) for part in each.parts.values()),
    )


def _shares(
    aggregates: Mapping[str, Aggregate], measures: Mapping[str, Measure], weights: Mapping[str, Number]
) -> dict[str, Fraction]:
    """A part weighs as much as the heaviest aggregate that needs it."""
    for name in weights:
        if name not in aggregates:
            raise ParameterError(f"weights name the columns of the answer: {', '.join(aggregates)}; got {name!r}.")
    exact = {name: rational(weights.get(name, 1), f"the weight of {name}") for name in aggregates}
    for name, weight in exact.items():
        check.positive(**{f"weight of {name}": weight})
    heavy = {
        key: max((exact[name] for name, aggregate in aggregates.items() if key in aggregate.parts), default=Fraction(1))
        for key in measures
    }
    return {key: weight / sum(heavy.values()) for key, weight in heavy.items()}


def _noised(
    measures: Mapping[str, Measure],
    shares: Mapping[str, Fraction],
    unit: TableUnit,
    grouped: bool,
    found: bool,
    price: Price,
    kind: str,
) -> tuple[dict[str, Part], Histogram | None]:
    discovery = None
    parts = {}
    others = [key for key in measures if not (found and key == FOUND)]
    if found:
        if price.delta is None:
            raise ParameterError("groups that are found in the data need delta=..., or give the groups: keys=[...].")
        assert price.epsilon is not None
        discovery = Histogram(
            epsilon=price.epsilon * shares[FOUND], delta=price.delta, max_bins=unit.max_groups, adjacency=unit.adjacency
        )
        parts[FOUND] = Part(measures[FOUND], discovery.mechanism, shares[FOUND])
    if kind == "laplace":
        assert price.epsilon is not None
        for key in others:
            sensitivity = _moves(unit, grouped) * measures[key].most(unit.max_rows_per_group)
            noise = Laplace(sensitivity=sensitivity, epsilon=price.epsilon * shares[key], adjacency=unit.adjacency)
            parts[key] = Part(measures[key], noise, shares[key])
    else:
        parts |= _gaussian_parts({key: measures[key] for key in others}, shares, unit, grouped, price)
    return parts, discovery


def _moves(unit: TableUnit, grouped: bool) -> int:
    return unit.moved_groups if grouped or isinstance(unit, Rows) else 1


def _gaussian_parts(
    measures: Mapping[str, Measure], shares: Mapping[str, Fraction], unit: TableUnit, grouped: bool, price: Price
) -> dict[str, Part]:
    """Shares of ρ. For (ε, δ), ρ is that of the one Gaussian that spends it all, less what the lattice costs."""

    def at(rho: Fraction) -> dict[str, Part]:
        return {
            key: Part(each, _gaussian(each, unit, grouped, rho * shares[key]), shares[key])
            for key, each in measures.items()
        }

    if price.rho is not None:
        return at(price.rho)
    assert price.epsilon is not None
    assert price.delta is not None
    one = Gaussian(sensitivity=1, epsilon=price.epsilon, delta=price.delta)
    rho = Fraction(1 / (2 * one.sigma**2))
    for _ in range(_TRIES):
        parts = at(rho)
        if compose([part.event for part in parts.values()]).delta(price.epsilon) <= price.delta:
            return parts
        rho *= Fraction(999, 1000)
    raise ParameterError("no Gaussian noise on whole numbers keeps this price. Use noise='laplace'.")


def _gaussian(measure: Measure, unit: TableUnit, grouped: bool, rho: Fraction) -> Gaussian:
    """Δ₂² is max_groups·most². Where a row is replaced, one group may lose `most` and gain it with the other sign."""
    most, moves = measure.most(unit.max_rows_per_group), _moves(unit, grouped)
    square = (most * moves) ** 2 if unit.adjacency.change == "replace" else moves * most**2
    return Gaussian(sensitivity_squared=square, rho=rho, dimension=moves, adjacency=unit.adjacency)
