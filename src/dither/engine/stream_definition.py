"""What a stream is, without any data: what it was started with, and what is asked of each period."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

from dither.continual.encoders import Encoder, read_encoder
from dither.continual.encrypted_file import new_key
from dither.continual.participation import Participation
from dither.continual.periods import Horizon
from dither.continual.track import TrackNoise
from dither.engine.aggregate import Aggregate
from dither.engine.group_sensitivity import Added, Need
from dither.engine.groups import Groups
from dither.engine.keys_over_time import FOUND, KeyNoise, KeysOverTime
from dither.engine.over_time import OverTime, encoders_of, track_noises
from dither.engine.plan import Plan
from dither.engine.price import Terms
from dither.engine.question import Question
from dither.errors import LedgerConflict, LedgerError
from dither.exact import once, rational

__all__ = ["Header", "StreamDefinition"]


@dataclass(frozen=True)
class Header:
    """The first record: which stream this is, and on which terms it was started."""

    name: str
    words: str
    price: Mapping[str, str | None]
    weights: Mapping[str, str] | None
    level: str
    show: tuple[str | int, ...]
    encoders: Mapping[int, Encoder]

    @classmethod
    def new(cls, words: str, plan: Plan, show: Sequence[str | int]) -> Header:
        """The header of a new stream, with a name that no other has."""
        terms = plan.terms
        given = {"epsilon": terms.epsilon, "delta": terms.delta, "rho": terms.rho}
        price = {name: None if value is None else str(rational(value, name)) for name, value in given.items()}
        weights = None
        if terms.weights is not None:
            weights = {name: str(rational(value, name)) for name, value in terms.weights.items()}
        level = str(rational(terms.level, "level"))
        return cls(new_key().hex(), words, price, weights, level, tuple(show), encoders_of(plan))

    def written(self) -> bytes:
        """As the file holds it."""
        return json.dumps(
            {"name": self.name, "words": self.words, "price": self.price, "weights": self.weights, "level": self.level,
             "show": self.show, "encoders": {fine: each.written() for fine, each in self.encoders.items()}}
        ).encode()  # fmt: skip

    @classmethod
    def read(cls, record: bytes) -> Header:
        """What `written` gave; it was authenticated, so only a crash before it was written can be in the way."""
        if not record:
            raise LedgerError("the stream was not started: its state is empty. Remove the file and start it again.")
        held = json.loads(record)
        encoders = {int(fine): read_encoder(each) for fine, each in held["encoders"].items()}
        return cls(**{**held, "show": tuple(held["show"]), "encoders": encoders})

    @property
    def terms(self) -> Terms:
        """On which it was started."""
        return Terms(
            self.price["epsilon"], self.price["delta"], self.price["rho"], "gaussian", self.weights, self.level, False
        )

    def check(self, words: str) -> None:
        """Refuse another question than the stream was started with."""
        if words != self.words:
            raise LedgerConflict(
                "the state is that of another question. No answer was given. Ask what the stream was started with: "
                f"{self.words}"
            )


@dataclass(frozen=True)
class StreamDefinition:
    """What a stream is, without any data."""

    header: Header
    words: str
    plan: Plan
    show: tuple[str | int, ...]
    horizon: Horizon
    participation: Participation | None
    """None where each row is of another person, in one period."""
    rows_of: Callable[[int], Question]
    """The question about the rows of one period."""

    @once
    def noises(self) -> Mapping[str, TrackNoise]:
        """The noise of each part."""
        return track_noises(self.plan)

    @once
    def needs(self) -> dict[str, Need]:
        """What is asked of each period."""
        found: dict[str, Need] = {}
        for key, part in self.plan.parts.items():
            assert isinstance(part.need, OverTime | KeysOverTime)
            found[key] = part.need.need if isinstance(part.need, OverTime) else part.need.people
        return found

    @property
    def key_noise(self) -> KeyNoise | None:
        """What decides which groups are shown, where they are found in the data."""
        part = self.plan.parts.get(FOUND)
        return part.noise if part is not None and isinstance(part.noise, KeyNoise) else None

    @property
    def key_names(self) -> list[str]:
        """The columns that groups are made of."""
        return list(self.rows_of(0).query.keys)

    @once
    def groups(self) -> Groups:
        """The public groups."""
        public = self.rows_of(0).query.public_keys
        return Groups(pa.table({}) if public is None else public)

    @once
    def columns(self) -> dict[str, Aggregate]:
        """What each column of the answers is, by its name."""
        asked = self.plan.aggregates.items()
        return {f"{name}_{question}": aggregate for name, aggregate in asked for question in self.show}

    def width(self, key: str) -> int:
        """How many numbers each group has; 0 for one number that is no list."""
        noise = self.plan.parts[key].noise
        assert isinstance(noise, Added)
        return noise.width
