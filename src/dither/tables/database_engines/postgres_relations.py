"""What PostgreSQL knows of a table or view: its number, what it reads, and the types of its columns.

A budget belongs to relations, not to names. So everything that a view, a partitioned table or a row-level policy reads
is looked up in the catalogue, by numbers that a relation keeps when it is renamed. What the catalogue cannot tell is
what a foreign table or a function reads: it may be a table that has a budget of its own, here or on another server.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from psycopg import sql
from psycopg.pq import ExecStatus

from dither.errors import ParameterError

__all__ = ["Relation", "check_collations", "check_encoding", "described", "quoted", "relation"]

_BELOW: Final = """
    WITH RECURSIVE rules AS (
        SELECT 'pg_rewrite'::regclass AS kind, oid, ev_class AS relation FROM pg_rewrite
        UNION ALL SELECT 'pg_policy'::regclass, oid, polrelid FROM pg_policy
    ), named AS (
        SELECT rules.relation, depend.refclassid, depend.refobjid
        FROM rules JOIN pg_depend AS depend ON depend.classid = rules.kind AND depend.objid = rules.oid
    ), below(oid) AS (
        SELECT to_regclass(%s)::oid
        UNION
        SELECT next.oid FROM below, LATERAL (
            SELECT refobjid FROM named WHERE relation = below.oid AND refclassid = 'pg_class'::regclass
            UNION ALL SELECT inhrelid FROM pg_inherits WHERE inhparent = below.oid
        ) AS next(oid)
    )"""
"""What a table or a view reads, whatever lies between: views, materialized views, partitions, heirs, policies."""
_PLACE: Final = """
    SELECT class.oid, (SELECT system_identifier FROM pg_control_system()), current_database(),
        namespace.nspname, class.relname
    FROM pg_class AS class JOIN pg_namespace AS namespace ON namespace.oid = class.relnamespace
    WHERE class.oid = to_regclass(%s) AND class.relkind IN ('r', 'p', 'v', 'm', 'f')"""
_PARTS: Final = (
    _BELOW + " SELECT class.oid, class.relkind = 'f', class.relname FROM below JOIN pg_class AS class USING (oid)"
)
_FUNCTIONS: Final = (
    _BELOW
    + """ , operators AS (
        SELECT relation, 'pg_proc'::regclass::oid AS refclassid, oprcode::oid AS refobjid
        FROM named JOIN pg_operator AS operator ON operator.oid = refobjid WHERE refclassid = 'pg_operator'::regclass
    )
    SELECT DISTINCT function.oid::regprocedure::text
    FROM below JOIN (SELECT * FROM named UNION ALL SELECT * FROM operators) AS used ON used.relation = below.oid
    JOIN pg_proc AS function ON used.refclassid = 'pg_proc'::regclass AND function.oid = used.refobjid
    WHERE function.provolatile <> 'i' ORDER BY 1"""
)
"""Functions that may read tables: those that PostgreSQL came with are not in pg_depend, immutable ones read none."""
_TYPES: Final = """
    SELECT type.oid, namespace.nspname, type.typname, type.typtype = 'e'
    FROM pg_type AS type JOIN pg_namespace AS namespace ON namespace.oid = type.typnamespace
    WHERE type.oid = ANY(%s)"""


_LOOSE_TEXTS: Final = """
    SELECT attribute.attname
    FROM pg_attribute AS attribute JOIN pg_collation AS rules ON attribute.attcollation = rules.oid
    WHERE attribute.attrelid = %s AND NOT rules.collisdeterministic"""
_ANY_LOOSE: Final = "SELECT EXISTS (SELECT FROM pg_collation WHERE NOT collisdeterministic)"


@dataclass(frozen=True, slots=True)
class Relation:
    """A table or view as it was when it was looked up; equal if nothing of it was replaced since."""

    oid: int
    schema: str
    name: str
    place: str
    """The same for every spelling of host and name."""
    parts: frozenset[str]
    """Every relation that it reads, itself among them, by its number on this server."""
    unseen: str
    """Something that it reads and that hides what lies behind it; empty if there is nothing of the kind."""

    @property
    def quoted(self) -> str:
        """Its name with its schema: no setting of a session leads to another table."""
        return quoted(self.schema, self.name)

    def check_seen(self) -> None:
        """Refuse what may hide a table that has a budget of its own."""
        if self.unseen:
            raise ParameterError(
                f"{self.name!r} reads {self.unseen}, and what lies behind it may have another budget already. "
                "Give the data one name that stays the same: identity='visits 2024'."
            )


def quoted(*names: str) -> str:
    """A name as an identifier, with its schema if there is one."""
    return sql.Identifier(*filter(None, names)).as_string()


def relation(connection: Any, name: str) -> Relation | None:
    """The relation of a quoted name; None if there is none."""
    place = connection.execute(_PLACE, [name]).fetchone()
    if place is None:
        return None
    oid, server, database, schema, bare = place
    parts = connection.execute(_PARTS, [name]).fetchall()
    foreign = sorted(f"the foreign table {part!r}" for _, is_foreign, part in parts if is_foreign)
    functions = [f"through the function {function}" for (function,) in connection.execute(_FUNCTIONS, [name])]
    return Relation(
        oid,
        schema,
        bare,
        f"postgresql:{server}/{database}/{schema}.{bare}",
        frozenset(f"postgresql:{server}/{database}/{part}" for part, _, _ in parts),
        next(iter(foreign + functions), ""),
    )


def described(connection: Any, query: str) -> dict[str, str]:
    """The type of each column of a query, as the server describes it; nothing is run.

    Types of `pg_catalog` are named as they are there, enums as "enum", others with their schema. For a domain the
    server names the type below it, which is how its values are read.
    """
    wire = connection.pgconn
    asked = query.encode()
    for answer in (wire.prepare(b"", asked), wire.describe_prepared(b"")):
        if answer.status != ExecStatus.COMMAND_OK:
            raise LookupError("the server cannot describe the query")
    columns = [(answer.fname(at).decode(), answer.ftype(at)) for at in range(answer.nfields)]
    rows = connection.execute(_TYPES, [[oid for _, oid in columns]]).fetchall()
    names = {oid: _type_name(schema, name, is_enum) for oid, schema, name, is_enum in rows}
    return {name: names[oid] for name, oid in columns}


def check_collations(connection: Any, oid: int | None) -> None:
    """Refuse a relation with columns in whose collation different texts are equal: no other engine would group them so.

    Of a query (`oid` is None) the server does not describe collations, so none of the database may be of that kind.
    """
    if oid is None and connection.execute(_ANY_LOOSE).fetchone()[0]:
        raise ParameterError(
            "this database has a collation in which different texts are equal, and an Ibis table does not tell "
            "whether it is used. Give the URL of the database and table=... instead."
        )
    for (column,) in connection.execute(_LOOSE_TEXTS, [oid]).fetchall():
        raise ParameterError(
            f"the column {column!r} has a collation in which different texts are equal. "
            'Ask a view without it, or with it under COLLATE "C".'
        )


def _type_name(schema: str, name: str, is_enum: bool) -> str:
    if is_enum:
        return "enum"
    return name if schema == "pg_catalog" else f"{schema}.{name}"


def check_encoding(connection: Any) -> None:
    """Refuse databases whose texts may be no characters: reading one would fail, and the row would decide it."""
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise ParameterError(
            f"the database keeps texts in the encoding {encoding!r}, in which a row may hold bytes that cannot be "
            "read. Use a database with the encoding UTF8."
        )
