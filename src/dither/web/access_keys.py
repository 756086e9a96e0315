"""Who may ask: keys, shown once, hashed at rest, and refused alike whatever is wrong with them.

A key is `dither_<id>_<secret>`, with 256 bits of secret. The store has scrypt(secret), so that a copy of it opens
nothing. Every refusal costs one look into the store and one scrypt, whether there is no key, a wrong one, a revoked
one, one that expired, or a sound one without the right that is asked for: neither words nor time tell them apart.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import sqlalchemy as sql

from dither.errors import ParameterError
from dither.exact import in_words, rational
from dither.noise import entropy
from dither.web.store import KEYS, SESSIONS, ServiceStore

__all__ = ["Key", "Keyring", "Refused", "check_expiry", "check_name", "fresh_token"]

_NAME: Final = re.compile("[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_KEY: Final = re.compile("dither_([0-9a-f]{16})_([0-9a-f]{64})")
_WORK: Final = {"n": 1 << 14, "r": 8, "p": 1, "maxmem": 1 << 26, "dklen": 32}
"""16 MiB and some 40 ms for each try."""
_SESSION: Final = timedelta(hours=8)
_REMEMBERED: Final = 1024

Rights = Mapping[str, Mapping[str, str]]
"""What a key may ask of each dataset: its share, {"epsilon": "1"} or {"rho": "0.1"}; {} is first come, first served."""


class Refused(Exception):
    """There is no key that may do this. Which of the reasons it is, is shown to nobody."""


@dataclass(frozen=True, slots=True)
class Key:
    """A key as the store has it, without its secret."""

    id: str
    name: str
    rights: Rights
    is_owner: bool = False
    is_revoked: bool = False
    expires: str | None = None
    at: str = ""

    def may_ask(self, dataset: str | None) -> bool:
        """Whether it is sound now and has the right to this dataset, if one is named."""
        return self.is_sound and (dataset is None or self.is_owner or dataset in self.rights)

    @property
    def is_sound(self) -> bool:
        """Whether it was neither revoked nor has expired."""
        return not self.is_revoked and (self.expires is None or _now() < self.expires)

    @property
    def state(self) -> str:
        """In a word, for the owner."""
        return "revoked" if self.is_revoked else "sound" if self.is_sound else "expired"


def fresh_token(bits: int = 256) -> str:
    """Hexadecimal digits that nobody can guess."""
    return f"{entropy.current().bits(bits):0{bits // 4}x}"


def check_expiry(text: str) -> None:
    """A new key is for a time that is to come: another one is a slip of the pen."""
    if not _time(text) > _now():
        raise ParameterError(f"a key that expires at {text} would never open anything. Give a day that is to come.")


def check_name(name: str) -> str:
    """The name of an analyst: plain, as it stands in the ledger and in idempotency keys."""
    if not _NAME.fullmatch(name):
        raise ParameterError(
            "the name of a key has 1 to 64 letters, digits and . _ @ -, and starts with none of these."
        )
    return name


@dataclass
class Keyring:
    """The keys in a store."""

    store: ServiceStore
    _proven: dict[str, str] = field(default_factory=dict)
    """Digests of keys that were checked before, with the hash that they fitted. Only a right key gets here."""
    _gate: threading.Lock = field(default_factory=threading.Lock)

    def add(self, name: str, rights: Rights, *, is_owner: bool = False, expires: str | None = None) -> str:
        """Make a key and return it: this is the only time that it is seen."""
        check_name(name)
        if any(key.name == name and key.is_sound for key in self.all()):
            raise ParameterError(f"there is a key for {name!r} already. Rotate it, or revoke it first.")
        checked = {dataset: _share(share) for dataset, share in rights.items()}
        self._check_shares(name, checked)
        return self._insert(name, json.dumps(checked), is_owner, None if expires is None else _time(expires))

    def rotate(self, name: str) -> str:
        """A new key with the rights of the old one, which is revoked in the same transaction."""
        old = self._sound(name)
        return self._insert(name, json.dumps(old.rights), old.is_owner, old.expires, replaces=old.id)

    def revoke(self, name: str) -> None:
        """From now on it opens nothing, and neither do its sessions."""
        old = self._sound(name)
        with self.store.writing() as connection:
            connection.execute(KEYS.update().where(KEYS.c.id == old.id).values(is_revoked=True))

    def all(self) -> list[Key]:
        """All keys there ever were, oldest first."""
        return [_key(row) for row in self.store.rows(sql.select(KEYS).order_by(KEYS.c.at, KEYS.c.id))]

    def authenticated(self, shown: str | None, dataset: str | None = None, *, owner: bool = False) -> Key:
        """The key that was shown, if it may do this; else `Refused`, in the same time whatever is wrong."""
        found = _KEY.fullmatch(shown or "")
        id, secret = (found[1], found[2]) if found else ("", "")
        rows = self.store.rows(sql.select(KEYS).where(KEYS.c.id == id))
        row = rows[0] if rows else _NOBODY
        digest = _digest(shown or "")
        key = _key(row)
        may = key.may_ask(dataset) and (key.is_owner or not owner)
        if may and self._proven.get(digest) == row["hash"]:
            return key
        fits = hmac.compare_digest(_hash(secret, row["salt"]), row["hash"]) and bool(rows)
        if not key.is_sound:
            self._proven.pop(digest, None)  # from now on it is counted as a stranger's
        if not (fits and may):
            raise Refused
        with self._gate:
            if len(self._proven) >= _REMEMBERED:
                self._proven.clear()
            self._proven[digest] = row["hash"]
        return key

    def check_still(self, key: Key, dataset: str) -> None:
        """Refuse what was asked under a key that was revoked, or has expired, since; one that was rotated goes on."""
        alike = map(_key, self.store.rows(sql.select(KEYS).where(KEYS.c.name == key.name)))
        if not any(each.may_ask(dataset) and each.rights.get(dataset) == key.rights.get(dataset) for each in alike):
            raise Refused

    def refusal(self) -> Refused:
        """A refusal after the key was taken, in the time that any other refusal needs."""
        self.store.rows(sql.select(KEYS).where(KEYS.c.id == ""))
        _hash("", _NOBODY["salt"])
        return Refused()

    def is_known(self, shown: str) -> bool:
        """Whether this very key was taken before; a guess is not."""
        return _digest(shown) in self._proven

    # ---------------------------------------------------------------- sessions of the page

    def signed_in(self, shown: str) -> str:
        """A session for the key: its secret, for a cookie."""
        key = self.authenticated(shown)
        token = fresh_token()
        with self.store.writing() as connection:
            connection.execute(SESSIONS.delete().where(SESSIONS.c.expires < _now()))
            values = {"digest": _digest(token), "key": key.id, "expires": (datetime.now(UTC) + _SESSION).isoformat()}
            connection.execute(SESSIONS.insert().values(values))
        return token

    def signed_out(self, token: str) -> None:
        """Forget a session."""
        with self.store.writing() as connection:
            connection.execute(SESSIONS.delete().where(SESSIONS.c.digest == _digest(token)))

    def of_session(self, token: str | None, dataset: str | None = None, *, owner: bool = False) -> Key:
        """The key of a session, if it may do this."""
        sound = (SESSIONS.c.digest == _digest(token or ""), SESSIONS.c.expires > _now(), SESSIONS.c.key == KEYS.c.id)
        for row in self.store.rows(sql.select(KEYS).where(*sound)):  # one look, whatever is wrong
            key = _key(row)
            if key.may_ask(dataset) and (key.is_owner or not owner):
                return key
        raise Refused

    def _sound(self, name: str) -> Key:
        found = [key for key in self.all() if key.name == name and key.is_sound]
        if not found:
            known = sorted({key.name for key in self.all() if key.is_sound})
            raise ParameterError(f"there is no key for {name!r}. Existing: {', '.join(known) or 'none'}.")
        return found[-1]

    def _check_shares(self, name: str, rights: Rights) -> None:
        """A share is an account of the ledger, which has its cap for good."""
        for before in (key for key in self.all() if key.name == name):
            for dataset, share in before.rights.items():
                if share and rights.get(dataset, share) != share:
                    raise ParameterError(
                        f"{name!r} was given the share {', '.join(share.values())} of {dataset!r} before, and a share "
                        "is given once. Give the same, or make a key under another name."
                    )

    def _insert(
        self, name: str, rights: str, is_owner: bool, expires: str | None, *, replaces: str | None = None
    ) -> str:
        id, secret, salt = fresh_token(64), fresh_token(), fresh_token(128)
        row = {"id": id, "name": name, "salt": salt, "hash": _hash(secret, salt), "rights": rights, "at": _now()}
        with self.store.writing() as connection:
            if replaces is not None:
                connection.execute(KEYS.update().where(KEYS.c.id == replaces).values(is_revoked=True))
            connection.execute(KEYS.insert().values(**row, is_owner=is_owner, is_revoked=False, expires=expires))
        return f"dither_{id}_{secret}"


_NOBODY: Final[Mapping[str, Any]] = {
    "id": "", "name": "", "salt": "00" * 16, "hash": "00" * 32, "rights": "{}", "is_owner": False, "is_revoked": True,
    "expires": None, "at": "",
}  # fmt: skip
"""What a key that is not there is compared with: scrypt of nothing is all zeros with probability 2⁻²⁵⁶."""


def _key(row: Mapping[str, Any]) -> Key:
    fields = {name: row[name] for name in ("id", "name", "is_owner", "is_revoked", "expires", "at")}
    return Key(**fields, rights=json.loads(row["rights"]))


def _share(share: Mapping[str, str]) -> dict[str, str]:
    if not set(share) <= {"epsilon", "rho"} or len(share) > 1:
        raise ParameterError("a share is epsilon or rho, one of them.")
    for name, said in share.items():
        if not rational(said, name) > 0:
            raise ParameterError(f"the {name} of a share must be greater than 0.")
    return {name: in_words(rational(said, name)) for name, said in share.items()}


def _hash(secret: str, salt: str) -> str:
    return hashlib.scrypt(secret.encode(), salt=bytes.fromhex(salt), **_WORK).hex()


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _time(text: str) -> str:
    """The moment after which a key is no longer taken."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ParameterError(f"a key expires at a day or a time such as 2027-01-31, got {text!r}.") from None
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC).isoformat()


def _now() -> str:
    return datetime.now(UTC).isoformat()
