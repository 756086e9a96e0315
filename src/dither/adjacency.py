"""Which datasets are neighbours: what a guarantee protects.

A sensitivity or a guarantee means nothing until it states between which datasets it holds (claim D5). This is
the smallest type that states it. It sits below `unit`, `guarantees` and `events`, because all three carry it and
none of them may import another.

A guarantee may leave it unstated (`None`): it is then about two distributions, or about a mechanism whose
sensitivity was given as a bare number. Unstated is not a wildcard. It combines only with unstated, so that nobody
adds a cost per record to a cost per person by leaving out a word.

>>> import dither as dp
>>> dp.PureDP(1, adjacency=dp.adjacency.ADD_REMOVE)
PureDP(epsilon=1, adjacency='add or remove one record')
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from dither.errors import AdjacencyMismatch, ParameterError
from dither.exact import check

__all__ = [
    "ADD_REMOVE",
    "EDGE",
    "REPLACE_ONE",
    "VERTEX",
    "Adjacency",
    "check_monotone",
    "checked",
    "common",
    "name",
    "person",
]

_PROTECTED = ("record", "person", "vertex", "edge")
_CHANGES = ("replace", "add or remove")


@dataclass(frozen=True, slots=True)
class Adjacency:
    """Two datasets are neighbours when one change of one protected thing turns one into the other.

    Use the constants `ADD_REMOVE`, `REPLACE_ONE`, `EDGE` and `VERTEX`, or `person(column)`.

    Parameters
    ----------
    protects : {"record", "person", "vertex", "edge"}
        The privacy unit: a record, all records of a person, a vertex with its edges, or an edge.
    change : {"replace", "add or remove"}
        "replace": Hamming distance one, and the size is public. "add or remove": set difference one.
    column : str, optional
        The column that identifies a person; only for persons.
    max_records : int, optional
        The data owner's assertion that no person has more records; None if there is no limit.

    Raises
    ------
    ParameterError
        If a word is not one of these, or `column` or `max_records` is given for anything but a person.

    Examples
    --------
    >>> str(Adjacency("record", "replace"))
    'replace one record'
    """

    protects: str
    change: str
    column: str | None = None
    max_records: int | None = None

    def __post_init__(self) -> None:
        for label, value, allowed in (
            ("protects", self.protects, _PROTECTED),
            ("change", self.change, _CHANGES),
        ):
            if value not in allowed:
                raise ParameterError(f"{label} must be one of {', '.join(allowed)}; got {label}={value!r}.")
        is_person = self.protects == "person"
        if is_person != isinstance(self.column, str) or self.column == "":
            raise ParameterError(
                f"column must name the identifier of a person, and only of a person; "
                f"got column={self.column!r} for a {self.protects}. Use adjacency.person('user_id')."
            )
        if self.max_records is not None:
            if not is_person:
                raise ParameterError(f"max_records is a bound per person; a {self.protects} has none.")
            check.count(max_records=self.max_records)

    def __str__(self) -> str:
        if self.protects != "person":
            return f"{self.change} one {self.protects}"
        bound = "" if self.max_records is None else f", at most {self.max_records} records each"
        return f"{self.change} one person (by {self.column}{bound})"


REPLACE_ONE: Final = Adjacency("record", "replace")
ADD_REMOVE: Final = Adjacency("record", "add or remove")
VERTEX: Final = Adjacency("vertex", "add or remove")
EDGE: Final = Adjacency("edge", "add or remove")


def person(column: str, max_records: int | None = None, change: str = "add or remove") -> Adjacency:
    """Protect all the records of one person: neighbours differ in one person.

    Parameters
    ----------
    column : str
        The column that identifies a person.
    max_records : int, optional
        The data owner's assertion that no person has more records.
    change : {"add or remove", "replace"}, default "add or remove"
        How neighbours differ.

    Returns
    -------
    Adjacency
        The adjacency.

    Examples
    --------
    >>> str(person("user_id", max_records=5))
    'add or remove one person (by user_id, at most 5 records each)'
    """
    return Adjacency("person", change, column, max_records)


def checked(adjacency: Adjacency | None) -> Adjacency | None:
    """Check that a value is an adjacency, or None; a word such as "record" is refused.

    Parameters
    ----------
    adjacency : Adjacency or None
        The value.

    Returns
    -------
    Adjacency or None
        The same value.

    Raises
    ------
    ParameterError
        If it is something else.
    """
    if adjacency is not None and not isinstance(adjacency, Adjacency):
        raise ParameterError(
            f"adjacency must come from dither.adjacency, such as ADD_REMOVE, got the type {type(adjacency).__name__}."
        )
    return adjacency


def check_monotone(monotone: bool, adjacency: Adjacency | None) -> None:
    """Refuse what is not True or False, and the saving of monotone scores where a record may be replaced.

    A replaced record raises one count and lowers another: with half the noise that costs up to twice ε.

    Parameters
    ----------
    monotone : bool
        Whether a change of the data moves all scores in the same direction.
    adjacency : Adjacency or None
        Which datasets are neighbours.

    Raises
    ------
    ParameterError
        If the two do not go together.
    """
    if not isinstance(monotone, bool):
        raise ParameterError(f"monotone must be True or False, got monotone={monotone!r}.")
    known = checked(adjacency)
    if monotone and known is not None and known.change == "replace":
        raise ParameterError(
            f"monotone=True needs a change that adds or removes, but '{known}' raises one count and lowers another. "
            "Leave monotone out, or say adjacency=ADD_REMOVE."
        )


def name(adjacency: Adjacency | None) -> str:
    """Name the adjacency in words, also when it is unstated.

    Parameters
    ----------
    adjacency : Adjacency or None
        The adjacency.

    Returns
    -------
    str
        The words.
    """
    return "unsaid" if adjacency is None else str(adjacency)


def common(adjacencies: Iterable[Adjacency | None]) -> Adjacency | None:
    """Find the one adjacency that all share.

    Parameters
    ----------
    adjacencies : iterable of Adjacency or None
        The adjacencies.

    Returns
    -------
    Adjacency or None
        The one that all have; None if all leave it unstated, or if there are none.

    Raises
    ------
    AdjacencyMismatch
        If two of them differ; the message names both.

    Examples
    --------
    >>> common([ADD_REMOVE, REPLACE_ONE])
    Traceback (most recent call last):
    dither.errors.AdjacencyMismatch: cannot combine what holds under 'add or remove one record' with ...
    """
    seen = iter(adjacencies)
    first = next(seen, None)
    for other in seen:
        if other != first:
            raise AdjacencyMismatch(
                f"cannot combine what holds under '{name(first)}' with what holds under '{name(other)}'. "
                "State the same adjacency for both: adjacency=..."
            )
    return first
