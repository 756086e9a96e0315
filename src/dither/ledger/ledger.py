"""The ledger: open an account with a cap, charge it before data is read, keep the answer, prove the whole."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, NoReturn

from dither.errors import LedgerConflict, LedgerError, OverBudget, ParameterError, TooManyFailures
from dither.events import Event, to_json
from dither.exact import is_unicode
from dither.ledger.budget import Amounts, Balance, Budget, amounts, check_cost, read_budget, write_amounts, write_budget
from dither.ledger.entry import BEGINNING, Entry, canonical, first_change, last_state, named_parts
from dither.ledger.failures import (
    ANSWERED,
    FAILED,
    FAILURES_ALLOWED,
    WAIT_SECONDS,
    Failures,
    Standing,
    check_allowance,
    wait_for_room,
)
from dither.ledger.per_period import PerPeriod
from dither.ledger.period_balance import PeriodBalance
from dither.ledger.periods import check_periods, check_stream, newest_period, write_period
from dither.ledger.verification import Verification
from dither.noise.tape import noise_is_removed

if TYPE_CHECKING:
    from dither.ledger.entries import Appending, Heads, VisibleEntries

__all__ = ["LONGEST_ANSWER", "Account", "Charge", "Ledger", "NoLedger", "check_account"]


@dataclass(frozen=True, slots=True)
class Charge:
    """A durable charge: the right to draw noise once.

    Parameters
    ----------
    entry : Entry
        The entry of the charge.
    answer : bytes, optional
        The answer that was stored before under the same idempotency key. If there is one, return it and draw nothing.
    attempt : Entry, optional
        The entry whose outcome is awaited, if the charge was made with `awaits_outcome`.
    """

    entry: Entry
    answer: bytes | None = None
    attempt: Entry | None = None


@dataclass(frozen=True, slots=True)
class Account:
    """The state of one account.

    Parameters
    ----------
    name : str
        The name of the account: the identity of the dataset.
    budget : PureDP, ApproxDP or ZCDP
        Its cap.
    spent : dict of str to Fraction
        What was charged, exactly: {"epsilon": ..., "delta": ...}, or {"rho": ...} for a `ZCDP` budget.
    remaining : dict of str to Fraction
        What is left, in the same form; with a budget that is renewed, of the period that it is now.
    charges : int
        The number of charges.
    failures : Failures
        How many questions failed after their charge, or have no outcome, and how many may.
    changed : str or None, default None
        When the source was first opened with another content than before, as an ISO time; None if it never was.
    per_period : PerPeriod or None, default None
        How the budget is renewed; `budget` is then that of all periods. None if it is not.
    """

    name: str
    budget: Budget
    spent: Amounts
    remaining: Amounts
    charges: int
    failures: Failures
    changed: str | None = None
    per_period: PerPeriod | None = None

    @property
    def stated(self) -> Budget | PerPeriod:
        """The budget as it was given."""
        return self.per_period or self.budget


class Ledger:
    """An append-only, hash-chained record of what was spent.

    `dp.Dataset` opens and charges it; open it yourself to look at accounts, to verify it, or to resume an account. An
    entry is on disk before data is read.

    Parameters
    ----------
    location : str or os.PathLike
        The path of a SQLite file; postgresql://... for a ledger that several machines share; or ":memory:" for a new
        ledger that is gone with the process, for tests and notebooks.
    create : bool, default True
        Whether a ledger is made where there is none.

    Raises
    ------
    LedgerError
        If there is no ledger and `create` is False, or what is there is no ledger.

    Notes
    -----
    The format, and why entries survive crashes and power cuts: ledger/ledger.md. Charges add up exactly, in (ε, δ) or
    in ρ, which holds for questions that depend on earlier answers (`dither.accounting.filters`).

    Examples
    --------
    >>> import dither as dp
    >>> from dither.ledger import Ledger
    >>> ledger = Ledger("visits.ledger")
    >>> ledger.open_account("visits", dp.PureDP(1))
    >>> charge = ledger.charge("visits", dp.events.LaplaceNoise(2), dp.PureDP("0.5"), "how many?")
    >>> ledger.account("visits").remaining["epsilon"]
    Fraction(1, 2)
    >>> ledger.verify(anchor=ledger.anchor())
    2
    >>> ledger.close()
    """

    def __init__(self, location: str | os.PathLike[str], *, create: bool = True) -> None:
        from dither.ledger.store import Store  # SQLAlchemy takes its time to load, and a plan has no ledger

        self._store = Store(location, create=create)

    @property
    def is_durable(self) -> bool:
        """Whether what is written outlives this process; False in memory."""
        return self._store.is_durable

    def close(self) -> None:
        """Close all connections; the ledger may be used again, and then opens new ones."""
        self._store.close()

    def open_account(
        self,
        account: str,
        budget: Budget | PerPeriod,
        description: str = "",
        *,
        parts: Collection[str] = (),
        failures_allowed: int | None = None,
        state: str | None = None,
    ) -> None:
        """Give an account its cap, once.

        Opening it again with the same cap changes nothing.

        Parameters
        ----------
        account : str
            The name of the account: the identity of the dataset.
        budget : PureDP, ApproxDP, ZCDP or PerPeriod
            The cap. Its type decides what is counted: (ε, δ), or ρ. With a `PerPeriod` it is the sum over all periods,
            and a charge has to fit into what its own period has.
        description : str, default ""
            A text for people who read the ledger.
        parts : collection of str, default ()
            Names of what the data consists of, such as files and tables. A part belongs to one account, so that the
            same people cannot be charged to two budgets.
        failures_allowed : int, optional
            How many questions may fail after their charge, or be in flight at once, before the owner has to `resume`.
            It is given once, with the budget; 3 for a new account if it is left out.
        state : str, optional
            A text that changes when files of the source are written to. Another one than before is recorded, and
            `Account.changed` tells it.

        Raises
        ------
        LedgerConflict
            If the account has another cap, a part belongs to another account, or an account was moved to this name.
        ParameterError
            If the budget is 0 or of another type, or a name is empty or longer than 1600 bytes.
        """
        _check_text(description=description, state=state or "")
        allowed = check_account(account, parts, failures_allowed)
        cap = budget.total if isinstance(budget, PerPeriod) else budget
        if not any(amounts(cap).values()):
            raise ParameterError("a budget must be greater than 0. Give the account something to spend.")
        with self._store.writing() as entries:
            heads = entries.heads(account)
            if heads.budget is not None and (has := _stated(heads.budget)) != budget:
                raise LedgerConflict(
                    f"this dataset has the budget {has} in this ledger, and {budget} was asked for. "
                    "Open it with the budget it has; a budget is given once."
                )
            if heads.budget is not None and allowed not in (None, has_allowed := _failures(heads).allowed):
                raise LedgerConflict(
                    f"this dataset is allowed {has_allowed} failures in this ledger, and failures_allowed={allowed} "
                    "was asked for. Leave it out; it is given once, with the budget."
                )
            new = self._new_parts(entries, account, parts)
            named: dict[str, object] = {"parts": new} if new else {}
            if state is not None and state != last_state(entries.naming(account)):
                named["state"] = state
            if heads.budget is None:
                if (moved := self._named(entries, account)) != account:
                    raise LedgerConflict(f"the account {moved!r} was moved to this name. Open the dataset with it.")
                _check_indexed("account", account, _LONGEST_ACCOUNT)
                body = {
                    "budget": write_budget(cap),
                    **({"per_period": budget._written()} if isinstance(budget, PerPeriod) else {}),
                    "failures_allowed": allowed or FAILURES_ALLOWED,
                    "description": description,
                    "at": _now(),
                    **named,
                }
                entries.append("budget", account, canonical(body))
            elif named:
                entries.append("source", account, canonical({"at": _now(), **named}))

    def _new_parts(self, entries: VisibleEntries, account: str, parts: Collection[str]) -> list[str]:
        """Find the parts that the account does not have yet, sorted; refused if another account has one."""
        own = {part for entry in entries.naming(account) for part in named_parts(entry)} if parts else ()
        new = sorted(set(parts).difference(own))
        if (owner := self._owner(entries, new)) is not None:
            raise LedgerConflict(
                f"files or tables of this source have a budget in this ledger already, as {owner!r}. "
                f"Nothing was changed. Open the source as it was then, or go on with identity={owner!r}, "
                "so that they share that budget."
            )
        return new

    def move(self, account: str, name: str, *, parts: Collection[str] = (), by: str = "") -> None:
        """Let an account be found under another name too, as when its files are moved to another folder.

        Its budget and all its charges stay. Under the old name it is found as before: what lies there now shares the
        budget, so that nothing is ever paid twice from two budgets.

        Parameters
        ----------
        account : str
            The name of the account.
        name : str
            The identity of the source in its new place.
        parts : collection of str, default ()
            The files and tables there.
        by : str, default ""
            Who moves it.

        Raises
        ------
        LedgerError
            If there is no such account.
        LedgerConflict
            If the new name or a part has a budget of its own.
        """
        _check_text(by=by)
        check_account(name, parts, None)
        with self._store.writing() as entries:
            heads = entries.heads(account)
            _opening(heads)
            if (found := self._named(entries, name)) == account:
                return
            if found != name or entries.heads(name).budget is not None:
                raise LedgerConflict(
                    f"the new place has a budget of its own in this ledger, as {found!r}. Nothing was changed. Two "
                    "budgets cannot become one; go on with either of them."
                )
            new = self._new_parts(entries, account, parts)
            body = {"at": _now(), "by": by, "names": [name], **({"parts": new} if new else {})}
            entries.append("source", account, canonical(body))

    def named(self, name: str) -> str:
        """Find the account that was moved to this name.

        Parameters
        ----------
        name : str
            The identity of a source.

        Returns
        -------
        str
            The name of the account; `name` itself if none was moved there.
        """
        with self._store.reading() as entries:
            return self._named(entries, name)

    def _named(self, entries: VisibleEntries, name: str) -> str:
        return next((each.account for each in entries.naming() if name in named_parts(each, "names")), name)

    def owner(self, parts: Collection[str]) -> str | None:
        """Find the account that has one of these parts.

        Parameters
        ----------
        parts : collection of str
            Names of files and tables.

        Returns
        -------
        str or None
            The name of the account, if there is one.
        """
        with self._store.reading() as entries:
            return self._owner(entries, parts)

    def _owner(self, entries: VisibleEntries, parts: Collection[str]) -> str | None:
        naming = entries.naming() if parts else ()
        return next((each.account for each in naming if not named_parts(each).isdisjoint(parts)), None)

    def charge(
        self,
        account: str,
        event: Event,
        cost: Budget,
        question: str,
        *,
        key: str | None = None,
        by: str = "",
        share: str | None = None,
        awaits_outcome: bool = False,
        periods: int | None = None,
    ) -> Charge:
        """Write down durably what will be released and what it costs, if enough is left.

        When this returns, the entry is on disk. Check and charge are one transaction, which excludes other writers.

        Parameters
        ----------
        account : str
            The name of the account.
        event : Event
            What will be done. The cost is computed again from it, and a `cost` below that is refused.
        cost : PureDP, ApproxDP or ZCDP
            What is charged, in the unit of the budget.
        question : str
            The question, for people who read the ledger.
        key : str, optional
            An idempotency key of at most 1000 bytes: the same key with the same question and event is charged once.
        by : str, default ""
            Who asks.
        share : str, optional
            Another account that is charged the same in the same transaction: what one analyst may spend of the budget.
            If less than `cost` is left there, neither is charged.
        awaits_outcome : bool, default False
            Whether the caller will report an outcome by `answered`, `keep` or `failed`. Until then the charge counts as
            unanswered. Where too many are unanswered, this waits for those in flight.
        periods : int, optional
            The number of periods of a stream that this one charge pays for; each is then begun by `attempt` and
            recorded by `record_period`.

        Returns
        -------
        Charge
            The right to draw noise once; or, under a key that was used, the `answer` that was stored.

        Raises
        ------
        OverBudget
            If less than `cost` is left; nothing is charged.
        TooManyFailures
            If too many questions are unanswered; nothing is charged.
        LedgerConflict
            If `key` was used for another question; nothing is charged.
        ParameterError
            If `event` costs more than `cost`, or a new key is too long.
        """
        if noise_is_removed() and self.is_durable:
            raise LedgerError(
                "an answer without noise is not private, and is charged to no ledger that lasts. Nothing was charged. "
                "In tests that take the noise away, open the dataset with ledger=':memory:'."
            )
        _check_text(question=question, by=by)
        _check_text(1, account=account, key="-" if key is None else key, share="-" if share is None else share)
        check_cost(event, cost)
        body: dict[str, Any] = {"event": to_json(event), "cost": write_budget(cost), "question": question}
        if periods is not None:
            body["periods"] = check_periods(periods, key)
            if share is not None:
                raise ParameterError("a stream is charged to the budget of its owner, not to a share of it.")

        def decide(entries: Appending) -> Charge:
            before = None if key is None else entries.keyed("charge", account, key)
            if before is not None and key is not None:
                charge = self._repeated(entries, before, body, key)
            else:
                if share is not None:  # first, as an attempt follows its own charge
                    self._paid_by_share(entries, share, body, cost, by)
                charge = self._paid(entries, account, body, cost, key, by)
            if charge.answer is not None or not awaits_outcome:
                return charge
            return self._attempted(entries, charge)  # refused, it takes the charge back with it

        return self._when_there_is_room(account, decide)

    def _when_there_is_room(self, account: str, decide: Callable[[Appending], Charge]) -> Charge:
        """What is decided; while too many questions are unanswered, it waits for those in flight."""
        deadline = time.monotonic() + WAIT_SECONDS
        while True:
            with suppress(TooManyFailures):
                return self._store.together(decide)
            wait_for_room(lambda: self._standing(account), deadline)

    def has_charge(self, account: str, key: str) -> bool:
        """Tell whether a question was charged to an account under an idempotency key.

        Parameters
        ----------
        account : str
            The account.
        key : str
            The key.

        Returns
        -------
        bool
            Whether this ledger has the charge; one that was restored from an older copy may not.

        Examples
        --------
        >>> import dither as dp
        >>> from dither.ledger import Ledger
        >>> ledger = Ledger("visits.ledger")
        >>> ledger.open_account("visits.csv", dp.PureDP(1))
        >>> ledger.has_charge("visits.csv", "march")
        False
        """
        _check_text(1, account=account, key=key)
        with self._store.reading() as entries:
            return entries.keyed("charge", account, key) is not None

    def attempt(self, charge: Charge) -> Charge:
        """Begin the next period of a stream; until it is recorded, or failed, it counts as unanswered.

        Parameters
        ----------
        charge : Charge
            What `charge` returned for the stream.

        Returns
        -------
        Charge
            The same charge with this attempt, for `record_period` or `failed`.

        Raises
        ------
        TooManyFailures
            If too many questions are unanswered.
        LedgerError
            If the charge is not in this ledger, or is not that of a stream.
        """

        def decide(entries: Appending) -> Charge:
            check_stream(entries, charge.entry)
            return self._attempted(entries, charge)

        return self._when_there_is_room(charge.entry.account, decide)

    def record_period(self, charge: Charge, period: int, digest: str) -> None:
        """Write down, durably, that a period of a stream is answered, and the digest of what is kept of it.

        Parameters
        ----------
        charge : Charge
            What `attempt` returned; or `charge`, for a period whose outcome is known already.
        period : int
            The number of the period, from 0 on. It comes after the last one that is recorded.
        digest : str
            64 hexadecimal digits that tell the kept state from any other. The same digest may be recorded again.

        Raises
        ------
        LedgerConflict
            If the period is recorded with another digest, or is not the next one.
        LedgerError
            If the charge is not in this ledger, or is not that of a stream.
        """

        def decide(entries: Appending) -> None:
            write_period(entries, charge.entry, period, digest, _now())
            self._ended(entries, charge, ANSWERED)

        self._store.together(decide)

    def last_period(self, charge: Charge) -> tuple[int, str] | None:
        """Find the last period of a stream that is recorded.

        Parameters
        ----------
        charge : Charge
            What `charge` returned for the stream.

        Returns
        -------
        tuple of (int, str) or None
            Its number and digest; None before the first one.
        """
        with self._store.reading() as entries:
            return newest_period(entries, charge.entry)

    def _paid(
        self,
        entries: Appending,
        account: str,
        body: dict[str, Any],
        cost: Budget,
        key: str | None,
        by: str,
    ) -> Charge:
        """A new charge."""
        if key is not None:
            _check_indexed("key", key, _LONGEST_KEY)
        at, (before, per_period) = _now(), _balances(entries.heads(account))
        balance = before.after(cost)
        full = {**body, "spent": write_amounts(balance.spent), "charges": balance.charges, "by": by, "at": at}
        if per_period is not None:
            full["in_period"] = per_period.after(cost, at).written()
        if not self.is_durable:
            full["durable"] = False
        if noise_is_removed():
            full["noise"] = "removed"
        if key is not None:
            full["key"] = key
        return Charge(entries.append("charge", account, canonical(full), key))

    def _paid_by_share(self, entries: Appending, share: str, body: dict[str, Any], cost: Budget, by: str) -> None:
        """The same cost in the account of a share. Both charges are in one transaction: there are both or neither."""
        try:
            self._paid(entries, share, body, cost, None, by)
        except OverBudget as error:
            raise OverBudget(f"Of your share, too little is left: {error}") from None

    def _repeated(self, entries: VisibleEntries, before: Entry, body: dict[str, Any], key: str) -> Charge:
        content = before.content
        if before.noise_removed != noise_is_removed():
            raise LedgerConflict(
                "this idempotency key was used with noise and now without it, or the other way round. Nothing was "
                "charged. Take a new key."
            )
        if any(content.get(name) != body.get(name) for name in (*body, "periods")):
            raise LedgerConflict(
                "this idempotency key was used for another question. Nothing was charged. Take a new key."
            )
        answer = entries.keyed("answer", before.account, key)
        return Charge(before, None if answer is None else _answer(answer))

    # ------------------------------------------------------------ what came of it

    def _attempted(self, entries: Appending, charge: Charge) -> Charge:
        """An attempt to answer, counted from now on: under a key there may be several for one charge."""
        counts = _failures(entries.heads(charge.entry.account)).after_attempt().written()
        body = canonical({"charge": charge.entry.number, "failures": counts, "at": _now()})
        return replace(charge, attempt=entries.append("attempt", charge.entry.account, body))

    def _standing(self, account: str) -> Standing:
        with self._store.reading() as entries:
            failures = _failures(entries.heads(account))
            return Standing(failures, entries.youngest_pending(account, failures.since))

    def keep(self, charge: Charge, answer: bytes, digest: str | None = None) -> bytes:
        """Store the answer under the idempotency key of its charge, and return the answer to give.

        If two processes draw under one key, one stores its answer and both must give that one. Without a key nothing is
        stored. An attempt whose outcome is awaited is answered by this.

        Parameters
        ----------
        charge : Charge
            What `charge` returned.
        answer : bytes
            The answer that was drawn.
        digest : str, optional
            The digest of the answer as it is shown, which certificates state; the outcome of the attempt records it.

        Returns
        -------
        bytes
            The first answer that was stored under the key: give this one.

        Raises
        ------
        LedgerError
            If the charge is not in this ledger, or the answer is too long.
        """
        _check_text(digest=digest or "")
        entry = charge.entry
        key = entry.content.get("key")
        if key is None:
            self.answered(charge, digest)
            return answer
        if len(answer) > LONGEST_ANSWER:
            raise LedgerError(
                f"an answer under an idempotency key is stored, and this one has more than {LONGEST_ANSWER} bytes. "
                "What was charged stays charged. Ask without a key."
            )

        def decide(entries: Appending) -> bytes:
            if entries.keyed("charge", entry.account, key) != entry:
                raise LedgerError("the charge of this answer is not in this ledger. No answer was given.")
            before = entries.keyed("answer", entry.account, key)
            if before is None:
                body = {"charge": entry.number, "answer": answer.hex(), "key": key}
                entries.append("answer", entry.account, canonical(body), key)
            self._ended(entries, charge, ANSWERED, digest if before is None else None)
            return answer if before is None else _answer(before)

        return self._store.together(decide, size=len(answer))

    def answered(self, charge: Charge, digest: str | None = None) -> None:
        """Record that an attempt has an answer, so that it no longer counts as unanswered.

        It is not synced to disk: if a power cut takes it back, the attempt counts as a failure, which is the safe side.

        Parameters
        ----------
        charge : Charge
            What `charge` returned.
        digest : str, optional
            The digest of the answer as it is shown, which certificates state.
        """
        _check_text(digest=digest or "")
        self._store.together(lambda entries: self._ended(entries, charge, ANSWERED, digest), synced=False)

    def failed(self, charge: Charge) -> None:
        """Record that an attempt failed; it counts until the owner resumes the account.

        Parameters
        ----------
        charge : Charge
            What `charge` returned.
        """
        self._store.together(lambda entries: self._ended(entries, charge, FAILED))

    def _ended(self, entries: Appending, charge: Charge, outcome: str, digest: str | None = None) -> None:
        """Write the outcome of an attempt, once: the first one stays."""
        attempt = charge.attempt
        if attempt is None:
            return
        if not entries.holds(attempt):
            raise LedgerError("the attempt of this outcome is not in this ledger. Nothing was written.")
        if entries.keyed("outcome", attempt.account, str(attempt.number)):
            return
        counts = _failures(entries.heads(attempt.account)).after_outcome(attempt.number, outcome).written()
        said = {} if digest is None else {"answer": digest}
        body = canonical({"attempt": attempt.number, "outcome": outcome, "failures": counts, "at": _now(), **said})
        entries.append("outcome", attempt.account, body, str(attempt.number))

    def resume(self, account: str, *, by: str = "") -> int:
        """Lift the stop of an account after failures; for its owner.

        What failed or has no outcome no longer counts, and an entry records it. If there is nothing to lift, nothing is
        written. What was charged stays charged.

        Parameters
        ----------
        account : str
            The name of the account.
        by : str, default ""
            Who resumes it.

        Returns
        -------
        int
            How many questions no longer count.
        """
        _check_text(by=by)
        with self._store.writing() as entries:
            before, last = _failures(entries.heads(account)), entries.last()
            if before.unanswered and last is not None:
                counts = before.after_resume(last.number + 1).written()
                body = {"lifted": before.unanswered, "failures": counts, "by": by, "at": _now()}
                entries.append("resume", account, canonical(body))
        return before.unanswered

    def account(self, account: str) -> Account:
        """Read the budget of an account and what is left of it.

        Parameters
        ----------
        account : str
            The name of the account.

        Returns
        -------
        Account
            Its cap, what was spent, what remains, and its failures.

        Raises
        ------
        LedgerError
            If it has no budget in this ledger.
        """
        with self._store.reading() as entries:
            heads = entries.heads(account)
            changed = first_change(entries.naming(account))
        balance, per_period = _balances(heads)
        left = balance.remaining if per_period is None else per_period.remaining(_now())
        renewed = None if per_period is None else per_period.budget
        failures = _failures(heads)
        return Account(account, balance.budget, balance.spent, left, balance.charges, failures, changed, renewed)

    def entries(self) -> Iterator[Entry]:
        """Iterate over all entries, oldest first.

        The hash of each is checked; `verify` checks whether they fit together.

        Yields
        ------
        Entry
            The next entry.
        """
        with self._store.all() as rows:
            for entry, _ in rows:
                yield entry

    def anchor(self) -> str:
        """Name the newest entry by number and hash; keep it elsewhere, so that `verify` notices a rollback.

        It is the newest entry that is surely on disk: outcomes after it may be lost in a power cut, and an anchor that
        names them would then accuse an honest ledger.

        Returns
        -------
        str
            The number, a colon and 64 hexadecimal digits.
        """
        with self._store.reading(synced=True) as entries:
            newest = entries.last()
            while newest is not None and newest.kind == "outcome" and newest.content.get("outcome") == ANSWERED:
                newest = entries.before(newest)
        return f"0:{BEGINNING}" if newest is None else f"{newest.number}:{newest.hash}"

    def verify(self, anchor: str | None = None) -> int:
        """Check every entry: the chain, each sum, each cap, and the anchor that the owner kept.

        Parameters
        ----------
        anchor : str, optional
            What `anchor` returned earlier. Without it, entries that were cut off at the end, or rewritten from some
            entry on, cannot be noticed.

        Returns
        -------
        int
            The number of entries.

        Raises
        ------
        LedgerError
            If an entry does not fit, or is not the one that the anchor names; the message names the first one.
        ParameterError
            If `anchor` is not what `anchor()` returns.
        """
        number, trusted = _read_anchor(anchor)
        seen = Verification()
        with self._store.all() as rows:
            for entry, key in rows:
                seen.add(entry, key)
                if entry.number == number and entry.hash != trusted:
                    raise LedgerError(f"entry {number} is not the one that the anchor names: the ledger was rewritten.")
        if seen.number < number:
            raise LedgerError(
                f"the ledger ends at entry {seen.number}, and the anchor names entry {number}: entries were removed."
            )
        return seen.number


class NoLedger(Ledger):
    """What stands in the place of a ledger where only plans are made: there is no account that could be charged.

    A release charges before it reads data, so nothing can be released with it.
    """

    def __init__(self) -> None:
        """Open nothing."""

    def __getattr__(self, name: str) -> NoReturn:
        if name == "_store":
            raise LedgerError("this dataset was opened for plans alone: it has no ledger, so nothing can be charged.")
        raise AttributeError(name)


def check_account(account: str, parts: Collection[str], failures_allowed: int | None) -> int | None:
    """Refuse what no account can be opened with, whatever the ledger holds; return how many failures are allowed."""
    _check_text(1, account=account)
    for part in parts:
        _check_text(1, part=part)
    return None if failures_allowed is None else check_allowance(failures_allowed)


def _opening(heads: Heads) -> Entry:
    if heads.budget is None:
        raise LedgerError("this dataset has no budget in this ledger. Open it with budget=... first.")
    return heads.budget


def _failures(heads: Heads) -> Failures:
    return Failures.read(_opening(heads), heads.counted)


def _stated(opening: Entry) -> Budget | PerPeriod:
    content = opening.content
    return PerPeriod._read(content["per_period"]) if "per_period" in content else read_budget(content["budget"])


def _balances(heads: Heads) -> tuple[Balance, PeriodBalance | None]:
    """What was charged, in all and, if the budget is renewed, in the period of the last charge."""
    opening, charge = _opening(heads).content, None if heads.charge is None else heads.charge.content
    budget, renewed = read_budget(opening["budget"]), opening.get("per_period")
    whole = Balance.new(budget) if charge is None else Balance.read(budget, charge)
    return whole, None if renewed is None else PeriodBalance.read(PerPeriod._read(renewed), charge)


def _answer(entry: Entry) -> bytes:
    return bytes.fromhex(entry.content["answer"])


def _read_anchor(anchor: object) -> tuple[int, str]:
    if anchor is None:
        return 0, BEGINNING
    found = _ANCHOR.fullmatch(anchor) if isinstance(anchor, str) else None
    if found is None or (int(found[1]) == 0) != (found[2] == BEGINNING):
        raise ParameterError("anchor must be what Ledger.anchor() gave: a number, a colon and 64 hexadecimal digits.")
    return int(found[1]), found[2]


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


_ANCHOR: Final = re.compile("([0-9]{1,18}):([0-9a-f]{64})")
_LONGEST_TEXT: Final = 1_000_000
_LONGEST_ACCOUNT: Final = 1600
_LONGEST_KEY: Final = 1000
"""Bytes of what is in the index: PostgreSQL takes 2704 of account, kind and key together."""
LONGEST_ANSWER: Final = 200_000_000
"""Bytes of an answer that is stored under an idempotency key."""


def _check_text(least: int = 0, /, **texts: object) -> None:
    for name, text in texts.items():
        if not isinstance(text, str) or len(text) > _LONGEST_TEXT or "\x00" in text or not is_unicode(text):
            raise ParameterError(f"{name} must be a Unicode text of at most {_LONGEST_TEXT} characters without NUL.")
        if not len(text) >= least:
            raise ParameterError(f"{name} must not be empty.")


def _check_indexed(name: str, text: str, most: int) -> None:
    """Asked of what is new alone: an older ledger in a file may have longer ones, which go on."""
    if len(text.encode()) > most:
        raise ParameterError(
            f"{name} must have at most {most} bytes in UTF-8, got {len(text.encode())}. Nothing was written. Take a "
            "shorter one: identity= of a dataset, key= of a release."
        )
