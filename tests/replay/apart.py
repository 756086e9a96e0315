"""One question about each world of a table by itself: as many pairs of neighbours as worlds, from two releases.

A release without groups has one answer, and a table would be one pair. So the question is released on the whole table,
through the release path, and what passes there is caught: the queries, and the function that draws. The engine answers
the same queries once more, this time for the rows of each world alone, all of them in one pass (LATERAL, with the rows
of a world in the place of the table), and the function draws for each pair of answers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import ibis.expr.operations as ops
import numpy as np
import pyarrow as pa
import pytest

import dither.release as door
from dither.audit.replay import Replayed, replay
from dither.audit.replay.calls import BitStream, Recorder
from dither.guarantees import Guarantee
from dither.noise._replay import recording
from dither.tables import ExactAggregate
from dither.tables.database_engines.engine import leaving

__all__ = ["Caught", "caught", "replayed"]

_WORLD = "dither world"


@dataclass(frozen=True)
class Caught:
    """A question that was released, and what the engine says of each world."""

    released: Any
    draw: Callable[[Sequence[Any]], Any]
    answers: list[tuple[pa.RecordBatch, ...]]
    """Of each world, one batch for each query."""

    table: str

    def of_world(self, world: int) -> pa.Table:
        """What would be said if this world were the whole table. What is asked then is asked of this world alone."""
        answer = self.draw([iter([batch]) for batch in self.answers[world]])
        while isinstance(answer, door.Then):
            answer = answer.draw([iter(_answers(each, self.table, range(world, world + 1))) for each in answer.exact])
        return answer


def caught(data: Any, ask: Callable[[Any], Any], worlds: int, seed: int) -> Caught:
    """Release a question on the dataset, with salts from `seed`, and catch what passes the door."""
    table = _name(data)
    found: list[Any] = []
    drawn = door._drawn

    def catching(exact: Sequence[ExactAggregate], draw: Callable[[Sequence[Any]], Any]) -> Any:
        if not found:
            found.extend((draw, [_answers(each, table, range(worlds)) for each in exact]))
        return drawn(exact, draw)

    stream = BitStream(seed)
    with pytest.MonkeyPatch.context() as patch, recording(stream, Recorder(stream)):
        patch.setattr(door, "_drawn", catching)
        released = ask(data)
    draw, answers = found
    return Caught(released, draw, list(zip(*answers, strict=True)), table)


def replayed(first: Caught, second: Caught, world: int, charged: Guarantee) -> Replayed:
    """Whether the two draw alike for this world, up to what was charged."""
    return replay(lambda side: side.of_world(world), first, second, charged=charged, seed=world)


def _name(data: Any) -> str:
    """How the table of the dataset is written in queries, below its sealed entry."""
    (stored,) = data._table.op().find(ops.PhysicalTable)
    before, _, name = data.origin._source.engine._compiled(stored.to_expr()).partition(" FROM ")
    assert before == "SELECT *", "a table of the engine itself"
    return str(name)


def _answers(exact: ExactAggregate, table: str, worlds: range) -> list[pa.RecordBatch]:
    """What the engine says of each world."""
    engine, query, schema = exact._engine, exact._engine._compiled(exact._expression), leaving(exact._expression)
    assert table in query
    own = query.replace(table, f'(SELECT * FROM {table} WHERE "world" = "its"."world")')
    series = f'generate_series({worlds[0]}, {worlds[-1]}) AS "its"("world")'
    asked = f'SELECT "its"."world" AS "{_WORLD}", "answer".* FROM {series}'
    types = schema.insert(0, pa.field(_WORLD, pa.int64()))
    batches = engine._batches(f'{asked}, LATERAL ({own}) AS "answer"', types)
    whole = pa.Table.from_batches([batch.cast(types) for batch in batches], types).sort_by(_WORLD).combine_chunks()
    (rows,) = whole.to_batches() or [pa.RecordBatch.from_pylist([], schema=types)]
    cuts = np.searchsorted(rows.column(_WORLD).to_numpy(), np.arange(worlds[0], worlds[-1] + 2))
    answer = rows.select(schema.names)
    return [answer.slice(start, end - start) for start, end in pairwise(cuts.tolist())]
