"""The library's compiler works on several kernels of a large network at a time, in its sandbox."""

from types import SimpleNamespace

import pytest
from tests.host.judge.one_child import begin, call

from kernelwright.judge.baselines.starting import MANY_WEIGHTS, MOST_COMPILERS, SettingStarter
from kernelwright.judge.sandbox.compiling import NICENESS
from kernelwright.judge.sandbox.fork_server import ForkServer
from kernelwright.judge.sandbox.isolation import ChildOptions
from kernelwright.judge.sandbox.program import LibrarySetup

SOURCE = """
import os

import torch
from torch._inductor import config
from torch._inductor.async_compile import AsyncCompile

from kernelwright.judge.sandbox.compiling import compile_side_by_side


class ModelNew(torch.nn.Module):
    def forward(self, what):
        if what == "compile without its program":
            AsyncCompile.process_pool = None
        if what != "say how many":
            compile_side_by_side(3, torch.device("cuda"))
        if what != "compile in its program":
            return config.compile_threads
        AsyncCompile.wait_pool_ready(60)
        pool = AsyncCompile.process_pool()
        assert AsyncCompile.use_process_pool() and config.compile_threads == 3
        assert pool.submit(os.getpid).result(60) != os.getpid()
        return pool.submit(os.nice, 0).result(60)
"""


@pytest.fixture(scope="module")
def server():
    server = ForkServer({}, threads=2)
    yield server
    server.close()


@pytest.mark.parametrize(
    ("what", "answer"), [("compile in its program", NICENESS), ("compile without its program", 1)]
)
def test_the_compilers_program_runs_in_the_sandbox(server, tmp_path, what, answer):
    """Inductor starts it for a GPU only, and compiles one kernel after the other without it."""
    child = begin(server, SOURCE, LibrarySetup(), ChildOptions(cache=tmp_path))
    assert call(child, what) == {"plain": answer}
    child.close()


@pytest.mark.parametrize("n", [1, 2])
def test_a_setting_that_compiles_is_told_how_many_kernels_at_a_time(server, tmp_path, n):
    setup = LibrarySetup(compile={"disable": True}, compilers=n)
    child = begin(server, SOURCE, setup, ChildOptions(cache=tmp_path))
    assert call(child, "say how many") == {"plain": n}
    child.close()


@pytest.mark.parametrize(
    ("n_weights", "threads", "n"),
    [(MANY_WEIGHTS - 1, 8, 1), (MANY_WEIGHTS, 8, MOST_COMPILERS), (MANY_WEIGHTS, 2, 2)],
)
def test_only_networks_of_many_kernels_are_compiled_side_by_side(n_weights, threads, n):
    task = SimpleNamespace(step_of=None)
    oracle = SimpleNamespace(state=lambda weights: dict.fromkeys(range(n_weights)))
    starter = SettingStarter(task, oracle, SimpleNamespace(threads=threads), [])
    assert starter.n_compilers == n
