"""Every definition and theorem of the lectures, checked on the spot against certified numbers.

>>> row = find("C22").check()
>>> row.verdict, round(row.counterexample["exact"], 3), round(row.counterexample["printed"], 3)
('holds', 0.683, 0.564)

A new claim joins by being defined in a module of `_TOPICS`.
"""

from __future__ import annotations

from collections.abc import Iterable

from dither.audit.claims import (
    adaptivity,
    additive,
    composition,
    definitions,
    metric_spaces,
    neighbours,
    proofs,
    ptr,
    selection,
    sensitivity,
    smooth,
    stability,
    streams,
)
from dither.audit.claims.claim import Claim, Evidence, Figure, Point, Row
from dither.errors import ParameterError

__all__ = ["ALL", "Claim", "Evidence", "Figure", "Point", "Row", "find", "rows"]

_TOPICS = (
    definitions,
    neighbours,
    additive,
    metric_spaces,
    selection,
    composition,
    stability,
    sensitivity,
    smooth,
    ptr,
    adaptivity,
    proofs,
    streams,
)


def _order(claim: Claim) -> tuple[bool, int]:
    return claim.id[0] != "D", int(claim.id[1:])


ALL: tuple[Claim, ...] = tuple(
    sorted((each for topic in _TOPICS for each in vars(topic).values() if isinstance(each, Claim)), key=_order)
)
"""The claims in their order: definitions first."""


def find(id: str) -> Claim:
    """Find a claim by its number.

    Parameters
    ----------
    id : str
        Such as "C2" or "D5"; small letters will do.

    Returns
    -------
    Claim
        The claim; `.check()` checks it.

    Raises
    ------
    ParameterError
        If there is none of this number.

    Examples
    --------
    >>> import dither as dp
    >>> dp.audit.claims.find("C2").check().verdict
    'holds'
    """
    for claim in ALL:
        if claim.id == str(id).upper():
            return claim
    raise ParameterError(f"claim {id!r} is not found. Existing ids: {', '.join(claim.id for claim in ALL)}.")


def rows(ids: Iterable[str] = ()) -> list[Row]:
    """Check these claims, or all.

    Parameters
    ----------
    ids : iterable of str, default ()
        Their numbers; all claims if there are none.

    Returns
    -------
    list of Row
        The verdict of each, computed now.
    """
    return [claim.check() for claim in ([find(id) for id in ids] or ALL)]
