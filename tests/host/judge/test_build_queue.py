"""Candidates built ahead of the one that is examined, which stand still while anything is timed."""

import contextlib
import os
import threading
import time

import psutil
import pytest

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
    return [torch.randn(64, 64)]


def get_init_inputs():
    return []
"""
RIGHT = SOURCE + "\nModelNew = Model\n"
LENGTH = min(CpuBackend.most_ahead, len(os.sched_getaffinity(0)))


@pytest.fixture(scope="module")
def judge(fork_server):
    with Judge(
        Task("relu", "builtin", SOURCE), settings=Settings(threads=1), fork_server=fork_server
    ) as one:
        yield one


def candidates(*texts):
    return [Candidate(text, "torch") for text in texts]


def test_verdicts_come_in_order_and_no_bad_candidate_takes_another_with_it(judge):
    texts = {
        RIGHT: Status.PASSED,
        "class ModelNew(": Status.BUILD_ERROR,
        "import os\nos._exit(3)\nclass ModelNew: pass": Status.RUNTIME_ERROR,
        RIGHT + "# again": Status.PASSED,
        RIGHT.replace("relu(x)", "relu(x) + 1"): Status.WRONG_VALUES,
        RIGHT.replace("torch.relu(x)", "torch.empty(1 << 42)"): Status.RUNTIME_ERROR,
        RIGHT + "# the last": Status.PASSED,
    }
    asked = candidates(*texts)
    found = list(judge.evaluate_all(asked, timed=False))
    assert [one.candidate for one in found] == [one.digest for one in asked]
    assert [one.status for one in found] == list(texts.values())


def test_few_builds_start_ahead_and_all_end_with_the_iterator(judge):
    begun = []

    def endless():
        for number in range(100):
            begun.append(number)
            yield Candidate(f"{RIGHT}# {number}", "torch")

    children = set(psutil.Process().children(recursive=True))
    with contextlib.closing(judge.evaluate_all(endless(), timed=False)) as found:
        assert next(found).passed
    assert len(begun) <= LENGTH + 1
    wait_until(lambda: set(psutil.Process().children(recursive=True)) <= children)


def test_a_build_stands_still_while_somebody_measures_and_goes_on_afterwards(judge):
    busy = "while time.process_time() < 1.5: pass\n"  # it has these seconds still when it goes on
    slow = f"import subprocess, sys, time\nsubprocess.run([sys.executable, '-c', {busy!r}])\n"
    slow = slow.replace("'while", "'import time\\nwhile") + RIGHT
    before = set(psutil.Process().children(recursive=True))
    found = []
    thread = threading.Thread(
        target=lambda: found.append(judge.evaluate(candidates(slow)[0], timed=False))
    )
    thread.start()
    wait_until(lambda: compilers(before))
    (compiler,) = compilers(before)
    with judge.device_lock.exclusive():
        spent = [sum(compiler.cpu_times()[:2])]
        time.sleep(0.3)
        spent.append(sum(compiler.cpu_times()[:2]))
        assert compiler.status() == psutil.STATUS_STOPPED
    assert spent[1] - spent[0] < 0.02
    thread.join()
    assert found[0].passed, found[0].why


def test_a_build_that_is_stopped_while_it_starts_a_program_goes_on(judge):
    """A process in vfork(2) stops when the program has begun, which must not stop before."""
    text = "import subprocess\nfor _ in range(600):\n    subprocess.run(['/bin/true'])\n" + RIGHT
    found = []

    def build():
        found.append(judge.evaluate(candidates(text)[0], timed=False))

    thread = threading.Thread(target=build)
    thread.start()
    while thread.is_alive():
        with judge.device_lock.exclusive():
            pass
        time.sleep(0.005)
    assert found[0].passed, found[0].why


def compilers(before):
    """Processes that a build has started."""
    found = []
    for process in set(psutil.Process().children(recursive=True)) - before:
        with contextlib.suppress(psutil.Error):
            if any("while time" in word for word in process.cmdline()):
                found.append(process)
    return found


def wait_until(holds):
    end = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_build_that_fails_ahead_of_its_turn_ends_at_once(judge, monkeypatch):
    """It would go on beside what is timed until its turn comes."""
    mark = "300.125"
    text = f"import subprocess\nsubprocess.Popen(['sleep', '{mark}'])\nraise ValueError('no')\n"
    text += "class ModelNew: pass"
    builder = judge._builder
    failed, build = threading.Event(), builder.build

    def build_and_tell(submission, **options):
        build(submission, **options)
        if submission.error is not None:
            failed.set()

    monkeypatch.setattr(builder, "build", build_and_tell)
    asked = candidates(RIGHT + "# beside one that fails", text)
    with contextlib.closing(judge.evaluate_all(asked, timed=False)) as verdicts:
        assert next(verdicts).passed
        assert failed.wait(60)
        deadline_s = time.monotonic() + 10
        while (alive := running(mark)) and time.monotonic() < deadline_s:
            time.sleep(0.05)
        assert not alive
        assert next(verdicts).status is Status.BUILD_ERROR


def running(mark):
    """The processes that were started with this argument."""
    return [p for p in psutil.process_iter(["cmdline"]) if mark in (p.info["cmdline"] or [])]
