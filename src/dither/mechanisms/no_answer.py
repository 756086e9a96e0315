"""The answer that there is no answer."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NoReturn

from dither.errors import ParameterError
from dither.exact import in_words

__all__ = ["NoAnswer"]


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """A result like any other: the test did not pass, and nothing more may be said about the data.

    It was paid for in full: that there is no answer says something too. It is neither true nor false, since 0.0 is an
    answer: ask `isinstance(release.value, NoAnswer)`.
    """

    limit: Fraction
    """How far one neighbour may move the answer, as proposed."""
    threshold: int
    """The noisy distance had to be larger than this."""

    @property
    def explanation(self) -> str:
        """What happened and what can be done, in public terms."""
        return (
            f"no answer: it did not look safe that one record moves the answer by no more than {in_words(self.limit)}, "
            f"whichever {self.threshold} records are changed first. Propose a larger limit, spend a larger epsilon, "
            "or use more data."
        )

    def __str__(self) -> str:
        return self.explanation

    def __bool__(self) -> NoReturn:
        raise ParameterError(
            "no answer is neither true nor false, as 0.0 is an answer. Ask isinstance(release.value, NoAnswer)."
        )
