"""The columns that queries name are the columns that the migrations make."""

import sqlite3
from contextlib import closing

from sqlalchemy import TableClause

from kernelwright.archive import Archive, tables


def test_the_tables_of_the_queries_are_those_of_the_migrations(path):
    Archive(path).close()
    declared = {
        name: {column.name for column in table.c}
        for name, table in vars(tables).items()
        if isinstance(table, TableClause)
    }
    with closing(sqlite3.connect(path)) as database:
        names = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name != 'alembic_version'"
        made = {
            name: {row[1] for row in database.execute(f"PRAGMA table_info({name})")}
            for (name,) in database.execute(names)
        }
        assert made == declared
        strict = {row[1]: row[5] for row in database.execute("PRAGMA table_list")}
        assert all(strict[name] for name in declared)


def test_speedups_are_not_stored():
    assert not [column for column in tables.evaluation.c if "speedup" in column.name]
