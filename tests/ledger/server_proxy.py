"""A proxy before PostgreSQL as poolers are: between two transactions, a client does not notice another connection."""

from __future__ import annotations

import select
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

__all__ = ["proxy"]

_ENCRYPTED = 80877103
_READY, _IDLE = b"Z", b"I"
_MOST = 1 << 16


@contextmanager
def proxy(port: int) -> Iterator[int]:
    """The port of a proxy before the server at `port`."""
    serving: list[threading.Thread] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    client, _ = listening.accept()
                    serving.append(threading.Thread(target=_Session(client, port).run, daemon=True))
                    serving[-1].start()

        accepting = threading.Thread(target=serve, daemon=True)
        accepting.start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)  # ends the wait for the next client
        for thread in (accepting, *serving):
            thread.join()


class _Session:
    """One client, and its connection to the server: made anew if it ended between two transactions."""

    def __init__(self, client: socket.socket, port: int) -> None:
        self._client, self._port = client, port

    def run(self) -> None:
        """Until the client leaves, or the server does in the middle of a transaction."""
        with self._client, suppress(OSError, EOFError):
            self._start = _startup(self._client)
            self._server, greeting = self._connected()
            self._client.sendall(greeting)
            try:
                while asked := self._client.recv(_MOST):
                    self._pass_on(asked)
            finally:
                self._server.close()

    def _connected(self) -> tuple[socket.socket, bytes]:
        server = socket.create_connection(("127.0.0.1", self._port))
        server.sendall(self._start)
        said = b""
        while True:
            kind, message = _message(server)
            said += message
            if kind == _READY:
                return server, said

    def _pass_on(self, asked: bytes) -> None:
        """A transaction that begins with `asked`. What a server says between two of them is that it ends."""
        has_ended, _, _ = select.select([self._server], [], [], 0)
        if has_ended:
            self._server.close()
            self._server, _ = self._connected()
        self._server.sendall(asked)
        while True:
            kind, message = _message(self._server)
            self._client.sendall(message)
            if kind == _READY:
                if message[5:] == _IDLE:
                    return
                self._server.sendall(self._client.recv(_MOST))


def _startup(client: socket.socket) -> bytes:
    """The first message of a client, which has no kind; encryption is refused."""
    while True:
        size, code = struct.unpack("!II", head := _exactly(client, 8))
        rest = _exactly(client, size - 8)
        if code != _ENCRYPTED:
            return head + rest
        client.sendall(b"N")


def _message(server: socket.socket) -> tuple[bytes, bytes]:
    head = _exactly(server, 5)
    (size,) = struct.unpack("!I", head[1:])
    return head[:1], head + _exactly(server, size - 4)


def _exactly(of: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        more = of.recv(size - len(found))
        if not more:
            raise EOFError
        found += more
    return found
