"""What a claim is, and what checking it shows.

A claim is checked by a function that walks over a grid of parameters and yields evidence: points, each a promise
beside the truth, and figures worth knowing. Nothing is stored: the verdict follows from the points of today.

The constants of the printed formula are the keyword arguments of that function. `check(scale=Fraction(99, 100))`
asks what would become of the claim if the lecture had printed one percent less, so each verdict is seen to fail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from inspect import signature
from typing import Any, Literal, TypeAlias

from dither.errors import ParameterError
from dither.exact import Ball, Number, ball, in_words, precision, rational

__all__ = [
    "Claim",
    "Evidence",
    "Figure",
    "Point",
    "Row",
    "Value",
    "at_most",
    "claim",
    "counterexample",
    "equal",
    "exceeds",
    "implemented",
    "refused",
]

Value: TypeAlias = "Fraction | int | float | Ball"
"""A number that is exact (an int, a Fraction, a float as it stands) or a ball that contains it."""

_BITS = 192
_AGREE = Ball(10) ** -11
"""Numbers are equal if they certainly differ by less than this, relatively: the library's floats are rounded."""
_TIE = Ball(10) ** -40
"""A bound that is attained can be certified only up to the radius of a ball: this much, relatively, is let pass."""


@dataclass(frozen=True, slots=True)
class Point:
    """What a claim promises and what is true, at one choice of parameters.

    Parameters
    ----------
    quantity : str
        What is compared.
    textbook : Value
        The promise.
    exact : Value
        The truth.
    relation : {"≤", "=", ">", "≰"}
        What should hold: `exact` ≤, = or > `textbook`; ≰ is a counter-example, which means > for a formula that is
        misprinted, or used outside its range.
    at : mapping of str to object
        The parameters.
    of_library : bool, default False
        Whether `exact` is a number of this library that is to be the theorem's own, not a truth about the world.
    """

    quantity: str
    textbook: Value
    exact: Value
    relation: Literal["≤", "=", ">", "≰"]
    at: Mapping[str, object]
    of_library: bool = False

    def holds(self) -> bool:
        """Decide whether the relation is certain; exact numbers are compared exactly.

        Returns
        -------
        bool
            Whether it holds.
        """
        textbook, exact = self.textbook, self.exact
        if isinstance(textbook, int | Fraction) and isinstance(exact, int | Fraction):
            return {"≤": exact <= textbook, "=": exact == textbook}.get(self.relation, exact > textbook)
        with precision(_BITS):
            promise, truth = _ball(textbook), _ball(exact)
            if self.relation == "=":
                return bool(abs(truth - promise) <= _AGREE * abs(promise))
            if self.relation == "≤":
                return bool(truth <= promise + _TIE * abs(promise))
            return bool(truth > promise)

    def as_dict(self) -> dict[str, Any]:
        """Convert to plain JSON values.

        Returns
        -------
        dict of str to Any
            The numbers as the nearest floats, `at` in words, and whether it `holds`.
        """
        return {
            "quantity": self.quantity,
            "at": _in_words(self.at),
            "textbook": float(_ball(self.textbook)),
            "relation": self.relation,
            "exact": float(_ball(self.exact)),
            "holds": self.holds(),
        }

    @property
    def slack(self) -> float:
        """The promise divided by the truth; their difference where one of them is 0."""
        with precision(_BITS):
            promise, truth = _ball(self.textbook), _ball(self.exact)
            if promise == 0 or truth.contains(Ball(0)):
                return float(abs(promise - truth))
            return float(promise / truth)


@dataclass(frozen=True, slots=True)
class Figure:
    """A number that goes with a claim: what the exact treatment gains, or how wrong a misprint is.

    Parameters
    ----------
    name : str
        What it is.
    value : Value
        The number.
    """

    name: str
    value: Value


Evidence: TypeAlias = Point | Figure


def at_most(quantity: str, textbook: Value, exact: Value, **at: object) -> Point:
    """The claim says that `exact` is at most `textbook`."""
    return Point(quantity, textbook, exact, "≤", at)


def equal(quantity: str, textbook: Value, exact: Value, **at: object) -> Point:
    """The claim says that both are equal."""
    return Point(quantity, textbook, exact, "=", at)


def implemented(quantity: str, textbook: Value, exact: Value, **at: object) -> Point:
    """The claim says that the library uses or states this very number."""
    return Point(quantity, textbook, exact, "=", at, of_library=True)


def exceeds(quantity: str, textbook: Value, exact: Value, **at: object) -> Point:
    """The claim says that `exact` is greater than `textbook`."""
    return Point(quantity, textbook, exact, ">", at)


def counterexample(quantity: str, printed: Value, exact: Value, **at: object) -> Point:
    """Here a misprinted formula, or a claim outside its range, promises too little."""
    return Point(quantity, printed, exact, "≰", at)


def refused(call: Callable[[], object]) -> int:
    """1 if the call is refused as a bad parameter, 0 if it goes through."""
    try:
        call()
    except ParameterError:
        return 1
    return 0


@dataclass(frozen=True, slots=True)
class Row:
    """One row of `dither claims`: the verdict over all points, with the numbers of the tightest or first broken one.

    `textbook` and `exact` are the nearest floats; the verdict compares the numbers themselves.

    Parameters
    ----------
    id : str
        The number of the claim, such as "C2".
    source : str
        The lecture.
    statement : str
        The claim in its correct form.
    formula : str
        What the lecture prints.
    quantity : str
        What is compared at the point that is shown.
    textbook : float
        The promise there.
    exact : float
        The truth there.
    slack : float
        The promise divided by the truth there.
    largest_slack : float
        The same at the loosest point of this quantity.
    verdict : {"holds", "fails"}
        Whether all points hold.
    witness : dict of str to str
        The parameters of the point that is shown.
    points : int
        How many points were checked.
    counterexample : dict of str to Any or None
        Where a misprinted formula promises too little, if it does.
    figures : dict of str to float
        Further numbers, by name.
    tightness : str
        Whether the theorem has slack, and how much, and whether the numbers of the library are the theorem's own.
    """

    id: str
    source: str
    statement: str
    formula: str
    quantity: str
    textbook: float
    exact: float
    slack: float
    largest_slack: float
    verdict: Literal["holds", "fails"]
    witness: dict[str, str]
    points: int
    counterexample: dict[str, Any] | None
    figures: dict[str, float]
    tightness: str

    def as_dict(self) -> dict[str, Any]:
        """Convert to plain JSON values.

        Returns
        -------
        dict of str to Any
            The fields by name.
        """
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Claim:
    """A numbered statement of the lectures, with a check that may come out against it.

    Parameters
    ----------
    id : str
        Its number, such as "C2".
    source : str
        The lecture.
    statement : str
        The claim in its correct form.
    formula : str
        What the lecture prints.
    evidence : callable
        Yields points and figures; its keyword arguments are the constants of the printed formula.
    """

    id: str
    source: str
    statement: str
    formula: str
    evidence: Callable[..., Iterator[Evidence]]

    @property
    def constants(self) -> dict[str, Any]:
        """The constants of the printed formula, by name, as `check` uses them unless others are given."""
        return {name: each.default for name, each in signature(self.evidence).parameters.items()}

    def points(self, **constants: Any) -> list[Point]:
        """Compute every point of the grid: what is promised and what is true.

        Parameters
        ----------
        **constants : Any
            Replace constants of the printed formula, as in `check`.

        Returns
        -------
        list of Point
            In the order in which they are computed; `.holds()` says which break.

        Examples
        --------
        >>> from dither.audit.claims import find
        >>> broken = [point for point in find("C6").points(factor="1.98") if not point.holds()]
        >>> broken[0].quantity
        'σ² that the library uses'
        """
        with precision(_BITS):
            return [each for each in self._found(constants) if isinstance(each, Point)]

    def _found(self, constants: Mapping[str, Any]) -> list[Evidence]:
        """The evidence for constants that are checked: numbers of the kind that the claim has."""
        known = self.constants
        for name in constants:
            if name not in known:
                names = ", ".join(known) or "none"
                raise ParameterError(f"claim {self.id} has no constant {name!r}. Its constants: {names}.")
        return list(self.evidence(**{name: _like(name, known[name], x) for name, x in constants.items()}))

    def check(self, **constants: Any) -> Row:
        """Check the claim now, with certified numbers.

        Parameters
        ----------
        **constants : Any
            Replace constants of the printed formula, to see that another claim would fail.

        Returns
        -------
        Row
            The verdict and its numbers.

        Examples
        --------
        >>> from dither.audit.claims import find
        >>> find("C2").check().verdict
        'holds'
        """
        with precision(_BITS):
            found = self._found(constants)
            points = [each for each in found if isinstance(each, Point)]
            broken = [point for point in points if not point.holds()]
            named_first = [point for point in broken if point.quantity == points[0].quantity]
            shown = (named_first or broken or [min(_comparable(points), key=lambda point: point.slack)])[0]
            return Row(
                id=self.id,
                source=self.source,
                statement=self.statement,
                formula=self.formula,
                quantity=shown.quantity,
                textbook=float(_ball(shown.textbook)),
                exact=float(_ball(shown.exact)),
                slack=shown.slack,
                largest_slack=max(point.slack for point in _comparable(points)),
                verdict="fails" if broken else "holds",
                witness=_in_words(shown.at),
                points=len(points),
                counterexample=_counterexample(points),
                figures={each.name: float(_ball(each.value)) for each in found if isinstance(each, Figure)},
                tightness=_tightness(points),
            )


def claim(id: str, source: str, statement: str, formula: str) -> Callable[[Callable[..., Iterator[Evidence]]], Claim]:
    """Make a claim of the function that gathers its evidence; the function's arguments are its constants."""
    return lambda evidence: Claim(id, source, statement, formula, evidence)


def _like(name: str, usual: Fraction | int, value: Number) -> Fraction | int:
    """A number in place of a constant; an int stays one."""
    exact = rational(value, name)
    if isinstance(usual, int) and exact.denominator != 1:
        raise ParameterError(f"{name} must be a whole number, got {name}={value}.")
    return int(exact) if isinstance(usual, int) else exact


def _comparable(points: list[Point]) -> list[Point]:
    """The bounds on the quantity that is named first, where there is something to bound; else the first point alone."""
    if not points:
        raise ParameterError("a claim must show at least one point.")
    first = points[0].quantity
    return [p for p in points if p.quantity == first and p.relation == "≤" and _ball(p.exact) > 0] or points[:1]


_TIGHT = 1e-3


def _tightness(points: list[Point]) -> str:
    """Where the slack is, if there is any: in what the theorem promises, or in what the library makes of it."""
    bounds = [point for point in _comparable(points) if point.relation == "≤"]
    least = min((point.slack for point in bounds), default=1.0)
    theorem = (
        "nothing is bounded"
        if points[0].relation == ">"
        else "the theorem is tight"
        if least <= 1 + _TIGHT
        else f"the theorem has slack: at least {least:.4g} times"
    )
    own = [point for point in points if point.of_library]
    off = sum(not point.holds() for point in own)
    if not own:
        return f"{theorem}."
    library = f"{off} of {len(own)} numbers of the library differ from it" if off else "the library uses its numbers"
    return f"{theorem}; {library}."


def _counterexample(points: list[Point]) -> dict[str, Any] | None:
    for point in points:
        if point.relation == "≰":
            printed, exact = _ball(point.textbook), _ball(point.exact)
            return {
                "quantity": point.quantity,
                "at": _in_words(point.at),
                "printed": float(printed),
                "exact": float(exact),
                "ratio": float(exact / printed),
            }
    return None


def _in_words(at: Mapping[str, object]) -> dict[str, str]:
    return {name: in_words(value) if isinstance(value, Fraction) else str(value) for name, value in at.items()}


def _ball(value: Value) -> Ball:
    return value if isinstance(value, Ball) else Ball(value) if isinstance(value, float) else ball(value)
