"""Whom a table protects, and how much one of them may contribute to one release.

A bound on contributions is what makes a sensitivity finite: rows beyond it are left out by the engine, by chance and
never by their values.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from dither.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency, person
from dither.errors import ParameterError
from dither.exact import check

__all__ = ["Person", "Rows", "TableUnit"]

_MOST = 1 << 20


@dataclass(frozen=True, slots=True)
class Rows:
    """Each row is somebody of their own: neighbours differ in one row.

    `change` is "add or remove", or "replace" where the number of rows is public.
    """

    change: str = "add or remove"

    def __post_init__(self) -> None:
        if self.change not in ("add or remove", "replace"):
            raise ParameterError(f"change must be 'add or remove' or 'replace', got change={self.change!r}.")

    @property
    def adjacency(self) -> Adjacency:
        """What a guarantee says of it."""
        return REPLACE_ONE if self.change == "replace" else ADD_REMOVE

    @property
    def moved_groups(self) -> int:
        """How many groups a neighbour changes: one, or the old one and the new one."""
        return 2 if self.change == "replace" else 1

    @property
    def max_groups(self) -> int:
        """A row is in one group."""
        return 1

    @property
    def max_rows_per_group(self) -> int:
        """And it is one row."""
        return 1


@dataclass(frozen=True, slots=True)
class Person:
    """All rows with the same value in `column` are one person: neighbours differ in one person, added or removed.

    A release uses at most `max_groups` groups of each person, chosen by chance anew for each release, and at most
    `max_rows_per_group` rows in each of them. Rows without a person (NULL) are left out.
    """

    column: str
    max_groups: int = 1
    max_rows_per_group: int = 1

    def __post_init__(self) -> None:
        if not self.column:
            raise ParameterError("column must be the name of the column that tells persons apart.")
        check.count(max_groups=self.max_groups, max_rows_per_group=self.max_rows_per_group)
        for name in ("max_groups", "max_rows_per_group"):
            if getattr(self, name) > _MOST:
                raise ParameterError(f"{name} must be at most {_MOST}, so that no sum can overflow.")

    @property
    def adjacency(self) -> Adjacency:
        """What a guarantee says of it: all rows of one person, however many there are."""
        return person(self.column)

    @property
    def moved_groups(self) -> int:
        """How many groups a neighbour changes."""
        return self.max_groups


TableUnit: TypeAlias = Rows | Person
