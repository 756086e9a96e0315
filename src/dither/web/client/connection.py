"""The way to a service."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from dither.errors import ParameterError
from dither.web.client.http import Http, opened
from dither.web.client.remote_dataset import RemoteDataset
from dither.web.client.remote_release import RemoteRelease

__all__ = ["Connection", "connect"]


def connect(url: str, key: str) -> Connection:
    """Connect to a service that `dither serve` runs.

    Parameters
    ----------
    url : str
        Its address, such as https://statistics.example; http:// is for this machine alone.
    key : str
        The key that its owner gave you.

    Returns
    -------
    Connection
        The datasets that the key may ask of, by name.

    Raises
    ------
    ParameterError
        If the address is none, or the key opens nothing.
    EngineError
        If the service does not answer.
    MissingPackage
        If httpx is not installed.

    Examples
    --------
    A service must run for this: see docs/service.md.

    >>> import dither as dp
    >>> service = dp.connect("http://127.0.0.1:8470", "dither_...")  # doctest: +SKIP
    >>> list(service)  # doctest: +SKIP
    ['visits', 'visits-practice']
    >>> service["visits"].count(epsilon=0.1).value  # doctest: +SKIP
    """
    http = opened(url, key)
    try:
        names = tuple(each["name"] for each in http.get("/api/datasets"))
    except BaseException:
        http.close()
        raise
    return Connection(names, http)


@dataclass(frozen=True)
class Connection(Mapping[str, RemoteDataset]):
    """The datasets of a service, by name; `dp.connect` makes it.

    Parameters
    ----------
    names : tuple of str
        The datasets that the key may ask of.
    """

    names: tuple[str, ...]
    _http: Http = field(repr=False)

    def __getitem__(self, name: str) -> RemoteDataset:
        if name not in self.names:
            raise ParameterError(f"this key may ask of no dataset {name!r}. Existing: {', '.join(self.names)}.")
        return RemoteDataset(name, self._http)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __contains__(self, name: object) -> bool:
        return name in self.names

    def __len__(self) -> int:
        return len(self.names)

    def history(self) -> list[dict[str, Any]]:
        """List the questions of this key, the newest first.

        Returns
        -------
        list of dict
            What was asked, when, and what became of it.
        """
        found: list[dict[str, Any]] = self._http.get("/api/questions")
        return found

    def answer(self, id: str) -> RemoteRelease:
        """Read an answer again, for nothing.

        Parameters
        ----------
        id : str
            The number of the question, as the history has it.

        Returns
        -------
        RemoteRelease
            The answer.
        """
        said = self._http.get(f"/api/answers/{id}")
        return RemoteRelease(said["id"], said["rows"], said, self._http)

    def close(self) -> None:
        """Give back the connections."""
        self._http.close()

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
