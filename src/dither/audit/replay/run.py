"""Run a pipeline on two neighbouring inputs, the second time with the answers of the first."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pyarrow as pa

from dither.audit.replay.allowed_differences import RULES
from dither.audit.replay.calls import BitStream, Call, Difference, Recorder, Repeater
from dither.audit.replay.cost import exceeds
from dither.audit.replay.portrait import input_portrait, portrait
from dither.audit.replay.shown import check_shown
from dither.audit.replay.verdict import Replayed
from dither.continual.discovery_threshold import KeySelection
from dither.errors import ParameterError
from dither.events import Event
from dither.guarantees import Guarantee
from dither.mechanisms import Release
from dither.noise._replay import recording

__all__ = ["Recording", "replay"]


def replay(
    pipeline: Callable[[Any], Any],
    first: Any,
    second: Any,
    *,
    charged: Guarantee | None = None,
    seed: int = 0,
    worlds: Sequence[int] | None = None,
) -> Replayed:
    """Test that a pipeline treats two neighbouring inputs alike, up to what it charges.

    The pipeline runs on `first`, and everything that it draws is recorded. Then it runs on `second`, and every draw
    returns what was recorded. It must make the same calls, in the same order, with the same public parameters. The
    exact values that go into a call may differ by the sensitivity that the call states; all these differences together
    must cost no more than `charged`. The results must be equal, because they are made of the same answers.

    It is deterministic, and a tool for tests: start Python with DITHER_TEST_DOOR=open, without which recorded
    randomness is refused. A pass covers one pair of inputs and one run of answers: try many pairs.

    Parameters
    ----------
    pipeline : callable
        A function of one input that releases something.
    first : Any
        An input.
    second : Any
        A neighbouring input.
    charged : Guarantee, optional
        What the pipeline charges. By default the `guarantee` of what it returns.
    seed : int, default 0
        Chooses the run of answers.
    worlds : sequence of int, optional
        For tables, to compare many pairs in one run: to which pair of neighbours each group belongs, in the order of
        the groups. Where groups are found privately, the first key column is used instead: give none.

    Returns
    -------
    Replayed
        `passed`, and if not, `difference` in words and `witness` with the two calls.

    Raises
    ------
    ParameterError
        If `pipeline` is no function, `charged` is no guarantee, or the result is of a type that cannot be compared.
    EntropyError
        If Python was not started with DITHER_TEST_DOOR=open.

    Examples
    --------
    >>> ones = dp.Laplace(sensitivity=1, epsilon=1)  # doctest: +SKIP
    >>> print(replay(lambda x: ones.release(sum(x)), [1, 0, 1], [1, 0]))  # doctest: +SKIP
    the same up to what was charged; calls: 1
    >>> print(replay(lambda x: ones.release(sum(x)), [1, 0, 5], [1, 0]))  # doctest: +SKIP
    DIFFERENT: in a call of the kind 'added' the values moved by more than the sensitivity 1.
    """
    return Recording(pipeline, first, seed).replayed(second, charged=charged, worlds=worlds)


class Recording:
    """What a pipeline did on one input, to be compared with what it does on each of several neighbours."""

    def __init__(self, pipeline: Callable[[Any], Any], data: Any, seed: int = 0, *, tests_pass: bool = False) -> None:
        if not callable(pipeline):
            raise ParameterError(
                f"pipeline must be a function of one input, and is of the type {type(pipeline).__name__}. "
                "Give the function itself: replay(pipeline, first, second)."
            )
        self._pipeline, self._data = pipeline, data
        self._tape = Recorder(BitStream(seed), tests_pass=tests_pass)
        self._found: Difference | None = None
        try:
            self._result = _outcome(pipeline, data, self._tape)
        except Difference as found:
            self._found = found
            return
        stated = getattr(self._result, "guarantee", None)
        self._stated = stated if isinstance(stated, Guarantee) else None
        self._shown = _portrait(self._result)  # now: the pipeline may use the same object again

    def replayed(self, data: Any, *, charged: Guarantee | None = None, worlds: Sequence[int] | None = None) -> Replayed:
        """As `replay`: run on `data`, with the answers that were recorded, and compare."""
        if charged is not None and not isinstance(charged, Guarantee):
            raise ParameterError(
                f"charged must be a guarantee, and is of the type {type(charged).__name__}. "
                "Give what was charged, such as charged=dp.PureDP(1)."
            )
        calls = self._tape.calls
        try:
            if self._found is not None:
                raise self._found
            again, repeater = self._repeated(data)
            charged = charged if charged is not None else self._stated
            _compare(calls, repeater.calls, charged, worlds, _units(self._result))
            if not self._is_shown_by(again):
                raise Difference(self._apart(again))
            if repeater.warned != self._tape.warned and repeater.warned != self._repeated(self._data)[1].warned:
                raise Difference("other warnings are given on each side.")  # and not because some are given once
            self._try_what_lies_behind_tests(data, repeater.calls, charged)
        except Difference as found:
            return Replayed(False, found.words, len(calls), charged, None, found.witness)
        return Replayed(True, None, len(calls), charged, self._result)

    def _try_what_lies_behind_tests(self, data: Any, after: Sequence[Call], charged: Guarantee | None) -> None:
        """Replay once more as if tests had passed, where one did not at a distance above 0 on either side.

        A distance of 1 passes about as rarely as δ, so that no recorded run would ever come to the answer behind it,
        and a distance that is too large by one would never be seen. At distance 0 on both sides δ pays for whatever an
        answer reveals, so that nothing is asked there.
        """
        if self._tape.tests_pass:
            return
        failed = [pair for pair in zip(self._tape.calls, after, strict=True) if pair[0].is_test and not pair[0].answer]
        if any(first.values > 0 for first, _ in failed):
            here, there = self._data, data
        elif any(second.values > 0 for _, second in failed):
            here, there = data, self._data
        else:
            return
        seed = self._tape.stream.seed
        found = Recording(self._pipeline, here, seed, tests_pass=True).replayed(there, charged=charged)
        if found.difference is not None:
            raise Difference(found.difference, found.witness)

    def _repeated(self, data: Any) -> tuple[Any, Repeater]:
        tape = self._tape
        repeater = Repeater(BitStream(tape.stream.seed), first=tape.calls, tests_pass=tape.tests_pass)
        return _outcome(self._pipeline, data, repeater), repeater

    def _is_shown_by(self, again: Any) -> bool:
        """Whether another run shows what the first did; refused if that cannot be seen."""
        shown = _portrait(again)
        for each in (self._shown, shown):
            if isinstance(each, ParameterError):
                raise each
        return bool(self._shown == shown)

    def _apart(self, again: Any) -> str:
        """How the results differ. The first input is tried once more: what differs there too comes not from data."""
        try:
            is_steady = self._is_shown_by(self._repeated(self._data)[0])
        except Difference:
            is_steady = False
        if not is_steady:
            return (
                "the results differ even between two runs on the first input with the same answers: the time, "
                "randomness of its own or what is left of earlier runs is in them. Leave it out, and replay again."
            )
        errors = [isinstance(each, Exception) for each in (self._result, again)]
        if errors[0] != errors[1]:
            return "an error is raised on one side only."
        if errors[0]:
            return "another error, or another message, is raised on each side."
        if _account(self._result) != _account(again):
            return "the two inputs have accounts of other names in the ledger, which a release shows. Give identity=."
        return "the results differ although every answer was the same: something exact is shown."


def _portrait(result: Any) -> Any:
    """Describe the result, or return why it cannot be; that is raised later, as calls that differ are worse."""
    try:
        return portrait(result)
    except ParameterError as error:
        return error


def _account(result: Any) -> Any:
    """The name of an account, which a release shows, or its certificate."""
    return result.get("account") if isinstance(result, dict) else getattr(getattr(result, "entry", None), "account", "")


def _outcome(pipeline: Callable[[Any], Any], data: Any, tape: Recorder) -> Any:
    """The result, or the error: both are seen. Data that can be changed in place must be as they were."""
    before = input_portrait(data)
    with recording(tape.stream, tape), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        warnings.simplefilter("ignore", ResourceWarning)  # given when memory is cleared, whatever the data
        try:
            outcome = pipeline(data)
        except Exception as error:
            outcome = error
    if tape.stream.found is not None:
        raise tape.stream.found
    tape.warned = [str(each.message) for each in warned]
    if input_portrait(data) != before:
        raise Difference("the pipeline changed its input, and what runs next sees other data. Work on a copy.")
    return outcome


def _units(result: Any) -> dict[Event, frozenset[Fraction]]:
    """What 1 stands for in the columns that noise is added to; one law of noise may hide several.

    Only a release of a table has a plan with parts. (Its class would bring all of the engine with it.)
    """
    found: dict[Event, frozenset[Fraction]] = defaultdict(frozenset)
    for part in getattr(getattr(result, "plan", None), "parts", {}).values() if isinstance(result, Release) else ():
        found[part.noise.event] |= {getattr(getattr(part.need, "measure", None), "unit", Fraction(1))}
    return found


def _compare(
    before: Sequence[Call],
    after: Sequence[Call],
    charged: Guarantee | None,
    worlds: Sequence[int] | None,
    units: Mapping[Event, frozenset[Fraction]],
) -> None:
    if len(before) > len(after):
        raise Difference(f"{len(before)} calls on one side, and {len(after)} on the other.")
    spent: dict[Any, list[Event]] = defaultdict(list)
    signs: dict[Any, set[bool]] = defaultdict(set)
    for first, second in zip(before, after, strict=True):
        if first.kind not in RULES:
            raise ParameterError(f"there is no rule for calls of the kind '{first.kind}'. Known: {', '.join(RULES)}.")
        check_shown(first)
        first = replace(first, is_half=_is_half(first, charged), units=units)
        for world, left, right in _by_world(first, second, worlds):
            spent[world] += RULES[left.kind](left, right)
            _one_direction(signs, left, right)
        if worlds is not None and isinstance(first.terms.get("histogram"), KeySelection):
            worlds = [*worlds, *_found_worlds(first)]
    for events in spent.values():
        if charged is not None and exceeds(events, charged):
            raise Difference(f"the calls cost more than was charged, {charged}.")


def _is_half(call: Call, charged: Guarantee | None) -> bool:
    """Where records are replaced, one may leave and another enter a part: each is paid for as if on its own."""
    made_for = getattr(call.terms.get("mechanism") or call.terms.get("event"), "adjacency", None)
    if charged is None or charged.adjacency is None or made_for is None:
        return False
    return bool(charged.adjacency.change == "replace" and made_for.change == "add or remove")


def _one_direction(signs: dict[Any, set[bool]], first: Call, second: Call) -> None:
    """Values of a monotone sparse vector move in one direction, over all of a session."""
    if first.kind in ("comparison", "told") and first.terms["mechanism"].monotone and first.values != second.values:
        directions = signs[first.terms["mechanism"]]
        directions.add(first.values > second.values)
        if len(directions) > 1:
            raise Difference("values that are declared monotone moved both ways.", (first, second))


def _by_world(first: Call, second: Call, worlds: Sequence[int] | None) -> list[tuple[Any, Call, Call]]:
    """The call, or what it holds of each world: rows of an array are groups, one after the other."""
    if worlds is None or RULES[first.kind] is RULES["salt"]:
        return [(None, first, second)]
    if first.group is not None and first.kind in ("added", "place", "point", "selection"):
        return [(worlds[first.group], first, second)]
    if first.kind == "groups":
        return _found_by_world(first, second)
    numbers = len(first.values) // max(len(worlds), 1)
    if any(len(call.values) != numbers * len(worlds) for call in (first, second)):
        raise ParameterError("worlds must name the world of each group, in the order of the groups.")
    each = [world for world in worlds for _ in range(numbers)]
    return [(world, _part(first, places), _part(second, places)) for world, places in _places(each)]


def _found_worlds(call: Call) -> list[Any]:
    """The worlds of groups that a stream found in this period: those of later calls, after the ones before."""
    return [world for table in call.answer for world in table.column(call.terms["keys"][0]).to_pylist()]


def _places(worlds: Sequence[int]) -> list[tuple[int, list[int]]]:
    found: dict[int, list[int]] = defaultdict(list)
    for place, world in enumerate(worlds):
        found[world].append(place)
    return list(found.items())


def _part(call: Call, places: list[int]) -> Call:
    values = call.values
    return replace(call, values=[values[at] for at in places] if isinstance(values, list) else values[places])


def _found_by_world(first: Call, second: Call) -> list[tuple[Any, Call, Call]]:
    left, right = (_batches_by_world(call) for call in (first, second))
    return [
        (world, replace(first, values=left[world]), replace(second, values=right[world]))
        for world in left.keys() | right.keys()
    ]


def _batches_by_world(call: Call) -> dict[Any, list[pa.RecordBatch]]:
    found: dict[Any, list[pa.RecordBatch]] = defaultdict(list)
    for batch in call.values:
        for world, places in _places(batch.column(call.terms["keys"][0]).to_pylist()):
            found[world].append(batch.take(pa.array(places)))
    return found
