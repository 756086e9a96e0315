"""A first look at a table within one ε: how many rows and people, and what each column holds.

It is made of questions like any others, asked by `Question.release`: each is charged first and has a certificate. Under
`Person`, a part of ε goes to a suggestion of `max_rows_per_group` and to the count of rows under it; all columns are
then asked together, of a table in which each person counts as one row, so that no limit has to be known. Where columns
have no types, a part of ε is for what they hold: no row is looked at without a price.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from dither.engine.aggregate import Aggregate
from dither.engine.distribution_aggregates import count_distinct, quantile, top
from dither.engine.moment_aggregates import count, count_people, share
from dither.engine.private_kinds import private_kinds, read_as
from dither.engine.quantiles import RankNoise
from dither.engine.suggestion import TOO_FEW, Suggestion, suggested
from dither.errors import OverBudget
from dither.exact import Number, check, in_words, rational, rounded
from dither.guarantees import ApproxDP, PureDP
from dither.ledger.budget import shortage
from dither.tables import Column
from dither.unit import Person, Rows, TableUnit
from dither.views import views

if TYPE_CHECKING:
    from dither.engine.query import Query
    from dither.engine.table_release import TableRelease

__all__ = ["FirstLook", "first_look"]

_OF_ROWS: Final = Fraction(3, 10)
"""The part of ε that counts rows, where persons have several."""
_OF_LIMITS: Final = Fraction(1, 3)
"""The part of that which chooses the limit."""
_OF_KINDS: Final = Fraction(1, 10)
"""The part of ε that tells what columns of texts hold, where a file has no types."""
_LEVELS: Final = {"tenth": "0.1", "median": "0.5", "nine_tenths": "0.9"}
"""Each asked by itself: those of one list are found between each other, which needs many different values."""
_MOST_COMMON: Final = 3
_FARTHEST: Final = 10**12
"""Values are looked for up to this size. Bounds that are far too wide cost quantiles little."""
_SURELY: Final = 40
"""A value is shown if ε times the rows on its emptier side is so much: one outside of all rows has the weight e^-20
beside those near the answer, and there are about 500 times as many (80 octaves on both sides of 0, beside a part of
one), so that a value that no row is near is shown less often than once in 10^6 times."""
_WEIGHTS: Final = {"people": 1, "rows": 1, "missing": 1, "true": 1, "different": 1, "common": 2} | dict.fromkeys(
    _LEVELS, 2
)
_PEOPLE, _ROWS = "people", "rows"


@dataclass(frozen=True)
class FirstLook:
    """What a first look saw, and what it cost.

    `Dataset.suggest(epsilon=...)` makes it, and `print` shows it. All of it may be published.

    Parameters
    ----------
    unit : Rows or Person
        The privacy unit; with limits that suit a count of rows, if it protects persons.
    kinds : mapping of str to str
        What each column holds: number, text, truth or day.
    columns : TableRelease
        What was asked of the columns.
    rows : TableRelease or None
        The number of rows, where it was asked by itself.
    suggestion : Suggestion or None
        How the limits were chosen.
    seen_kinds : TableRelease or None
        The counts that tell what columns hold, where the source has no types.
    untold : tuple of str
        Columns about which these counts leave open what they hold; they are read as texts.

    Examples
    --------
    >>> import dither as dp
    >>> import pyarrow as pa
    >>> trips = pa.table({"driver": [each // 5 for each in range(40_000)], "fare": [12.5, 30.0] * 20_000})
    >>> unit = dp.Person("driver")
    >>> data = dp.Dataset(trips, unit=unit, budget=dp.PureDP(2), ledger="trips.ledger", identity="trips")
    >>> look = data.suggest(epsilon=2)
    >>> look.to_arrow().column_names[:3]
    ['column', 'holds', 'missing']
    >>> look.unit.max_rows_per_group >= 5  # mostly 5 or 6
    True
    """

    unit: TableUnit
    kinds: Mapping[str, str]
    columns: TableRelease = field(repr=False)
    rows: TableRelease | None = field(repr=False, default=None)
    suggestion: Suggestion | None = field(repr=False, default=None)
    seen_kinds: TableRelease | None = field(repr=False, default=None)
    untold: tuple[str, ...] = ()

    @property
    def releases(self) -> tuple[TableRelease, ...]:
        """All answers of which it is made, each with its certificate and its entry in the ledger."""
        looks = () if self.suggestion is None else self.suggestion.looks
        return (*looks, *(each for each in (self.rows, self.seen_kinds) if each is not None), self.columns)

    def report(self, path: str | os.PathLike[str], **options: Any) -> Any:
        """Write one self-contained HTML page about all answers, with their costs and certificates.

        Parameters
        ----------
        path : str or os.PathLike
            The file to write.
        **options : Any
            Passed to `dp.plots.report`: `title` and `ledger`.

        Returns
        -------
        pathlib.Path
            The file that was written.
        """
        asked = [each for each in (self.rows, self.columns) if each is not None]
        return views.plots.report(asked, path, **{"title": "A first look", **options})

    def to_arrow(self) -> pa.Table:
        """Convert to an Arrow table with a row for each column; NULL where there is no answer.

        Returns
        -------
        pyarrow.Table
            What a column holds, the share of missing values with its interval, the number of different values with its
            interval, the values below which a tenth, a half and nine tenths lie, and the most common texts.
        """
        return pa.Table.from_pylist([self._of(name) for name in self.kinds], _SCHEMA)

    def _of(self, name: str) -> dict[str, Any]:
        (answers,) = self.columns.value.to_pylist()
        found: dict[str, Any] = {"column": name, "holds": self.kinds[name]}
        for part in ("missing", "different", "true"):
            found |= {f"{part}{end}": answers.get(f"{name} {part}{end}") for end in ("", "_low", "_high")}
        found |= {part: answers.get(f"{name} {part}") if self._is_sure(name, part) else None for part in _LEVELS}
        return {**found, "common": answers.get(f"{name} common")}

    def _is_sure(self, name: str, part: str) -> bool:
        """Whether there are enough rows on both sides of a value, as far as is known of their number."""
        noisy = [noise for key, noise in self._noise_of_ranks.items() if key == f"{name} {part}"]
        _, least, _ = self.sizes[_PEOPLE if _PEOPLE in self.sizes else _ROWS]
        side = min(level := Fraction(_LEVELS[part]), 1 - level)
        return all(float(noise) * side * least >= _SURELY for noise in noisy)

    @property
    def _noise_of_ranks(self) -> Mapping[str, Fraction]:
        """The ε of each value that was chosen by its rank."""
        plan = self.columns.plan
        each = {name: [plan.parts[key].noise for key in of.needs] for name, of in plan.aggregates.items()}
        return {name: noise.epsilon for name, (noise, *_) in each.items() if isinstance(noise, RankNoise)}

    def __str__(self) -> str:
        """How many, the columns as a table, the limits, and what it cost."""
        lines = list(self._sizes())
        head = ("column", "holds", "missing", "different", "a tenth below", "median", "a tenth above", "most common")
        cells = [head, *(_cells(row) for row in self.to_arrow().to_pylist())]
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines += ["", *("  ".join(map(str.ljust, line, widths)).rstrip() for line in cells)]
        if isinstance(self.unit, Person):
            lines += ["", f"In the table each {self.unit.column} counts as one row, whatever rows they have."]
        if self.untold:
            names = ", ".join(self.untold)
            lines.append(f"Too few people, or too small an epsilon, to tell the kind of {names}: read as text.")
        if self.suggestion is not None:
            limits = f"Limits for questions about rows, as far as all rows go: {self.unit}."
            lines.append(TOO_FEW if self.suggestion.is_blind else limits)
        entries = ", ".join(str(each.entry.number) for each in self.releases)
        epsilon, delta = map(in_words, self._spent)
        cost = f"epsilon {epsilon}" + (f", delta {delta}" if self._spent[1] else "")
        noun = "entries" if len(self.releases) > 1 else "entry"
        return "\n".join([*lines, f"Cost {cost}: {noun} {entries} of the ledger."])

    @property
    def _spent(self) -> tuple[Fraction, Fraction]:
        each = [_epsilon_and_delta(release.guarantee) for release in self.releases]
        return sum((e for e, _ in each), Fraction(0)), sum((d for _, d in each), Fraction(0))

    def _about_rows(self, rows: TableRelease) -> str:
        """What counts of a person, and how much that leaves out."""
        about = rows._about_left_out
        return f"{rows.plan.left_out}" if about is None else f"{rows.plan.left_out} {about[0]}"

    @property
    def sizes(self) -> dict[str, tuple[int, int, int]]:
        """The numbers of people and of rows, each with the ends of its interval."""
        found = {}
        for name, release in ((_PEOPLE, self.columns), (_ROWS, self.rows or self.columns)):
            if name in release.value.column_names:
                value, low, high = (release.value.column(f"{name}{end}")[0].as_py() for end in ("", "_low", "_high"))
                found[name] = value, low, high
        return found

    def _sizes(self) -> Iterator[str]:
        percent = in_words(self.columns.plan.level * 100)
        for name, (value, low, high) in self.sizes.items():
            limits = "" if self.rows is None or name == _PEOPLE else f". {self._about_rows(self.rows)}"
            yield f"{name:<8}{value:,}, {percent} % interval {low:,} to {high:,}{limits}"


_NUMBER = pa.float64()
_SCHEMA = pa.schema(
    [
        ("column", pa.string()),
        ("holds", pa.string()),
        *((f"missing{end}", _NUMBER) for end in ("", "_low", "_high")),
        *((f"different{end}", pa.int64()) for end in ("", "_low", "_high")),
        *((name, _NUMBER) for name in _LEVELS),
        *((f"true{end}", _NUMBER) for end in ("", "_low", "_high")),
        ("common", pa.list_(pa.string())),
    ]
)


def first_look(query: Query, epsilon: Number, delta: Number | None) -> FirstLook:
    """Look at all columns of the rows of a dataset, for `epsilon` in all.

    With a `delta`, texts that many people have are shown.
    """
    price = rational(epsilon, "epsilon")
    check.positive(epsilon=price)
    loss = Fraction(0) if delta is None else rational(delta, "delta")
    unit, source = query.origin.unit, query.origin._source
    kinds = _kinds(query, unit)
    texts = [name for name, kind in kinds.items() if kind == "text"]
    _check_room(query, price, loss if texts else Fraction(0))
    rows, suggestion, seen, untold, left = None, None, None, tuple[str, ...](), price
    if isinstance(unit, Person):
        part = price * _OF_ROWS
        suggestion = suggested(query.agg(rows=count()), part, _OF_LIMITS)
        rows = suggestion.question.release(epsilon=suggestion.epsilon)
        unit, left = suggestion.unit, left - part
    once_each = _each_once(query)
    if texts and not source.has_types:
        part = price * _OF_KINDS
        found, seen = private_kinds(once_each, texts, part)
        untold = tuple(name for name in texts if name not in found)
        kinds, left = kinds | found, left - part
    finds = loss > 0 and "text" in kinds.values()
    asked, weights = _asked(kinds, unit, finds, set(texts))
    answer = once_each.agg(**asked).release(epsilon=left, delta=loss if finds else None, weights=weights)
    return FirstLook(unit, kinds, answer, rows, suggestion, seen, untold)


def _kinds(query: Query, unit: TableUnit) -> dict[str, str]:
    """What the columns hold by their types, which are public."""
    source, own = query.origin._source, unit.column if isinstance(unit, Person) else None
    named = {"whole": "number", "real": "number", "time": "day", "date": "day"}
    return {
        name: named.get(kind, kind)
        for name, kind in query.columns.items()
        if name != own and name not in source.refused
    }


def _check_room(query: Query, price: Fraction, delta: Fraction) -> None:
    """All of it can be paid, or none is: a look is several charges."""
    release_path = query.origin.release_path
    account = release_path.ledger.account(release_path.account)
    adjacency = query.origin.unit.adjacency
    cost = ApproxDP(price, delta, adjacency=adjacency) if delta else PureDP(price, adjacency=adjacency)
    if (short := shortage(cost, account.budget, release_path.left_of(account))) is not None:
        raise OverBudget(f"the first look was not begun, and nothing was charged. {short}")


def _asked(
    kinds: Mapping[str, str], unit: TableUnit, finds: bool, texts: Set[str]
) -> tuple[dict[str, Aggregate], dict[str, int]]:
    """What is asked of each column, by names that tell the column and the part; and the weights."""
    asked = {_PEOPLE: count_people()} if isinstance(unit, Person) else {_ROWS: count()}
    weights = {name: _WEIGHTS[name] for name in asked}
    for name, kind in kinds.items():
        for part, aggregate in _parts(name, kind, finds, is_text=name in texts):
            asked[f"{name} {part}"], weights[f"{name} {part}"] = aggregate, _WEIGHTS[part]
    return asked, weights


def _parts(name: str, kind: str, finds: bool, *, is_text: bool) -> Iterator[tuple[str, Aggregate]]:
    of = Column(name)
    yield "missing", share(of.is_null())
    if kind == "truth":
        yield "true", share(read_as(name, kind, is_text=is_text))
    if kind in ("number", "day"):
        value, bounds = (of, (-_FARTHEST, _FARTHEST)) if kind == "number" else (of.year(), (1, 9999))
        yield from ((part, quantile(value, level, bounds=bounds)) for part, level in _LEVELS.items())
    elif kind == "text":
        yield "different", count_distinct(of)
        if finds:
            yield "common", top(of, _MOST_COMMON)


def _each_once(query: Query) -> Query:
    """Rows of which each person has one: no limit has to be known for what is asked of these."""
    unit = query.origin.unit
    if isinstance(unit, Rows):
        return query
    origin = replace(query.origin, unit=Person(unit.column, 1, 1))
    return query._with("one row of each person", call="", origin=origin)


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    def between(part: str, shown: Any) -> str:
        low, high = row[f"{part}_low"], row[f"{part}_high"]
        return "" if row[part] is None else f"{shown(low)} to {shown(high)}"

    too_few = "too few" if row["holds"] in ("number", "day") else ""
    values = [too_few if (value := row[name]) is None else _number(value, row["holds"]) for name in _LEVELS]
    true = between("true", lambda part: f"{100 * part:.3g}%")
    return (
        row["column"],
        "day, by its year" if row["holds"] == "day" else row["holds"],
        between("missing", lambda part: f"{100 * part:.3g}%"),
        between("different", lambda number: f"{max(number, 0):,}"),
        *values,
        ", ".join(row["common"] or ()) or (true and f"true: {true}"),
    )


def _number(value: float, kind: str) -> str:
    return str(round(value)) if kind == "day" else rounded(value, 4)


def _epsilon_and_delta(cost: Any) -> Sequence[Fraction]:
    return cost.stated_epsilon, getattr(cost, "stated_delta", Fraction(0))
