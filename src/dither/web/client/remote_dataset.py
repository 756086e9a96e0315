"""A dataset of a service: the same questions as of a `Dataset`, sent as text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from dither.engine import Bins
from dither.engine.aggregate import Aggregate
from dither.engine.price import NoiseKind, Terms, with_price
from dither.engine.shortcuts import Shortcuts
from dither.errors import ParameterError
from dither.exact import Number, in_words, rational
from dither.tables import Expression
from dither.web.access_keys import fresh_token
from dither.web.client.http import Http
from dither.web.client.question_texts import aggregate_text, expression_text, group_text, key_value
from dither.web.client.remote_release import Job, RemotePlan, RemoteRelease

__all__ = ["RemoteDataset", "RemoteQuery", "RemoteQuestion"]


@dataclass(frozen=True)
class RemoteQuery(Shortcuts[RemoteRelease]):
    """Rows of a dataset of a service, and their groups.

    A `RemoteDataset` is one; `where`, `with_columns`, `per_person` and `group_by` make further ones.

    Parameters
    ----------
    name : str
        The dataset.
    asked : mapping
        What was said so far, as it is sent.
    """

    name: str
    _http: Http = field(repr=False)
    asked: Mapping[str, Any] = field(default_factory=dict)

    def where(self, *conditions: Expression) -> RemoteQuery:
        """Keep the rows that fulfil all conditions.

        Parameters
        ----------
        *conditions : Expression
            Conditions such as `dp.col("age") >= 18`.

        Returns
        -------
        RemoteQuery
            The rows that are left.
        """
        self._before("where", "per_person", "group_by")
        said = [expression_text(each) for each in conditions]
        return self._with(where=[*self.asked.get("where", []), *said])

    def with_columns(self, **columns: Expression) -> RemoteQuery:
        """Add columns that are computed from each row.

        Parameters
        ----------
        **columns : Expression
            The new columns by name.

        Returns
        -------
        RemoteQuery
            The rows with more columns.
        """
        self._before("with_columns", "per_person", "group_by")
        said = {name: expression_text(each) for name, each in columns.items()}
        return self._with(columns={**self.asked.get("columns", {}), **said})

    def per_person(self, **columns: Aggregate) -> RemoteQuery:
        """Make one row of the rows of each person.

        Parameters
        ----------
        **columns : Aggregate
            What the rows of a person give, by the name of the new column.

        Returns
        -------
        RemoteQuery
            One row for each person.
        """
        self._before("per_person", "per_person", "group_by")
        return self._with(per_person={name: aggregate_text(each) for name, each in columns.items()})

    def group_by(self, *columns: str | Bins, keys: Any = None) -> RemoteQuery:
        """Ask about groups.

        Parameters
        ----------
        *columns : str or Bins
            What to group by: columns, or `dp.bins(...)`.
        keys : list or mapping, optional
            The public keys: a list for one column, or lists by column. Without, groups are found privately.

        Returns
        -------
        RemoteQuery
            The groups.
        """
        self._before("group_by", "group_by")
        said: dict[str, Any] = {"group_by": [group_text(each) for each in columns]}
        if isinstance(keys, Mapping):
            said["keys"] = {name: [key_value(key) for key in listed] for name, listed in keys.items()}
        elif keys is not None:
            said["keys"] = [
                [key_value(part) for part in key] if isinstance(key, tuple | list) else key_value(key) for key in keys
            ]
        return self._with(**said)

    def agg(self, **aggregates: Aggregate) -> RemoteQuestion:
        """Say what to ask of each group.

        Parameters
        ----------
        **aggregates : Aggregate
            Aggregates such as `dp.count()` by the name of their column.

        Returns
        -------
        RemoteQuestion
            Plan it, then release it.
        """
        if not aggregates:
            raise ParameterError("agg needs at least one column, such as agg(visits=dp.count()).")
        said = {name: aggregate_text(each) for name, each in aggregates.items()}
        return RemoteQuestion(self.name, {**self.asked, "agg": said}, self._http)

    def sql(self, text: str) -> RemoteQuestion:
        """Ask in SQL.

        Parameters
        ----------
        text : str
            One SELECT.

        Returns
        -------
        RemoteQuestion
            Plan it, then release it.
        """
        if self.asked:
            raise ParameterError("SQL is asked of the dataset itself. Write conditions and groups into the text.")
        return RemoteQuestion(self.name, {"sql": text}, self._http)

    def _all_rows(self, aggregate: Aggregate, terms: Terms) -> RemoteRelease:
        if "group_by" in self.asked:
            raise ParameterError("this is a question about all rows, and there are groups. Use agg(...).release(...).")
        return self.agg(value=aggregate)._released(terms)

    def _before(self, verb: str, *later: str) -> None:
        for each in later:
            if each in self.asked:
                raise ParameterError(f"{verb} comes before {each} in a question to a service.")

    def _with(self, **said: Any) -> RemoteQuery:
        return RemoteQuery(self.name, self._http, {**self.asked, **said})


@dataclass(frozen=True)
class RemoteDataset(RemoteQuery):
    """A dataset of a service; `connection["visits"]` gives it.

    Parameters
    ----------
    name : str
        Its name.
    asked : mapping
        Empty: nothing was asked yet.

    Examples
    --------
    A service must run for this: see docs/service.md.

    >>> import dither as dp
    >>> service = dp.connect("http://127.0.0.1:8470", key)  # doctest: +SKIP
    >>> visits = service["visits"]  # doctest: +SKIP
    >>> question = visits.group_by("city", keys=["Paris", "Lyon"]).agg(n=dp.count())  # doctest: +SKIP
    >>> print(question.plan(epsilon=0.1))  # doctest: +SKIP
    >>> question.release(epsilon=0.1).to_pandas()  # doctest: +SKIP
    """

    def about(self) -> dict[str, Any]:
        """Ask for the public facts and what is left of the budget.

        Returns
        -------
        dict
            Columns, privacy domains, the budget, what remains and what is left to you.
        """
        found: dict[str, Any] = self._http.get(f"/api/datasets/{self.name}")
        return found

    @property
    def columns(self) -> dict[str, str]:
        """The kinds of columns, by their names."""
        return {each["name"]: each["kind"] for each in self.about()["columns"]}

    @property
    def remaining(self) -> dict[str, Fraction]:
        """What you may still spend, exactly."""
        return {name: rational(amount) for name, amount in self.about()["left_to_you"].items()}


@dataclass(frozen=True)
class RemoteQuestion:
    """A question to a service: plan it, then release it.

    `RemoteQuery.agg` and `RemoteQuery.sql` make it.

    Parameters
    ----------
    name : str
        The dataset.
    asked : mapping
        The question, as it is sent.
    """

    name: str
    asked: Mapping[str, Any]
    _http: Http = field(repr=False)

    @with_price
    def plan(
        self,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        noise: NoiseKind | None = None,
        weights: Mapping[str, Number] | None = None,
        level: Number = 0.95,
        population: bool = False,
        left_out: bool | None = None,
    ) -> RemotePlan:
        """Show what a release would do, before anything is spent; no data is read.

        Parameters
        ----------
        {price}

        Returns
        -------
        RemotePlan
            The noise, the expected errors and the cost.
        """
        terms = Terms(epsilon, delta, rho, noise, weights, level, population, None, left_out)
        return RemotePlan(self._http.post(f"/api/datasets/{self.name}/plan", self._priced(terms)))

    @with_price
    def release(
        self,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        noise: NoiseKind | None = None,
        weights: Mapping[str, Number] | None = None,
        level: Number = 0.95,
        population: bool = False,
        left_out: bool | None = None,
        key: str | None = None,
    ) -> RemoteRelease:
        """Let the service charge the budget, then answer. A request that is cut off is sent again, and paid once.

        Parameters
        ----------
        {price}

        Returns
        -------
        RemoteRelease
            The answer, which may be published.
        """
        return self._released(Terms(epsilon, delta, rho, noise, weights, level, population, key, left_out))

    @with_price
    def submit(
        self,
        *,
        epsilon: Number | None = None,
        delta: Number | None = None,
        rho: Number | None = None,
        noise: NoiseKind | None = None,
        weights: Mapping[str, Number] | None = None,
        level: Number = 0.95,
        population: bool = False,
        left_out: bool | None = None,
        key: str | None = None,
    ) -> Job:
        """Ask without waiting: a long question, or one that the owner looks at first.

        Parameters
        ----------
        {price}

        Returns
        -------
        Job
            Its progress, a way to withdraw it before the charge, and its answer.
        """
        terms = Terms(epsilon, delta, rho, noise, weights, level, population, key or fresh_token(128), left_out)
        return self._submitted(terms)

    def _submitted(self, terms: Terms) -> Job:
        said = self._sent(terms, {"Prefer": "respond-async"})
        return Job(said["id"], self._http, lambda: self._released(terms))

    def _released(self, terms: Terms) -> RemoteRelease:
        said = self._sent(replace(terms, key=terms.key or fresh_token(128)), {})
        if "rows" not in said:
            raise ParameterError(
                "this question waits for the owner, and nothing was charged. Ask again under "
                f"key={said['idempotency_key']!r}."
            )
        return RemoteRelease(said["id"], said["rows"], said, self._http)

    def _sent(self, terms: Terms, headers: Mapping[str, str]) -> dict[str, Any]:
        own = {"Idempotency-Key": terms.key or "", **headers}
        found: dict[str, Any] = self._http.post(f"/api/datasets/{self.name}/release", self._priced(terms), own)
        return found

    def _priced(self, terms: Terms) -> dict[str, Any]:
        """The question with its price; numbers are texts, so that nothing is rounded on the way."""
        numbers = {name: getattr(terms, name) for name in ("epsilon", "delta", "rho", "level")}
        said: dict[str, Any] = {name: _decimal(name, value) for name, value in numbers.items() if value is not None}
        others = {"noise": terms.noise, "left_out": terms.left_out, "population": terms.population or None}
        said |= {name: value for name, value in others.items() if value is not None}
        if terms.weights is not None:
            said["weights"] = {name: float(rational(weight, name)) for name, weight in terms.weights.items()}
        return {**self.asked, **said}


def _decimal(name: str, value: Number) -> str:
    written = in_words(rational(value, name))
    if "/" in written:
        raise ParameterError(f"{name} is sent as a decimal, got {written}. Round it.")
    return written
