"""Query → plan → release."""

from dither.engine.aggregate_functions import (
    count,
    count_distinct,
    count_people,
    histogram,
    max,
    mean,
    median,
    min,
    quantile,
    std,
    sum,
    top,
    variance,
)
from dither.engine.binning import Bins, bins
from dither.engine.certificate_check import Checked, check_certificate, read_certificate
from dither.engine.dataset import Dataset
from dither.engine.plan import Plan
from dither.engine.query import Query, Question
from dither.engine.shortcuts import Single
from dither.engine.table_release import TableRelease
from dither.tables import col, if_else

__all__ = [
    "Bins",
    "Checked",
    "Dataset",
    "Plan",
    "Query",
    "Question",
    "Single",
    "TableRelease",
    "bins",
    "check_certificate",
    "col",
    "count",
    "count_distinct",
    "count_people",
    "histogram",
    "if_else",
    "max",
    "mean",
    "median",
    "min",
    "quantile",
    "read_certificate",
    "std",
    "sum",
    "top",
    "variance",
]
