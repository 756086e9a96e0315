"""The only package that reads rows, and the only one that imports Ibis: source → bounded table → exact aggregate."""

from dither.tables.bounded_table import PERSON, BoundedTable, ColumnTypes, ExactAggregate, Levels
from dither.tables.database_engines.engine import content_digest
from dither.tables.database_engines.sealed_entry import refused_column
from dither.tables.exact_totals import Centred, Measure, People, RowCount, Squares, Sum, Values
from dither.tables.expression import Column, Expression, col, columns_of, if_else
from dither.tables.expression_compiler import (
    different,
    few_steps,
    folded,
    kinds_of,
    missing_column,
    not_reserved,
    shown,
    with_values,
)
from dither.tables.float_bins import FloatBins
from dither.tables.joins import (
    attributed,
    below_each_other,
    check_same_people,
    equi_joined,
    few_of_each,
    joined_rows,
    owned,
    persons_by_key,
    real_keys,
    with_owners,
)
from dither.tables.lattice import SQUARE_BITS, SUM_BITS, Lattice
from dither.tables.lost_to_limits import CELLS, MOST_KEPT, MOST_LOST, ONE, Cut, columns_of_cuts
from dither.tables.octave_bins import OctaveBins
from dither.tables.plain_columns import is_frame
from dither.tables.row_operations import at_each_level, filtered, joined, most_partners, one_row_each
from dither.tables.several_sources import open_sources
from dither.tables.source import Source, arrow_table, open_source
from dither.tables.text_parsing import no_text_is_read

__all__ = [
    "CELLS",
    "MOST_KEPT",
    "MOST_LOST",
    "ONE",
    "PERSON",
    "SQUARE_BITS",
    "SUM_BITS",
    "BoundedTable",
    "Centred",
    "Column",
    "ColumnTypes",
    "Cut",
    "ExactAggregate",
    "Expression",
    "FloatBins",
    "Lattice",
    "Levels",
    "Measure",
    "OctaveBins",
    "People",
    "RowCount",
    "Source",
    "Squares",
    "Sum",
    "Values",
    "arrow_table",
    "at_each_level",
    "attributed",
    "below_each_other",
    "check_same_people",
    "col",
    "columns_of",
    "columns_of_cuts",
    "content_digest",
    "different",
    "equi_joined",
    "few_of_each",
    "few_steps",
    "filtered",
    "folded",
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
    "persons_by_key",
    "real_keys",
    "refused_column",
    "shown",
    "with_owners",
    "with_values",
]
