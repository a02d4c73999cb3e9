"""Structures recognise a task under other names, sizes and spellings."""

import pytest

from kernelwright.core.errors import TaskError
from kernelwright.core.task import Task
from kernelwright.loaders.structure import KnownStructures, structure
from kernelwright.loaders.trace import trace
from kernelwright.suites.suite import builtin_suite

HEAD = "import torch\nimport torch.nn.functional as F\nfrom torch import nn\n"


def task(forward: str, *, init: str = "", inputs: str = "torch.randn(8, 16)", given: str = "x"):
    body = "\n        ".join(["super().__init__()", *filter(None, init.split("; "))])
    lines = "\n        ".join(forward.split("; "))
    return Task(forward, "composed", f"""{HEAD}
class Model(nn.Module):
    def __init__(self):
        {body}
    def forward(self, {given}):
        {lines}
def get_inputs():
    return [{inputs}]
def get_init_inputs():
    return []
""")  # fmt: skip


LINEAR = "self.fc = nn.Linear(16, 4)"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (task("return torch.relu(x) * 2"), task("return 3.5 * F.relu(x)")),
        (task("return torch.relu(x)"), task("return torch.relu(v)", inputs="torch.rand(3, 5, 7)",
                                            given="v")),
        (task("return torch.sin(x) + y", given="x, y", inputs="torch.rand(2), torch.rand(2)"),
         task("a = torch.sin(q); return p + a", given="p, q",
              inputs="torch.rand(2), torch.rand(2)")),
        (task("return torch.tanh(self.fc(x))", init=LINEAR),
         task("return torch.tanh(x @ self.w.t() + self.b)",
              init="self.w = nn.Parameter(torch.randn(4, 16)); "
              "self.b = nn.Parameter(torch.randn(4))")),
        (task("return F.silu(x).sum(-1)"), task("return (x * torch.sigmoid(x)).sum(dim=1)")),
        (task("return (x - 2).exp()"), task("return torch.exp(x + 1)")),
        (task("return F.max_pool2d(x, 2).sin()", inputs="torch.randn(2, 3, 8, 8)"),
         task("return F.max_pool3d(x, 2).sin()", inputs="torch.randn(2, 3, 8, 8, 8)")),
        (task("y = x.exp(); y.mul_(x); return y"), task("return x * x.exp()")),
    ],
)  # fmt: skip
def test_names_sizes_numbers_and_spelling_do_not_matter(one, other):
    assert structure(one).repeats(structure(other))
    assert KnownStructures([one]).repeated_by(structure(other)) == one.name


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (task("return torch.relu(x)"), task("return torch.tanh(x)")),
        (task("return torch.relu(x).sum(-1)"), task("return torch.relu(x.sum(-1))")),
        (task("return x.sum(-1)"), task("return x.sum(-1).exp()")),
        (task("return x / y", given="x, y", inputs="torch.rand(2), torch.rand(2)"),
         task("return x * y", given="x, y", inputs="torch.rand(2), torch.rand(2)")),
        (task("return torch.relu(self.fc(x))", init=LINEAR),
         task("return torch.relu(self.fc(x).sum(-1))", init=LINEAR)),
    ],
)  # fmt: skip
def test_a_different_computation_has_a_different_structure(one, other):
    assert not structure(one).repeats(structure(other))
    assert structure(one).digest != structure(other).digest


def test_a_long_chain_with_one_more_step_counts_as_a_repeat():
    steps = "x.sin().exp().tanh().abs().sqrt().cos()"
    longer = structure(task(f"return {steps}.sigmoid()"))
    assert longer.repeats(structure(task(f"return {steps}")))


def test_no_built_in_task_repeats_another():
    found = {entry.name: structure(entry.task) for entry in builtin_suite(size="small")}
    assert all(each.trace for each in found.values())
    pairs = [(a, b) for a in found for b in found if a < b and found[a].repeats(found[b])]
    assert pairs == []


def test_tracing_a_task_allocates_no_memory():
    followed = trace(task("return (x @ x).sum()", inputs="torch.randn(1 << 20, 1 << 20)"))
    assert followed.flops == 2 * (1 << 60)
    assert followed.least_bytes == 4 * (1 << 40) + 4


def test_a_task_that_depends_on_values_is_compared_by_its_text():
    loop = "while x.sum() > 1:; x = x * 0.5; return x".replace("; x =", "\n            x =", 1)
    one = task(loop.replace(":\n", ":\n", 1))
    with pytest.raises(TaskError, match="cannot be traced"):
        trace(one)
    found = structure(one)
    assert found.trace is None
    assert found.repeats(structure(task(loop.replace("0.5", "0.25"), inputs="torch.rand(3)")))
    assert not found.repeats(structure(task("return x * 0.5")))
