"""After any change of a module, its weights or the call, the next call is right: in candidates that
read weights, in those that prepare them, and on a GPU in those that replay a graph."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

import pytest
import torch
from tests.host.compiler.test_candidates import cache_folder, proposals
from torch import nn
from torch.nn.utils import parametrize

import kernelwright as kw
from kernelwright.core.task import Task
from kernelwright.loaders import open_reference
from kernelwright.search.result import write_source

__all__ = ["cache_folder"]

TASK = Task(
    "example",
    "folder",
    """
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.linear = nn.Conv2d(8, 8, 1, bias=False), nn.Linear(8, 8)
        self.norm, self.powers = nn.BatchNorm2d(8), [1.0]
        self.eval()

    def forward(self, x, y):
        h = torch.relu(self.norm(self.conv(x)) + y)
        return self.linear(h.mean((2, 3))) * self.powers[0]


def get_inputs():
    return [torch.randn(2, 8, 4, 4), torch.randn(2, 8, 4, 4)]


def get_init_inputs():
    return []
""",
)
FORMS = ("plain", "prepared")
Change = Callable[[nn.Module], object]


def each_weight(change: Callable[[torch.Tensor], object]) -> Change:
    """The change of every weight and buffer but the counter of batches."""

    def changed(module: nn.Module) -> None:
        for tensor in (*module.parameters(), *module.buffers()):
            if tensor.is_floating_point():
                change(tensor)

    return changed


def exchanged(tensor: torch.Tensor) -> None:
    tensor.data = torch.rand(tensor.shape).to(tensor)


def transposed(tensor: torch.Tensor) -> None:
    """Neither the address nor the number of changes becomes another."""
    if tensor.dim() > 1:
        tensor.data = tensor.data.transpose(0, 1)


def freed_and_renewed(tensor: torch.Tensor) -> None:
    """What comes next often lies at the address of what was freed."""
    values = tensor.data.cpu() * 0.5
    tensor.data = torch.empty(0).to(tensor)
    tensor.data = values.to(tensor)


def resized(module: nn.Module) -> None:
    module.linear.bias.data = torch.ones(1).to(module.linear.bias)


def replaced(module: nn.Module) -> None:
    for part in (module.conv, module.linear):
        part.weight = nn.Parameter(torch.rand(part.weight.shape).to(part.weight))
    module.norm.running_mean = torch.rand(8).to(module.norm.running_mean)


def equal_but_other(module: nn.Module) -> None:
    """A parameter that is equal to the one before, and changes later."""
    module.linear.bias = nn.Parameter(module.linear.bias.clone())
    module.norm.running_var = module.norm.running_var.clone()


def doubled(module: nn.Module) -> None:
    module.norm.running_mean.add_(1)
    module.linear.bias.mul_(2)


class Twice(nn.Module):
    def forward(self, x):
        return 2 * x


def hooked(module: nn.Module) -> None:
    module.conv.register_forward_hook(lambda part, given, result: result * 2)


CHANGES: dict[str, Change] = {
    "in place": each_weight(lambda tensor: tensor.mul_(0.5)),
    "load_state_dict": lambda module: module.load_state_dict(
        {name: value + 1 for name, value in module.state_dict().items()}
    ),
    "data exchanged": each_weight(exchanged),
    "data transposed": each_weight(transposed),
    "data freed and renewed": each_weight(freed_and_renewed),
    "data resized": resized,
    "replaced": replaced,
    "equal but other": equal_but_other,
    "a batch norm's buffer": lambda module: module.norm.running_mean.add_(1),
    "a buffer replaced": lambda module: setattr(
        module.norm, "running_var", module.norm.running_var * 3
    ),
    "no bias": lambda module: setattr(module.linear, "bias", None),
    "dtype there and back": lambda module: module.double().float(),
    "channels last": lambda module: module.to(memory_format=torch.channels_last),
    "a part": lambda module: setattr(module, "norm", nn.Identity()),
    "a part's class": lambda module: setattr(module.norm, "__class__", Twice),
    "eps": lambda module: setattr(module.norm, "eps", 0.5),
    "a list": lambda module: module.powers.__setitem__(0, 2.0),
    "a hook": hooked,
    "a parametrization": lambda module: parametrize.register_parametrization(
        module.linear, "weight", Twice()
    ),
    "training": nn.Module.train,
    "training of a part": lambda module: module.norm.train(),
    "evaluation": nn.Module.eval,
    "wants gradients": lambda module: module.requires_grad_(False).requires_grad_(True),
    "wants none": lambda module: module.requires_grad_(False),
}  # fmt: skip
CONTEXTS: dict[str, Callable[[str], contextlib.AbstractContextManager[object]]] = {
    "no_grad": lambda device: torch.no_grad(),
    "gradients": lambda device: torch.enable_grad(),
    "inference mode": lambda device: torch.inference_mode(),
    "autocast": lambda device: torch.autocast(device, torch.bfloat16),
}


def shifted(x: torch.Tensor) -> torch.Tensor:
    """At an address that is not a multiple of its alignment."""
    return torch.empty(x.numel() + 1).to(x)[1:].view(x.shape).copy_(x)


INPUTS: dict[str, Callable[[torch.Tensor, torch.Tensor], tuple[torch.Tensor, torch.Tensor]]] = {
    "others": lambda x, y: (y, x),
    "the same twice": lambda x, y: (x, x),
    "overlapping": lambda x, y: (lambda z: (z[:2], z[1:]))(torch.cat([x, y])[:3]),
    "shifted": lambda x, y: (shifted(x), shifted(y)),
    "strides": lambda x, y: (x.to(memory_format=torch.channels_last), y),
    "expanded": lambda x, y: (x[:1].expand_as(x), y),
    "shape": lambda x, y: (x[:, :, :2], y[:, :, :2]),
    "rows": lambda x, y: (x[:1], y[:1]),
    "negative": lambda x, y: (torch._neg_view(x), y),
    "wants gradients": lambda x, y: (x.clone().requires_grad_(), y),
}


def compare(fast: nn.Module, module: nn.Module, *inputs: torch.Tensor) -> None:
    """Both give the same and leave the same state."""
    seen, wanted = fast(*inputs), module(*inputs)
    torch.testing.assert_close(seen, wanted, rtol=1e-3, atol=1e-3)
    assert seen.requires_grad == wanted.requires_grad
    torch.testing.assert_close(fast.state_dict(), module.state_dict(), rtol=1e-3, atol=1e-3)


def check_change(fast: nn.Module, module: nn.Module, change: Change, device: str) -> None:
    """Calls before a change, after it, and after a further one in place."""
    inputs = [value.to(device) for value in open_reference(TASK).inputs(0)]
    with torch.no_grad():
        compare(fast, module, *inputs)
        for later in (change, doubled if change is equal_but_other else lambda _: None):
            for target in (fast, module):
                torch.manual_seed(1)
                later(target)
            for _ in range(2):
                compare(fast, module, *inputs)
    compare(fast, module, *inputs)  # gradients may be wanted now


def check_calls(fast: nn.Module, module: nn.Module, name: str, device: str) -> None:
    """Calls in every context, after others in which kernels served them."""
    inputs = [value.to(device) for value in open_reference(TASK).inputs(0)]
    with torch.no_grad():
        compare(fast, module, *inputs)
        given = INPUTS[name](*inputs)
    for enter in CONTEXTS.values():
        with enter(device):
            compare(fast, module, *given)
        with torch.no_grad():
            compare(fast, module, *inputs)


@pytest.fixture(scope="module", params=FORMS)
def built(request, tmp_path_factory) -> Iterator[Callable[[], tuple[nn.Module, nn.Module]]]:
    """What makes the candidate, and the reference with the same weights."""
    found = [
        proposal.candidate
        for proposal in proposals(TASK)
        if ("_prepare(" in proposal.candidate.source) == (request.param == "prepared")
    ]
    path = write_source(found[0], tmp_path_factory.mktemp("built"), "example")

    def made() -> tuple[nn.Module, nn.Module]:
        module = open_reference(TASK).build(0)
        return kw.build(path, state_dict=module.state_dict(), on_miss="silent"), module

    yield made


@pytest.mark.parametrize("name", CHANGES)
def test_after_a_change_the_next_call_is_right(built, name) -> None:
    check_change(*built(), CHANGES[name], "cpu")


@pytest.mark.parametrize("name", INPUTS)
def test_other_inputs_and_contexts_are_right(built, name) -> None:
    check_calls(*built(), name, "cpu")


def test_kernels_serve_what_is_not_another_module(built) -> None:
    fast, _ = built()
    inputs = open_reference(TASK).inputs(0)
    for name in ("in place", "data exchanged", "replaced", "evaluation", "dtype there and back"):
        with torch.no_grad():
            CHANGES[name](fast)
            assert fast.why_not(*inputs) == ""
