"""What somebody asked, as the store has it, from the moment it comes until it is answered.

    waiting ──► accepted ──┐
       │           │       ▼
       │           │    running ──► answered
       │           │     ▲  │
    declined   withdrawn │  ├──► refused    nothing was charged; it may be sent again
                   ▲     │  └──► failed     it was charged; sent again, it is tried again for nothing
                   └── asked

Where the owner looks first, what was asked, refused or failed without a charge waits again when it is sent again.
Each step is one UPDATE that names the states it may start from, so that two requests, or two workers, cannot both take
it: a question is withdrawn, or it is charged, and never both.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

import sqlalchemy as sql
from sqlalchemy.exc import IntegrityError

from dither.errors import LedgerConflict, ParameterError
from dither.web.access_keys import fresh_token
from dither.web.store import QUESTIONS, ServiceStore
from dither.web.strict_json import read_object

__all__ = [
    "ACCEPTED", "ANSWERED", "ASKED", "DECLINED", "FAILED", "REFUSED", "RUNNING", "WAITING", "WITHDRAWN",
    "AskedQuestion", "Questions",
]  # fmt: skip

WAITING, ACCEPTED, DECLINED, WITHDRAWN = "waiting", "accepted", "declined", "withdrawn"
ASKED, RUNNING, ANSWERED, REFUSED, FAILED = "asked", "running", "answered", "refused", "failed"
_MAY_BEGIN: Final = (ASKED, ACCEPTED, REFUSED, FAILED)
_MAY_BE_WITHDRAWN: Final = (ASKED, WAITING, ACCEPTED, REFUSED)
_UNCHARGED: Final = (ASKED, REFUSED, WITHDRAWN, DECLINED)
_MOST_WAITING: Final = 20
"""Of one analyst: the owner has to read them."""
_NOW_AND_THEN: Final = "0"
"""How the number of one question in sixteen begins: old ones are looked for then."""
_KEY: Final = re.compile("[!-~]{1,200}")


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question that somebody wants answered, as the store has it."""

    id: str
    dataset: str
    analyst: str
    key: str
    """The idempotency key."""
    asked: str
    """The request, as it came."""
    state: str
    at: str
    began: str = ""
    """When it was last begun: what becomes of it is told at multiples of the period after this."""
    told: str = ""
    """Why there is no answer."""

    @property
    def values(self) -> dict[str, Any]:
        """What the request says."""
        return read_object(self.asked.encode())

    @property
    def is_ended(self) -> bool:
        """Whether nothing more becomes of it by itself."""
        return self.state in (ANSWERED, REFUSED, FAILED, DECLINED, WITHDRAWN)


@dataclass(frozen=True, slots=True)
class Questions:
    """All questions in a store, and their steps."""

    store: ServiceStore

    def written_down(
        self, dataset: str, analyst: str, own: str | None, asked: str, values: Mapping[str, Any], *, waits: bool
    ) -> AskedQuestion:
        """The question under its idempotency key; a new one is written down first."""
        key = own or fresh_token(128)
        if not _KEY.fullmatch(key):
            raise ParameterError("an idempotency key has 1 to 200 signs of ASCII, without spaces.")
        own_key = (QUESTIONS.c.dataset == dataset, QUESTIONS.c.analyst == analyst, QUESTIONS.c.key == key)
        if not self._found(*own_key):
            if waits:
                self._check_waiting(analyst)
            self._write(
                AskedQuestion(fresh_token(128), dataset, analyst, key, asked, WAITING if waits else ASKED, _now())
            )
        (found,) = self._found(*own_key)
        if found.values != values:
            raise LedgerConflict(
                "this idempotency key was used for another question. Nothing was charged. Take a new key."
            )
        return found

    def _write(self, new: AskedQuestion) -> None:
        """One under the same key, by whom it was sent meanwhile, counts instead."""
        with self.store.writing() as connection, suppress(IntegrityError), connection.begin_nested():
            connection.execute(
                QUESTIONS.insert().values({name: getattr(new, name) for name in AskedQuestion.__slots__})
            )
        if new.id.startswith(_NOW_AND_THEN):
            self.forget_uncharged(new.analyst)

    def forget_uncharged(self, analyst: str, most: int = 1000) -> None:
        """Keep so many, the newest, of those that wait for nobody and have no answer: else they might fill a disk.

        What was charged stands in the ledger, and is found there under the same idempotency key.
        """
        uncharged = (QUESTIONS.c.analyst == analyst, QUESTIONS.c.state.in_(_UNCHARGED))
        kept = sql.select(QUESTIONS.c.id).where(*uncharged).order_by(QUESTIONS.c.at.desc(), QUESTIONS.c.id).limit(most)
        with self.store.writing() as connection:
            connection.execute(QUESTIONS.delete().where(*uncharged, QUESTIONS.c.id.not_in(kept)))

    def _check_waiting(self, analyst: str) -> None:
        """Nobody can keep the questions of others from the eyes of the owner."""
        if len(self.newest(_MOST_WAITING, analyst=analyst, state=WAITING)) >= _MOST_WAITING:
            raise ParameterError(
                f"{_MOST_WAITING} questions of yours wait for the owner, and no more are taken. Withdraw one, or wait."
            )

    def find(self, id: str) -> AskedQuestion | None:
        """The question of this number."""
        return next(iter(self._found(QUESTIONS.c.id == id)), None)

    def newest(self, most: int, *, analyst: str | None = None, state: str | None = None) -> list[AskedQuestion]:
        """The newest first, of one analyst or of all."""
        wanted = [QUESTIONS.c.analyst == analyst] if analyst is not None else []
        wanted += [QUESTIONS.c.state == state] if state is not None else []
        return self._found(*wanted, most=most)

    def decide(self, id: str, *, is_accepted: bool) -> None:
        """The owner's word on a question that waits."""
        if not self._moved(id, (WAITING,), state=ACCEPTED if is_accepted else DECLINED):
            raise ParameterError("no question with this number waits.")

    def held(self, inquiry: AskedQuestion) -> AskedQuestion:
        """It waits for the owner from now on, as nobody has accepted it and nothing was charged."""
        self._check_waiting(inquiry.analyst)
        self._moved(inquiry.id, (ASKED, REFUSED, FAILED), state=WAITING)
        return self.find(inquiry.id) or inquiry

    def withdraw(self, id: str) -> None:
        """Take it back, if it has not been begun: what is begun may have been charged."""
        if not self._moved(id, _MAY_BE_WITHDRAWN, state=WITHDRAWN):
            raise ParameterError("this question cannot be withdrawn any more: it was begun, or has ended.")

    def begin(self, id: str) -> AskedQuestion:
        """From now on it may be charged. One that runs already, here or elsewhere, keeps the time when it began."""
        self._moved(id, _MAY_BEGIN, state=RUNNING, began=_now(), told="")
        found = self.find(id)
        if found is None or found.state not in (RUNNING, ANSWERED):
            words = {
                DECLINED: "the owner has declined this question",
                WITHDRAWN: "this question was withdrawn",
                "": "this question is not there any more",
            }
            said = words.get("" if found is None else found.state, "this question waits for the owner")
            raise ParameterError(f"{said}. Nothing was charged.")
        return found

    def end(self, id: str, state: str, told: str = "") -> None:
        """What became of it. Of two attempts under one key, one that answers it counts."""
        self._moved(id, (RUNNING,) if state != ANSWERED else (RUNNING, REFUSED, FAILED), state=state, told=told)

    def _moved(self, id: str, states: tuple[str, ...], **values: str) -> bool:
        with self.store.writing() as connection:
            at = (QUESTIONS.c.id == id, QUESTIONS.c.state.in_(states))
            return bool(connection.execute(QUESTIONS.update().where(*at).values(**values)).rowcount)

    def _found(self, *wanted: sql.ColumnElement[bool], most: int = 1) -> list[AskedQuestion]:
        question = sql.select(QUESTIONS).where(*wanted).order_by(QUESTIONS.c.at.desc(), QUESTIONS.c.id).limit(most)
        return [AskedQuestion(**row) for row in self.store.rows(question)]


def _now() -> str:
    return datetime.now(UTC).isoformat()
