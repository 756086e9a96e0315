"""What a service gives: plans, answers and questions at work."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet

from dither.engine import check_certificate
from dither.engine.answer_file import answer_digest, written_answer
from dither.engine.table_release import to_pandas_frame
from dither.errors import CertificateError, ParameterError
from dither.exact import rational
from dither.guarantees import Guarantee
from dither.plots.shown import plain
from dither.web.client.http import Http

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Job", "RemotePlan", "RemoteRelease"]

_SHOWN = 20
"""Rows that are printed."""


@dataclass(frozen=True, slots=True)
class RemotePlan:
    """What a release by a service would do; nothing was spent for it.

    `RemoteQuestion.plan` returns it.

    Parameters
    ----------
    told : mapping
        The plan as the service tells it.
    """

    told: Mapping[str, Any] = field(repr=False)

    @property
    def cost(self) -> dict[str, Fraction]:
        """What the release would cost, exactly: epsilon and delta, or rho."""
        return {name: rational(amount) for name, amount in self.told["cost"].items()}

    @property
    def risk(self) -> str:
        """What the cost means for a person in the data."""
        return str(self.told["risk"])

    @property
    def left_out(self) -> str | None:
        """What limits and bounds leave out, in a sentence."""
        said: str | None = self.told["left_out"]
        return said

    @property
    def shortage(self) -> str | None:
        """Why it could not be paid now, if it could not."""
        said: str | None = self.told["shortage"]
        return said

    @property
    def python(self) -> str:
        """The question as calls of a `Dataset`."""
        return str(self.told["python"])

    def error(self, column: str, rows: int = 1_000) -> float | None:
        """Half the width of the interval that is expected, in a group of so many rows.

        Parameters
        ----------
        column : str
            The column of the answer.
        rows : {100, 1000, 10000, 100000}, default 1000
            The rows of the group.

        Returns
        -------
        float or None
            None if it is not known beforehand.

        Raises
        ------
        ParameterError
            If there is no such column, or the service did not tell the error for so many rows.
        """
        of_column = self.told["errors"].get(column)
        if of_column is None:
            raise ParameterError(f"there is no column {column!r}. Existing: {', '.join(self.told['errors'])}.")
        if str(rows) not in of_column:
            raise ParameterError(f"rows must be one of {', '.join(of_column)}, got {rows}.")
        found: float | None = of_column[str(rows)]
        return found

    def __str__(self) -> str:
        lines = [" · ".join(map(str, each.values())) for each in self.told["columns"]]
        costs = ", ".join(f"{name} = {amount}" for name, amount in self.told["cost"].items())
        return "\n".join([*lines, f"costs {costs}", self.risk])


@dataclass(frozen=True, slots=True)
class RemoteRelease:
    """An answer of a service. It may be published, and can be had again from the service for nothing.

    `RemoteQuestion.release` returns it.

    Parameters
    ----------
    id : str
        Its number at the service.
    rows : list of dict
        The keys, the values and the ends of their intervals.
    told : mapping
        The answer as the service tells it, with its certificate.
    """

    id: str
    rows: list[dict[str, Any]] = field(repr=False)
    told: Mapping[str, Any] = field(repr=False)
    _http: Http = field(repr=False)

    def __str__(self) -> str:
        """The first rows, and the cost. Texts are quoted, so that no name of a group acts on a terminal."""
        rows = [", ".join(f"{plain(name)} {value!r}" for name, value in row.items()) for row in self.rows[:_SHOWN]]
        more = [f"and {len(self.rows) - _SHOWN:,} more rows"] if len(self.rows) > _SHOWN else []
        notes = [plain(self.left_out)] if self.left_out else []
        costs = ", ".join(f"{name} = {amount}" for name, amount in self.told["cost"].items())
        return "\n".join([*rows, *more, *notes, f"costs {costs}"])

    @property
    def value(self) -> Any:
        """The answer, where it is one number or list: that of a shortcut such as `data.count(...)`."""
        return self._only("value")

    @property
    def interval(self) -> tuple[Any, Any]:
        """The ends of its interval, where the answer is one number."""
        return self._only("value_low"), self._only("value_high")

    def _only(self, name: str) -> Any:
        if len(self.rows) != 1 or name not in self.rows[0]:
            raise ParameterError("this answer is a table. Use .rows, .to_arrow() or .to_pandas().")
        return self.rows[0][name]

    @property
    def left_out(self) -> str | None:
        """What limits and bounds left out, in a sentence."""
        said: str | None = self.told["left_out"]
        return said

    @property
    def cost(self) -> dict[str, Fraction]:
        """What was charged, exactly."""
        return {name: rational(amount) for name, amount in self.told["cost"].items()}

    @property
    def guarantee(self) -> Guarantee:
        """What is promised, computed here from the certificate: a certificate that promises too much is refused."""
        found = check_certificate(self.certificate()).guarantee
        assert found is not None, "that of a charge"
        return found

    def certificate(self) -> dict[str, Any]:
        """Give the certificate: what was done and what it cost.

        Returns
        -------
        dict
            It can be written as JSON; `dp.check_certificate` and `dither verify` check it.
        """
        return dict(self.told["certificate"])

    def to_arrow(self) -> pa.Table:
        """Download the answer as an Arrow table without lists, and check that it is the one of the certificate.

        Returns
        -------
        pyarrow.Table
            The keys, the values and the ends of their intervals.

        Raises
        ------
        CertificateError
            If its digest is not that of the certificate.
        """
        table = pa.parquet.read_table(io.BytesIO(self._http.send("GET", f"/api/answers/{self.id}/parquet")))
        if answer_digest(written_answer(table)) != self.certificate().get("answer"):
            raise CertificateError("answer", "this table is not the one that the certificate is about. Tell the owner.")
        return table

    def to_pandas(self) -> pd.DataFrame:
        """Download the answer as a pandas frame.

        Returns
        -------
        pandas.DataFrame
            The keys, the values and the ends of their intervals.
        """
        return to_pandas_frame(self.to_arrow())

    def save(self, path: str | Path) -> None:
        """Download the answer into a file.

        Parameters
        ----------
        path : str or Path
            A name that ends with .csv, .json or .parquet.

        Raises
        ------
        ParameterError
            If it ends otherwise.
        """
        form = Path(path).suffix.removeprefix(".")
        if form not in ("csv", "json", "parquet"):
            raise ParameterError(f"an answer is saved as .csv, .json or .parquet, got {str(path)!r}.")
        Path(path).write_bytes(self._http.send("GET", f"/api/answers/{self.id}/{form}"))


@dataclass(frozen=True, slots=True)
class Job:
    """A question at work: look at it, withdraw it before it is charged, or wait for its answer.

    `RemoteQuestion.submit` returns it.

    Parameters
    ----------
    id : str
        Its number at the service.
    """

    id: str
    _http: Http = field(repr=False)
    _wait: Callable[[], RemoteRelease] = field(repr=False)

    @property
    def progress(self) -> dict[str, Any]:
        """Where it stands: `state`, how many are `ahead` of it, and what it was `told` if there is no answer."""
        found = self._http.get(f"/api/questions/{self.id}")
        return {name: found[name] for name in ("state", "ahead", "told")}

    @property
    def state(self) -> str:
        """One of waiting, accepted, declined, asked, withdrawn, running, answered, refused, failed."""
        return str(self.progress["state"])

    def cancel(self) -> None:
        """Withdraw it, if it was not begun; then nothing was charged.

        Raises
        ------
        ParameterError
            If it was begun: it may have been charged, and will be answered.
        """
        self._http.send("DELETE", f"/api/questions/{self.id}")

    def result(self) -> RemoteRelease:
        """Wait for the answer.

        Returns
        -------
        RemoteRelease
            The answer; the same if it is waited for twice.
        """
        return self._wait()
