"""A search first judges the winners of other environments and earlier judges again."""

from dataclasses import replace

import pytest
from tests.host.relu_task import RIGHT, TASK, WRONG

from kernelwright.archive import Archive
from kernelwright.core.candidate import Candidate, Proposal
from kernelwright.core.evaluation import Environment, Timing
from kernelwright.core.outcome import Status
from kernelwright.core.settings import Settings
from kernelwright.judge import JUDGE_VERSION, Judge
from kernelwright.loaders import load
from kernelwright.search import loop

FASTER = Timing(
    {"candidate": (10, 10, 10), "eager": (50, 50, 50)},
    strongest="eager", clock="parent", cache="cold",
)  # fmt: skip


@pytest.fixture
def task(tmp_path):
    path = tmp_path / "task.py"
    path.write_text(TASK)
    return load(path)


def test_a_winner_from_elsewhere_is_judged_first(task, tmp_path, only_eager, fork_server):
    settings = Settings(
        archive=str(tmp_path / "a.sqlite"), out=str(tmp_path), dialects=("torch",), budget_s=60.0,
        threads=1, proposers=(),
    )  # fmt: skip
    won = {
        "another machine": Candidate(RIGHT, "torch"),
        "an older judge": Candidate(WRONG, "torch"),
    }
    with (
        Judge(task, settings=settings, fork_server=fork_server) as judge,
        Archive(settings.archive) as archive,
    ):
        archive.add_task(task, [judge.workload])
        run = archive.start_run(task, settings)
        for where, candidate in won.items():
            archive.add_proposal(run, Proposal(candidate, "swarm", note=where))
            told = judge.evaluate(candidate, timed=False)
            told = replace(told, status=Status.PASSED, reasons=(), timing=FASTER)
            if where == "an older judge":
                told = replace(told, judge_version=JUDGE_VERSION - 1)
            told = replace(told, environment=Environment(where, {}))
            archive.add_evaluation(run, told)
    result = loop.optimize(task, settings=settings)
    found = {proposal.note: verdict for proposal, verdict in result.evaluated}
    assert list(found)[:2] == list(won)
    assert found["another machine"].passed
    assert found["an older judge"].status is Status.WRONG_VALUES
    assert all(v.environment.facts and v.judge_version == JUDGE_VERSION for v in found.values())
