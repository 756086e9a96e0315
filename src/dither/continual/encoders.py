"""Encoders: lower-triangular matrices A of whole numbers, applied to a stream one period at a time.

What gets noise in period t is y_t = Σ_{s≤t} A_ts x_s, and x̂ = A^{−1} y is what everything is answered from: running
totals are its sums. Proofs: continual.md.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.continual.participation import Participation
from dither.exact import once
from dither.workloads.strategies.square_root import inverse_series
from dither.workloads.strategies.strategy import Floats, Integers

__all__ = ["Dense", "Encoder", "Memory", "Recurrent", "Toeplitz", "Wide", "read_encoder", "widened"]

Wide = NDArray[Any]
"""Whole numbers of any length: an array of Python's integers."""
_OUTWARDS = 1 + 2.0**-30
_PART = 24


class Memory(ABC):
    """What an encoder must know of earlier periods."""

    @abstractmethod
    def past(self) -> Wide:
        """Σ_{s<t} A_ts v_s, for the period t that comes next."""

    @abstractmethod
    def add(self, values: Wide) -> None:
        """The values of the period, of which there is one for each coordinate; new ones were 0 before."""

    def saved(self) -> list[list[int]] | None:
        """What a memory of fixed size is made of; None for one that is made by adding all periods again."""
        return None


class Encoder(ABC):
    """A lower-triangular matrix of whole numbers whose diagonal is positive."""

    name: str
    periods: int

    @abstractmethod
    def memory(self, coordinates: int, saved: Sequence[Sequence[int]] | None = None) -> Memory:
        """A memory of no period, or the one that was saved."""

    @abstractmethod
    def diagonal(self, period: int) -> int:
        """A_tt."""

    @abstractmethod
    def sensitivity_squared(self, participation: Participation) -> tuple[float, float]:
        """Ends of max ‖A c‖² for contributions of length 1, the truth between them; equal to 2^-29 where it is known.

        Before rounding: see `moved`.
        """

    def moved(self, square: int, participation: Participation, coordinates: int) -> int:
        """How far one person can move y in all periods, squared; never too small.

        `square` is how far they move the numbers of one period, squared, and `coordinates` how many of these.
        """
        _, above = self.sensitivity_squared(participation)
        return math.ceil(square * above * _OUTWARDS)

    @property
    def rounding(self) -> float:
        """By how much y may be off A x in each coordinate."""
        return 0.0

    @abstractmethod
    def written(self) -> dict[str, Any]:
        """As the state of a stream keeps it: `read_encoder` makes the same one of it, on any machine."""

    @abstractmethod
    def row_squares(self, window: int | None) -> Floats:
        """‖c_t‖² for each t, where c_t is the row of A^{−1} summed over the last `window` periods, or over all."""


class _History(Memory):
    """The values of earlier periods themselves, each as Σ_i v_i·2^{24 i} with |v_i| < 2^24.

    Sums of products are then found in 64 bits, part by part: a row of the encoder adds up to less than 2^38.
    """

    def __init__(self, encoder: Dense | Toeplitz, coordinates: int) -> None:
        self._encoder = encoder
        self._parts = [np.zeros((0, coordinates), dtype=np.int64)]
        self._period = 0

    def past(self) -> Wide:
        row = self._encoder.row(self._period)
        assert int(np.abs(row).sum()) < 1 << 38, "products of parts are added up in 64 bits"
        sums: list[Wide] = [(row @ part).astype(object) << _PART * place for place, part in enumerate(self._parts)]
        found: Wide = sum(sums[1:], sums[0])
        return found

    def add(self, values: Wide) -> None:
        new = _parts(values)
        count, before = len(values), self._parts
        rows = len(before[0])
        before = before + [np.zeros((rows, count), dtype=np.int64)] * (len(new) - len(before))
        new = new + [np.zeros(count, dtype=np.int64)] * (len(before) - len(new))
        kept = [np.vstack([widened(old, count), part]) for old, part in zip(before, new, strict=True)]
        self._parts = [part[max(rows + 1 - self._encoder.reach, 0) :] for part in kept]
        self._period += 1


class Dense(Encoder):
    """Any lower-triangular matrix, written out: for few periods."""

    def __init__(self, name: str, matrix: Integers) -> None:
        self.name, self.periods, self._matrix = name, len(matrix), matrix
        self.reach = self.periods

    def memory(self, coordinates: int, saved: Sequence[Sequence[int]] | None = None) -> Memory:
        return _History(self, coordinates)

    def diagonal(self, period: int) -> int:
        return int(self._matrix[period, period])

    def written(self) -> dict[str, Any]:
        rows = [row[: place + 1] for place, row in enumerate(self._matrix.tolist())]
        return {"kind": "dense", "name": self.name, "rows": rows}

    def row(self, period: int) -> Integers:
        """A_ts for s < t."""
        return self._matrix[period, :period]

    @once
    def _gram(self) -> Floats:
        """AᵀA, exactly: no sum of products passes 2^50, by Cauchy and Schwarz, as columns are shorter than 2^25."""
        entries = self._matrix.astype(np.float64)
        found: Floats = entries.T @ entries
        assert float((entries**2).sum(axis=0).max()) < 2.0**50, "columns of a dense matrix are shorter than 2^25"
        return found

    def sensitivity_squared(self, participation: Participation) -> tuple[float, float]:
        return participation.bound(self._gram)

    @once
    def _inverse(self) -> Floats:
        found: Floats = np.tril(np.linalg.inv(self._matrix.astype(np.float64)))
        return found

    def row_squares(self, window: int | None) -> Floats:
        sums = np.cumsum(self._inverse, axis=0)
        if window is not None:
            sums[window:] -= np.cumsum(self._inverse, axis=0)[:-window]
        found: Floats = (sums**2).sum(axis=1)
        return found


class Toeplitz(Encoder):
    """A_ts = a_{t−s} for whole numbers a_0 ≥ a_1 ≥ … ≥ 0, of which the last ones may be 0: then it is banded."""

    def __init__(self, name: str, periods: int, series: Integers) -> None:
        self.name, self.periods, self._series = name, periods, series[:periods]
        self.reach = len(self._series) - 1
        steps = np.diff(self._series)
        assert self._series[0] > 0, "the diagonal is positive"
        assert not (steps > 0).any(), "the theorem on participation needs entries that do not grow"
        assert not self._series[-1] < 0, "nor are negative"

    def memory(self, coordinates: int, saved: Sequence[Sequence[int]] | None = None) -> Memory:
        return _History(self, coordinates)

    def diagonal(self, period: int) -> int:
        return int(self._series[0])

    def written(self) -> dict[str, Any]:
        return {"kind": "toeplitz", "name": self.name, "periods": self.periods, "series": self._series.tolist()}

    def row(self, period: int) -> Integers:
        """A_ts for the last s < t that count."""
        return self._series[1 : 1 + min(period, self.reach)][::-1]

    def sensitivity_squared(self, participation: Participation) -> tuple[float, float]:
        found = float(self._exact(participation))
        return found / _OUTWARDS, found * _OUTWARDS

    def moved(self, square: int, participation: Participation, coordinates: int) -> int:
        return square * self._exact(participation)

    def _exact(self, participation: Participation) -> int:
        """Σ_t (Σ_i a_{t−ib})²: the pattern 0, b, 2b, … moves most (continual.md)."""
        return sum(each * each for each in _overlaid(self._series, self.periods, participation).tolist())

    @once
    def _inverse(self) -> Floats:
        return _inverse_of(self._series.astype(np.float64), self.periods)

    def row_squares(self, window: int | None) -> Floats:
        return _squares_of_series(self._inverse, window)


class Recurrent(Encoder):
    """A_ts ≈ Σ_i w_i θ_i^{t−s}: sums that fade at several speeds, kept in as many numbers however long the stream is.

    With 0 < θ_i < 1 in steps of 2^-30 and w_i > 0 in steps of 2^-40. A product is rounded down to 2^-40, and y to a
    whole number: y is below A x by 1 + d·T·2^-40 at most, for d speeds.
    """

    _FINE, _SPEED = 40, 30

    def __init__(self, name: str, periods: int, weights: Sequence[int], speeds: Sequence[int]) -> None:
        self.name, self.periods = name, periods
        self._weights, self._speeds = tuple(weights), tuple(speeds)
        assert not sum(weights) % (1 << self._FINE), "the diagonal is a whole number"
        assert all(0 < speed < 1 << self._SPEED for speed in speeds), "older periods fade"
        assert min(weights) > 0, "entries are positive, and fall"

    def memory(self, coordinates: int, saved: Sequence[Sequence[int]] | None = None) -> Memory:
        return _Fading(self._weights, self._speeds, coordinates, saved)

    def diagonal(self, period: int) -> int:
        return sum(self._weights) >> self._FINE

    def written(self) -> dict[str, Any]:
        numbers = {"weights": list(self._weights), "speeds": list(self._speeds)}
        return {"kind": "recurrent", "name": self.name, "periods": self.periods, **numbers}

    @property
    def rounding(self) -> float:
        return 1 + len(self._weights) * self.periods * 2.0**-self._FINE

    @once
    def _series(self) -> Floats:
        """a_k in floats, each right to some 2^-47: θ^k is off by k·2^-53 at most, relatively, and k < 2^17 or so."""
        steps = np.arange(self.periods)
        entries = zip(self._weights, self._speeds, strict=True)
        unit = 2.0**-self._FINE
        found: Floats = sum(
            (weight * unit * np.exp(steps * math.log(speed * 2.0**-self._SPEED)) for weight, speed in entries),
            np.zeros(self.periods),
        )
        return found

    def sensitivity_squared(self, participation: Participation) -> tuple[float, float]:
        found = float((_overlaid(self._series, self.periods, participation) ** 2).sum())
        return found / _OUTWARDS, found * _OUTWARDS

    def moved(self, square: int, participation: Participation, coordinates: int) -> int:
        """(‖A c‖ + h√m)²: each of the m numbers that may move is rounded by h at most, in either stream."""
        _, above = self.sensitivity_squared(participation)
        numbers = coordinates * participation.most(self.periods) * self.periods
        longest = math.sqrt(square * above) + self.rounding * math.sqrt(numbers)
        return _rounded_up(math.ceil(longest**2 * _OUTWARDS))

    @once
    def _inverse(self) -> Floats:
        return _inverse_of(self._series, self.periods)

    def row_squares(self, window: int | None) -> Floats:
        return _squares_of_series(self._inverse, window)


class _Fading(Memory):
    """One number for each speed and coordinate, in steps of 2^-40."""

    def __init__(
        self, weights: Sequence[int], speeds: Sequence[int], coordinates: int, saved: Sequence[Sequence[int]] | None
    ) -> None:
        self._weights = np.array(weights, dtype=object)[:, None]
        self._speeds = np.array(speeds, dtype=object)[:, None]
        kept = [[0] * coordinates for _ in weights] if saved is None else [list(each) for each in saved]
        self._sums = np.array(kept, dtype=object)

    def past(self) -> Wide:
        found: Wide = self._faded().sum(axis=0) >> Recurrent._FINE
        return found

    def _faded(self) -> Wide:
        faded: Wide = (self._sums * self._speeds) >> Recurrent._SPEED
        return faded

    def add(self, values: Wide) -> None:
        self._sums = widened(self._faded(), len(values)) + self._weights * np.asarray(values, dtype=object)[None, :]

    def saved(self) -> list[list[int]]:
        found: list[list[int]] = self._sums.tolist()
        return found


def read_encoder(written: Mapping[str, Any]) -> Encoder:
    """What `Encoder.written` gave."""
    name = written["name"]
    if written["kind"] == "recurrent":
        return Recurrent(name, written["periods"], written["weights"], written["speeds"])
    if written["kind"] == "toeplitz":
        return Toeplitz(name, written["periods"], np.array(written["series"], dtype=np.int64))
    matrix = np.zeros((len(written["rows"]), len(written["rows"])), dtype=np.int64)
    for place, row in enumerate(written["rows"]):
        matrix[place, : place + 1] = row
    return Dense(name, matrix)


def widened(values: Wide, coordinates: int) -> Wide:
    """With 0 for coordinates that are new: the keys that they belong to were not known before, and nothing counted."""
    missing = (*values.shape[:-1], coordinates - values.shape[-1])
    return np.concatenate([values, np.zeros(missing, dtype=values.dtype)], axis=-1) if missing[-1] else values


def _rounded_up(number: int) -> int:
    """To 28 binary digits: the last ones of a double differ between processors, and the charge must not."""
    spare = max(number.bit_length() - 28, 0)
    return -(-number >> spare) << spare


def _parts(values: Wide) -> list[Integers]:
    """v_0, v_1, … of each value; the last one has the sign."""
    longest = max((int(each).bit_length() for each in values), default=0)
    places = range(max(longest - 1, 0) // _PART + 1)
    shifted = [np.asarray(values, dtype=object) >> _PART * place for place in places]
    return [
        np.asarray(each & ((1 << _PART) - 1) if place < places[-1] else each, dtype=np.int64)
        for place, each in enumerate(shifted)
    ]


def _overlaid(series: Any, periods: int, participation: Participation) -> Any:
    """Σ_i a_{t−ib} for each period t."""
    found = np.zeros(periods, dtype=series.dtype)
    for start in participation.earliest(periods):
        part = series[: periods - start]
        found[start : start + len(part)] += part
    return found


def _inverse_of(series: Floats, periods: int) -> Floats:
    """The first terms of 1/a(z)."""
    padded = np.zeros(periods)
    padded[: len(series)] = series / series[0]
    found: Floats = inverse_series(padded) / series[0]
    return found


def _squares_of_series(inverse: Floats, window: int | None) -> Floats:
    """Row t of the inverse, summed over periods, has the first t + 1 terms of (1 − z^w)/((1 − z) a(z))."""
    sums = np.cumsum(inverse)
    if window is not None:
        sums[window:] -= np.cumsum(inverse)[:-window]
    found: Floats = np.cumsum(sums**2)
    return found
