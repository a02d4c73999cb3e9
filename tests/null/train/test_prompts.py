"""Prompts of training: which kernels they show, and that some show none."""

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
    """One that holds a fast kernel and a slow one."""
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
    """How many kernels the prompts of so many steps show."""
    prompts = Prompts(archive, Device.parse("cpu"), 1, exemplars=2, bare=bare)
    return [len(prompts.ask(TASK, "cpp", seed).exemplars) for seed in seeds]


def test_a_prompt_shows_kernels_of_different_speed_or_none(archive):
    assert set(shown(archive, bare=0)) == {2}
    assert set(shown(archive, bare=1)) == {0}


def test_the_stated_share_of_prompts_shows_none_and_a_seed_repeats_which(archive):
    found = shown(archive, bare=0.5)
    assert set(found) == {0, 2} and 15 <= found.count(0) <= 45
    assert shown(archive, bare=0.5) == found


@pytest.mark.parametrize(("among", "n_shown"), [("its own", 2), ("another", 0)])
def test_only_kernels_that_may_be_shown_are(archive, among, n_shown):
    texts = {"its own": candidate("fast").normal, "another": candidate(dialect="triton").normal}
    prompts = Prompts(
        archive, Device.parse("cpu"), 1, exemplars=2, among=frozenset({texts[among]})
    )  # fmt: skip
    assert len(prompts.ask(TASK, "cpp", 0).exemplars) == n_shown
