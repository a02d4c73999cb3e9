"""Mixtures of experts, sorts by counting, and operands that products compute themselves."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from kernelwright.compiler.capture.capture import capture
from kernelwright.compiler.codegen.triton.emitter import TritonEmitter
from kernelwright.compiler.fuse.assemble import assemble_supported
from kernelwright.compiler.ir.interpret import interpret
from kernelwright.compiler.ir.ir import Call, Contraction, Program
from kernelwright.loaders import open_reference
from kernelwright.proposers.rules.variants import variants
from kernelwright.suites.suite import MODELS, builtin_suite


def program_of(module: nn.Module, inputs: list[torch.Tensor]) -> Program:
    """What the first variant for a GPU makes of a module."""
    first = variants("cuda")[0]
    captured, supports = capture(module, inputs), TritonEmitter().supports
    return assemble_supported(captured, first.fusion, supports, products=True)


def run(program: Program, module: nn.Module, inputs: list[torch.Tensor]) -> object:
    tensors = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    return interpret(program, inputs, {path: t.detach() for path, t in tensors.items()})


@pytest.fixture
def experts() -> tuple[nn.Module, list[torch.Tensor]]:
    entries = builtin_suite(size="small", suite=MODELS)
    (task,) = (entry.task for entry in entries if entry.name == "moe_grouped")
    reference = open_reference(task)
    return reference.build(0), reference.inputs(0)


@torch.no_grad()
@pytest.mark.parametrize("favourite", [None, 2])
def test_a_mixture_of_experts_is_own_code_and_right_for_experts_without_rows(experts, favourite):
    module, inputs = experts
    if favourite is not None:
        inputs[1] = torch.full_like(inputs[1], favourite)
    program = program_of(module, inputs)
    assert not any(isinstance(step, Call) for step in program.steps)
    grouped = [step for step in program.own() if isinstance(step, Contraction) and step.groups]
    assert [bool(step.a_made) for step in grouped] == [True, False]  # rows are gathered in tiles
    torch.testing.assert_close(run(program, module, inputs), module(*inputs), rtol=0.02, atol=0.02)


class Sorted(nn.Module):
    def forward(self, x):
        values, order = x.sort(stable=True)
        back = torch.empty_like(order)
        back[order] = torch.arange(len(order))
        return values, order, back, torch.histc(x.float(), bins=6, min=0, max=5)


def test_integers_are_sorted_by_counting_in_the_order_of_equal_ones():
    x = torch.randint(0, 6, (70,))
    program = program_of(Sorted(), [x])
    assert not any(isinstance(step, Call) for step in program.steps)
    for found, wanted in zip(run(program, Sorted(), [x]), Sorted()(x), strict=True):
        assert torch.equal(found, wanted)


class Scaled(nn.Module):
    """Weights of 8 bits, with a buffer that has an argument's name."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("weight", torch.randint(-9, 9, (32, 64), dtype=torch.int8))
        self.register_buffer("scale", torch.rand(32))

    def forward(self, x, scale):
        return F.linear(x, self.weight.to(x.dtype)) * self.scale * scale


@torch.no_grad()
@pytest.mark.parametrize(("n_rows", "is_unpacked"), [(24, True), (300, False)])
def test_few_rows_unpack_weights_in_their_tiles(n_rows, is_unpacked):
    module, inputs = (
        Scaled(),
        [torch.randn(n_rows, 64, dtype=torch.bfloat16), torch.rand(n_rows, 1)],
    )
    program = program_of(module, inputs)
    (product,) = (step for step in program.own() if isinstance(step, Contraction))
    assert bool(product.b_made) == is_unpacked
    torch.testing.assert_close(run(program, module, inputs), module(*inputs), rtol=0.02, atol=0.1)


class Added(nn.Module):
    def forward(self, x, index):
        return torch.scatter(x, 0, index, 2 * x, reduce="add")


def test_a_scatter_that_adds_is_left_to_the_library():
    inputs = [torch.randn(8), torch.randperm(8)]
    program = program_of(Added(), inputs)
    assert any(isinstance(step, Call) for step in program.steps)
    torch.testing.assert_close(run(program, Added(), inputs), Added()(*inputs))


class Divided(nn.Module):
    def forward(self, x):
        return x // 16, x // 128


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int64])
def test_integers_are_divided_as_torch_does_where_the_divisor_fits_their_type(dtype):
    x = torch.arange(-128, 128).to(dtype)  # in int8, torch divides by -128 for 128
    program = program_of(Divided(), [x])
    for found, wanted in zip(run(program, Divided(), [x]), Divided()(x), strict=True):
        assert torch.equal(found, wanted)


def test_the_sort_of_one_number_is_the_library_s():
    program = program_of(Sorted(), [torch.tensor([3])])
    assert any(isinstance(step, Call) and "sort" in step.target for step in program.steps)
