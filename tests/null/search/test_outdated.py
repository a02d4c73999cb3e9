"""What older emitters wrote is not handed back as best: today's write it anew."""

from types import SimpleNamespace

import pytest
from tests.null.archive.nouns import TASK, WORKLOAD, proposal, verdict

from kernelwright.archive import Archive
from kernelwright.core.candidate import Brief
from kernelwright.core.device import Device
from kernelwright.core.evaluation import Environment
from kernelwright.core.settings import Settings
from kernelwright.judge import JUDGE_VERSION
from kernelwright.proposers.emitted import EMITTER_VERSION, MARK
from kernelwright.proposers.from_archive import CarriedProposer
from kernelwright.search.loop import _Search

HERE = Environment("cpu", {"cpu": "this one"})
OLDER = {"variant": "fused", "kernels": {}}
TODAY = OLDER | {MARK: EMITTER_VERSION}


def resumed(archive, settings, *proposals):
    """A search that finds the first of these proposals of one text judged, and the best."""
    archive.add_task(TASK, [WORKLOAD])
    run = archive.start_run(TASK, settings)
    for said in proposals:
        archive.add_proposal(run, said)
    found = {"environment": HERE, "judge_version": JUDGE_VERSION}
    archive.add_evaluation(run, verdict(proposals[0].candidate, **found))
    judge = SimpleNamespace(workload=WORKLOAD, environment=HERE)
    return _Search(TASK, Device.parse("cpu"), ("cpp",), settings, archive, judge, print)


@pytest.mark.parametrize(
    ("schedules", "counts"), [([OLDER], False), ([TODAY], True), ([OLDER, TODAY], True)]
)
def test_only_what_todays_emitters_write_counts(tmp_path, schedules, counts):
    settings = Settings(archive=str(tmp_path / "archive.sqlite"))
    with Archive(settings.archive) as archive:
        said = [proposal(schedule=schedule) for schedule in schedules]
        search = resumed(archive, settings, *said)
    normal = said[0].candidate.normal
    assert [pair[0].candidate.normal for pair in search.history] == [normal] * counts
    assert (normal in search.seen) == counts
    assert [pair[0] for pair in search.elsewhere] == said[:1] * (not counts)


def test_an_older_text_is_not_carried_over_as_it_is():
    found = [(proposal(schedule=schedule), None) for schedule in (OLDER, TODAY)]
    brief = Brief(TASK, Device.parse("cpu"), ("cpp",), elsewhere=tuple(found))
    assert [said.schedule for said in CarriedProposer().propose(brief)] == [TODAY]
