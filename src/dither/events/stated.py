"""The event of a guarantee that is stated, not derived."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from dither.adjacency import Adjacency
from dither.errors import ParameterError
from dither.events.event import EventBase, exact_number, under
from dither.exact import Number, check, in_words, set_fields

__all__ = ["Stated"]


@dataclass(frozen=True, slots=True)
class Stated(EventBase):
    """A guarantee that is stated, not derived: whatever was done costs no more than this.

    Parameters
    ----------
    measure : {"PureDP", "ApproxDP", "ZCDP", "RenyiDP", "GaussianDP", "TVStable"}
        The name of the guarantee.
    values : tuple of Number
        Its parameters in order: PureDP (epsilon), ApproxDP (epsilon, delta), ZCDP (rho), GaussianDP (mu squared),
        TVStable (tv), RenyiDP (order, epsilon, order, epsilon, ...).
    adjacency : Adjacency, optional
        The neighbours for which it was stated. By default unstated.

    Raises
    ------
    ParameterError
        If `measure` is unknown, or `values` are not its parameters.

    Examples
    --------
    >>> print(Stated("ApproxDP", (1, "1e-6")))
    a stated ApproxDP(1, 1e-06)
    """

    measure: str
    values: tuple[Fraction, ...]
    adjacency: Adjacency | None = None

    if TYPE_CHECKING:  # any number is made exact

        def __init__(self, measure: str, values: tuple[Number, ...], adjacency: Adjacency | None = ...) -> None: ...

    def __post_init__(self) -> None:
        self._one_of("measure", *_MEASURES)
        self._exact()
        values = tuple(exact_number(value, f"{self.measure} value") for value in self.values)
        set_fields(self, values=values)
        check.nonnegative(**dict.fromkeys(("smallest value",), min(values, default=Fraction(0))))
        wanted = _MEASURES[self.measure]
        if not values or (len(values) != len(wanted) if self.measure != "RenyiDP" else len(values) % 2):
            raise ParameterError(f"{self.measure} has the values ({', '.join(wanted)}), got {len(values)} values.")
        for label, value in zip(wanted, values, strict=False):
            if label in ("delta", "tv"):
                check.probability(**{label: value})
        if self.measure == "RenyiDP" and not min(values[::2]) > 1:
            raise ParameterError(f"each order must be greater than 1, got order={min(values[::2])}.")

    def __str__(self) -> str:
        return f"a stated {self.measure}({', '.join(map(in_words, self.values))}){under(self.adjacency)}"


_MEASURES: dict[str, tuple[str, ...]] = {
    "PureDP": ("epsilon",),
    "ApproxDP": ("epsilon", "delta"),
    "ZCDP": ("rho",),
    "RenyiDP": ("order", "epsilon", "..."),
    "GaussianDP": ("mu squared",),
    "TVStable": ("tv",),
}
