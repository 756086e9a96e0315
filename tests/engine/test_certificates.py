"""Certificates: true ones are accepted; whatever is changed in one is refused, by its digest, by arithmetic, or by the
ledger."""

from __future__ import annotations

import copy
import json
import warnings
from collections.abc import Iterator
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import dither as dp
from dither.accounting import WideBracket
from dither.cli import app
from dither.engine import read_certificate
from dither.engine.answer_file import written_answer
from dither.errors import CertificateError
from dither.ledger import Ledger
from dither.mechanisms.certificate import digest
from tests.engine.conftest import Open
from tests.mechanisms.mechanism_case import Case
from tests.mechanisms.mechanism_cases import CASES

Certificate = dict[str, Any]
Path_ = tuple[Any, ...]

WITHOUT_A_LEDGER = {
    "dither_certificate": "checked",
    "version": "a label",
    "mechanism": "a label",
    "question": "text",
    "unit": "the beginning is checked",
    "event": "checked against the guarantee",
    "guarantee": "not below the event",
    "answer": "a digest",
    "account": "text",
    "ledger_entry": "text",
}


def resealed(certificate: Certificate) -> Certificate:
    """As a forger would: with a digest that fits."""
    rest = {key: value for key, value in certificate.items() if key != "digest"}
    return {**rest, "digest": digest(rest)}


def leaves(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    """The way to each value that holds no others."""
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(inner, (*path, key))
    else:
        yield path


def changed(certificate: Certificate, path: Path_, value: Any) -> Certificate:
    """The certificate with another value at the end of the path."""
    other = copy.deepcopy(certificate)
    place: Any = other
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return other


def at(certificate: Certificate, path: Path_) -> Any:
    value: Any = certificate
    for key in path:
        value = value[key]
    return value


def others(value: Any) -> list[Any]:
    """Values that are not this one: of its own type first, then of others."""
    wrong: list[Any] = [None, True, [], {}, "", 0.5]
    if isinstance(value, str):
        near = [value + " ", value + "0", f"1{value}", "1", "2/3", "PureDP", "person", "replace", "0" * 64]
        return [each for each in [*near, *wrong, 7] if each != value]
    return [value + 1, value - 1, str(value), *wrong]


@pytest.fixture
def released(visits: pa.Table, opened: Open) -> Iterator[tuple[list[Certificate], Ledger]]:
    """Certificates of several kinds of plans, and their ledger."""
    data = opened(visits)
    grouped = data.group_by("city", keys=["Paris", "Lyon"])
    found = data.where(dp.col("age") > 3).group_by("city")
    releases = [
        grouped.agg(n=dp.count(), m=dp.mean("spend", bounds=(0, 200))).release(epsilon="1/3"),
        grouped.agg(n=dp.count(), m=dp.mean("spend", bounds=(0, 200))).release(epsilon=1, delta="1e-6"),
        grouped.agg(q=dp.quantile("spend", ["0.25", "0.5"], bounds=(0, 200))).release(epsilon="0.7", key="once"),
        found.agg(n=dp.count()).release(epsilon=1, delta="1e-5"),
        data.count_people(epsilon="0.1"),
    ]
    with closing(data), closing(Ledger(data.origin.release_path.ledger._store._place.name)) as ledger:
        yield [json.loads(json.dumps(release.certificate())) for release in releases], ledger


def test_true_certificates_are_accepted(released: tuple[list[Certificate], Ledger]) -> None:
    certificates, ledger = released
    for certificate in certificates:
        assert dp.check_certificate(certificate).entry is None
        checked = dp.check_certificate(certificate, ledger)
        assert checked.entry is not None
        assert checked.entry.number == certificate["ledger_entry"]["number"]
        assert checked.entries >= 6
        assert checked.cost.epsilon(0 if "delta" not in certificate["guarantee"] else "1e-5") < 2


def test_concentrated_tables_too(visits: pa.Table, opened: Open) -> None:
    with closing(opened(visits, budget=dp.ZCDP(1), name="rho")) as data:
        release = data.group_by("city", keys=["Paris"]).agg(n=dp.count()).release(rho="0.1")
        checked = dp.check_certificate(release.certificate(), data.origin.release_path.ledger)
        assert isinstance(checked.guarantee, dp.ZCDP)
        assert checked.guarantee.rho == Fraction(1, 10)


def test_whatever_is_changed_is_refused(released: tuple[list[Certificate], Ledger]) -> None:
    """Each value of each certificate, replaced by many others: the digest tells, with a ledger and without."""
    certificates, ledger = released
    for certificate in certificates[:2]:
        for path in leaves(certificate):
            for value in others(at(certificate, path)):
                with pytest.raises(CertificateError):
                    dp.check_certificate(changed(certificate, path, value))
    with pytest.raises(CertificateError):
        dp.check_certificate(changed(certificates[0], ("question",), "another"), ledger)


def test_with_a_digest_that_fits_the_ledger_tells(released: tuple[list[Certificate], Ledger]) -> None:
    """All but the label that says which version of dither wrote it: that is in no entry."""
    certificates, ledger = released
    accepted = set()
    for certificate in certificates:
        for path in leaves(certificate):
            for value in others(at(certificate, path))[:6]:
                forged = changed(certificate, path, value)
                try:
                    dp.check_certificate(resealed(forged) if path != ("digest",) else forged, ledger)
                except CertificateError:
                    continue
                accepted.add(path[0])
    assert accepted == {"version"}


def test_fields_that_are_added_taken_away_or_renamed(released: tuple[list[Certificate], Ledger]) -> None:
    certificates, ledger = released
    for certificate in certificates[:1]:
        for key in certificate.keys() - {"answer"}:  # of an older dither
            less = {name: value for name, value in certificate.items() if name != key}
            with pytest.raises(CertificateError):
                dp.check_certificate(less if key == "digest" else resealed(less), ledger)
        for extra in ("split", "value", "note"):
            with pytest.raises(CertificateError, match=f"{extra}: this field does not belong"):
                dp.check_certificate(resealed({**certificate, extra: "x"}), ledger)
        for inside in ("event", "guarantee", "ledger_entry"):
            with pytest.raises(CertificateError, match=inside):
                dp.check_certificate(resealed(changed(certificate, (inside, "note"), "1")), ledger)


def test_what_can_be_told_without_a_ledger(released: tuple[list[Certificate], Ledger]) -> None:
    """The table at the top of engine/certificate_check.py, tried. A forger who has no ledger to fear may change labels,
    the question, the account and the entry, and may state a higher cost, but not a lower one."""
    certificate = released[0][0]
    assert WITHOUT_A_LEDGER.keys() == certificate.keys() - {"digest"}
    for key, other in {
        "version": "0.0.9",
        "question": "n = count()",
        "account": "another",
        "answer": f"sha256:{'0' * 64}",
        "unit": "add or remove one person (by user), of whom 1 row is used",
        "ledger_entry": {"number": 1, "hash": "0" * 64},
    }.items():
        assert dp.check_certificate(resealed({**certificate, key: other})).guarantee is not None
    higher = changed(certificate, ("guarantee", "epsilon"), "1/2")
    assert dp.check_certificate(resealed(higher)).guarantee is not None
    for path, value, part in [
        (("guarantee", "epsilon"), "3333/10000", "guarantee"),
        (("guarantee", "kind"), "ZCDP", "guarantee"),
        (("guarantee", "adjacency", "column"), "visit", "guarantee"),
        (("unit",), "add or remove one record", "unit"),
        (("dither_certificate",), 2, "dither_certificate"),
        (("event", "events", 0, "scale"), "1/7", "guarantee"),
        (("event", "events", 0, "scale"), "2/4", "event"),
        (("event", "dither_event"), 2, "event"),
        (("mechanism",), "Laplace", "account"),
    ]:
        with pytest.raises(CertificateError) as caught:
            dp.check_certificate(resealed(changed(certificate, path, value)))
        assert caught.value.part == part, path


def test_an_entry_that_is_no_charge_and_a_ledger_that_was_changed(
    released: tuple[list[Certificate], Ledger], tmp_path: Path
) -> None:
    certificates, ledger = released
    opening = next(iter(ledger.entries()))
    forged = {**certificates[0], "ledger_entry": {"number": 1, "hash": opening.hash}}
    with pytest.raises(CertificateError, match="is no charge"):
        dp.check_certificate(resealed(forged), ledger)
    with closing(Ledger(tmp_path / "empty.ledger")) as empty, pytest.raises(CertificateError, match="0 entries"):
        dp.check_certificate(certificates[0], empty)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_every_mechanism_has_certificates_that_are_accepted(case: Case) -> None:
    certificate = json.loads(json.dumps(case.release(case.make(), case.value).certificate()))
    assert dp.check_certificate(certificate).event is not None
    figures = {"PureDP": "epsilon", "ApproxDP": "epsilon", "ZCDP": "rho", "GaussianDP": "mu_squared"}
    name = figures.get(certificate["guarantee"]["kind"])
    if name is not None:
        less = str(Fraction(certificate["guarantee"][name]) * Fraction(9, 10))
        with pytest.raises(CertificateError, match="guarantee: what was done is not shown to cost at most"):
            dp.check_certificate(resealed(changed(certificate, ("guarantee", name), less)))


def test_the_split_of_an_estimate_adds_up(tmp_path: Path) -> None:
    certificate = dp.stats.mean([1, 2, 3] * 50, epsilon="1/3", bounds=(0, 4)).certificate()
    assert dp.check_certificate(certificate).guarantee == dp.PureDP("1/3", adjacency=dp.adjacency.ADD_REMOVE)
    step = next(iter(certificate["split"]))
    for wrong in ("1/7", "-1", "nan", 1, None):
        with pytest.raises(CertificateError, match="split"):
            dp.check_certificate(resealed(changed(certificate, ("split", step), wrong)))
    with closing(Ledger(tmp_path / "x.ledger")) as ledger, pytest.raises(CertificateError, match="names no entry"):
        dp.check_certificate(certificate, ledger)


@pytest.mark.parametrize(
    "text",
    [
        '{"dither_certificate": 1, "dither_certificate": 1}',
        '{"dither_certificate": NaN}',
        '{"dither_certificate": 1.0}',
        '{"dither_certificate": true}',
        "[]",
        "{",
        "",
        "[" * 100_000,
    ],
    ids=["twice", "NaN", "float", "bool", "list", "cut", "empty", "deep"],
)
def test_texts_that_are_no_certificates(text: str) -> None:
    with pytest.raises(CertificateError):
        dp.check_certificate(read_certificate(text))


@pytest.mark.parametrize(
    "thing",
    [None, "text", 3, {"a": object()}, {"a": float("nan")}, {1: {2}}],
    ids=["nothing", "text", "number", "object", "NaN", "keys"],
)
def test_things_that_are_no_certificates(thing: Any) -> None:
    with pytest.raises(CertificateError):
        dp.check_certificate(thing)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
PLAIN = dp.Gaussian(sensitivity=1, sigma=3).release(1).certificate()


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(field=st.sampled_from(sorted(PLAIN)), value=JSON)
def test_any_other_json_in_any_field_is_refused_with_the_part(field: str, value: Any) -> None:
    forged = {**PLAIN, field: value}
    if field != "digest":
        forged = resealed(forged)
    is_label = field in ("version", "mechanism") and isinstance(value, str)
    if value == PLAIN[field] or is_label:
        return
    with pytest.raises(CertificateError) as caught:
        dp.check_certificate(forged)
    assert caught.value.part in {*PLAIN, "text"}


def test_the_command_says_which_part_is_wrong(
    released: tuple[list[Certificate], Ledger], tmp_path: Path, opened: Open
) -> None:
    file, book = tmp_path / "certificate.json", str(tmp_path / "data.ledger")
    certificate = released[0][0]

    def verdict(content: Any, *options: str) -> tuple[int, str]:
        file.write_text(content if isinstance(content, str) else json.dumps(content))
        result = CliRunner().invoke(app, ["verify", str(file), *options], env={"COLUMNS": "160"})
        return result.exit_code, result.output

    code, said = verdict(certificate, "--ledger", book)
    assert code == 0
    assert "Entry 2 of the ledger says the same" in said
    code, said = verdict(certificate)
    assert code == 0
    assert "No ledger was asked" in said
    code, said = verdict(certificate, "--json", "--ledger", book)
    assert (code, json.loads(said)["ledger_entry"]) == (0, 2)
    forged = resealed({**certificate, "question": "n = count()"})
    code, said = verdict(forged, "--ledger", book, "--json")
    assert (code, json.loads(said)["accepted"], json.loads(said)["part"]) == (1, False, "question")
    code, said = verdict({**certificate, "unit": "nobody"})
    assert code == 1
    assert said.startswith("refused. digest: ")
    assert verdict("{")[0] == 1
    assert verdict(certificate, "--ledger", str(tmp_path / "nowhere"))[0] == 2
    assert not (tmp_path / "nowhere").exists()
    assert CliRunner().invoke(app, ["verify", str(tmp_path / "nothing.json")]).exit_code == 2


# ------------------------------------------------------------- what was computed again

MICRO, NANO = Fraction(1, 10**6), Fraction(1, 10**9)
FIGURES: list[tuple[Any, Any, dict[Fraction, float]]] = [
    (dp.Gaussian(sensitivity=1, epsilon=1, delta=1e-6), 5, {NANO: 1.311134337, MICRO: 1.0}),
    (dp.Gaussian(sensitivity=1, sigma=3), 0.5, {NANO: 1.890453135, MICRO: 1.447988021}),
    (dp.Gaussian(sensitivity_squared=4, sigma=10, dimension=4), [1, 2, 3, 4], {NANO: 1.109500552, MICRO: 0.838347875}),
    (dp.Exponential(sensitivity=1, epsilon=0.3), [1, 2000], {Fraction(0): 0.3, NANO: 0.2999678, MICRO: 0.29898154}),
    (dp.RandomizedResponse(answers=["a", "b"], epsilon=0.3), "a", {Fraction(0): 0.3, NANO: 0.3, MICRO: 0.2999982}),
    (dp.NoisyMax(sensitivity=1, epsilon=0.3), [1, 2000], {Fraction(0): 0.3}),
    (dp.Laplace(sensitivity=1, epsilon=0.3), 5, {Fraction(0): 0.3}),
]


@pytest.mark.parametrize(("mechanism", "value", "figures"), FIGURES, ids=[type(case[0]).__name__ for case in FIGURES])
def test_the_figures_that_were_computed_again(mechanism: Any, value: Any, figures: dict[Fraction, float]) -> None:
    """At the δ that is stated, else at a few; never above what is stated, nor below what the event is known to cost."""
    checked = dp.check_certificate(mechanism.release(value).certificate())
    assert checked.epsilons == pytest.approx(figures, rel=1e-6)
    for delta, epsilon in checked.epsilons.items():
        assert checked.guarantee is None or epsilon <= checked.guarantee.epsilon(delta)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", WideBracket)
            assert epsilon >= checked.cost.bracket(delta).lower * (1 - 1e-15)


def test_verify_shows_the_figures(tmp_path: Path) -> None:
    file = tmp_path / "certificate.json"
    file.write_text(json.dumps(dp.Gaussian(sensitivity=1, epsilon=1, delta=1e-6).release(5).certificate()))
    said = CliRunner().invoke(app, ["verify", str(file)]).output
    assert "(computed again: epsilon 1.31114 at delta 1e-09, epsilon 1 at delta 1e-06): Gaussian noise of" in said
    told = json.loads(CliRunner().invoke(app, ["verify", str(file), "--json"]).output)["computed"]
    assert [row["delta"] for row in told] == ["1e-09", "1e-06"]
    assert all(row["epsilon"] <= shown for row, shown in zip(told, (1.31114, 1), strict=True)), "rounded up for people"
    file.write_text(json.dumps(dp.stats.count([1, 2, 3], epsilon=0.3).certificate()))
    assert "(computed again: epsilon 0.3 at delta 0)" in CliRunner().invoke(app, ["verify", str(file)]).output


def test_a_certificate_belongs_to_one_answer(visits: pa.Table, opened: Open, tmp_path: Path) -> None:
    """Any changed byte of the file is noticed; other line ends, and the same answer in Parquet, are not."""
    question = (
        opened(visits).group_by("city", keys=["Lyon", "Paris"]).agg(n=dp.count(), h=dp.histogram("spend", [0, 50, 100]))
    )
    release = question.release(epsilon="0.1")
    certificate, written = release.certificate(), written_answer(release.tidy())
    assert dp.check_certificate(certificate, answer=written).guarantee == release.guarantee
    dp.check_certificate(certificate, answer=written.replace(b"\n", b"\r\n"))
    for at in range(0, len(written), 7):
        changed_byte = written[:at] + bytes([written[at] ^ 1]) + written[at + 1 :]
        with pytest.raises(CertificateError, match="answer: the file is not the answer"):
            dp.check_certificate(certificate, answer=changed_byte)
    older = resealed({key: value for key, value in certificate.items() if key != "answer"})
    assert dp.check_certificate(older).guarantee == release.guarantee
    with pytest.raises(CertificateError, match="names no answer"):
        dp.check_certificate(older, answer=written)
    with pytest.raises(CertificateError, match="answer: must be a digest"):
        dp.check_certificate(resealed({**certificate, "answer": "sha256:0"}))
    (tmp_path / "c.json").write_text(json.dumps(certificate))
    (tmp_path / "a.csv").write_bytes(written)
    pq.write_table(release.tidy(), tmp_path / "a.parquet")
    (tmp_path / "b.csv").write_bytes(written + b"1\n")
    codes = {}
    for name in ("a.csv", "a.parquet", "b.csv", "c.json", "none.csv"):
        done = CliRunner().invoke(app, ["verify", str(tmp_path / name), str(tmp_path / "c.json")])
        codes[name] = done.exit_code
        if name == "a.csv":
            assert "a.csv is the answer that this certificate was made with, unchanged." in done.output
            assert "Who is protected: add or remove one person" in done.output
    assert codes == {"a.csv": 0, "a.parquet": 0, "b.csv": 1, "c.json": 2, "none.csv": 2}


def test_the_ledger_knows_the_answer_that_was_drawn(visits: pa.Table, opened: Open) -> None:
    """Who changes the answer and makes a certificate that fits is refused by the ledger; in SQL and under a key too."""
    data = opened(visits)
    question = data.group_by("city", keys=["Lyon", "Paris"]).agg(n=dp.count())
    in_sql = data.sql("SELECT COUNT(*) * 2 AS twice FROM data")
    ledger = data.origin.release_path.ledger
    for release in (
        question.release(epsilon="0.1"),
        question.release(epsilon="0.1", key="k"),
        question.release(epsilon="0.1", key="k"),
        data.count(epsilon="0.1"),
        in_sql.release(epsilon="0.1"),
    ):
        certificate = release.certificate()
        assert dp.check_certificate(certificate, ledger).answer_recorded
        assert not dp.check_certificate(certificate).answer_recorded, "nobody was asked"
        forged = resealed({**certificate, "answer": "sha256:" + 64 * "0"})
        dp.check_certificate(forged)
        with pytest.raises(CertificateError, match="answer: the ledger recorded another answer for entry"):
            dp.check_certificate(forged, ledger)
    assert ledger.verify() == len(list(ledger.entries()))
