"""Neighbouring tables that are made up from what questions say of their columns: worst cases first, then anything.

A pair is a crowd and the same crowd with one more: a person with more rows, in more groups, than may count, or a row.
Where rows are replaced, it is a crowd and one more on both sides, who is different.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from dither.audit.project.mentioned_columns import Pool
from dither.unit import Person, TableUnit

__all__ = ["Neighbours", "Side"]

Row = dict[str, Any]

_FEW, _MANY = 5, 20
_MOST_ROWS = 200
_FILLER = "row"
"""A column for questions that mention none."""
_SHOWN_ROWS = 2
_ODD_SHARE = 0.5


@dataclass(frozen=True, eq=False)
class Side:
    """One of two neighbouring tables."""

    table: pa.Table = field(repr=False)
    words: str

    def __repr__(self) -> str:
        return self.words


@dataclass(frozen=True)
class Neighbours:
    """Tables with these columns, for these groups and this unit."""

    pools: Mapping[str, Pool]
    unit: TableUnit
    grouping: frozenset[str]
    """The columns of the source by which is grouped."""
    written: bool
    """Whether all columns are texts."""
    shown_from: int | None = None
    """How many people a group must have to be found, where groups are."""

    def pairs(self, seed: int) -> Iterator[tuple[Side, Side]]:
        """The worst cases, and then pairs of any rows without end; the same ones for the same seed."""
        choose = random.Random(f"{seed}")
        for crowd, newcomer, other in self._designed(choose):
            yield self._pair(choose, crowd, newcomer, other)
        while True:
            size = choose.randrange(10)
            yield self._pair(choose, _Part("any", size), _Part("any", self._heavy), _Part("any", 1))

    @property
    def designed(self) -> int:
        """How many of the pairs are worst cases."""
        return len(self._designed(random.Random(0)))

    def empty(self) -> pa.Table:
        """The columns alone."""
        return self._table([])

    def _designed(self, choose: random.Random) -> list[tuple[_Part, _Part, _Part]]:
        """The crowd, the one more, and who is there instead if rows are replaced."""
        heavy = self._heavy
        found = [
            (_Part(usual, size), _Part(new, heavy), _Part(old, 1))
            for usual, size in (("usual", 0), ("usual", _FEW), ("low", _MANY), ("high", _MANY))
            for new, old in (("high", "low"), ("low", "high"), ("odd", "usual"))
            if usual != new
        ]
        found.append((_Part("usual", _FEW), _Part("usual", 1), _Part("high", 1)))
        if self.grouping:
            at = "first"
            found.append((_Part("usual", _FEW, at), _Part("usual", heavy, "others"), _Part("usual", 1, at)))
            if self.shown_from is not None:
                enough = _Part("usual", self.shown_from, at)
                found.append((enough, _Part("high", heavy, "others"), _Part("low", 1, at)))
                found.append((enough, _Part("high", heavy, at), _Part("low", 1, "others")))
        return found

    @property
    def _heavy(self) -> int:
        """More rows than may count, in more groups; where a row is somebody, one."""
        if not isinstance(self.unit, Person):
            return 1
        return min(_MOST_ROWS, 4 * (self.unit.max_groups or 1) * (self.unit.max_rows_per_group or 1) + 8)

    # ------------------------------------------------------------------- rows

    def _pair(self, choose: random.Random, crowd: _Part, newcomer: _Part, other: _Part) -> tuple[Side, Side]:
        names = self._names(crowd.size + 1)
        here = [row for name in names[1:] for row in self._rows(choose, crowd, name)]
        new = self._rows(choose, newcomer, names[0])
        without, with_one = Side(self._table(here), crowd.words), self._with(choose, here, new, crowd, newcomer)
        if self.unit.adjacency.change == "replace":
            without = self._with(choose, here, self._rows(choose, other, names[0]), crowd, other)
        return (without, with_one) if choose.random() < 0.5 else (with_one, without)

    def _with(self, choose: random.Random, here: list[Row], new: list[Row], crowd: _Part, one: _Part) -> Side:
        at = choose.randint(0, len(here))
        shown = "; ".join(", ".join(f"{name} {value!r}" for name, value in row.items()) for row in new[:_SHOWN_ROWS])
        rows = f"{len(new)} row{'s' if len(new) > 1 else ''}"
        beside = f"{crowd.words} and one more" if crowd.size else "one alone,"
        words = f"{beside} with {rows}, {one.said}, such as: {shown or 'anything'}"
        return Side(self._table([*here[:at], *new, *here[at:]]), words)

    def _rows(self, choose: random.Random, part: _Part, name: Any) -> list[Row]:
        """Of one person, or the one row. Persons of a crowd have a few rows each, now and then too many."""
        rows = 1
        if isinstance(self.unit, Person):
            rows = part.size if name == self._names(1)[0] else choose.choice([1, 1, 2, 3, self._heavy])
        made = [{each: part.value(choose, each, pool, self.grouping) for each, pool in self.pools.items()}
                for _ in range(rows)]  # fmt: skip
        return [row | {self.unit.column: name} for row in made] if isinstance(self.unit, Person) else made

    def _names(self, count: int) -> list[Any]:
        """Of persons: first those that the questions name."""
        if not isinstance(self.unit, Person):
            return list(range(count))
        pool = self.pools[self.unit.column]
        invented = [f"person {n}" if self.written or pool.kind == "text" else 1000 + n for n in range(count)]
        return [*(name for name in pool.usual if name is not None), *invented][:count]

    def _table(self, rows: list[Row]) -> pa.Table:
        if not self.pools:
            return pa.table({_FILLER: pa.array(["x"] * len(rows), pa.string())})
        types = {name: pa.string() if self.written else pool.arrow for name, pool in self.pools.items()}
        return pa.Table.from_pylist(rows, schema=pa.schema(types))


_SAID = {
    "high": "at the upper end",
    "low": "at the lower end",
    "odd": "missing, huge or no value at all",
    "usual": "of the values that are named",
    "any": "of anything",
}


@dataclass(frozen=True)
class _Part:
    """Rows of one level: how many, and in which groups."""

    level: str
    size: int
    keys: str = "all"
    """all, first or others: of the values that group."""

    @property
    def words(self) -> str:
        return f"{self.size or 'nobody'}{' others' if self.size else ''}"

    @property
    def said(self) -> str:
        where = {"all": "", "first": ", in the first group", "others": ", in all groups but the first"}[self.keys]
        return _SAID[self.level] + where

    def value(self, choose: random.Random, name: str, pool: Pool, grouping: frozenset[str]) -> Any:
        """A value of a column."""
        if self.level == "any":
            return choose.choice((*pool.usual, *pool.usual, *pool.odd))
        if name in grouping:
            own = {"all": pool.usual, "first": pool.usual[:1], "others": pool.usual[1:] or pool.odd}
            return choose.choice(own[self.keys])
        if self.level == "odd":
            return choose.choice(pool.odd if choose.random() < _ODD_SHARE else pool.usual)
        # What is not asked for keeps a usual value, or hardly a row would meet a condition.
        return choose.choice(getattr(pool, self.level) if pool.is_measured else pool.usual)
