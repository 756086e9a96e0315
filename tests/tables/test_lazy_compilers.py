"""The compilers of Ibis are loaded one by one, and are found under all their names."""

import subprocess
import sys

PROGRAM = """
import sys
from dither.tables.database_engines.duckdb import DuckDB

DuckDB()
import ibis.backends.sql.compilers as compilers

assert compilers.duckdb.compiler is not None
loaded = {name for name in sys.modules if name.startswith("ibis.backends.sql.compilers.")}
assert "ibis.backends.sql.compilers.duckdb" in loaded
assert not loaded & {f"ibis.backends.sql.compilers.{name}" for name in ("athena", "snowflake", "mssql")}, loaded
from ibis.backends.sql.compilers import DuckDBCompiler, MSSQLCompiler, PostgresCompiler

assert compilers.postgres.PostgresCompiler is PostgresCompiler and compilers.mssql.MSSQLCompiler is MSSQLCompiler
assert isinstance(compilers.duckdb.compiler, DuckDBCompiler)
assert not hasattr(compilers, "nowhere") and not hasattr(compilers, "NowhereCompiler")
"""

OWN_FIRST = """
import ibis.backends.sql.compilers as compilers
from dither.tables.database_engines.duckdb import DuckDB

DuckDB()
import ibis.backends.sql.compilers

assert ibis.backends.sql.compilers is compilers and "athena" in vars(compilers)
"""

ALL_NAMES = """
import ast, importlib.util, pathlib
from dither.tables.database_engines.duckdb import DuckDB

DuckDB()
import ibis.backends.sql.compilers as compilers

tree = ast.parse(pathlib.Path(compilers.__spec__.origin).read_text())
names = [alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names]
assert len(names) > 15
for name in names:
    if name != "annotations":
        assert getattr(compilers, name).__name__ == name
"""


def run(program: str) -> None:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_only_the_compiler_of_the_engine_is_loaded() -> None:
    run(PROGRAM)


def test_what_ibis_loaded_before_stays() -> None:
    run(OWN_FIRST)


def test_every_name_of_ibis_is_found() -> None:
    run(ALL_NAMES)
