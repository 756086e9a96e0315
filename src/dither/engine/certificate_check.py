"""Is a certificate true? Its cost is computed again, and compared with the charge in the ledger.

Without a ledger it is certain that the certificate is well formed, that its parts agree, and that what it records
costs no more than it states: an upper bound on the cost of the event is at most the stated guarantee, so a promise that
is too small is never accepted. That it *was* done, for which question and in which account, only the ledger knows.
Each field is compared with its own part of the entry: `dither.engine.written_question` takes question and unit apart.

It may come from anyone, so the work is bounded: its text has at most 2,000,000 characters, its event is nested 32
deep at most and its numbers have 1,250 bits at most, and 256 different releases are composed, on 2^24 points in all; 4
of them may be known by bounds only.

| field | without a ledger | with a ledger |
|---|---|---|
| `dither_certificate`, the set of fields | exactly as written by this format | the same |
| `version` | a label of the right form | the same: no entry holds it |
| `mechanism` | a label; it decides which fields there are | "table" |
| `unit` | begins with the privacy unit, as in the event | that of the entry |
| `event` | an event that accounting can read | the one that was charged |
| `guarantee` | not below the cost of the event | what was charged |
| `split` (of `dp.stats`) | adds up to the stated ε | the same |
| `question`, `account` | text | those of the entry |
| `ledger_entry` | text | number and hash of a charge, in a chain that verifies |
| `ledger` | absent, or "in memory": then no ledger outlives the process | as in the entry |
| `answer` | a digest; if the file of the answer is given, that of the file | that of the outcome, if it has one |
| `digest` | of all other fields | the same |
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Final, TypeAlias

from dither.accounting import Composition, compose
from dither.accounting.covering import is_in_reach, keeps_pair, keeps_rho, summed
from dither.accounting.filters import pure_cost
from dither.adjacency import Adjacency, name
from dither.engine.answer_file import answer_digest, is_digest
from dither.engine.written_question import question_and_unit
from dither.errors import CertificateError, DitherError, LedgerError, ParameterError
from dither.events import Event, GaussianNoise, from_json, to_json
from dither.events.wire import strict_object
from dither.exact import rational
from dither.exact.certified import named
from dither.guarantees import ZCDP, ApproxDP, GaussianDP, PureDP
from dither.ledger import Entry, Ledger
from dither.ledger.budget import Budget, read_budget
from dither.mechanisms.certificate import FORMAT, digest, stated
from dither.mechanisms.lattice_gaussian import dominating_mu_squared, smallest_variance

__all__ = ["Checked", "check_certificate", "read_certificate"]

Promise: TypeAlias = Budget | GaussianDP
"""What releases state, beside the profile of the event itself."""

_ALWAYS: Final = {"dither_certificate", "version", "mechanism", "unit", "event", "guarantee", "digest"}
_OF_ESTIMATES: Final = _ALWAYS | {"split"}
_OF_TABLES: Final = _ALWAYS | {"question", "account", "ledger_entry"}
_IN_MEMORY: Final = "in memory"
_VERSION: Final = re.compile(r"[0-9]+(\.[0-9]+)*[a-z0-9.+]{0,40}")
_KINDS: Final[dict[str, Callable[..., Promise]]] = {
    "PureDP": PureDP,
    "ApproxDP": ApproxDP,
    "ZCDP": ZCDP,
    "GaussianDP": lambda mu_squared, adjacency: GaussianDP.from_square(rational(mu_squared), adjacency=adjacency),
}
MOST_CHARACTERS: Final = 2_000_000
"""How long the text of a certificate may be."""
_USUAL_DELTAS: Final = (Fraction(0), Fraction(1, 10**9), Fraction(1, 10**6))
_PROFILE: Final = {"kind": "ProfileOf", "of": "event"}


@dataclass(frozen=True, slots=True)
class Checked:
    """A certificate that was found true; `check_certificate` returns it.

    Parameters
    ----------
    event : Event
        What was done.
    guarantee : PureDP, ApproxDP, ZCDP, GaussianDP or None
        What was stated; None stands for the privacy profile of the event itself.
    entry : Entry, optional
        The charge in the ledger, if a ledger was given.
    entries : int, default 0
        How many entries of the ledger were verified.
    answer_recorded : bool, default False
        Whether the ledger recorded the digest of this answer when it was drawn.
    """

    event: Event
    guarantee: Promise | None
    entry: Entry | None = None
    entries: int = 0
    answer_recorded: bool = False

    @property
    def cost(self) -> Composition:
        """The tight cost, computed again from the event."""
        return compose([self.event])

    @property
    def epsilons(self) -> dict[Fraction, float]:
        """The ε of what was done, computed again, at the δ that is stated; if none is, at 0, 1e-9 and 1e-6.

        Never below the truth: the smallest of what the composition gives, of the sum of all largest losses where δ
        covers the sum of all δ, and of what is stated, which was shown to hold. A δ at which no ε is certain is left
        out.

        >>> import dither as dp
        >>> release = dp.Exponential(sensitivity=1, epsilon=1).release([3, 1000])
        >>> {float(delta): epsilon for delta, epsilon in check_certificate(release.certificate()).epsilons.items()}
        {0.0: 1.0, 1e-09: 0.9999497..., 1e-06: 0.998409...}
        """
        sums = summed(pure_cost, self.event)
        whole = self.cost
        composed = whole.upper_epsilon if is_in_reach(whole) else lambda delta: math.inf
        found = {}
        for delta in _deltas(self.guarantee):
            added = named(sums[0]) if sums is not None and sums[1] <= delta else math.inf
            shown = math.inf if self.guarantee is None else self.guarantee.epsilon(delta)
            found[delta] = min(composed(delta), added, shown)
        return {delta: epsilon for delta, epsilon in found.items() if epsilon < math.inf}


def _deltas(guarantee: Promise | None) -> tuple[Fraction, ...]:
    if isinstance(guarantee, PureDP):
        return (Fraction(0),)
    return (guarantee.stated_delta,) if isinstance(guarantee, ApproxDP) else _USUAL_DELTAS


def read_certificate(text: str) -> dict[str, Any]:
    """Read a certificate from JSON text.

    It is read strictly: a key twice, bare decimals and NaN are refused. `check_certificate` then checks what it states.

    Parameters
    ----------
    text : str
        The JSON text, at most 2,000,000 characters.

    Returns
    -------
    dict of str to Any
        The fields of the certificate.

    Raises
    ------
    CertificateError
        If the text is no JSON object of this kind.

    Examples
    --------
    >>> import json
    >>> import dither as dp
    >>> written = json.dumps(dp.Laplace(sensitivity=1, epsilon=0.5).release(20).certificate())
    >>> read_certificate(written)["mechanism"]
    'Laplace'
    """
    if len(text) > MOST_CHARACTERS:
        raise CertificateError("text", f"a certificate has at most {MOST_CHARACTERS:,} characters.")
    try:
        return strict_object(text, "a certificate")
    except ParameterError as error:
        raise CertificateError("text", str(error)) from None


def check_certificate(
    certificate: Mapping[str, Any], ledger: Ledger | None = None, *, answer: bytes | None = None
) -> Checked:
    """Check that a certificate is true: its cost is computed again, and the ledger is asked for the charge.

    Without a ledger it is certain that the certificate is well formed, that its parts agree, and that what it states
    was done costs no more than it states. That it was done, only the ledger knows.

    Parameters
    ----------
    certificate : mapping of str to Any
        What `release.certificate()` returned, or `read_certificate` read.
    ledger : Ledger, optional
        The ledger that was charged, for a release of a dataset. It is verified as a whole.
    answer : bytes, optional
        What the CSV file of the answer holds, as `dither release --out answer.csv` writes it: it must be the one that
        the certificate was made with.

    Returns
    -------
    Checked
        What was done, what was stated, and the charge in the ledger.

    Raises
    ------
    CertificateError
        If something is wrong; `.part` names the field, and the message the reason.

    Examples
    --------
    >>> import dither as dp
    >>> certificate = dp.Laplace(sensitivity=1, epsilon=0.5).release(20).certificate()
    >>> dp.check_certificate(certificate).guarantee
    PureDP(epsilon=0.5)
    >>> certificate["guarantee"]["epsilon"] = "1/4"
    >>> dp.check_certificate(certificate)
    Traceback (most recent call last):
    dither.errors.CertificateError: digest: it is not that of the other fields: one of them was changed.
    """
    content = _plain(certificate)
    _check_fields(content)
    event = _event(content["event"])
    _check_unit(content, event)
    guarantee = _guarantee(content["guarantee"], event)
    if "split" in content:
        _check_split(content["split"], guarantee)
    if answer is not None:
        _check_answer(content, answer)
    checked = Checked(event, guarantee)
    if ledger is not None:
        checked = _confirmed(content, checked, ledger)
    if guarantee is not None and not _covers(guarantee, event):
        raise CertificateError("guarantee", f"what was done is not shown to cost at most {guarantee}.")
    return checked


def _plain(certificate: Any) -> dict[str, Any]:
    """The certificate as JSON would give it back."""
    if not isinstance(certificate, Mapping):
        raise CertificateError("text", f"a certificate is a JSON object, got the type {type(certificate).__name__}.")
    try:
        return read_certificate(json.dumps(dict(certificate), allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        if isinstance(error, CertificateError):
            raise
        raise CertificateError("text", f"a certificate holds JSON values only ({type(error).__name__}).") from None


def _check_fields(content: dict[str, Any]) -> None:
    written = content.get("dither_certificate")
    if type(written) is not int or written != FORMAT:
        raise CertificateError("dither_certificate", f"must be {FORMAT}. Check it with the dither that wrote it.")
    for label in ("version", "mechanism", "unit", "digest"):
        if not isinstance(content.get(label), str) or not content[label]:
            raise CertificateError(label, "must be a text that is not empty.")
    if not _VERSION.fullmatch(content["version"]):
        raise CertificateError("version", "must be a version such as 1.2.0.")
    if "noise" in content:
        raise CertificateError("noise", "it was removed for a test, so that this release is not private.")
    if "answer" in content and not is_digest(content["answer"]):
        raise CertificateError("answer", "must be a digest such as sha256:0123..., of 64 digits.")
    fields = _fields_of(content)
    if wrong := sorted(content.keys() ^ fields):
        verb = "is missing" if wrong[0] in fields else "does not belong to such a certificate"
        raise CertificateError(wrong[0], f"this field {verb}. Its fields: {', '.join(sorted(fields))}.")
    if content["digest"] != digest({label: value for label, value in content.items() if label != "digest"}):
        raise CertificateError("digest", "it is not that of the other fields: one of them was changed.")


def _fields_of(content: dict[str, Any]) -> set[str]:
    if content["mechanism"] == "table":
        optional = {"answer", "period"} & content.keys()  # older certificates have no answer, and streams have periods
        return _OF_TABLES | optional | ({"ledger"} if content.get("ledger") == _IN_MEMORY else set())
    return _OF_ESTIMATES if content["mechanism"].startswith("stats.") else _ALWAYS


def _event(says: Any) -> Event:
    """Read the event, which must be spelled as dither spells it."""
    try:
        event = from_json(json.dumps(says))
    except DitherError as error:
        raise CertificateError("event", str(error)) from None
    if json.loads(to_json(event)) != says:
        raise CertificateError("event", "it is not spelled as dither writes it.")
    return event


def _check_unit(content: dict[str, Any], event: Event) -> None:
    unit, protected = content["unit"], name(event.adjacency)
    if unit != protected and not (content["mechanism"] == "table" and unit.startswith(f"{protected}, ")):
        raise CertificateError("unit", f"the event protects '{protected}', and the certificate states another unit.")


def _guarantee(says: Any, event: Event) -> Promise | None:
    """What is stated, about the same neighbours as the event; None if that is the profile of the event."""
    is_profile = isinstance(says, dict) and {key: says[key] for key in says if key != "adjacency"} == _PROFILE
    guarantee = None if is_profile else _stated(says)
    if _adjacency(says) != event.adjacency:
        raise CertificateError("guarantee", "it protects something else than the event.")
    return guarantee


def _stated(says: Any) -> Promise:
    """Read back, and then written again: what differs in anything is refused."""
    kind = says.get("kind") if isinstance(says, dict) else None
    if not isinstance(kind, str) or kind not in _KINDS:
        raise CertificateError("guarantee", f"its kind must be one of {', '.join(_KINDS)} and ProfileOf.")
    figures = {key: value for key, value in says.items() if key not in ("kind", "adjacency")}
    try:
        guarantee = _KINDS[kind](**figures, adjacency=_adjacency(says))
    except (TypeError, ParameterError):
        guarantee = None
    if guarantee is None or stated(guarantee) != says:
        raise CertificateError("guarantee", f"these are not the exact figures of a {kind}.")
    return guarantee


def _adjacency(says: dict[str, Any]) -> Adjacency | None:
    if "adjacency" not in says:
        return None
    try:
        return Adjacency(**says["adjacency"])
    except (TypeError, ParameterError):
        raise CertificateError("guarantee", "its adjacency does not state the privacy unit.") from None


def _covers(guarantee: Promise, event: Event) -> bool:
    """Whether the event certainly keeps the guarantee: True is proved; False may be a proof that is missing."""
    if isinstance(guarantee, GaussianDP):
        return isinstance(event, GaussianNoise) and _is_dominated(event, guarantee.mu_squared)
    failure = guarantee.stated_delta if isinstance(guarantee, ApproxDP) else Fraction(0)
    try:
        if isinstance(guarantee, ZCDP):
            return keeps_rho(event, guarantee.rho)
        return keeps_pair(event, guarantee.stated_epsilon, failure)
    except DitherError as error:
        raise CertificateError("event", f"its cost cannot be computed again. {error}") from None


def _is_dominated(noise: GaussianNoise, mu_squared: Fraction) -> bool:
    """Whether continuous noise of this μ² dominates it: by its scale, or by mechanisms/lattice_gaussian.md."""
    if noise.step is None:
        return noise.sensitivity_squared <= mu_squared * noise.variance
    variance, square = noise.variance / noise.step**2, noise.sensitivity_squared / noise.step**2
    if mu_squared and smallest_variance(mu_squared, square, noise.dimension) <= variance:
        return True
    found = dominating_mu_squared(variance, square, noise.dimension)
    return found is not None and found <= mu_squared


def _check_split(split: Any, guarantee: Promise | None) -> None:
    if not isinstance(split, dict) or not all(isinstance(part, str) for part in split.values()):
        raise CertificateError("split", "must name steps, with the epsilon of each as text.")
    try:
        parts = [rational(part, step) for step, part in split.items()]
    except ParameterError:
        raise CertificateError("split", "its parts must be exact numbers.") from None
    whole = getattr(guarantee, "stated_epsilon", None)
    if any(part < 0 for part in parts) or sum(parts, Fraction(0)) != whole:
        raise CertificateError("split", f"its parts must add up to the stated epsilon, {whole}.")


def _check_answer(content: dict[str, Any], answer: bytes) -> None:
    if "answer" not in content:
        raise CertificateError("answer", "this certificate names no answer, so it is not known to which it belongs.")
    if content["answer"] != answer_digest(answer):
        raise CertificateError(
            "answer",
            "the file is not the answer that this certificate was made with: something in it was changed, or another "
            "program saved it anew. Ask whoever sent it for the file as dither wrote it.",
        )


def _confirmed(content: dict[str, Any], checked: Checked, ledger: Ledger) -> Checked:
    """Find the entry in a ledger that verifies, and compare every field with it."""
    if "ledger_entry" not in content:
        raise CertificateError("ledger", "this certificate names no entry, so no ledger can confirm it. Leave it out.")
    entry, entries = _found(content["ledger_entry"], ledger)
    if entry.kind != "charge":
        raise CertificateError("ledger_entry", f"this entry is no charge but of the kind {entry.kind!r}.")
    charged = entry.content
    question, unit = question_and_unit(charged["question"])
    agrees = {
        "account": entry.account == content["account"],
        "question": question == content["question"],
        "unit": unit == content["unit"],
        "event": charged["event"] == to_json(checked.event),
        "guarantee": read_budget(charged["cost"]) == checked.guarantee,
        "ledger": entry.is_durable == ("ledger" not in content),
    }
    for part, is_same in agrees.items():
        if not is_same:
            raise CertificateError(part, f"entry {entry.number} of the ledger holds something else.")
    _check_period(content.get("period"), entry, ledger)
    recorded = _recorded(entry, ledger)
    if recorded and "answer" in content and content["answer"] not in recorded:
        raise CertificateError(
            "answer",
            f"the ledger recorded another answer for entry {entry.number}: these numbers are not those that were "
            "drawn. They were changed since, as by non_negative(), by another level or by hand. Ask for them as they "
            "were.",
        )
    return replace(checked, entry=entry, entries=entries, answer_recorded=content.get("answer") in recorded)


def _recorded(charge: Entry, ledger: Ledger) -> set[str]:
    """The digests of answers that outcomes of this charge hold: of none, where a power cut took the outcome back."""
    attempts, found = set(), set()
    for each in ledger.entries():
        if each.kind == "attempt" and each.content["charge"] == charge.number:
            attempts.add(each.number)
        elif each.kind == "outcome" and each.content["attempt"] in attempts and "answer" in each.content:
            found.add(each.content["answer"])
    return found


def _check_period(period: Any, charge: Entry, ledger: Ledger) -> None:
    """A charge of a stream is for periods that are recorded, each by itself; another charge is for none."""
    if "periods" not in charge.content:
        if period is not None:
            raise CertificateError("period", f"entry {charge.number} of the ledger is not that of a stream.")
        return
    if type(period) is not int:
        raise CertificateError("period", "must be the number of the period that this is the answer of.")
    wanted = charge.number, period
    recorded = (each.content for each in ledger.entries() if each.kind == "period")
    if all((each["charge"], each["period"]) != wanted for each in recorded):
        raise CertificateError("period", f"the ledger has no record of period {period} of entry {charge.number}.")


def _found(says: Any, ledger: Ledger) -> tuple[Entry, int]:
    """The entry of that number and hash in a ledger that verifies, and the number of all its entries."""
    if not isinstance(says, dict) or says.keys() != {"number", "hash"} or type(says["number"]) is not int:
        raise CertificateError("ledger_entry", "must be the number and the hash of an entry.")
    try:
        entries = ledger.verify()
        found = next((entry for entry in ledger.entries() if entry.number == says["number"]), None)
    except LedgerError as error:
        raise CertificateError("ledger", str(error)) from None
    if found is None:
        raise CertificateError("ledger_entry", f"the ledger has {entries} entries, and none of this number.")
    if found.hash != says["hash"]:
        raise CertificateError("ledger_entry", "the entry of this number has another hash in this ledger.")
    return found, entries
