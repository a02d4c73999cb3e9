"""What is slow to work out about a task is kept on disk, and used only where it still holds."""

from __future__ import annotations

import os
import time

import pytest
import torch

from kernelwright.core.outcome import Warned, WarningCode
from kernelwright.core.task import Task
from kernelwright.judge.checks import TASK, Draw
from kernelwright.judge.checks.registry import CHECKS
from kernelwright.judge.compare.expected import Expected, Output
from kernelwright.judge.reference import setup_store
from kernelwright.judge.reference.oracle import Oracle
from kernelwright.judge.reference.setup_store import SECRET, SetupStore, StoredExpectation

SLOW = """
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.rand(256))

    def forward(self, x):
        y = x
        for _ in range(5):
            y = torch.tanh(x @ y / 16) * self.scale
        return y.sum(dim=1)


def get_inputs():
    return [torch.rand(256, 256)]


def get_init_inputs():
    return []
"""
DRAW = Draw(CHECKS["centred"], 5)
GIVEN = [torch.arange(6.0), torch.ones(2, dtype=torch.bool)]


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def store(source=SLOW, **facts):
    return SetupStore.of(Task("slow", "test", source), {"torch": "2", **facts})


def expectation(value=1.0):
    exact = torch.full((3,), value, dtype=torch.float64)
    output = Output(exact, exact.float(), exact, torch.ones(3, dtype=torch.bool), 0.5, jumps=None)
    return Expected((output,), warnings=(Warned(WarningCode.VARIES, "a little"),))


def keep(kept, took_s=1.0, expected=None, n_namings=2):
    kept.keep(DRAW, GIVEN, StoredExpectation(expected or expectation(), n_namings), took_s)


def test_a_second_judge_of_a_task_works_out_nothing_that_the_first_one_has(monkeypatch):
    monkeypatch.setattr(setup_store, "LEAST_S", 0.0)  # a slow machine is not asked for
    draw, seconds, found = Draw(CHECKS["centred"], 7), [], []
    for _ in range(2):
        kept = store()
        oracle = Oracle(Task("slow", "test", SLOW), "cpu", kept.secret, store=kept)
        arguments = oracle.inputs.kept(draw)
        before_s = oracle.expectations.spent.seconds
        found.append(oracle.expectations.of(draw, arguments))
        seconds.append(oracle.expectations.spent.seconds - before_s)
    assert seconds[0] > 0 and seconds[1] == 0
    assert torch.equal(found[0].outputs[0].exact, found[1].outputs[0].exact)


def test_what_is_kept_comes_back_as_it_was():
    first = store()
    keep(first)
    again = store()
    found = again.read(DRAW, GIVEN, "cpu")
    assert again.secret == first.secret and found.n_namings == 2
    [output], [usual] = found.expected.outputs, expectation().outputs
    assert torch.equal(output.exact, usual.exact) and torch.equal(output.finite, usual.finite)
    assert (output.allowed, output.jumps) == (0.5, None)
    assert found.expected.warnings == expectation().warnings


def test_that_the_reference_has_no_answer_is_kept_too():
    kept = store()
    kept.keep(DRAW, GIVEN, StoredExpectation(None, 3), 1.0)
    assert store().read(DRAW, GIVEN, "cpu") == StoredExpectation(None, 3)


@pytest.mark.parametrize("given", [[torch.arange(6.0) + 1, GIVEN[1]], [GIVEN[0]]])
def test_other_inputs_or_weights_find_nothing(given):
    keep(store())
    assert store().read(DRAW, given, "cpu") is None


def test_another_environment_text_or_draw_finds_nothing():
    keep(store())
    assert store(torch="3").read(DRAW, GIVEN, "cpu") is None
    assert store(SLOW + "#").read(DRAW, GIVEN, "cpu") is None
    assert store().read(Draw(TASK, 5), GIVEN, "cpu") is None


def test_nothing_is_kept_that_is_quickly_worked_out_or_large_for_its_time():
    kept = store()
    keep(kept, took_s=0.01)
    large = torch.zeros(1 << 20, dtype=torch.float64)
    keep(kept, took_s=0.07, expected=Expected((Output(large, large, large, None, 0.5),)))
    assert store().secret != kept.secret


def test_half_a_file_is_nothing(tmp_path):
    keep(store())
    [path] = [at for at in tmp_path.rglob("*") if at.is_file() and at.name != SECRET]
    path.write_bytes(path.read_bytes()[:100])
    assert store().read(DRAW, GIVEN, "cpu") is None


def test_the_secret_is_drawn_anew_after_some_days(tmp_path):
    first = store()
    keep(first)
    [secret] = tmp_path.rglob(SECRET)
    old_s = time.time() - setup_store.LASTS_S - 60
    os.utime(secret, (old_s, old_s))
    again = store()
    assert again.secret != first.secret and again.read(DRAW, GIVEN, "cpu") is None


def test_no_other_user_can_look_into_the_folder(tmp_path):
    keep(store())
    [secret] = tmp_path.rglob(SECRET)
    assert secret.parent.stat().st_mode & 0o077 == 0


def test_tasks_that_import_the_users_files_are_not_kept():
    task = Task("slow", "test", SLOW, import_roots=("/home/me",))
    kept = SetupStore.of(task, {})
    keep(kept)
    assert SetupStore.of(task, {}).read(DRAW, GIVEN, "cpu") is None


def test_what_was_not_used_for_longest_goes_first(monkeypatch, tmp_path):
    folders = []
    for number in range(3):
        keep(store(f"{SLOW}# {number}"))
        [folder] = {at.parent for at in tmp_path.rglob(SECRET)} - {*folders}
        os.utime(folder, (1e9 + number, 1e9 + number))
        folders.append(folder)
    n_bytes = sum(at.stat().st_size for at in folders[0].iterdir())
    monkeypatch.setattr(setup_store, "MOST_BYTES", int(n_bytes * 2.5))
    store("other")
    assert [folder.exists() for folder in folders] == [False, True, True]
