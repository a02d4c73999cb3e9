"""Appends: what is added to an archive in one transaction, under an id that the adder chose.

A transaction whose confirmation was lost with the connection is done again; the id says whether it
had been done. An append is plain data, so that it can wait on the disk for a server.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from kernelwright.archive import tables

_INSERT: dict[str, Any] = {"sqlite": sqlite.insert, "postgresql": postgresql.insert}


class Rows(msgspec.Struct, frozen=True, tag=True):
    """Rows of one table."""

    table: str
    values: Sequence[Mapping[str, Any]]
    is_content: bool = False
    """Whether rows are identified by their content, so that those already there stay."""
    of: str = ""
    """The column that refers to the row which was added before."""


class Finished(msgspec.Struct, frozen=True, tag=True):
    """The end of a run, with facts that no verdict tells of."""

    run: str
    at: str
    ended: Mapping[str, Any] | None = None


class FactsOfEnd(msgspec.Struct, frozen=True, tag=True):
    """Facts about the last run of a task that were found out after its end."""

    task: str
    facts: Mapping[str, Any]


class Append(msgspec.Struct, frozen=True):
    """Everything that is added in one transaction."""

    id: str
    parts: Sequence[Rows | Finished | FactsOfEnd]


def content(table: sa.Table, row: Mapping[str, Any]) -> Rows:
    """A row that is identified by its content."""
    return Rows(str(table.name), [row], is_content=True)  # a plain str


def execute(connection: sa.Connection, append: Append) -> None:
    """Do an append in a transaction; nothing happens if it has been done before."""
    insert = _INSERT[connection.dialect.name]
    noted = insert(tables.appended).values(id=append.id).on_conflict_do_nothing()
    if connection.execute(noted.returning(tables.appended.c.id)).first() is None:
        return
    number: int | None = None
    for part in append.parts:
        if isinstance(part, Finished):
            _finish(connection, part)
        elif isinstance(part, FactsOfEnd):
            _add_to_end(connection, part)
        else:
            number = _add(connection, part, number)


def _add(connection: sa.Connection, part: Rows, number: int | None) -> int | None:
    """Add rows; the number of the row, if it is one that gets a number."""
    table = tables.METADATA.tables[part.table]
    values = [{**row, part.of: number} if part.of else dict(row) for row in part.values]
    if not values:
        return number
    if part.is_content:
        insert = _INSERT[connection.dialect.name]
        connection.execute(insert(table).values(values).on_conflict_do_nothing())
    elif len(values) == 1 and "id" in table.c and "id" not in values[0]:
        added = table.insert().values(values[0]).returning(table.c.id)
        return int(connection.execute(added).scalar_one())
    else:
        connection.execute(table.insert(), values)
    return number


def _finish(connection: sa.Connection, part: Finished) -> None:
    unfinished = (tables.run.c.id == part.run) & tables.run.c.finished_at.is_(None)
    changes: dict[str, Any] = {"finished_at": part.at}
    if part.ended:
        told = connection.execute(sa.select(tables.run.c.settings).where(unfinished)).scalar()
        changes["settings"] = (told or {}) | {"ended": dict(part.ended)}
    connection.execute(sa.update(tables.run).where(unfinished).values(changes))


def _add_to_end(connection: sa.Connection, part: FactsOfEnd) -> None:
    of_task = sa.select(tables.run.c.id, tables.run.c.settings).where(
        (tables.run.c.task == part.task) & tables.run.c.finished_at.is_not(None)
    )
    last = connection.execute(of_task.order_by(tables.run.c.id.desc()).limit(1)).first()
    if last is not None:
        ended = last.settings.get("ended", {}) | dict(part.facts)
        changed = sa.update(tables.run).where(tables.run.c.id == last.id)
        connection.execute(changed.values(settings=last.settings | {"ended": ended}))
