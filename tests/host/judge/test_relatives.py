"""All children of a judge have their memory from one process, whatever their environments."""

import pytest

from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.judge import Judge
from kernelwright.judge.baselines.library_settings import HUGE_PAGES
from kernelwright.judge.sandbox.isolation import ChildOptions
from kernelwright.judge.submission import build

MANY = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return tuple(torch.relu(x[: 1024 - 64 * n]) for n in range(4))
def get_inputs():
    return [torch.randn(1024, 1024)]
def get_init_inputs():
    return []
"""
"""One result of the heap may begin with a page by chance; neighbours behind headers do not."""
PAGE_BYTES = 4096


@pytest.fixture(scope="module")
def judge():
    with Judge(Task("many", "builtin", MANY), settings=Settings(threads=1)) as one:
        yield one


@pytest.mark.parametrize(("variables", "on_pages"), [(HUGE_PAGES, True), ({}, False)])
def test_variables_reach_a_child_before_torch_reads_them(judge, variables, on_pages):
    runner = judge.machine.factory.make(judge.oracle.example, ChildOptions(variables=variables))
    try:
        build(runner, judge.oracle, MANY, "Model")
        runner.put(judge.oracle.first_arguments)
        claims = runner.call(limit_s=30.0, take=False).claims
    finally:
        runner.close()
    assert len(claims) == 4
    assert all(claim.address % PAGE_BYTES == 0 for claim in claims) == on_pages


def test_they_come_from_one_fork_server(judge):
    def server(variables):
        return judge.machine.factory.fork_server(ChildOptions(variables=variables))

    assert server(HUGE_PAGES) is server({"PATH": "/bin"}) is server({})
    assert server({"TRITON_INTERPRET": "1"}) is not server({})
