"""What all events share: exact numbers, and an adjacency under which they can hold, by one table for all constructors.

Some events cannot hold for some neighbours: randomized response gives one answer for each person, so data without the
person has one answer less, and no probability hides that. Under 'add or remove' its loss is infinite, and on a Poisson
sample, where a person is there or not, too.

| event | can hold under | a missing person is an input | Poisson sample | sample of a fixed size |
|---|---|---|---|---|
| Laplace, Gaussian, staircase, smooth, matrix and tree noise | any adjacency | yes | add or remove | replace |
| selection, sparse vector | any; monotone scores: add or remove | yes | add or remove | replace, not monotone |
| mixture of Gaussians | add or remove | yes | add or remove | refused |
| randomized response | replace; a person with one record | no | refused | replace |
| answer of a table | the one it was stated for | as was stated | add or remove, stated | replace, stated |
| stated guarantee | the one it was stated for | as was stated | add or remove | replace |

Sampling with replacement is like a sample of a fixed size, a truncated Poisson sample and balls in bins like a Poisson
sample. Shuffled reports hold where one is replaced. `ReplaceOne` is about neighbours that replace a record of which the
event inside says what it costs to come or go; `GroupOf` leaves its adjacency unstated. None of these five, nor a sample
with replacement, is sampled again.

Sampling draws records one by one: the privacy unit must be one record, or a person with one. An event with an unstated
adjacency gets that of its sampling, and must be able to hold under it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Final

from dither.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency, checked
from dither.errors import AdjacencyMismatch, ParameterError
from dither.exact import Number, check, in_words, rational, set_fields

__all__ = [
    "LEAVES",
    "SAMPLINGS",
    "EventBase",
    "LeafRule",
    "SamplingRule",
    "Stated",
    "check_adjacency",
    "check_count",
    "check_sampled",
    "exact_number",
    "under",
]

# The longest exact number: each one written can be read back (`rational` reads at most 400 characters).
_MAX_BITS = 1_250
_MAX_COUNT = 10**18


class EventBase:
    """What all events share: their numbers are made exact and checked when they are built."""

    __slots__ = ()

    def _exact(self, *names: str) -> None:
        if type(self).__name__ in LEAVES:
            check_adjacency(type(self).__name__, getattr(self, "adjacency", None))
        for name in names:
            value = getattr(self, name)
            if value is not None:
                set_fields(self, **{name: exact_number(value, name)})

    def _one_of(self, name: str, *allowed: str) -> None:
        if getattr(self, name) not in allowed:
            raise ParameterError(f"{name} must be one of {', '.join(allowed)}; got {getattr(self, name)!r}.")


def exact_number(value: object, name: str) -> Fraction:
    """A number as a fraction of a length that can be written and read back."""
    number = rational(value, name)
    if number.numerator.bit_length() + number.denominator.bit_length() > _MAX_BITS:
        raise ParameterError(f"{name} has more than {_MAX_BITS} bits. Give a shorter number.")
    return number


def check_count(least: int, **named: int) -> None:
    """Check that each value is a whole number of at least `least`, and at most 10^18."""
    check.count(least, **named)
    for name, value in named.items():
        if not value <= _MAX_COUNT:
            raise ParameterError(f"{name} must be at most {_MAX_COUNT}, got {name} of {value.bit_length()} bits.")


def under(adjacency: Adjacency | None) -> str:
    """How the words for an event end: the adjacency, if it is stated."""
    return "" if adjacency is None else f", under '{adjacency}'"


@dataclass(frozen=True, slots=True)
class LeafRule:
    """For which neighbours an event that is not made of others can hold."""

    knows_absence: bool = True
    """Whether data without the person is an input like any other, so that persons may be added and removed."""
    covers_many: bool = True
    """Whether all the records of a person are covered at once, by a sensitivity that counts them all."""
    covers_replacement: bool = True
    """Whether it may be stated for a record that is replaced by another, and not only for one that comes or goes."""
    is_sampled_unstated: bool = True
    """Whether an unstated adjacency may become that of a sampling; not if nothing says that absence is an input."""


@dataclass(frozen=True, slots=True)
class SamplingRule:
    """The neighbours for which a way of sampling is accounted for."""

    name: str
    default: Adjacency
    """What an unstated adjacency becomes. Others must have the same change."""


LEAVES: Final = {
    "LaplaceNoise": LeafRule(),
    "GaussianNoise": LeafRule(),
    "MixtureOfGaussians": LeafRule(covers_replacement=False),
    "StaircaseNoise": LeafRule(),
    "RandomizedAnswer": LeafRule(knows_absence=False, covers_many=False),
    "Selection": LeafRule(),
    "SparseVectorRun": LeafRule(),
    "SmoothNoise": LeafRule(),
    "MatrixNoise": LeafRule(),
    "TreeNoise": LeafRule(),
    "Stated": LeafRule(),
    "FiniteAnswer": LeafRule(is_sampled_unstated=False),
}
"""By the kind of the event. A new kind of event needs a line here."""

SAMPLINGS: Final = {
    "PoissonSampled": SamplingRule("Poisson sampling", ADD_REMOVE),
    "FixedSizeSampled": SamplingRule("fixed-size sampling", REPLACE_ONE),
    "WithReplacementSampled": SamplingRule("sampling with replacement", REPLACE_ONE),
    "TruncatedPoissonSampled": SamplingRule("truncated Poisson sampling", ADD_REMOVE),
    "BallsInBinsSampled": SamplingRule("a random batch for each record", ADD_REMOVE),
}


def check_adjacency(kind: str, adjacency: Adjacency | None) -> None:
    """Refuse an adjacency under which the event cannot hold; an unstated one passes."""
    known, rule = checked(adjacency), LEAVES[kind]
    if known is None:
        return
    if known.change == "add or remove" and not rule.knows_absence:
        raise ParameterError(
            f"randomized response shows how many answered, so it cannot hide a change such as '{known}'. "
            "Use one that replaces, such as adjacency=REPLACE_ONE."
        )
    if known.change != "add or remove" and not rule.covers_replacement:
        raise ParameterError(
            f"{kind} is accounted for where a record is added or removed, not under '{known}'. Use ADD_REMOVE."
        )
    if not rule.covers_many and not _is_at_most_one(known):
        raise ParameterError(
            f"max_records must be 1, as a person with several answers pays for each; got '{known}'. "
            "Use person(column, max_records=1, change='replace')."
        )


def check_sampled(sampling: str, adjacency: Adjacency | None, leaves: Iterable[str]) -> None:
    """Refuse a sample of an event that holds under `adjacency` and is made of these kinds of leaves."""
    rule = SAMPLINGS[sampling]
    change = rule.default.change
    if adjacency is not None and adjacency.change != change:
        raise AdjacencyMismatch(
            f"{rule.name} is accounted for under '{change}', but the event holds under '{adjacency}'. "
            f"State its sensitivity under '{change}'."
        )
    if adjacency is not None and not _is_one_record(adjacency):
        raise AdjacencyMismatch(
            f"{rule.name} draws records one by one, so the privacy unit must be one record, but the event holds under "
            f"'{adjacency}'. Protect a record, or a person with max_records=1; for all the records of a person, "
            "sample persons first and let each be one record."
        )
    for kind in leaves:
        if adjacency is None and not LEAVES[kind].is_sampled_unstated:
            raise ParameterError(
                f"{kind} does not say which datasets are neighbours, and {rule.name} must know. State it: adjacency=..."
            )
        check_adjacency(kind, adjacency or rule.default)


def _is_at_most_one(adjacency: Adjacency) -> bool:
    return adjacency.protects != "person" or adjacency.max_records == 1


def _is_one_record(adjacency: Adjacency) -> bool:
    return adjacency.protects in ("record", "person") and _is_at_most_one(adjacency)


@dataclass(frozen=True, slots=True)
class Stated(EventBase):
    """A guarantee that is stated, not derived: whatever was done costs no more than this.

    Parameters
    ----------
    measure : {"PureDP", "ApproxDP", "ZCDP", "RenyiDP", "GaussianDP", "TVStable"}
        The name of the guarantee.
    values : tuple of Number
        Its parameters in order: PureDP (epsilon), ApproxDP (epsilon, delta), ZCDP (rho), or (rho, xi) for
        D_α ≤ ξ + ρα, GaussianDP (mu squared),
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
        fewest = 1 if self.measure == "ZCDP" else len(wanted)  # ξ of zCDP may be left out
        if not values or (len(values) % 2 if self.measure == "RenyiDP" else not fewest <= len(values) <= len(wanted)):
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
    "ZCDP": ("rho", "xi"),
    "RenyiDP": ("order", "epsilon", "..."),
    "GaussianDP": ("mu squared",),
    "TVStable": ("tv",),
}
