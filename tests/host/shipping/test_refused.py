"""Exports that cannot be: one clear error each, exit code 2, and nothing half-written."""

from dataclasses import replace

import pytest
from tests.host.shipping.conftest import emitted, receipt_of
from tests.null.archive.nouns import verdict

import kernelwright as kw
from kernelwright.archive import Archive
from kernelwright.core.candidate import Candidate, Proposal
from kernelwright.core.outcome import Status
from kernelwright.core.settings import Settings
from kernelwright.core.task import Workload
from kernelwright.search.result import Result

BROKEN = """
import torch
from torch import nn


class Norm(nn.Module):
    def forward(self, x):
        return torch.softmax(x * 2, -1) * x.sigmoid()


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = Norm()

    def forward(self, x):
        if x.sum() > 0:
            return self.norm(x)
        return self.norm(-x)


def get_inputs():
    return [torch.rand(64, 128)]


def get_init_inputs():
    return []
"""
PARTS = """
from torch import nn


class ModelNew(nn.Module):
    def __init__(self, width, slope):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width))
        self.kernel = compiled()

    def forward(self, x):
        return self.kernel(x, self.weight)
"""


def refused(folder, what, **asked):
    """The error of an export that must leave its folder empty."""
    with pytest.raises(kw.KernelwrightError) as error:
        kw.export(what, **{"to": "op", "out": folder / "out"} | asked)
    assert error.value.exit_code == 2 and error.value.do
    assert not list(folder.iterdir())
    return str(error.value)


@pytest.mark.parametrize("to", ["op", "hf", "fib"])
def test_a_win_of_the_library_is_not_exported(task, tmp_path, to):
    result = Result(task, None, None, [], "compile", None, "unused")
    assert "nothing was judged" in refused(tmp_path, result, to=to)
    library = receipt_of(task, Candidate("import torch", "torch"))
    assert "only calls the library" in refused(tmp_path, library, to=to)


def test_the_best_of_an_archive_in_which_the_library_won_is_not_exported(task, tmp_path):
    archive = tmp_path / "archive.sqlite"
    with Archive(archive) as opened:
        opened.add_task(task)
        opened.finish_run(opened.start_run(task, Settings()))
    out = tmp_path / "out"
    with pytest.raises(kw.KernelwrightError, match=r"there is no kernel of \w+ to export"):
        kw.export("best", to="op", out=out, archive=str(archive))
    assert not out.exists()


def test_a_kernel_that_older_emitters_wrote_is_not_exported(task, receipt, tmp_path):
    archive = tmp_path / "archive.sqlite"
    workload = Workload(task.digest, (("float32", (64, 128)),))
    with Archive(archive) as opened:
        opened.add_task(task, [workload])
        run = opened.start_run(task, Settings())
        opened.add_proposal(run, Proposal(receipt.candidate, "rules", schedule={}))
        opened.add_evaluation(run, replace(receipt.evaluation, workload=workload.digest))
    with pytest.raises(kw.KernelwrightError, match="an older version wrote"):
        kw.export(receipt.candidate.digest, to="op", out=tmp_path / "out", archive=str(archive))


def test_a_kernel_that_did_not_pass_is_not_exported(task, receipt, tmp_path):
    found = verdict(receipt.candidate, Status.WRONG_VALUES, task=task.digest)
    assert "wrong_values" in refused(tmp_path, replace(receipt, evaluation=found))


@pytest.mark.parametrize(
    ("name", "seen"),
    [
        ("aten", "operators under torch.ops.aten"),
        ("json", "standard library"),
        ("numpy", "an installed package"),
        ("class", "class"),
        ("My-Gate", "My-Gate"),
    ],
)
def test_a_name_that_is_taken_or_none_is_refused(receipt, tmp_path, name, seen):
    assert seen in refused(tmp_path, receipt, name=name)


def test_a_license_is_an_spdx_expression(receipt, tmp_path):
    assert "SPDX" in refused(tmp_path, receipt, license="mine, all mine")


def test_a_folder_that_holds_something_stays_as_it_is(receipt, tmp_path):
    (tmp_path / "mine.txt").write_text("precious")
    with pytest.raises(kw.KernelwrightError, match="is there already"):
        kw.export(receipt, to="hf", out=tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_forward_that_needs_its_own_constructor_is_no_layer(task, tmp_path):
    handmade = receipt_of(task, Candidate(f"import torch\n{PARTS}", "cpp"))
    assert "needs kernel" in refused(tmp_path, handmade, to="hf")
    assert "torch.library" in refused(tmp_path, handmade, to="op")


def test_parts_of_a_module_are_no_layer_but_a_package(tmp_path_factory, tmp_path):
    path = tmp_path_factory.mktemp("tasks") / "broken.py"
    path.write_text(BROKEN)
    task = kw.load(path)
    receipt = receipt_of(task, emitted(task))
    assert "only parts of it are kernels" in refused(tmp_path, receipt, to="hf")
    package = kw.export(receipt, to="op", out=tmp_path / "out")
    assert (package / "src/broken/kernel.py").exists()
