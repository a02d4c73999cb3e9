"""What GPU emission does to a step before any text is written leaves its meaning as it is."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.emitters import example_inputs
from tests.nests import CASES
from torch import nn

from kernelwright.compiler.capture.capture import capture
from kernelwright.compiler.codegen.anonymous import anonymous
from kernelwright.compiler.codegen.gpu.axes import as_loops, collapse, inclusive, size_of
from kernelwright.compiler.codegen.gpu.stages import can_split, split, split_k
from kernelwright.compiler.codegen.triton.emitter import TritonEmitter
from kernelwright.compiler.fuse.assemble import assemble_supported
from kernelwright.compiler.fuse.fuse import Fusion
from kernelwright.compiler.ir.interpret import run_step
from kernelwright.compiler.ir.ir import Call, Contraction, Kernel, Load, Store

STEPS = {name: step for name, make in CASES.items() for step in [next(make().own())]}
KERNELS = [name for name, step in STEPS.items() if isinstance(step, Kernel)]
PRODUCTS = [
    name
    for name, step in STEPS.items()
    if isinstance(step, Contraction) and step.is_plain and not (step.stretches or step.part_totals)
]
SPLITTABLE = [name for name in KERNELS if can_split(collapse(STEPS[name]))]


def results(name, steps):
    """What the case's step writes, when ``steps`` stand in its place."""
    program = CASES[name]()
    values = example_inputs(program, seed=1)
    memory = dict(zip((t.name for t in program.inputs), values, strict=True))
    for step in steps:
        run_step(step, memory)
    return {t.name: memory[t.name] for t in STEPS[name].writes}


def assert_same(name, steps):
    expected = results(name, [STEPS[name]])
    for key, value in results(name, steps).items():
        wanted = expected[key]
        if value.is_floating_point() and value.element_size() == 1:
            value, wanted = value.float(), wanted.float()
        half = value.dtype in (torch.float16, torch.bfloat16)
        rtol, atol = (2e-2, 2e-2) if half else (2e-5, 1e-4)
        torch.testing.assert_close(value, wanted, equal_nan=True, rtol=rtol, atol=atol)


@pytest.mark.parametrize("name", KERNELS)
def test_merged_axes_mean_the_same(name):
    merged = collapse(STEPS[name])
    assert size_of(merged.outer) == size_of(STEPS[name].outer)
    assert_same(name, [merged])


@pytest.mark.parametrize("name", [name for name in KERNELS if name.startswith("scan")])
def test_inclusive_scans_mean_what_exclusive_ones_did(name):
    assert_same(name, [inclusive(STEPS[name])])


@pytest.mark.parametrize("name", SPLITTABLE)
@given(parts=st.integers(2, 40))
@settings(max_examples=5)
def test_rows_in_parts_mean_the_same(name, parts):
    assert_same(name, split(collapse(STEPS[name]), parts).steps)


@pytest.mark.parametrize("name", PRODUCTS)
def test_a_product_as_loops_means_the_same(name):
    assert_same(name, [as_loops(STEPS[name])])


@given(parts=st.integers(2, 9))
@settings(max_examples=5)
def test_a_product_cut_along_k_means_the_same(parts):
    assert_same("product_deep", split_k(STEPS["product_deep"], parts).steps)


@pytest.mark.parametrize("name", STEPS)
def test_a_step_without_its_names_does_not_depend_on_them(name):
    once = anonymous(STEPS[name], "step")
    assert anonymous(once, "step") == once


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
def test_a_batch_s_statistics_in_parts_take_one_pass_and_end_in_the_buffers(layout):
    module = nn.Sequential(nn.BatchNorm2d(4), nn.ReLU())
    x = (torch.randn(6, 4, 8, 8, generator=torch.Generator().manual_seed(1)) + 50).to(
        memory_format=layout
    )
    program = assemble_supported(
        capture(module, [x]), Fusion(), TritonEmitter().supports, products=True
    )
    (kernel,) = program.own()
    assert not program.mutations
    steps = split(collapse(kernel), 8).steps
    assert len(steps) == 3
    memory = {program.inputs[0].name: x}
    state = module.state_dict()
    memory |= {tensor.name: state[path].clone() for tensor, path in program.attributes}
    for step in steps:
        run_step(step, memory)
    torch.testing.assert_close(memory["relu"], module(x), rtol=2e-5, atol=1e-4)
    for tensor, path in program.attributes:
        if "running" in path:
            torch.testing.assert_close(memory[tensor.name], module.state_dict()[path])


class Joined(nn.Module):
    """Two normalized convolutions that meet, as where a residual network changes its width."""

    def __init__(self):
        super().__init__()
        self.left, self.right = nn.Conv2d(4, 8, 3, padding=1), nn.Conv2d(4, 8, 1)
        self.one, self.two = nn.BatchNorm2d(8), nn.BatchNorm2d(8)

    def forward(self, x):
        return torch.relu(self.one(self.left(x)) + self.two(self.right(x)))


def test_every_buffer_gets_its_new_value_and_counters_are_moved_in_one_call():
    captured = capture(Joined(), [torch.randn(2, 4, 6, 6)])
    program = assemble_supported(captured, Fusion(), TritonEmitter().supports, products=False)
    written = {tensor.name for step in program.own() for tensor in step.writes}
    copied = {path for _, path in program.mutations}
    running = [(tensor.name, path) for tensor, path in program.attributes if "running" in path]
    assert len(running) == 4
    assert all(name in written or path in copied for name, path in running)
    calls = [step.target for step in program.steps if isinstance(step, Call)]
    assert sum("add_" in target for target in calls) == 1


class Normed(nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution, self.norm = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)

    def forward(self, x):
        return torch.relu(self.norm(self.convolution(x)))


def test_no_block_reads_a_rows_first_element_where_another_writes():
    """A norm takes the first of a row from its values, and may write where it reads them: in parts
    the last kernel has many blocks a row."""
    x = torch.rand(5, 3, 34, 34)
    program = assemble_supported(
        capture(Normed(), [x]), Fusion(), TritonEmitter().supports, products=False
    )
    (kernel,) = (step for step in program.own() if isinstance(step, Kernel) and step.inner)
    written = {t.name for t in kernel.writes} & {t.name for t in kernel.reads}
    assert any(t.n_elements == 5 * 4 * 32 * 32 for t in kernel.reads if t.name in written)
    steps = split(collapse(kernel), 3).steps
    (*_, last) = steps
    places = {op.tensor.name: op.index for op in last.body if isinstance(op, Store)}
    loads = [op for op in last.body if isinstance(op, Load) and op.tensor.name in places]
    assert loads and all(op.index == places[op.tensor.name] for op in loads)

    def written_by(kernels):
        generator = torch.Generator().manual_seed(0)
        memory = {t.name: torch.rand(t.shape, generator=generator) + 3 for t in kernel.reads}
        for step in kernels:
            run_step(step, memory)
        return {t.name: memory[t.name] for t in kernel.writes}

    torch.testing.assert_close(written_by(steps), written_by([kernel]))


class Gated(nn.Module):
    """A gated MLP as language models have it, with a residual."""

    def __init__(self, dtype):
        super().__init__()
        self.gate = nn.Linear(32, 48, dtype=dtype)
        self.up = nn.Linear(32, 48, bias=False, dtype=dtype)
        self.down = nn.Linear(48, 32, bias=False, dtype=dtype)

    def forward(self, x):
        return x + self.down(nn.functional.silu(self.gate(x)) * self.up(x))


@pytest.mark.parametrize("rows", [1, 16])
@pytest.mark.parametrize("dtype, n_steps", [(torch.bfloat16, 2), (torch.float32, 3)])
def test_a_gate_and_what_it_gates_are_one_step_in_16_bits(rows, dtype, n_steps):
    module = Gated(dtype)
    x = torch.randn(rows, 32, generator=torch.Generator().manual_seed(1)).to(dtype)
    supports = TritonEmitter().supports
    program = assemble_supported(capture(module, [x]), Fusion(twins=True), supports, products=True)
    assert len(list(program.own())) == len(program.steps) == n_steps
    memory = {program.inputs[0].name: x}
    memory |= {tensor.name: module.get_parameter(path) for tensor, path in program.attributes}
    for step in program.steps:
        run_step(step, memory)
    (result,) = program.steps[-1].writes
    torch.testing.assert_close(memory[result.name], module(x), rtol=2e-2, atol=2e-2)
