"""Reduced precision on request: accepted then, faults refused still, and baselines get it too."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernelwright.core.candidate import Candidate
from kernelwright.core.errors import TaskError
from kernelwright.core.outcome import Status
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.judge import Judge
from kernelwright.judge.baselines import library_settings
from kernelwright.search.library_candidate import library_candidate

TASK = Task(
    "mlp",
    "builtin",
    """
import time

import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.first, self.second = nn.Linear(n, n), nn.Linear(n, n)

    def forward(self, x):
        return self.second(torch.relu(self.first(x)))


def get_inputs():
    return [torch.randn(64, 256)]


def get_init_inputs():
    return [256]
""",
)
CANDIDATE = """
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.first, self.second = nn.Linear(n, n), nn.Linear(n, n)

    def forward(self, x):
        with torch.autocast(x.device.type, dtype=torch.{dtype}):
            y = {forward}
        return y.float()
"""
RIGHT = "self.second(torch.relu(self.first(x)))"
TEN_BITS = "(x.view(torch.int32) + 4096 & -8192).view(torch.float32)"
TEN_BITS_RIGHT = RIGHT.replace("(x)", f"({TEN_BITS})")
WRONG = {
    "no bias": "torch.relu(self.first(x)) @ self.second.weight.T",
    "no relu": "self.second(self.first(x))",
    "dropped terms": "self.second(torch.relu(self.first(x * (torch.arange(256) < 248))))",
    "zero row": "torch.cat([" + RIGHT + "[:-1], torch.zeros(1, 256)])",
    "eight bits": "((" + RIGHT + ") * 8).round() / 8",
}


def candidate(forward: str, dtype: str = "bfloat16") -> Candidate:
    return Candidate(CANDIDATE.format(forward=forward, dtype=dtype), "torch")


@pytest.fixture(scope="module")
def judge(fork_server):
    with Judge(
        TASK, settings=Settings(threads=1, precision="bf16"), fork_server=fork_server
    ) as one:
        yield one


def test_what_is_refused_in_full_precision_passes_where_it_was_asked_for(judge, fork_server):
    evaluation = judge.evaluate(candidate(RIGHT), timed=False)
    assert evaluation.passed, evaluation.why
    assert any("bf16 was asked for" in warning.detail for warning in evaluation.warnings)
    assert evaluation.environment.facts["precision"] == "bf16"
    with Judge(TASK, settings=Settings(threads=1), fork_server=fork_server) as full:
        refused = full.evaluate(candidate(RIGHT), timed=False)
    assert refused.status is Status.WRONG_VALUES
    assert {evaluation.task, TASK.digest} == {judge.task.digest, refused.task}
    assert evaluation.task != refused.task  # so that no archive mixes them


@pytest.mark.parametrize("fault", WRONG)
def test_faults_that_rounding_does_not_explain_are_refused_still(judge, fault):
    evaluation = judge.evaluate(candidate(WRONG[fault]), timed=False)
    assert evaluation.status is Status.WRONG_VALUES, evaluation.numerics


def test_a_lower_precision_than_the_one_asked_for_is_refused(fork_server):
    with Judge(
        TASK, settings=Settings(threads=1, precision="fp16"), fork_server=fork_server
    ) as judge:
        assert judge.evaluate(candidate(RIGHT, "float16"), timed=False).passed
        refused = judge.evaluate(candidate(RIGHT), timed=False)
    assert refused.status is Status.WRONG_VALUES


def test_tf32_is_about_products_only(fork_server):
    with Judge(
        TASK, settings=Settings(threads=1, precision="tf32"), fork_server=fork_server
    ) as judge:
        evaluation = judge.evaluate(candidate(TEN_BITS_RIGHT, "float32"), timed=False)
        assert evaluation.passed, evaluation.why
        half = judge.evaluate(candidate(RIGHT, "float16"), timed=False)
        assert half.why.startswith("on large inputs")  # as many bits, and a smaller range
    softmax = Task("softmax", "builtin", TASK.source.replace("return self.second", "return self.f"))
    source = softmax.source.replace("self.f(torch.relu(self.first(x)))", "x.softmax(-1)")
    with Judge(
        replace(softmax, source=source),
        settings=Settings(precision="tf32"),
        fork_server=fork_server,
    ) as judge:
        half = candidate("x.half().softmax(-1)", "float16")
        assert judge.evaluate(half, timed=False).status is Status.WRONG_VALUES


def test_whole_numbers_beside_others_do_not_hide_float16(fork_server):
    """Which of a row is largest is luck where inputs are large; what is beside it is not."""
    right = "self.second(torch.relu(self.first(x)))"
    both = TASK.source.replace(f"return {right}", f"return {right}, x.argmax(-1)")
    task = Task("mlp_largest", "builtin", both)
    ours = CANDIDATE.replace("return y.float()", "return y.float(), x.argmax(-1)")
    with Judge(
        task, settings=Settings(threads=1, precision="tf32"), fork_server=fork_server
    ) as judge:
        same = Candidate(f"{both}\n\nModelNew = Model\n", "torch")
        assert judge.evaluate(same, timed=False).passed
        half = Candidate(ours.format(forward=RIGHT, dtype="float16"), "torch")
        assert judge.evaluate(half, timed=False).why.startswith("on large inputs")


def test_the_baselines_get_it_too(monkeypatch, fork_server):
    eager = {"cpu": library_settings.SETTINGS["cpu"][:1]}  # its rows that compile take a minute
    monkeypatch.setattr(library_settings, "SETTINGS", eager)
    waits = """        if x.dtype.itemsize == 4 and not torch.is_autocast_enabled("cpu"):
            time.sleep(0.1)
        return self.second"""
    task = replace(TASK, source=TASK.source.replace("        return self.second", waits))
    with Judge(
        task, settings=Settings(threads=1, precision="bf16"), fork_server=fork_server
    ) as judge:
        evaluation = judge.evaluate(candidate(RIGHT))
        timed = judge.baseline_ns
    assert evaluation.passed, evaluation.why
    assert set(timed) == {"eager", "eager_held"}
    assert max(timed.values()) < 5e7


@pytest.mark.parametrize("setting", ["eager", "eager_held"])
def test_a_library_setting_in_reduced_precision_is_a_file_that_passes(judge, setting):
    evaluation = judge.evaluate(library_candidate(judge.task, setting), timed=False)
    assert evaluation.passed, evaluation.why


def test_a_task_that_means_nothing_in_the_precision_is_an_error_of_the_task(fork_server):
    source = TASK.source.replace(RIGHT, "x.var(-1)")
    source = source.replace("torch.randn(64, 256)", "torch.randn(64, 256) + 4000")
    with (
        pytest.raises(TaskError, match="means nothing in bf16"),
        Judge(
            replace(TASK, source=source),
            settings=Settings(precision="bf16"),
            fork_server=fork_server,
        ),
    ):
        pass


def test_a_task_that_is_not_in_float32_cannot_be_lowered(fork_server):
    source = TASK.source.replace(
        "import time", "import time\n\nimport torch\n\nDOUBLE = torch.float64"
    )
    source = source.replace("randn(64, 256)", "randn(64, 256, dtype=DOUBLE)")
    source = source.replace("nn.Linear(n, n)", "nn.Linear(n, n, dtype=DOUBLE)")
    with (
        pytest.raises(TaskError, match="cannot be judged in"),
        Judge(
            replace(TASK, source=source),
            settings=Settings(precision="bf16"),
            fork_server=fork_server,
        ),
    ):
        pass
