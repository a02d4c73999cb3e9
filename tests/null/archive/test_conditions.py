"""Clocks and neighbours are kept with their verdict, and older archives have none."""

import sqlite3
from contextlib import closing
from dataclasses import replace

from tests.null.archive.nouns import TASK, WORKLOAD, proposal, verdict

from kernelwright.archive import Archive
from kernelwright.core.conditions import Conditions
from kernelwright.core.settings import Settings

BUSY = Conditions(0.34, None, {"core_mhz": [2596, 2600]}, {"slowed_by": ["heat"], "sm_mhz": 1980})


def test_conditions_come_back_equal(path):
    said = proposal()
    with Archive(path) as archive:
        archive.add_task(TASK, [WORKLOAD])
        run = archive.start_run(TASK, Settings())
        archive.add_proposal(run, said)
        archive.add_evaluation(run, replace(verdict(said.candidate), conditions=BUSY))
        archive.add_evaluation(run, verdict(said.candidate))
        assert [kept.conditions for kept in archive.evaluations()] == [BUSY, None]


def test_an_archive_of_before_is_opened_and_says_nothing_of_them(path):
    said = proposal()
    with Archive(path) as archive:
        archive.add_task(TASK, [WORKLOAD])
        run = archive.start_run(TASK, Settings())
        archive.add_proposal(run, said)
        archive.add_evaluation(run, verdict(said.candidate))
    with closing(sqlite3.connect(path)) as database:
        database.execute("ALTER TABLE evaluation DROP COLUMN conditions")
        database.execute("UPDATE alembic_version SET version_num = 'm004'")
        database.commit()
    with Archive(path) as archive:
        (kept,) = archive.evaluations()
        assert kept == verdict(said.candidate)
