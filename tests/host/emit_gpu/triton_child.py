"""Runs in a process of its own, since Triton decides when it is imported whether it interprets.

``values``: every case of the emitters' suite in Triton's interpreter (with TRITON_INTERPRET=1).
``norms``: norms of rows of equal values. ``compile``: a few cases for
an NVIDIA and an AMD GPU, without either. ``weights``: how often a weight is split in parts.
``traces``: files that lay operands out before a launch, where torch traces them. ``joins``: a
dense block without a concatenation. ``channels``: reductions over a convolution's channels.
Prints one JSON object: by case what is wrong with it.
"""

from __future__ import annotations

import itertools
import json
import sys

import torch
import triton
from tests.emitters import (
    SPECIAL,
    build,
    example_inputs,
    mismatch,
    source,
    with_small_blocks,
)
from tests.host.compiler.test_traced import Calls
from tests.nests import CASES
from tests.null.compiler import test_folded_columns as folded_columns
from tests.null.compiler.test_joins import Dense
from torch.fx.experimental.proxy_tensor import make_fx
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.tools.tensor_descriptor import TensorDescriptor

from kernelwright.compiler.capture.capture import capture
from kernelwright.compiler.codegen.base import Target
from kernelwright.compiler.codegen.gpu.axes import is_thin
from kernelwright.compiler.codegen.triton.convolution_schedule import is_convolution
from kernelwright.compiler.codegen.triton.descriptors import matrix_of
from kernelwright.compiler.codegen.triton.emitter import TritonEmitter
from kernelwright.compiler.codegen.triton.grid import grid_of
from kernelwright.compiler.codegen.triton.split import rows_of
from kernelwright.compiler.fuse.assemble import assemble_supported
from kernelwright.compiler.fuse.fuse import Fusion
from kernelwright.compiler.ir.ir import Contraction
from kernelwright.core.candidate import Brief
from kernelwright.core.device import Device
from kernelwright.loaders import load
from kernelwright.proposers.rules.proposer import OpenedTask
from kernelwright.proposers.rules.variants import variants

EMITTER = TritonEmitter()
COMPILED = (
    "unary_smooth", "unary_float64", "reductions_short", "softmax_columns", "layer_norm",
    "scan_max", "scan_decay_columns", "pool_argmax", "product_odd", "product_bfloat16",
    "convolution", "product_even", "product_upper", "convolution_rounded", "convolution_transposed",
    "convolution_side_by_side", "convolution_totals",
    "attention_causal", "totals_packed", "totals_long", "product_unpacked", "product_gathered",
    "product_grouped", "product_gated", "attention_in_a_window", "attention_capped",
    "attention_of_a_token",
)  # fmt: skip
THREE, TWO = {"precision": "bf16x3_6"}, {"precision": "fp16x2_3"}
IN_PARTS = (
    {**THREE, "split": "before", "descriptors": False},
    {**THREE, "split": "inside", "descriptors": False},
    {**THREE, "split": "before", "descriptors": True},
    {**TWO, "split": "before", "descriptors": False},
    {**TWO, "split": "before", "descriptors": True},
)
SHIFTED = {
    "block_m": 32, "block_n": 16, "block_k": 16, "warps": 4, "stages": 3, "precision": "tf32",
    "layout": "shifted",
}  # fmt: skip
POINTERS = {
    torch.float32: "*fp32", torch.float64: "*fp64", torch.bfloat16: "*bf16",
    torch.float16: "*fp16", torch.int64: "*i64", torch.int32: "*i32", torch.bool: "*i1",
    torch.uint8: "*u8", torch.int8: "*i8", torch.float8_e4m3fn: "*fp8e4nv",
}  # fmt: skip


def in_parts(program, schedules):
    """Every way to split operands in parts, in the first schedule that splits any."""
    steps = [step for step in program.own() if isinstance(step, Contraction)]
    for step, way in itertools.product(steps, IN_PARTS):
        found = [s for s in schedules if s[step.name].get("split")]
        if found and (way["precision"] == "bf16x3_6" or is_matrix(step)):
            knobs = {k: v for k, v in found[0][step.name].items() if k != "parts"}
            yield {**found[0], step.name: {**knobs, **way}}


def on_grids(program, schedules):
    """Convolutions as products of shifted rows, where outputs lie side by side."""
    for step in program.own():
        if isinstance(step, Contraction) and is_convolution(step) and grid_of(step):
            yield {**schedules[0], step.name: SHIFTED}


def by_descriptor(program, schedules):
    """Products whose tiles hardware copies, where operands are matrices."""
    for step in program.own():
        if isinstance(step, Contraction) and not is_convolution(step):
            knobs = schedules[0][step.name]
            if (
                not is_thin(step)
                and not knobs.get("split")
                and any(matrix_of(step, x) for x in "ab")
            ):
                yield {**schedules[0], step.name: {**knobs, "descriptors": True}}


def is_matrix(step) -> bool:
    """Whether both operands have rows, which can be brought to one size."""
    block = {"m": 16, "n": 16, "k": 16}
    return all(rows_of(step, letter, block) for letter in "ab")


def wrong_values(name: str) -> str:
    """What differs under the first schedule, under blocks so small that every loop runs, with
    operands in parts, and by shifted rows."""
    target = Target("cpu")
    program = CASES[name]()
    inputs = example_inputs(program, special=name in SPECIAL)
    schedules = list(EMITTER.schedules(program, target))
    texts = {source(program, EMITTER.emit(program, s, target)) for s in schedules}
    if len(texts) < len(schedules):
        return "two schedules give one text"
    parts = map(with_small_blocks, in_parts(program, schedules))
    shifted = on_grids(program, schedules)
    described = map(with_small_blocks, by_descriptor(program, schedules))
    for schedule in (schedules[0], with_small_blocks(schedules[-1]), *parts, *shifted, *described):
        text = source(program, EMITTER.emit(program, schedule, target))
        if different := mismatch(build(text)(*inputs), program, inputs):
            return f"{schedule}: {different}\n{text}"
    return ""


def wrong_without_scores(name: str) -> str:
    """What differs where every score of the first keys is minus infinity, a block of them long."""
    target = Target("cpu")
    program = CASES[name]()
    q, k, v = example_inputs(program)
    q[..., 0] = q[..., 0].abs() + 0.1
    k[..., :16, :] = 0.0
    k[..., :16, 0] = -float("inf")
    (first, *_) = EMITTER.schedules(program, target)
    schedule = {step: {**knobs, "block_m": 16, "block_n": 16} for step, knobs in first.items()}
    text = source(program, EMITTER.emit(program, schedule, target))
    return mismatch(build(text)(q, k, v), program, [q, k, v])


class Norms(torch.nn.Module):
    def forward(self, x):
        return (
            torch.nn.functional.instance_norm(x),
            torch.nn.functional.layer_norm(x.permute(0, 2, 3, 1), x.shape[1:2]),
            x.var((0, 2, 3)),
        )


def left_of_equal_values(value: str) -> str:
    """What norms leave of rows that are one value: nothing."""
    target = Target("cpu")
    x = torch.full((2, 6, 30, 30), float(value))
    program = assemble_supported(capture(Norms(), [x]), Fusion(), EMITTER.supports, products=True)
    for schedule in EMITTER.schedules(program, target):
        text = source(program, EMITTER.emit(program, schedule, target))
        for result in build(text)(x):
            if result.any():
                return f"{schedule}: {result.abs().max()}\n{text}"
    return ""


class Recorder:
    """Stands for a jitted function: launches are noted, not run."""

    def __init__(self, function, launches):
        self.function, self.launches = function, launches

    def __getitem__(self, grid):
        return lambda *tensors, **options: self.launches.append((self.function, tensors, options))


def not_compiled(name: str) -> str:
    """What stops the kernels of a case from compiling."""
    target = Target("cuda:sm_90")
    program = CASES[name]()
    schedules = list(EMITTER.schedules(program, target))
    parts = in_parts(program, schedules) if name == "product_even" else ()
    for schedule in (*schedules, *parts):
        forward = build(source(program, EMITTER.emit(program, schedule, target)))
        launches: list = []
        for key, value in list(forward.__globals__.items()):
            if isinstance(value, triton.JITFunction) and key.endswith(
                (
                    "_kernel",
                    "_joined",
                    "_in_three",
                    "_in_two",
                    "_rows",
                    "channels_last",
                    "padded_image",
                )
            ):
                forward.__globals__[key] = Recorder(value, launches)
        forward(*(torch.empty(t.shape, dtype=getattr(torch, t.dtype)) for t in program.inputs))
        for function, tensors, options in launches:
            for gpu in (GPUTarget("cuda", 90, 32), GPUTarget("hip", "gfx942", 64)):
                compile_for(gpu, function, tensors, dict(options))
    return ""


def kind_of(argument) -> str:
    """The type of a kernel's argument, in Triton's words."""
    if isinstance(argument, TensorDescriptor):
        block = ", ".join(map(str, argument.block_shape))
        return f"tensordesc<{POINTERS[argument.base.dtype][1:]}[{block}]>"
    return POINTERS[argument.dtype]


def compile_for(gpu, function, tensors, options) -> None:
    names = function.arg_names
    pointers = dict(zip(names, map(kind_of, tensors), strict=False))
    constants = {key: options.pop(key) for key in list(options) if key in names}
    signature = {key: pointers.get(key, "constexpr") for key in names}
    places = {(names.index(key),): value for key, value in constants.items()}
    triton.compile(ASTSource(function, signature, places), target=gpu, options=options)


class Counted:
    """A jitted function whose launches are counted."""

    def __init__(self, function, launches):
        self.function, self.launches = function, launches

    def __getitem__(self, grid):
        self.launches.append(grid)
        return self.function[grid]


class Layer(torch.nn.Module):
    """Two products of one input, and a result that depends on every weight."""

    def __init__(self):
        super().__init__()
        self.up, self.gate = torch.nn.Linear(40, 24), torch.nn.Linear(40, 24)

    def forward(self, x):
        return self.up(x) * torch.sigmoid(self.gate(x))


class Convolution(torch.nn.Module):
    """A convolution whose outputs lie side by side, and a step after it."""

    def __init__(self):
        super().__init__()
        self.over = torch.nn.Conv2d(16, 16, 3, padding=1)

    def forward(self, x):
        return torch.relu(self.over(x))


def proposed(layer: torch.nn.Module, x: torch.Tensor, wanted: dict[str, object]) -> str:
    """The file for a layer under the first schedule, with these knobs for every product."""
    brief = Brief(load(layer, inputs=[x]), Device.parse("cpu"), ("triton",))
    opened = OpenedTask(brief)
    for variant in variants("cpu"):
        program = opened.program(variant, EMITTER)
        if any(isinstance(step, Contraction) for step in program.own()):
            break
    first = next(EMITTER.schedules(program, Target("cpu")))
    schedule = {k: {**own, **wanted} if "precision" in own else own for k, own in first.items()}
    return opened.proposal(variant, EMITTER, schedule).candidate.source


def split_too_often(form: str) -> str:
    """What is wrong with a layer whose weights change between calls."""
    text = proposed(Layer(), torch.randn(20, 40), {"precision": form, "split": "before"})
    model, reference, launches = build(text, "ModelNew")(), Layer(), []
    splits = model.forward.__func__.__globals__
    kernel = {"bf16x3_6": "split_rows_in_three", "fp16x2_3": "split_whole_rows_in_two"}[form]
    splits[kernel] = Counted(splits[kernel], launches)
    counts = []
    with torch.no_grad():
        for change in ("load", "", "scale"):
            if change == "load":
                model.load_state_dict(reference.state_dict())
            elif change == "scale":
                reference.up.weight.mul_(0.5)
                model.up.weight.mul_(0.5)
            x = torch.randn(20, 40)
            torch.testing.assert_close(model(x), reference(x))
            counts.append(len(launches))
            launches.clear()
    # the input, which both products share, and two weights; the input; all again
    return "" if counts == [3, 1, 3] else f"{counts}\n{text}"


CONVOLVED = {"block_m": 32, "block_n": 16, "block_k": 16, "warps": 4, "stages": 3}
PREPARED: dict[str, tuple[type[torch.nn.Module], tuple[int, ...], dict[str, object]]] = {
    "three parts": (Layer, (20, 40), {"precision": "bf16x3_6", "split": "before"}),
    "two parts": (Layer, (20, 40), {"precision": "fp16x2_3", "split": "before"}),
    "channels last": (Convolution, (2, 16, 8, 8),
                      {**CONVOLVED, "precision": "parts", "layout": "last"}),
    "as is": (Convolution, (2, 16, 8, 8), {**CONVOLVED, "precision": "tf32", "layout": "as is"}),
    "shifted": (Convolution, (2, 16, 8, 8), SHIFTED),
}  # fmt: skip
"""Ways to lay operands out before a launch: a layer, the shape of its input, the knobs."""


def left_out_of_a_trace(way: str) -> str:
    """What is wrong with traces of a file that lays operands out before it launches kernels."""
    layer, shape, wanted = PREPARED[way]
    text = proposed(layer(), torch.randn(shape), wanted)
    reference = layer()
    model = build(text, "ModelNew")()
    model.load_state_dict(reference.state_dict())
    with torch.no_grad():
        x, other = torch.randn(shape), torch.randn(shape)
        if reason := model.why_not(x):
            return reason
        model(x)  # what is kept from this call is no part of a trace
        for trace in (make_fx(model)(x), torch.export.export(model, (x,)).module()):
            torch.testing.assert_close(trace(other), reference(other))
            calls = Calls(trace)
            calls.run(other)
            if len(calls.seen) < 2:
                return f"only {calls.seen} are in a trace"
            for target, args in calls.seen:
                torch.library.opcheck(target, args, test_utils=("test_schema", "test_faketensor"))
        compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
        torch.testing.assert_close(compiled(x), reference(x))
        for changed in (model, reference):
            for weight in changed.parameters():
                weight.mul_(1.5)
        torch.testing.assert_close(compiled(other), reference(other))
    return ""


def wrong_in_place(way: str) -> str:
    """What is wrong with a block whose parts are computed where their concatenation lies."""
    x = torch.randn(2, 16, 9, 8)
    opened = OpenedTask(Brief(load(Dense(3), inputs=[x]), Device.parse("cpu"), ("triton",)))
    variant = next(variant for variant in variants("cpu") if variant.name == way)
    schedule = next(EMITTER.schedules(opened.program(variant, EMITTER), Target("cpu")))
    text = opened.proposal(variant, EMITTER, schedule).candidate.source
    model, reference = build(text, "ModelNew")(), Dense(3)
    model.load_state_dict(reference.state_dict())
    if "empty_strided" not in text or "torch.cat" in text:
        return text
    with torch.no_grad():
        for given in (x, torch.randn(2, 16, 9, 8)):
            if reason := model.why_not(given):
                return reason
            torch.testing.assert_close(model(given), reference(given), rtol=1e-3, atol=1e-3)
        for seen, wanted in zip(model.buffers(), reference.buffers(), strict=True):
            torch.testing.assert_close(seen, wanted, rtol=1e-3, atol=1e-3)
    return ""


def wrong_over_channels(name: str) -> str:
    """What is wrong with a convolution whose kernel reduces over its channels."""
    program, inputs = folded_columns.with_weights(name)
    for schedule in EMITTER.schedules(program, Target("cpu")):
        text = source(program, EMITTER.emit(program, schedule, Target("cpu")))
        if different := mismatch(build(text)(*inputs), program, inputs):
            return f"{schedule}: {different}\n{text}"
    return ""


def report(checks: dict) -> None:
    """Print one JSON object: what a check finds wrong with each of its cases."""
    check, names = checks[sys.argv[1]]
    found = {}
    for case in sys.argv[2:] or names:
        try:
            found[case] = check(case)
        except Exception as problem:
            found[case] = f"{type(problem).__name__}: {problem}"
    print(json.dumps(found))


if __name__ == "__main__":
    checks = {
        "values": (wrong_values, CASES),
        "compile": (not_compiled, COMPILED),
        "norms": (left_of_equal_values, ["0.1", "-3e7"]),
        "scores": (wrong_without_scores, ["attention"]),
        "weights": (split_too_often, ["bf16x3_6", "fp16x2_3"]),
        "traces": (left_out_of_a_trace, PREPARED),
        "channels": (wrong_over_channels, [*folded_columns.CASES, *folded_columns.GROUPED]),
        "joins": (wrong_in_place, ["fused, own matmul", "fused", "fused, channels last"]),
    }
    report(checks)
