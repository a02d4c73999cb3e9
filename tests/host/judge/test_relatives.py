"""All children of a judge have their memory from one process, whatever their environments."""

import pytest
from tests.host.relu_task import RIGHT, TASK

from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.judge import Judge
from kernelwright.judge.baselines import HUGE_PAGES
from kernelwright.judge.preparation import build

LARGE = TASK.replace("512, 512", "1024, 1024")
PAGE_BYTES = 4096


@pytest.fixture(scope="module")
def judge():
    with Judge(Task("relu", "builtin", LARGE), settings=Settings(threads=1)) as one:
        yield one


@pytest.mark.parametrize(("variables", "on_pages"), [(HUGE_PAGES, True), ({}, False)])
def test_variables_reach_a_child_before_torch_reads_them(judge, variables, on_pages):
    runner = judge.children.spawn(variables, judge.oracle.example)
    try:
        build(runner, judge.oracle, RIGHT, "ModelNew", {})
        runner.put(judge.oracle.first_arguments)
        (claim,) = runner.call(limit_s=30.0, take=False).claims
    finally:
        runner.close()
    assert (claim.address % PAGE_BYTES == 0) == on_pages


def test_they_come_from_one_zygote(judge):
    children = judge.children
    assert children.zygote(HUGE_PAGES) is children.zygote({"PATH": "/bin"}) is children.zygote({})
    assert children.zygote({"TRITON_INTERPRET": "1"}) is not children.zygote({})
