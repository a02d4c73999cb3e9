"""Only the fastest of a batch of candidates is judged, and none is lost by that."""

import pytest
import torch

from kernelwright.core.candidate import Candidate
from kernelwright.core.outcome import Status
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.judge import Judge
from kernelwright.judge.devices.backend import CpuBackend

SOURCE = """
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)


def get_inputs():
    return [torch.randn(512, 512)]


def get_init_inputs():
    return []
"""
RIGHT = SOURCE + "\nModelNew = Model\n"
SLOW = RIGHT.replace("return torch.relu", "torch.sort(x)\n        return torch.relu")
WRONG = RIGHT.replace("torch.relu(x)", "x.new_zeros(x.shape)")
BROKEN = RIGHT.replace("torch.relu(x)", "missing")
COUNT = "self.n = getattr(self, 'n', 0) + 1\n        assert self.n < 3\n        return torch.relu"
FAILS_LATER = RIGHT.replace("return torch.relu", COUNT)


REMEMBERS = RIGHT.replace(
    "return torch.relu(x)",
    "if not (hasattr(self, 'x') and torch.equal(self.x, x)):\n"
    "            self.x, self.y = x.clone(), torch.sort(x)[0] * 0 + torch.relu(x)\n"
    "        return self.y.clone()",
)


@pytest.fixture(scope="module")
def judge(fork_server):
    patch = pytest.MonkeyPatch()
    patch.setattr(CpuBackend, "batch_size", 3)
    with Judge(
        Task("relu", "builtin", SOURCE), settings=Settings(threads=1), fork_server=fork_server
    ) as one:
        yield one
    patch.undo()


def batches(judge, *texts):
    candidates = [Candidate(text, "torch") for text in texts]
    return list(judge.evaluate_fastest(candidates, max_time_s=0.2))


def statuses(batch):
    return [verdict and verdict.status for verdict in batch]


def test_the_fastest_is_judged_wherever_it_stands_and_slower_ones_are_not(judge):
    (batch,) = batches(judge, SLOW, RIGHT, SLOW + "# again")
    assert statuses(batch) == [None, Status.PASSED, None]
    assert batch[1].timing is not None


def test_where_the_fastest_is_refused_the_next_is_judged(judge):
    (batch,) = batches(judge, SLOW, WRONG, "class ModelNew(")
    assert statuses(batch) == [Status.PASSED, Status.WRONG_VALUES, Status.BUILD_ERROR]


def test_one_that_fails_while_it_is_timed_takes_no_other_with_it(judge):
    (batch,) = batches(judge, FAILS_LATER, BROKEN, RIGHT)
    assert statuses(batch) == [Status.RUNTIME_ERROR, Status.RUNTIME_ERROR, Status.PASSED]


def test_a_later_batch_is_judged_only_where_it_is_faster(judge):
    first, second, third = batches(
        judge, SLOW, SLOW + "# 1", WRONG, RIGHT, SLOW + "# 2", *[SLOW] * 4
    )
    assert statuses(first).count(Status.PASSED) == 1
    assert statuses(second) == [Status.PASSED, None, None]
    assert statuses(third) == [None, None, None]


def test_a_candidate_that_is_quick_on_known_inputs_keeps_no_later_batch_from_being_judged(judge):
    first, second = batches(judge, REMEMBERS, SLOW, SLOW + "# 1", RIGHT, SLOW + "# 2", SLOW + "# 3")
    assert statuses(first) == [Status.PASSED, None, None]
    assert statuses(second) == [Status.PASSED, None, None]


def test_if_a_batch_cannot_be_timed_all_of_it_are_judged(judge, monkeypatch):
    rank, failures = judge.stopwatch.rank, [torch.OutOfMemoryError("no room beside the others")]

    def fails_once(*arguments):
        if failures:
            raise failures.pop()
        return rank(*arguments)

    monkeypatch.setattr(judge.stopwatch, "rank", fails_once)
    (batch,) = batches(judge, RIGHT, WRONG, SLOW)
    assert statuses(batch) == [Status.PASSED, Status.WRONG_VALUES, Status.PASSED]
