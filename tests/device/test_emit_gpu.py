"""Emitted Triton and CUDA, built and run on an NVIDIA GPU, mean what the programs mean."""

from __future__ import annotations

import pytest
import torch

from kernelwright.propose.rules.emit.base import Target
from kernelwright.propose.rules.emit.cuda import CudaEmitter
from kernelwright.propose.rules.emit.triton import TritonEmitter
from kernelwright.testing.emitters import (
    build,
    example_inputs,
    mismatch,
    source,
    with_small_blocks,
)
from kernelwright.testing.nests import CASES, product

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU"),
]
GPU = Target("cuda")
EMITTERS = {"triton": TritonEmitter, "cuda": CudaEmitter}
ROUNDING = ("unary_steps", "reductions_short", "reductions_long", "pool_max", "softmax_short")
"""Programs that must treat NaN and infinities as torch does."""


def run(program, text, inputs):
    outputs = build(text)(*(value.cuda() for value in inputs))
    torch.cuda.synchronize()
    return outputs


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dialect", EMITTERS)
def test_every_program_computes_what_it_means(dialect, name):
    program, emitter = CASES[name](), EMITTERS[dialect]()
    if not all(emitter.supports(step) for step in program.own()):
        pytest.skip(f"{dialect} leaves {name} to PyTorch")
    inputs = example_inputs(program, special=name in ROUNDING)
    schedules = list(emitter.schedules(program, GPU))
    if dialect == "triton":  # its compiler is slow: the best, and one where every loop runs
        schedules = [schedules[0], with_small_blocks(schedules[-1])]
    for schedule in schedules:
        text = source(program, emitter.emit(program, schedule, GPU))
        assert mismatch(run(program, text, inputs), program, inputs) == "", (schedule, text)


@pytest.mark.parametrize("precision", ["bf16x3_6", "ieee"])
def test_a_float32_product_is_as_exact_as_cublas(precision):
    program, emitter = product(1024, 768, 2048), TritonEmitter()
    inputs = [value.cuda() for value in example_inputs(program)]
    a, b, bias = inputs
    exact = torch.relu(a.double() @ b.double().T + bias.double())
    cublas = (torch.relu(a @ b.T + bias) - exact).abs().max()
    wanted = [s for s in emitter.schedules(program, GPU) if s["linear"]["precision"] == precision]
    places = [{}] if precision == "ieee" else [{"split": "before"}, {"split": "inside"}]
    for place in places:
        schedule = {"linear": {**wanted[0]["linear"], **place}}
        (seen,) = build(source(program, emitter.emit(program, schedule, GPU)))(*inputs)
        assert (seen - exact).abs().max() <= 1.5 * cublas, schedule


def test_wide_loads_take_tensors_that_are_not_aligned():
    program, emitter = CASES["softmax_long"](), CudaEmitter()
    (x,) = example_inputs(program)
    shifted = torch.empty(x.numel() + 1, device="cuda")[1:].view(x.shape).copy_(x)
    schedule = next(iter(emitter.schedules(program, GPU)))
    text = source(program, emitter.emit(program, schedule, GPU))
    assert "aligned(x)" in text
    assert mismatch(build(text)(shifted), program, [x]) == ""
