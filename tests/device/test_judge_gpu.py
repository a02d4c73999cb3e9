"""The judge on an NVIDIA GPU.

Run with: python -m pytest -q -s tests/device/test_judge_gpu.py
It prints what the machine grants, what an empty call costs and what each verdict cost.
"""

from __future__ import annotations

import contextlib
import threading
import time

import pytest
import torch
from tests.host.judge.one_child import program

from kernelwright.core.candidate import Candidate
from kernelwright.core.device import Device
from kernelwright.core.outcome import Status
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.judge import Judge, SharedForkServerProcess
from kernelwright.judge.sandbox import runner_factory
from kernelwright.judge.sandbox.fork_server import ForkServer
from kernelwright.judge.scheduling.device_lock import DeviceLock

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU"),
]
REFERENCE = """
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)

    def forward(self, x):
        return torch.relu(self.linear(x)) * 0.5


def get_inputs():
    return [torch.randn(4096, 1024)]


def get_init_inputs():
    return [1024]
"""
HEAD = """
import torch
from torch import nn
from torch.nn import functional as F


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)

    def right(self, x):
        return torch.relu(self.linear(x)) * 0.5

    def forward(self, x):
"""
TRITON = """
import torch
import triton
import triton.language as tl
from torch import nn


@triton.jit
def epilogue(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n)
    tl.store(x + i, tl.maximum(value, 0.0) * 0.5, mask=i < n)


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.linear = nn.Linear(features, features)

    def forward(self, x):
        y = self.linear(x)
        epilogue[(triton.cdiv(y.numel(), 1024),)](y, y.numel(), BLOCK=1024)
        return y
"""


def candidate(body: str) -> Candidate:
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    return Candidate(HEAD + lines, "torch")


def show(name, evaluation, seconds):
    ratios = {k: f"{r.median:.3f} [{r.low:.3f}, {r.high:.3f}]" for k, r in speedups(evaluation)}
    print(f"\n{name}: {evaluation.status} {seconds:.1f} s {evaluation.cost}")
    print(f"  {evaluation.reasons} {evaluation.warnings} {evaluation.kinds} {ratios}")
    if evaluation.timing is not None:
        rows = evaluation.timing.samples_ns
        print({k: f"{evaluation.timing.median_ns(k) / 1e3:.1f} us x{len(rows[k])}" for k in rows})


def speedups(evaluation):
    return evaluation.timing.speedups.items() if evaluation.timing else ()


@pytest.fixture(scope="module")
def judge():
    start_s = time.monotonic()
    task = Task("linear_relu", "builtin", REFERENCE)
    with Judge(task, device=Device.parse("cuda"), settings=Settings(device="cuda")) as one:
        print(f"\nthe judge is ready after {time.monotonic() - start_s:.1f} s")
        yield one
        print(f"\nlibrary settings: { {k: v / 1e3 for k, v in one.baseline_ns.items()} } us")
        print(f"dropped: {one.dropped}")
        print(f"an empty call in a window of 256: {one.stopwatch.floor_ns(256) / 1e3:.2f} us")


def judged(judge, name, one, **how):
    start_s = time.monotonic()
    evaluation = judge.evaluate(one, **how)
    show(name, evaluation, time.monotonic() - start_s)
    return evaluation


@contextlib.contextmanager
def somebody_measures(judge, every_s):
    """Another judge wants the device for itself, again and again."""
    backend, is_over = judge.machine.backend, threading.Event()
    other = DeviceLock(backend.unit, backend.is_idle)

    def measure():
        while not is_over.is_set():
            with other.exclusive():
                pass
            time.sleep(every_s)

    thread = threading.Thread(target=measure)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def test_processes_that_a_shared_fork_server_forks_have_torchs_compilers():
    """Torch 2.11 starts the driver when it imports them, after which no fork could use the GPU: for
    days every process of a suite imported them anew."""
    source = (
        "import sys, torch\n"
        "assert 'torch._inductor.compile_fx' in sys.modules\n"
        "class ModelNew(torch.nn.Module): pass\n"
    )
    with SharedForkServerProcess() as shared:
        server = ForkServer({}, threads=1, shared=shared)
        child = server.fork()
        assert "error" not in child.request("build", weights={}, program=program(source))
        child.close()
        server.close()


def test_the_reference_itself_passes_and_is_timed(judge):
    evaluation = judged(judge, "reference", candidate("return self.right(x)"))
    print("guarantees:", evaluation.guarantees)
    assert evaluation.passed, evaluation.why
    assert evaluation.timing is not None
    assert {"memory", "environment", "freeze"} <= set(evaluation.guarantees)


def test_a_triton_kernel_passes_and_is_timed(judge):
    evaluation = judged(judge, "triton", Candidate(TRITON, "triton"))
    assert evaluation.passed, evaluation.why
    assert evaluation.timing is not None


def test_it_works_where_namespaces_are_refused(monkeypatch):
    # As in most containers: Landlock stands in, and CUDA writes to /proc when it starts.
    refused = frozenset({"processes", "network", "filesystem"})
    monkeypatch.setattr(runner_factory, "REFUSALS", (refused,))
    task, settings = Task("linear_relu", "builtin", REFERENCE), Settings(device="cuda")
    with Judge(task, device=Device.parse("cuda"), settings=settings) as one:
        evaluation = judged(one, "no namespaces", candidate("return self.right(x)"))
    print("guarantees:", evaluation.guarantees)
    assert evaluation.passed, evaluation.why
    assert evaluation.timing is not None


WRONG = {
    "half": ("return F.relu(F.linear(x.half(), self.linear.weight.half(), self.linear.bias.half()))"
             ".float() * 0.5", Status.WRONG_VALUES),
    "tf32": ("torch.backends.cuda.matmul.allow_tf32 = True\nreturn self.right(x)",
             Status.WRONG_VALUES),
    "last": ("y = self.right(x)\ny[-1, -1] += 0.5\nreturn y", Status.WRONG_VALUES),
    "host": ("return self.right(x).cpu()", Status.REJECTED),
    "static": ("self.__dict__.setdefault('y', torch.empty_like(x)).copy_(self.right(x))\n"
               "return self.__dict__['y']", Status.REJECTED),
    "mutates": ("y = self.right(x)\nx.zero_()\nreturn y", Status.REJECTED),
    "fault": ("y = self.right(x)\nreturn torch.take(y, torch.full_like(x, 1 << 40).long())",
              Status.RUNTIME_ERROR),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_candidate_gets_its_status(judge, name):
    body, status = WRONG[name]
    evaluation = judged(judge, name, candidate(body), timed=False)
    assert evaluation.status is status, evaluation.why


def test_an_endless_kernel_ends_soon_where_others_want_to_measure(judge):
    source = 'extern "C" __global__ void spin(volatile float* x) { while (x[0] == x[0]) {} }'
    body = (
        f"kernel = torch.cuda._compile_kernel({source!r}, 'spin')\n"
        "kernel((1, 1, 1), (1, 1, 1), [torch.ones_like(x)])\n"
        "return self.right(x)"
    )
    with somebody_measures(judge, every_s=0.5):
        evaluation = judged(judge, "endless", candidate(body), timed=False)
    assert evaluation.status is Status.TIMEOUT and "stood still" in evaluation.why


def test_a_driver_may_be_stopped_time_after_time_while_it_starts(judge):
    with somebody_measures(judge, every_s=0.01):
        for number in range(3):
            evaluation = judged(
                judge, f"start {number}", candidate("return self.right(x)"), timed=False
            )
            assert evaluation.passed, evaluation.why


def test_work_on_a_side_stream_wins_nothing(judge):
    body = (
        "side = self.__dict__.setdefault('side', torch.cuda.Stream())\n"
        "y = torch.empty_like(x)\n"
        "with torch.cuda.stream(side):\n"
        "    y.copy_(self.right(x))\n"
        "return y"
    )
    evaluation = judged(judge, "side stream", candidate(body))
    assert not evaluation.passed or evaluation.speedup.median < 1.1


def test_a_blind_synchronise_is_caught(judge):
    body = (
        "torch.cuda.synchronize = lambda *a: None\n"
        "for _ in range(40):\n    y = self.right(x)\nreturn y"
    )
    evaluation = judged(judge, "blind synchronise", candidate(body))
    assert not evaluation.passed or evaluation.speedup.median < 0.2


def test_the_same_module_against_itself_contains_one(judge):
    spans = []
    for number in range(6):
        one = candidate(f"return self.right(x)  # {number}")
        spans.append(judged(judge, f"A/A {number}", one).timing.speedups["eager"])
    assert sum(span.low <= 1.0 <= span.high for span in spans) >= 4, spans


LARGE_WEIGHTS = """
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(*[nn.Linear(8192, 8192) for _ in range(3)])

    def forward(self, x):
        return self.layers(x)


def get_inputs():
    return [torch.rand(16, 8192)]


def get_init_inputs():
    return []
"""
STATEFUL = """
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(1024, 512)
        self.hidden = torch.randn(256, 512)

    def forward(self, x, hidden):
        self.hidden.copy_(hidden)
        self.hidden = self.hidden.to(x.device)
        self.hidden = torch.tanh(self.linear(torch.cat((x, self.hidden), dim=1)))
        return self.hidden * 2


def get_inputs():
    return [torch.rand(256, 512), torch.rand(256, 512)]


def get_init_inputs():
    return []
"""


@pytest.mark.parametrize("source, kept", [(LARGE_WEIGHTS, {"eager_graph"}), (STATEFUL, set())])
def test_a_setting_that_cannot_run_costs_the_others_nothing(source, kept):
    """A graph whose weights were freed lost the context of the process that it shares with eager
    mode, and with a module that puts tensors into itself no setting was left."""
    task = Task("library", "builtin", source)
    one = Candidate(source + "\nModelNew = Model\n", "torch")
    with Judge(task, device=Device.parse("cuda"), settings=Settings(device="cuda")) as opened:
        evaluation = judged(opened, "the reference", one)
        print(f"  {opened.baseline_ns} {opened.dropped}")
        assert evaluation.passed and {"eager", "compile"} <= set(opened.baseline_ns)
        assert kept <= set(opened.baseline_ns) and not any(
            "illegal" in w for w in opened.dropped.values()
        )
