"""Mechanisms that show their input with probability one, or nearly, behind noise that hides it from a plain look.

Each is a function of a count and a number of runs. The noise is so wide, or a mask so random, that no single number of
the answer tells the count; what tells it is a residue, a bit, a relation between numbers, a word, an order or a type.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dither.noise import DiscreteLaplace, entropy

__all__ = ["LEAKS"]

Leak = Callable[[int, int], Any]
LEAKS: dict[str, Leak] = {}
"""Those that the auditor catches with 20,000 runs a side."""


def _noise(runs: int, scale: int = 1000) -> NDArray[np.int64]:
    return np.asarray(DiscreteLaplace(scale).sample(runs), dtype=np.int64)


def _words(runs: int, bits: int = 64) -> NDArray[np.uint64]:
    return np.asarray(entropy.current().words(runs) >> np.uint64(64 - bits))


def _mask(runs: int, bits: int) -> NDArray[np.int64]:
    return _words(runs, bits).astype(np.int64)


def _unit(*shape: int) -> NDArray[np.float64]:
    return np.asarray((_words(math.prod(shape), 53) * 2.0**-53).reshape(shape))


def leak(name: str) -> Callable[[Leak], Leak]:
    def named(many: Leak) -> Leak:
        LEAKS[name] = many
        return many

    return named


def _rows(*columns: Any) -> NDArray[Any]:
    return np.stack([np.asarray(column) for column in columns], axis=1)


# ---------------------------------------------------------------- residues and bits


@leak("residue mod 5")
def _residue(count: int, runs: int) -> Any:
    return count + 5 * _noise(runs)


@leak("residue mod 1000")
def _large_residue(count: int, runs: int) -> Any:
    return count + 1000 * _noise(runs)


@leak("residue mod 61 but for a coin")
def _blurred(count: int, runs: int) -> Any:
    return count + 61 * _noise(runs) + _mask(runs, 1)


@leak("residue of a lattice of tenths")
def _tenths(count: int, runs: int) -> Any:
    return (count + 7 * _noise(runs)) / 10


@leak("residue of a lattice with an offset")
def _offset(count: int, runs: int) -> Any:
    return math.pi + (count + 7 * _noise(runs)) * math.sqrt(2)


@leak("residue of one entry of six")
def _entry(count: int, runs: int) -> Any:
    return _rows(*(_noise(runs) for _ in range(5)), count + 5 * _noise(runs))


@leak("multiples of the count")
def _multiples(count: int, runs: int) -> Any:
    return count * _noise(runs, 10**6)


@leak("one bit of 40")
def _bit(count: int, runs: int) -> Any:
    return _mask(runs, 40) & ~(1 << 17) | (count & 1) << 17


@leak("one coin of 40")
def _coin(count: int, runs: int) -> Any:
    return _rows(*(_mask(runs, 1) if i != 17 else np.full(runs, count & 1) for i in range(40)))


@leak("the lowest bits of a float")
def _mantissa(count: int, runs: int) -> Any:
    bits = (100 * _unit(runs) - 50).view(np.uint64) & ~np.uint64(15) | np.uint64(count & 15)
    return bits.view(np.float64)


@leak("the lowest bits of an integer beyond 2^53")
def _beyond(count: int, runs: int) -> Any:
    return (_noise(runs) << 40) + (1 << 60) + count


@leak("a whole number of 100 bits")
def _hundred(count: int, runs: int) -> Any:
    return [
        (int(noise) << 90) + (int(mask) << 8) + count for noise, mask in zip(_noise(runs), _words(runs), strict=True)
    ]


# ---------------------------------------------------------------- relations between entries


@leak("xor with a mask of 32 bits")
def _xor(count: int, runs: int) -> Any:
    mask = _mask(runs, 32)
    return _rows(mask, mask ^ count)


@leak("xor with a mask of 64 bits")
def _long_xor(count: int, runs: int) -> Any:
    mask = _words(runs)
    return _rows(mask, mask ^ np.uint64(count))


@leak("xor with two masks")
def _two_masks(count: int, runs: int) -> Any:
    one, other = _mask(runs, 40), _mask(runs, 40)
    return _rows(one, other, one ^ other ^ count)


@leak("xor of nine shares")
def _shares(count: int, runs: int) -> Any:
    masks = [_mask(runs, 30) for _ in range(8)]
    return _rows(*masks, np.bitwise_xor.reduce(masks) ^ count)


@leak("shares that add up mod 2^32")
def _added_shares(count: int, runs: int) -> Any:
    mask = _mask(runs, 32)
    return _rows(mask, (count - mask) % 2**32)


@leak("the same noise twice")
def _twice(count: int, runs: int) -> Any:
    noise = _noise(runs)
    return _rows(noise, count + noise)


@leak("the same real noise in two of nine entries")
def _twice_of_nine(count: int, runs: int) -> Any:
    drawn = 1e4 * _unit(runs, 9)
    drawn[:, 6] = drawn[:, 1] + count
    return drawn


@leak("the same noise three times as wide")
def _wider(count: int, runs: int) -> Any:
    noise = 1e4 * _unit(runs)
    return _rows(noise, count + 3 * noise)


@leak("the sum of two noises")
def _sum(count: int, runs: int) -> Any:
    one, other = _noise(runs), _noise(runs)
    return _rows(one, other, one + other + count)


@leak("the mean of five noises")
def _mean(count: int, runs: int) -> Any:
    drawn = 1e4 * _unit(runs, 5)
    return np.column_stack([drawn, drawn.mean(axis=1) + count])


@leak("a product with a mask")
def _product(count: int, runs: int) -> Any:
    mask = 1 + _mask(runs, 20)
    return _rows(mask, mask * count)


@leak("the residue of a difference")
def _difference(count: int, runs: int) -> Any:
    mask = _mask(runs, 30)
    return _rows(mask, mask + count + 5 * _noise(runs))


@leak("equal entries")
def _equal(count: int, runs: int) -> Any:
    one, other = _mask(runs, 30), _mask(runs, 30)
    return _rows(one, one if count % 2 else other)


@leak("which entry is larger")
def _larger(count: int, runs: int) -> Any:
    both = np.sort(_rows(_mask(runs, 30), _mask(runs, 30)), axis=1)
    return both if count % 2 else both[:, ::-1]


@leak("where the largest entry stands")
def _largest(count: int, runs: int) -> Any:
    drawn = np.sort(_unit(runs, 8), axis=1)
    drawn[:, :7] = np.take_along_axis(drawn[:, :7], _unit(runs, 7).argsort(axis=1), axis=1)
    return np.roll(drawn, count, axis=1)


@leak("a list in order")
def _order(count: int, runs: int) -> Any:
    drawn = _unit(runs, 20)
    return (np.sort(drawn, axis=1) if count % 2 else drawn).tolist()


@leak("a value twice in a list")
def _repeated(count: int, runs: int) -> Any:
    drawn = _unit(runs, 20)
    at = _unit(runs, 20).argsort(axis=1)
    if count % 2:
        drawn[np.arange(runs), at[:, 0]] = drawn[np.arange(runs), at[:, 1]]
    return drawn


@leak("how long a list is")
def _length(count: int, runs: int) -> Any:
    return [row[: count % 5 + 1].tolist() for row in _unit(runs, 5)]


# ---------------------------------------------------------------- texts, keys and types


@leak("a text that ends with the count")
def _end(count: int, runs: int) -> Any:
    return [f"{mask:x} people: {count}" for mask in _words(runs).tolist()]


@leak("a text that begins with a letter")
def _begin(count: int, runs: int) -> Any:
    return [f"{'AB'[count % 2]}{mask:x}" for mask in _words(runs).tolist()]


@leak("the length of a text")
def _text_length(count: int, runs: int) -> Any:
    return [f"{mask:016x}"[: 10 + count % 5] for mask in _words(runs).tolist()]


@leak("capitals of a text")
def _capitals(count: int, runs: int) -> Any:
    return [(str.upper if count % 2 else str.lower)(f"{mask:016x}") for mask in _words(runs).tolist()]


@leak("a number in random text")
def _inside(count: int, runs: int) -> Any:
    return [f"run {mask:x}: {count} people, of {mask % 10**6} asked" for mask in _words(runs).tolist()]


@leak("bytes with a random part")
def _bytes(count: int, runs: int) -> Any:
    return [mask.to_bytes(8, "big") + bytes([count]) for mask in _words(runs).tolist()]


@leak("the order of keys")
def _keys(count: int, runs: int) -> Any:
    names = ("yes", "no") if count % 2 else ("no", "yes")
    return [dict.fromkeys(names, noise) for noise in _noise(runs).tolist()]


@leak("a key that is there or not")
def _key(count: int, runs: int) -> Any:
    return [{"noisy": noise} | ({"odd": 0} if count % 2 else {}) for noise in _noise(runs).tolist()]


@leak("int or float")
def _type(count: int, runs: int) -> Any:
    return [(int if count % 2 else float)(noise) for noise in _noise(runs).tolist()]


@leak("the digits of a decimal")
def _digits(count: int, runs: int) -> Any:
    return [Decimal(noise) * Decimal("1.0" if count % 2 else "1.00") for noise in _noise(runs).tolist()]


@leak("a list or a tuple")
def _kind(count: int, runs: int) -> Any:
    return [(list if count % 2 else tuple)([noise, noise]) for noise in _noise(runs).tolist()]


@leak("the sign of zero")
def _zero(count: int, runs: int) -> Any:
    return np.where(_unit(runs) < 0.5, math.copysign(0.0, count % 2 - 0.5), _unit(runs))


@leak("the bits of NaN")
def _nan(count: int, runs: int) -> Any:
    (told,) = struct.unpack("<d", struct.pack("<Q", 0x7FF8000000000000 | count))
    return np.full((runs, 2), told) + 0 * _unit(runs, 1)
