"""Numbers that no single entry of an answer shows: residues, bits, and what entries are to each other.

`count + 5·noise` shows the count mod 5 however wide the noise is, and a mask beside the count xor that mask shows the
count; every entry alone looks the same on both inputs. So combinations of entries are looked at, and residues and bits
of entries and combinations, in the first runs of the half that teaches. The few that tell the two inputs apart by more
than the entries do that they are made of become readings.

Why this costs no confidence. Which readings there are, and all numbers in them, follows from runs by which no event is
tested. Readings only give rise to proposals, as many as before; what a round divides its share of alpha by is the
number of events that it tests, on fresh runs. However many readings are looked at, a true claim is called violated
with probability at most alpha.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise, product
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from dither.audit.attack.curve import Floats
from dither.audit.attack.outcomes import Rows, lowest_bits

__all__ = ["RowRelation", "relations"]

_LOOKED_AT = 1024
"""So many runs of each input are looked at, at most."""
_MOST_KEPT = 6
"""So many relations become readings, at most: those that tell most."""
_MOST_ENTRIES, _MOST_PAIRED, _MOST_TRIPLED = 64, 7, 5
"""So many entries, the first that vary, are looked at; of fewer there are all pairs, and all triples."""
_MOST_BASES = 16
"""Of so many entries and combinations there are residues and bits."""
_MODULI = np.array([*range(2, 21), 23, 24, 25, 27, 29, 30, 31, 32, 36, 37, 41, 43, 47, 48, 49, 50, 53, 59, 60, 61, 64])
"""All small ones, and powers of primes: a residue by a product determines those by its factors."""
_USUAL_MODULI = frozenset({100, 128, 256, 1000})
_FEW_VALUES, _BINS = 64, 16
_DEVIATIONS = 5.0
"""By so many deviations of chance a relation must tell the inputs apart: the best of some hundred is about 3 ahead."""
_BETTER = 1.25
"""So many times as much as the entries that it is made of tell."""
_MOST_EXACT = 2.0**53
_RIDGE = 1e-9
_OFF_LATTICE = 0.02
_PAYLOAD = np.uint64(2**51 - 1)

Wholes = NDArray[np.int64]


class RowRelation(Protocol):
    """A number that is read off a row."""

    def of(self, rows: Rows) -> Floats: ...

    def words(self, names: Sequence[str]) -> str: ...


# ----------------------------------------------------------------- combinations


def _wholes(numbers: Floats) -> tuple[Wholes, NDArray[np.bool_]]:
    """Whole numbers as they are, others as 0; and which are whole."""
    is_whole = (np.abs(numbers) < 2.0**63) & (numbers == np.floor(numbers))
    return np.where(is_whole, numbers, 0.0).astype(np.int64), is_whole


def _xor(entries: Rows) -> Floats:
    wholes, is_whole = _wholes(entries)
    return np.where(is_whole.all(axis=1), np.bitwise_xor.reduce(wholes, axis=1).astype(np.float64), np.nan)


def _divisor(entries: Rows) -> Floats:
    wholes, is_whole = _wholes(entries)
    return np.where(is_whole.all(axis=1), np.gcd.reduce(wholes, axis=1).astype(np.float64), np.nan)


def _different(entries: Rows) -> Floats:
    ordered = np.sort(entries, axis=1)
    return np.asarray(1.0 + (ordered[:, 1:] != ordered[:, :-1]).sum(axis=1))


def _lowered(entries: Rows) -> Rows:
    return np.where(np.isnan(entries), -np.inf, entries)


_COMBINED: dict[str, tuple[Callable[[Rows], Floats], str]] = {
    "entry": (lambda x: x[:, 0], "{0}"),
    "difference": (lambda x: x[:, 0] - x[:, 1], "{0} − {1}"),
    "sum": (lambda x: x[:, 0] + x[:, 1], "{0} + {1}"),
    "order": (lambda x: np.sign(x[:, 0] - x[:, 1]), "the sign of {0} − {1}"),
    "ratio": (lambda x: x[:, 1] / x[:, 0], "{1} / {0}"),
    "xor": (_xor, "the xor of {all}"),
    "divisor": (_divisor, "the greatest common divisor of {all}"),
    "largest": (lambda x: _lowered(x).argmax(axis=1).astype(np.float64), "the place of the largest of {all}"),
    "smallest": (lambda x: _lowered(-x).argmax(axis=1).astype(np.float64), "the place of the smallest of {all}"),
    "rises": (lambda x: (x[:, 1:] > x[:, :-1]).sum(axis=1).astype(np.float64), "the number of rises in {all}"),
    "different": (_different, "the number of different values of {all}"),
}
_PAIRED, _OF_WHOLES = ("difference", "sum", "order", "ratio"), ("xor", "divisor")
_OF_ROWS = ("largest", "smallest", "rises", "different")


@dataclass(frozen=True)
class _Combined:
    """What some entries make together, or one entry itself."""

    kind: str
    entries: tuple[int, ...]

    def of(self, rows: Rows) -> Floats:
        with np.errstate(all="ignore"):  # ∞ − ∞ and 0/0 are NaN, which is a value as good as others
            return np.asarray(_COMBINED[self.kind][0](rows[:, self.entries]), dtype=np.float64)

    def words(self, names: Sequence[str]) -> str:
        own = [names[i] for i in self.entries]
        listed = " and ".join(own) if len(own) < 4 else f"{len(own)} entries"
        return _COMBINED[self.kind][1].format(*own, all=listed)


@dataclass(frozen=True)
class _WeightedEntries:
    """A weighted sum of entries."""

    entries: tuple[int, ...]
    weights: tuple[float, ...]

    def of(self, rows: Rows) -> Floats:
        with np.errstate(all="ignore"):
            return np.asarray(sum(w * rows[:, i] for i, w in zip(self.entries, self.weights, strict=True)))

    def words(self, names: Sequence[str]) -> str:
        if any(abs(weight) != 1 for weight in self.weights):
            return f"a weighted sum of {len(self.entries)} entries"
        signs = ["−" if weight < 0 else "+" for weight in self.weights]
        return " ".join(f"{sign} {names[i]}" for sign, i in zip(signs, self.entries, strict=True)).removeprefix("+ ")


# ----------------------------------------------------------- residues and bits


@dataclass(frozen=True)
class _Lattice:
    """The numbers `origin` + k·`step` for whole k."""

    origin: float
    step: float

    @classmethod
    def of(cls, numbers: Floats) -> _Lattice | None:
        """One that holds all of some finite numbers, if there is one."""
        if (numbers == np.floor(numbers)).all():
            return cls(0.0, 1.0)
        dyadic = float(2.0 ** np.nanmin(lowest_bits(numbers)))
        if np.abs(numbers).max() < _MOST_EXACT * dyadic:
            return cls(0.0, dyadic)
        return cls._measured(numbers)

    @classmethod
    def _measured(cls, numbers: Floats) -> _Lattice | None:
        """As for multiples of 0.1, which are rounded: by Euclid's algorithm on distances, and a look at all of them."""
        distances = np.abs(numbers - numbers[0])
        spread = float(distances.max())
        step = 0.0
        for whole in np.unique(distances)[:_FEW_VALUES].tolist():
            if not whole > 1e-9 * spread:
                continue
            distance = whole
            while distance > 1e-9 * spread:
                step, distance = distance, step % distance if step else 0.0
                if step - distance < 1e-9 * spread:
                    distance = 0.0
            step = whole / round(whole / step)  # else an error of the step comes back as often as it fits into the next
        if not step > 1e-7 * spread:
            return None
        counts = np.round(distances / step)
        found = cls(float(numbers[0]), float((distances * counts).sum() / (counts * counts).sum()))
        return found if math.isfinite(found.step) and found.steps(numbers)[1].all() else None

    def steps(self, numbers: Floats) -> tuple[Wholes, NDArray[np.bool_]]:
        """k for each number, and 0 for what is not on the lattice; and which are on it."""
        with np.errstate(all="ignore"):
            places = (numbers - self.origin) / self.step
            is_on = (np.abs(places) < 2.0**63) & (np.abs(places - np.round(places)) < _OFF_LATTICE)
            return np.where(is_on, np.round(places), 0.0).astype(np.int64), np.asarray(is_on)

    def words(self, of: str) -> str:
        place = of if not self.origin else f"({of} − {self.origin:g})"
        return place if self.step == 1 else f"{place} in steps of {self.step:g}"


@dataclass(frozen=True)
class _Residue:
    """The remainder of a number of steps."""

    base: _Combined
    lattice: _Lattice
    modulus: int

    def of(self, rows: Rows) -> Floats:
        steps, is_on = self.lattice.steps(self.base.of(rows))
        return np.where(is_on, (steps % self.modulus).astype(np.float64), np.nan)

    def words(self, names: Sequence[str]) -> str:
        return f"{self.lattice.words(self.base.words(names))} mod {self.modulus}"


@dataclass(frozen=True)
class _Bit:
    """One binary digit of a number of steps."""

    base: _Combined
    lattice: _Lattice
    place: int

    def of(self, rows: Rows) -> Floats:
        steps, is_on = self.lattice.steps(self.base.of(rows))
        return np.where(is_on, (steps >> self.place & 1).astype(np.float64), np.nan)

    def words(self, names: Sequence[str]) -> str:
        return f"bit {self.place} of {self.lattice.words(self.base.words(names))}"


@dataclass(frozen=True)
class _Mantissa:
    """Four bits of a float as it is stored."""

    entry: int
    place: int

    def of(self, rows: Rows) -> Floats:
        stored = np.ascontiguousarray(rows[:, self.entry]).view(np.uint64)
        return (stored >> np.uint64(self.place) & np.uint64(15)).astype(np.float64)

    def words(self, names: Sequence[str]) -> str:
        return f"bits {self.place} to {self.place + 3} of {names[self.entry]} as a float"


@dataclass(frozen=True)
class _Stored:
    """What numbers that compare as equal, or as nothing, are stored as: the sign of 0, and the bits of NaN."""

    entry: int

    def of(self, rows: Rows) -> Floats:
        entry = np.ascontiguousarray(rows[:, self.entry])
        bits = (entry.view(np.uint64) & _PAYLOAD).astype(np.float64)
        sign = np.signbit(entry).astype(np.float64)
        return np.where(entry == 0, -1 - sign, np.where(np.isnan(entry), 2 * bits + sign, np.nan))

    def words(self, names: Sequence[str]) -> str:
        return f"how 0 and NaN are stored in {names[self.entry]}"


# ------------------------------------------------------------------ what tells


class _Told(NamedTuple):
    """How far apart two inputs are in some cells: Σ (a − b)²/(a + b), which is about the number of cells by chance."""

    excess: float
    """More than chance makes of it."""
    cells: float

    @property
    def is_beyond_chance(self) -> bool:
        return self.excess > _DEVIATIONS * (1 + math.sqrt(2 * self.cells))

    def is_better(self, than: float) -> bool:
        return self.is_beyond_chance and self.excess > _BETTER * max(than, 0.0)


def _told(left: Floats, right: Floats) -> _Told:
    """In cells of single values where there are few, and of as many runs each otherwise; NaN is a cell."""
    parts = [np.sort(side) for side in (left, right)]  # NaN comes last
    known = [part[: len(part) - int(np.isnan(part).sum())] for part in parts]
    union = np.sort(np.concatenate(known), kind="stable")
    edges = union[np.concatenate([[True], union[1:] != union[:-1]])] if len(union) else union
    if len(edges) > _FEW_VALUES:
        edges = np.unique(union[len(union) * np.arange(_BINS) // _BINS])
    counts = np.stack(
        [
            np.diff([*np.searchsorted(side, edges), len(side), len(part)])
            for side, part in zip(known, parts, strict=True)
        ]
    )
    return _of_counts(*counts)


def _of_counts(one: NDArray[np.int64], other: NDArray[np.int64]) -> _Told:
    both = one + other
    cells = float((both > 0).sum())
    return _Told(float(((one - other) ** 2 / np.maximum(both, 1)).sum()) - cells, cells)


class _Found(NamedTuple):
    relation: RowRelation
    excess: float


@np.errstate(all="ignore")  # what is too large to be added, or no number, is left out
def relations(left: Rows, right: Rows, is_number: Sequence[bool]) -> tuple[RowRelation, ...]:
    """The relations that tell most about which of two inputs the answers came from; none where entries tell as much.

    `is_number` says which entries are numbers, and not names.
    """
    left, right = left[:_LOOKED_AT], right[:_LOOKED_AT]
    if not len(left) or not len(right):
        return ()
    every = np.concatenate([left, right])
    stored = [i for i in range(every.shape[1]) if is_number[i] and _has_odd(every[:, i])][:_MOST_PAIRED]
    entries = [i for i in range(every.shape[1]) if is_number[i] and _varies(every[:, i])][:_MOST_ENTRIES]
    alone = {i: _told(left[:, i], right[:, i]).excess for i in {*entries, *stored}}
    found = [*_of_entries(left, right, entries, stored, alone)]
    bases = [_Combined("entry", (i,)) for i in entries]
    for base, its in _combinations(left, right, entries):
        least = max(alone[i] for i in base.entries)
        if its.is_better(least):
            found.append(_Found(base, its.excess))
        if isinstance(base, _Combined) and base.kind in ("difference", "sum") and len(entries) < 4:
            bases.append(base)
    for base in bases[:_MOST_BASES]:
        found += _of_lattice(base, left, right, max(alone[i] for i in base.entries))
    kept = sorted(found, key=lambda each: -each.excess)[:_MOST_KEPT]
    return tuple(each.relation for each in kept)


def _varies(entry: Floats) -> bool:
    known = entry[~np.isnan(entry)]
    return len(known) > 0 and bool((known != known[0]).any())


def _has_odd(entry: Floats) -> bool:
    """Whether a 0 is negative, or a NaN another than the usual."""
    stored = np.ascontiguousarray(entry).view(np.uint64)
    return bool((((entry == 0) & np.signbit(entry)) | (np.isnan(entry) & (stored & _PAYLOAD != 0))).any())


def _of_entries(
    left: Rows, right: Rows, entries: Sequence[int], stored: Sequence[int], alone: dict[int, float]
) -> Iterator[_Found]:
    """How numbers are stored."""
    fractional = [i for i in entries if (left[:, i] != np.floor(left[:, i])).any()][:_MOST_PAIRED]
    bits: list[_Stored | _Mantissa] = [_Stored(i) for i in stored]
    bits += [_Mantissa(i, place) for i in fractional for place in (0, 4)]
    for each in bits:
        its = _told(each.of(left), each.of(right))
        if its.is_better(alone[each.entry]):
            yield _Found(each, its.excess)


def _combinations(
    left: Rows, right: Rows, entries: Sequence[int]
) -> Iterator[tuple[_Combined | _WeightedEntries, _Told]]:
    """What tells of each combination of entries."""
    wholes = [i for i in entries if _is_whole(left[:, i]) and _is_whole(right[:, i])]
    combined: list[_Combined | _WeightedEntries] = []
    for pair in _pairs(left, entries):
        combined += [_Combined(kind, pair) for kind in _PAIRED]
        combined += [_Combined(kind, pair) for kind in _OF_WHOLES if {*pair} <= {*wholes}]
    combined += [_Combined(kind, some) for some in combinations(wholes[:_MOST_TRIPLED], 3) for kind in _OF_WHOLES]
    for three in combinations(entries[:_MOST_TRIPLED], 3):
        combined += [_WeightedEntries(three, (1.0, *signs)) for signs in product((1.0, -1.0), repeat=2)]
    if len(wholes) > 3:
        combined += [_Combined(kind, tuple(wholes)) for kind in _OF_WHOLES]
    if len(entries) > 2:
        combined += [_Combined(kind, tuple(entries)) for kind in _OF_ROWS]
    if len(entries) > 1:
        combined += _discriminant(left, right, entries)
    for each in combined:
        yield each, _told(each.of(left), each.of(right))


def _pairs(rows: Rows, entries: Sequence[int]) -> list[tuple[int, int]]:
    """All pairs of the first entries, neighbours of the next, and those anywhere that rise and fall together most."""
    found = [*combinations(entries[:_MOST_PAIRED], 2), *pairwise(entries[:_MOST_BASES])]
    if len(entries) > _MOST_PAIRED:
        known = np.nan_to_num(rows[:, entries], posinf=0.0, neginf=0.0)
        scaled = (known - known.mean(axis=0)) / (known.std(axis=0) + 1e-300)
        together = np.triu(np.abs(np.einsum("ri,rj->ij", scaled, scaled)), 1)
        strongest = np.argsort(-together, axis=None, kind="stable")[:_MOST_PAIRED].tolist()
        found += [(entries[each // len(entries)], entries[each % len(entries)]) for each in strongest]
    return [pair for pair in dict.fromkeys(found) if pair[0] < pair[1]]


def _is_whole(entry: Floats) -> bool:
    known = entry[~np.isnan(entry)]
    return bool((known == np.floor(known)).all())


def _discriminant(left: Rows, right: Rows, entries: Sequence[int]) -> list[_WeightedEntries]:
    """The weighted sum that has the means of both sides farthest apart, in its deviations (Fisher 1936).

    If some weighted sum is the same in all runs on an input, as where noise is used twice, this is the one.
    """
    sides = [side[:, entries] for side in (left, right)]
    if not all(np.isfinite(side).all() for side in sides):
        return []
    centred = np.concatenate([side - side.mean(axis=0) for side in sides])
    size = np.sqrt((centred * centred).mean(axis=0))
    unit = np.where(size > 0, size, np.abs(sides[0]).max(axis=0) + 1)
    scaled = centred / unit
    within = np.einsum("ri,rj->ij", scaled, scaled) / len(scaled) + _RIDGE * np.eye(len(entries))
    apart = (sides[0].mean(axis=0) - sides[1].mean(axis=0)) / unit
    if not (np.isfinite(within).all() and np.isfinite(apart).all()):
        return []
    weights = np.linalg.solve(within, apart) / unit
    return [_WeightedEntries(tuple(entries), tuple(weights.tolist()))]


def _of_lattice(base: _Combined, left: Rows, right: Rows, alone: float) -> Iterator[_Found]:
    """Residues and bits, if the numbers lie on a lattice and are so many that no histogram of them tells all."""
    numbers = base.of(left), base.of(right)
    known = np.concatenate([side[np.isfinite(side)] for side in numbers])
    if len(np.unique(known)) <= min(_FEW_VALUES, len(known) // 8):
        return
    lattice = _Lattice.of(known)
    if lattice is None:
        return
    one, other = (steps[is_on] for steps, is_on in map(lattice.steps, numbers))
    if not len(one) or not len(other):
        return
    found: list[tuple[_Residue | _Bit, _Told]] = []
    for modulus, its in zip(_MODULI.tolist(), _by_modulus(one, other), strict=True):
        found.append((_Residue(base, lattice, modulus), its))
    for place, its in enumerate(_by_bit(one, other)):
        found.append((_Bit(base, lattice, place), its))
    for modulus in _large_moduli(one, other):
        its = _told((one % modulus).astype(np.float64), (other % modulus).astype(np.float64))
        found.append((_Residue(base, lattice, modulus), its))
    most = max(its.excess for _, its in found)
    for each, its in found:
        if its.is_better(alone) and its.excess > 0.5 * most:
            yield _Found(each, its.excess)


def _by_modulus(one: Wholes, other: Wholes) -> list[_Told]:
    """What the residues by each modulus tell: one table with a part for each."""
    starts = np.concatenate([[0], np.cumsum(_MODULI)])
    tables = [
        np.bincount((side[:, None] % _MODULI + starts[:-1]).ravel(), minlength=int(starts[-1])) for side in (one, other)
    ]
    both = tables[0] + tables[1]
    apart = np.add.reduceat((tables[0] - tables[1]) ** 2 / np.maximum(both, 1), starts[:-1])
    cells = np.add.reduceat((both > 0).astype(np.float64), starts[:-1])
    return [_Told(*each) for each in zip((apart - cells).tolist(), cells.tolist(), strict=True)]


def _by_bit(one: Wholes, other: Wholes) -> list[_Told]:
    """What each binary digit tells."""
    places = np.arange(int(max(np.abs(one).max(), np.abs(other).max())).bit_length())
    (here, size), (there, runs) = (((side[:, None] >> places & 1).sum(axis=0), len(side)) for side in (one, other))
    both, neither = here + there, size + runs - here - there
    cells = (both > 0) + (neither > 0.0)
    set_apart = (here - there) ** 2 / np.maximum(both, 1)
    unset_apart = (size - here - runs + there) ** 2 / np.maximum(neither, 1)
    excess = set_apart + unset_apart - cells
    return [_Told(*each) for each in zip(excess.tolist(), cells.tolist(), strict=True)]


def _large_moduli(one: Wholes, other: Wholes) -> list[int]:
    """Usual ones, and the steps of the lattices that hold each side by itself."""
    own = {int(np.gcd.reduce(side - side[0])) for side in (one, other)}
    return sorted(modulus for modulus in own | _USUAL_MODULI if modulus > _MODULI[-1])
