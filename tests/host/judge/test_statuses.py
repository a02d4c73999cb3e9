"""Each status is reached by a small candidate, and one judge survives them all."""

from __future__ import annotations

import importlib
import os

import psutil
import pytest

from kernelwright.core.candidate import Candidate
from kernelwright.core.errors import TaskError
from kernelwright.core.outcome import Reason, ReasonCode, Status
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.judge import Judge
from kernelwright.judge.pipeline import Pipeline

REFERENCE = """
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.norm = nn.LayerNorm(features)

    def forward(self, x):
        return torch.relu(self.norm(x))


def get_inputs():
    return [torch.rand(64, 256)]


def get_init_inputs():
    return [256]
"""
HEAD = """
import ctypes, os, signal, socket, subprocess, sys, threading, time
import torch
from torch import nn
from torch.nn import functional as F


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.norm = nn.LayerNorm(features)

    def right(self, x):
        return torch.relu(self.norm(x))

    def forward(self, x):
"""
TASK = Task("norm_relu", "builtin", REFERENCE)


def candidate(body: str) -> Candidate:
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    return Candidate(HEAD + lines, "torch")


@pytest.fixture(scope="module")
def judge(fork_server):
    with Judge(TASK, settings=Settings(threads=1), fork_server=fork_server) as one:
        yield one


WRONG = {
    "raises": ("raise ValueError('no')", Status.RUNTIME_ERROR, "ValueError: no"),
    "crashes": ("ctypes.string_at(0)", Status.RUNTIME_ERROR, "signal 11"),
    "exits": ("os._exit(3)", Status.RUNTIME_ERROR, "code 3"),
    "leaves": ("sys.exit()", Status.RUNTIME_ERROR, "SystemExit"),
    "shape": ("return self.right(x)[:, :-1]", Status.WRONG_SHAPE, "[64, 255]"),
    "number": ("return self.right(x), x", Status.WRONG_SHAPE, "2 outputs"),
    "dtype": ("return self.right(x).half()", Status.WRONG_DTYPE, "float16"),
    "kind": ("return self.right(x).numpy()", Status.REJECTED, "ndarray"),
    "subclass": (
        "return self.right(x).as_subclass(type('Late', (torch.Tensor,), {}))",
        Status.REJECTED,
        "Late",
    ),
    "zeros": ("return torch.zeros_like(x)", Status.WRONG_VALUES, "instead of"),
    "last": ("y = self.right(x); y[-1, -1] += 1e-3; return y", Status.WRONG_VALUES, "[63, 255]"),
    "bf16": ("return self.right(x.bfloat16().float())", Status.WRONG_VALUES, "of its row"),
    "weights": ("return torch.relu(F.layer_norm(x, x.shape[-1:]))", Status.WRONG_VALUES, "weights"),
    "mutates": ("y = self.right(x); x.zero_(); return y", Status.REJECTED, "writes to its inputs"),
    "static": (
        "self.__dict__.setdefault('y', torch.empty_like(x)).copy_(self.right(x))\n"
        "return self.__dict__['y']",
        Status.REJECTED,
        "lies in the memory of another call's, which the caller still holds",
    ),
    "written later": (
        "if 'y' in self.__dict__: self.__dict__['y'].zero_()\n"
        "self.__dict__['y'] = self.right(x)\nreturn self.__dict__['y']",
        Status.REJECTED,
        "overwritten by a later call",
    ),
    "address": (
        "key = x.data_ptr()\ncache = self.__dict__.setdefault('cache', {})\n"
        "if key not in cache: cache[key] = self.right(x)\nreturn cache[key].clone()",
        Status.WRONG_VALUES,
        "",
    ),
    "network": ("socket.create_connection(('1.1.1.1', 53))", Status.RUNTIME_ERROR, "1.1.1.1"),
    "process": ("subprocess.Popen(['sleep', '60']); return self.right(x)", Status.REJECTED, "proc"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_candidate_gets_its_status_and_a_reason(judge, name):
    body, status, words = WRONG[name]
    evaluation = judge.evaluate(candidate(body), timed=False)
    assert evaluation.status is status, evaluation.why
    assert words in evaluation.why


def test_a_fault_of_the_judge_s_own_costs_one_candidate(judge, monkeypatch):
    def fail(*_, **__):
        raise OverflowError("int too large \ud800")

    with monkeypatch.context() as broken:
        broken.setattr(Pipeline, "_check_and_time", fail)
        found = judge.evaluate(candidate("return self.right(x)"), timed=False)
    assert found.status is Status.INFRA_ERROR
    assert found.reasons == (
        Reason(ReasonCode.JUDGE_FAILED, "the judge failed on it: OverflowError: int too large ?"),
    )
    assert judge.evaluate(candidate("return self.right(x)"), timed=False).passed


@pytest.mark.parametrize(
    "raised",
    [
        "RuntimeError('CUDA error: out of memory')",
        "torch.OutOfMemoryError('CUDA out of memory. Tried to allocate 20.00 MiB')",
        "RuntimeError('the process died of signal 9')",
    ],
)
def test_a_candidates_own_words_buy_no_second_judgement(judge, monkeypatch, raised):
    judged, judge_it = [], type(judge)._judge

    def count(self, candidate, **how):
        judged.append(candidate)
        return judge_it(self, candidate, **how)

    monkeypatch.setattr(type(judge), "_judge", count)
    found = judge.evaluate(candidate(f"raise {raised}"), timed=False)
    assert [reason.code for reason in found.reasons] == [ReasonCode.RAISED]
    assert len(judged) == 1


def test_a_right_candidate_passes_with_numerics_and_guarantees(judge):
    evaluation = judge.evaluate(candidate("return self.right(x)"), timed=False)
    assert evaluation.passed, evaluation.why
    assert evaluation.timing is None and evaluation.conditions is None
    assert evaluation.numerics.max_error <= evaluation.numerics.allowed_error
    assert {"task", "centred", "shifted", "weights"} <= set(evaluation.numerics.distributions)
    assert {"memory", "environment"} <= set(evaluation.guarantees)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("class ModelNew(:", "does not parse"),
        ("x = 1", "defines no ModelNew"),
        ("import nothing_of_this_name\nclass ModelNew: pass", "nothing_of_this_name"),
        ("class ModelNew:\n    def __init__(self): pass", "TypeError"),
    ],
)
def test_a_file_that_makes_no_module_is_a_build_error(judge, source, words):
    evaluation = judge.evaluate(Candidate(source, "torch"), timed=False)
    assert evaluation.status is Status.BUILD_ERROR
    assert words in evaluation.why


@pytest.mark.slow
def test_a_hang_is_a_timeout(judge, monkeypatch):
    limits = importlib.import_module("kernelwright.judge.submission")
    monkeypatch.setattr(limits, "FIRST_CALL_LIMIT_S", 2.0)
    evaluation = judge.evaluate(candidate("while True: pass"), timed=False)
    assert evaluation.status is Status.TIMEOUT


def test_nothing_of_the_user_is_seen(judge, monkeypatch, tmp_path):
    secret = tmp_path / "secret"
    secret.write_text("x")
    body = (
        f"assert 'KERNELWRIGHT_SECRET' not in os.environ\n"
        f"for name in {str(secret)!r}, '/proc/{os.getpid()}/environ':\n"
        "    try:\n"
        "        assert not open(name).read()\n"
        "    except OSError: pass\n"
        "return self.right(x)"
    )
    monkeypatch.setenv("KERNELWRIGHT_SECRET", "x")
    evaluation = judge.evaluate(candidate(body), timed=False)
    if missing := {"filesystem", "processes"} - set(evaluation.guarantees):
        pytest.skip(f"this machine does not grant: {', '.join(sorted(missing))}")
    assert evaluation.passed, evaluation.why


def test_the_judge_ends_all_that_it_started():
    before = set(psutil.Process().children(recursive=True))
    sleeper = ["sleep", "60.0625"]  # no other program's
    body = f"subprocess.Popen({sleeper}, start_new_session=True); return self.right(x)"
    with Judge(TASK, settings=Settings(threads=1)) as judge:
        judge.evaluate(candidate(body), timed=False)
        scratch = [server.scratch.path for server in judge.machine.factory._servers.values()]
    assert not any(os.path.exists(path) for path in scratch)
    assert set(psutil.Process().children(recursive=True)) <= before
    left = [p for p in psutil.process_iter(["cmdline"]) if p.info["cmdline"] == sleeper]
    _, alive = psutil.wait_procs(left, timeout=5)  # the kernel may be at it still
    assert not alive


def test_a_reference_that_disagrees_with_itself_is_an_error_of_the_task(fork_server):
    source = REFERENCE.replace("torch.relu(self.norm(x))", "torch.dropout(x, 0.5, True)")
    with (
        pytest.raises(TaskError, match="not deterministic"),
        Judge(Task("t", "builtin", source), fork_server=fork_server),
    ):
        pass


def test_a_reference_that_computes_in_a_lambda_over_its_parts_is_judged_with_its_other_weights(
    fork_server,
):
    closing = REFERENCE.replace(
        "        self.norm = nn.LayerNorm(features)\n",
        "        norm = self.norm = nn.LayerNorm(features)\n"
        "        self.act = lambda x: torch.relu(norm(x))\n",
    ).replace("return torch.relu(self.norm(x))", "return self.act(x)")
    with Judge(
        Task("lambda", "builtin", closing), settings=Settings(threads=1), fork_server=fork_server
    ) as judge:
        found = judge.evaluate(candidate("return self.right(x)"), timed=False)
        wrong = judge.evaluate(candidate("return torch.relu(F.layer_norm(x, (256,)))"), timed=False)
    assert found.passed, found.why
    assert not any("float64" in warning.detail for warning in found.warnings)
    assert wrong.status is Status.WRONG_VALUES
