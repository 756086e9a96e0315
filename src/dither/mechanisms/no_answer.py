"""The answer that there is no answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NoReturn

from dither.errors import ParameterError

__all__ = ["TOO_FEW_ROWS", "NoAnswer"]

TOO_FEW_ROWS: Final = (
    "no answer: there are too few rows to find this. State bounds if there are none, spend a larger epsilon, or use "
    "more data."
)


@dataclass(frozen=True, slots=True)
class NoAnswer:
    """The value of a release that found no answer to give.

    `ProposeTestRelease` returns it as `release.value` if its private test did not pass, and a quantile without bounds
    if there are too few records. The release was paid for in full: that there is no answer reveals something too. It is
    neither true nor false, since 0.0 is an answer: ask `isinstance(release.value, dp.NoAnswer)`.

    Parameters
    ----------
    explanation : str
        What happened and what can be done, in public terms.

    Examples
    --------
    >>> import dither as dp
    >>> m = dp.ProposeTestRelease(dp.sensitivity.Median(bounds=(0, 1000)), limit=1, epsilon=1, delta=1e-9)
    >>> value = m.release([0, 1000]).value  # two records are too few to pass the test
    >>> isinstance(value, dp.NoAnswer)
    True
    """

    explanation: str

    def __str__(self) -> str:
        return self.explanation

    def __bool__(self) -> NoReturn:
        raise ParameterError(
            "no answer is neither true nor false, as 0.0 is an answer. Ask isinstance(release.value, NoAnswer)."
        )
