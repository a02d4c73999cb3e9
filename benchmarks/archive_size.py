"""How an archive grows: rates, sizes and the times of what users ask, on generated verdicts.

    python benchmarks/archive_size.py --sizes 10000,100000 [--archive postgresql://me@server/empty]
                                      [--a-source 10]

Each size adds verdicts to the same archive, a hundred on each task, with a proposal and 64 samples
each. The first size is written in bulk as the archive writes it. Larger sizes are multiples of it:
copies of its rows under other digests, in bulk without indexes, which are made afterwards. With
--a-source each source is of so many verdicts, on as many tasks. Questions are about a task of the
first size, and the rate is that of the archive's own methods, one transaction each, as searches
write. Without --archive it is a SQLite file in a temporary folder.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import click
import sqlalchemy as sa

from kernelwright.archive import Archive, ranking, rows, tables
from kernelwright.archive.connect import connect, parse
from kernelwright.bench import known
from kernelwright.core.candidate import Candidate, Proposal
from kernelwright.core.evaluation import Cost, Environment, Evaluation, Numerics, Timing
from kernelwright.core.ids import new_id
from kernelwright.core.outcome import Reason, ReasonCode, Status
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task, Workload
from kernelwright.judge import JUDGE_VERSION
from kernelwright.judge.devices.environment import Here
from kernelwright.report import page
from kernelwright.report.choice import best_of, chosen_task

A_TASK = 100
"""Verdicts on each task."""
N_MEASURED = 200
"""Verdicts that the rate is measured with."""
AT_ONCE = 1000
LETTERS = "".join(random.Random(0).choices("abcdefghijklmnop \n", k=100_000))
SERIES, ROUNDS = ("candidate", "eager", "compile", "eager_graph"), 16
ENVIRONMENT = Environment("cuda:sm_90", {"gpu": "H200", "torch": "2.11.0", "threads": 9})
HERE = Here(ENVIRONMENT.device, ENVIRONMENT.facts)
COPIES_AT_ONCE = 20
"""Copies that are made in one transaction."""
COPIED = ("task", "workload", "run", "candidate", "proposal", "evaluation", "timing", "appended")
"""Tables that grow with the verdicts, in an order in which no row refers to a later table's."""


@cache
def task_of(number: int) -> tuple[Task, Workload]:
    task = Task(f"task_{number}", "folder", f"class Model: ...  # {number}\n" * 40)
    return task, Workload(task.digest, (("float32", (8192, 4096)),))


def verdict_of(number: int, draw: random.Random, source_bytes: int) -> tuple[Proposal, Evaluation]:
    """The verdict with this number, and the proposal that it is about."""
    task, workload = task_of(number // A_TASK)
    text = f"{number} {draw.random()}\n{LETTERS[:source_bytes]}"
    candidate = Candidate(text, "triton")
    passed = draw.random() < 0.7
    samples = {name: tuple(int(draw.gauss(40_000, 400)) for _ in range(ROUNDS)) for name in SERIES}
    found = Evaluation(
        task=task.digest,
        workload=workload.digest,
        candidate=candidate.digest,
        status=Status.PASSED if passed else Status.WRONG_VALUES,
        reasons=() if passed else (Reason(ReasonCode.UNCLASSIFIED, "element [3] is off by 0.5"),),
        environment=ENVIRONMENT,
        seed=draw.getrandbits(60),
        judge_version=JUDGE_VERSION,
        numerics=Numerics(1e-7, 1e-8, 1e-6, ("task", "negated")),
        timing=Timing(samples, "compile", "device", "cold") if passed else None,
        cost=Cost(1.98, 1.97, 2.38),
    )
    return Proposal(candidate, "rules", lineage=("fuse", "tile")), found


def grow(archive: Archive, engine: sa.Engine, n: int, source_bytes: int) -> None:
    """Add this many verdicts to an empty archive, with a run for each task that has ended."""
    draw = random.Random(0)
    runs = {}
    for number in range(0, n, A_TASK):
        task, workload = task_of(number // A_TASK)
        archive.add_task(task, [workload])
        runs[task.digest] = archive.start_run(task, Settings())
        ended = {"judge": JUDGE_VERSION, "device": HERE.device, "environment": dict(HERE.facts)}
        archive.add_trials(runs[task.digest], ENVIRONMENT, 1, [])  # adds the environment
        archive.finish_run(runs[task.digest], ended)
    writes = engine.execution_options(writes=True)
    for first in range(0, n, AT_ONCE):
        numbers = range(first, min(first + AT_ONCE, n))
        made = [verdict_of(number, draw, source_bytes) for number in numbers]
        with writes.begin() as connection:
            for table, values in _bulk(made, first + 1, runs):
                connection.execute(table.insert(), values)


class Copies:
    """Makes copies of the first verdicts and of all that they refer to, under other digests."""

    def __init__(self, engine: sa.Engine, n: int, a_source: int) -> None:
        """Keep the rows of an archive that has just these ``n`` verdicts."""
        self._n, self._a_source = n, a_source
        self._is_server = engine.dialect.name == "postgresql"
        self._connection = engine.connect()
        if not self._is_server:  # what a copy refers to is there
            self._connection.connection.driver_connection.execute("PRAGMA foreign_keys = OFF")
        self._shift: dict[str, int] = {}
        """What is added to the numbers of copied rows, beside those of the copies before."""
        self._originals = {}
        for name in COPIED:
            table = tables.METADATA.tables[name]
            self._originals[table] = table.to_metadata(sa.MetaData(), name=f"original_{name}")
            self._do(f'CREATE TEMP TABLE original_{name} AS SELECT * FROM "{name}"')
        columns = [sa.Column(name, sa.Text) for name in ("ending", "ending_of_source")]
        number = sa.Column("number", sa.Integer)
        self._copy = sa.Table("copy", sa.MetaData(), number, *columns, prefixes=["TEMPORARY"])
        self._copy.create(self._connection)
        self._connection.commit()

    def add(self, numbers: range) -> None:
        """Add the copies with these numbers, which are 1 or more.

        Their digests end as no others do, and stand near the original's, all over the indexes.
        """
        indexes = [index for table in self._originals for index in table.indexes]
        for index in indexes:
            index.drop(self._connection)
        for table in (tables.evaluation, tables.proposal):  # the rate has added others
            last = self._connection.execute(sa.select(sa.func.max(table.c.id))).scalar_one()
            self._shift[table.name] = last - numbers.start * self._n
        self._shift["timing"] = self._shift["evaluation"]
        for first in numbers[::COPIES_AT_ONCE]:
            self._add(range(first, min(first + COPIES_AT_ONCE, numbers.stop)))
        for index in indexes:
            index.create(self._connection)
        if self._is_server:
            for name in ("evaluation", "proposal"):
                self._do(f"SELECT setval('{name}_id_seq', (SELECT max(id) FROM {name}))")
        self._connection.commit()
        self._do("ANALYZE")
        self._connection.commit()

    def _add(self, numbers: range) -> None:
        if self._is_server:
            self._do("SET LOCAL session_replication_role = replica")
        self._connection.execute(sa.delete(self._copy))
        told = [
            {"number": n, "ending": _ending(n), "ending_of_source": _ending(n - n % self._a_source)}
            for n in numbers
        ]
        self._connection.execute(sa.insert(self._copy), told)
        for table, original in self._originals.items():
            values = [self._value(table.name, column) for column in original.c]
            asked = sa.select(*values).join_from(original, self._copy, sa.true())
            if table.name == "candidate":
                asked = asked.where(self._copy.c.ending == self._copy.c.ending_of_source)
            self._connection.execute(table.insert().from_select([*original.c.keys()], asked))
        self._connection.commit()

    def _value(self, table: str, column: sa.Column[Any]) -> sa.ColumnElement[Any]:
        copy = self._copy.c
        if isinstance(column.type, sa.Integer) and column.primary_key:
            return column + copy.number * self._n + self._shift[table]
        if column.name == "candidate" or (table, column.name) == ("candidate", "digest"):
            begins = sa.func.substr(column, 1, sa.func.length(column) - 4)
            copied = begins + copy.ending_of_source
            return sa.case((copy.ending_of_source == "", column), else_=copied)
        if column.name in ("digest", "task", "workload", "run", "id"):
            return sa.func.substr(column, 1, sa.func.length(column) - 4) + copy.ending
        return column

    def _do(self, statement: str) -> None:
        self._connection.exec_driver_sql(statement)


def _ending(number: int) -> str:
    """The last four characters of the digests of a copy; empty for the original, number 0."""
    return f"x{number:03x}" if number else ""


def _bulk(
    made: list[tuple[Proposal, Evaluation]], number: int, runs: dict[str, str]
) -> Iterator[tuple[sa.Table, list[dict[str, Any]]]]:
    at = {"created_at": "2026-11-27T00:00:00.000+00:00"}
    yield tables.candidate, [rows.from_content(said.candidate) for said, _ in made]
    yield (
        tables.proposal,
        [rows.from_proposal(said) | at | {"run": runs[found.task]} for said, found in made],
    )
    numbered = [*enumerate((found for _, found in made), number)]
    yield (
        tables.evaluation,
        [
            rows.from_evaluation(found) | at | {"run": runs[found.task], "id": number}
            for number, found in numbered
        ],
    )
    yield tables.appended, [{"id": new_id()} for _ in range(2 * len(made))]  # two for a verdict
    yield (
        tables.timing,
        [
            rows.from_timing(found.timing) | {"evaluation": number}
            for number, found in numbered
            if found.timing
        ],
    )


def rate(archive: Archive, number: int, source_bytes: int) -> float:
    """Verdicts a second, each with its proposal, by the methods that searches call. They are of
    a task that has no others."""
    draw = random.Random(f"rate {number}")
    said = [verdict_of(number, draw, source_bytes) for _ in range(N_MEASURED)]
    task, workload = task_of(number // A_TASK)
    archive.add_task(task, [workload])
    run = archive.start_run(task, Settings())
    began_s = time.monotonic()
    for proposal, found in said:
        archive.add_proposal(run, proposal)
        archive.add_evaluation(run, found)
    took_s = time.monotonic() - began_s
    archive.finish_run(run)
    return N_MEASURED / took_s


def size_bytes(engine: sa.Engine) -> int:
    with engine.connect() as connection:
        if engine.dialect.name == "postgresql":
            tables_of_archive = "FROM pg_tables WHERE schemaname = 'public'"
            size = "sum(pg_total_relation_size(quote_ident(tablename)::regclass))"
            found = connection.exec_driver_sql(f"SELECT {size} {tables_of_archive}")
            return int(found.scalar_one())
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        return int(pages) * int(connection.exec_driver_sql("PRAGMA page_size").scalar_one())


def server_ms(engine: sa.Engine, work: Callable[[], object]) -> dict[str, float]:
    """Milliseconds of a server's processor for each of the appends and queries of some work; they
    depend little on what else the machine does. The server has to be on this host."""
    n = Counter[str]()

    def note(*told: Any) -> None:
        n[told[2].split()[0]] += 1

    def taken_ns() -> int:
        with engine.connect() as connection:
            found = connection.exec_driver_sql("SELECT pid FROM pg_stat_activity").scalars()
            files = [Path(f"/proc/{pid}/schedstat") for pid in found]
        return sum(int(file.read_text().split()[0]) for file in files if file.exists())

    began_ns = taken_ns()
    sa.event.listen(sa.Engine, "before_cursor_execute", note)
    work()
    sa.event.remove(sa.Engine, "before_cursor_execute", note)
    took_ms = (taken_ns() - began_ns) / 1e6
    if not n["INSERT"]:
        return {"server ms a query": took_ms / n["SELECT"]}
    return {"server ms an append": took_ms / (2 * N_MEASURED)}


def seconds(work: Callable[[], object], times: int = 3) -> float:
    """The least time of three: other programs only add to it."""
    took_s = []
    for _ in range(times):
        began_s = time.monotonic()
        work()
        took_s.append(time.monotonic() - began_s)
    return min(took_s)


def begin_search(archive: Archive, n: int) -> None:
    """Read what searches read when they begin, for ten tasks of the first size."""
    for number in range(10):
        task, _ = task_of(number * n // A_TASK // 10)
        archive.history(task.digest)
        archive.calls(task.digest)
        archive.past_calls(without_task=task.digest)
        archive.newest_trials(task.digest, environment=ENVIRONMENT.digest)
        archive.past_trials(device=ENVIRONMENT.device, version=1, n=1000)
        archive.runs(task.digest)


def asked(archive: Archive, url: str, n: int, folder: Path) -> dict[str, float]:
    """The seconds of what users ask, about a task of the first size."""
    middle, _ = task_of(n // A_TASK // 2)
    settings = replace(Settings(), archive=url, device="cuda")
    best = best_of(archive, middle)
    assert best is not None
    digest = best[0].candidate.digest
    return {
        "show best": seconds(lambda: best_of(archive, chosen_task(archive, None))),
        "show best of a task by name": seconds(lambda: chosen_task(archive, middle.name)),
        "show a candidate": seconds(lambda: archive.lineage(digest)),
        "exemplars": seconds(lambda: ranking.exemplars(archive.history(middle.digest), 6, seed=0)),
        "resume a task": seconds(
            lambda: (
                known.search_of(middle, settings, HERE),
                known.chapter(middle, settings, HERE),
            )
        ),
        "report of a task": seconds(
            lambda: page.write(archive, folder / "one.html", task=middle.digest)
        ),
        "report of all": seconds(lambda: page.write(archive, folder / "all.html"), times=1),
        "status": seconds(lambda: (archive.activities(), archive.counts())),
    }


@click.command(help=__doc__)
@click.option("--sizes", default="10000,100000", show_default=True, help="Verdicts, in order.")
@click.option("--archive", "url", default="", help="An empty database.")
@click.option("--source-bytes", default=4000, show_default=True, help="The length of a source.")
@click.option("--a-source", default=1, show_default=True, help="Verdicts on each source.")
def main(sizes: str, url: str, source_bytes: int, a_source: int) -> None:
    first, *others = map(int, sizes.split(","))
    with tempfile.TemporaryDirectory() as folder:
        url = url or f"{folder}/archive.sqlite"
        engine = connect(parse(url), create=True)
        with Archive(url) as archive:
            grow(archive, engine, first, source_bytes)
            copies = Copies(engine, first, a_source)
            n_copies = 1
            for n in (first, *others):
                began_s = time.monotonic()
                copies.add(range(n_copies, n // first))
                n_copies = n // first
                facts = {"seconds of copying": time.monotonic() - began_s}
                _, n_verdicts = archive.counts()
                facts["kB a verdict"] = size_bytes(engine) / n_verdicts / 1e3
                adding = partial(rate, archive, first + n, source_bytes)
                if engine.dialect.name == "postgresql":
                    facts |= server_ms(engine, adding)
                    facts |= server_ms(engine, partial(begin_search, archive, first))
                facts["verdicts a second"] = adding()
                facts |= asked(archive, url, first, Path(folder))
                told = "  ".join(f"{name} {value:.3g}" for name, value in facts.items())
                click.echo(f"{engine.dialect.name} {n}: {told}")
        engine.dispose()


if __name__ == "__main__":
    main()
