"""Queries about one task read no whole table: the database says how it finds their rows."""

import contextlib

import pytest
import sqlalchemy as sa
from tests.null.archive.nouns import TASK, WORKLOAD, proposal, verdict

from kernelwright.archive import Archive
from kernelwright.core.settings import Settings

LARGE = ("run", "proposal", "candidate", "evaluation", "timing", "trial", "call", "appended")
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
    "status": lambda archive: archive.activities(),
    "next run": lambda archive: archive.start_run(TASK, Settings()),
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


@pytest.mark.parametrize("name", QUERIES)
def test_a_query_about_one_task_scans_no_table(path, name):
    with Archive(path) as archive:
        archive.add_task(TASK, [WORKLOAD])
        run = archive.start_run(TASK, Settings())
        archive.add_proposal(run, proposal())
        archive.add_evaluation(run, verdict(proposal().candidate))
        with statements() as asked:
            QUERIES[name](archive)
    engine = sa.create_engine(f"sqlite:///{path}")
    with engine.connect() as connection:
        for statement, parameters in asked:
            plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)
            scans = [row.detail for row in plan if row.detail.startswith("SCAN")]
            bad = [one for one in scans if one.split()[1] in LARGE and "USING" not in one]
            assert not bad, f"{bad} in {statement}"
    engine.dispose()
    assert asked
