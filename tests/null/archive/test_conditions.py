"""Clocks and neighbours are kept with their verdict."""

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
