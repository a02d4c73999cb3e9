"""A suite on two GPUs of one host: both work, neither sees the other, the archive is one.

Run with: python -m pytest -q -s tests/device/test_bench_gpus.py
"""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from kernelwright import bench
from kernelwright.archive import Archive
from kernelwright.core.candidate import Candidate
from kernelwright.core.device import Device
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.dialects.devices import resolve
from kernelwright.judge import Judge
from kernelwright.judge.devices.backend import backend_of
from kernelwright.suites.suite import suite_entries
from kernelwright.workers.asked import WorkersAsked
from kernelwright.workers.opening import workers_for
from kernelwright.workers.slots import worker_slots

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two NVIDIA GPUs"),
]


def test_each_of_two_worker_slots_has_a_gpu_and_cores_of_its_own():
    one, other = worker_slots("cuda", gpus="2", jobs=2)
    units = [backend_of(resolve(Device("cuda", index=n))).unit for n in range(2)]
    assert [one.gpu, other.gpu] == units and one.gpu != other.gpu
    assert not set(one.cores) & set(other.cores)


def test_a_suite_on_two_gpus_resumes_on_either(tmp_path):
    told = Settings(device="cuda", archive=str(tmp_path / "archive.sqlite"), budget_s=2.0)
    entries = suite_entries("builtin", device="cuda")[:4]
    with workers_for("cuda", WorkersAsked(gpus="2")) as workers:
        on_two = bench.run(entries, settings=told, workers=workers, limit_s=120)
    print([(outcome.entry.name, outcome.error, outcome.ended) for outcome in on_two])
    assert not [outcome.error for outcome in on_two if outcome.error]
    with Archive(told.archive) as archive:
        n_runs = len(archive.runs())
        verdicts = [v for e in entries for v in archive.evaluations(task=e.task.digest)]
    assert {verdict.environment.device for verdict in verdicts} == {resolve(Device("cuda")).key}
    timed = [verdict.conditions for verdict in verdicts if verdict.conditions]
    assert len({conditions.before["gpu"] for conditions in timed}) == 2
    on_second = replace(told, device="cuda:1")
    with workers_for("cuda:1", WorkersAsked()) as workers:
        bench.run(entries, settings=on_second, workers=workers, limit_s=120)
    with Archive(told.archive) as archive:
        assert len(archive.runs()) == n_runs


ALONE = """
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        assert torch.cuda.device_count() == 1
        return torch.add(x, torch.tanh(torch.ones(len(x), device="cuda")))
"""
SUM = """
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x + torch.tanh(torch.ones_like(x))


def get_inputs():
    return [torch.randn(1 << 22)]


def get_init_inputs():
    return []
"""


def test_a_candidate_for_the_second_gpu_sees_no_other():
    """What it launches without saying where would run on the first, and eager's graphs fail."""
    task, device = Task("sum", "test", SUM), resolve(Device("cuda", index=1))
    with Judge(task, device=device, settings=Settings(device="cuda:1")) as judge:
        found = judge.evaluate(Candidate(ALONE, "torch"))
    assert found.passed, found.why
    assert not [told for told in found.warnings if "was not measured" in told.detail]
