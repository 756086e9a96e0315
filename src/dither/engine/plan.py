"""From aggregates and a price to noise: which need gets what, before any data is touched.

A pure price ε is split by shares: the parts cost ε · share each, and together ε (claim C3). ρ is split in the same
way. A price (ε, δ) is paid by the better of two plans: Laplace noise for ε alone, or Gaussian noise for the ρ whose
exact composition keeps (ε, δ), certified by `compose`. What is discovered in the data takes an equal part of δ each,
and then everything else is pure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np

from dither.accounting import compose
from dither.engine.aggregate import PEOPLE, Aggregate, Answer, Noisy
from dither.engine.found_ranges import FoundRange, RangeNoise
from dither.engine.group_sensitivity import Added, Measured, Need, Noise, Whole
from dither.engine.left_out import LEFT_OUT, SHARE, CutNeed, cuts_of
from dither.engine.limits_in_words import limits_in_words
from dither.engine.price import Price, Terms
from dither.errors import ParameterError
from dither.events import Composed, Event
from dither.exact import Number, check, in_percent, in_words, once, rational, rounded
from dither.exact.certified import read_above
from dither.exact.search import farthest
from dither.guarantees import ZCDP, best_guess, largest_posterior
from dither.ledger.budget import Budget, amounts
from dither.mechanisms.gaussian import Gaussian
from dither.mechanisms.histogram import Histogram
from dither.tables import People
from dither.unit import Neighbour
from dither.views import views

__all__ = ["Part", "Plan", "noisy_columns", "planned"]

_TRIES = 10
_STEPS = 4
_SIZES = (100, 1_000, 10_000, 100_000)
_DIGITS = 4
_TIMES = (Fraction(1, 4), Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4))
_ASIDE = 10
"""Answers of ten times δ together are left aside where it is stated how sure somebody can become."""
_SELDOM = Fraction(1, 10**6)
_NO_DELTA = (
    "groups and values that are found in the data need delta=..., or make them public: keys=[...], candidates=[...]."
)


def noisy_columns(needs: Iterable[str]) -> dict[str, str]:
    """The column in which the numbers of each need stand, by the key of the need.

    They are numbered, as keys may be longer than the names that an engine takes.
    """
    return {key: f"dither noisy {at}" for at, key in enumerate(needs)}


@dataclass(frozen=True, slots=True)
class Part:
    """One need, the noise it gets, and its share of the price."""

    need: Need
    noise: Noise
    share: Fraction

    def narrowed(self, need: Need, left: Fraction) -> Part:
        """The sums in a range that was found, with the noise that what is left pays."""
        assert isinstance(self.noise, RangeNoise)
        assert isinstance(need, Measured)
        return Part(need, self.noise.of_answer(need, left), self.share)


@dataclass(frozen=True)
class Plan:
    """What a release will do and how large its errors will be; nothing in it depends on data.

    `Question.plan` makes it, and `print` shows it as a table.

    Parameters
    ----------
    aggregates : mapping of str to Aggregate
        What is asked, by the name of its column.
    parts : mapping of str to Part
        The exact numbers that are needed, each with its noise and its share of the price.
    discovery : Histogram or None
        The mechanism that decides which groups are shown, where they are found in the data.
    cost : PureDP, ApproxDP or ZCDP
        What a release is charged.
    neighbour : Neighbour
        How far a neighbouring table may be, and which tables are neighbours.
    level : Fraction
        The confidence level of the intervals.
    terms : Terms
        The price and the options, as they were given.
    population : bool, default False
        Whether the intervals contain the mean of the population from which the rows were drawn.
    keys : tuple of str, default ()
        The columns by which rows are grouped.
    shortage : str, optional
        Why the ledger would refuse the cost, as it stands: too little is left, or a δ is needed that it does not have.

    Examples
    --------
    >>> import dither as dp
    >>> import pyarrow as pa
    >>> visits = pa.table({"city": ["Paris", "Lyon"] * 500})
    >>> data = dp.Dataset(visits, unit=dp.Rows(), budget=dp.PureDP(1), ledger="visits.ledger", identity="visits")
    >>> plan = data.group_by("city", keys=["Lyon", "Paris"]).agg(visits=dp.count()).plan(epsilon=0.5)
    >>> print(plan)
    column  noise             share   error (95 %)
    visits  Laplace, scale 2  100.0%  ±6
    costs PureDP(epsilon=0.5, adjacency='add or remove one record')
    >>> plan.error("visits")
    6.0
    """

    aggregates: Mapping[str, Aggregate]
    parts: Mapping[str, Part] = field(repr=False)
    discovery: Histogram | None
    cost: Budget
    neighbour: Neighbour
    level: Fraction
    terms: Terms = field(repr=False)
    population: bool = False
    keys: tuple[str, ...] = ()
    shortage: str | None = None

    @property
    def left_out(self) -> str | None:
        """What the limits of the privacy unit and the bounds leave out, in a sentence; None if nothing is."""
        return limits_in_words(self.aggregates, self.neighbour, self.keys)

    @property
    def cuts(self) -> tuple[CutNeed, Added] | None:
        """What is estimated of what is left out, and its noise; None if nothing is."""
        part = self.parts.get(LEFT_OUT)
        if part is None:
            return None
        assert isinstance(part.need, CutNeed)
        assert isinstance(part.noise, Added)
        return part.need, part.noise

    @once
    def columns(self) -> dict[str, str]:
        """The column of each part in the table of noisy numbers."""
        return noisy_columns(key for key in self.parts if key != LEFT_OUT)

    @property
    def event(self) -> Event:
        """All noise of the release, as one event; `dp.compose([plan.event])` computes its cost."""
        events = [part.noise.event for name, part in self.parts.items() if self.discovery is None or name != PEOPLE]
        if self.discovery is not None:
            events.append(self.discovery.event)
        return events[0] if len(events) == 1 else Composed(tuple(events))

    @property
    def looks(self) -> dict[str, RangeNoise]:
        """The parts whose range is found first, by their keys."""
        return {key: part.noise for key, part in self.parts.items() if isinstance(part.noise, RangeNoise)}

    @property
    def in_bounds(self) -> Plan:
        """The same if all bounds were kept, and no look cost anything."""
        return self.narrowed({key: noise.bounds_kept for key, noise in self.looks.items()})

    def narrowed(self, found: Mapping[str, FoundRange]) -> Plan:
        """State what is left to do when ranges are found.

        Parameters
        ----------
        found : mapping of str to FoundRange
            The ranges, by the keys of their parts, and what is left of the price of each.

        Returns
        -------
        Plan
            The plan with sums in these ranges. Its cost is still that of the whole.
        """
        if not found:
            return self
        aggregates = {name: aggregate.narrowed(found) for name, aggregate in self.aggregates.items()}
        needs = {key: need for aggregate in aggregates.values() for key, need in aggregate.needs.items()}
        parts = {
            key: part.narrowed(needs[key], found[key].left) if key in found else part
            for key, part in self.parts.items()
        }
        return replace(self, aggregates=aggregates, parts=parts)

    def answer(self, aggregate: Aggregate, values: Mapping[str, Any], level: Fraction) -> Answer:
        """Compute a column of the answer from its noisy parts.

        Parameters
        ----------
        aggregate : Aggregate
            What the column is.
        values : mapping of str to array
            The noisy parts, one value per group.
        level : Fraction
            The confidence level of the interval. The parts share what may be missed; for a population, half of it is
            for the noise and half for the sampling.

        Returns
        -------
        Answer
            The value per group, with the ends of its interval where it has one.
        """
        miss = (1 - level) / (2 if self.population else 1)
        each = miss / len(aggregate.needs)
        noises = {key: self.parts[key].noise for key in aggregate.needs}
        noisy = {
            key: Noisy(values[key], partial(noise.reach, each), noise.law, float(each)) for key, noise in noises.items()
        }  # fmt: skip
        answer = aggregate.answer(noisy)
        return aggregate.of_population(answer, noisy, float(miss)) if self.population else answer

    def error(self, name: str, rows: int | None = None) -> float | None:
        """Compute half the width of the interval of a column.

        Parameters
        ----------
        name : str
            The name of the column.
        rows : int, optional
            The number of rows of a group, on which the error of means and variances depends; their values are taken as
            spread evenly over the bounds. Other errors do not depend on it.

        Returns
        -------
        float or None
            The error, in the unit of the column; None if it has no such interval.

        Raises
        ------
        ParameterError
            If there is no such column, or `rows` is needed and missing.
        """
        aggregate = self.aggregates.get(name)
        if aggregate is None:
            raise ParameterError(f"the plan has no column {name!r}. Its columns: {', '.join(self.aggregates)}.")
        if not all(self.parts[key].noise.has_interval for key in aggregate.needs):
            return None
        if rows is None:
            if aggregate.depends_on_size:
                raise ParameterError(f"the error of {name} depends on how many rows a group has. Give them: rows=1000.")
            rows = 1
        return self._errors(aggregate, (rows,))[0]

    def errors(self, name: str, rows: Sequence[int]) -> dict[int, float | None]:
        """Compute the errors of a column in groups of several sizes at once, which takes no longer than that of one.

        Parameters
        ----------
        name : str
            The name of the column.
        rows : sequence of int
            The numbers of rows.

        Returns
        -------
        dict of int to float or None
            What `error` says, by the number of rows.
        """
        known = self._known_errors.get((name, tuple(rows)))
        if known is None:
            known = self._known_errors[name, tuple(rows)] = self._errors_of(self.aggregates[name], rows)
        return dict(known)

    @cached_property
    def _known_errors(self) -> dict[tuple[str, tuple[int, ...]], dict[int, float | None]]:
        """What was computed before: a page and a document say the same errors."""
        return {}

    def _errors_of(self, aggregate: Aggregate, rows: Sequence[int]) -> dict[int, float | None]:
        if not all(self.parts[key].noise.has_interval for key in aggregate.needs):
            return dict.fromkeys(rows)
        if not aggregate.depends_on_size:
            return dict.fromkeys(rows, self._errors(aggregate, (1,))[0])
        return dict(zip(rows, self._errors(aggregate, rows), strict=True))

    def _errors(self, aggregate: Aggregate, sizes: Sequence[int]) -> list[float]:
        each = [aggregate.supposed(rows) for rows in sizes]
        answer = self.answer(aggregate, {key: np.array([of[key] for of in each]) for key in each[0]}, self.level)
        return [float((high - low) / 2) for low, high in zip(answer.low, answer.high, strict=True)]

    def expected(self, name: str, rows: int) -> float:
        """Say what a column would be about, in a group of so many rows that are spread evenly over the bounds.

        Parameters
        ----------
        name : str
            The name of the column.
        rows : int
            The number of rows of the group.

        Returns
        -------
        float
            A supposition, of which a relative error is a share; no data is read.
        """
        aggregate = self.aggregates[name]
        supposed = {key: np.array([value]) for key, value in aggregate.supposed(rows).items()}
        return float(self.answer(aggregate, supposed, self.level).value[0])

    def trade_off(self, rows: int = 1_000) -> list[tuple[Budget, dict[str, float]]]:
        """Compute the errors at a quarter, a half, twice and four times the price; nothing is spent.

        Parameters
        ----------
        rows : int, default 1000
            The number of rows of a group, on which the error of means and variances depends.

        Returns
        -------
        list of tuple of (Budget, dict of str to float)
            Each cost, with the error of each column that has an interval.

        Examples
        --------
        >>> import dither as dp
        >>> import pyarrow as pa
        >>> visits = pa.table({"city": ["Paris", "Lyon"] * 500})
        >>> data = dp.Dataset(visits, unit=dp.Rows(), budget=dp.PureDP(1), ledger="visits.ledger", identity="visits")
        >>> plan = data.agg(visits=dp.count()).plan(epsilon=0.5)
        >>> [(str(cost.epsilon(0)), errors) for cost, errors in plan.trade_off()][:2]
        [('0.125', {'visits': 24.0}), ('0.25', {'visits': 12.0})]
        """
        found = []
        for times in _TIMES:
            plan = self if times == 1 else self._at(times)
            errors = {name: plan.error(name, rows) for name in plan.aggregates}
            found.append((plan.cost, {name: error for name, error in errors.items() if error is not None}))
        return found

    def _at(self, times: Fraction) -> Plan:
        """The same at another price; ρ grows as the square of what ε does."""
        price = Price.of(self.terms.epsilon, self.terms.delta, self.terms.rho)
        epsilon = None if price.epsilon is None else price.epsilon * times
        rho = None if price.rho is None else price.rho * times**2
        terms = replace(self.terms, epsilon=epsilon, rho=rho)
        return planned(self.aggregates, self.neighbour, self.discovery is not None, terms, self.keys)

    @property
    def risk(self) -> str:
        """What the cost means for one person, in a sentence; every figure is never below the truth."""
        aside = _SELDOM if isinstance(self.cost, ZCDP) else _ASIDE * amounts(self.cost)["delta"]
        posterior = in_percent(largest_posterior(self.cost, "0.5", min(aside, Fraction(1))))
        but = f" (but for answers of probability {float(aside):g})" if aside else ""
        return (
            f"Somebody who is 50 % sure that a person is in the data becomes at most {posterior} sure{but}, and guesses"
            f" right at most {in_percent(best_guess(self.cost))} of the time: an advantage of"
            f" {in_percent(self.cost.tv())}."
        )

    def lines(self) -> list[tuple[str, str, str, str]]:
        """Describe each column of the answer in words.

        Returns
        -------
        list of tuple of str
            For each column its name, its noise, its share of the price, and its error.
        """
        said = [(name, self._said_noise(each), self._said_error(name)) for name, each in self.aggregates.items()]
        if self.discovery is not None:
            said.append(("(groups)", f"discovery, from {self.discovery.threshold} people on", ""))
        if self.cuts is not None:
            named = ", ".join(cut.name for cut in self.cuts[0].cuts)
            said.append(("(left out)", f"an estimate of what is left out of {named}", ""))
        shares = map("{:.1%}".format, _to_tenths_of_percent(self._shares_of_lines()))
        return [(name, noise, share, error) for (name, noise, error), share in zip(said, shares, strict=True)]

    def _shares_of_lines(self) -> list[Fraction]:
        """What each line pays of the price, 1 in all: lines that need the same number pay equal parts of it."""
        lines = [set(aggregate.needs) for aggregate in self.aggregates.values()]
        lines += [] if self.discovery is None else [{PEOPLE}]
        lines += [] if self.cuts is None else [{LEFT_OUT}]
        each = {key: part.share / sum(key in line for line in lines) for key, part in self.parts.items()}
        return [sum((each[key] for key in line), Fraction(0)) for line in lines]

    def plot(self) -> Any:
        """Draw the error of each column against the rows of a group; nothing is spent.

        Returns
        -------
        matplotlib.figure.Figure
            The figure; `figure.savefig("errors.png")` stores it.
        """
        return views.plots.error_by_rows(self)

    def _repr_html_(self) -> str:
        """For notebooks."""
        table: str = views.html.plan_table(self)
        return table

    def __str__(self) -> str:
        """A line for each column: its noise, its share of the price, and its error."""
        lines = [("column", "noise", "share", f"error ({in_words(100 * self.level)} %)"), *self.lines()]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        table = [
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
        ]
        said = [*([] if self.left_out is None else [self.left_out]), f"costs {self.cost}"]
        return "\n".join([*table, *said, *([] if self.shortage is None else [self.shortage])])

    def _said_noise(self, aggregate: Aggregate) -> str:
        """In the unit of the column: sums are kept in steps of a lattice, which nobody has seen."""
        sizes: dict[str, list[str]] = {}
        for key in aggregate.needs:
            part = self.parts[key]
            sized = None if part.need.unit is None else part.noise.sized(part.need.unit)
            if sized is None:
                return str(part.noise)  # of counts, or of a choice; they stand alone
            kind, size = sized[0], rounded(sized[1], _DIGITS)
            sizes.setdefault(kind, []).append(f"{size} ({part.need.word})" if len(aggregate.needs) > 1 else size)
        return " | ".join(f"{kind} {', '.join(of)}" for kind, of in sizes.items())

    def _said_error(self, name: str) -> str:
        errors = self.errors(name, _SIZES)
        known = [(rows, rounded(error, _DIGITS)) for rows, error in errors.items() if error is not None]
        if not known:
            (key,) = self.aggregates[name].needs
            return self.parts[key].noise.selection_error(1 - self.level)
        if not self.aggregates[name].depends_on_size:
            return f"±{known[0][1]}"
        return ", ".join(f"±{error} of {rows:,} rows" for rows, error in known)


def _to_tenths_of_percent(shares: Sequence[Fraction]) -> list[float]:
    """Shares of 1 rounded so that what is shown adds up to 100 %: up where most would be lost by rounding down."""
    tenths = [int(1000 * share) for share in shares]
    by_loss = sorted(range(len(shares)), key=lambda at: tenths[at] - 1000 * shares[at])
    for at in by_loss[: 1000 - sum(tenths)]:
        tenths[at] += 1
    return [each / 1000 for each in tenths]


def planned(
    aggregates: Mapping[str, Aggregate],
    neighbour: Neighbour,
    found: bool,
    terms: Terms,
    keys: Sequence[str] = (),
    over: Callable[[Mapping[str, Need]], dict[str, Need]] | None = None,
) -> Plan:
    """Split the price over the needs of all aggregates by their weights, and make the noise of each.

    `over` says what the needs are over all periods of a stream; by default they are asked once.
    """
    price = Price.of(terms.epsilon, terms.delta, terms.rho)
    if terms.population:
        _check_population(aggregates, neighbour)
    needs: dict[str, Need] = {PEOPLE: Whole(People())} if found else {}
    for aggregate in aggregates.values():
        needs |= aggregate.needs
    if over is not None:
        needs = over(needs)
    exact_level = rational(terms.level, "level")
    check.between(0, 1, level=exact_level)
    shares = _shares(aggregates, needs, terms.weights or {})
    if terms.left_out and (cuts := cuts_of(aggregates, neighbour, keys)):
        needs[LEFT_OUT] = CutNeed(cuts, neighbour.adjacency.protects == "person")
        shares = {key: share * (1 - SHARE) for key, share in shares.items()} | {LEFT_OUT: SHARE}
    split = _Split(needs, shares, neighbour, price, found)
    parts, discovery, kind = split.chosen(terms.noise)
    cost = price.cost(neighbour.adjacency, needs_delta=kind == "gaussian" or split.discoveries > 0)
    return Plan(aggregates, parts, discovery, cost, neighbour, exact_level, terms, terms.population, tuple(keys))


def _check_population(aggregates: Mapping[str, Aggregate], neighbour: Neighbour) -> None:
    if neighbour.rows > 1:
        raise ParameterError("population=True takes the rows of a group as independent: max_rows_per_group must be 1.")
    for name, aggregate in aggregates.items():
        if not aggregate.is_about_population:
            raise ParameterError(
                f"population=True is about means, and {name!r} is none. Ask for it in another release."
            )


def _shares(
    aggregates: Mapping[str, Aggregate], needs: Mapping[str, Need], weights: Mapping[str, Number]
) -> dict[str, Fraction]:
    """A need weighs as much as the heaviest aggregate that has it."""
    for name in weights:
        if name not in aggregates:
            raise ParameterError(f"weights name the columns of the answer: {', '.join(aggregates)}; got {name!r}.")
    exact = {name: rational(weights.get(name, 1), f"the weight of {name}") for name in aggregates}
    for name, weight in exact.items():
        check.positive(**{f"weight of {name}": weight})
    heavy = {
        key: max((exact[name] for name, aggregate in aggregates.items() if key in aggregate.needs), default=Fraction(1))
        for key in needs
    }
    return {key: weight / sum(heavy.values()) for key, weight in heavy.items()}


@dataclass(frozen=True)
class _Split:
    """Needs with their shares of one price."""

    needs: Mapping[str, Need]
    shares: Mapping[str, Fraction]
    neighbour: Neighbour
    price: Price
    found: bool

    @property
    def discoveries(self) -> int:
        """How many things are found in the data."""
        return self.found + sum(need.is_found for need in self.needs.values())

    def chosen(self, noise: str | None) -> tuple[dict[str, Part], Histogram | None, str]:
        """The parts, what finds the groups, and the kind of noise: the one asked for, or the better one."""
        if noise is not None and noise not in ("laplace", "gaussian"):
            raise ParameterError(f"noise must be laplace or gaussian, got noise={noise!r}.")
        if self.price.rho is not None:
            if self.discoveries or noise == "laplace":
                raise ParameterError(
                    "rho pays Gaussian noise on public groups. Give keys=..., or pay by epsilon and delta."
                )
            return self._concentrated(self.price.rho), None, "gaussian"
        if noise == "gaussian" and (self.price.delta is None or self.discoveries):
            raise ParameterError("Gaussian noise needs delta=... or rho=..., and groups that are public: keys=...")
        if noise == "laplace" or self.price.delta is None or self.discoveries:
            return *self._pure(), "laplace"
        return self._better(noise)

    def _better(self, noise: str | None) -> tuple[dict[str, Part], Histogram | None, str]:
        if noise == "gaussian":
            return self._calibrated(), None, "gaussian"
        laplace, _ = self._pure()
        try:
            # Gaussian noise is no smaller than that of too large a ρ; to find its own is the long part of a plan.
            if _size(laplace) <= _size(self._concentrated(self._too_much)):
                return laplace, None, "laplace"
            gaussian = self._calibrated()
        except ParameterError:  # a price so large that no Gaussian noise is made for it
            return laplace, None, "laplace"
        if _size(laplace) <= _size(gaussian):
            return laplace, None, "laplace"
        return gaussian, None, "gaussian"

    def _pure(self) -> tuple[dict[str, Part], Histogram | None]:
        epsilon, delta = self.price.epsilon, self.price.delta
        assert epsilon is not None
        if self.discoveries and delta is None:
            raise ParameterError(_NO_DELTA)
        each_delta = None if delta is None or not self.discoveries else delta / self.discoveries
        discovery = None
        parts = {}
        for key, need in self.needs.items():
            share = self.shares[key]
            if self.found and key == PEOPLE:
                discovery = self._discovery(epsilon * share, each_delta)
                parts[key] = Part(need, need.pure(self.neighbour, epsilon * share), share)
            elif need.is_found:
                assert each_delta is not None
                parts[key] = Part(need, need.approximate(self.neighbour, epsilon * share, each_delta), share)
            else:
                parts[key] = Part(need, need.pure(self.neighbour, epsilon * share), share)
        return parts, discovery

    def _discovery(self, epsilon: Fraction, delta: Fraction | None) -> Histogram:
        """A person is in so many groups; a row that is replaced is in one, and the histogram knows that it moves."""
        bins = 1 if self.neighbour.replaces else self.neighbour.groups
        return Histogram(epsilon=epsilon, delta=delta, max_bins=bins, adjacency=self.neighbour.adjacency)

    def _concentrated(self, rho: Fraction) -> dict[str, Part]:
        return {
            key: Part(need, need.concentrated(self.neighbour, rho * self.shares[key]), self.shares[key])
            for key, need in self.needs.items()
        }

    def _calibrated(self) -> dict[str, Part]:
        """ρ of the one Gaussian that spends (ε, δ), less what the lattice and selections cost beyond it."""
        too_much = self._too_much
        for attempt in range(_TRIES):
            enough = too_much * (1 - Fraction(1 << attempt, 1 << _TRIES))
            if self._keeps(enough):
                break
        else:
            raise ParameterError("no Gaussian noise on whole numbers keeps this price. Use noise='laplace'.")
        return self._concentrated(farthest(self._keeps, enough, too_much, _STEPS))

    @property
    def _too_much(self) -> Fraction:
        """A ρ that (ε, δ) do not pay: a little more than that of the Gaussian mechanism of real numbers."""
        epsilon, delta = self.price.epsilon, self.price.delta
        assert epsilon is not None
        assert delta is not None
        one = Gaussian(sensitivity=1, epsilon=epsilon, delta=delta)
        return Fraction(1 / (2 * one.sigma**2)) * Fraction(1001, 1000)

    def _keeps(self, rho: Fraction) -> bool:
        """Whether everything together, composed exactly, keeps (ε, δ)."""
        epsilon, delta = self.price.epsilon, self.price.delta
        assert epsilon is not None
        assert delta is not None
        whole = compose([part.noise.event for part in self._concentrated(rho).values()])
        return read_above(whole.delta(epsilon)) <= delta


def _size(parts: Mapping[str, Part]) -> float:
    """How large the noise is, for comparing two plans of the same needs."""
    return sum(part.noise.size / part.need.step for part in parts.values())
