"""The migrations make the schema that the tables declare."""

import sqlite3
from contextlib import closing

from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from kernelwright.archive import Archive, tables
from kernelwright.archive.connect import connect, parse


def test_a_new_archive_has_the_schema_that_the_tables_declare(path):
    Archive(path).close()
    engine = connect(parse(path), create=False)
    with engine.connect() as connection:
        options = {"compare_type": True, "compare_server_default": True}
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, tables.METADATA) == []
    engine.dispose()


def test_every_table_is_strict(path):
    Archive(path).close()
    with closing(sqlite3.connect(path)) as database:
        strict = {row[1]: row[5] for row in database.execute("PRAGMA table_list")}
    assert all(strict[name] for name in tables.METADATA.tables)


def test_speedups_are_not_stored():
    assert not [column for column in tables.evaluation.c if "speedup" in column.name]
