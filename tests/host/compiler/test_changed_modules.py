"""What is built of a result notices that its module was changed: kernels hold what they were made
for, and would go on with it without a word."""

from __future__ import annotations

import copy

import pytest
import torch
from tests.host.compiler.test_candidates import cache_folder, proposals
from tests.null.swarm.briefs import verdict
from torch import nn
from torch.nn.utils import parametrize

import kernelwright as kw
from kernelwright.core.task import Task
from kernelwright.loaders import load, open_reference
from kernelwright.search.result import Result, write_source

__all__ = ["cache_folder"]

SOURCE = """
import torch
from torch import nn


class Gate(nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = nn.Linear(8, 16), nn.Linear(16, 8)
        self.act, self.norm = nn.SiLU(), nn.LayerNorm(8)
        self.register_buffer("table", torch.rand(8))
        self.scale, self.powers, self.twice = 0.5, [2, 1], torch.relu

    def forward(self, x):
        x = self.down(self.act(self.up(self.norm(x)))) * self.scale + self.table
        return self.twice(x ** self.powers[0])


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = Gate()

    def forward(self, x):
        return self.gate(x)


def get_inputs():
    return [torch.randn(6, 8)]


def get_init_inputs():
    return []
"""
PARTED = SOURCE.replace("return self.gate(x)", "return self.gate(x) if x.sum() > -1e9 else x")
KINDS = ["whole", "parts", "several", "several without source"]


class Lora(nn.Module):
    def __init__(self, base):
        super().__init__()
        self.base = base
        self.a, self.b = nn.Linear(8, 2, bias=False), nn.Linear(2, 16, bias=False)
        with torch.no_grad():
            for weight in (self.a.weight, self.b.weight):
                weight.copy_(torch.arange(weight.numel()).reshape(weight.shape) / 9)

    def forward(self, x):
        return self.base(x) + self.b(self.a(x))


class Doubled(nn.Module):
    def forward(self, x):
        return 2 * x


def hooked(gate):
    gate.up.register_forward_hook(lambda module, inputs, output: output * 2)


def hooked_before(gate):
    gate.act.register_forward_pre_hook(lambda module, inputs: (inputs[0] * 2,))


def parametrized(gate):
    parametrize.register_parametrization(gate.up, "weight", Doubled())


def other_forward(gate):
    gate.act.forward = torch.tanh


def other_normal(gate):
    gate.norm = nn.LayerNorm(8, elementwise_affine=False)


def without_bias(gate):
    gate.up.bias = None


CHANGES = {
    "adapter": lambda gate: setattr(gate, "up", Lora(gate.up)),
    "activation": lambda gate: setattr(gate, "act", nn.ReLU()),
    "eps": lambda gate: setattr(gate.norm, "eps", 0.5),
    "attribute": lambda gate: setattr(gate, "scale", 2.0),
    "list": lambda gate: gate.powers.__setitem__(0, 3),
    "function": lambda gate: setattr(gate, "twice", torch.sin),
    "hook": hooked,
    "hook before": hooked_before,
    "parametrization": parametrized,
    "forward": other_forward,
    "norm": other_normal,
    "bias": without_bias,
    "part": lambda gate: setattr(gate, "norm", nn.Identity()),
}
KEPT = {
    "nothing": lambda gate: None,
    "weights": lambda gate: gate.up.weight.mul_(2),
    "linear": lambda gate: setattr(gate, "up", copy.deepcopy(gate.down.__class__(8, 16))),
    "buffer": lambda gate: setattr(gate, "table", torch.ones(8)),
    "parameter": lambda gate: setattr(gate.norm, "bias", nn.Parameter(torch.ones(8))),
    "equal": lambda gate: setattr(gate, "powers", [2, 1]),
    "backward hook": lambda gate: gate.register_full_backward_hook(lambda *_: None),
}


@pytest.fixture(scope="module", params=KINDS)
def found(request, tmp_path_factory) -> tuple[Result, bool]:
    """A result, and whether it is built as one of several."""
    task = Task("example", "folder", PARTED if request.param == "parts" else SOURCE)
    if request.param == "several without source":
        task = load(open_reference(task).build(0), inputs=[torch.randn(6, 8)], name="example")
    best = proposals(task)[0]
    path = write_source(best.candidate, tmp_path_factory.mktemp("built"), "example")
    result = Result(task, best, verdict(best.candidate, 2.0), [], "eager", path, "")
    return result, request.param.startswith("several")


def built(found: tuple[Result, bool]) -> tuple[nn.Module, nn.Module]:
    """(what is built, the reference), with the same weights."""
    result, is_several = found
    module = open_reference(result.task).build(0)
    fast = kw.build([result] if is_several else result)
    fast.load_state_dict(module.state_dict())
    return fast, module


def reason(fast: nn.Module, x: torch.Tensor) -> str:
    """Why its own forward serves a call."""
    for part in (fast.forward, fast, fast.gate):
        if hasattr(part, "why_not"):
            return part.why_not(x)
    raise AssertionError("nothing says it")


def changed(change, *modules: nn.Module) -> None:
    for module in modules:
        torch.manual_seed(1)
        change(module.gate)


@torch.no_grad()
@pytest.mark.parametrize("used_before", [False, True])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_changed_module_is_served_by_its_own_forward(found, change, used_before) -> None:
    fast, module = built(found)
    x = torch.randn(6, 8)
    if used_before:
        torch.testing.assert_close(fast(x), module(x))
        assert not reason(fast, x)
    changed(change, fast, module)
    for _ in range(2):
        assert torch.equal(fast(x), module(x))
        assert reason(fast, x)


@torch.no_grad()
@pytest.mark.parametrize("change", KEPT.values(), ids=KEPT)
def test_what_kernels_follow_is_no_change(found, change) -> None:
    fast, module = built(found)
    changed(change, fast, module)
    x = torch.randn(6, 8)
    for _ in range(2):
        torch.testing.assert_close(fast(x), module(x))
        assert reason(fast, x) == ""


@torch.no_grad()
def test_what_is_undone_is_no_change(found) -> None:
    fast, _ = built(found)
    x = torch.randn(6, 8)
    handle = fast.gate.up.register_forward_hook(lambda *_: None)
    assert "hooks" in reason(fast, x)
    handle.remove()
    assert reason(fast, x) == ""


@torch.no_grad()
def test_of_two_changes_the_other_counts_when_one_is_undone(found) -> None:
    fast, module = built(found)
    x = torch.randn(6, 8)
    fast(x)
    up = fast.gate.up
    fast.gate.up = nn.Sequential(up)
    fast.gate.norm.eps = 0.5
    for _ in range(2):
        assert "up" in reason(fast, x)
    fast.gate.up = up
    for _ in range(2):
        assert "eps" in reason(fast, x)
    module.gate.norm.eps = 0.5
    assert torch.equal(fast(x), module(x))
    fast.gate.norm.eps = module.gate.norm.eps = 1e-5
    assert reason(fast, x) == ""
    torch.testing.assert_close(fast(x), module(x))


@torch.no_grad()
def test_hooks_of_all_modules_count(found) -> None:
    fast, module = built(found)
    x = torch.randn(6, 8)
    handle = nn.modules.module.register_module_forward_hook(
        lambda part, _, output: output * 2 if isinstance(part, nn.Linear) else None
    )
    try:
        assert torch.equal(fast(x), module(x))
    finally:
        handle.remove()
    assert reason(fast, x) == ""


@torch.no_grad()
@pytest.mark.parametrize("used_before", [False, True])
def test_a_copy_of_a_changed_module_is_changed(found, used_before) -> None:
    fast, module = built(found)
    x = torch.randn(6, 8)
    if used_before:
        fast(x)
    changed(CHANGES["eps"], fast, module)
    twin = copy.deepcopy(fast)
    assert torch.equal(twin(x), module(x)) and "eps" in reason(twin, x)
    twin.gate.norm.eps = 1e-5
    assert reason(twin, x) == "" and "eps" in reason(fast, x)


@torch.no_grad()
def test_a_part_in_another_mode_is_served_by_its_own_forward(tmp_path) -> None:
    """As when the batch norms of a network that is trained are frozen."""
    source = SOURCE.replace("nn.LayerNorm(8)", "nn.BatchNorm1d(8)")
    task = Task("example", "folder", source)
    best = proposals(task)[0]
    path = write_source(best.candidate, tmp_path, "example")
    for several in (False, True):
        result = Result(task, best, verdict(best.candidate, 2.0), [], "eager", path, "")
        fast, module = built((result, several))
        x = torch.randn(6, 8)
        torch.testing.assert_close(fast(x), module(x))
        changed(lambda gate: gate.norm.eval(), fast, module)
        torch.testing.assert_close(fast(x), module(x))
        assert "training of gate.norm" in reason(fast, x) or "mode" in reason(fast, x)


@torch.no_grad()
def test_a_module_that_trains_as_it_evaluates_has_its_kernels_in_both_modes(found) -> None:
    fast, module = built(found)
    x = torch.randn(6, 8)

    for mode in (True, False, True):
        torch.testing.assert_close(fast.train(mode)(x), module.train(mode)(x))
        assert reason(fast, x) == ""


@torch.no_grad()
@pytest.mark.parametrize("reads", ["a number", "dropout"])
def test_a_module_that_reads_its_mode_has_none_in_the_other(tmp_path, reads) -> None:
    source = SOURCE.replace("* self.scale", "* (2 if self.training else 3)")
    if "dropout" in reads:
        source = SOURCE.replace("self.norm(x)", "F.dropout(self.norm(x), 0.5, self.training)")
        source = source.replace(
            "import torch\n", "import torch\nimport torch.nn.functional as F\n", 1
        )
    task = Task("example", "folder", source)
    best = proposals(task)[0]
    path = write_source(best.candidate, tmp_path, "example")
    for several in (False, True):
        result = Result(task, best, verdict(best.candidate, 2.0), [], "eager", path, "")
        fast, module = built((result, several))
        x = torch.randn(6, 8)
        assert reason(fast, x) == ""
        assert torch.equal(fast.eval()(x), module.eval()(x)) and reason(fast, x)
        assert reason(fast.train(), x) == ""


@torch.no_grad()
def test_without_source_a_changed_module_is_refused(tmp_path) -> None:
    module = open_reference(Task("example", "folder", SOURCE)).build(0)
    task = load(module, inputs=[torch.randn(6, 8)], name="example")
    best = proposals(task)[0]
    path = write_source(best.candidate, tmp_path, "example")
    fast = kw.build(Result(task, best, verdict(best.candidate, 2.0), [], "eager", path, ""))
    x = torch.randn(6, 8)
    torch.testing.assert_close(fast(x), module(x))
    fast.gate.up.register_forward_hook(lambda *_: None)
    with pytest.raises(RuntimeError, match=r"why: +_forward_hooks of gate\.up"):
        fast(x)


@torch.no_grad()
def test_other_arguments_of_the_constructor_are_a_change(tmp_path) -> None:
    source = SOURCE.replace(
        "def __init__(self):\n        super().__init__()\n        self.gate",
        "def __init__(self, scale):\n        super().__init__()\n        self.gate",
    )
    source = source.replace(
        "self.gate = Gate()", "self.gate = Gate()\n        self.gate.scale = scale"
    )
    source = source.replace(
        "def get_init_inputs():\n    return []", "def get_init_inputs():\n    return [0.5]"
    )
    task = Task("example", "folder", source)
    best = proposals(task)[0]
    path = write_source(best.candidate, tmp_path, "example")
    for several in (False, True):
        result = Result(task, best, verdict(best.candidate, 2.0), [], "eager", path, "")
        for scale in (0.5, 4.0):
            fast = kw.build([result] if several else result, scale)
            module = open_reference(task).namespace["Model"](scale)
            fast.load_state_dict(module.state_dict())
            x = torch.randn(6, 8)
            torch.testing.assert_close(fast(x), module(x))
            assert bool(reason(fast, x)) == (scale == 4.0)


OWN_FUNCTIONS = """
import torch
from torch import nn


class Model(nn.Module):
    class Bend(nn.Module):
        def forward(self, x):
            return torch.relu(x)

    @staticmethod
    def shifted(x):
        return x + 1

    def __init__(self):
        super().__init__()
        self.up, self.bend = nn.Linear(8, 8), self.Bend()
        up, self.shift = self.up, self.shifted
        self.step = lambda x: self.bend(up(x))

    def forward(self, x):
        return self.shift(self.step(x)) * 2


def get_inputs():
    return [torch.randn(6, 8)]


def get_init_inputs():
    return []
"""


@torch.no_grad()
def test_functions_and_classes_that_the_module_defines_are_its_own_in_a_candidate(tmp_path) -> None:
    task = Task("example", "folder", OWN_FUNCTIONS)
    best = proposals(task)[0]
    path = write_source(best.candidate, tmp_path, "example")
    fast = kw.build(Result(task, best, verdict(best.candidate, 2.0), [], "eager", path, ""))
    module = open_reference(task).build(0)
    fast.load_state_dict(module.state_dict())
    x = torch.randn(6, 8)
    assert fast.why_not(x) == ""
    torch.testing.assert_close(fast(x), module(x))
    other = copy.deepcopy(fast)  # whose function still holds the parts of the first
    other.up.weight.mul_(2)
    assert other.why_not(x).startswith("step of the module")
    fast.shift = torch.relu
    assert fast.why_not(x).startswith("shift of the module")
