"""The text of a first `dither.toml`: what was said, with comments on what may be changed."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from dither.cli.screen import printable
from dither.errors import ParameterError
from dither.exact import in_words, rational
from dither.ledger.budget import Budget, amounts
from dither.ledger.failures import FAILURES_ALLOWED
from dither.tables.public_columns import PublicColumn
from dither.unit import Person

__all__ = ["Draft", "toml_key", "written_column"]

_BARE = re.compile("[A-Za-z0-9_-]+")
_SHARE = Fraction(1, 10)
"""The part of the budget that a first question costs."""


@dataclass(frozen=True, slots=True)
class Draft:
    """What is known of a dataset before its first question."""

    columns: Mapping[str, str]
    """Their kinds or types, by name."""
    person: str | None
    change: str
    """What may happen to a row, where there is no person."""
    bounds: Mapping[str, tuple[Fraction, Fraction]]
    budget: Budget
    failures_allowed: int = FAILURES_ALLOWED
    kinds: Mapping[str, str] = field(default_factory=dict)
    """What stands in columns of texts."""
    max_groups: int | None = None
    max_rows_per_group: int | None = None
    seen: Mapping[str, PublicColumn] = field(default_factory=dict)
    """What is in the columns, if that is public."""

    def __post_init__(self) -> None:
        if self.person is not None:
            Person(self.person, self.max_groups, self.max_rows_per_group)

    def text(self, source: str, file: Path, ledger: str | None, table: str | None) -> str:
        """The description, to be written to `file`."""
        place = source if "://" in source else os.path.relpath(source, file.parent)
        kept = ledger or f"{Path(place).stem.replace('*', '') or 'dither'}.ledger"
        return "\n".join(
            [
                *self._data(place, table, printable(shlex.quote(file.name))),
                *self._kinds(),
                *self._unit(),
                *self._bounds(),
                *self._budget(kept),
                *self._asked(),
            ]
        )

    def _data(self, place: str, table: str | None, file: str) -> list[str]:
        return [
            "# A dataset, its privacy unit, its privacy budget, and the questions.",
            f"#   dither plan {file}       what each question would cost, and its error; nothing is spent",
            f"#   dither release {file} {self._first}     the private answer",
            "",
            "[dataset]",
            f"source = {_quoted(place)}  # as seen from the folder of this file",
            *([] if table is None else [f"table = {_quoted(table)}"]),
            *self._typed(),
            "",
        ]

    def _typed(self) -> list[str]:
        """The columns whose types the source itself says, or nobody."""
        typed = [f"#   {printable(name)}: {of}" for name, of in self.columns.items() if name not in self.kinds]
        return ["# Columns and their types:", *typed] if typed else []

    def _kinds(self) -> list[str]:
        if not self.kinds:
            return []
        return [
            "[columns]  # what stands in texts: number, date, truth or text; names and kinds are taken as public",
            *(f"{toml_key(name)} = {_quoted(kind)}" for name, kind in self.kinds.items()),
            "",
        ]

    def _unit(self) -> list[str]:
        if self.person is None:
            return [
                "[unit]  # the privacy unit: each row is another person",
                f"rows = {_quoted(self.change)}  # replace if the number of rows is public",
                "",
            ]
        return [
            "[unit]  # the privacy unit: all rows of one person together",
            f"person = {_quoted(self.person)}",
            *self._limits(),
            "",
        ]

    def _limits(self) -> list[str]:
        """The contribution bounds; those that are not known yet stand in comments."""
        said = {
            "max_groups": (self.max_groups, "so many groups of a person count, chosen at random"),
            "max_rows_per_group": (self.max_rows_per_group, "so many rows in each group"),
        }
        return [
            f"# {name} = 5  # contribution bound: {words}; questions about rows need it, `dither suggest` finds it"
            if limit is None else f"{name} = {limit}  # contribution bound: {words}"
            for name, (limit, words) in said.items()
        ]  # fmt: skip

    def _bounds(self) -> list[str]:
        ends = {name: both for name, both in self._known_bounds().items() if name != self.person}
        return [
            "[bounds]  # values outside are clamped; bounds must not come from private data",
            *(f"{toml_key(name)} = [{_number(low)}, {_number(high)}]" for name, (low, high) in ends.items()),
            *([] if ends else ["# cost = [0, 200]"]),
            "",
        ]

    def _known_bounds(self) -> dict[str, tuple[Fraction, Fraction]]:
        public = {name: each.bounds for name, each in self.seen.items() if each.bounds is not None}
        return {**{name: (rational(low), rational(high)) for name, (low, high) in public.items()}, **self.bounds}

    def _budget(self, ledger: str) -> list[str]:
        figures = amounts(self.budget)
        no_delta = "delta" in figures and not figures["delta"]
        return [
            "[budget]  # the privacy budget of all questions together; it is given once, with the first release",
            *(f"{name} = {_number(figure)}" for name, figure in figures.items() if figure),
            *(["# delta = 1e-6  # for groups that are found in the data (partition selection)"] if no_delta else []),
            f"failures_allowed = {self.failures_allowed}  # questions that may fail before you have to look and resume",
            f"ledger = {_quoted(ledger)}  # the record of what was spent; protect it as you protect the data",
            "",
        ]

    @property
    def _first(self) -> str:
        """The name of the first question."""
        return "people" if self.person is not None else "rows"

    def _asked(self) -> list[str]:
        unit, whole = next(iter(amounts(self.budget).items()))
        price = f"{unit} = {_number(whole * _SHARE)}"
        what = self._first
        verb = "count_people" if self.person is not None else "count"
        lines = [
            "# Questions, each with a name. Conditions: age >= 18 and city in ('Paris', 'Lyon') and not cost is null.",
            "# Aggregates: count, count_people, count_distinct(x), sum(x), mean(x), variance(x), std(x), median(x),",
            "# quantile(x, [0.25, 0.75]), min(x), max(x), histogram(x, [0, 10, 20]), top(x, 3, ['a', 'b', 'c']).",
            "",
            f"[questions.{what}]",
            f"agg = {{ {what} = {_quoted(verb)} }}",
            price,
        ]
        name = next((each for each in self._known_bounds() if each != self.person), None)
        if name is not None and (self.person is None or self.max_rows_per_group is not None):
            call = f"mean({written_column(name)})"
            lines += ["", "[questions.mean]", f"agg = {{ {what} = {_quoted(verb)}, mean = {_quoted(call)} }}", price]
        group = next((each for each, found in self.seen.items() if found.keys and each != self.person), None)
        if group is not None and (self.person is None or self.max_groups is not None):
            keys = ", ".join(_literal(key) for key in self.seen[group].keys or ())
            lines += ["", "[questions.groups]", f"group_by = {_quoted(written_column(group))}", f"keys = [{keys}]"]
            lines += [f"agg = {{ {what} = {_quoted(verb)} }}", price]
        else:
            lines += [
                '# where = "age >= 18"',
                '# group_by = "city"',
                '# keys = ["Paris", "Lyon"]  # public keys (key set)',
            ]
        return [*lines, ""]


def _quoted(text: str) -> str:
    """A TOML text: JSON, in which one more sign must be written by its number."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007F")


def toml_key(name: str) -> str:
    """A name as a key of TOML, in quotes where it needs them."""
    return name if _BARE.fullmatch(name) else _quoted(name)


def written_column(name: str) -> str:
    """A column in the language of questions."""
    return name if name.isidentifier() else '"' + name.replace('"', '""') + '"'


def _literal(value: str | int | bool) -> str:
    return _quoted(value) if isinstance(value, str) else json.dumps(value)


def _number(value: Fraction) -> str:
    """A TOML number; a ratio that is no decimal cannot be written."""
    written = in_words(value)
    if "/" in written:
        raise ParameterError(f"numbers in a description are decimals, such as 0.3; got {written}.")
    return written
