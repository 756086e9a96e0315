"""Query → plan → release."""

from dither.engine.aggregate import AGGREGATES
from dither.engine.binning import Bins, bins
from dither.engine.certificate_check import Checked, check_certificate, read_certificate
from dither.engine.dataset import Dataset
from dither.engine.plan import Plan
from dither.engine.query import Query
from dither.engine.question import Question
from dither.engine.shortcuts import Single
from dither.engine.table_release import TableRelease
from dither.tables import col, if_else

__all__ = [
    "AGGREGATES",
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
    "if_else",
    "read_certificate",
    *AGGREGATES,
]

globals().update(AGGREGATES)  # dp.count and so on; importing Query has filled the registry
