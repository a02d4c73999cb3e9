"""Emitted CUDA, compiled by g++ and run thread by thread, means what the program means."""

from __future__ import annotations

import shutil
from dataclasses import replace

import pytest
import torch
from simt import on_cpu
from tests.emitters import SPECIAL, build, example_inputs, mismatch, source
from tests.nests import CASES

from kernelwright.compiler.capture.capture import capture
from kernelwright.compiler.capture.free import freed
from kernelwright.compiler.codegen.base import Target
from kernelwright.compiler.codegen.cuda.emitter import CudaEmitter
from kernelwright.compiler.fuse.assemble import assemble_supported
from kernelwright.compiler.fuse.fuse import Fusion
from kernelwright.compiler.ir.ir import FreeSize
from kernelwright.compiler.ir.sizes import fixed, following, with_example

pytestmark = pytest.mark.skipif(shutil.which("g++") is None, reason="needs g++")
GPU = Target("cuda:sm_90")
EMITTER = CudaEmitter()
SUPPORTED = [n for n, make in CASES.items() if all(map(EMITTER.supports, make().own()))]


@pytest.mark.parametrize("name", SUPPORTED)
def test_the_first_schedule_computes_what_the_program_means(name):
    program = CASES[name]()
    inputs = example_inputs(program, special=name in SPECIAL)
    schedule = next(iter(EMITTER.schedules(program, GPU)))
    text = source(program, EMITTER.emit(program, schedule, GPU))
    assert mismatch(build(on_cpu(text))(*inputs), program, inputs) == "", text


@pytest.mark.parametrize(
    "name", ["layer_norm", "reductions_long", "softmax_columns", "totals_packed", "totals_long"]
)
def test_every_refinement_computes_it_too(name):
    program = CASES[name]()
    inputs = example_inputs(program)
    first = next(iter(EMITTER.schedules(program, GPU)))
    for schedule in EMITTER.refine(program, first, GPU):
        text = source(program, EMITTER.emit(program, schedule, GPU))
        assert mismatch(build(on_cpu(text))(*inputs), program, inputs) == "", text


def test_rows_in_two_or_four_parts_are_the_same_rows():
    x = torch.randn(3, 4, 40, 30)
    captured = capture(Norms(), [x])
    program = assemble_supported(captured, Fusion(), EMITTER.supports, products=True)
    first = next(iter(EMITTER.schedules(program, GPU)))
    in_parts = [
        schedule
        for schedule in EMITTER.refine(program, first, GPU)
        if any(isinstance(knobs, dict) and "parts" in knobs for knobs in schedule.values())
    ]
    assert in_parts
    for schedule in in_parts:
        text = source(program, EMITTER.emit(program, schedule, GPU))
        assert mismatch(build(on_cpu(text))(x), program, [x]) == "", text


@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize("name", ["layer_norm", "softmax_short", "in_place"])
def test_blocks_that_share_a_row_compute_what_one_does(name, ahead):
    program = CASES[name]()
    inputs = example_inputs(program, special=name in SPECIAL)
    knobs = {"shape": "row", "threads": 64, "vector": 1, "rows": 1, "keep": True, "together": 3}
    first = next(iter(EMITTER.schedules(program, GPU)))
    rows = {step.name: {**knobs, "ahead": ahead} for step in program.own() if step.inner}
    schedule = {**first, **rows, "graph": False}
    text = source(program, EMITTER.emit(program, schedule, GPU))
    assert mismatch(build(on_cpu(text))(*inputs), program, inputs) == "", text


SCANNED = [name for name in SUPPORTED if name.startswith("scan_") and name != "scan_columns"]


@pytest.mark.parametrize("vector", [1, 2, 4])
@pytest.mark.parametrize("name", SCANNED)
def test_a_scan_of_packs_goes_on_from_block_to_block(name, vector):
    program = CASES[name]()
    first = next(iter(EMITTER.schedules(program, GPU)))
    ((step, knobs),) = first.items()
    assert knobs["vector"] > 1, "each row of these has packs"
    if knobs["vector"] < vector:
        pytest.skip("a row has no whole number of such packs")
    inputs = example_inputs(program, special=True)
    schedule = {step: {**knobs, "threads": 32, "vector": vector, "ahead": True}}
    text = source(program, EMITTER.emit(program, schedule, GPU))
    assert mismatch(build(on_cpu(text))(*inputs), program, inputs) == "", text


@pytest.mark.parametrize("name", ["rows", "points", "windows"])
@torch.no_grad()
def test_kernels_take_other_sizes_than_those_they_were_made_for(name):
    module = {
        "rows": torch.nn.GroupNorm(2, 4, affine=False),
        "points": torch.nn.GELU(),
        "windows": torch.nn.MaxPool2d(3, 1),
    }[name]
    x = torch.randn(3, 4, 40, 30)
    captures = freed(module, [x], capture(module, [x]))
    found = next(each for each in captures if {d.dim for d in each.dimensions} == {0})
    one, other = (
        assemble_supported(captured, Fusion(), EMITTER.supports, products=True)
        for captured in (found.one, found.other)
    )
    program = following(one, other, found.first, found.second)
    sizes = {s.size: FreeSize(s.size, program.inputs[0].name, s.dim, 1, None)
             for s in found.dimensions}  # fmt: skip
    program = replace(program, sizes=tuple(sizes.values()), outputs=(program.outputs,))
    schedule = fixed(next(iter(EMITTER.schedules(program, GPU))))
    texts = {
        source(program, EMITTER.emit(with_example(program, example), schedule, GPU))
        for example in ({"n_batch": 11}, {"n_batch": 31})
    }
    (text,) = texts
    forward = build(on_cpu(text))
    for n_batch in (1, 2, 3, 7):
        given = torch.randn(n_batch, 4, 40, 30)
        torch.testing.assert_close(forward(given)[0], module(given), rtol=1e-4, atol=1e-5)


class Norms(torch.nn.Module):
    def forward(self, x):
        return (
            torch.nn.functional.instance_norm(x),
            torch.nn.functional.layer_norm(x.permute(0, 2, 3, 1), x.shape[1:2]),
            x.var((0, 2, 3)),
        )


def test_equal_values_have_exactly_their_mean():
    images = [torch.full((2, 6, 30, 30), value) for value in (0.1, -3e7)]
    captured = capture(Norms(), images[:1])
    program = assemble_supported(captured, Fusion(), EMITTER.supports, products=True)
    for schedule in EMITTER.schedules(program, GPU):
        text = source(program, EMITTER.emit(program, schedule, GPU))
        forward = build(on_cpu(text))
        for x in images:
            for result in forward(x):
                assert not result.any(), text


class Windows(torch.nn.Module):
    """Convolutions of single channels and pooled images, with activations before and after."""

    def __init__(self, stride: int, dilation: int, kernel: int) -> None:
        super().__init__()
        self.steps = stride, kernel // 2 * dilation, dilation, 8

    def forward(self, x, taps, bias):
        x = torch.nn.functional.conv2d(x * 2.0, taps, bias, *self.steps).relu()
        return (torch.nn.functional.max_pool2d(x - 9.0, 3, 2, 1),)  # padding is below all values


@pytest.mark.parametrize(("stride", "dilation", "kernel"), [(1, 1, 3), (2, 1, 5), (1, 2, 3)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_neighbouring_windows_of_channels_last_are_read_in_packs(stride, dilation, kernel, dtype):
    module = Windows(stride, dilation, kernel)
    x = torch.randn(3, 8, 13, 9).contiguous(memory_format=torch.channels_last)
    given = [t.to(dtype) for t in (x, torch.randn(8, 1, kernel, kernel), torch.randn(8))]
    captured, fusion = capture(module, given), Fusion(depthwise=True)
    program = assemble_supported(captured, fusion, EMITTER.supports, products=False)
    schedule = next(iter(EMITTER.schedules(program, GPU)))
    packs = [knobs.get("vector", 1) for knobs in schedule.values() if isinstance(knobs, dict)]
    assert packs.count(8 if dtype == torch.bfloat16 else 4) >= 2, schedule
    text = source(program, EMITTER.emit(program, schedule, GPU))
    forward = build(on_cpu(text))
    assert mismatch(forward(*given), program, given) == "", text
    (found,), (wanted,) = forward(*given), module(*given)
    rtol = 0.07 if dtype == torch.bfloat16 else 1e-4  # the spacing of numbers near 9
    torch.testing.assert_close(found, wanted, rtol=rtol, atol=rtol)
