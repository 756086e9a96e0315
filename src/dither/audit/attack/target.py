"""What is attacked: something that is run on an input, as often as the auditor likes."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from numbers import Number
from typing import Any

import numpy as np

from dither.audit.attack.outcomes import Rows, as_rows
from dither.errors import DitherError, ParameterError
from dither.mechanisms import Mechanism, ScoredSelection
from dither.mechanisms.additive import Additive, numeric
from dither.noise import entropy

__all__ = ["AttackTarget", "as_target"]


@dataclass(frozen=True)
class AttackTarget:
    """Independent runs of one mechanism."""

    name: str
    many: Callable[[Any, int], Any]
    """The answers of so many independent runs on an input: a sequence, or an array with one row for each run."""
    runs_one_by_one: bool = False
    """Whether many runs are nothing but one after the other."""

    def both(self, pair: tuple[Any, Any], left: int, right: int) -> tuple[Rows, Rows]:
        """The answers of so many runs on each of two inputs, as rows of numbers.

        Single runs come in an order that coins decide. So what a function keeps from one run to the next, a counter
        say, cannot make the two inputs look different by when they were given.
        """
        if not self.runs_one_by_one:
            return self.rows(pair[0], left), self.rows(pair[1], right)
        runs = left + right
        words = np.frombuffer(entropy.current().bits(64 * runs).to_bytes(8 * runs, "little"), dtype="<u8")
        is_right = np.arange(runs)[np.argsort(words, kind="stable")] >= left
        answers: tuple[list[Any], list[Any]] = ([], [])
        for side in is_right.tolist():
            answers[side].extend(self._answers(pair[side], 1))
        return as_rows(answers[0]), as_rows(answers[1])

    def rows(self, data: Any, runs: int) -> Rows:
        """The answers as rows of numbers."""
        answers = self._answers(data, runs) if runs else []
        if np.ndim(answers) if isinstance(answers, np.ndarray) else isinstance(answers, Iterable):
            found = as_rows(answers)
            if len(found) == runs:
                return found
        raise ParameterError(f"many(input, size) must give one answer for each of size={runs} runs.")

    def _answers(self, data: Any, runs: int) -> Any:
        try:
            return self.many(data, runs)
        except DitherError:
            raise
        except (Exception, SystemExit) as error:
            raise ParameterError(
                f"the target {self.name} raised a {type(error).__name__} on an input. Let it answer on all of them, or "
                "give neighbours that are inputs of it."
            ) from error


def as_target(thing: Any) -> AttackTarget:
    """A mechanism of ours, anything with a method ``many(input, size)``, or any function of one input."""
    if isinstance(thing, AttackTarget):
        return thing
    if isinstance(thing, Mechanism):
        return AttackTarget(type(thing).__name__, _releases(thing))
    if isinstance(thing, ScoredSelection):
        return AttackTarget(
            type(thing).__name__,
            lambda data, runs: [thing.release(_fresh(data)).value for _ in range(runs)],
            runs_one_by_one=True,
        )
    name = getattr(thing, "__name__", None) or getattr(thing, "name", None) or type(thing).__name__
    many = getattr(thing, "many", None)
    if callable(many):
        return AttackTarget(str(name), lambda data, runs: many(_fresh(data), runs))
    if not callable(thing):
        raise ParameterError(
            f"the target must be a mechanism or a function of one input, got the type {type(thing).__name__}."
        )
    if inspect.iscoroutinefunction(thing):
        raise ParameterError("the target is a coroutine function. Give a plain function that awaits it.")
    return AttackTarget(str(name), lambda data, runs: [thing(_fresh(data)) for _ in range(runs)], runs_one_by_one=True)


def _fresh(data: Any) -> Any:
    """An input as it was: one that a run changes, or uses up, would be another input for the next."""
    if isinstance(data, str | bytes | Number | None):
        return data
    if isinstance(data, Iterator):
        raise ParameterError("an input can be gone through only once. Give a list, which every run can read.")
    if type(data) is list and all(isinstance(each, str | Number) for each in data):
        return data.copy()
    try:
        return copy.deepcopy(data)
    except Exception:  # what cannot be copied, such as a connection, is the target's own care
        return data


def _releases(mechanism: Mechanism) -> Callable[[Any, int], Any]:
    """Release by release; added noise is independent for each coordinate, so that runs stand side by side."""

    def many(data: Any, runs: int) -> Any:
        if isinstance(mechanism, Additive) and type(mechanism).release is Additive.release:
            clean = numeric(data)
            noising = mechanism.noising_for(clean)
            return noising.add(np.tile(np.asarray(clean), (runs, 1)))
        return [mechanism.release(data).value for _ in range(runs)]

    return many
