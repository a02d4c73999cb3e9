"""Open a database as an archive: its engine, and its schema brought up to this version's."""

from __future__ import annotations

import errno
import sqlite3
import time
from collections.abc import Collection
from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from kernelwright.archive.errors import foreign, full, is_locked, only_readable
from kernelwright.core.errors import ArchiveError
from kernelwright.core.secrets import masked

FILE_NAME = "archive.sqlite"
BUSY_S = 10  # how long a writer waits for another; a URL's ?timeout= overrides it
PAUSE_S = 0.01
_NETWORK = {
    "connect_timeout": "10",
    "keepalives_idle": "15",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "30000",
}
"""How soon a network that swallows packets counts as away: in 30 s, where the system would wait for
many minutes. A URL's own options go first. libpq's names: seconds, and milliseconds in the last."""
MIGRATION_LOCK = 0x6B77  # 'kw': any number that no other program on the server takes
OURS = {"alembic_version", "task", "candidate", "evaluation"}
"""Tables that archives of every version have."""


def parse(target: str | Path) -> URL:
    """The URL of an archive given as a URL, a file, or a folder that holds ``archive.sqlite``.

    Raises:
        ArchiveError: a URL that cannot be read.
    """
    if "://" not in str(target):
        path = Path(target)
        return URL.create("sqlite", database=str(path / FILE_NAME if path.is_dir() else path))
    try:
        url = make_url(str(target))
    except ArgumentError as error:
        raise _unusable(masked(str(target)), str(error)) from error
    except ValueError as error:
        raise _unusable(masked(str(target)), "a port that is no number") from error
    if url.drivername == "postgresql":
        return url.set(drivername="postgresql+psycopg")
    return url


def shown(url: URL) -> str:
    """The URL of an archive as it may be shown and stored."""
    return masked(url.render_as_string())


def without_password(target: str) -> str:
    """As ``shown``, of an archive as it was named."""
    return shown(parse(target))


def connect(url: URL, *, create: bool) -> sa.Engine:
    """An engine on ``url``.

    Raises:
        ArchiveError: no such file and ``create`` is false; a database in memory; no driver for the
            URL. When it is used: the file is another program's database, which is left as it was.
    """
    where = shown(url)
    if url.get_backend_name() == "sqlite":
        if url.database in (None, "", ":memory:"):
            raise _unusable(where, "a database in memory, which is gone when it is closed")
        path = Path(url.database)
        if create:
            _make_folder(path.parent)
        elif not path.is_file():
            raise ArchiveError(
                f"there is no archive at {path}",
                seen=where,
                do="run `kernelwright optimize` first, or name another archive",
            )
        url = URL.create(
            "sqlite", database=url.database, query={"timeout": str(BUSY_S)} | dict(url.query)
        )
    elif url.get_backend_name() == "postgresql":
        url = url.set(query=_NETWORK | dict(url.query))
    try:
        engine = sa.create_engine(url, pool_pre_ping=True)  # a server may have been started anew
    except (NoSuchModuleError, ModuleNotFoundError, ArgumentError, TypeError) as error:
        raise _unusable(where, str(error)) from error
    if engine.dialect.name == "sqlite":
        sa.event.listen(engine, "connect", lambda raw, _: _prepare_sqlite(raw, where))
        sa.event.listen(engine, "begin", _begin_sqlite)
    return engine


def migrate(engine: sa.Engine, where: str) -> None:
    """Bring the schema up to this version's; nothing happens where it already is.

    Raises:
        ArchiveError: the archive is newer than this version, or is another program's database.
    """
    config = Config()
    config.set_main_option("script_location", "kernelwright.archive:migrations")
    scripts = ScriptDirectory.from_config(config)
    with engine.connect() as connection:
        if _revision(connection) == scripts.get_current_head():
            return
    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        if engine.dialect.name == "postgresql":
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(MIGRATION_LOCK)))
            _refuse_foreign(sa.inspect(connection).get_table_names(), where)
        revision = _revision(connection)  # again: another process may have been faster
        known = {script.revision for script in scripts.walk_revisions()}
        if revision is not None and revision not in known:
            raise ArchiveError(
                f"{where} was written by a newer version of kernelwright",
                seen=f"schema {revision}; this version knows up to {scripts.get_current_head()}",
                do="upgrade kernelwright, or name another archive",
            )
        config.attributes["connection"] = connection
        command.upgrade(config, "head")


def require_writable(engine: sa.Engine, where: str) -> None:
    """Refuse a server's archive that this user may only read, before a search has begun.

    Raises:
        ArchiveError: the user may not insert, or the server is a standby.
    """
    if engine.dialect.name != "postgresql":
        return  # SQLite writes when it opens the file
    may_insert = sa.func.has_table_privilege("evaluation", "INSERT")
    asked = sa.select(may_insert, sa.func.pg_is_in_recovery(), sa.func.current_user())
    with engine.connect() as connection:
        may, is_standby, user = connection.execute(asked).one()
    if is_standby or not may:
        seen = "the server is a standby" if is_standby else f"the user {user} may not insert"
        raise only_readable(where, seen)


def _revision(connection: sa.Connection) -> str | None:
    return MigrationContext.configure(connection).get_current_revision()


def _refuse_foreign(tables: Collection[str], where: str) -> None:
    if tables and not OURS.issubset(tables):
        raise foreign(where, sorted(tables))


def _prepare_sqlite(connection: sqlite3.Connection, where: str) -> None:
    """Durable against a killed process, readable while another writes; checked references.

    The first pragma writes to the file, so whose it is comes before.

    WAL with synchronous NORMAL loses at most the last transactions when the power fails, and is
    never torn: https://www.sqlite.org/pragma.html#pragma_synchronous
    """
    connection.isolation_level = None  # the driver's own BEGINs would hide ours
    names = connection.execute("SELECT name FROM sqlite_schema WHERE type IN ('table', 'view')")
    _refuse_foreign([name for (name,) in names], where)
    _use_wal(connection)
    for pragma in ("synchronous = NORMAL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {pragma}")


def _use_wal(connection: sqlite3.Connection) -> None:
    """Of two that open a new file at once, SQLite lets one fail at this without waiting."""
    end_s = time.monotonic() + BUSY_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if not is_locked(error) or time.monotonic() > end_s:
                raise
            time.sleep(PAUSE_S)


def _begin_sqlite(connection: sa.Connection) -> None:
    """A writer takes the lock at once: a reader's lock that grows into a writer's can deadlock."""
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise full(str(folder), str(error)) from error
        raise _unusable(str(folder), str(error)) from error


def _unusable(where: str, seen: str) -> ArchiveError:
    return ArchiveError(
        f"{where} cannot be used as an archive",
        seen=seen,
        do="give a file, sqlite:///FILE, or postgresql://USER@HOST/NAME "
        "(needs pip install 'kernelwright[postgres]')",
    )
