"""Calls of models: kept as they were, tied to what they led to, and a lesson for other tasks."""

import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest
from tests.null.archive.nouns import TASK, WORKLOAD, proposal, verdict

from kernelwright.archive import Archive
from kernelwright.archive.connect import connect, parse
from kernelwright.core.call import Call, Outcome, PastCall
from kernelwright.core.errors import ArchiveError
from kernelwright.core.outcome import Status
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task

OTHER = Task(name="other", origin="kernelbench", source="class Model: pass")
CALL = Call(
    id="01",
    model="http://localhost:1/v1#m",
    purpose="write",
    context=("reference", "verdicts"),
    template="generator-1",
    dialect="cpp",
    parameters={"temperature": 0.7, "seed": 3},
    messages=(("system", "be brief"), ("user", "a kernel, please\n'é\"")),
    answer="```python\nx\n```",
    outcome=Outcome.ANSWERED,
    input_tokens=10,
    output_tokens=20,
    cost_usd=0.25,
    took_s=1.5,
)


@pytest.fixture
def archive(path):
    with Archive(path) as opened:
        opened.add_task(TASK, [WORKLOAD])
        opened.add_task(OTHER)
        yield opened


def test_a_call_and_its_proposal_come_back_equal(archive, path):
    run = archive.start_run(TASK, Settings())
    asked = replace(CALL, id="02", outcome=Outcome.CUT, detail="the connection broke", follows="01")
    archive.add_call(run, CALL)
    archive.add_call(run, asked)
    said = proposal(call=CALL.id, input_tokens=10, output_tokens=20, cost_usd=0.25)
    archive.add_proposal(run, said)
    with Archive(path, create=False) as again:
        assert again.calls(TASK.digest) == [CALL, asked]
        assert again.proposals(task=TASK.digest) == [said]
        assert again.calls(OTHER.digest) == []


def test_a_proposal_of_a_call_that_was_not_kept_is_refused(archive):
    run = archive.start_run(TASK, Settings())
    with pytest.raises(ArchiveError, match="points to nothing"):
        archive.add_proposal(run, proposal(call="unknown"))


def test_trials_are_the_generators_calls_on_other_tasks(archive):
    run = archive.start_run(TASK, Settings())
    for number, purpose in enumerate(("write", "optimise", "advise", "repair")):
        archive.add_call(run, replace(CALL, id=str(number), purpose=purpose))
    good, bad = proposal("good", call="0"), proposal("bad", call="1")
    for said, status in ((good, Status.PASSED), (bad, Status.WRONG_VALUES)):
        archive.add_proposal(run, said)
        archive.add_evaluation(run, verdict(said.candidate, status))
    found = archive.past_calls(without_task=OTHER.digest)
    assert found == [
        PastCall(TASK.source, CALL.model, CALL.context, passed) for passed in (True, False, False)
    ]
    assert archive.past_calls(without_task=TASK.digest) == []


def test_an_archive_of_the_first_schema_is_brought_up_and_keeps_its_rows(path):
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", "kernelwright.archive:migrations")
    engine = connect(parse(path), create=True)
    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        config.attributes["connection"] = connection
        command.upgrade(config, "m001")
    engine.dispose()
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("INSERT INTO task VALUES ('b2:1', 't', 'o', 's', 'Model', NULL, '[]')")
        database.execute("INSERT INTO candidate VALUES ('b2:2', 'source', 'cpp', 'ModelNew')")
        database.execute("INSERT INTO run VALUES ('r', 'b2:1', '{}', '0', 'now', NULL)")
        database.execute(
            "INSERT INTO proposal VALUES (1, 'r', 'b2:2', 'rules', '[]', '{}', NULL, '', NULL, "
            "NULL, NULL, 'now')"
        )
    with Archive(path, create=False) as opened:
        (said,) = opened.proposals(run="r")
        assert said.candidate.source == "source" and said.call is None


def test_a_run_begins_after_all_calls_though_the_clock_was_set_back(archive, monkeypatch):
    ahead = f"{2**44:012x}00"  # five hundred years from now
    first = archive.start_run(TASK, Settings())
    archive.add_call(first, replace(CALL, id=ahead))
    second = archive.start_run(TASK, Settings())
    assert ahead < second and [run.id for run in archive.runs()] == [first, second]
    monkeypatch.setattr("time.time_ns", lambda: 0)
    assert archive.start_run(TASK, Settings()) > second
