"""What a release may cost, and how its caller states it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from inspect import cleandoc
from typing import Any, Final, Literal, TypeAlias, TypeVar

from dither.adjacency import Adjacency
from dither.errors import ParameterError
from dither.exact import Number, check, rational
from dither.guarantees import ZCDP, ApproxDP, PureDP
from dither.ledger.budget import Budget

__all__ = ["NoiseKind", "Price", "Terms", "priced", "with_price"]

NoiseKind: TypeAlias = Literal["laplace", "gaussian"]
_Function = TypeVar("_Function", bound=Callable[..., Any])

_PRICE: Final = """
epsilon : Number, optional
    The privacy loss ε > 0 that the release costs. Give `epsilon`, or `epsilon` and `delta`, or `rho`.
delta : Number, optional
    The δ that goes with ε. Groups and values that are found in the data need it; where it is not needed, it allows
    Gaussian noise.
rho : Number, optional
    The cost ρ in zero-concentrated differential privacy, instead of `epsilon` and `delta`; the noise is Gaussian.
noise : {"laplace", "gaussian"}, optional
    The kind of noise. By default the one with the smaller error.
weights : mapping of str to Number, optional
    How the columns of the answer share the price, by their names; 1 each unless given.
level : Number, default 0.95
    The confidence level of the intervals. They contain the exact value of the bounded table.
population : bool, default False
    Whether the intervals are to contain the mean of the population from which the rows were drawn independently; for
    means only.
left_out : bool, optional
    Whether a fiftieth of the price buys an estimate of how much limits and bounds leave out, which stands beside the
    answer. By default it does for limits that `suggest` chose. Where nothing can be left out, nothing is paid for it.
"""
_KEY: Final = """
key : str, optional
    An idempotency key: under the same key, the same question is charged once and has the same answer.
"""


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
    """What the caller of a release gives beside the question; `Question.release` describes each."""

    epsilon: Number | None
    delta: Number | None
    rho: Number | None
    noise: NoiseKind | None
    weights: Mapping[str, Number] | None
    level: Number
    population: bool
    key: str | None = None
    left_out: bool | None = None


def priced(text: str, function: Callable[..., Any]) -> str:
    """Describe the parameters of the price in the place of `{price}`: they are written once, here."""
    key = _KEY if "key" in function.__annotations__ else ""
    return text.replace("{price}", (_PRICE.rstrip() + key).strip())


def with_price(function: _Function) -> _Function:
    """Describe the parameters of the price in the docstring of a method."""
    if function.__doc__ is not None:  # there are none under python -OO
        function.__doc__ = priced(cleandoc(function.__doc__), function)
    return function
