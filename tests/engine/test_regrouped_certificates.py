"""Certificates whose fields were cut elsewhere: each field is held against its own part of the ledger's entry."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pyarrow as pa
import pytest

import dither as dp
from dither.errors import CertificateError
from dither.ledger import Ledger
from dither.mechanisms.certificate import digest
from tests.engine.conftest import Open

Certificate = dict[str, Any]
TEXTS = ("version", "mechanism", "question", "unit", "account", "digest")
UNIT = "add or remove one person (by user), of whom at most 2 rows may count"


def resealed(certificate: Certificate) -> Certificate:
    rest = {key: value for key, value in certificate.items() if key != "digest"}
    return {**rest, "digest": digest(rest)}


@pytest.fixture
def released(visits: pa.Table, opened: Open) -> Iterator[tuple[Certificate, Ledger]]:
    """A certificate of a question that holds, in a literal, the separator and the words of a unit."""
    with closing(opened(visits)) as data:
        asked = data.where(dp.col("city") != f"Paris; {UNIT}").where(dp.col("city") != "x; y; z")
        release = asked.agg(n=dp.count()).release(epsilon="1/2")
        yield json.loads(json.dumps(release.certificate())), data.origin.release_path.ledger


def test_e66_question_and_unit_cannot_be_regrouped(released: tuple[Certificate, Ledger]) -> None:
    """Every cut of "question; unit" but the true one is refused, whatever is dropped between the two parts."""
    certificate, ledger = released
    assert dp.check_certificate(certificate, ledger).entry is not None
    whole = f"{certificate['question']}; {certificate['unit']}"
    cuts = [(whole[:at], whole[at + gap :]) for gap in (0, 1, 2) for at in range(1, len(whole) - 2)]
    assert any(unit.startswith("add or remove one person (by user), ") for _, unit in cuts)
    for question, unit in cuts:
        if (question, unit) == (certificate["question"], certificate["unit"]):
            continue
        with pytest.raises(CertificateError):
            dp.check_certificate(resealed({**certificate, "question": question, "unit": unit}), ledger)


def test_e66_no_text_of_a_certificate_can_move_into_another(released: tuple[Certificate, Ledger]) -> None:
    """Any two texts, swapped or with some characters moved from one to the other; the version is a label."""
    certificate, ledger = released
    for one, other in itertools.permutations(TEXTS, 2):
        first, second = certificate[one], certificate[other]
        moved = [(first[:at], first[at:] + second) for at in (1, len(first) // 2, len(first) - 1)]
        for left, right in [(second, first), *moved]:
            forged = {**certificate, one: left, other: right}
            with pytest.raises(CertificateError):
                dp.check_certificate(forged if "digest" in (one, other) else resealed(forged), ledger)


def test_e66_a_person_column_with_the_separator_keeps_its_unit(visits: pa.Table, opened: Open) -> None:
    """The true certificate of an odd column is accepted, and its unit is the whole one."""
    odd = visits.rename_columns(["a; b\\x3b", "city", "age", "spend"])
    with closing(opened(odd, unit=dp.Person("a; b\\x3b", 1, 1))) as data:
        certificate = data.count(epsilon=1).certificate()
        ledger = data.origin.release_path.ledger
        assert "(by a; b\\x3b)" in certificate["unit"]
        assert dp.check_certificate(certificate, ledger).entry is not None
        question, unit = f"{certificate['question']}; {certificate['unit']}".split("; ", 1)
        assert question == certificate["question"]
        for forged in ({"question": f"{question}; x", "unit": unit}, {"question": question, "unit": unit + " "}):
            with pytest.raises(CertificateError):
                dp.check_certificate(resealed({**certificate, **forged}), ledger)


def test_two_questions_never_have_the_same_words(visits: pa.Table, opened: Open) -> None:
    """Names that look like other words of a question stand in quotes: under one key, another question is another."""
    with closing(opened(visits)) as data:
        col = dp.col("age")
        asked = [
            data.with_columns(x=col + 1).with_columns(y=col + 2).agg(n=dp.count()),
            data.with_columns(**{"x = (age + 1); with y": col + 2}).agg(n=dp.count()),
            data.agg(n=dp.count(), m=dp.count()),
            data.agg(**{"n = count(), m": dp.count()}),
            data.per_person(a=dp.count(), b=dp.count()).agg(n=dp.count()),
            data.per_person(**{"a = count(), b": dp.count()}).agg(n=dp.count()),
            data.group_by(dp.bins("age", [0, 30, 60]), "city").agg(n=dp.count()),
            data.group_by(dp.bins("age", [0, 30, 60], name="city"), "age").agg(n=dp.count()),
        ]
        said = [question.words for question in asked]
        assert len(set(said)) == len(said)
        asked[0].release(epsilon=1, key="once")
        with pytest.raises(dp.errors.LedgerConflict):
            asked[1].release(epsilon=1, key="once")
