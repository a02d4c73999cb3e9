"""A search for a task that lists shapes: every shape is judged and timed, held-out ones too."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from tests.null.shown import shown

import kernelwright as kw
from kernelwright.archive import Archive
from kernelwright.console import answers
from kernelwright.core.candidate import Candidate
from kernelwright.core.errors import TaskError
from kernelwright.report.choice import best_of, chosen_task

CHAIN = '''
import torch
from torch import nn


class Chain(nn.Module):
    def forward(self, x):
        y = torch.tanh(x * 0.5) * x + x.exp().neg().exp()
        return (y * y + 1.0).log() * torch.sigmoid(y) - y.abs().sqrt()


class Whole(nn.Module):
    """One result of all rows, in halves."""

    def forward(self, x):
        return x.view(2, -1).sum(1)
'''


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, only_eager: None) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("chain.py").write_text(CHAIN)
    return tmp_path


@pytest.mark.slow
def test_every_shape_of_a_range_is_judged_and_timed(folder: Path) -> None:
    result = kw.optimize(
        "chain.py:Chain", ["float32[8..1024,64]"], budget_s=9, dialects=("cpp",), threads=1
    )
    names = [at.name for at in result.by_shape]
    assert names == ["1024x64", "91x64", "8x64", "517x64", "1023x64"]
    assert [at.is_holdout for at in result.by_shape] == [False] * 3 + [True] * 2
    assert all(at.evaluation.passed and at.evaluation.timing for at in result.by_shape)
    assert len({at.evaluation.task for at in result.by_shape}) == 5
    assert result.mean_speedup is not None and result.mean_speedup > 1
    assert "n_batch" in result.said_of_sizes
    answer = answers.one_result(result)
    told = json.loads(json.dumps(answer.facts))
    assert [shape["name"] for shape in told["shapes"]] == names
    assert told["geometric_mean"] == result.mean_speedup
    assert result.report_path is not None and "held out" in result.report_path.read_text()
    with Archive(result.archive_url) as archive:
        task = chosen_task(archive, None)
        assert task.digest == result.task.digest
        best = best_of(archive, task)
        assert best is not None and result.best is not None
        assert best[0].candidate.digest == result.best.candidate.digest
    fast = kw.build(result, on_miss="raise")
    with torch.no_grad():
        for n in (8, 91, 1024, 517, 3):
            fast(torch.randn(n, 64))


@pytest.mark.parametrize(
    ("target", "spec", "why"),
    [
        ("Chain", "float32[64,1..32]", "n_batch from 1"),
        ("Whole", "float32[2..64,64]", "row by row"),
    ],
)
def test_a_range_that_no_kernel_can_serve_is_an_error(
    folder: Path, target: str, spec: str, why: str
) -> None:
    with pytest.raises(TaskError, match="no kernel can serve this range") as caught:
        kw.optimize(f"chain.py:{target}", [spec], budget_s=5, dialects=("cpp",))
    assert why in caught.value.seen and caught.value.exit_code == 2
    assert not list(folder.glob("kernelwright-out/*"))


def test_judge_times_every_shape_that_the_task_lists(folder: Path) -> None:
    Path("own.py").write_text(CHAIN.replace("class Chain", "class ModelNew"))
    by_shape = kw.judge_by_shape(
        "chain.py:Chain", "own.py", inputs=["float32[64|8,64]"], receipt="receipt.json", threads=1
    )
    assert [at.name for at in by_shape] == ["64x64", "8x64"]
    assert all(at.evaluation.passed and at.evaluation.timing for at in by_shape)
    assert kw.Receipt.read(Path("receipt.json")).evaluation == by_shape[0].evaluation
    answer = answers.verdict(by_shape, Candidate("", "torch"))
    assert [shape["name"] for shape in answer.facts["shapes"]] == ["64x64", "8x64"]
    assert answer.facts["geometric_mean"] and "8x64" in shown(answer)
    Path("own.py").write_text(CHAIN.replace("class Chain", "class ModelNew").replace("0.5", "0.6"))
    (failed,) = kw.judge_by_shape("chain.py:Chain", "own.py", inputs=["float32[64|8,64]"])
    assert not failed.evaluation.passed
