"""Rows that anyone may see, where queries are tried: a refusal there is free, and says nothing about the sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dither.adaptive.made_up_rows import made_up
from dither.adaptive.sample import Query, Sample
from dither.errors import ParameterError

__all__ = ["Examples"]


@dataclass(frozen=True, slots=True)
class Examples:
    """Given, or made up from the kind of the sample, which is public: its columns, types and the shape of a row."""

    rows: Sample
    name: str

    @classmethod
    def of(cls, sample: Sample, given: Any) -> Examples:
        """Those that are given must have the columns of the sample."""
        if given is None:
            where = (
                "made-up rows of 0s, 1s and numbers between; if your rows are never like that, give some as examples="
            )
            return cls(Sample.of(made_up(sample.data), "examples"), where)
        rows = Sample.of(given, "examples")
        if not rows.is_like(sample):
            raise ParameterError("examples must be of the kind of the sample, with the same columns in the same order.")
        return cls(rows, "the examples")

    def checked(self, query: Any) -> Query:
        """The query as a function of rows that behaves on the examples; or `ParameterError`."""
        return self.rows.tried(query, self.name)[0]
