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
    """The value of a release whose private test did not pass: no answer is given.

    `ProposeTestRelease` returns it as `release.value`. The release was paid for in full: that there is no answer tells
    something too. It is neither true nor false, since 0.0 is an answer: ask `isinstance(release.value, dp.NoAnswer)`.

    Parameters
    ----------
    limit : Fraction
        The proposed sensitivity: how far one neighbour may move the answer.
    threshold : int
        The noisy distance had to be larger than this.

    Examples
    --------
    >>> import dither as dp
    >>> m = dp.ProposeTestRelease(dp.sensitivity.Median(bounds=(0, 1000)), limit=1, epsilon=1, delta=1e-9)
    >>> value = m.release([0, 1000]).value  # two records are too few to pass the test
    >>> isinstance(value, dp.NoAnswer)
    True
    """

    limit: Fraction
    threshold: int

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
