"""What a release may cost, and how its caller says it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, TypeAlias

from dither.adjacency import Adjacency
from dither.errors import ParameterError
from dither.exact import Number, check, rational
from dither.guarantees import ZCDP, ApproxDP, PureDP
from dither.ledger.budget import Budget

__all__ = ["NoiseKind", "Price", "Terms"]

NoiseKind: TypeAlias = Literal["laplace", "gaussian"]


@dataclass(frozen=True, slots=True)
class Price:
    """ε, or (ε, δ), or ρ."""

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

    def cost(self, adjacency: Adjacency, *, needs_delta: bool) -> Budget:
        """The guarantee that is charged: δ only where something uses it."""
        if self.rho is not None:
            return ZCDP(self.rho, adjacency=adjacency)
        assert self.epsilon is not None
        if self.delta is None or not needs_delta:
            return PureDP(self.epsilon, adjacency=adjacency)
        return ApproxDP(self.epsilon, self.delta, adjacency=adjacency)


@dataclass(frozen=True, slots=True)
class Terms:
    """What the caller of a release says beside the question; `Question.release` says what each means."""

    epsilon: Number | None
    delta: Number | None
    rho: Number | None
    noise: NoiseKind | None
    weights: Mapping[str, Number] | None
    level: Number
    population: bool
    key: str | None = None

    @property
    def price(self) -> Price:
        """What the release may cost, exactly."""
        return Price.of(self.epsilon, self.delta, self.rho)
