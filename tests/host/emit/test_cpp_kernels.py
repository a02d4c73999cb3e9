"""Emitted kernels do what the interpreter does, whatever the schedule."""

from dataclasses import asdict

import pytest
import torch
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.host.emit.random_kernels import kernels, memory_for
from tests.host.emit.running import TARGET, run_emitted

from kernelwright.compiler.codegen.cpp.loop import Knobs
from kernelwright.compiler.codegen.cpp.nest import simplified
from kernelwright.compiler.codegen.cpp.schedule import guess, is_cuttable
from kernelwright.compiler.ir.interpret import run_step
from kernelwright.compiler.ir.ir import (
    Affine,
    Axis,
    Kernel,
    Load,
    Reduce,
    Scan,
    Store,
    contiguous,
)

N_KERNELS = 10  # one compiler run for all of them


@st.composite
def knobs(draw, kernel: Kernel):
    if draw(st.booleans()):
        return guess(kernel, TARGET)
    plain = simplified(kernel)
    axes = [axis.name for axis in (*plain.outer, *plain.inner)]
    ways = ["outer", "none", *(["inner"] if is_cuttable(plain) else [])]
    drawn = asdict(
        Knobs(
            vector=draw(st.sampled_from(axes)) if axes else "",
            lanes=draw(st.sampled_from([16, 64])),
            keep_cost=draw(st.sampled_from([0, 6, 1000])),
            parallel=draw(st.sampled_from(ways)),
            chunks=draw(st.sampled_from([2, 3])),
            block=draw(st.sampled_from([16, 4096])),
            square=draw(st.sampled_from([0, 16])),
        )
    )
    return drawn


@st.composite
def batches(draw):
    drawn = [draw(kernels(f"kernel_{i}")) for i in range(N_KERNELS)]
    return [(kernel, draw(knobs(kernel))) for kernel in drawn]


@given(batches(), st.integers(0, 1000))
@settings(
    max_examples=12,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_random_kernels_match_the_interpreter(batch, seed):
    expected: dict[str, torch.Tensor] = {}
    for kernel, _ in batch:
        expected |= memory_for(kernel, seed)
    given_memory = dict(expected)
    for kernel, _ in batch:
        run_step(kernel, expected)
    schedule = {kernel.name: chosen for kernel, chosen in batch}
    seen = run_emitted([kernel for kernel, _ in batch], schedule, given_memory)
    for kernel, chosen in batch:
        for tensor in kernel.writes:
            want, have = expected[tensor.name], seen[tensor.name]
            scale = want.double().nan_to_num(0, 0, 0).abs().max().clamp(min=1).item()
            tolerance = 1e-2 if tensor.dtype in ("bfloat16", "float16") else 2e-5
            assert torch.allclose(
                have.double(), want.double(), rtol=tolerance, atol=tolerance * scale, equal_nan=True
            ), (kernel, chosen, tensor.name, want, have)


@pytest.mark.parametrize("vector", ["o", "i"])
def test_argmax_beside_a_reverse_scan_returns_the_first_of_equal_values(vector):
    at, row = Affine.of({"o": 130, "i": 1}), Affine.of({"o": 1})
    x = contiguous("x", (3, 130), "float32")
    body = [Load("v", x, at), Scan("s", "sum", "v", "float32", reverse=True)]
    body += [Store(contiguous("sums", (3, 130), "float32"), at, "s")]
    for op in ("argmax", "argmin"):
        body += [Reduce(op, op, "v", "int64"), Store(contiguous(f"y_{op}", (3,), "int64"), row, op)]
    kernel = Kernel("ties", (Axis("o", 3),), (Axis("i", 130),), tuple(body))
    values = torch.arange(390.0).reshape(3, 130) % 4
    values[1] = 7.0
    values[2, 40::30] = float("nan")
    expected, given_memory = {"x": values}, {"x": values}
    run_step(kernel, expected)
    seen = run_emitted([kernel], {"ties": asdict(Knobs(vector=vector))}, given_memory)
    for name in ("y_argmax", "y_argmin"):
        assert torch.equal(seen[name], expected[name])
