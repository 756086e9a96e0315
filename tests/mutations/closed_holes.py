"""One check removed at a time that closed a hole which hostile readers had found: the test of that hole must fail.

Holes by values of rows (tiny doubles, wide decimals, texts that are not UTF-8) are in `sealed_entry`.
"""

from __future__ import annotations

from tests.mutations.mutation import Mutation, several

__all__ = ["MUTATIONS"]

_FILES, _RELATIONS, _SQLITE = (
    f"tests/{name}.py" for name in ("tables/test_files", "tables/test_postgres_sources", "ledger/test_one_ledger")
)

MUTATIONS = [
    # A type that compares in its own way
    Mutation(
        "tables/engines/postgres_relations.py",
        "return name if schema == 'pg_catalog' else f'{schema}.{name}'",
        "return 'text' if name == 'citext' else name",
        ("tests/engine/test_postgres_entry.py::test_e62_a_type_that_compares_otherwise_than_its_text_does_not_enter",),
    ),
    # Names of files, and folders that look like partitions
    Mutation(
        "tables/engines/duckdb_paths.py",
        "''.join((f'[{sign}]' if sign in _SIGNS else sign for sign in name))",
        "name",
        (f"{_FILES}::test_e64_a_name_is_no_pattern",),
    ),
    *several(
        "tables/engines/parquet_files.py",
        (f"{_FILES}::test_e64_a_folder_gives_no_column",),
        ("'hive_partitioning': False", "'hive_partitioning': True"),
    ),
    Mutation(
        "tables/engines/duckdb.py",
        "hive_partitioning=False",
        "hive_partitioning=True",
        (f"{_FILES}::test_e64_a_folder_gives_no_column",),
    ),
    # Another road to one table
    Mutation(
        "tables/engines/postgres_relations.py",
        "if self.unseen:",
        "if False:",
        (f"{_RELATIONS}::test_e65_a_foreign_table_has_no_budget_of_its_own",),
    ),
    # Certificates
    Mutation(
        "engine/question_text.py",
        "return f'{question}{_SEPARATOR}{written}'",
        "return f'{question}{_SEPARATOR}{unit}'",
        ("tests/engine/test_regrouped_certificates.py",),
    ),
    Mutation(
        "engine/certificate_check.py",
        "if len(text) > MOST_CHARACTERS:",
        "if False:",
        ("tests/engine/test_hostile_certificates.py::test_e66_long_texts_are_refused_by_their_length",),
    ),
    # Questions that can never be answered
    Mutation("release.py", "each._rehearse()", "pass", ("tests/tables/test_rehearsal.py",), "Door.release"),
    Mutation(
        "engine/sql/question.py",
        "made.presentation.rehearse(_example(plain))",
        "pass",
        ("tests/engine/sql/test_after_noise.py",),
    ),
    # Events that no mechanism gives
    Mutation(
        "events/event.py",
        "'RandomizedAnswer': LeafRule(knows_absence=False, covers_many=False)",
        "'RandomizedAnswer': LeafRule(covers_many=False)",
        ("tests/events/test_rules.py",),
    ),
    # Paid answers
    Mutation(
        "tables/engines/engine.py",
        "_CONNECTIONS.setdefault(self._connection, RLock())",
        "RLock()",
        ("tests/engine/test_threads.py::test_one_dataset_in_eight_threads",),
    ),
    Mutation(
        "tables/engines/postgres.py",
        "self._connect_again()",
        "raise",
        ("tests/engine/test_postgres_connection.py::test_a_connection_that_was_ended_costs_no_paid_answer",),
        "PostgreSQL._is_same",
    ),
    Mutation(
        "engine/sql/after_noise.py",
        "math.floor(value) if math.isfinite(value) else value",
        "math.floor(value)",
        ("tests/engine/sql/test_after_noise.py",),
    ),
    # Sessions and files of Spark
    *several(
        "tables/engines/spark.py",
        ("tests/tables/test_spark_values.py",),
        (
            "self.session.conf.get('spark.sql.ansi.enabled')",
            "self.session.conf.get('spark.sql.ansi.enabled', 'false')",
        ),
        ("self._check_values(self.session.sql(self._compiled(table)))", "pass"),
    ),
    # Two ledgers of one budget
    *several(
        "ledger/sqlite.py",
        (_SQLITE,),
        ("self._identity() != self._inode or not connection.files.are_in_place", "self._identity() != self._inode"),
        ("if is_a_mount_point(self.path):", "if False:"),
    ),
    Mutation(
        "ledger/postgresql.py",
        "if _is_ledger(each.schema, named, tables)",
        "if each.schema in self._path and _is_ledger(each.schema, named, tables)",
        (_SQLITE,),
    ),
    # Numbers of a class of their own
    Mutation(
        "noise/lattice.py",
        "return int.__int__(values) + noise.sample()",
        "return values + noise.sample()",
        ("tests/mechanisms/test_evil_values.py",),
    ),
    # Leaks of probability one
    *several(
        "audit/attack/relations.py",
        ("tests/audit/test_leaks.py::test_e62_a_leak_of_probability_one_is_found",),
        ("steps % self.modulus", "steps % 1"),
        ("('xor', 'divisor')", "('divisor',)"),
    ),
]
