"""Triton through its interpreter, where a fork_server has imported it without."""

import pytest

from kernelwright.core.candidate import Candidate
from kernelwright.core.task import Task
from kernelwright.judge import Judge, SharedForkServerProcess


def test_triton_is_interpreted_though_a_shared_fork_server_has_imported_it():
    pytest.importorskip("triton")
    code = (
        "import torch, triton, triton.language as tl\n"
        "@triton.jit\n"
        "def kernel(x, out, n: tl.constexpr):\n"
        "    at = tl.arange(0, n)\n"
        "    tl.store(out, tl.sum(tl.load(x + at), 0))\n"
        "class ModelNew(torch.nn.Module):\n"
        "    def forward(self, x):\n"
        "        out = torch.empty(1)\n"
        "        kernel[(1,)](x, out, 8)\n"
        "        return out\n"
    )
    reference = (
        "import torch\n"
        "class Model(torch.nn.Module):\n"
        "    def forward(self, x):\n"
        "        return x.sum(0, keepdim=True)\n"
        "def get_inputs():\n"
        "    return [torch.randn(8)]\n"
        "def get_init_inputs():\n"
        "    return []\n"
    )
    with (
        SharedForkServerProcess() as fork_server,
        Judge(Task("sum", "test", reference), fork_server=fork_server) as judge,
    ):
        found = judge.evaluate(Candidate(code, "triton"), timed=False)
    assert found.passed, found.why
