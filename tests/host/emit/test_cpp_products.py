"""Emitted matrix products do what the interpreter does: shapes, layouts, epilogues, blocks."""

import math

import pytest
import torch
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.host.emit.running import TARGET, run_emitted

from kernelwright.compiler.codegen.cpp.emitter import CppEmitter
from kernelwright.compiler.codegen.cpp.gemm import product_of
from kernelwright.compiler.codegen.cpp.schedule import guess
from kernelwright.compiler.ir.interpret import run_step
from kernelwright.compiler.ir.ir import (
    Affine,
    Axis,
    Bound,
    Compute,
    Const,
    Contraction,
    Load,
    Store,
    Tensor,
    contiguous,
)

SIZES = st.sampled_from([1, 1, 2, 3, 7, 16, 33, 50, 64, 100])
N_PRODUCTS = 4


def strided(draw, name: str, axes: list[Axis], dtype: str) -> tuple[Tensor, Affine]:
    """A tensor over ``axes`` in a drawn order."""
    axes = draw(st.permutations(axes))
    strides, step = [], 1
    for axis in reversed(axes):
        strides.append(step)
        step *= axis.size
    strides.reverse()
    index = Affine.of({axis.name: s for axis, s in zip(axes, strides, strict=True)})
    return Tensor(name, tuple(axis.size for axis in axes), dtype, tuple(strides)), index


@st.composite
def products(draw, name: str):
    def group(letter: str, most: int) -> tuple[Axis, ...]:
        sizes = draw(st.lists(SIZES, min_size=1, max_size=most))
        while math.prod(sizes) > 250:
            sizes.pop()
        return tuple(Axis(f"{letter}{i}", size) for i, size in enumerate(sizes))

    batch = tuple(Axis("b", draw(st.integers(1, 3))) for _ in range(draw(st.integers(0, 1))))
    m, n, k = group("m", 2), group("n", 2), group("k", 1)
    dtype = draw(st.sampled_from(["float32", "float32", "float32", "bfloat16"]))
    left, left_index = strided(draw, f"{name}_a", [*batch, *m, *k], dtype)
    shared = draw(st.booleans())
    right, right_index = strided(draw, f"{name}_b", [*([] if shared else batch), *n, *k], dtype)
    out, out_index = strided(draw, f"{name}_y", [*batch, *m, *n], "float32")
    bias = contiguous(f"{name}_bias", (math.prod(a.size for a in n),), "float32")
    bias_index, step = {}, 1
    for axis in reversed(n):
        bias_index[axis.name] = step
        step *= axis.size
    body = (
        Load("bv", bias, Affine.of(bias_index)),
        Compute("s", "add", ("acc", "bv"), "float32"),
        Const("two", 2.0, "float32"),
        Compute("r", "relu", ("s",), "float32"),
        Compute("y", "mul", ("r", "two"), "float32"),
        Store(out, out_index, "y"),
    )
    a, b = Load("a", left, left_index), Load("b", right, right_index)
    step = Contraction(name, batch, m, n, k, a, b, body)
    knobs = guess(step, TARGET)
    if not knobs["few"]:
        knobs["mr"], knobs["nv"] = draw(st.sampled_from([(12, 2), (8, 3), (6, 4)]))
        knobs["mc"], knobs["nc"] = knobs["mr"] * 2, knobs["nv"] * 32
        knobs["kc"] = draw(st.sampled_from([16, 512]))
    knobs["parallel"] = draw(st.sampled_from(["none", "inner", "outer"]))
    return step, knobs


@given(st.tuples(*(products(f"product_{i}") for i in range(N_PRODUCTS))))
@settings(
    max_examples=12,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=list(HealthCheck),
)
def test_random_products_match_the_interpreter(batch):
    generator = torch.Generator().manual_seed(0)
    memory = {}
    for step, _ in batch:
        for tensor in step.reads:
            flat = torch.randn(tensor.n_elements, generator=generator)
            flat = flat.to(getattr(torch, tensor.dtype))
            memory[tensor.name] = flat.as_strided(tensor.shape, tensor.strides)
    expected = dict(memory)
    for step, _ in batch:
        run_step(step, expected)
    schedule = {step.name: knobs for step, knobs in batch}
    seen = run_emitted([step for step, _ in batch], schedule, memory)
    for step, knobs in batch:
        name = step.writes[0].name
        scale = expected[name].abs().max().item() + 1
        error = (seen[name] - expected[name]).abs().max().item()
        assert error <= 1e-5 * scale, (step, knobs)


def linear(m: int, n: int, k: int) -> Contraction:
    x, w = contiguous("x", (m, k), "float32"), contiguous("w", (n, k), "float32")
    body = (Store(contiguous("y", (m, n), "float32"), Affine.of({"m": n, "n": 1}), "acc"),)
    a = Load("a", x, Affine.of({"m": k, "k": 1}))
    b = Load("b", w, Affine.of({"n": k, "k": 1}))
    return Contraction("linear", (), (Axis("m", m),), (Axis("n", n),), (Axis("k", k),), a, b, body)


@pytest.mark.parametrize("rows", [1, 5, 200])
def test_a_long_sum_is_as_accurate_as_the_librarys(rows):
    step = linear(rows, 96, 5000)
    generator = torch.Generator().manual_seed(0)
    memory = {t.name: torch.randn(t.shape, generator=generator) for t in step.reads}
    seen = run_emitted([step], {}, memory)["y"]
    exact = memory["x"].double() @ memory["w"].double().T
    library = memory["x"] @ memory["w"].T
    assert (seen - exact).abs().max() <= 2 * (library - exact).abs().max()


def test_the_contiguous_side_of_the_result_is_vectorised():
    step = linear(8, 16, 32)
    swapped = (Store(contiguous("y", (16, 8), "float32"), Affine.of({"n": 8, "m": 1}), "acc"),)
    turned = Contraction("turned", (), step.m, step.n, step.k, step.a, step.b, swapped)
    assert product_of(step).columns == step.n
    assert product_of(turned).columns == step.m


def test_convolution_with_padding_is_left_to_the_library():
    step = linear(8, 16, 32)
    padded = Load("a", step.a.tensor, step.a.index, (Bound(Affine.of({"k": 1}), 1, 30),))
    assert CppEmitter().supports(step)
    with_bounds = Contraction("c", (), step.m, step.n, step.k, padded, step.b, step.body)
    assert not CppEmitter().supports(with_bounds)
