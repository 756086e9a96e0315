"""What may differ between neighbours in a call of each kind, and what that difference costs.

Each rule gets two calls of the same kind with the same terms. It raises `Difference` if the values that went in differ
by more than the call was made for, and otherwise returns events that cost no less than telling these two values apart:
the noise that was drawn, on a value of the sensitivity that was seen. Values that do not differ cost nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from dither.audit.replay.calls import Call, Difference
from dither.continual.discovery_threshold import KeySelection, probability_shown
from dither.events import Event, GaussianNoise, LaplaceNoise, Repeated, Selection, StaircaseNoise, Stated
from dither.exact import ball, precision
from dither.exact.certified import above, fraction_above, sqrt
from dither.noise.race import Scores, numbers
from dither.sensitivity import SMOOTH_EXCESS

__all__ = ["RULES", "added"]

Pair = tuple[Call, Call]


def _refuse(words: str, *pair: Call) -> Difference:
    return Difference(f"in a call of the kind '{pair[0].kind}' {words}.", (pair[0], pair[1]))


# --------------------------------------------------------------------------- added


def _added(first: Call, second: Call) -> list[Event]:
    terms = first.terms
    shapes = np.shape(first.values), np.shape(second.values)
    if shapes[0] != shapes[1]:
        raise _refuse("the values have another shape", first, second)
    left, right = (_steps(call.values, terms["grid"]) for call in (first, second))
    return added(terms, [a - b for a, b in zip(left, right, strict=True)], (first, second))


def added(terms: dict[str, Any], moved: Sequence[int], pair: Pair) -> list[Event]:
    """Noise on values that `moved` by so many steps each."""
    event, grid, law = terms["event"], terms["grid"], terms["law"]
    step = Fraction(1) if grid is None else grid.step
    _wide_enough(event, law, step, pair)
    distance, square, count = sum(map(abs, moved)), sum(x * x for x in moved), sum(x != 0 for x in moved)
    if not count:
        return []
    if isinstance(event, GaussianNoise):
        return _gaussian(event, grid, len(moved), square, count, pair)
    assert isinstance(event, LaplaceNoise | StaircaseNoise), "noise of which no rule is known"
    if distance * step > event.sensitivity * (2 if pair[0].is_half else 1):  # what moved is what is paid for
        said = _said(event, event.sensitivity, 1, pair)
        raise _refuse(f"the values moved by more than the sensitivity {said}", *pair)
    return [replace(event, sensitivity=distance * step) if isinstance(event, LaplaceNoise) else event]


def _gaussian(event: GaussianNoise, grid: Any, size: int, square: int, count: int, pair: Pair) -> list[Event]:
    if grid is not None:  # continuous noise that dominates: the sensitivity of the event is that before rounding
        root = Fraction(above(lambda: sqrt(event.sensitivity_squared)))
        if square > math.ceil(grid.l2_steps(root, size) ** 2):
            raise _refuse("the values moved by more than the sensitivity of the noise", *pair)
        return [event]
    if square > event.sensitivity_squared:
        said = _said(event, event.sensitivity_squared, 2, pair)
        raise _refuse(f"the values moved by more than {said}", *pair)
    if count > event.dimension:
        raise _refuse(f"more than {event.dimension} coordinates moved", *pair)
    return [replace(event, sensitivity_squared=Fraction(square), dimension=count)]


def _said(event: Event, amount: Fraction, power: int, pair: Pair) -> str:
    """A sensitivity, or its square. Sums of a table are in steps; messages give them in the unit of the column too."""
    words = f"{amount}{', squared' if power == 2 else ''}"
    units = pair[0].units.get(event, frozenset({Fraction(1)}))
    if units == {1}:
        return words
    if len(units) > 1:
        return f"{words}, in steps of the sum of a column"
    (unit,) = units
    own = amount * unit**power
    return f"{words}, that is {own if own.denominator == 1 else f'{float(own):.6g}'} in the unit of the column"


def _wide_enough(event: Event, law: Any, step: Fraction, pair: Pair) -> None:
    """The law that is drawn is at least as wide as the event says."""
    if isinstance(event, LaplaceNoise):
        enough = law.scale * step >= event.scale
    elif isinstance(event, GaussianNoise):
        enough = law.variance * step**2 >= event.variance
    else:
        enough = True
    if not enough:
        raise _refuse("the noise is narrower than the event says", *pair)


def _steps(values: Any, grid: Any) -> list[int]:
    if grid is not None:
        return [int(x) for x in np.ravel(grid.round(values))]
    return [int(x) for x in np.ravel(np.asarray(values, dtype=object))]


# ----------------------------------------------------------------------- selection


def _selection(first: Call, second: Call) -> list[Event]:
    left, right = first.values, second.values
    assert isinstance(left, Scores)
    weights = [None if each.weights is None else each.weights.tolist() for each in (left, right)]
    if len(left) != len(right) or weights[0] != weights[1]:
        raise _refuse("the number of candidates or their weights depend on data", first, second)
    pairs = set(zip(left.values.tolist(), right.values.tolist(), strict=True))
    if any((a == -math.inf) != (b == -math.inf) for a, b in pairs):
        raise _refuse("who can win depends on data", first, second)
    return _scores([Fraction(a) - Fraction(b) for a, b in pairs if a != -math.inf], first, second)


def _point(first: Call, second: Call) -> list[Event]:
    """Scores on pieces of an interval, compared at every place where a piece of either side begins."""
    left, right = (_pieces(call) for call in (first, second))
    if (left[0][0], left[0][-1]) != (right[0][0], right[0][-1]):
        raise _refuse("the ends of the interval depend on data", first, second)
    places = np.unique(np.concatenate([left[0], right[0]]))
    at = [np.minimum(np.searchsorted(side[0], places, side="right") - 1, len(side[1]) - 1) for side in (left, right)]
    pairs = set(zip(left[1][at[0]].tolist(), right[1][at[1]].tolist(), strict=True))
    return _scores([Fraction(a) - Fraction(b) for a, b in pairs], first, second)


def _place(first: Call, second: Call) -> list[Event]:
    """Scores on pieces of places, of which both sides know the measure: it is one of the public terms."""
    (left, high), (right, low) = first.values, second.values
    if (left[0], left[-1]) != (right[0], right[-1]):
        raise _refuse("the ends of the interval depend on data", first, second)
    places = np.unique(np.concatenate([left[:-1], right[:-1]]))
    at = [np.searchsorted(side, places, side="right") - 1 for side in (left, right)]
    pairs = set(zip(high[at[0]].tolist(), low[at[1]].tolist(), strict=True))
    return _scores([Fraction(a) - Fraction(b) for a, b in pairs], first, second)


def _pieces(call: Call) -> tuple[Any, Any]:
    edges, scores = call.values
    return numbers("edges", edges), numbers("scores", scores)


def _scores(moved: Sequence[Fraction], first: Call, second: Call) -> list[Event]:
    """The winner stays the same if all scores move alike: what is told is the spread of the moves over the scale."""
    mechanism = first.terms["mechanism"]
    high, low = max(moved), min(moved)
    if max(abs(high), abs(low)) > mechanism.sensitivity * (2 if first.is_half else 1):
        raise _refuse(f"a score moved by more than the sensitivity {mechanism.sensitivity}", first, second)
    if mechanism.monotone and low < 0 < high:
        raise _refuse("scores that are declared monotone moved both ways", first, second)
    if high == low:
        return []
    return [Selection(mechanism.scale, mechanism._noise, (high - low) / 2, False, None, mechanism.adjacency)]


def _metric(first: Call, second: Call) -> list[Event]:
    mechanism = first.terms["mechanism"]
    if mechanism.distances[first.values][second.values] > mechanism.sensitivity:
        raise _refuse(f"the point moved by more than the sensitivity {mechanism.sensitivity}", first, second)
    return [] if first.values == second.values else [mechanism.event]


def _vector(first: Call, second: Call) -> list[Event]:
    mechanism = first.terms["mechanism"]
    moved = [abs(a - b) for a, b in zip(first.values.tolist(), second.values.tolist(), strict=True)]
    most = mechanism._steps(mechanism.scale)
    if max(moved) > most if mechanism.norm == "linf" else sum(x * x for x in moved) > most**2:
        raise _refuse(f"the vector moved by more than the sensitivity {mechanism.sensitivity}", first, second)
    return [mechanism.event] if any(moved) else []


# ------------------------------------------------------------------------ the rest


def _response(first: Call, second: Call) -> list[Event]:
    if first.values.shape != second.values.shape:
        raise _refuse("the number of answers depends on data", first, second)
    changed = int((first.values != second.values).sum())
    event = first.terms["mechanism"].event
    return [] if not changed else [event if changed == 1 else Repeated(event, changed)]


def _table(first: Call, second: Call) -> list[Event]:
    mechanism, moved = first.terms["mechanism"], {first.values, second.values}
    if len(moved) == 2 and not any(moved == set(pair) for pair in mechanism.adjacent_rows):
        raise _refuse("the input moved to one that is not its neighbour", first, second)
    return [] if len(moved) == 1 else [mechanism.event]


def _free(first: Call, second: Call) -> list[Event]:
    return []


def _threshold(first: Call, second: Call) -> list[Event]:
    """The whole session is paid for when it starts."""
    return [first.terms["mechanism"].event]


def _asked(first: Call, second: Call) -> list[Event]:
    mechanism = first.terms["mechanism"]
    if abs(first.values - second.values) > mechanism._steps:
        raise _refuse(f"a value moved by more than the sensitivity {mechanism.sensitivity}", first, second)
    return []


def _test(first: Call, second: Call) -> list[Event]:
    """Test and answer are paid for together."""
    left, right = first.values, second.values
    if math.isinf(left) != math.isinf(right) or (not math.isinf(left) and abs(left - right) > 1):
        raise _refuse("the distance moved by more than 1", first, second)
    return [first.terms["mechanism"].event]


def _tested(first: Call, second: Call) -> list[Event]:
    """At distance 0 on both sides the value may jump: that such a test passes is what δ is for.

    A distance above 0 on either side says that the local sensitivity there is within the limit. Both sides are
    neighbours of each other, so the value moves by no more than the limit between them.
    """
    mechanism = first.terms["mechanism"]
    reals = mechanism._answer.for_reals
    (near, left), (far, right) = first.values, second.values
    moved = abs(reals.grid.round(left) - reals.grid.round(right)) * reals.grid.step
    allowed = reals.grid.l1_steps(mechanism.limit) * reals.grid.step
    if moved > allowed and max(near, far) > 0:
        raise _refuse(f"the value moved by more than the limit {mechanism.limit}", first, second)
    return []


def _smooth(first: Call, second: Call) -> list[Event]:
    """|f − f′| ≤ min(S, S′), and S and S′ differ by a factor of e^β at most, but for what the mechanism rounds."""
    mechanism = first.terms["mechanism"]
    (left, wide), (right, narrow) = first.values, second.values
    sizes = [min(Fraction(size), Fraction(mechanism._widest)) for size in (wide, narrow)]
    grid = mechanism._grid
    moved = abs(grid.round(left) - grid.round(right))
    if moved > math.ceil(min(sizes) / grid.step):
        raise _refuse("the value moved by more than the smooth sensitivity", first, second)
    with precision(128):
        most = ball(mechanism.smoothness).exp() * ball(1 + Fraction(SMOOTH_EXCESS)) * ball(min(sizes))
        if ball(max(sizes)) > most and max(sizes) > 2 * grid.step:
            raise _refuse("the smooth sensitivity changed by a larger factor than it may", first, second)
    return [mechanism.event] if first.values != second.values else []


def _discovered(first: Call, second: Call) -> list[Event]:
    """Counts of bins that are found: each moves by one at most, and no more of them than a neighbour has."""
    histogram = first.terms["histogram"]
    left, right = (_counts(call) for call in (first, second))
    moved = [left.get(name, 0) - right.get(name, 0) for name in left.keys() | right.keys()]
    changed(histogram, moved, (first, second))
    return [histogram.event] if any(moved) else []


def changed(histogram: Any, moved: Sequence[int], pair: Pair) -> None:
    """Refuse counts that moved in more bins than a neighbour has, or by more than one."""
    if any(abs(x) > 1 for x in moved):
        raise _refuse("a count moved by more than 1", *pair)
    if sum(map(abs, moved)) > histogram.moves:
        raise _refuse(f"more than {histogram.moves} counts moved", *pair)
    if histogram.moves == histogram.max_bins and 1 in moved and -1 in moved:
        raise _refuse("one count rose and another fell, where a record is only added or removed", *pair)


def _counts(call: Call) -> dict[Any, int]:
    """The count of each name; in a table, of each group and name."""
    if isinstance(call.values, list):
        parts = [_counts(replace(call, values=(values, people))) for people, values in call.values]
        return {(place, name): count for place, part in enumerate(parts) for name, count in part.items()}
    names, counts = call.values
    listed = names.to_pylist() if hasattr(names, "to_pylist") else names.tolist()
    return {repr(name): int(count) for name, count in zip(listed, counts.tolist(), strict=True) if count}


def _groups(first: Call, second: Call) -> list[Event]:
    """Groups that are found: a new one has one person, and what else is told of it is hidden with them."""
    terms, pair = first.terms, (first, second)
    left, right = (_rows(call) for call in pair)
    people, names = terms["people"], list(terms["noises"])
    place = names.index(people)
    nothing = [[0] * max(noise.width, 1) for noise in terms["noises"].values()]
    keys = left.keys() | right.keys()
    moves = [[[a - b for a, b in zip(one, other, strict=True)]
              for one, other in zip(left.get(key, nothing), right.get(key, nothing), strict=True)]
             for key in keys]  # fmt: skip
    changed(terms["histogram"], [move[place][0] for move in moves], pair)
    events: list[Event] = []
    for at, name in enumerate(names):
        noise = terms["noises"][name]
        found = added(
            {"event": noise.event, "law": noise.noising.law, "grid": None},
            [number for move in moves for number in move[at]], pair,
        )  # fmt: skip
        if name == people:
            found = _selected(terms["histogram"], found, sum(key not in left or key not in right for key in keys))
        events += found
    return events


def _selected(selection: Any, noise: list[Event], new: int) -> list[Event]:
    """What finding groups costs: all that is stated for it; over time, what this period takes of it.

    `noise` is that on the counts that moved, and `new` is how many groups are on one side alone.
    """
    if not isinstance(selection, KeySelection):
        return [selection.event] if noise else []
    if not new:
        return noise
    shown = fraction_above(lambda: probability_shown(selection.noising.law, selection.threshold, new))
    return [*noise, Stated("ApproxDP", (Fraction(0), shown), selection.adjacency)]


def _rows(call: Call) -> dict[str, list[list[int]]]:
    """Of each group its numbers, by the noise that they get; several may share one."""
    keys, names = call.terms["keys"], list(call.terms["noises"])
    rows = [row for batch in call.values for row in batch.to_pylist()]
    return {repr([row[key] for key in keys]): [_listed(row[name]) for name in names] for row in rows}


def _listed(number: Any) -> list[int]:
    return [int(each) for each in number] if isinstance(number, list) else [int(number)]


RULES: dict[str, Callable[[Call, Call], list[Event]]] = {
    "added": _added,
    "comparison": _asked,
    "discovered": _discovered,
    "groups": _groups,
    "keys": _free,
    "metric": _metric,
    "place": _place,
    "point": _point,
    "response": _response,
    "table": _table,
    "salt": _free,
    "selection": _selection,
    "smooth": _smooth,
    "test": _test,
    "tested": _tested,
    "threshold": _threshold,
    "told": _asked,
    "vector": _vector,
}
