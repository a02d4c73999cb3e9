"""Modules with kernels for forward and backward: they are trained like the modules themselves."""

from __future__ import annotations

import copy
import itertools
from pathlib import Path

import pytest
import torch
from tests.host.compiler.test_candidates import cache_folder
from torch import nn

import kernelwright as kw
from kernelwright.compiler.capture.joint import PARTITIONS, capture_joint
from kernelwright.core.candidate import Brief, Proposal
from kernelwright.core.device import Device
from kernelwright.core.errors import TaskError
from kernelwright.core.task import Task
from kernelwright.loaders.training_step import training_step
from kernelwright.proposers.rules import RulesProposer

__all__ = ["cache_folder"]

HEAD = """
import torch
import torch.nn.functional as F
from torch import nn

class Model(nn.Module):
"""
TAIL = """
def get_inputs():
    return [{inputs}]

def get_init_inputs():
    return [{init}]
"""
NORM = """
    def __init__(self, n):
        super().__init__()
        self.norm = nn.{kind}
        self.up = nn.Linear(n, 2 * n)

    def forward(self, x):
        return F.gelu(self.up(self.norm(x)))
"""
GATED = """
    def __init__(self, n):
        super().__init__()
        self.up, self.down = nn.Linear(n, 4 * n), nn.Linear(2 * n, n, bias=False)

    def forward(self, x):
        a, b = self.up(x).chunk(2, -1)
        return x + self.down(F.{gate}(a) * b)
"""
ROTATED = """
    def forward(self, q, cos, sin):
        a, b = q.chunk(2, -1)
        return q * cos + torch.cat([-b, a], -1) * sin
"""
RMS = """
    def __init__(self, n):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(n))

    def forward(self, x):
        return F.rms_norm(x, (x.shape[-1],), self.weight)
"""

ATTENDED = """
    def __init__(self, n):
        super().__init__()
        self.scale, self.shift = nn.Parameter(torch.rand(n)), nn.Parameter(torch.rand(n))

    def forward(self, x):
        return torch.softmax(x, -1) * self.scale + self.shift
"""


def plain(expression: str) -> str:
    """The body of a module without weights."""
    return f"\n    def forward(self, x, *others):\n        return {expression}\n"


MODULES = {
    "pointwise": (plain("torch.tanh(x * 2).exp() / (1 + x * x)"), "torch.randn(6, 10)", ""),
    "softmax": (plain("torch.softmax(x, -1)"), "torch.randn(6, 10)", ""),
    "cross_entropy": (
        plain("F.cross_entropy(x, others[0])"),
        "torch.randn(6, 10), torch.randint(0, 10, (6,))",
        "",
    ),
    "smoothed": (
        plain("F.cross_entropy(x, others[0], label_smoothing=0.1, reduction='sum')"),
        "torch.randn(6, 10), torch.randint(0, 10, (6,))",
        "",
    ),
    "layer_norm": (NORM.format(kind="LayerNorm(n)"), "torch.randn(2, 5, 10)", "10"),
    "rms_norm": (RMS, "torch.randn(2, 5, 10)", "10"),
    "scaled softmax": (ATTENDED, "torch.randn(2, 5, 10)", "10"),
    "group_norm": (
        NORM.format(kind="GroupNorm(2, 4)").replace("2 * n", "n"), "torch.randn(3, 4, 6)", "6"
    ),
    "swiglu": (GATED.format(gate="silu"), "torch.randn(2, 3, 8)", "8"),
    "geglu": (GATED.format(gate="gelu"), "torch.randn(2, 3, 8)", "8"),
    "rope": (ROTATED, "torch.randn(2, 3, 5, 8), torch.randn(5, 8), torch.randn(5, 8)", ""),
    "a view": (
        "\n    def forward(self, x):\n        return torch.tanh(x).transpose(0, 1).chunk(2)[0]\n",
        "torch.randn(6, 10)",
        "",
    ),
    "any number": (
        "\n    def forward(self, *given):\n        return given[0].exp() * given[1]\n",
        "torch.randn(6, 10), torch.randn(6, 10)",
        "",
    ),
    "several": (
        plain("(x.exp(), x.argmax(-1), [(x * x).sum(-1)], x.argmin(-1))"), "torch.randn(6, 10)", ""
    ),
}  # fmt: skip


def source(name: str, dtype: str = "") -> str:
    body, inputs, init = MODULES[name]
    set_type = f"\ntorch.set_default_dtype(torch.{dtype})\n" if dtype else ""
    return HEAD.replace("\nclass", f"{set_type}\nclass") + body + TAIL.format(
        inputs=inputs, init=init
    )  # fmt: skip


def first_proposal(step: Task, dialect: str = "cpp", variant: str = "") -> Proposal:
    brief = Brief(step, Device.parse("cpu"), (dialect,), threads=1)
    found = (p for p in RulesProposer().propose(brief) if variant in p.note)
    return next(itertools.islice(found, 1))


def pair(
    tmp_path: Path, text: str, variant: str = "", dialect: str = "cpp"
) -> tuple[nn.Module, nn.Module, list]:
    """(the module with kernels, the module, inputs)."""
    path = tmp_path / "example.py"
    path.write_text(text)
    task = kw.load(str(path))
    file = tmp_path / "candidate.py"
    file.write_text(first_proposal(training_step(task), dialect, variant).candidate.source)
    reference = kw.loaders.open_reference(task)
    arguments = reference.init_inputs(0)
    module = reference.build(0)
    inputs = reference.inputs(0)
    return kw.build(file, *arguments, state_dict=module.state_dict()), module, inputs


def trained(module: nn.Module, inputs: list, seed: int, n_calls: int = 1) -> list[torch.Tensor]:
    """Results, and what is in ``.grad`` of inputs and parameters after backward."""
    given = [value.detach().clone().requires_grad_(value.is_floating_point()) for value in inputs]
    drawn = torch.Generator().manual_seed(seed)
    for _ in range(n_calls):
        results = torch.utils._pytree.tree_leaves(module(*given))
        real = [result for result in results if result.requires_grad]
        torch.autograd.backward(
            real, [torch.randn(r.shape, dtype=r.dtype, generator=drawn) for r in real]
        )
    gradients = [value.grad for value in [*given, *module.parameters()] if value.requires_grad]
    return [*results, *gradients]


@pytest.mark.parametrize("name", MODULES)
def test_gradients_are_the_modules_own_and_add_up(tmp_path, name) -> None:
    built, module, inputs = pair(tmp_path, source(name))
    built.on_miss = "raise"
    for seed, n_calls in ((0, 1), (1, 2)):  # gradients of the first call stay in .grad
        for ours, theirs in zip(
            trained(built, inputs, seed, n_calls),
            trained(module, inputs, seed, n_calls),
            strict=True,
        ):
            torch.testing.assert_close(ours, theirs, rtol=2e-5, atol=2e-5)
    with torch.no_grad():
        torch.testing.assert_close(built(*inputs), module(*inputs))


@pytest.mark.parametrize("name", sorted(MODULES.keys() - {"several"}))
def test_gradcheck_agrees(tmp_path, name) -> None:
    built, _, inputs = pair(tmp_path, source(name, "float64"))
    built.double()
    given = [value.requires_grad_(value.is_floating_point()) for value in inputs]
    assert built.why_not(*given) == ""
    torch.autograd.gradcheck(lambda *values: built(*values[: len(given)]), tuple(given))
    weights = list(built.parameters())
    if weights:
        torch.autograd.gradcheck(lambda *_: built(*given), tuple(weights))


@pytest.mark.parametrize("variant", ["nothing computed twice", "one kernel per reduction"])
def test_every_way_to_cut_gives_the_same_gradients(tmp_path, variant) -> None:
    built, module, inputs = pair(tmp_path, source("layer_norm"), variant)
    for ours, theirs in zip(trained(built, inputs, 0), trained(module, inputs, 0), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=2e-5, atol=2e-5)


def test_the_backward_of_a_cross_entropy_sums_no_row_of_zeros() -> None:
    module, inputs = nn.CrossEntropyLoss(), [torch.randn(6, 10), torch.zeros(6, dtype=torch.int64)]
    for cut in PARTITIONS:
        backward = capture_joint(module, inputs, (0,), cut).backward
        summed = [n.args[0] for n in backward.graph.nodes if "sum" in str(n.target)]
        assert all(tuple(node.meta["val"].shape) == (6,) for node in summed)


@pytest.fixture
def normed(tmp_path) -> tuple[nn.Module, nn.Module, torch.Tensor]:
    built, module, (x,) = pair(tmp_path, source("layer_norm"))
    return built, module, x.requires_grad_()


@pytest.mark.parametrize("name", ["rms_norm", "scaled softmax"])
def test_gradients_of_rows_and_of_their_weights_come_from_one_kernel(tmp_path, name) -> None:
    """The rows are read once: by a kernel that also adds up its columns."""
    path = tmp_path / "example.py"
    path.write_text(source(name))
    emitted = first_proposal(training_step(kw.load(str(path)))).candidate.source
    backward = emitted.partition("def backward")[2].partition("class Kept")[0]
    assert backward.count("kernels.fused_") == 1


def test_a_cotangent_may_have_any_strides(normed) -> None:
    built, module, x = normed
    for backward in (
        lambda y: y.sum().backward(),
        lambda y: y.transpose(0, 2).pow(2).sum().backward(),
    ):
        found = []
        for each in (built, module):
            x.grad = None
            each.zero_grad()
            backward(each(x))
            found.append([x.grad, *(weight.grad for weight in each.parameters())])
        torch.testing.assert_close(*found)


def test_frozen_weights_get_no_gradient(normed) -> None:
    built, _, x = normed
    built.up.requires_grad_(False)
    built(x).sum().backward()
    assert built.up.weight.grad is None and built.norm.weight.grad is not None


def test_a_weight_that_was_frozen_gets_its_gradient_where_it_wants_one(tmp_path) -> None:
    text = source("layer_norm").replace(
        "2 * n)\n", "2 * n)\n        self.up.requires_grad_(False)\n", 1
    )
    built, module, (x,) = pair(tmp_path, text)
    x.requires_grad_()
    assert built.why_not(x) == ""
    built(x).sum().backward()
    assert built.up.weight.grad is None and built.norm.weight.grad is not None
    for each in (built, module):
        each.zero_grad()
        each.up.requires_grad_()
        each(x).sum().backward()
    assert "gradients are wanted" in built.why_not(x)
    torch.testing.assert_close(built.up.weight.grad, module.up.weight.grad)
    with torch.no_grad():
        assert built.why_not(x) == ""


def test_a_saved_value_that_was_changed_is_an_error(normed) -> None:
    built, _, x = normed
    result = built(x)
    with torch.no_grad():
        built.up.weight.mul_(2)
    with pytest.raises(RuntimeError, match="modified"):
        result.sum().backward()


def test_a_backward_under_autocast_is_no_other(normed) -> None:
    built, _, x = normed
    (wanted,) = torch.autograd.grad(built(x).sum(), x)
    y = built(x)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        (found,) = torch.autograd.grad(y.sum(), x)
    torch.testing.assert_close(found, wanted)


def test_gradients_of_gradients_are_refused(normed) -> None:
    built, _, x = normed
    with pytest.raises(RuntimeError, match="no gradients of gradients"):
        torch.autograd.grad(built(x).sum(), x, create_graph=True)


def test_other_uses_take_the_modules_own_forward_and_say_why(normed) -> None:
    built, module, x = normed
    other = torch.randn(7, 10, requires_grad=True)
    assert "x is not of the shape" in built.why_not(other)
    torch.testing.assert_close(built(other), module(other))
    built(other).sum().backward()
    assert other.grad is not None
    changed = copy.deepcopy(built)
    changed.norm = nn.Identity()
    assert "norm is a torch.nn.modules.linear.Identity" in changed.why_not(x)
    assert built.why_not(x) == ""


@pytest.mark.parametrize("name", ["layer_norm", "cross_entropy", "several"])
def test_torch_compile_of_a_built_module_trains_it_with_the_kernels(tmp_path, name) -> None:
    built, module, inputs = pair(tmp_path, source(name))
    built.on_miss = "raise"
    compiled = torch.compile(built, backend="aot_eager", fullgraph=True)
    for ours, theirs in zip(trained(compiled, inputs, 0), trained(module, inputs, 0), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=2e-5, atol=2e-5)
    with torch.no_grad():
        torch.testing.assert_close(compiled(*inputs), module(*inputs))


def test_an_optimizer_learns_the_same(normed) -> None:
    built, module, x = normed
    for each in (built, module):
        optimizer = torch.optim.Adam(each.parameters())
        for _ in range(3):
            optimizer.zero_grad()
            each(x).square().mean().backward()
            optimizer.step()
    torch.testing.assert_close(built.state_dict(), module.state_dict(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("\n    def forward(self, x):\n        return x + F.dropout(x)\n", "random numbers"),
        ("\n    def forward(self, x):\n        return x\n", "returns one of its inputs"),
        (NORM.format(kind="BatchNorm1d(5)"), "updates buffers (norm.running_mean"),
    ],
)
def test_what_has_no_kernels_for_training_is_said(tmp_path, body, said) -> None:
    path = tmp_path / "example.py"
    init = "10" if "__init__" in body else ""
    path.write_text(HEAD + body + TAIL.format(inputs="torch.randn(2, 5, 10)", init=init))
    step = training_step(kw.load(str(path)))
    proposals = RulesProposer().propose(Brief(step, Device.parse("cpu"), ("cpp",)))
    with pytest.raises(StopIteration) as ended:
        next(proposals)
    assert said in ended.value.value


def test_shared_weights_stay_shared(tmp_path) -> None:
    tied = """
    def __init__(self, n):
        super().__init__()
        self.table, self.head = nn.Embedding(n, 8), nn.Linear(8, n, bias=False)
        self.head.weight = self.table.weight

    def forward(self, x):
        return self.head(torch.tanh(self.table(x)))
"""
    text = HEAD + tied + TAIL.format(inputs="torch.randint(0, 9, (2, 5))", init="9")
    built, module, inputs = pair(tmp_path, text)
    assert built.why_not(*inputs) == "" and built.head.weight is built.table.weight
    for ours, theirs in zip(trained(built, inputs, 0), trained(module, inputs, 0), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=2e-5, atol=2e-5)
    step = training_step(kw.load(module, inputs=inputs))  # an instance, which has no source
    with pytest.raises(StopIteration) as ended:
        next(RulesProposer().propose(Brief(step, Device.parse("cpu"), ("cpp",))))
    assert "weights that parts share" in ended.value.value


@pytest.mark.parametrize("target", ["integers", "frozen"])
def test_a_module_with_nothing_to_train_is_one_clear_error(target) -> None:
    module, inputs = nn.Embedding(4, 4).requires_grad_(False), [torch.zeros(3, dtype=torch.int64)]
    if target == "integers":
        module, inputs = nn.Flatten(), [torch.zeros((3, 3), dtype=torch.int64)]
    with pytest.raises(TaskError, match="nothing to train") as raised:
        kw.optimize(module, inputs, backward=True)
    assert "leave out --backward" in str(raised.value)


def test_gradients_are_asked_of_the_inputs_that_require_them(tmp_path) -> None:
    module, mask = nn.GELU(), torch.rand(4, 8)

    def masked(x, mask):
        return module(x) * mask

    step = training_step(kw.load(masked, inputs=[torch.randn(4, 8, requires_grad=True), mask]))
    file = tmp_path / "candidate.py"
    file.write_text(first_proposal(step).candidate.source)
    built = kw.build(file)
    x = torch.randn(4, 8, requires_grad=True)
    assert built.why_not(x, mask) == ""
    torch.testing.assert_close(
        torch.autograd.grad(built(x, mask).sum(), x), torch.autograd.grad(masked(x, mask).sum(), x)
    )
    assert "not mask.requires_grad" in built.why_not(x, mask.requires_grad_())
