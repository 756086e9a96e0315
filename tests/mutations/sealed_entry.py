"""One taming, cast, clamp or check of the sealed entry removed at a time: the suite of hostile rows must fail."""

from __future__ import annotations

from tests.mutations.mutation import Mutation, several

__all__ = ["MUTATIONS"]


def _rows(container: str, *types: str) -> tuple[str, ...]:
    """The tests of some types of a container."""
    return tuple(
        f"tests/tables/hostile/test_hostile_rows.py::test_no_row_decides[{container} - {name}]" for name in types
    )


def _persons(container: str, name: str) -> tuple[str, ...]:
    return (f"tests/tables/hostile/test_persons.py::test_a_hostile_person_moves_two_groups[{container} - {name}]",)


_REALS = _rows("DuckDB table", "DOUBLE", "UBIGINT", "HUGEINT", "UHUGEINT")
_ON_SERVER = _rows("PostgreSQL table", "double precision", "numeric", "numeric(310,0)")
_BUSY = (
    "tests/tables/hostile/test_persons.py"
    "::test_ten_thousand_rows_of_one_person_move_as_much_as_two[DuckDBTable-DOUBLE-'1.7e308']",
)
_LENGTHS = (
    "tests/tables/test_entry.py::test_what_each_type_of_duckdb_enters_as",
    "tests/tables/test_every_engine.py::test_e63_texts_have_a_longest_length_on_every_engine[duckdb]",
)
_KEYS = ("tests/engine/test_key_types.py",)
_OWN = ("tests/tables/test_own_tables.py",)
_NOT_UTF8 = ("tests/tables/test_not_utf8.py",)
_LOUD = ("tests/ledger/test_failures.py",)

_ENTRY, _DUCKDB, _POSTGRES = (
    f"tables/database_engines/{name}.py" for name in ("sealed_entry", "duckdb", "postgres_types")
)  # fmt: skip
_RETURN_SHORT = "return (size <= most).ifelse(value, ibis.null(value.type()))"

MUTATIONS = [
    # How columns enter
    *several(
        _ENTRY,
        _rows("PostgreSQL table", "date"),
        ("found.between(_FIRST_DAY, _LAST_DAY).ifelse(found, ibis.null('date'))", "found", "day"),
    ),
    *several(
        _ENTRY,
        _ON_SERVER,
        ("magnitude = double.abs()", "return double", "tame"),
        ("((magnitude >= SMALLEST) & (magnitude <= LARGEST), double)", "(magnitude <= LARGEST, double)", "tame"),
    ),
    *several(
        _ENTRY,
        _LENGTHS,
        (_RETURN_SHORT, "return value", "short"),
        ("LONGEST_BYTES if value.type().is_binary() else LONGEST_TEXT", "LONGEST_TEXT", "short"),
    ),
    *several(
        _POSTGRES,
        _ON_SERVER,
        ("(number > most, most), ", "", "_tame_numeric"),
        ("(number < -most, -most), ", "", "_tame_numeric"),
        ("(number.abs() < least, zero), ", "", "_tame_numeric"),
    ),
    *several(
        _DUCKDB,
        _REALS,
        ("'UBIGINT': _WIDE", "'UBIGINT': _WHOLE"),
        (" 'HUGEINT': _WIDE", " 'HUGEINT': _WHOLE"),
        ("'UHUGEINT': _WIDE", "'UHUGEINT': _WHOLE"),
    ),
    Mutation(
        _DUCKDB,
        "value.between(least, most).ifelse(value, ibis.null(of.copy(nullable=True)))",
        "value",
        ("tests/tables/test_files.py",),
        "_decimal",
    ),
    Mutation(_DUCKDB, "value.try_cast('date')", "value.cast('date')", _OWN, "_day"),
    Mutation(_DUCKDB, "identify=_moment", "identify=text", _persons("Arrow frame", "timestamp[us]")),
    Mutation(_DUCKDB, "check_values(found)", "pass", _rows("Parquet file", "string"), "DuckDB._viewed"),
    Mutation(
        "tables/database_engines/engine.py",
        "types[name] = pa.large_string()",
        "pass",
        _LENGTHS,
    ),
    # Texts that are not UTF-8
    Mutation(
        _DUCKDB,
        "builtin('try', 'string', builtin('decode', 'string', builtin('encode', 'binary', text)))",
        "builtin('decode', 'string', builtin('encode', 'binary', text))",
        _rows("DuckDB table", "VARCHAR beyond ASCII"),
        "_bare",
    ),
    Mutation(
        _DUCKDB,
        "builtin('try', 'string', builtin('decode', 'string', builtin('encode', 'binary', text)))",
        "text",
        _OWN,
        "_bare",
    ),
    Mutation("tables/source.py", "_check_utf8(name, table.column(name))", "pass", _NOT_UTF8, "_decoded"),
    Mutation("tables/expression_compiler.py", "not is_unicode(name)", "False", _NOT_UTF8, "not_reserved"),
    Mutation("tables/expression.py", "not is_unicode(value)", "False", _NOT_UTF8, "literal"),
    Mutation("engine/groups.py", "except UnicodeError:", "except ZeroDivisionError:", _NOT_UTF8, "_column"),
    # Which tables are taken
    *several(
        "tables/database_engines/duckdb_tables.py",
        _OWN,
        ("if views:", "if False:", "_tables"),
        ("if not tables or ", "if ", "_tables"),
        ("any((database not in stored for database, *_ in tables))", "False", "_tables"),
        ("if any((_GENERATED in statement for *_, statement in tables)):", "if False:", "_tables"),
        ("if not isinstance(leaf, ops.DatabaseTable):", "if False:", "_tables"),
    ),
    Mutation(
        _DUCKDB,
        "definitions(self.backend.con, self._read) != self._defined",
        "not definitions(self.backend.con, self._read)",
        _OWN,
        "DuckDB.ready",
    ),
    # Which keys are taken
    *several(
        "engine/groups.py",
        _KEYS,
        ("return _texts(name, values)", "return values", "entered_keys"),
        ("return _days(name, values)", "return values", "entered_keys"),
        ("return _whole(name, values)", "return values", "entered_keys"),
    ),
    Mutation("engine/noisy_groups.py", "groups.places(batch)", "pass", _KEYS),
    # What is computed of them
    Mutation("tables/expression_compiler.py", "a / b.nullif(0.0)", "a / b", _ON_SERVER),
    *several(
        "tables/expression_compiler.py",
        _rows("PostgreSQL table", "double precision"),
        ("(value >= 0).ifelse(value, ibis.null('float64')).sqrt()", "value.sqrt()", "_root"),
        ("(value > 0).ifelse(value, ibis.null('float64')).ln()", "value.ln()", "_logarithm"),
        ("clamped(value, -_LARGEST_POWER, _LARGEST_POWER).exp()", "value.exp()", "_power"),
        ("small.ifelse(small.ifelse(value, 0.0).floor().cast('float64'), value)", "value.floor().cast('float64')"),
    ),
    *several(
        "tables/text_parsing.py",
        _rows("CSV file", "numbers", "days", "words"),
        ("_where(_is_all(text, NUMBER), text).cast('float64')", "text.cast('float64')"),
        (
            "_where(_is_all(day, DAY) & (day.left(4) != '0000') & stands_alone, day).cast('date')",
            "day.cast('date')",
        ),
    ),
    Mutation("tables/lattice.py", "(between(real, low, high) / step + 0.5)", "(real / step + 0.5)", _REALS),
    Mutation(
        "tables/lost_to_limits.py",
        "(0.0 if abs(end) < SMALLEST else end for end in cut.bounds)",
        "cut.bounds",
        _rows("PostgreSQL table", "double precision"),
    ),
    # What each person adds
    *several(
        "tables/exact_totals.py",
        _REALS + _BUSY,
        ("ibis.least(person.rows, max_rows)", "person.rows", "RowCount.contribution"),
        ("between(total, max_rows * low, max_rows * high)", "total"),
    ),
    *several(
        "tables/bounded_table.py",
        _REALS,
        ("ranked['dither_rank'] < limit", "ranked['dither_rank'] <= limit"),
        ("kept['dither_row'] < rows_each", "kept['dither_row'] <= rows_each"),
    ),
    # What is seen of a failure
    Mutation("release.py", "np.errstate(divide='raise', over='raise', invalid='raise'), ", "", _LOUD, "_drawn"),
]
