"""Results have memory and strides of their own wherever the module's have, also where nothing is
computed: where a step is the library's, and where a copy is all that there is to do."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.utils._pytree import tree_leaves

from kernelwright.compiler.capture.capture import capture
from kernelwright.compiler.fuse.assemble import assemble_supported
from kernelwright.compiler.fuse.fuse import Fusion
from kernelwright.compiler.ir.interpret import interpret
from kernelwright.compiler.rewrite import rewrite


class Applied(nn.Module):
    """A function as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def written_over(x):
    out = torch.empty(x.shape)
    out[:] = x
    return out


def copied_turned(x):
    out = torch.empty(x.shape[1], x.shape[0])
    out.copy_(x.t())
    return out.view(-1)


def copied_alike(x):
    out = torch.empty_like(x)
    out.copy_(x)
    return out


def beside_its_copy(x):
    found = torch.relu(x)
    return found, found.clone(), found.unsqueeze(0)


def beside_its_relu(x):
    found = torch.sigmoid(x)
    return found, torch.relu(found), found.t().clone()


def beside_its_turned_copy(x):
    turned = torch.relu(x).t()
    return torch.linalg.vector_norm(turned, dim=0), turned, turned.contiguous()


def in_two_layouts(x):
    found = torch.relu(x)
    plain = found.contiguous()
    return found.t().unfold(0, 2, 1), plain.view(-1) if plain.is_contiguous() else plain


FORWARDS = {
    "copied": lambda x: x.clone(),
    "part of a copy": lambda x: x.clone()[:2].unsqueeze(0),
    "converted": lambda x: x.to(torch.float32, copy=True),
    "contiguous": lambda x: x.contiguous(),
    "contiguous, viewed": lambda x: x.contiguous().view(-1),
    "turned": lambda x: x.t().contiguous().view(-1),
    "flattened": lambda x: (x.flatten(), x.t().flatten()),
    "repeated": lambda x: (x.repeat(1, 1), x[:1].expand(4, 6).clone()),
    "twice": lambda x: (x, x.clone(), x.clone().clone()),
    "parts": lambda x: [part.clone() for part in x.chunk(2)],
    "sum of one": lambda x: x.unsqueeze(0).cumsum(0),
    "a view stays a view": lambda x: (x.t(), x[1:], x.view_as(x)),
    "written over": written_over,
    "copied turned": copied_turned,
    "copied alike": copied_alike,
    "all written": lambda x: x.slice_scatter(x, 0, 0, 4),
    "beside its copy": beside_its_copy,
    "beside its relu": beside_its_relu,
    "a copy of a view": lambda x: x.t().clone(),
    "beside its turned copy": beside_its_turned_copy,
    "in two layouts": in_two_layouts,
}
LAYOUTS = {"rows": lambda: torch.randn(4, 6), "columns": lambda: torch.randn(6, 4).t()}


def program_of(module, inputs, *, own):
    captured = capture(module, inputs)
    captured = rewrite(captured)[0] if own else captured
    return assemble_supported(captured, Fusion(), lambda _: own, products=own)


def shared(tensors):
    """Which of the tensors lie in the same memory."""
    places = [tensor.untyped_storage().data_ptr() for tensor in tensors]
    return [places.index(place) for place in places]


@pytest.mark.parametrize("own", [True, False], ids=["own", "called"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", FORWARDS)
def test_results_share_memory_where_the_modules_do(name, layout, own):
    module, x = Applied(FORWARDS[name]), LAYOUTS[layout]()
    want = tree_leaves(module(x))
    found = tree_leaves(interpret(program_of(module, [x], own=own), [x], {}))
    assert shared([x, *found]) == shared([x, *want])
    assert [t.stride() for t in found] == [t.stride() for t in want]
    torch.testing.assert_close(found, want)


class Swapped(nn.Module):
    """Returns its first buffer, adds to it, and exchanges it with the second."""

    def __init__(self):
        super().__init__()
        self.register_buffer("first", torch.arange(4.0))
        self.register_buffer("second", -torch.arange(4.0))

    def forward(self, x):
        before = self.first.clone()
        self.first.copy_(self.second)
        self.second.copy_(before)
        return before, x + before


@pytest.mark.parametrize("own", [True, False], ids=["own", "called"])
def test_buffers_that_are_exchanged_are_copied_before_either_is_written(own):
    module, x = Swapped(), torch.randn(4)
    program = program_of(module, [x], own=own)
    buffers = {name: buffer.clone() for name, buffer in module.named_buffers()}
    found = interpret(program, [x], buffers)
    want = module(x)
    torch.testing.assert_close(found, want)
    torch.testing.assert_close(buffers, dict(module.named_buffers()))


def test_a_copy_that_only_the_library_reads_is_not_made():
    module = nn.Linear(6, 3)
    copied = Applied(lambda x: module(x.clone()))
    copied.module = module
    program = program_of(copied, [torch.randn(4, 6)], own=False)
    assert [step.target for step in program.steps] == ["torch.ops.aten.linear.default"]
