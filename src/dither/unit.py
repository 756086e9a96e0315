"""The privacy unit of a table, and how much one of them may contribute to one release.

Contribution bounding is what makes a sensitivity finite: rows beyond the bound are left out by the engine, at random
and never by their values.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

from dither.adjacency import ADD_REMOVE, REPLACE_ONE, Adjacency, person
from dither.errors import ParameterError
from dither.exact import check

__all__ = ["Neighbour", "Person", "Rows", "TableUnit"]

_MOST = 1 << 20
_LIMITS = {
    "max_groups": "how many groups of a person count",
    "max_rows_per_group": "how many rows of a person count in each group",
}


@dataclass(frozen=True, slots=True)
class Rows:
    """Privacy unit: one row. Neighbouring tables differ in one row.

    Use it where each row is another person. Give it to `dp.Dataset(..., unit=dp.Rows())`.

    Parameters
    ----------
    change : {"add or remove", "replace"}, default "add or remove"
        How neighbours differ; "replace" where the number of rows is public.

    Examples
    --------
    >>> import dither as dp
    >>> dp.Rows().adjacency == dp.adjacency.ADD_REMOVE
    True
    """

    change: str = "add or remove"

    def __post_init__(self) -> None:
        if self.change not in ("add or remove", "replace"):
            raise ParameterError(f"change must be 'add or remove' or 'replace', got change={self.change!r}.")

    @property
    def adjacency(self) -> Adjacency:
        """The adjacency that guarantees state."""
        return REPLACE_ONE if self.change == "replace" else ADD_REMOVE

    @property
    def moved_groups(self) -> int:
        """How many groups a neighbour changes: one, or with "replace" the old one and the new one."""
        return 2 if self.change == "replace" else 1

    @property
    def max_groups(self) -> int:
        """How many groups a row is in: always 1."""
        return 1

    @property
    def max_rows_per_group(self) -> int:
        """How many rows it has in a group: always 1."""
        return 1

    def needing(self, *, groups: bool, rows: bool) -> Rows:
        """State the unit of a question that depends on these limits: the same, as both are 1 for a row.

        Parameters
        ----------
        groups : bool
            Whether the question depends on `max_groups`.
        rows : bool
            Whether it depends on `max_rows_per_group`.

        Returns
        -------
        Rows
            The same unit.
        """
        return self

    def stated(self, limit: str) -> int:
        """Read a limit that a question needs: 1 for a row.

        Parameters
        ----------
        limit : {"max_groups", "max_rows_per_group"}
            The name of the limit.

        Returns
        -------
        int
            Always 1.
        """
        return 1

    def among(self, groups: int) -> Rows:
        """State the unit of a question about so many public groups: the same, as a row is in one group anyway.

        Parameters
        ----------
        groups : int
            The number of public groups.

        Returns
        -------
        Rows
            The same unit.
        """
        return self


@dataclass(frozen=True, slots=True)
class Person:
    """Privacy unit: one person with all their rows. Neighbouring tables differ in one person, added or removed.

    A release uses at most `max_groups` groups of each person, chosen at random anew for each release, and at most
    `max_rows_per_group` rows in each of them (contribution bounding). Rows without a person (NULL) are left out.

    Parameters
    ----------
    column : str
        The column that identifies a person, such as "user_id".
    max_groups : int, optional
        How many groups of a `group_by` one person may contribute to. More keeps more data and needs more noise.
        Questions with several groups need it.
    max_rows_per_group : int, optional
        How many rows one person may contribute to a group. Questions about rows need it, such as counts, sums and
        means; questions about people do not, such as `count_people`.

    Notes
    -----
    Neither has a default: what is left out by a limit that nobody chose would be missing from the answers unnoticed.

    Examples
    --------
    >>> import dither as dp
    >>> unit = dp.Person("user_id", max_groups=3, max_rows_per_group=10)
    >>> str(unit.adjacency)
    'add or remove one person (by user_id)'
    """

    column: str
    max_groups: int | None = None
    max_rows_per_group: int | None = None

    def __post_init__(self) -> None:
        if not self.column:
            raise ParameterError("column must be the name of the column that tells persons apart.")
        stated = {"max_groups": self.max_groups, "max_rows_per_group": self.max_rows_per_group}
        for name, limit in stated.items():
            if limit is None:
                continue
            check.count(**{name: limit})
            if limit > _MOST:
                raise ParameterError(f"{name} must be at most {_MOST}, so that no sum can overflow.")

    @property
    def adjacency(self) -> Adjacency:
        """The adjacency that guarantees state: all rows of one person, however many there are."""
        return person(self.column)

    @property
    def moved_groups(self) -> int:
        """How many groups a neighbour changes."""
        return self.stated("max_groups")

    def stated(self, limit: str) -> int:
        """Read a limit that a question needs.

        Parameters
        ----------
        limit : {"max_groups", "max_rows_per_group"}
            The name of the limit.

        Returns
        -------
        int
            The limit.

        Raises
        ------
        ParameterError
            If it was not stated: then there is no answer, rather than one with most rows left out.
        """
        found: int | None = getattr(self, limit)
        if found is None:
            raise ParameterError(
                f"this question depends on {_LIMITS[limit]}, and the privacy unit does not state {limit}. State it, "
                f"as in dp.Person({self.column!r}, max_groups=9, max_rows_per_group=5) or --{limit.replace('_', '-')}; "
                "or let data.suggest(question, epsilon=...) or dither suggest choose it."
            )
        return found

    def needing(self, *, groups: bool, rows: bool) -> Person:
        """State the unit of a question that depends on these limits; of one that does not, a limit changes nothing.

        Parameters
        ----------
        groups : bool
            Whether the question depends on `max_groups`.
        rows : bool
            Whether it depends on `max_rows_per_group`.

        Returns
        -------
        Person
            The unit, with 1 for a limit that was not stated and does not matter.

        Raises
        ------
        ParameterError
            If a limit is needed and was not stated.
        """
        return replace(
            self,
            max_groups=self.stated("max_groups") if groups else self.max_groups or 1,
            max_rows_per_group=self.stated("max_rows_per_group") if rows else self.max_rows_per_group or 1,
        )

    def among(self, groups: int) -> Person:
        """State the unit of a question about so many public groups: a person is in no more groups than there are.

        Rows of other groups are left out before a person's groups are chosen, so no row is lost by the smaller bound,
        and the answers about `groups` groups can change in no more than these.

        Parameters
        ----------
        groups : int
            The number of public groups.

        Returns
        -------
        Person
            The unit with min(`max_groups`, `groups`) groups; with one public group, 1 where nothing was stated.
        """
        if self.max_groups is None:
            return replace(self, max_groups=1) if groups == 1 else self
        return replace(self, max_groups=min(self.max_groups, groups))


TableUnit: TypeAlias = Rows | Person


@dataclass(frozen=True, slots=True)
class Neighbour:
    """How far a neighbouring table may be: so many groups, and so many rows in each.

    Parameters
    ----------
    groups : int
        How many groups change: 1 without groups, min(max_groups, public keys) where groups are public (`Person.among`),
        max_groups where they are found.
    rows : int
        How many rows change in each of these.
    adjacency : Adjacency
        Which tables are neighbours.
    is_in_place : bool, default False
        Whether a row is replaced where there is one group only: it leaves that and enters it again, and what it adds
        becomes what the other adds.

    Examples
    --------
    >>> import dither as dp
    >>> from dither.unit import Neighbour
    >>> Neighbour.of(dp.Person("user_id", max_groups=3, max_rows_per_group=1).among(2), grouped=True).groups
    2
    """

    groups: int
    rows: int
    adjacency: Adjacency
    is_in_place: bool = False

    @classmethod
    def of(cls, unit: TableUnit, *, grouped: bool) -> Neighbour:
        """State how far a neighbour may be; without groups there is one, in which a person has all their rows.

        Parameters
        ----------
        unit : Rows or Person
            The privacy unit.
        grouped : bool
            Whether the question has groups.

        Returns
        -------
        Neighbour
            How far a neighbouring table may be.
        """
        groups = unit.moved_groups if grouped or isinstance(unit, Rows) else 1
        is_in_place = not grouped and unit.adjacency.change == "replace"
        return cls(groups, unit.stated("max_rows_per_group"), unit.adjacency, is_in_place)

    @property
    def touched(self) -> int:
        """How many groups see a change: one where a row is replaced in place."""
        return 1 if self.is_in_place else self.groups

    @property
    def replaces(self) -> bool:
        """Whether a row is replaced, so that it may change twice."""
        return self.adjacency.change == "replace"

    def __str__(self) -> str:
        """Who is protected and how much of them is used, for the ledger and the certificate."""
        if self.adjacency.protects != "person":
            return str(self.adjacency)
        rows = "1 row" if self.rows == 1 else f"{self.rows} rows"
        where = "" if self.groups == 1 else f" in each of at most {self.groups} groups"
        return f"{self.adjacency}, of whom at most {rows}{where} may count"
