"""Selection of candidates, points and winners, as the contract suite sees it."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from itertools import combinations, pairwise, permutations
from typing import Any

import numpy as np
from flint import arb

from dither.adjacency import ADD_REMOVE, REPLACE_ONE
from dither.mechanisms import Exponential, Mechanism, MetricExponential, NoisyMax, TopK
from dither.mechanisms.piecewise_scores import Pieces
from dither.noise.race import Race, Scores
from tests.mechanisms.batches import Batch, Words, race_batch, winners
from tests.mechanisms.mechanism_case import Case, ErrorLaw, Errors
from tests.oracle.neighbours import Neighbours, moved
from tests.oracle.selections import Law, exponential, laplace_max, peeled, permute_and_flip

__all__ = ["BAD", "CASES", "refused"]

BAD = (0, -1, math.nan, math.inf, None, True, "1e999")
_SCORES = [0.0, 2.5, 1.0, -3.0]
_BAD_SCORES: Sequence[Any] = (
    [],
    [math.nan, 1.0],
    [math.inf, 1.0],
    [-math.inf] * 4,
    3.0,
    ["a", "b"],
    [True, False, True, True],
    [[1.0], [2.0]],
)


def refused(make: Callable[..., Mechanism], names: Sequence[str], **usual: Any) -> list[Callable[[], object]]:
    """Each of the named parameters in turn set to each bad value."""
    return [lambda name=name, bad=bad: make(**{**usual, name: bad}) for name in names for bad in BAD]  # type: ignore[misc]


def _selection(make: Callable[..., Mechanism], **more: Any) -> list[Callable[[], object]]:
    return [
        *refused(make, ("sensitivity", "epsilon"), sensitivity=1, epsilon=1, **more),
        lambda: make(sensitivity=1, epsilon=1, scale=1, **more),
        lambda: make(sensitivity=1, epsilon=1, monotone=1, **more),
        lambda: make(sensitivity=1, epsilon=1, candidates=0, **more),
        lambda: make(sensitivity=1, epsilon=1, candidates=2.5, **more),
        lambda: make(sensitivity=1e300, epsilon=1e-300, **more),
    ]


# ------------------------------------------------------------------- privacy


def _exact(*numbers: float) -> tuple[Fraction, ...]:
    return tuple(Fraction(x) for x in numbers)


def _few(scale: Fraction) -> list[tuple[Fraction, ...]]:
    """Equal scores, scores in order, and a best one so far ahead that the others have their full loss."""
    return [_exact(0, 0, 0), _exact(2, 1, 0), _exact(40, 0, 0), (1_000 * scale, Fraction(0))]


def _all_gaps(scale: Fraction) -> list[tuple[Fraction, ...]]:
    """Two candidates at every distance, in twentieths of a scale: every share of the mass may rise."""
    return [(scale * k / 20, Fraction(0)) for k in range(-160, 161)]


def _selecting(
    law: Callable[[Fraction], Law], scale: Fraction, reach: int, *, monotone: bool = False, whole: bool = False
) -> Neighbours[Any]:
    """Neighbours of few scores; of all distances between two, where a whole curve is promised."""
    bases = _few(scale) + (_all_gaps(scale) if whole else [])
    return Neighbours(law(scale), list(moved(bases, Fraction(reach), monotone=monotone)))


# -------------------------------------------------------------------- errors


def _law_of(chances: Sequence[arb], errors: Iterable[Fraction], one: float | None = None) -> ErrorLaw:
    pairs = [(float(error), float(p)) for error, p in zip(errors, chances, strict=True)]
    return ErrorLaw(
        lambda x: math.fsum(p for error, p in pairs if error > x), math.fsum(error * p for error, p in pairs), one
    )


def _beyond(make: Callable[[], Mechanism]) -> float:
    """A little more than the error that a mechanism announces: there it is hardest."""
    return make().error(0.05) * (1 + 1e-9)


def _drawn(make: Callable[[], Mechanism], law: Law) -> dict[str, Any]:
    """The best of four, where the others are a little more than its bound below: it loses with probability β."""

    @functools.cache
    def scores() -> list[float]:
        return [0.0, *[-_beyond(make)] * 3]

    def errors(mechanism: Any, words: Words) -> Errors:
        known = Scores.of(scores())
        gaps: Errors = np.abs(known.values)
        return gaps[winners(Race(mechanism._noise, mechanism.scale), known, words)]

    return {
        "errors": race_batch(4, errors, lambda mechanism: abs(scores()[mechanism.release(scores()).value])),
        "error_law": lambda: _law_of(law(_exact(*scores())), (-q for q in _exact(*scores()))),
        "mean_is_exact": False,  # the worst mean has other scores
    }


_PARTS = [3, 1, 0.5, 2]


def _weighted_errors() -> Batch:
    """With base weights, for scores in hand: `error` does not speak of them."""

    def errors(mechanism: Any, words: Words) -> Errors:
        known = Scores.of(_SCORES, _PARTS)
        return max(_SCORES) - known.values[winners(Race("gumbel", mechanism.scale), known, words)]

    return race_batch(4, errors, lambda mechanism: 2.5 - _SCORES[mechanism.release(_SCORES, weights=_PARTS).value])


_EDGES, _HEIGHTS = [0.0, 1.0, 3.0, 3.5], [0.0, -2.0, 1.5]


def _interval_errors() -> Batch:
    def errors(mechanism: Any, words: Words) -> Errors:
        pieces = Pieces.of(_EDGES, _HEIGHTS)
        return max(_HEIGHTS) - pieces.scores.values[winners(Race("gumbel", mechanism.scale), pieces.scores, words)]

    def one(mechanism: Any) -> float:
        point = mechanism.release_interval(_EDGES, _HEIGHTS).value
        return max(_HEIGHTS) - _HEIGHTS[min(2, int(np.searchsorted(_EDGES, point, side="right")) - 1)]

    return race_batch(3, errors, one)


def _moving_edge(scale: Fraction, reach: Fraction) -> Neighbours[Any]:
    """Data are an edge in [0, 1], and the heights before and after it. No height moves by more than `reach`: the edge
    stays and both heights move, or the edge moves, as for a median. Both edges cut the interval into cells.
    """
    zero, places = Fraction(0), [Fraction(k, 100) for k in range(1, 100)]
    narrow = [Fraction(1, 10**6), *(Fraction(k, 4_000) for k in range(1, 100))]
    pairs = [((a, zero, zero), (a, reach, -reach)) for a in narrow + places]
    pairs += [((a, zero, reach), (b, zero, reach)) for a, b in combinations(places[::9], 2)]

    def law(data: tuple[tuple[Fraction, ...], tuple[Fraction, ...]]) -> list[arb]:
        cells, (edge, before, after) = data
        widths = [end - start for start, end in pairwise(cells)]
        return exponential(scale, widths)(tuple(before if start < edge else after for start in cells[:-1]))

    def cut(one: tuple[Fraction, ...], other: tuple[Fraction, ...]) -> tuple[Fraction, ...]:
        return tuple(sorted({zero, one[0], other[0], Fraction(1)}))

    return Neighbours(law, [((cut(a, b), a), (cut(a, b), b)) for a, b in pairs])


# ------------------------------------------------------------------ noisy max

_NOISY_MAX: dict[str, Callable[[Fraction], Law]] = {
    "gumbel": exponential,
    "exponential": permute_and_flip,
    "laplace": laplace_max,
}


def _noisy_max(noise: Any) -> Case:
    def make(sensitivity: str = "2", epsilon: str = "0.7") -> NoisyMax:
        return NoisyMax(sensitivity=sensitivity, epsilon=epsilon, noise=noise, candidates=4)

    scale = Fraction(40, 7)
    truth = _selecting(_NOISY_MAX[noise], scale, 2, whole=noise == "gumbel")
    return Case(
        name=f"noisy max, {noise}",
        make=make,
        value=_SCORES,
        refused_builds=[
            *_selection(NoisyMax, noise=noise),
            lambda: NoisyMax(sensitivity=1, epsilon=1, noise="cauchy"),  # type: ignore[arg-type]
        ],
        refused_values=[*_BAD_SCORES, [1.0, 2.0, 3.0]],
        profile=truth.profile,
        slack=1e-3 if noise == "gumbel" else math.inf,
        epsilons=(0.0, 0.1, 0.5, 0.69, 1.0),
        largest_loss=lambda: truth.largest_loss,
        quieter=lambda: make(sensitivity="1.8"),
        louder=lambda: make(epsilon="7/11"),
        **_drawn(make, _NOISY_MAX[noise](scale)),
    )


# --------------------------------------------------------------- the best two


def _two_best(noise: Any) -> Case:
    def make(sensitivity: str = "1", epsilon: str = "1") -> TopK:
        return TopK(count=2, sensitivity=sensitivity, epsilon=epsilon, noise=noise, candidates=4)

    @functools.cache
    def scores() -> list[float]:
        x = _beyond(make)
        return [0.0, 0.0, -x, -x]

    def error(known: Sequence[float], first: int, second: int) -> float:
        """How far the winner of a round is below the best who was left, in the worse of both rounds."""
        left = max(score for i, score in enumerate(known) if i != first)
        return max(max(known) - known[first], left - known[second])

    def errors(mechanism: Any, words: Words) -> Errors:
        race, known = Race(mechanism.each.noise, mechanism.each.scale), Scores.of(scores())
        first, found = winners(race, known, words[:, :4]), np.empty(len(words))
        for i in range(4):
            mine = np.flatnonzero(first == i)
            second = winners(race, known.without([i]), words[mine, 4:])
            found[mine] = np.array([error(scores(), i, j) for j in range(4)])[second]
        return found

    law = _NOISY_MAX[noise](Fraction(4))
    bases = [_exact(0, 0, 0), _exact(2, 1, 0), _exact(8_000, 4_000, 0)]
    truth = Neighbours(peeled(law, 2), list(moved(bases, Fraction(1))))

    def error_law() -> ErrorLaw:
        exact = _exact(*scores())
        pairs = [Fraction(error(scores(), *pair)) for pair in permutations(range(4), 2)]
        return _law_of(peeled(law, 2)(exact), pairs, one=_law_of(law(exact), (-q for q in exact)).mean)

    return Case(
        name=f"the best two, {noise}",
        make=make,
        value=_SCORES,
        refused_builds=[
            *refused(TopK, ("count", "sensitivity", "epsilon"), count=2, sensitivity=1, epsilon=1),
            lambda: TopK(count=3, sensitivity=1, epsilon=1, candidates=2),
        ],
        refused_values=[*_BAD_SCORES, [1.0, -math.inf, -math.inf, -math.inf]],
        profile=truth.profile,
        slack=math.inf,
        epsilons=(0.0, 0.1, 0.5, 1.0),
        largest_loss=lambda: truth.largest_loss,
        quieter=lambda: make(sensitivity="0.9"),
        louder=lambda: make(epsilon="10/11"),
        errors=race_batch(7, errors, lambda mechanism: error(scores(), *mechanism.release(scores()).value)),
        error_law=error_law,
        error_is_exact=False,  # β is shared between the rounds
        mean_is_exact=False,
    )


# --------------------------------------------------------------- metric spaces


def _around(x: int, y: int) -> int:
    return min((x - y) % 7, (y - x) % 7)


def _crowd(x: int, y: int) -> Fraction:
    """The points 1, 2, … are 1/50 apart, and 0 is 2 away from the first of them and 2 + 1/50 from the others."""
    apart = Fraction(int(x != y), 50)
    return apart if x and y else Fraction(2 * (x != y)) + apart * (max(x, y) > 1)


def _metric(
    name: str,
    distance: Callable[[int, int], Any],
    points: int,
    reach: int,
    epsilon: int,
    scale: Fraction,
    worst: int,
    **more: Any,
) -> Case:
    """`worst` is the point from which errors are largest."""

    def law(x: int) -> list[arb]:
        return exponential(scale)(tuple(-Fraction(distance(x, y)) for y in range(points)))

    def make(sensitivity: Fraction = Fraction(reach), budget: Fraction = Fraction(epsilon)) -> MetricExponential:
        return MetricExponential(
            points=range(points), distance=distance, sensitivity=sensitivity, epsilon=budget, adjacency=REPLACE_ONE
        )

    def errors(mechanism: Any, words: Words) -> Errors:
        row = mechanism.distances[worst]
        found = winners(Race("gumbel", mechanism.scale), Scores.of([-d for d in row]), words)
        return np.array(row, dtype=np.float64)[found]

    truth = Neighbours(law, [(x, y) for x, y in combinations(range(points), 2) if distance(x, y) <= reach])
    return Case(
        name=name,
        make=make,
        profile=truth.profile,
        slack=math.inf,
        epsilons=(0.0, 0.5, 0.8, 0.99, 1.0, 2.0),
        largest_loss=lambda: truth.largest_loss,
        quieter=lambda: make(sensitivity=reach * Fraction(9, 10)),
        louder=lambda: make(budget=epsilon * Fraction(10, 11)),
        errors=race_batch(points, errors, lambda mechanism: float(distance(worst, mechanism.release(worst).value))),
        error_law=lambda: _law_of(law(worst), (Fraction(distance(worst, y)) for y in range(points))),
        **more,
    )


def _usual(sensitivity: str = "1", epsilon: str = "1") -> Exponential:
    return Exponential(sensitivity=sensitivity, epsilon=epsilon, candidates=4, adjacency=ADD_REMOVE)


def _monotone(scale: str = "2") -> Exponential:
    return Exponential(sensitivity=3, scale=scale, monotone=True, candidates=4)


_usual_truth = _selecting(exponential, Fraction(2), 1, whole=True)
_monotone_truth = _selecting(exponential, Fraction(2), 3, monotone=True, whole=True)
_weighted_truth = Neighbours(
    exponential(Fraction(2), _exact(3, 1)), list(moved([*_all_gaps(Fraction(2)), _exact(4_000, 0)], Fraction(1)))
)
_interval_truth = _moving_edge(Fraction(2), Fraction(1))

CASES: list[Case] = [
    Case(
        name="exponential",
        make=_usual,
        value=_SCORES,
        refused_builds=_selection(Exponential),
        refused_values=[*_BAD_SCORES, [1.0, 2.0, 3.0]],
        profile=_usual_truth.profile,
        slack=1e-3,
        largest_loss=lambda: _usual_truth.largest_loss,
        quieter=lambda: _usual(sensitivity="0.9"),
        louder=lambda: _usual(epsilon="10/11"),
        **_drawn(_usual, exponential(Fraction(2))),
    ),
    Case(
        name="exponential, monotone, from a scale",
        make=_monotone,
        value=_SCORES,
        refused_builds=refused(Exponential, ("scale",), sensitivity=1, scale=1),
        refused_values=_BAD_SCORES,
        profile=_monotone_truth.profile,
        slack=1e-3,
        largest_loss=lambda: _monotone_truth.largest_loss,
        quieter=lambda: _monotone("1.8"),
        louder=lambda: _monotone("2.2"),
        **_drawn(_monotone, exponential(Fraction(2))),
    ),
    Case(
        name="exponential, with weights",
        make=_usual,
        value=(_SCORES, _PARTS),
        release=lambda mechanism, value: mechanism.release(value[0], weights=value[1]),
        refused_builds=_selection(Exponential),
        refused_values=[(_SCORES, bad) for bad in ([1, 1, 1], [0, 1, 1, 1], [-1, 1, 1, 1], [math.nan] * 4, ["a"] * 4)],
        profile=_weighted_truth.profile,
        slack=1e-3,
        largest_loss=lambda: _weighted_truth.largest_loss,
        quieter=lambda: _usual(sensitivity="0.9"),
        louder=lambda: _usual(epsilon="10/11"),
        errors=_weighted_errors(),
        error_law=lambda: _law_of(
            exponential(Fraction(2), _exact(*_PARTS))(_exact(*_SCORES)), (Fraction(5, 2) - q for q in _exact(*_SCORES))
        ),
        bound=lambda mechanism: 2.0,
    ),
    Case(
        name="exponential, on an interval",
        make=_usual,
        value=(_EDGES, _HEIGHTS),
        release=lambda mechanism, value: mechanism.release_interval(*value),
        refused_builds=_selection(Exponential),
        refused_values=[
            *((_EDGES, bad) for bad in ([1.0, 2.0], [math.nan, 1.0, 2.0], [math.inf, 1.0, 2.0], [-math.inf] * 3)),
            *((bad, _HEIGHTS) for bad in ([0, 1, math.nan, 4], [0, 2, 1, 3], [1, 1, 1, 1], [0, 1, 2, 1e301], [0, 1])),
        ],
        profile=_interval_truth.profile,
        slack=1e-3,
        epsilons=(0.0, 0.1, 0.5, 0.95, 1.0),
        largest_loss=lambda: _interval_truth.largest_loss,
        quieter=lambda: _usual(sensitivity="0.9"),
        louder=lambda: _usual(epsilon="10/11"),
        errors=_interval_errors(),
        error_law=lambda: _law_of(
            exponential(Fraction(2), _exact(1, 2, 0.5))(_exact(*_HEIGHTS)),
            (Fraction(3, 2) - q for q in _exact(*_HEIGHTS)),
        ),
        bound=lambda mechanism: 2.0,
    ),
    *(_noisy_max(noise) for noise in ("exponential", "laplace", "gumbel")),
    *(_two_best(noise) for noise in ("exponential", "laplace", "gumbel")),
    _metric(
        "metric, on a circle",
        _around,
        points=7,
        reach=1,
        epsilon=1,
        scale=Fraction(1),
        worst=3,
        value=3,
        refused_builds=[
            *refused(
                MetricExponential, ("sensitivity", "epsilon"), points=[0, 1], distance=_around, sensitivity=1, epsilon=1
            ),
            lambda: MetricExponential(points=[], distance=_around, sensitivity=1, epsilon=1),
            lambda: MetricExponential(points=[1, 1], distance=_around, sensitivity=1, epsilon=1),
            lambda: MetricExponential(points=[0, 1], distance=[[0, 1], [2, 0]], sensitivity=1, epsilon=1),
            lambda: MetricExponential(points=[0, 1], distance=[[0, 0], [0, 0]], sensitivity=1, epsilon=1),
            lambda: MetricExponential(points=[0, 1], distance=[[1, 1], [1, 1]], sensitivity=1, epsilon=1),
            lambda: MetricExponential(points=[0, 1], distance=[[0, 1]], sensitivity=1, epsilon=1),
            lambda: MetricExponential(points=[0, 1, 2], distance=lambda x, y: (x - y) ** 2, sensitivity=1, epsilon=1),
        ],
        refused_values=[7, -1, "a", None, math.nan],
    ),
    _metric(
        "metric, on a crowd",
        _crowd,
        points=16,
        reach=2,
        epsilon=2,
        scale=Fraction(2),
        worst=0,
        value=0,
        beta=0.8,  # at a smaller one the bound is the largest distance, which nothing misses
        refused_builds=refused(MetricExponential, ("scale",), points=[0, 1], distance=_around, sensitivity=1, scale=1),
        refused_values=[16],
    ),
]
