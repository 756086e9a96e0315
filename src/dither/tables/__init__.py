"""The only package that reads rows, and the only one that imports Ibis: source → bounded table → exact aggregate."""

from dither.tables.bounded_table import BoundedTable, ExactAggregate
from dither.tables.engines.engine import content_digest
from dither.tables.engines.sealed_entry import refused_column
from dither.tables.expression import Column, Expression, col, columns_of, if_else
from dither.tables.expression_compiler import (
    different,
    few_steps,
    kinds_of,
    missing_column,
    not_reserved,
    shown,
    with_values,
)
from dither.tables.float_bins import FloatBins
from dither.tables.group_totals import Centred, Measure, People, RowCount, Squares, Sum, Values
from dither.tables.joins import attributed, check_same_people, equi_joined, few_of_each, joined_rows, owned, with_owners
from dither.tables.lattice import SQUARE_BITS, SUM_BITS, Lattice
from dither.tables.plain_columns import is_frame
from dither.tables.row_operations import filtered, joined, most_partners, one_row_each
from dither.tables.several_sources import open_sources
from dither.tables.source import Source, arrow_table, open_source
from dither.tables.text_parsing import no_text_is_read

__all__ = [
    "SQUARE_BITS",
    "SUM_BITS",
    "BoundedTable",
    "Centred",
    "Column",
    "ExactAggregate",
    "Expression",
    "FloatBins",
    "Lattice",
    "Measure",
    "People",
    "RowCount",
    "Source",
    "Squares",
    "Sum",
    "Values",
    "arrow_table",
    "attributed",
    "check_same_people",
    "col",
    "columns_of",
    "content_digest",
    "different",
    "equi_joined",
    "few_of_each",
    "few_steps",
    "filtered",
    "if_else",
    "is_frame",
    "joined",
    "joined_rows",
    "kinds_of",
    "missing_column",
    "most_partners",
    "no_text_is_read",
    "not_reserved",
    "one_row_each",
    "open_source",
    "open_sources",
    "owned",
    "refused_column",
    "shown",
    "with_owners",
    "with_values",
]
