"""Descriptions → the service: each file is a dataset, whose questions are read as those of the file are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from decimal import Decimal
from pathlib import Path
from typing import Any

from dither.cli.description import Description
from dither.cli.toml_file import asked_by_others, read, server_section
from dither.engine import Query, Question
from dither.errors import ParameterError
from dither.guarantees import ZCDP
from dither.ledger import PerPeriod
from dither.web.access_keys import Keyring
from dither.web.offered_dataset import Offered, Read
from dither.web.practice_rows import practice_of
from dither.web.service import Service
from dither.web.settings import Settings
from dither.web.store import ServiceStore

__all__ = ["keyring_of", "opened", "settings_of"]

_KINDS: dict[str, type] = {
    "store": str, "host": str, "port": int, "period": Decimal, "approval": bool, "practice": bool,
    "requests_per_second": Decimal, "most_bytes": int, "tls_certificate": str, "tls_key": str,
    "behind_proxy": bool,
}  # fmt: skip
_STORE = "dither.service"


def settings_of(file: Path, **instead: Any) -> Settings:
    """What `[server]` of a file says; paths are those seen from its folder."""
    section = server_section(file)
    section.only(_KINDS)
    said = {name: section.get(name, kind) for name, kind in _KINDS.items() if name in section.values}
    said = {name: float(each) if isinstance(each, Decimal) else each for name, each in said.items()}
    for name in ("tls_certificate", "tls_key"):
        if name in said:
            said[name] = file.parent / said[name]
    store = said.pop("store", _STORE)
    place = store if "://" in store else str(file.parent / store)
    return section.at(next(iter(said), "store"), lambda: Settings(place, **{**said, **instead}))


def keyring_of(file: Path) -> Keyring:
    """The keys of the service that a file describes."""
    return Keyring(ServiceStore(settings_of(file).store))


def opened(files: Sequence[Path], settings: Settings) -> Service:
    """The service of some descriptions, with all datasets open."""
    settings.check_network()
    with ExitStack() as ours:
        offered: dict[str, Offered] = {}
        for file in files:
            each = _offered(read(file), ours)
            if each.name in offered:
                raise ParameterError(
                    f"two datasets are called {each.name!r}. Give one of them another table or file name."
                )
            offered[each.name] = each
            if settings.practice:
                practice = practice_of(each)
                ours.callback(practice.data.close)
                offered[practice.name] = practice
        store = ServiceStore(settings.store)
        ours.callback(store.close)
        return Service(offered, settings, store, Keyring(store), ours.pop_all())


def _offered(description: Description, ours: ExitStack) -> Offered:
    with description.for_planning() as plain:
        known = description.account_of(plain.origin.release_path.account)
    data = ours.enter_context(description.for_releasing(known))
    name = data.origin.table_name
    return Offered(name, data, _reader(description), name, kinds=description.kinds)


def _reader(description: Description) -> Read:
    def read_question(rows: Query, values: Mapping[str, Any]) -> tuple[Question, Mapping[str, Any]]:
        if "key" in values:
            raise ParameterError("the idempotency key stands in the header Idempotency-Key, not in the question.")
        asked = asked_by_others(values, description, rows.columns)
        question = asked.of(rows)
        description.check(asked, question, rows.columns)
        if not asked.price.keys() & {"epsilon", "rho"} and not getattr(question, "stated_price", None):
            raise ParameterError('the question has no price. Say what it may cost: "epsilon": "0.5".')
        return question, asked.price

    return read_question


def shares(files: Sequence[Path], texts: Sequence[str]) -> dict[str, dict[str, str]]:
    """`visits=0.5`, or `visits` without a share; by default all datasets of the files without one."""
    figures: dict[str, str] = {}
    for file in files:
        description = read(file)
        with description.for_planning() as plain:
            stated = description.budget
            each = stated.each if isinstance(stated, PerPeriod) else stated
            figures[plain.origin.table_name] = "rho" if isinstance(each, ZCDP) else "epsilon"
    if not texts:
        return {name: {} for name in figures}
    found: dict[str, dict[str, str]] = {}
    for text in texts:
        name, is_share, amount = (each.strip() for each in text.partition("="))
        if name in found:
            raise ParameterError(f"--dataset names {name!r} twice. Give it one share.")
        if name not in figures:
            raise ParameterError(
                f"no dataset is called {name!r}. Described: {', '.join(figures)}. Where several descriptions are "
                "served, name all of them: --description."
            )
        found[name] = {figures[name]: amount} if is_share else {}
    return found
