"""One check removed at a time that closed a hole which hostile readers had found: the test of that hole must fail.

Holes by values of rows (tiny doubles, wide decimals, texts that are not UTF-8) are in `sealed_entry`.
"""

from __future__ import annotations

from tests.mutations.mutation import Mutation, several

__all__ = ["MUTATIONS"]

_FILES, _RELATIONS, _SQLITE = (
    f"tests/{name}.py" for name in ("tables/test_files", "tables/test_postgres_sources", "ledger/test_one_ledger")
)
_COMMITS = "tests/ledger/test_group_commit.py"
_TOGETHER = "tests/ledger/test_together.py"
_CAPS = "tests/engine/test_size_caps.py"
_NAMES = "tests/engine/test_names.py"

MUTATIONS = [
    # A type that compares in its own way
    Mutation(
        "tables/database_engines/postgres_relations.py",
        "return name if schema == 'pg_catalog' else f'{schema}.{name}'",
        "return 'text' if name == 'citext' else name",
        ("tests/engine/test_postgres_entry.py::test_e62_a_type_that_compares_otherwise_than_its_text_does_not_enter",),
    ),
    # Names of files, and folders that look like partitions
    Mutation(
        "tables/database_engines/duckdb_paths.py",
        "''.join((f'[{sign}]' if sign in _SIGNS else sign for sign in name))",
        "name",
        (f"{_FILES}::test_e64_a_name_is_no_pattern",),
    ),
    *several(
        "tables/database_engines/parquet_files.py",
        (f"{_FILES}::test_e64_a_folder_gives_no_column",),
        ("'hive_partitioning': False", "'hive_partitioning': True"),
    ),
    Mutation(
        "tables/database_engines/duckdb.py",
        "hive_partitioning=False",
        "hive_partitioning=True",
        (f"{_FILES}::test_e64_a_folder_gives_no_column",),
    ),
    # Another road to one table
    Mutation(
        "tables/database_engines/postgres_relations.py",
        "if self.unseen:",
        "if False:",
        (f"{_RELATIONS}::test_e65_a_foreign_table_has_no_budget_of_its_own",),
    ),
    # Certificates
    Mutation(
        "engine/written_question.py",
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
    *several(
        "accounting/covering.py",
        ("tests/engine/test_hostile_certificates.py",),
        ("MOST_DIFFERENT: Final = 256", "MOST_DIFFERENT: Final = 2 ** 20"),
    ),
    # Looks that nobody pays for
    Mutation(
        "engine/first_look.py",
        "private_kinds(once_each, texts, part)",
        "(__import__('dither.tables.column_kinds', fromlist=['KINDS']).text_kinds(source, texts), None)",
        ("tests/engine/test_first_look.py::test_no_row_of_a_file_without_types_is_looked_at_before_a_charge",),
    ),
    # Questions that are too large
    Mutation(
        "engine/groups.py",
        "not groups <= MOST_GROUPS",
        "False",
        (f"{_CAPS}::test_e66_public_keys_are_counted_before_they_are_built[just above]",),
    ),
    Mutation(
        "engine/groups.py",
        "not groups * values <= MOST_VALUES",
        "False",
        (f"{_CAPS}::test_e66_groups_times_values_are_counted_before_anything_is_charged",),
    ),
    Mutation(
        "tables/joins.py",
        "owners = real_keys(owners, list(on.values()), person)",
        "pass",
        ("tests/engine/test_foreign_keys.py",),
    ),
    # Questions that can never be answered
    *several(
        "tables/database_engines/postgres_types.py",
        ("tests/engine/test_postgres_entry.py::test_money_and_object_numbers_are_numbers",),
        ("'oid': _WHOLE", "'oid': _REAL"),
        ("'money': ColumnType('real', _tame_numeric, identify=_digits)", "'money': _REAL"),
    ),
    Mutation(
        "engine/running_stream.py",
        "self._rehearse()",
        "pass",
        ("tests/engine/test_stream.py::test_a_stream_that_cannot_run_is_refused_before_its_charge",),
        "RunningStream._charged",
    ),
    *several(
        "engine/found_ranges.py",
        ("tests/engine/test_found_ranges.py::test_a_price_that_could_not_pay_the_answer_after_all_looks_is_refused",),
        ("left / (finer ** 2 if self.is_concentrated else finer)", "left"),
        ("self._epsilon * self.all_looks", "Fraction(0)"),
    ),
    Mutation(
        "estimators/range_search.py",
        "moved = _NEW_ANCHOR + closer if may_move else 0",
        "moved = _NEW_ANCHOR + _SECOND_LOOK if may_move else 0",
        ("tests/engine/test_found_ranges.py::test_the_longest_way_of_looks_costs_what_was_set_aside",),
        "all_looks",
    ),
    # Who was there, as streams keep it
    *several(
        "tables/database_engines/postgres_types.py",
        ("tests/tables/hostile/test_persons.py::test_a_hostile_person_moves_two_groups[PostgreSQL table - numeric]",),
        ("_short_text(builtin(", "text(builtin(", "_digits"),
    ),
    Mutation(
        "tables/database_engines/spark.py",
        "_TEXT = ColumnType('text', _valid)",
        "_TEXT = ColumnType('text', _valid, identify=text)",
        (
            "tests/tables/hostile/test_persons.py"
            "::test_a_hostile_person_moves_two_groups[Spark table - string beyond ASCII]",
        ),
    ),
    Mutation("tables/expression_compiler.py", "count > _MOST_STEPS", "False", ("tests/tables/test_rehearsal.py",)),
    Mutation(
        "estimators/budgeted.py",
        "is_replace(self.adjacency) and length_hint(self.data, 1) == 0",
        "False",
        ("tests/estimators/test_budgeted.py",),
    ),
    Mutation(
        "engine/sql/after_noise.py",
        "_check_kinds(made, cells)",
        "pass",
        ("tests/engine/sql/test_after_noise.py",),
        "Presentation.rehearse",
    ),
    Mutation("release.py", "each._rehearse()", "pass", ("tests/tables/test_rehearsal.py",), "ReleasePath.release"),
    Mutation(
        "engine/sql/question.py",
        "made.presentation.rehearse(_example(plain))",
        "pass",
        ("tests/engine/sql/test_after_noise.py",),
    ),
    # Names that an engine or a library takes for others
    Mutation(
        "engine/private_tables.py",
        "different([*source.columns, *source.refused], [person])",
        "pass",
        ("tests/engine/test_foreign_keys.py",),
    ),
    *several(
        "tables/expression_compiler.py",
        (_NAMES,),
        ("name.replace('İ', 'i').replace('ı', 'i').casefold()", "name.casefold()"),
        ("if not name or '\\x00' in name:", "if False:"),
        ("if folded(name).startswith(_RESERVED):", "if name.startswith(_RESERVED):"),
    ),
    Mutation(
        "engine/noisy_groups.py",
        "in_order(pa.concat_tables(shown), list(self.keys))",
        "pa.concat_tables(shown).sort_by([(key, 'ascending') for key in self.keys])",
        (_NAMES,),
    ),
    Mutation("engine/groups.py", "plain = with_plain_names(table)", "plain = table", (_NAMES,)),
    Mutation(
        "tables/row_operations.py",
        "keys = with_plain_names(public.select(list(on)))",
        "keys = public.select(list(on))",
        (_NAMES,),
    ),
    Mutation(
        "tables/database_engines/sealed_entry.py",
        "table.select(*called(entered))",
        "table.select(**entered)",
        (_NAMES,),
    ),
    Mutation("tables/several_sources.py", "different((), tables)", "pass", (_NAMES,)),
    Mutation(
        "engine/join_rules.py",
        "list(found.values()).count(name) > 1 or (prefix is not None and name in taken)",
        "False",
        (_NAMES,),
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
        "tables/database_engines/engine.py",
        "_CONNECTIONS.setdefault(self._connection, RLock())",
        "RLock()",
        ("tests/engine/test_threads.py::test_one_dataset_in_eight_threads",),
    ),
    Mutation(
        "tables/database_engines/postgres.py",
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
        "tables/database_engines/spark.py",
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
    # What is said before it is on disk
    Mutation(
        "ledger/store.py",
        "if synced:",
        "if False:",
        (f"{_COMMITS}::test_every_writing_syncs_what_it_wrote_and_what_it_read",),
        "Store.writing",
    ),
    Mutation(
        "ledger/store.py",
        "if synced:",
        "if False:",
        (f"{_COMMITS}::test_an_anchor_names_no_entry_that_is_not_synced",),
        "Store.reading",
    ),
    Mutation(
        "ledger/store.py",
        "newest is not None and (not VisibleEntries(connection).holds(newest))",
        "False",
        (f"{_COMMITS}::test_a_server_that_crashed_behind_a_proxy_before_a_sync_is_noticed",),
    ),
    Mutation(
        "ledger/store.py",
        "is_older = self._version in OLDER",
        "is_older = False",
        (f"{_COMMITS}::test_a_dither_that_takes_all_it_finds_for_synced_is_kept_out",),
    ),
    # What one of a group does to the others
    *several(
        "ledger/store.py",
        (_TOGETHER,),
        ("any((each.synced for each in decisions))", "decisions[0].synced", "Store._commit_together"),
        ("with entries.all_or_nothing():", "if True:", "_decided"),
        ("(*_OF_THE_DATABASE, _Inside)", "KeyError", "_decided"),
        ("except _OF_ONE", "except Exception", "_decided"),
        ("len(decisions) > 1 and _is_about_a_value(error)", "False", "Store._commit_together"),
        ("state.startswith(_LIMIT_EXCEEDED)", "False", "_is_about_a_value"),
        ("if here in self._writing:", "if False:", "Store.writing"),
        ("entries.forget()", "pass", "Store.writing"),
        ("_forget_frames(refusal)", "pass", "_decided"),
    ),
    *several(
        "ledger/group.py",
        (_TOGETHER,),
        ("each.end(failure)", "each.end(None)", "Writers._commit_taken"),
        ("each.end(_INTERRUPTED)", "pass", "Writers._take"),
        ("others > 0", "True", "Writers._take"),
        ("each.size <= room", "True", "Writers._take"),
        ("own.decide = own.result = own.refusal = None", "pass", "Writers.run"),
    ),
    *several(
        "ledger/entries.py",
        (_TOGETHER,),
        ("self._known[account] = self._known[account].after(entry)", "pass", "Appending.append"),
        (
            "self._appended, self._keyed, self._known, self._newest, self._is_newest_known = before",
            "pass",
            "Appending.all_or_nothing",
        ),
        ("self._keyed.get((kind, account, key)) or ", "", "Appending.keyed"),
    ),
    Mutation(
        "ledger/sqlite.py",
        "driver.made_up != self._failed_syncs",
        "False",
        (f"{_COMMITS}::test_after_a_failed_sync_nothing_rests_on_the_log",),
    ),
    Mutation(
        "ledger/period_balance.py",
        "max(self.number, self.budget.number(datetime.fromisoformat(at)))",
        "self.budget.number(datetime.fromisoformat(at))",
        ("tests/ledger/test_per_period.py",),
    ),
    # Numbers of a class of their own
    Mutation(
        "noise/lattice.py",
        "return int.__int__(values) + noise.sample()",
        "return values + noise.sample()",
        ("tests/mechanisms/test_evil_values.py",),
    ),
    # Leaks of probability one
    Mutation(
        "audit/replay/allowed_differences.py",
        "moved > allowed and max(near, far) > 0",
        "moved > allowed and min(near, far) > 0",
        ("tests/replay/test_controls.py",),
    ),
    *several(
        "audit/attack/residues.py",
        ("tests/audit/test_leaks.py::test_e62_a_leak_of_probability_one_is_found",),
        ("steps % self.modulus", "steps % 1"),
        ("('xor', 'divisor')", "('divisor',)"),
    ),
]
