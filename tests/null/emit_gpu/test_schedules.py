"""Schedules of the GPU emitters: each is a text of its own, and every knob is in it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
import torch
from tests.emitters import source
from tests.nests import CASES, plain_product
from tests.nests.notation import axes, full, program, row_major, tensor
from torch import nn

from kernelwright.compiler.capture.capture import capture
from kernelwright.compiler.codegen.base import Target
from kernelwright.compiler.codegen.cuda.emitter import CudaEmitter
from kernelwright.compiler.codegen.gpu.schedule import MAX_SCHEDULES
from kernelwright.compiler.codegen.triton.emitter import TritonEmitter
from kernelwright.compiler.codegen.triton.image import layouts
from kernelwright.compiler.codegen.triton.ops import pointwise
from kernelwright.compiler.codegen.triton.product_schedule import (
    product_choices,
    product_neighbours,
)
from kernelwright.compiler.fuse.assemble import assemble_supported
from kernelwright.compiler.fuse.fuse import Fusion
from kernelwright.compiler.ir.ir import (
    Affine,
    Compute,
    Const,
    Contraction,
    Kernel,
    Load,
    Program,
    Reduce,
    Ref,
    Store,
)

GPU = Target("cuda:sm_90")
EMITTERS = {"triton": TritonEmitter(), "cuda": CudaEmitter()}


def supported(emitter):
    return [name for name, make in CASES.items() if all(map(emitter.supports, make().own()))]


PAIRS = [(dialect, name) for dialect, e in EMITTERS.items() for name in supported(e)]


@pytest.mark.parametrize(("dialect", "name"), PAIRS)
def test_a_neighbour_is_another_text(dialect, name):
    program, emitter = CASES[name](), EMITTERS[dialect]
    schedules = list(emitter.schedules(program, GPU))
    assert 1 <= len(schedules) <= MAX_SCHEDULES + 1
    near = [s for first in schedules[:2] for s in emitter.refine(program, first, GPU)]
    distinct = {json.dumps(s, sort_keys=True): s for s in [*schedules, *near]}
    texts = {_text(emitter, program, schedule) for schedule in distinct.values()}
    assert len(texts) == len(distinct)
    assert near


def _text(emitter, program, schedule):
    emitted = emitter.emit(program, schedule, GPU)
    return emitted.runner + source(program, emitted)


@pytest.mark.parametrize("emitter", EMITTERS.values(), ids=EMITTERS)
@pytest.mark.parametrize(("channels", "wanted"), [(64, {1, 2, 4}), (128, {1})])
def test_rows_that_leave_half_of_the_processors_idle_are_tried_in_parts(emitter, channels, wanted):
    class Norm(nn.Module):
        def forward(self, x):
            variance, mean = torch.var_mean(x, (0, 2, 3), correction=0, keepdim=True)
            return ((x - mean) * torch.rsqrt(variance + 1e-5),)

    captured = capture(Norm(), [torch.rand(1, channels, 64, 64)])
    program = assemble_supported(captured, Fusion(), emitter.supports, products=True)
    first = next(iter(emitter.schedules(program, GPU)))
    near = [first, *emitter.refine(program, first, GPU)]
    found = {knobs.get("parts", 1) for s in near for knobs in s.values() if isinstance(knobs, dict)}
    assert found == wanted


def test_operands_of_a_batch_are_scaled_only_where_their_rows_stay_rows():
    """A part of k adds a stride to a batch's operand that is not stored by rows."""
    batch, (i,), (j,), (r,) = axes("b8"), axes("i256"), axes("j256"), axes("r2048")
    a, b = tensor("a", (*batch, i, r)), tensor("b", (*batch, r, j))
    y = Store(tensor("y", (*batch, i, j)), row_major((*batch, i, j)), "acc")
    loads = full("a0", a, (*batch, i, r)), full("b0", b, (*batch, r, j))
    step = Contraction("bmm", batch, (i,), (j,), (r,), *loads, (y,))
    tile = {"block_m": 64, "block_n": 64, "block_k": 64, "warps": 4, "stages": 3, "group": 8}
    scaled = {**tile, "precision": "fp16x2_3", "split": "before"}
    assert any("parts" in near for near in product_neighbours(step, tile | {"precision": "ieee"}))
    near = [scaled, *product_neighbours(step, scaled)]
    assert not any("parts" in knobs for knobs in near)
    whole = program(step, inputs=(a, b))
    for knobs in near:
        EMITTERS["triton"].emit(whole, {"bmm": knobs}, GPU)


@pytest.mark.parametrize(("read", "is_shared"), [("ij", True), ("i", False)])
def test_a_long_row_is_kept_by_several_blocks_where_each_overwrites_its_own_part(read, is_shared):
    """The first number of a row may have been overwritten when another block reads it."""
    outer, inner = axes("i264"), axes("j131072")
    over = (*outer, *inner)
    x = tensor("x", over)
    first = (
        Load("first", x, Affine.of({"i": 131072}))
        if read == "i"
        else Const("first", 1.0, "float32")
    )
    body = (
        full("x0", x, over),
        first,
        Compute("x1", "sub", ("x0", "first"), "float32"),
        Reduce("sum", "sum", "x1", "float32"),
        Compute("y0", "div", ("x1", "sum"), "float32"),
        Store(x, row_major(over), "y0"),
    )
    kernel = Kernel("rows", outer, inner, body)
    knobs = next(iter(EMITTERS["cuda"].choices(kernel)))
    assert ("together" in knobs) == is_shared


def test_layers_that_do_the_same_share_one_kernel():
    kernel = next(CASES["softmax_short"]().own())
    (x,), (y,) = kernel.reads, kernel.writes
    z = replace(y, name="z")
    moved = {x.name: y, y.name: z}
    body = tuple(
        replace(op, tensor=moved[op.tensor.name]) if hasattr(op, "tensor") else op
        for op in kernel.body
    )
    again = replace(kernel, name="again", body=body)
    program = Program((x,), (), (kernel, again), (Ref("z"),))
    for emitter in EMITTERS.values():
        schedule = {"softmax": (knobs := _first(emitter, kernel, x)), "again": knobs}
        emitted = emitter.emit(program, schedule, GPU)
        assert emitted.definitions.count("softmax_kernel(") == 1
        assert "softmax_kernel" in emitted.launches["again"]


def _first(emitter, kernel, x):
    program = Program((x,), (), (kernel,), (Ref("y"),))
    return next(iter(emitter.schedules(program, GPU)))["softmax"]


@pytest.mark.parametrize("emitter", EMITTERS.values(), ids=EMITTERS)
def test_small_programs_of_several_steps_are_first_tried_as_a_graph(emitter):
    program = CASES["in_place"]()
    first = next(iter(emitter.schedules(program, GPU)))
    assert first["graph"] is True
    emitted = emitter.emit(program, first, GPU)
    assert f"def {emitted.runner}(work, steps, inputs" in emitted.definitions


@pytest.mark.parametrize(
    ("layer", "image", "can_move"),
    [
        (nn.Conv2d(16, 8, 3), (5, 5), True),
        (nn.Conv2d(16, 8, 5), (5, 5), False),  # channels and taps are one axis
        (nn.Conv1d(16, 8, 3, padding=8), (8,), False),  # padding looks like a channel
    ],
    ids=["smaller kernel", "kernel as large as the image", "padding as long as the image"],
)
def test_an_image_is_laid_out_anew_where_every_distance_has_one_meaning(layer, image, can_move):
    captured = capture(layer, [torch.randn(4, 16, *image)])
    program = assemble_supported(captured, Fusion(), TritonEmitter().supports, products=True)
    (step,) = program.own()
    assert ("last" in layouts(step)) == can_move


def test_k_is_counted_in_64_bits_where_an_operand_is_so_large():
    program = plain_product(64, 2**16, 2**15)
    (step,) = program.own()
    choices = [knobs for knobs in product_choices(step) if knobs.get("split") != "before"]
    assert choices
    for knobs in choices:
        text = TritonEmitter().emit(program, {step.name: knobs}, GPU).definitions
        assert "k = start.to(tl.int64) + tl.arange(0, BLOCK_K)" in text


def test_dividing_by_a_power_of_two_is_multiplying():
    def text(divisor, dtype="float32"):
        return pointwise("div", ["x", divisor], dtype, interpreted=False)

    assert text("2.0") == "x * 0.5"
    assert text("3.0") == "tl.div_rn(x, 3.0)"
    assert text("y") == "tl.div_rn(x, y)"
    assert text("2", "int64") == "x // 2"


@pytest.mark.parametrize(("k", "parts"), [(4096, [2, 4]), (512, [2]), (4000, [])])
def test_a_whole_sum_has_neighbours_with_even_parts_of_it(k, parts):
    (step,) = plain_product(1024, 1024, k).own()
    [whole, *_] = [knobs for knobs in product_choices(step) if "parts" not in knobs]
    near = [n["parts"] for n in product_neighbours(step, whole) if "parts" in n]
    assert near == parts


def test_a_single_row_has_no_tiles_of_several():
    """Its result is stored as a number, which Triton refuses to take from a tile."""
    program = CASES["loss_mean"]()
    emitter = EMITTERS["triton"]
    schedules = list(emitter.schedules(program, GPU))
    near = [s for first in schedules for s in emitter.refine(program, first, GPU)]
    shapes = [
        knobs.get("rows", 1)
        for s in (*schedules, *near)
        for knobs in s.values()
        if knobs is not True
    ]
    assert set(shapes) == {1}


def test_blocks_of_a_network_change_their_schedules_together():
    blocks = [
        nn.Sequential(nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU()) for _ in range(3)
    ]
    captured = capture(nn.Sequential(*blocks), [torch.randn(2, 8, 6, 6)])
    program = assemble_supported(captured, Fusion(), CudaEmitter().supports, products=False)
    own = [step.name for step in program.own()]
    assert len(own) == 3
    first = next(iter(CudaEmitter().schedules(program, GPU)))
    near = [*CudaEmitter().refine(program, first, GPU)]
    assert len(near) > 2
    assert all(len({str(schedule[name]) for name in own}) == 1 for schedule in near)


@pytest.mark.parametrize(("rows", "k", "is_small"), [(2**18, 64, True), (2**17, 1024, False)])
def test_tiles_of_a_product_that_waits_for_memory_leave_room_for_others(rows, k, is_small):
    layer = nn.Linear(k, 256, bias=False, dtype=torch.bfloat16)
    captured = capture(layer, [torch.zeros(rows, k, dtype=torch.bfloat16)])
    supports = TritonEmitter().supports
    (step,) = assemble_supported(captured, Fusion(), supports, products=True).own()
    first = product_choices(step)[0]
    assert (first["block_m"] * first["block_n"] <= 128 * 64) == is_small
