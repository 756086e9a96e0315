"""What comes out of a mechanism."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, TypeAlias

from dither.adjacency import name
from dither.errors import ParameterError
from dither.events import Event, to_json
from dither.exact import Number, check, rational
from dither.guarantees import Guarantee
from dither.mechanisms.certificate import NOT_PRIVATE, sealed, shown, stated
from dither.noise.tape import noise_is_removed
from dither.views import views

if TYPE_CHECKING:
    from dither.mechanisms.mechanism import Mechanism

__all__ = ["Interval", "MappedRelease", "Release"]

Interval: TypeAlias = tuple[Any, Any]
"""Lower and upper bounds: two numbers, or two arrays of the shape of the value."""


@dataclass(frozen=True, slots=True)
class Release:
    """A private answer with its cost: all of it may be published.

    Mechanisms, `dp.stats` and datasets return it; it is not built by hand.

    Parameters
    ----------
    value : Any
        The noisy answer: a number, an array, a list or the selected candidate.
    event : Event
        What was done, in exact numbers; `dp.compose([release.event, ...])` adds up several.
    guarantee : Guarantee
        What this release cost, never less than the truth. It can be tighter than that of the mechanism.
    mechanism : Mechanism
        The mechanism that drew the noise; it computes intervals and errors.
    noise_removed : bool
        Whether this is an exact answer, made in a test by `dither.testing`: then it is not private.

    Examples
    --------
    >>> import dither as dp
    >>> release = dp.Laplace(sensitivity=1, epsilon=1).release(1234)
    >>> release.guarantee
    PureDP(epsilon=1)
    >>> low, high = release.interval(0.95)
    >>> bool(low <= release.value <= high)
    True
    """

    value: Any
    event: Event
    guarantee: Guarantee
    mechanism: Mechanism = field(repr=False)
    noise_removed: bool = field(default_factory=noise_is_removed, kw_only=True, repr=False)

    def __repr__(self) -> str:
        """The fields, and a word if the noise was removed."""
        shown = ", ".join(f"{each.name}={getattr(self, each.name)!r}" for each in fields(self) if each.repr)
        return f"{type(self).__name__}({shown})" + (f" {NOT_PRIVATE}" if self.noise_removed else "")

    def interval(self, level: Number = 0.95) -> Interval:
        """Compute bounds that contain the exact answer with probability `level` or more over the noise.

        Each coordinate of an array has its own interval, which holds by itself with that probability.

        Parameters
        ----------
        level : Number, default 0.95
            The confidence level, strictly between 0 and 1.

        Returns
        -------
        tuple
            Lower and upper bound: two numbers, or two arrays of the shape of the value.

        Raises
        ------
        ParameterError
            If the value has no order, as a selected candidate has none.
        """
        exact = rational(level, "level")
        check.between(0, 1, level=exact)
        return self.mechanism._interval(self.value, exact)

    def map(self, f: Callable[[Any], Any]) -> Release:
        """Post-process the value: whatever is done with it, it costs nothing more (claim C10).

        Parameters
        ----------
        f : callable
            A function of the released value alone. It must not look at the data again.

        Returns
        -------
        Release
            A release of f(value) with the same event, guarantee and certificate. It has no interval.

        Raises
        ------
        ParameterError
            If `f` is not a function of one value.

        Examples
        --------
        >>> import dither as dp
        >>> rounded = dp.Laplace(sensitivity=1, epsilon=1).release(1234).map(lambda count: max(0, round(count, -1)))
        >>> rounded.value % 10, rounded.guarantee
        (0, PureDP(epsilon=1))
        """
        check.takes(1, f=f)
        return MappedRelease(
            f(self.value), self.event, self.guarantee, self.mechanism, self, noise_removed=self.noise_removed
        )

    def certificate(self) -> dict[str, Any]:
        """State everything that somebody else needs to recompute the cost; no data, not even the answer.

        Returns
        -------
        dict
            Plain JSON values with a digest. `dp.check_certificate` and `dither verify` check it.
        """
        return sealed({**self._terms(), **({"noise": NOT_PRIVATE} if self.noise_removed else {})})

    def plot(self, page: int = 1) -> Any:
        """Draw the answers with their intervals.

        Parameters
        ----------
        page : int, default 1
            Of more than 40 rows each page shows 40.

        Returns
        -------
        matplotlib.figure.Figure
            The figure; `figure.savefig("answers.png")` stores it.
        """
        return views.plots.answers(self, page)

    def report(self, path: str | os.PathLike[str], **options: Any) -> Any:
        """Write one self-contained HTML page with table, picture, cost and certificate.

        Parameters
        ----------
        path : str or os.PathLike
            The file to write.
        **options : Any
            Passed to `dp.plots.report`: `title` and `ledger`.

        Returns
        -------
        pathlib.Path
            The file that was written.
        """
        return views.plots.report(self, path, **options)

    def _repr_html_(self) -> str:
        """For notebooks."""
        table: str = views.html.release_table(self)
        return table + (views.html.paragraph(NOT_PRIVATE) if self.noise_removed else "")

    def _terms(self) -> dict[str, Any]:
        """What this kind of release has to say, in the order in which it is read."""
        return {
            "mechanism": type(self.mechanism).__name__,
            "unit": name(self.event.adjacency),
            "event": json.loads(to_json(self.event)),
            "guarantee": stated(shown(self.guarantee, self.event)),
        }


@dataclass(frozen=True, slots=True, repr=False)
class MappedRelease(Release):
    """A release whose value was post-processed: it costs what the release cost, and has no interval.

    Parameters
    ----------
    value : Any
        f of the value that was released.
    event : Event
        What was done, in exact numbers.
    guarantee : Guarantee
        What the release cost.
    mechanism : Mechanism
        The mechanism that drew the noise.
    origin : Release
        The release itself, whose certificate this one has.
    noise_removed : bool
        Whether the release is an exact answer, made in a test by `dither.testing`: then it is not private.
    """

    origin: Release = field(repr=False)

    def interval(self, level: Number = 0.95) -> Interval:
        """Refuse: what the mechanism knows of its noise says nothing about a function of the value."""
        raise ParameterError("a post-processed value has no interval. Map the ends of the release's own interval.")

    def _terms(self) -> dict[str, Any]:
        """Those of the release: an estimate, or an answer that a ledger paid for, says more than its noise."""
        return self.origin._terms()
