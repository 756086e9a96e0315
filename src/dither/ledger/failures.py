"""Fail-stop: how many questions of an account may fail after their charge before the owner has to look.

Whether a question fails may depend on one row, and no noise hides it. So failures are counted, durably, and few are
allowed. Every attempt to answer counts as unanswered from the moment it is written down, which is before data is read;
only the outcome "answered" takes it off the count. At no moment do failures and attempts in flight together
exceed what is allowed, so no more than that can ever be seen to fail before the owner resumes (ledger.md, "Fail-stop").
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

from dither.errors import LedgerError, ParameterError, TooManyFailures
from dither.ledger.entry import Entry

__all__ = [
    "ANSWERED",
    "FAILED",
    "FAILURES_ALLOWED",
    "WAIT_SECONDS",
    "Failures",
    "Standing",
    "check_allowance",
    "wait_for_room",
]

FAILURES_ALLOWED: Final = 3
"""What an account is allowed by default; also one that was opened before failures were counted."""

ANSWERED: Final = "answered"
FAILED: Final = "failed"

_MOST_ALLOWED: Final = 1_000_000
_COUNTS: Final = ("asked", "answered", "failed", "resumes", "since")

_RESUME: Final = "`dither ledger ... --resume`"

WAIT_SECONDS: Final = 120
"""How long a question waits for the outcomes of others that are in flight, and how old these may be: an attempt without
an outcome that is older is likely that of a process that was ended, and nobody waits for it."""


@dataclass(frozen=True, slots=True)
class Failures:
    """How many questions of an account failed since its owner last resumed it.

    Whether a question fails may depend on one row, and no noise hides it. So only few may fail after their charge,
    those without an outcome included, before the owner has to resume the account.

    Parameters
    ----------
    allowed : int
        How many may fail, those without an outcome included.
    asked : int, default 0
        The number of attempts to answer a question.
    answered : int, default 0
        How many of them have an answer.
    failed : int, default 0
        How many of them failed.
    resumes : int, default 0
        How often the owner has resumed the account.
    since : int, default 0
        The number of the entry that resumed it last. Attempts before it no longer count.
    """

    allowed: int
    asked: int = 0
    answered: int = 0
    failed: int = 0
    resumes: int = 0
    since: int = 0

    @property
    def pending(self) -> int:
        """The number of attempts without an outcome: in flight, or of a process that ended."""
        return self.asked - self.answered - self.failed

    @property
    def unanswered(self) -> int:
        """The number that counts: failed and pending together."""
        return self.asked - self.answered

    @property
    def is_stopped(self) -> bool:
        """Whether one more attempt could be one failure too many."""
        return not self.unanswered < self.allowed

    def after_attempt(self) -> Failures:
        """Count one more attempt.

        Returns
        -------
        Failures
            The counts with one more attempt pending.

        Raises
        ------
        TooManyFailures
            If its failure would be one too many.
        """
        if self.is_stopped:
            raise TooManyFailures(self.refusal)
        return replace(self, asked=self.asked + 1)

    def after_outcome(self, attempt: int, outcome: str) -> Failures:
        """Count the outcome of an attempt; one from before the last resume changes nothing.

        Parameters
        ----------
        attempt : int
            The number of the entry of the attempt.
        outcome : {"answered", "failed"}
            What became of it.

        Returns
        -------
        Failures
            The counts after it.
        """
        if attempt < self.since:
            return self
        return replace(self, answered=self.answered + (outcome == ANSWERED), failed=self.failed + (outcome == FAILED))

    def after_resume(self, number: int) -> Failures:
        """Start counting anew, as the owner resumed the account.

        Parameters
        ----------
        number : int
            The number of the entry that resumes it.

        Returns
        -------
        Failures
            Counts of 0, with one more resume.
        """
        return Failures(self.allowed, resumes=self.resumes + 1, since=number)

    @property
    def is_used_up(self) -> bool:
        """Whether so many have failed that no outcome of those in flight makes room."""
        return not self.failed < self.allowed

    @property
    def refusal(self) -> str:
        """Why no further question is taken, and what to do; it contains public counts only."""
        counts = (
            f"of the questions of this dataset {self.failed} failed after their charge and {self.pending} have no "
            f"outcome, and {self.allowed} are allowed together. Nothing was charged. "
        )
        if self.is_used_up:
            return f"{counts}It is stopped: its owner finds out why, and then lifts it with {_RESUME}."
        return (
            f"{counts}It is busy: those without an outcome are in flight elsewhere, or their process was ended. Ask "
            f"again when they have ended; if none is at work, the owner lifts it with {_RESUME}."
        )

    def written(self) -> dict[str, int]:
        """Convert to the counts as an entry holds them.

        Returns
        -------
        dict of str to int
            All counts by name but `allowed`, which stands in the entry that opened the account.
        """
        return {name: getattr(self, name) for name in _COUNTS}

    @classmethod
    def read(cls, opening: Entry, newest: Entry | None) -> Failures:
        """Read the counts from entries of the ledger.

        Parameters
        ----------
        opening : Entry
            The entry that opened the account.
        newest : Entry or None
            Its newest attempt, outcome or resume, if there is one.

        Returns
        -------
        Failures
            The counts.

        Raises
        ------
        LedgerError
            If they cannot be read.
        """
        allowed = check_allowance(opening.content.get("failures_allowed", FAILURES_ALLOWED))
        counts = dict.fromkeys(_COUNTS, 0) if newest is None else newest.content.get("failures")
        if not isinstance(counts, dict) or counts.keys() != set(_COUNTS) or not all(map(_is_count, counts.values())):
            raise LedgerError("an entry of the ledger has no readable count of failures. Run verify().")
        return cls(allowed, **counts)


@dataclass(frozen=True, slots=True)
class Standing:
    """The attempts of an account, and the youngest of those that have no outcome."""

    failures: Failures
    youngest: Entry | None

    @property
    def may_end(self) -> bool:
        """Whether an attempt without an outcome is young enough to be waited for, by the clocks of who wrote it and
        who waits. They may differ, so nobody waits for longer than `WAIT_SECONDS` in any case."""
        if self.youngest is None:
            return False
        began = datetime.fromisoformat(self.youngest.content["at"])
        return datetime.now(UTC) - began < timedelta(seconds=WAIT_SECONDS)


def check_allowance(allowed: Any) -> int:
    """At least one: else no question could be asked, as each may fail."""
    if not (_is_count(allowed) and 1 <= allowed <= _MOST_ALLOWED):
        raise ParameterError(
            f"failures_allowed must be a whole number from 1 to {_MOST_ALLOWED}: how many questions may fail, or be in "
            "flight at once, before the owner has to look."
        )
    return int(allowed)


def _is_count(value: Any) -> bool:
    return type(value) is int and value >= 0


def wait_for_room(state: Callable[[], Standing], deadline: float) -> None:
    """Look again and again, by reading, until one more attempt fits; refused when it cannot, or not in time."""
    pause = 0.001
    while (found := state()).failures.is_stopped:
        if found.failures.is_used_up or not found.may_end or time.monotonic() > deadline:
            raise TooManyFailures(found.failures.refusal)
        time.sleep(pause)
        pause = min(2 * pause, 0.1)
