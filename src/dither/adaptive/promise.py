"""What an oracle promises before the first question, and what every other way to answer would promise."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Self

from dither.adaptive.routes import ADAPTIVE, GaussianRoute, LaplaceRoute, Route, UnionBound, rows_needed
from dither.adaptive.transfer import by_total_variation, printed
from dither.errors import ParameterError
from dither.exact import Number, check, in_words, rational

__all__ = ["Candidate", "Promise"]

_MOST_QUERIES = 10**9


@dataclass(frozen=True, slots=True)
class Candidate:
    """One method to answer, with what it guarantees.

    Parameters
    ----------
    name : str
        The name of the method.
    accuracy : float
        How far its answers may lie from the population, from these rows; never below what its theorem proves.
    rows_needed : int or None
        Rows that suffice for the accuracy that was asked for; None if none was, or 2^32 are too few.
    theorem : str
        The theorem by which it holds.
    is_used : bool, default False
        Whether it is the method of this oracle.
    is_valid : bool, default True
        Whether it may be used here: a union bound cannot, if questions depend on answers.
    """

    name: str
    accuracy: float
    rows_needed: int | None
    theorem: str
    is_used: bool = False
    is_valid: bool = True


@dataclass(frozen=True)
class Promise:
    """What an oracle guarantees: each of `queries` answers within `accuracy` of the mean over the population.

    All at once, except with probability 1 − `confidence` over the sample and the noise, whatever functions of one row
    the analyst asks about.

    Parameters
    ----------
    rows : int
        The number of rows of the sample.
    queries : int
        How many queries may be asked.
    confidence : Fraction
        The probability with which all answers are accurate.
    asked : Fraction or None
        The accuracy that was asked for.
    route : Route
        The method and its theorem.
    """

    rows: int
    queries: int
    confidence: Fraction
    asked: Fraction | None
    route: Route

    @classmethod
    def best(
        cls,
        rows: int,
        *,
        queries: int,
        accuracy: Number | None,
        confidence: Number,
        method: str | None = None,
        adaptive: bool = True,
        sigma: Number | None = None,
        epsilon: Number | None = None,
    ) -> Self:
        """Choose the method with the smallest bound, or take the noise that is given.

        Parameters
        ----------
        rows : int
            The number of rows of the sample.
        queries : int
            How many queries may be asked.
        accuracy : Number or None
            The largest error that is accepted; None accepts any.
        confidence : Number
            The probability with which all answers are accurate.
        method : str, optional
            The method; by default the one with the smallest bound.
        adaptive : bool, default True
            Whether queries may depend on earlier answers.
        sigma : Number, optional
            The standard deviation of Gaussian noise on each answer, instead of a method.
        epsilon : Number, optional
            The ε of all answers together, kept by Laplace noise, instead of a method.

        Returns
        -------
        Promise
            What can be guaranteed.

        Raises
        ------
        ParameterError
            If the bound is above `accuracy`; the message states how many rows would do.
        """
        asked, level = _checked(queries, accuracy, confidence)
        noisy = _given(rows, queries, method, sigma, epsilon)
        if noisy is not None:
            promise = cls(rows, int(queries), level, asked, noisy)
            if asked is not None and Fraction(promise.accuracy) > asked:
                raise ParameterError(promise._refusal_of_noise())
            return promise
        ways = [way.best(rows, queries, 1 - level) for way in _ways(method, adaptive)]
        promise = cls(rows, int(queries), level, asked, min(ways, key=lambda way: way.error(1 - level)))
        if promise.accuracy >= 1 or (asked is not None and Fraction(promise.accuracy) > asked):
            raise ParameterError(promise._refusal(method, adaptive))
        return promise

    @staticmethod
    def needed(
        *, queries: int, accuracy: Number, confidence: Number, method: str | None = None, adaptive: bool = True
    ) -> int:
        """Compute how many rows suffice: the fewest of all methods.

        Parameters
        ----------
        queries : int
            How many queries may be asked.
        accuracy : Number
            The largest error of any answer.
        confidence : Number
            The probability with which all answers are accurate.
        method : str, optional
            The method; by default the one that needs the fewest rows.
        adaptive : bool, default True
            Whether queries may depend on earlier answers.

        Returns
        -------
        int
            The number of rows.

        Raises
        ------
        ParameterError
            If 2^32 rows are too few.
        """
        asked, level = _checked(queries, accuracy, confidence)
        assert asked is not None
        found = [rows_needed(way, asked, 1 - level, queries) for way in _ways(method, adaptive)]
        enough = [rows for rows in found if rows is not None]
        if not enough:
            raise ParameterError(
                f"accuracy={in_words(asked)} for {queries:,} queries takes more than 2^32 rows. "
                "Give a larger accuracy or fewer queries."
            )
        return min(enough)

    @property
    def beta(self) -> Fraction:
        """The probability with which some answer may be less accurate."""
        return 1 - self.confidence

    @property
    def accuracy(self) -> float:
        """The bound that holds for every answer; never below what the theorem proves."""
        return self.route.error(self.beta)

    def candidates(self) -> list[Candidate]:
        """List every method and what it guarantees.

        Two more theorems for Gaussian noise are listed, which never guarantee more than the one that is used.

        Returns
        -------
        list of Candidate
            The methods with their accuracy and the rows they need.
        """
        ways: Sequence[type[Route]] = (*ADAPTIVE, UnionBound)
        rows = [
            Candidate(
                way.name,
                (self.route if way is type(self.route) else way.best(self.rows, self.queries, self.beta)).error(
                    self.beta
                ),
                None if self.asked is None else rows_needed(way, self.asked, self.beta, self.queries),
                way.theorem,
                is_used=way is type(self.route),
                is_valid=way.is_adaptive or not self.route.is_adaptive,
            )
            for way in ways
        ]
        sizes = (self.rows, self.queries, self.beta)
        return [
            *rows,
            Candidate("as printed", printed(*sizes), None, "gaussian by Jung et al. 2020, at the best constants found"),
            Candidate("stability", by_total_variation(*sizes), None, "gaussian by total variation and Markov (C22)"),
        ]

    def __str__(self) -> str:
        kind = "adaptive" if self.route.is_adaptive else "fixed"
        head = (
            f"{self.queries:,} {kind} queries on {self.rows:,} rows: each answer within {self.accuracy:.4g} of the "
            f"population, all of them with probability {in_words(self.confidence)}."
        )
        lines = [f"  {'method':<12}{'accuracy':>9}{'rows needed':>14}  theorem"]
        for each in self.candidates():
            mark = "*" if each.is_used else " " if each.is_valid else "✗"
            rows = "" if each.rows_needed is None else f"{each.rows_needed:,}"
            lines.append(f"{mark} {each.name:<12}{each.accuracy:>9.4g}{rows:>14}  {each.theorem}")
        return "\n".join([head, *lines])

    def _refusal(self, method: str | None, adaptive: bool) -> str:
        level = in_words(self.confidence)
        got = f"from {self.rows:,} rows {self.queries:,} queries are answered within {self.accuracy:.3g} at best"
        if self.asked is None:
            return f"{got}, with confidence {level}: that promises nothing. Give more rows or fewer queries."
        rows = Promise.needed(
            queries=self.queries, accuracy=self.asked, confidence=self.confidence, method=method, adaptive=adaptive
        )
        return (
            f"{got}, with confidence {level}; accuracy={in_words(self.asked)} needs {rows:,} rows. "
            "Give more rows, fewer queries or a larger accuracy."
        )

    def _refusal_of_noise(self) -> str:
        return (
            f"with this noise {self.queries:,} queries on {self.rows:,} rows are answered within {self.accuracy:.3g} "
            f"of the population, and accuracy={in_words(self.asked or Fraction(0))} was asked for. Leave the noise "
            "out, and the best is found."
        )


def _given(rows: int, queries: int, method: str | None, sigma: Number | None, epsilon: Number | None) -> Route | None:
    """The route of a noise that is given; None if none is."""
    if sigma is None and epsilon is None:
        return None
    if method is not None or (sigma is not None and epsilon is not None):
        raise ParameterError("sigma, epsilon and method each say how to answer. Give one of them.")
    if sigma is not None:
        exact = rational(sigma, "sigma")
        check.positive(sigma=exact)
        return GaussianRoute.given(rows, queries, exact)
    exact = rational(epsilon, "epsilon")
    check.positive(epsilon=exact)
    return LaplaceRoute.given(rows, queries, exact)


def _checked(queries: int, accuracy: Number | None, confidence: Number) -> tuple[Fraction | None, Fraction]:
    check.count(queries=queries)
    if queries > _MOST_QUERIES:
        raise ParameterError(f"queries must be at most {_MOST_QUERIES:,}, got queries={queries:,}.")
    level = rational(confidence, "confidence")
    check.between(0, 1, confidence=level)
    if accuracy is None:
        return None, level
    asked = rational(accuracy, "accuracy")
    check.between(0, 1, accuracy=asked)
    return asked, level


def _ways(method: str | None, adaptive: bool) -> Sequence[type[Route]]:
    ways: Sequence[type[Route]] = ADAPTIVE if adaptive else (*ADAPTIVE, UnionBound)
    known = {way.name: way for way in ways}
    if method is None:
        return list(known.values())
    if method not in known:
        raise ParameterError(f"method must be one of {', '.join(known)}, or None for the best; got method={method!r}.")
    return [known[method]]
