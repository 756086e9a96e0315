"""What is attacked: something that is run on an input, as often as the auditor likes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dither.audit.outcomes import Rows, as_rows
from dither.errors import DitherError, ParameterError
from dither.mechanisms import Mechanism
from dither.mechanisms.additive import Additive, numeric

__all__ = ["Target", "as_target"]


@dataclass(frozen=True)
class Target:
    """Independent runs of one mechanism."""

    name: str
    many: Callable[[Any, int], Any]
    """The answers of so many independent runs on an input: a sequence, or an array with one row for each run."""

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
        except Exception as error:
            raise ParameterError(
                f"the target {self.name} raised a {type(error).__name__} on an input. Let it answer on all of them, or "
                "give neighbours= that are inputs of it."
            ) from error


def as_target(thing: Any) -> Target:
    """A mechanism of ours, anything with a method ``many(input, size)``, or any function of one input."""
    if isinstance(thing, Target):
        return thing
    if isinstance(thing, Mechanism):
        return Target(type(thing).__name__, _releases(thing))
    name = getattr(thing, "__name__", None) or getattr(thing, "name", None) or type(thing).__name__
    many = getattr(thing, "many", None)
    if callable(many):
        return Target(str(name), many)
    if not callable(thing):
        raise ParameterError(
            f"the target must be a mechanism or a function of one input, got the type {type(thing).__name__}."
        )
    return Target(str(name), lambda data, runs: [thing(data) for _ in range(runs)])


def _releases(mechanism: Mechanism) -> Callable[[Any, int], Any]:
    """Release by release; added noise is independent for each coordinate, so that runs stand side by side."""

    def many(data: Any, runs: int) -> Any:
        if isinstance(mechanism, Additive) and type(mechanism).release is Additive.release:
            clean = numeric(data)
            noising = mechanism._noising(clean)
            return noising.add(np.tile(np.asarray(clean), (runs, 1)))
        return [mechanism.release(data).value for _ in range(runs)]

    return many
