"""What limits and bounds leave out of an answer, in a sentence.

It is made of public facts alone: of the question and the privacy unit, never of rows. How much was left out is private.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dither.engine.aggregate import PEOPLE, Aggregate, OfColumn
from dither.engine.distribution_aggregates import Spread
from dither.engine.moment_aggregates import Total
from dither.exact import in_words, rational
from dither.unit import Neighbour

__all__ = ["limits_in_words"]


def limits_in_words(aggregates: Mapping[str, Aggregate], neighbour: Neighbour, keys: Sequence[str]) -> str | None:
    """Say what counts of each person and of each value; None if everything does.

    Parameters
    ----------
    aggregates : mapping of str to Aggregate
        What is asked, by the name of its column.
    neighbour : Neighbour
        How far a neighbouring table may be: the limits of the privacy unit.
    keys : sequence of str
        The columns by which rows are grouped.

    Returns
    -------
    str or None
        The sentence.
    """
    made_of = [part for each in aggregates.values() for part in each.made_of]
    said = [*_of_persons(made_of, neighbour, keys), *_of_values(made_of)]
    if not said:
        return None
    text = "".join(sign if sign.isprintable() else " " for sign in "; ".join(dict.fromkeys(said)))
    return f"{text[0].upper()}{text[1:]}."


def _of_persons(aggregates: Sequence[Aggregate], neighbour: Neighbour, keys: Sequence[str]) -> list[str]:
    if neighbour.adjacency.protects != "person":
        return []
    who, groups = neighbour.adjacency.column, _number(neighbour.groups, "group")
    if all(set(aggregate.needs) == {PEOPLE} for aggregate in aggregates):
        return [f"each {who} counts in at most {groups} ({', '.join(keys)})"] if keys else []
    where = f" in each of at most {groups} ({', '.join(keys)})" if keys else ""
    sums = [each for each in aggregates if isinstance(each, Total)]
    if all(isinstance(each, Total) or set(each.needs) == {PEOPLE} for each in aggregates):
        return [f"the sum of {each.of} of each {who}{where} {_clipped(each, neighbour.rows)}" for each in sums]
    verb = "counts" if neighbour.rows == 1 else "count"
    return [f"at most {_number(neighbour.rows, 'row')} of each {who}{where} {verb}"]


def _clipped(aggregate: Total, rows: int) -> str:
    """A person's sum is clipped to what so many rows could add up to; all rows of the person are in it."""
    if aggregate.bounds is None:
        return f"is clipped to what {_number(rows, 'row')} could add up to"
    ends = [rational(end, "bounds") for end in (*aggregate.bounds, 0)]
    low, high = in_words(rows * min(ends)), in_words(rows * max(ends))
    return f"counts from {low} to {high}"


def _of_values(aggregates: Sequence[Aggregate]) -> list[str]:
    said = []
    for aggregate in aggregates:
        if isinstance(aggregate, Spread):
            low, high = aggregate.bins.edges[0], aggregate.bins.edges[-1]
            said.append(f"rows with {aggregate.bins.of} outside {low} to {high} do not count")
        elif isinstance(aggregate, OfColumn) and aggregate.bounds is not None:
            low, high = (in_words(rational(end, "bounds")) for end in aggregate.bounds)
            said.append(f"{aggregate.of} below {low} counts as {low}, above {high} as {high}")
    return said


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
