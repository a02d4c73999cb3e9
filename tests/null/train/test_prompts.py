"""The kernels that training prompts show; some prompts show none."""

from dataclasses import replace

import pytest
from tests.null.swarm.briefs import TASK, candidate, proposal, verdict

from kernelwright.archive import Archive
from kernelwright.core.device import Device
from kernelwright.core.settings import Settings
from kernelwright.core.task import Workload
from kernelwright.judge import JUDGE_VERSION
from kernelwright.train.prompts import Prompts


@pytest.fixture
def archive(tmp_path):
    """An archive with a fast kernel and a slow one."""
    workload = Workload(TASK.digest, {})
    with Archive(tmp_path / "a.sqlite") as opened:
        opened.add_task(TASK, [workload])
        run = opened.start_run(TASK, Settings())
        for text, speed in (("fast", 2.0), ("slow", 0.5)):
            opened.add_proposal(run, proposal(text))
            found = verdict(candidate(text), speed)
            told = replace(found, workload=workload.digest, judge_version=JUDGE_VERSION)
            opened.add_evaluation(run, told)
        yield opened


def shown(archive, bare, seeds=range(60)):
    """Return the numbers of kernels that the prompts of this many steps show."""
    prompts = Prompts(archive, Device.parse("cpu"), 1, exemplars=2, bare=bare)
    return [len(prompts.ask(TASK, "cpp", seed).exemplars) for seed in seeds]


def test_a_prompt_shows_kernels_of_different_speed_or_none(archive):
    assert set(shown(archive, bare=0)) == {2}
    assert set(shown(archive, bare=1)) == {0}


def test_the_given_share_of_prompts_shows_no_kernels_reproducibly(archive):
    found = shown(archive, bare=0.5)
    assert set(found) == {0, 2} and 15 <= found.count(0) <= 45
    assert shown(archive, bare=0.5) == found


@pytest.mark.parametrize(("among", "n_shown"), [("its own", 2), ("another", 0)])
def test_only_permitted_kernels_are_shown(archive, among, n_shown):
    texts = {"its own": candidate("fast").normal, "another": candidate(dialect="triton").normal}
    prompts = Prompts(
        archive, Device.parse("cpu"), 1, exemplars=2, among=frozenset({texts[among]})
    )  # fmt: skip
    assert len(prompts.ask(TASK, "cpp", 0).exemplars) == n_shown
