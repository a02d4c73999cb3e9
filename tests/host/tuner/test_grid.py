"""A grid measures right programs under other schedules, and resumes from the archive."""

import json

import pytest
from tests.host.tuner.test_trials import task

pytest.importorskip("pyarrow")

from kernelwright.archive import Archive
from kernelwright.cli import main
from kernelwright.core.candidate import Candidate, Proposal
from kernelwright.core.settings import Settings
from kernelwright.core.trial import TrialOutcome
from kernelwright.dataset.grid import open_grid
from kernelwright.judge import Judge
from kernelwright.suites.composed.lessons import PROPOSER
from kernelwright.tuner.grid import programs

PROGRAM = """
import torch
from torch import nn

TERMS = 64

class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale = nn.Parameter(torch.randn(width))

    def forward(self, x):
        for number in range(TERMS * TERMS // 4):
            torch.relu(x)
        return torch.relu(x) * self.scale
"""


@pytest.fixture
def url(tmp_path, fork_server):
    """An archive with a right program, and one that the grammar refuses."""
    path, known = str(tmp_path / "a.sqlite"), task()
    with (
        Archive(path) as archive,
        Judge(known, settings=Settings(), fork_server=fork_server) as judge,
    ):
        archive.add_task(known, [judge.workload])
        run = archive.start_run(known, Settings())
        for source in (PROGRAM, "import os\n" + PROGRAM):
            candidate = Candidate(source, "torch")
            archive.add_proposal(run, Proposal(candidate, "policy"))
            archive.add_evaluation(run, judge.evaluate(candidate, timed=False))
        archive.finish_run(run)
        assert len(programs(archive, known)) == 1
    return path


def grid(url, tmp_path, capfd, *more):
    """Run the command; return its exit code, its facts and what it told meanwhile."""
    command = ["dataset", "grid", "--archive", url, "--out", str(tmp_path / "grid"), "--json"]
    with pytest.raises(SystemExit) as ended:
        main([*command, *more])
    told = capfd.readouterr()
    return ended.value.code, json.loads(told.out), told.err


def test_a_grid_is_measured_once_and_grows(url, tmp_path, capfd):
    code, _, _ = grid(url, tmp_path, capfd)
    assert code == 1
    _, facts, _ = grid(url, tmp_path, capfd, "--schedules", "3")
    assert (facts["rows"], facts["programs"]) == (3, 1)
    rows = open_grid(tmp_path / "grid")
    assert {row.outcome for row in rows} == {TrialOutcome.MEASURED.value}
    times = {json.loads(row.schedule)["TERMS"]: row.time_ns for row in rows}
    assert sorted(times) == sorted(times, key=times.__getitem__)  # the fewer terms, the faster
    _, facts, told = grid(url, tmp_path, capfd, "--schedules", "3")
    assert facts["rows"] == 3 and ": nothing new to measure" in told
    assert open_grid(tmp_path / "grid") == rows
    _, facts, told = grid(url, tmp_path, capfd, "--schedules", "4")
    assert facts["rows"] == 4 and ": 1 measured" in told


def test_a_lessons_program_needs_no_verdict_unless_there_is_one(tmp_path, fork_server):
    known, forms = task(), ("pointwise",)
    unjudged = Proposal(Candidate(PROGRAM, "torch"), PROPOSER, forms)
    wrong = Proposal(Candidate(PROGRAM.replace("* self", "- self"), "torch"), PROPOSER, forms)
    policys = Proposal(Candidate(PROGRAM + "\nlimit = 1\n", "torch"), "policy")
    with (
        Archive(tmp_path / "a.sqlite") as archive,
        Judge(known, settings=Settings(), fork_server=fork_server) as judge,
    ):
        archive.add_task(known, [judge.workload])
        run = archive.start_run(known, Settings())
        for proposal in (policys, wrong, unjudged):
            archive.add_proposal(run, proposal)
        assert programs(archive, known) == [wrong, unjudged]
        archive.add_evaluation(run, judge.evaluate(wrong.candidate, timed=False))
        assert programs(archive, known) == [unjudged]
