"""What a question needs, asked in every period of a stream: its noise for the whole horizon."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import Any

import pyarrow as pa

from dither.continual.choice import chosen, fine_for
from dither.continual.encoders import Encoder
from dither.continual.participation import Participation
from dither.continual.track import TrackNoise
from dither.engine.group_sensitivity import Added, Need
from dither.engine.groups import Groups
from dither.engine.plan import Plan
from dither.errors import ParameterError
from dither.events import GaussianNoise
from dither.tables import BoundedTable, ExactAggregate
from dither.unit import Neighbour

__all__ = ["NEEDS_GAUSSIAN", "OverTime", "encoders_of", "track_noises", "windows_in_words"]

NEEDS_GAUSSIAN = "streams have Gaussian noise, which needs delta=... or rho=..."

_chosen = lru_cache(maxsize=32)(chosen)


@dataclass(frozen=True, slots=True)
class OverTime(Need):
    """A need of each period, and the questions that are asked of its sums."""

    need: Need
    periods: int
    windows: tuple[int | None, ...]
    participation: Participation
    kept: Mapping[int, Encoder] = field(default_factory=dict, compare=False)
    """The encoders of a stream that was started before, by `fine`: found anew, they could differ in a last digit."""

    def pure(self, neighbour: Neighbour, epsilon: Fraction) -> Added:
        raise ParameterError(NEEDS_GAUSSIAN)

    def concentrated(self, neighbour: Neighbour, rho: Fraction) -> Added:
        """Gaussian noise on A x, which one person moves by `Encoder.moved` in all periods together."""
        once = self._once(neighbour)
        event = once.event
        assert isinstance(event, GaussianNoise)
        square = int(event.sensitivity_squared)
        encoder = self.encoder(neighbour)
        moved = encoder.moved(square, self.participation, event.dimension)
        numbers = event.dimension * self.participation.most(self.periods) * self.periods
        return Added.gaussian(moved, numbers, rho, neighbour.adjacency, once.width)

    def encoder(self, neighbour: Neighbour) -> Encoder:
        """The encoder that was kept, or the one with the smallest error for these questions."""
        fine = self.fine(neighbour)
        kept = self.kept.get(fine)
        return _chosen(self.periods, self.windows, self.participation, fine).encoder if kept is None else kept

    def fine(self, neighbour: Neighbour) -> int:
        """How many whole numbers there are to 1 in the entries of the encoder."""
        event = self._once(neighbour).event
        assert isinstance(event, GaussianNoise)
        return fine_for(math.isqrt(int(event.sensitivity_squared)))

    def _once(self, neighbour: Neighbour) -> Added:
        """The noise of one period alone, for its sensitivity; refused where something is chosen, not counted."""
        noise = self.need.concentrated(neighbour, Fraction(1))
        if not isinstance(noise, Added) or self.need.is_found:
            raise ParameterError(
                "a stream releases counts, sums, means, variances, shares and histograms. Ask for other aggregates in "
                "releases of their own."
            )
        return noise

    def ask(self, table: BoundedTable, salt: int) -> ExactAggregate:
        return self.need.ask(table, salt)

    def collect(self, batches: Iterable[pa.RecordBatch], groups: Groups) -> Any:
        return self.need.collect(batches, groups)

    @property
    def unit(self) -> Fraction | None:
        return self.need.unit


def track_noises(plan: Plan) -> Mapping[str, TrackNoise]:
    """The encoder and the noise of each part of a plan over time."""
    found = {}
    for key, part in plan.parts.items():
        if isinstance(part.need, OverTime):
            assert isinstance(part.noise, Added)
            found[key] = TrackNoise(part.need.encoder(plan.neighbour), part.noise.noising)
    return found


def encoders_of(plan: Plan) -> dict[int, Encoder]:
    """The encoders of a plan over time, by `fine`, to be kept."""
    needs = [part.need for part in plan.parts.values() if isinstance(part.need, OverTime)]
    return {need.fine(plan.neighbour): need.encoder(plan.neighbour) for need in needs}


def windows_in_words(questions: Sequence[str | int]) -> str:
    """The questions of a stream, as the ledger records them."""
    return ", ".join(f"last {each}" if isinstance(each, int) else each for each in questions)
