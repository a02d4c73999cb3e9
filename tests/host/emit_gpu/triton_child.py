"""Runs in a process of its own, since Triton decides when it is imported whether it interprets.

``values``: every case of the emitters' suite in Triton's interpreter (with TRITON_INTERPRET=1).
``compile``: a few cases for
an NVIDIA and an AMD GPU, without either. Prints one JSON object: by case what is wrong with it.
"""

from __future__ import annotations

import json
import sys

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from kernelwright.propose.rules.emit.base import Target
from kernelwright.propose.rules.emit.triton import TritonEmitter
from kernelwright.testing.emitters import (
    SPECIAL,
    build,
    example_inputs,
    mismatch,
    source,
    with_small_blocks,
)
from kernelwright.testing.nests import CASES

EMITTER = TritonEmitter()
COMPILED = (
    "unary_smooth", "unary_float64", "reductions_short", "softmax_columns", "layer_norm",
    "scan_max", "pool_argmax", "product_odd", "product_bfloat16", "convolution",
)  # fmt: skip
POINTERS = {
    torch.float32: "*fp32", torch.float64: "*fp64", torch.bfloat16: "*bf16",
    torch.float16: "*fp16", torch.int64: "*i64", torch.int32: "*i32", torch.bool: "*i1",
}  # fmt: skip


def wrong_values(name: str) -> str:
    """What differs under the first schedule, and under blocks so small that every loop runs."""
    target = Target("cpu")
    program = CASES[name]()
    inputs = example_inputs(program, special=name in SPECIAL)
    schedules = list(EMITTER.schedules(program, target))
    texts = {source(program, EMITTER.emit(program, s, target)) for s in schedules}
    if len(texts) < len(schedules):
        return "two schedules give one text"
    for schedule in (schedules[0], with_small_blocks(schedules[-1])):
        text = source(program, EMITTER.emit(program, schedule, target))
        if different := mismatch(build(text)(*inputs), program, inputs):
            return f"{schedule}: {different}\n{text}"
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
    for schedule in EMITTER.schedules(program, target):
        forward = build(source(program, EMITTER.emit(program, schedule, target)))
        launches: list = []
        for key, value in list(forward.__globals__.items()):
            if isinstance(value, triton.JITFunction) and key.endswith(("_kernel", "_in_three")):
                forward.__globals__[key] = Recorder(value, launches)
        forward(*(torch.empty(t.shape, dtype=getattr(torch, t.dtype)) for t in program.inputs))
        for function, tensors, options in launches:
            for gpu in (GPUTarget("cuda", 90, 32), GPUTarget("hip", "gfx942", 64)):
                compile_for(gpu, function, tensors, dict(options))
    return ""


def compile_for(gpu, function, tensors, options) -> None:
    names = function.arg_names
    pointers = dict(zip(names, (POINTERS[t.dtype] for t in tensors), strict=False))
    constants = {key: options.pop(key) for key in list(options) if key in names}
    signature = {key: pointers.get(key, "constexpr") for key in names}
    places = {(names.index(key),): value for key, value in constants.items()}
    triton.compile(ASTSource(function, signature, places), target=gpu, options=options)


if __name__ == "__main__":
    check, names = (wrong_values, CASES) if sys.argv[1] == "values" else (not_compiled, COMPILED)
    found = {}
    for case in sys.argv[2:] or names:
        try:
            found[case] = check(case)
        except Exception as problem:
            found[case] = f"{type(problem).__name__}: {problem}"
    print(json.dumps(found))
