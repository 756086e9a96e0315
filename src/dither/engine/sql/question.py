"""A question in SQL: the question in Python that it means, and what is done with its answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from typing import TYPE_CHECKING, Any, Final

from dither.engine.distribution_aggregates import QuantilesOfGroups
from dither.engine.price import Terms
from dither.engine.question import Question
from dither.engine.sql.after_noise import Presentation, SqlRelease
from dither.engine.sql.parsing import parsed
from dither.engine.sql.refusal import in_one_line
from dither.engine.sql.row_values import small
from dither.engine.sql.selection import selected
from dither.errors import ParameterError
from dither.exact import rational
from dither.unit import Person

if TYPE_CHECKING:
    import pyarrow as pa

    from dither.engine.plan import Plan
    from dither.engine.query import Query
    from dither.ledger import Entry

__all__ = ["SqlQuestion", "question_of"]

_DAY: Final = date(2000, 1, 1)
_EXAMPLES: Final = {"whole": 1, "real": 1.0, "text": "a", "truth": True, "date": _DAY, "time": _DAY}
"""Of keys of each kind; the key of a time is its day."""
_LIST: Final = object()
"""Stands for several numbers: nothing is added to them, and they have no order."""


@dataclass(frozen=True)
class SqlQuestion(Question):
    """A question in SQL: plan it, then release it, as any other.

    `Query.sql` makes it.

    Parameters
    ----------
    query : Query
        The rows and their groups.
    aggregates : mapping of str to Aggregate
        What is asked of each group, by the name of its column.
    presentation : Presentation
        What SELECT, HAVING, ORDER BY and LIMIT make of the noisy answers.
    stated_price : mapping of str to str
        The price that the text gives in OPTIONS(epsilon=..., delta=...), if it does.
    """

    presentation: Presentation = field(default_factory=lambda: Presentation({}), repr=False)
    stated_price: Mapping[str, str] = field(default_factory=dict)

    def _plan(self, terms: Terms) -> Plan:
        return super()._plan(self._priced(terms))

    def _release(self, terms: Terms) -> SqlRelease:
        answer = super()._release(self._priced(terms))
        assert isinstance(answer, SqlRelease)
        return answer

    def _answer_of(self, parts: pa.Table, plan: Plan, entry: Entry) -> SqlRelease:
        return SqlRelease.presented(super()._answer_of(parts, plan, entry), self.presentation)

    def _priced(self, terms: Terms) -> Terms:
        """The terms of the caller, with the price of the text where the caller gives none."""
        if not self.stated_price:
            return terms
        given = {name: value for name in ("epsilon", "delta", "rho") if (value := getattr(terms, name)) is not None}
        said = {name: rational(value, name) for name, value in self.stated_price.items()}
        if any(name not in said or rational(value, name) != said[name] for name, value in given.items()):
            raise ParameterError("the text gives another price in its OPTIONS. Give it in one place only.")
        return replace(terms, epsilon=said.get("epsilon"), delta=said.get("delta"))


def question_of(query: Query, text: str) -> SqlQuestion:
    """Compile a text to a question about the rows of a query."""
    read = parsed(text)
    _check_unit(query, read.options)
    try:
        made = selected(read.tree, query)
    except RecursionError:
        raise ParameterError("this SQL text is nested too deeply. Name its parts by WITH ... AS.") from None
    plain = made.query.agg(**made.aggregates)
    made.presentation.rehearse(_example(plain))
    price = {name: _positive(name, said) for name, said in read.options.items() if name in ("epsilon", "delta")}
    return SqlQuestion(plain.query, plain.aggregates, presentation=made.presentation, stated_price=price)


def _example(question: Question) -> dict[str, Any]:
    """A row of the kinds that the answer will have: of public keys the first one, which a CSV file does not type."""
    query = question.query
    row = {name: _EXAMPLES[query.columns[name]] for name in query.keys}
    if (public := query.public_keys) is not None:
        known = {name: public.column(name).drop_null() for name in query.keys}
        row |= {name: values[0].as_py() for name, values in known.items() if len(values)}
    for name, aggregate in question.aggregates.items():
        row[name] = _LIST if isinstance(aggregate, QuantilesOfGroups) and not aggregate.alone else 1
    return row


def _positive(name: str, said: str) -> str:
    try:
        if rational(said, name) > 0:
            return said
    except ParameterError:
        pass
    raise ParameterError(f"the option {name} must be a positive number.")


def _check_unit(query: Query, options: Mapping[str, Any]) -> None:
    """The privacy unit is the dataset's: a text may repeat it, and not change it."""
    unit = query.origin.unit
    column = options.get("privacy_unit_column")
    own = unit.column if isinstance(unit, Person) else None
    if column is not None and (own is None or small(column.rpartition(".")[2]) != small(own)):
        raise ParameterError(
            f"the option privacy_unit_column says {column!r}, and this dataset protects {unit}. Leave the option out."
        )
    groups = options.get("max_groups_contributed")
    if groups is not None and groups != str(unit.max_groups if isinstance(unit, Person) else 1):
        raise ParameterError(
            f"the option max_groups_contributed says {in_one_line(groups)}, and this dataset protects {unit}. "
            "Leave the option out."
        )
