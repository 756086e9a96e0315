"""Starting a service: the demonstration, the first key, TLS, and a ledger that is put back from a copy."""

import shutil
import ssl
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from dither.cli.served_datasets import keyring_of
from dither.errors import ParameterError
from dither.ledger import Ledger
from dither.web import Settings
from tests.cli.world import run
from tests.web.world import COUNT, describe, server, service


def test_the_demonstration_needs_one_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = run("serve", "--demo", "--check")
    assert done.code == 0, done.err
    key = done.out.split("shown this once:\n")[1].splitlines()[0]
    assert "Serving hospital_visits at http://127.0.0.1:8470" in done.out
    assert "Made by `dither serve --demo`" in (tmp_path / "dither-service" / "README.txt").read_text()
    told = next(line for line in done.out.splitlines() if line.startswith("Keys for analysts: dither "))
    assert run(*told.removeprefix("Keys for analysts: dither ").split()).code == 0
    again = run("serve", "--demo", "--check")  # with the ledger and the key that it has
    assert "shown this once" not in again.out
    ring = keyring_of(tmp_path / "dither-service" / "dither.toml")
    assert ring.authenticated(key, owner=True).name == "owner"
    ring.store.close()


def test_whole_numbers_tell_people_apart_among_practice_rows_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As docs/service.md begins: `dither init`, then `dither serve`."""
    rows = "".join(f"{row % 50},{'Paris' if row % 2 else 'Lyon'},{row % 90}\n" for row in range(200))
    (tmp_path / "visits.csv").write_text("user_id,city,age\n" + rows)
    monkeypatch.chdir(tmp_path)
    limits = ("--max-groups", "3", "--max-rows-per-group", "1", "--budget-epsilon", "5")
    assert run("init", "visits.csv", "--person", "user_id", *limits, answers="\n" * 20).code == 0
    assert 'user_id = "number"' in (tmp_path / "dither.toml").read_text()
    with service(tmp_path / "dither.toml") as world:
        anna = world.caller(world.key("anna"))
        found = anna.ask({"agg": {"people": "count_people"}, "epsilon": "5"}, of="visits-practice")
        assert found.status_code == 200, found.text
        assert abs(found.json()["rows"][0]["people"] - 400) < 40  # missed once in e^{200} runs


def test_the_demonstration_leaves_folders_of_others_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "dither-service").mkdir()
    (tmp_path / "dither-service" / "thesis.txt").write_text("mine")
    monkeypatch.chdir(tmp_path)
    done = run("serve", "--demo", "--check")
    assert (done.code, "Start it in another folder" in done.err, "--folder" in done.err) == (2, True, False)


def test_in_a_log_no_key_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    describe(tmp_path)
    monkeypatch.chdir(tmp_path)
    done = run("serve", "dither.toml", "--check")
    assert (done.code, "dither_" in done.out, "There is no key yet" in done.out) == (0, False, True)


@pytest.mark.parametrize(
    "arguments", [(), ("dither.toml", "--demo"), ("nothing.toml",), ("dither.toml", "--port", "0")]
)
def test_what_cannot_be_served_is_said(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    describe(tmp_path)
    monkeypatch.chdir(tmp_path)
    done = run("serve", *arguments, "--check")
    assert (done.code, "Traceback" in done.err, done.err != "") == (2, False, True)


def certified(folder: Path) -> Path:
    """A certificate for this machine, signed by itself."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "dither")])
    now = datetime.now(UTC)
    here = x509.SubjectAlternativeName([x509.DNSName("localhost")])
    made = x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
    made = made.serial_number(1).not_valid_before(now - timedelta(1)).not_valid_after(now + timedelta(1))
    signed = made.add_extension(here, critical=False).sign(key, hashes.SHA256())
    (folder / "tls.crt").write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    form = serialization.PrivateFormat.PKCS8
    (folder / "tls.key").write_bytes(key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption()))
    return folder / "tls.crt"


def test_tls_by_files(tmp_path: Path) -> None:
    certificate = certified(tmp_path)
    file = describe(tmp_path, server='practice = false\ntls_certificate = "tls.crt"\ntls_key = "tls.key"')
    with service(file) as world:
        place = world.service.settings.address.replace("127.0.0.1", "localhost")
        assert place.startswith("https://")
        trusted = ssl.create_default_context(cafile=str(certificate))
        with httpx.Client(base_url=place, verify=trusted) as http:
            found = http.post("/sign-in", data={"key": world.key("anna")})
            assert "Secure" in found.headers["set-cookie"]
            assert "max-age" in found.headers["strict-transport-security"]
        with pytest.raises(httpx.TransportError):
            httpx.get(place.replace("https", "http"))


def test_beyond_this_machine_it_needs_tls_or_a_proxy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    describe(tmp_path, server='practice = false\nhost = "0.0.0.0"')
    monkeypatch.chdir(tmp_path)
    done = run("serve", "dither.toml", "--check")
    assert (done.code, "plain text" in done.err, "--behind-proxy" in done.err) == (2, True, True)
    assert run("keys", "add", "anna").code == 0  # it listens to nobody
    for allowed in (("--behind-proxy",), ("--host", "localhost")):
        assert run("serve", "dither.toml", "--check", *allowed).code == 0


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "192.0.2.7", "::ffff:192.0.2.7", "statistics.example", "127.0.0.1.x"]
)
def test_what_others_hear_is_refused(host: str) -> None:
    plain = Settings("store", host=host)
    with pytest.raises(ParameterError, match="plain text"):
        plain.check_network()
    replace(plain, behind_proxy=True).check_network()
    replace(plain, tls_certificate=Path("tls.crt"), tls_key=Path("tls.key")).check_network()
    for here in ("127.0.0.1", "127.8.8.8", "::1", "localhost"):
        replace(plain, host=here).check_network()


def test_who_asks_is_what_a_proxy_says_only_if_there_is_one(tmp_path: Path) -> None:
    """Else a stranger would have as many tries as they can make up addresses."""
    for behind, refused in ((False, True), (True, False)):
        file = describe(tmp_path, server=f"practice = false\nbehind_proxy = {str(behind).lower()}")
        file.write_text(file.read_text().replace("requests_per_second = 100000", "requests_per_second = 20"))
        with service(file) as world:
            tries = [
                world.http.get("/api/datasets", headers={"X-Forwarded-For": f"192.0.2.{number}"}).status_code
                for number in range(12)
            ]
            assert (429 in tries) == refused
            found = world.http.post("/sign-in", data={"key": world.key(f"anna{behind}")})
            assert ("Secure" in found.headers.get("set-cookie", "")) == behind


def test_nobody_can_use_up_the_health_checks_of_others(tmp_path: Path) -> None:
    """What restarts a service that does not answer would do so at the will of a stranger."""
    file = describe(tmp_path, server="practice = false\nbehind_proxy = true")
    file.write_text(file.read_text().replace("requests_per_second = 100000", "requests_per_second = 5"))
    with service(file) as world:
        stranger, watch = ({"X-Forwarded-For": f"192.0.2.{number}"} for number in (1, 2))
        assert 429 in [world.http.get("/health", headers=stranger).status_code for _ in range(60)]
        assert world.http.get("/health", headers=watch).status_code == 200


def test_half_of_tls_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    describe(tmp_path, server='tls_key = "tls.key"')
    monkeypatch.chdir(tmp_path)
    done = run("serve", "dither.toml", "--check")
    assert (done.code, "TLS needs two files" in done.err) == (2, True)


def test_a_ledger_is_put_back_from_a_copy_and_an_older_one_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As docs/service.md says it: copy both while the service runs, keep the anchor elsewhere."""
    monkeypatch.chdir(tmp_path)
    file = describe(tmp_path, server="practice = false")
    backup = "import sqlite3, sys; sqlite3.connect(sys.argv[1]).backup(sqlite3.connect(sys.argv[2]))"

    def copied(to: str) -> str:
        for name in ("visits.ledger", "dither.service"):
            subprocess.run([sys.executable, "-c", backup, name, f"{name}.{to}"], check=True)
        return anchor_of(tmp_path / f"visits.ledger.{to}")

    with service(file) as world:
        key = world.key("anna")
        first = world.caller(key).ask(COUNT, "one").content
        copied("early")
        world.caller(key).ask(COUNT, "two")
        anchor = copied("late")
    for name in ("visits.ledger", "dither.service"):  # the disk is lost
        for each in tmp_path.glob(f"{name}*"):
            if each.suffix not in (".early", ".late"):
                each.unlink()
        shutil.copy(tmp_path / f"{name}.late", tmp_path / name)
    assert run("ledger", "visits.ledger", "--anchor", anchor).code == 0
    with service(file) as world:
        assert world.caller(key).ask(COUNT, "one").content == first
        assert world.spent == "1/50"
    assert run("ledger", "visits.ledger.early", "--anchor", anchor).code != 0


def anchor_of(path: Path) -> str:
    ledger = Ledger(path, create=False)
    try:
        return ledger.anchor()
    finally:
        ledger.close()


def test_a_stop_in_good_order_answers_what_was_begun(tmp_path: Path) -> None:
    file = describe(tmp_path, server="practice = false")
    ring = keyring_of(file)
    key = ring.add("anna", {"visits": {}})
    ring.store.close()
    with server(file) as running:
        with running.http as http:
            assert http.get("/api/datasets", headers={"Authorization": f"Bearer {key}"}).status_code == 200
        assert running.stop() in (0, -15)
