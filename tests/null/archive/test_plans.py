"""Queries about one task read no whole table: the database says how it finds their rows."""

import contextlib

import pytest
import sqlalchemy as sa
from tests.null.archive.nouns import TASK, WORKLOAD, proposal, verdict
from tests.null.archive.server import PROGRAMS

from kernelwright.archive import Archive
from kernelwright.archive.ranking import exemplars
from kernelwright.core.settings import Settings
from kernelwright.report.chapter import chapters
from kernelwright.report.choice import best_of, chosen_task
from kernelwright.report.unfinished import cut_off

PARTIAL = "run_not_finished"
LARGE = (
    "task",
    "run",
    "proposal",
    "candidate",
    "evaluation",
    "timing",
    "trial",
    "call",
    "appended",
)
QUERIES = {
    "search": lambda archive: archive.history(TASK.digest),
    "proposals": lambda archive: archive.proposals(TASK.digest),
    "runs": lambda archive: archive.runs(TASK.digest),
    "calls": lambda archive: archive.calls(TASK.digest),
    "trials": lambda archive: archive.trials(TASK.digest, environment="e", version=1),
    "known": lambda archive: archive.find_task(TASK.digest),
    "counts": lambda archive: archive.count_evaluations(TASK.digest),
    "candidate": lambda archive: archive.evaluations(candidate=proposal().candidate.digest),
    "lineage": lambda archive: archive.lineage(proposal().candidate.digest),
    "status": lambda archive: (archive.activities(), archive.counts()),
    "next run": lambda archive: archive.start_run(TASK, Settings()),
    "name": lambda archive: archive.tasks(TASK.name),
    "show best": lambda archive: best_of(archive, chosen_task(archive, None)),
    "exemplars": lambda archive: exemplars(archive.history(TASK.digest), 4, seed=0),
    "report": lambda archive: (chapters(archive, [TASK]), cut_off(archive, [TASK])),
}


@contextlib.contextmanager
def statements():
    """The statements that are executed meanwhile, with their parameters."""
    found = []

    def note(connection, cursor, statement, parameters, context, executemany):
        if statement.startswith("SELECT"):
            found.append((statement, parameters))

    sa.event.listen(sa.Engine, "before_cursor_execute", note)
    yield found
    sa.event.remove(sa.Engine, "before_cursor_execute", note)


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request, path):
    """The archive's file, or the URL of a server."""
    if request.param == "sqlite":
        return str(path)
    pytest.importorskip("psycopg")
    if not PROGRAMS:
        pytest.skip("needs a PostgreSQL server's programs")
    return request.getfixturevalue("url")


def whole_scans(connection, statement, parameters):
    """What the database would read from a large table without looking for anything in it."""
    if connection.dialect.name == "sqlite":
        plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)
        scans = [row.detail for row in plan if row.detail.startswith("SCAN")]
        return [one for one in scans if one.split()[1] in LARGE and PARTIAL not in one]
    [plan] = connection.exec_driver_sql(f"EXPLAIN (FORMAT JSON) {statement}", parameters).scalar()
    return [
        (node["Node Type"], node["Relation Name"])
        for node in nodes(plan["Plan"])
        if node.get("Relation Name") in LARGE
        and "Index Cond" not in node
        and node.get("Index Name") != PARTIAL
        and not any(below["Node Type"] == "Bitmap Index Scan" for below in node.get("Plans", ()))
    ]


def nodes(plan):
    yield plan
    for below in plan.get("Plans", ()):
        yield from nodes(below)


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_about_one_task_scans_no_table(place, name):
    with Archive(place) as archive:
        archive.add_task(TASK, [WORKLOAD])
        run = archive.start_run(TASK, Settings())
        archive.add_proposal(run, proposal())
        archive.add_evaluation(run, verdict(proposal().candidate))
        archive.finish_run(run)
        with statements() as asked:
            QUERIES[name](archive)
        assert asked
        engine = sa.create_engine(archive.url)
    with engine.connect() as connection:
        if connection.dialect.name == "postgresql":  # it scans small tables, whatever indexes are
            for how in ("seqscan", "hashjoin", "mergejoin"):
                connection.exec_driver_sql(f"SET enable_{how} = off")
        for statement, parameters in asked:
            is_of_all = "WHERE" not in statement and "LIMIT" in statement  # the first of an order
            found = [] if is_of_all else whole_scans(connection, statement, parameters)
            assert not found, f"{found} in {statement}"
    engine.dispose()
