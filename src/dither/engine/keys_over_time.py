"""Groups of a stream that are found in the data, period by period (partition selection over time)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
import pyarrow as pa

from dither.continual.discovery_threshold import KeySelection
from dither.continual.participation import Participation
from dither.engine.group_sensitivity import Added, Need, Noise, Whole
from dither.engine.groups import Groups, Wholes, counted
from dither.engine.over_time import NEEDS_GAUSSIAN
from dither.errors import ParameterError
from dither.events import Event
from dither.noise.tape import answered, at_once
from dither.tables import BoundedTable, ExactAggregate, People
from dither.tables.plain_columns import column_of_numbers, in_order, numbers_of
from dither.unit import Neighbour

__all__ = ["FOUND", "KeyNoise", "KeysOverTime", "with_found"]

FOUND: Final = "found groups"
"""The key of the number of people in each period, which decides which groups are known from then on."""


@dataclass(frozen=True, slots=True)
class KeysOverTime(Need):
    """The people of each group in each period; groups that enough of them have are shown from then on."""

    periods: int
    participation: Participation
    delta: Fraction
    """For groups that one person alone has, over the whole horizon."""

    @property
    def people(self) -> Whole:
        """What is asked of each period."""
        return Whole(People())

    def pure(self, neighbour: Neighbour, epsilon: Fraction) -> Noise:
        raise ParameterError(NEEDS_GAUSSIAN)

    def concentrated(self, neighbour: Neighbour, rho: Fraction) -> KeyNoise:
        """Gaussian noise on counts, of which one person moves `groups` by one in each of their periods."""
        moves = neighbour.groups * self.participation.most(self.periods)
        added = Added.gaussian(moves, moves, rho, neighbour.adjacency)
        return KeyNoise(added, KeySelection(added.noising, self.delta, moves, neighbour.adjacency))

    def ask(self, table: BoundedTable, salt: int) -> ExactAggregate:
        return self.people.ask(table, salt)

    def collect(self, batches: Iterable[pa.RecordBatch], groups: Groups) -> Wholes:
        return self.people.collect(batches, groups)


@dataclass(frozen=True, slots=True)
class KeyNoise(Noise):
    """Noise on the people of groups that are not known yet, and the threshold that it has to pass."""

    added: Added
    selection: KeySelection

    @property
    def event(self) -> Event:
        """The noise, and δ for groups that one person alone has."""
        return self.selection.event

    def draw(self, exact: Wholes) -> pa.Array:
        return self.added.draw(exact)

    @property
    def size(self) -> float:
        return self.added.size


def with_found(known: Groups, noise: KeyNoise, people: str, batches: Iterable[pa.RecordBatch]) -> Groups:
    """The groups that are known after a period: those from before, then new ones in the order of their keys.

    `people` is the column of the exact number of people. Every group that is not known gets noise before any is left
    out, and no other number of such a group is looked at.
    """
    schema = known.keys.schema
    unknown = [_unknown(known, people, batch) for batch in at_once(batches)]
    (shown,) = answered(
        lambda: [_shown(schema, noise, people, unknown)],
        "groups",
        unknown,
        keys=tuple(schema.names),
        people=people,
        noises={people: noise.added},
        histogram=noise.selection,
    )
    return Groups(pa.concat_tables([known.keys, shown.select(schema.names)]).combine_chunks())


def _unknown(known: Groups, people: str, batch: pa.RecordBatch) -> pa.RecordBatch:
    """The keys of groups that are not known, and their people."""
    new = batch.take(column_of_numbers(np.flatnonzero(known.places(batch) < 0)))
    columns = {name: new.column(name) for name in known.keys.column_names}
    return pa.RecordBatch.from_pydict({**columns, people: column_of_numbers(counted(new.column(people)))})


def _shown(schema: pa.Schema, noise: KeyNoise, people: str, unknown: Sequence[pa.RecordBatch]) -> pa.Table:
    """In the order of the keys: that of the engine may depend on groups that are not shown."""
    types = pa.schema([*schema, pa.field(people, pa.int64())])
    table = pa.Table.from_batches(unknown).cast(types) if unknown else types.empty_table()
    noisy = noise.draw(counted(table.column(people).combine_chunks()))
    table = table.set_column(len(schema), types.field(people), noisy)
    enough = table.take(column_of_numbers(np.flatnonzero(numbers_of(noisy) >= noise.selection.threshold)))
    return in_order(enough, schema.names)
