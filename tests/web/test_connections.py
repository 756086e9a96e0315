"""G79: clients that are slow, many, or send too much cost little, and others are answered meanwhile."""

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from dither.web import connections, requests
from tests.web.world import Caller, World, describe, service

PATIENCE = 0.4


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    """With little patience and few places."""
    monkeypatch.setattr(connections, "PATIENCE", PATIENCE)
    monkeypatch.setattr(connections, "MOST_OF_ONE_ADDRESS", 20)
    monkeypatch.setattr(requests, "_SLOWEST_BODY", PATIENCE)
    with service(describe(tmp_path, server="practice = false")) as found:
        yield found


def opened(world: World, *, room: int | None = None) -> socket.socket:
    place = urlsplit(world.service.settings.address)
    assert place.hostname is not None
    line = socket.socket()
    if room is not None:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
    line.settimeout(300)
    line.connect((place.hostname, place.port))
    return line


def is_closed(line: socket.socket) -> bool:
    """Wait until the other side has hung up; what it said before is read."""
    try:
        while line.recv(65_536):
            pass
    except ConnectionError:
        pass
    return True


def head(key: str, length: int) -> bytes:
    shown = f"Authorization: Bearer {key}\r\nContent-Length: {length}"
    return f"POST /api/datasets/visits/plan HTTP/1.1\r\nHost: x\r\n{shown}\r\n\r\n".encode()


@pytest.mark.parametrize("sent", [b"", b"GET /health HTTP/1.1\r\nHost: ", b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"])
def test_g79_a_connection_that_only_waits_is_closed(sent: bytes, world: World) -> None:
    with opened(world) as line:
        line.sendall(sent)
        assert is_closed(line)


def test_g79_a_body_that_comes_too_slowly_is_refused(anna: Caller, world: World) -> None:
    with opened(world) as line:
        line.sendall(head(anna.key, 1000) + b"{")
        assert line.recv(65_536).startswith(b"HTTP/1.1 413")


@pytest.mark.parametrize("is_known", [True, False])
def test_g79_a_body_of_a_gigabyte_is_refused_after_its_first_part(is_known: bool, anna: Caller, world: World) -> None:
    with opened(world) as line:
        line.sendall(head(anna.key if is_known else "", 1 << 30))
        sent = 0
        try:
            while sent < 1 << 26:  # what the buffers of both sides hold is far less
                sent += line.send(b" " * 65_536)
        except ConnectionError:
            pass
        assert sent < 1 << 26
    assert anna.get("/datasets").status_code == 200


def test_g79_a_reader_who_does_not_read_is_cut_off(anna: Caller, world: World) -> None:
    with opened(world, room=4096) as line:
        line.settimeout(PATIENCE)
        with suppress(ConnectionError, TimeoutError):
            line.sendall(b"GET /style.css HTTP/1.1\r\nHost: x\r\n\r\n" * 40_000)
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline:
            try:
                line.send(b"G")
            except TimeoutError:
                continue
            except ConnectionError:
                break
        else:
            raise AssertionError("it was not cut off")
    assert anna.get("/datasets").status_code == 200


def test_g79_one_address_has_so_many_connections_and_others_go_on(anna: Caller, world: World) -> None:
    anna.get("/datasets")  # its connection stays open
    with ExitStack() as lines:
        crowd = [lines.enter_context(opened(world)) for _ in range(60)]
        for line in crowd[30:]:
            assert is_closed(line)  # at once, or after a moment of patience
    with httpx.Client(base_url=world.http.base_url, timeout=300) as http:
        deadline = time.monotonic() + 300
        while time.monotonic() < deadline:
            try:
                assert Caller(http, anna.key).get("/datasets").status_code == 200
                return
            except httpx.TransportError:
                time.sleep(0.05)
    raise AssertionError("nobody was answered any more")


@pytest.mark.nightly
def test_g79_ten_thousand_connections(tmp_path: Path) -> None:
    """More than are taken are closed at once, and who is connected is answered."""
    with service(describe(tmp_path, server="practice = false")) as world, ExitStack() as lines:
        anna = world.caller(world.key("anna"))
        anna.get("/datasets")
        for number in range(10_000):
            lines.enter_context(opened(world))
            if number % 1000 == 0:
                assert anna.get("/datasets").status_code == 200
        assert anna.get("/datasets").status_code == 200
