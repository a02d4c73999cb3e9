"""A module that trains otherwise than it evaluates has kernels for the mode that is asked for."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from tests.host.compiler.test_candidates import cache_folder, proposals
from tests.host.compiler.test_misses import result_for

import kernelwright as kw
from kernelwright import api
from kernelwright.compiler.candidate.parts import computes_the_same_in_both_modes
from kernelwright.core.errors import TaskError, UsageError
from kernelwright.core.task import Task

__all__ = ["cache_folder"]

TEXT = """
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(16)

    def forward(self, x):
        return torch.relu(self.norm(x)) * 2 + 1


def get_inputs():
    return [torch.randn(8, 16)]


def get_init_inputs():
    return []
"""
TASK = Task("example", "folder", TEXT)
X = torch.randn(8, 16)


@pytest.mark.parametrize("mode", ["eval", "train"])
def test_the_file_serves_the_mode_that_was_asked_for(tmp_path, mode) -> None:
    found = result_for(TASK.in_mode(mode), tmp_path)
    assert found.mode == mode
    built = kw.build(found, on_miss="raise")
    assert built.training == (mode == "train")
    with torch.no_grad():
        built(X)
        with pytest.raises(RuntimeError, match=r"self\.training"):
            built.train(mode == "eval")(X)


def test_results_for_both_modes_make_one_module(tmp_path) -> None:
    results = [result_for(TASK.in_mode(mode), tmp_path) for mode in ("eval", "train")]
    built = kw.build(results, on_miss="raise")
    same = kw.build(results)
    with torch.no_grad():
        for mode in (True, False, True):
            built.train(mode)
            same.train(mode)
            torch.testing.assert_close(built(X), same.forward.own(X))
    torch.testing.assert_close(built.state_dict(), same.state_dict())


def test_modes_are_only_apart_where_they_differ(tmp_path) -> None:
    plain = TEXT.replace("self.norm(x)", "x")
    assert not computes_the_same_in_both_modes(TASK)
    assert not computes_the_same_in_both_modes(TASK.in_mode("eval"))
    same = Task("example", "folder", plain.replace("nn.BatchNorm1d(16)", "nn.Identity()"))
    assert computes_the_same_in_both_modes(same)
    assert result_for(same, tmp_path).mode == ""


def test_a_mode_is_part_of_the_task() -> None:
    asked = TASK.in_mode("eval")
    assert asked.mode == "eval" and asked.digest != TASK.digest
    assert asked.in_mode("") is asked.in_mode("eval") is asked
    for task, mode in ((asked, "train"), (TASK, "evaluate")):
        with pytest.raises(UsageError, match="cannot be judged in"):
            task.in_mode(mode)


def test_the_judge_puts_candidates_and_baselines_into_the_mode(tmp_path) -> None:
    """Dropout makes the reference random in training mode, and the identity in evaluation."""
    text = TEXT.replace("nn.BatchNorm1d(16)", "nn.Dropout(0.5)")
    path = tmp_path / "dropout.py"
    path.write_text(text)
    candidate = tmp_path / "candidate.py"
    candidate.write_text(text.partition("def get_inputs")[0].replace("Model", "ModelNew"))
    found = kw.judge(path, candidate, mode="eval", timed=False)
    assert found.passed, found.why
    assert proposals(kw.load(path).in_mode("eval"))


def test_a_mode_that_cannot_be_judged_leaves_the_other_its_kernels(tmp_path, monkeypatch) -> None:
    def searched(task, settings, on_progress):
        if settings.mode == "train":
            raise TaskError("the reference is not deterministic")
        return replace(result_for(task, tmp_path), archive_url=settings.archive)

    monkeypatch.setattr(api, "_searched", searched)
    places = {"archive": str(tmp_path / "a.sqlite"), "out": str(tmp_path)}
    found = kw.optimize(TASK, mode="both", **places)
    assert found.mode == "eval" and isinstance(found.other.error, TaskError)
    built = kw.build(found, on_miss="raise")
    with torch.no_grad():
        built.eval()(X)
    monkeypatch.setattr(api, "MODES", ("train", "eval"))
    with pytest.raises(TaskError, match="not deterministic"):  # nothing was found before
        kw.optimize(TASK, mode="both", **places)
