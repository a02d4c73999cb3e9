import os

import pytest
import torch

from kernelwright.core.errors import DeviceError, TaskError
from kernelwright.loaders import check, load, open_reference
from kernelwright.loaders.kernelbench import read_source
from kernelwright.loaders.plain import flatten
from kernelwright.loaders.reference import MISFIT, task_code

GOOD = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, 3)
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        print("talk")
        return self.drop(self.linear(x))

print("more talk")

def get_inputs():
    return [torch.randn(4, 8)]

def get_init_inputs():
    return [8]
"""

BROKEN = {
    "syntax": (GOOD + "\nclass (:\n", "does not import", "SyntaxError.*class \\("),
    "import": ("import no_such_package\n" + GOOD, "does not import", "no_such_package.*line 1"),
    "exit": (GOOD + "\nraise SystemExit(3)\n", "does not import", "SystemExit"),
    "no model": (GOOD.replace("class Model", "class Net"), "has no Model", "Net"),
    "not a module": (GOOD.replace("(nn.Module)", ""), "not an nn.Module", "class"),
    "no inputs": (GOOD.replace("def get_inputs", "def make"), "has no get_inputs", "Model"),
    "no init": (GOOD.replace("def get_init", "def make"), "has no get_init_inputs", "Model"),
}

UNFIT = {
    "no values": (GOOD.replace("[torch.randn(4, 8)]", "[]"), "get_inputs returns nothing"),
    "not a list": (GOOD.replace("[torch.randn(4, 8)]", "None"), "does not return a list"),
    "fails": (GOOD.replace("torch.randn(4, 8)", "1 / 0"), r"get_inputs\(\) fails"),
    "shape": (GOOD.replace("randn(4, 8)", "randn(4, 9)"), "inputs do not fit the forward"),
    "count": (GOOD.replace("randn(4, 8)", "randn(4, 8), 1"), "inputs do not fit the forward"),
    "gradients": (
        GOOD.replace("return self.drop", "return torch.autograd.grad(x.sum(), x)[0] + self.drop"),
        "the forward computes gradients, but kernels are judged without gradients",
    ),
    "constructor": (GOOD.replace("[8]", "[8, 9]"), r"Model\(\*get_init_inputs\(\)\) fails"),
    "result": (
        GOOD.replace("return self.drop", "return (lambda y: float(y.sum()))"),
        "result cannot be compared",
    ),
}


def written(folder, text, name="task.py"):
    path = folder / name
    path.write_text(text)
    return path


def test_text_is_kept_and_prints_go_where_the_users_go(tmp_path, capsys):
    task = load(written(tmp_path, GOOD))
    workload = check(task)
    assert (task.source, task.name, task.origin) == (GOOD, "task", "kernelbench")
    assert workload.shapes == (("float32", (4, 8)),)
    captured = capsys.readouterr()
    assert "talk" in captured.out and captured.err == ""


def test_reference_follows_its_seed_and_not_the_process(tmp_path):
    reference = open_reference(load(written(tmp_path, GOOD)))
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    first, again, other = (reference.build(seed).linear.weight for seed in (1, 1, 2))
    assert torch.equal(torch.rand(3), expected)
    assert torch.equal(first, again) and not torch.equal(first, other)
    assert torch.equal(*(reference.inputs(seed)[0] for seed in (1, 1)))
    assert not torch.equal(*(reference.inputs(seed)[0] for seed in (1, 2)))
    assert reference.build(0).training


def test_nested_inputs_and_results_are_taken(tmp_path):
    text = GOOD.replace("def forward(self, x):", "def forward(self, pair):\n        x, y = pair")
    text = text.replace("return self.drop", "return y, [x]\n        self.drop")
    text = text.replace("[torch.randn(4, 8)]", "[(torch.randn(4, 8), torch.randn(2))]")
    assert check(load(written(tmp_path, text))).shapes == (("tuple", ()),)


@pytest.mark.parametrize(
    "drawn",
    ["torch.randn(4, 8, generator=torch.Generator())", "torch.tensor(torch.randn(4, 8).numpy())"],
)
def test_inputs_that_only_a_cpu_can_draw_are_moved_to_the_device(tmp_path, drawn):
    task = load(written(tmp_path, GOOD.replace("torch.randn(4, 8)", drawn)))
    (x,) = open_reference(task).inputs(3, "meta")  # like a GPU, it has other generators
    assert x.device.type == "meta" and x.shape == (4, 8)


def test_a_file_beside_it_can_be_imported(tmp_path):
    written(tmp_path, "WIDTH = 8\n", "sizes_beside.py")
    task = load(written(tmp_path, "from sizes_beside import WIDTH\n" + GOOD))
    assert open_reference(task).namespace["WIDTH"] == 8


@pytest.mark.parametrize("target", ["pipe.py", "pipe.py:Model", "endless.py"])
def test_a_pipe_or_device_is_refused_without_waiting(tmp_path, target):
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "endless.py").symlink_to("/dev/zero")
    with pytest.raises(TaskError, match=r"cannot be read\n.*it is no regular file"):
        load(str(tmp_path / target), inputs=["3"] if ":" in target else None)


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_file_is_one_error_when_it_is_loaded(tmp_path, case):
    text, what, seen = BROKEN[case]
    with pytest.raises(TaskError, match=what) as caught:
        load(written(tmp_path, text))
    assert caught.match(f"(?s){seen}")
    assert caught.value.do


@pytest.mark.parametrize("case", UNFIT)
def test_inputs_that_do_not_fit_are_an_error_at_the_check(tmp_path, case):
    text, what = UNFIT[case]
    task = load(written(tmp_path, text))
    with pytest.raises(TaskError, match=what) as caught:
        check(task)
    assert caught.value.do


def test_a_kernelwright_error_is_not_wrapped(tmp_path):
    task = load(written(tmp_path, GOOD))
    result = {"logits": torch.zeros(1), "loss": 0.5}
    with pytest.raises(TaskError) as caught, task_code(task, *MISFIT):
        flatten(result)
    assert caught.value.what == "the forward's result cannot be compared"
    assert caught.value.seen == "float" and caught.value.__cause__ is None


def test_a_result_nested_too_deep_is_the_tasks_fault():
    """A candidate's result nested as deeply would be refused as well."""
    result = torch.zeros(1)
    for _ in range(8):
        result = [result]
    assert len(flatten(result)) == 1
    with pytest.raises(TaskError, match="is nested more than 8 deep"):
        flatten([result])


def test_an_absent_package_is_named_with_its_remedy(tmp_path):
    with pytest.raises(TaskError, match="pip install no_such_package"):
        load(written(tmp_path, "import no_such_package.part\n" + GOOD))


def test_too_little_memory_is_the_machine_s_fault(tmp_path):
    text = GOOD.replace("torch.randn(4, 8)", "torch.empty(1 << 50)")
    with pytest.raises(DeviceError, match="does not fit in memory"):
        open_reference(load(written(tmp_path, text))).inputs(0)


def test_a_missing_file_names_the_nearest(tmp_path):
    written(tmp_path, GOOD, "softmax.py")
    with pytest.raises(TaskError, match=r"no such file.*(?s:.*)did you mean .*softmax\.py"):
        load(tmp_path / "sofmax.py")


def test_a_byte_order_mark_is_removed(tmp_path):
    path = tmp_path / "marked.py"
    path.write_bytes(b"\xef\xbb\xbfx = 1\n")
    assert read_source(path) == "x = 1\n"


def test_a_file_name_that_is_not_utf8_can_be_stored(tmp_path):
    assert load(written(tmp_path, GOOD, os.fsdecode(b"t\xff.py"))).name == "t\\xff"


def test_bytes_that_are_not_text_are_refused(tmp_path):
    path = tmp_path / "task.py"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(TaskError, match="cannot be read"):
        load(path)


def test_inputs_for_a_file_that_makes_its_own_are_refused(tmp_path):
    with pytest.raises(TaskError, match=r"name a class: task\.py:Class"):
        load(written(tmp_path, GOOD), inputs=["float32[4,8]"])


@pytest.mark.parametrize("target", ["softmax", 3, None])
def test_an_unknown_target_is_an_error_that_lists_the_forms(target):
    with pytest.raises(TaskError, match=r"(?s)no loader accepts.*package\.module\.Class"):
        load(target)


def test_a_missing_file_and_a_file_of_another_type_are_different_errors(tmp_path):
    notes = tmp_path / "notes"
    with pytest.raises(TaskError, match="seen: no such file or folder"):
        load(str(notes))
    notes.write_text("")
    with pytest.raises(TaskError, match=r"seen: a file whose name does not end in \.py"):
        load(str(notes))


def test_the_error_about_a_folder_names_the_suite_option(tmp_path):
    with pytest.raises(TaskError, match=r"(?s)a folder.*--suite kernelbench"):
        load(tmp_path)
