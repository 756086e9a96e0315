"""What goes wrong, as a status and a sentence.

Sentences hold what dither says of parameters, which is never data. Of errors that nobody foresaw, nothing is said.
"""

from __future__ import annotations

import re
from typing import Final

from dither.errors import EngineError, LedgerConflict, LedgerError, OverBudget, ParameterError, TooManyFailures
from dither.web.access_keys import Refused

__all__ = ["TooLarge", "TooMany", "failure", "is_charged"]

_CHARGED: Final = "the question was charged and could not be answered; what was charged stays charged."
"""What a release says after its charge, whatever happened."""
_AGAIN: Final = re.compile(r"Open (it|the dataset) again\.$")
"""What who opened a dataset has to do when its source has changed."""
_REFUSED: Final = "there is no key that may do this."


class TooLarge(Exception):
    """A body is longer than is taken, or comes too slowly."""


class TooMany(Exception):
    """A caller sends more requests than are taken."""


def failure(error: Exception) -> tuple[int, str]:
    """The status and the sentence of an error."""
    if isinstance(error, Refused):
        return 401, _REFUSED
    if isinstance(error, TooLarge):
        return 413, "the request is too long or comes too slowly. Ask less at once."
    if isinstance(error, TooMany):
        return 429, "too many requests. Wait a second, then go on."
    if isinstance(error, OverBudget):
        return 402, str(error)
    if isinstance(error, LedgerConflict):
        return 409, str(error)
    if isinstance(error, ParameterError):
        return 400, _AGAIN.sub("The owner has to start the service again.", str(error))
    if isinstance(error, TooManyFailures):
        return 503, str(error)
    if isinstance(error, LedgerError):
        return 503, "the ledger could not be used, and no answer was given. Tell the owner of the data."
    if isinstance(error, EngineError):
        return 503, _CHARGED if _CHARGED in str(error) else "the data cannot be reached. Tell its owner."
    return 500, "this should not have happened. What was charged stays charged. Tell the owner of the data."


def is_charged(error: Exception) -> bool:
    """Whether a release that ended so may have been charged."""
    return failure(error)[0] >= 500 and not isinstance(error, TooManyFailures)
