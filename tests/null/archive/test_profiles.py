"""What is known about kernels is kept with their verdict, and older archives have none."""

from dataclasses import replace

from tests.null.archive.nouns import TASK, WORKLOAD, proposal, verdict

from kernelwright.archive import Archive
from kernelwright.core.evaluation import KernelProfile
from kernelwright.core.settings import Settings

SEEN = KernelProfile("k\ud800", 12.5, 2, {"registers a thread": 32.0, "grid": "8 × 1 × 1"})


def test_a_profile_comes_back_equal(path):
    said = proposal()
    found = replace(verdict(said.candidate), profile=(SEEN,))
    with Archive(path) as archive:
        archive.add_task(TASK, [WORKLOAD])
        run = archive.start_run(TASK, Settings())
        archive.add_proposal(run, said)
        archive.add_evaluation(run, found)
        archive.add_evaluation(run, verdict(said.candidate))
        assert [kept.profile for kept in archive.evaluations()] == [(SEEN,), ()]
