"""The GPU and the cores that each of several searches has to itself."""

import os
import threading
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.bench.processes import in_a_process
from kernelwright.cli import main
from kernelwright.core.device import Device
from kernelwright.core.errors import DeviceError, UsageError
from kernelwright.core.settings import Settings
from kernelwright.judge.devices.backend import backend_of
from kernelwright.judge.sandbox.isolation import ChildOptions
from kernelwright.judge.sandbox.runner_factory import RunnerFactory
from kernelwright.workers import slots
from kernelwright.workers import workers as workers_module
from kernelwright.workers.side_by_side import side_by_side
from kernelwright.workers.workers import LocalWorkers

N_GPUS, N_CORES = 2, 16
LONG_S = 240.0  # to import torch and its compilers from a cold disk on a loaded machine
FIRST, SECOND = (slots.WorkerSlot(f"GPU-{n}", tuple(range(8 * n, 8 * n + 8))) for n in range(2))


@pytest.fixture
def _two_gpus(monkeypatch):
    """Two GPUs and sixteen cores without hyperthreading, without asking a driver."""
    monkeypatch.setattr(slots, "count", lambda kind: N_GPUS)
    monkeypatch.setattr(slots, "resolve", lambda device: device)
    monkeypatch.setattr(slots, "gpu_name", lambda device: "")
    told = lambda device: SimpleNamespace(unit=f"GPU-{device.index}", most_judges=2)  # noqa: E731
    monkeypatch.setattr(slots, "backend_of", told)
    monkeypatch.setattr(slots, "_first_sibling", lambda core: core)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(N_CORES)))


@pytest.mark.usefixtures("_two_gpus")
def test_searches_are_dealt_to_the_gpus_in_turn():
    assert slots.worker_slots("cuda", gpus="2", jobs=3) == [FIRST, SECOND, FIRST]
    assert slots.worker_slots("cuda", gpus="all") == [FIRST, SECOND] * 3


@pytest.mark.usefixtures("_two_gpus")
@pytest.mark.parametrize(("n_cores", "n_searches"), [(2, 4), (16, 6), (32, 12), (96, 12)])
def test_several_gpus_get_as_many_searches_as_they_have_cores_for(monkeypatch, n_cores, n_searches):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(n_cores)))
    assert len(slots.worker_slots("cuda", gpus="all")) == n_searches


def test_the_gpus_that_a_suite_uses():
    assert slots.gpus_of([FIRST, SECOND, FIRST], "cuda") == (0, 1)
    assert slots.gpus_of([slots.WHOLE_MACHINE] * 3, "cuda:1") == (1,)
    assert slots.gpus_of([slots.WHOLE_MACHINE], "cpu") == ()


@pytest.mark.usefixtures("_two_gpus")
def test_with_one_gpu_a_search_has_the_whole_machine():
    assert slots.worker_slots("cuda", jobs=2) == [slots.WHOLE_MACHINE] * 2
    assert slots.worker_slots("cuda") == [slots.WHOLE_MACHINE] * 3


@pytest.mark.usefixtures("_two_gpus")
@pytest.mark.parametrize("jobs", [1, 7, 12])
def test_jobs_are_bounded_and_every_gpu_gets_one(jobs):
    with pytest.raises(UsageError, match="2 to 6 searches"):
        slots.worker_slots("cuda", gpus="2", jobs=jobs)


@pytest.mark.usefixtures("_two_gpus")
def test_a_missing_gpu_is_an_error():
    with pytest.raises(DeviceError, match="3 GPUs"):
        slots.worker_slots("cuda", gpus="3")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--gpus", "two", "--device", "cuda"], "neither a number nor all"),
        (["--gpus", "0", "--device", "cuda"], "neither a number nor all"),
        (["--gpus", "0,1", "--device", "cuda"], "neither a number nor all"),
        (["--gpus", "2"], "--device cuda"),
        (["--gpus", "2", "--device", "cuda:1"], "--device cuda"),
        (["--gpus", "2", "--policy", "x"], "--gpus does not belong"),
    ],
)
def test_a_bad_value_is_one_error(words, said):
    found = CliRunner().invoke(main, ["bench", "--suite", "builtin", *words])
    assert found.exit_code == 2
    assert said in found.output


@pytest.mark.parametrize("words", [["--suite", "builtin", "DIR"], ["TASK", "CANDIDATE"]])
def test_judging_has_the_same_option_where_there_are_many_tasks(words, tmp_path):
    (tmp_path / "softmax_v2.py").write_text("class ModelNew: ...")
    words = [str(tmp_path) if word == "DIR" else word for word in words]
    found = CliRunner().invoke(main, ["judge", *words, "--gpus", "2"])
    assert found.exit_code == 2
    assert (
        "--device cuda" if "--suite" in words else "goes with a folder or --suite"
    ) in found.output


@given(st.sets(st.integers(0, 63), min_size=8), st.integers(1, 8))
def test_parts_of_cores_are_equal_and_share_none(cores, n):
    parts = slots.divided(sorted(cores), n)
    assert {len(part) for part in parts} == {len(cores) // n}
    assert len(set().union(*parts)) == n * (len(cores) // n)


def test_both_threads_of_a_core_stay_together(monkeypatch):
    monkeypatch.setattr(slots, "_first_sibling", lambda core: core % 4)
    assert slots.divided(range(8), 2) == [[0, 1, 4, 5], [2, 3, 6, 7]]


def test_more_gpus_than_cores():
    with pytest.raises(DeviceError, match="too few cores"):
        slots.divided([0], 2)


def seen_in_a_slot(task, settings, fork_server):
    """Return what a search sees and what the judge's children under it see."""
    cpu = Device.parse("cpu")
    factory = RunnerFactory(cpu, backend_of(cpu), threads=1, shared=fork_server)
    try:
        server = factory.fork_server(ChildOptions())
        server.wait_ready()
        cores = [sorted(os.sched_getaffinity(pid)) for pid in (0, server.pid)]
        return os.environ.get("CUDA_VISIBLE_DEVICES"), cores
    finally:
        factory.close()


def test_a_search_and_its_children_are_confined_to_their_slot():
    core = max(os.sched_getaffinity(0))
    slot = slots.WorkerSlot("GPU-9", (core,))
    with LocalWorkers([slot]) as workers:
        told = in_a_process(seen_in_a_slot, None, Settings(), LONG_S, workers)
        free = in_a_process(seen_in_a_slot, None, Settings(), LONG_S, workers, needs_device=False)
    assert told == ("GPU-9", [[core]] * 2)
    assert free[1] == [sorted(os.sched_getaffinity(0))] * 2


def test_each_slot_has_one_piece_of_work_at_a_time(monkeypatch):
    inside, dealt, at_once = [], [], []
    both = threading.Barrier(2, timeout=10)  # two are in at a time, or this is broken

    def noted(work, *, slot, **how):
        inside.append(slot)
        both.wait()
        at_once.append(sorted(inside, key=lambda each: each.gpu))
        both.wait()
        dealt.append(work)
        inside.remove(slot)

    monkeypatch.setattr(workers_module, "in_process", noted)
    with LocalWorkers([FIRST, SECOND]) as workers:
        side_by_side(workers.run, range(6), jobs=workers.jobs)
    assert sorted(dealt) == list(range(6))
    assert at_once == [[FIRST, SECOND]] * 6
