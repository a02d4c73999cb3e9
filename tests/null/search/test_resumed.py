"""A resumed search uses verdicts from the archive."""

from types import SimpleNamespace

import pytest
from tests.null.archive.nouns import TASK, WORKLOAD, proposal, verdict

from kernelwright.archive import Archive
from kernelwright.core.device import Device
from kernelwright.core.evaluation import Environment
from kernelwright.core.outcome import Status
from kernelwright.core.settings import Settings
from kernelwright.judge import JUDGE_VERSION
from kernelwright.proposers.emitted import EMITTER_VERSION, MARK
from kernelwright.search.loop import _Search

HERE = Environment("cpu", {"cpu": "this one"})


@pytest.mark.parametrize(
    ("status", "is_seen"), [(Status.WRONG_VALUES, True), (Status.INFRA_ERROR, False)]
)
def test_candidates_that_the_machine_failed_on_are_tried_again(tmp_path, status, is_seen):
    settings = Settings(archive=str(tmp_path / "archive.sqlite"))
    said = proposal(schedule={MARK: EMITTER_VERSION})
    with Archive(settings.archive) as archive:
        archive.add_task(TASK, [WORKLOAD])
        run = archive.start_run(TASK, settings)
        archive.add_proposal(run, said)
        found = {"environment": HERE, "judge_version": JUDGE_VERSION}
        archive.add_evaluation(run, verdict(said.candidate, status=status, **found))
        judge = SimpleNamespace(workload=WORKLOAD, environment=HERE)
        search = _Search(TASK, Device.parse("cpu"), ("cpp",), settings, archive, judge, print)
        assert len(search.history) == 1
        assert (said.candidate.normal in search.seen) == is_seen
