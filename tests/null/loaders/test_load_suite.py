import ast

import pytest
import torch
from benchmarks.suite_controls import CONTROLS, control

from kernelwright.core.errors import TaskError, UsageError
from kernelwright.loaders import open_reference
from kernelwright.suites.suite import builtin_suite, kernelbench_suite

PROBLEM = "from torch import nn\nclass Model(nn.Module): ...\n"


@pytest.fixture
def checkout(tmp_path):
    for level, names in ((1, ("10_Relu", "2_Gemm")), (2, ("1_Conv",))):
        folder = tmp_path / "KernelBench" / f"level{level}"
        folder.mkdir(parents=True)
        for name in names:
            (folder / f"{name}.py").write_text(PROBLEM)
    return tmp_path


def test_every_built_in_task_opens_at_the_size_for_its_device():
    for device, size in (("cpu", "cpu"), ("cuda:sm_90", "gpu")):
        for entry in builtin_suite(device):
            assert open_reference(entry.task).namespace["SIZE"] == size


@pytest.mark.parametrize("entry", builtin_suite(size="small"), ids=lambda entry: entry.name)
def test_every_built_in_task_runs_and_varies_with_its_inputs(entry):
    reference = open_reference(entry.task)
    module = reference.build(0)
    with torch.no_grad():
        first, second = (module(*reference.inputs(seed)) for seed in (1, 2))
    assert first.isfinite().all() and not torch.equal(first, second)


def test_an_unknown_size_names_the_nearest():
    with pytest.raises(UsageError, match='did you mean "small"'):
        builtin_suite(size="smal")


def test_every_built_in_task_has_a_right_and_a_wrong_candidate():
    names = [entry.name for entry in builtin_suite()]
    assert len(names) >= 16
    for name in names:
        for which in CONTROLS:
            tree = ast.parse(control(name, which).read_text())
            classes = [node.name for node in tree.body if isinstance(node, ast.ClassDef)]
            assert classes == ["ModelNew"] and ast.get_docstring(tree)


def test_problems_come_by_level_in_their_numbers_order(checkout):
    entries = kernelbench_suite(checkout, [1, 2])
    assert [(e.level, e.problem, e.name) for e in entries] == [
        ("1", 2, "2_Gemm"), ("1", 10, "10_Relu"), ("2", 1, "1_Conv"),
    ]  # fmt: skip
    assert entries[0].task.source == PROBLEM


def test_problems_can_be_chosen(checkout):
    assert [e.problem for e in kernelbench_suite(checkout, [1], problems=[10])] == [10]
    with pytest.raises(TaskError, match="no such problem"):
        kernelbench_suite(checkout, [1], problems=[3])


def test_the_folder_of_levels_itself_is_accepted(checkout):
    assert len(kernelbench_suite(checkout / "KernelBench", [2])) == 1


def test_a_folder_that_is_no_checkout_is_an_error(checkout, tmp_path):
    with pytest.raises(TaskError, match="no such folder"):
        kernelbench_suite(tmp_path / "nowhere")
    with pytest.raises(TaskError, match=r"(?s)not a KernelBench checkout.*git clone"):
        kernelbench_suite(checkout / "KernelBench" / "level1")
    with pytest.raises(TaskError, match=r"(?s)no level 3.*level1, level2"):
        kernelbench_suite(checkout)
