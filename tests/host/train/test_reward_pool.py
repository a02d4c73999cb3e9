"""Answers are checked while others are generated, and correct ones are timed afterwards."""

import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.host.swarm.candidates import FASTER, RIGHT, TASK, WRONG

from kernelwright.archive import Archive
from kernelwright.core.device import Device
from kernelwright.core.errors import DeviceError, TaskError
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.train import reward_worker
from kernelwright.train.reward_pool import RewardPool
from kernelwright.train.reward_worker import PolicyAnswer
from kernelwright.workers.slots import WHOLE_MACHINE
from kernelwright.workers.workers import LocalWorkers

ONE, OTHER = Task("one", "dataset", TASK), Task("two", "dataset", TASK.replace("* 2", "* 3"))
LIMIT_S = 120.0
TWO = LocalWorkers([WHOLE_MACHINE] * 2)


def answer(text, task=ONE):
    return PolicyAnswer(task, "cpp", text, model="m")


@contextlib.contextmanager
def opened(tmp_path):
    """(pool with one process, archive)"""
    url = str(tmp_path / "archive.sqlite")
    with (
        Archive(url) as archive,
        RewardPool(Settings(archive=url, threads=1), Device.parse("cpu"), LocalWorkers()) as pool,
    ):
        yield pool, archive


def statuses(archive, task=ONE):
    return [str(found.status) for _, found in archive.history(task.digest)]


def test_early_answers_are_checked_at_once_and_timed_at_the_end(tmp_path):
    with opened(tmp_path) as (pool, archive):
        pool.begin([answer(RIGHT)])
        pool.begin([answer(WRONG), answer("chatter")])  # its turn comes when the first was checked
        deadline = time.monotonic() + LIMIT_S
        while not statuses(archive) and time.monotonic() < deadline:
            pool.begin()
            time.sleep(0.05)
        assert statuses(archive) == ["wrong_values"]  # the right one waits for the clock
        told = ["chatter", RIGHT, FASTER, WRONG, RIGHT]
        judged = pool.judge([answer(WRONG, OTHER), *map(answer, told)])
        found = [each.evaluation for each in judged]
        assert [f and str(f.status) for f in found] == [
            "wrong_values", None, "passed", "passed", "wrong_values", "passed",
        ]  # fmt: skip
        assert found[2].timing is not None and found[3].timing is not None
        assert found[5] == found[2] != found[3]
        assert pool.n_judged == 4  # nothing twice
        assert len({proposal.candidate for proposal, _ in archive.history(ONE.digest)}) == 3
        pool.judge([answer(WRONG)])
        assert pool.n_judged == 4  # nor in a later session


@pytest.mark.parametrize("when", ["writing", "judging"])
def test_what_a_killed_worker_was_judging_is_judged_by_another(tmp_path, when, caplog):
    with opened(tmp_path) as (pool, archive):
        pool.begin([answer(WRONG)])
        (worker,) = multiprocessing.active_children()
        worker.kill()
        worker.join()
        if when == "writing":
            pool.begin([answer(WRONG)])
        [judged] = pool.judge([answer(WRONG)])
        assert judged.evaluation.status == "wrong_values" and statuses(archive) == ["wrong_values"]
    assert "another one judges its tasks" in caplog.text


def kill_this_process(*given):
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_task_whose_worker_is_killed_again_and_again_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr(reward_worker, "start", kill_this_process)
    with opened(tmp_path) as (pool, _), pytest.raises(DeviceError) as raised:
        pool.judge([answer(WRONG)])
    assert "a process that judges was killed" in str(raised.value) and "4 times" in str(
        raised.value
    )


def test_a_task_that_does_not_run_does_not_affect_others(tmp_path):
    broken = Task("broken", "dataset", TASK.replace("torch.relu", "torch.rule"))
    with opened(tmp_path) as (pool, _):
        pool.begin([answer(WRONG, broken)])
        lost, wrong = pool.judge([answer(WRONG, broken), answer(WRONG)])
    assert isinstance(lost.fault, TaskError) and lost.evaluation is None
    assert wrong.fault is None and wrong.evaluation.status == "wrong_values"


SCRIPT = """
import multiprocessing
from tests.host.train.test_reward_pool import RewardPool, Device, RIGHT, TWO, Settings, answer

if __name__ == "__main__":
    with RewardPool(Settings(archive={url!r}, threads=1), Device.parse("cpu"), TWO) as pool:
        pool.judge([answer(RIGHT)])
        print(*(process.pid for process in multiprocessing.active_children()), flush=True)
        input()
"""


def test_worker_processes_end_when_their_trainer_is_killed(tmp_path):
    script = tmp_path / "trains.py"
    script.write_text(SCRIPT.format(url=str(tmp_path / "archive.sqlite")))
    trainer = subprocess.Popen(
        [sys.executable, script], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[3], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    started = [int(pid) for pid in trainer.stdout.readline().split()]
    descendants = started + [child for pid in started for child in children(pid)]
    os.kill(trainer.pid, signal.SIGKILL)
    trainer.wait()
    deadline = time.monotonic() + LIMIT_S
    while any(map(lives, descendants)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert started and not [pid for pid in descendants if lives(pid)]


def children(pid):
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in found]


def lives(pid):
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False
