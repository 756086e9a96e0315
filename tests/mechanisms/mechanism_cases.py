"""Every mechanism. A new one joins with one `Case`, in a file of cases that is listed here."""

from __future__ import annotations

from tests.mechanisms import (
    adaptive_cases,
    additive_cases,
    finite_cases,
    knorm_cases,
    matrix_cases,
    ptr_cases,
    response_cases,
    selection_cases,
    smooth_cases,
)
from tests.mechanisms.mechanism_case import Case

__all__ = ["CASES"]

CASES: list[Case] = [
    *additive_cases.CASES,
    *selection_cases.CASES,
    *response_cases.CASES,
    *finite_cases.CASES,
    *knorm_cases.CASES,
    *ptr_cases.CASES,
    *smooth_cases.CASES,
    *matrix_cases.CASES,
    *adaptive_cases.CASES,
]
