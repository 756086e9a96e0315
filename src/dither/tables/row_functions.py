"""The functions of a row's values that have names: of numbers, of dates and times, of texts.

Each is total: it gives a value or NULL, whatever is in the row, in time that is linear in the length of the value.
`sqrt`, `round` and the functions of dates and texts give the same on every engine to the last bit. `log` and `exp` are
those of the engine, which may differ by one unit in the last place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dither.errors import ParameterError

if TYPE_CHECKING:
    from dither.tables.expression import Operation

__all__ = ["CLOCK_UNITS", "DAY_UNITS", "RowFunctions"]

DAY_UNITS: Final = ("day", "week", "month", "quarter", "year")
"""To which a time is cut off so that a day is left."""
CLOCK_UNITS: Final = ("minute", "hour")
"""To which it is cut off so that a text with the time of day is left."""
_MOST_DIGITS: Final = 15
_MOST_CHARACTERS: Final = 1 << 14


class RowFunctions:
    """Functions of one value; `Expression` has them all."""

    __slots__ = ()

    def _applied(self, verb: str, *others: Any) -> Operation:
        """The operation of this value and others."""
        raise NotImplementedError

    def floor(self) -> Operation:
        """Round down to a whole number.

        Returns
        -------
        Operation
            The largest whole number that is not above the value.
        """
        return self._applied("floor")

    def round(self, digits: int = 0) -> Operation:
        """Round to the nearest number with so many digits behind the point; halves away from zero.

        Parameters
        ----------
        digits : int
            How many digits to keep behind the point, from -15 to 15; -2 rounds to hundreds.

        Returns
        -------
        Operation
            The rounded value.

        Raises
        ------
        ParameterError
            If `digits` is not a whole number from -15 to 15.

        Examples
        --------
        >>> from dither.tables import col
        >>> print(col("fare").round())
        round(fare)
        >>> print(col("fare").round(2))
        (round((fare * 100)) / 100)
        """
        if not _is_whole(digits) or not abs(digits) <= _MOST_DIGITS:
            raise ParameterError(f"round keeps from -{_MOST_DIGITS} to {_MOST_DIGITS} digits, got digits={digits!r}.")
        if not digits:
            return self._applied("round")
        power = 10 ** abs(digits)
        first, last = ("*", "/") if digits > 0 else ("/", "*")
        return self._applied(first, power)._applied("round")._applied(last, power)

    def sqrt(self) -> Operation:
        """Take the square root.

        Returns
        -------
        Operation
            The root that is not negative; NULL where the value is negative.
        """
        return self._applied("sqrt")

    def log(self) -> Operation:
        """Take the natural logarithm.

        Returns
        -------
        Operation
            The logarithm to the base e; NULL where the value is 0 or negative.

        Examples
        --------
        >>> from dither.tables import col
        >>> print((col("income") + 1).log())
        log((income + 1))
        """
        return self._applied("log")

    def exp(self) -> Operation:
        """Raise e to the power of the value.

        Returns
        -------
        Operation
            The power; 1e100 where it is larger, and 0 where it is below 1e-100, as of any arithmetic here.
        """
        return self._applied("exp")

    def year(self) -> Operation:
        """Take the year of a date or a time.

        Returns
        -------
        Operation
            The year, a whole number.
        """
        return self._applied("year")

    def month(self) -> Operation:
        """Take the month of a date or a time.

        Returns
        -------
        Operation
            The month, 1 to 12.
        """
        return self._applied("month")

    def day(self) -> Operation:
        """Take the day of the month of a date or a time.

        Returns
        -------
        Operation
            The day, 1 to 31.
        """
        return self._applied("day")

    def weekday(self) -> Operation:
        """Take the day of the week of a date or a time.

        Returns
        -------
        Operation
            0 for Monday to 6 for Sunday.
        """
        return self._applied("weekday")

    def hour(self) -> Operation:
        """Take the hour of a time.

        Returns
        -------
        Operation
            The hour, 0 to 23, of the clock in which the time is stored; a time with a zone is one in UTC.

        Examples
        --------
        >>> from dither.tables import col
        >>> print(col("pickup").hour().between(7, 9))
        ((hour(pickup) >= 7) and (hour(pickup) <= 9))
        """
        return self._applied("hour")

    def minute(self) -> Operation:
        """Take the minute of a time.

        Returns
        -------
        Operation
            The minute of the hour, 0 to 59.
        """
        return self._applied("minute")

    def date_trunc(self, unit: str) -> Operation:
        """Cut a date or a time off to the begin of its hour, day, week, month, quarter or year.

        Parameters
        ----------
        unit : str
            One of "minute", "hour", "day", "week" (which begins on Monday), "month", "quarter" and "year".

        Returns
        -------
        Operation
            A date for days and longer units. For hours and minutes a text such as '2024-12-31 08:00', whose order is
            that of time: so keys are written in one way on every engine.

        Raises
        ------
        ParameterError
            If the unit is not one of these.

        Examples
        --------
        >>> from dither.tables import col
        >>> print(col("pickup").date_trunc("month"))
        date_trunc(pickup, 'month')
        """
        if unit not in (*CLOCK_UNITS, *DAY_UNITS):
            raise ParameterError(f"date_trunc cuts off to {', '.join((*CLOCK_UNITS, *DAY_UNITS))}, got {unit!r}.")
        return self._applied("date_trunc", unit)

    def lower(self) -> Operation:
        """Write the letters A to Z of a text in lower case; all other characters, such as É, stay as they are.

        Returns
        -------
        Operation
            The text.

        Examples
        --------
        >>> from dither.tables import col
        >>> print(col("payment").strip().lower() == "card")
        (lower(strip(payment)) == 'card')
        """
        return self._applied("lower")

    def strip(self) -> Operation:
        r"""Take white space of ASCII (space, \\t, \\n, \\r, \\v, \\f) from both ends of a text; none inside of it.

        Returns
        -------
        Operation
            The text.
        """
        return self._applied("strip")

    def starts_with(self, text: str) -> Operation:
        """Test whether a text begins with a public one, letter by letter.

        Parameters
        ----------
        text : str
            How it must begin. No character has a special meaning.

        Returns
        -------
        Operation
            True where it does.

        Raises
        ------
        ParameterError
            If `text` is not a text.

        Examples
        --------
        >>> from dither.tables import col
        >>> print(col("code").starts_with("A4"))
        starts_with(code, 'A4')
        """
        return self._applied("starts_with", _text("starts_with", text))

    def contains(self, text: str) -> Operation:
        """Test whether a public text stands somewhere in a text, letter by letter.

        Parameters
        ----------
        text : str
            What must stand there. No character has a special meaning.

        Returns
        -------
        Operation
            True where it does.

        Raises
        ------
        ParameterError
            If `text` is not a text.
        """
        return self._applied("contains", _text("contains", text))

    def ends_with(self, text: str) -> Operation:
        """Test whether a text ends with a public one, letter by letter.

        Parameters
        ----------
        text : str
            How it must end. No character has a special meaning.

        Returns
        -------
        Operation
            True where it does.

        Raises
        ------
        ParameterError
            If `text` is not a text.
        """
        return self._applied("ends_with", _text("ends_with", text))

    def after(self, text: str) -> Operation:
        """Take what stands behind the first place where a public text is found in a text.

        Parameters
        ----------
        text : str
            What is looked for, letter by letter; at least one character.

        Returns
        -------
        Operation
            The rest of the text; NULL where it is not found.

        Raises
        ------
        ParameterError
            If `text` is not a text, or is empty.

        Examples
        --------
        >>> from dither.tables import col
        >>> print(col("comment").after("special").contains("request"))
        contains(after(comment, 'special'), 'request')
        """
        if not _text("after", text):
            raise ParameterError("after takes a text of at least one character.")
        return self._applied("after", text)

    def left(self, length: int) -> Operation:
        """Take the first characters of a text.

        Parameters
        ----------
        length : int
            How many characters (code points of Unicode) to keep, from 1 to 16384.

        Returns
        -------
        Operation
            The begin of the text; a shorter text as it is.

        Raises
        ------
        ParameterError
            If `length` is not a whole number from 1 to 16384.

        Examples
        --------
        >>> from dither.tables import col
        >>> print(col("phone").left(2) == "33")
        (left(phone, 2) == '33')
        """
        if not _is_whole(length) or not 1 <= length <= _MOST_CHARACTERS:
            raise ParameterError(f"left keeps from 1 to {_MOST_CHARACTERS} characters, got length={length!r}.")
        return self._applied("left", length)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _text(function: str, value: Any) -> str:
    if not isinstance(value, str):
        raise ParameterError(f"{function} takes a public text, got the type {type(value).__name__}.")
    return value
