"""Products, convolutions and attention on simdgroup matrices are right at every edge.

Inputs are small integers where a sum is to be exact: then a lost or doubled term shows, however
small the sizes.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from tests.emitters import build, example_inputs, mismatch, source
from tests.nests import CASES
from tests.nests.products import product
from torch import nn

from kernelwright.compiler.capture.capture import capture
from kernelwright.compiler.codegen.base import Target
from kernelwright.compiler.codegen.metal.emitter import MetalEmitter
from kernelwright.compiler.fuse.assemble import assemble_supported
from kernelwright.compiler.fuse.fuse import Fusion
from kernelwright.compiler.ir.ir import Attention, Call, Contraction, Program
from kernelwright.dialects.compile_shader import compile_shader
from kernelwright.dialects.simt.metal import msl_missing

pytestmark = pytest.mark.skipif(msl_missing() is not None, reason=str(msl_missing()))
APPLE = Target("metal:emulated")
EMITTER = MetalEmitter()


@pytest.fixture(autouse=True)
def emulated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.mps, "compile_shader", compile_shader)


class Applied(nn.Module):
    """A function of its inputs as a module."""

    def __init__(self, function: Callable[..., torch.Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> tuple[torch.Tensor]:
        return (self.function(*inputs),)


def own_program(function: Callable[..., torch.Tensor], inputs: list[torch.Tensor]) -> Program:
    """The program of a function; every large operator in it is own code."""
    fusion = Fusion(least_attention=0)
    program = assemble_supported(
        capture(Applied(function), inputs), fusion, EMITTER.supports, products=True
    )
    assert not any(isinstance(step, Call) for step in program.steps)
    return program


def results(program: Program, inputs: list[torch.Tensor]) -> list[torch.Tensor]:
    """What the kernels of every schedule compute."""
    found = []
    for schedule in EMITTER.schedules(program, APPLE):
        text = source(program, EMITTER.emit(program, schedule, APPLE))
        found.append(build(text)(*inputs)[0])
    assert found
    return found


def integers(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    return torch.randint(-3, 4, shape).to(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize(
    ("m", "n", "k", "batch"),
    [(5, 7, 3, 0), (33, 65, 17, 0), (64, 64, 32, 0), (16, 100, 1, 0), (17, 9, 40, 3)],
)
def test_products_of_any_size_are_exact(m: int, n: int, k: int, batch: int, dtype: str) -> None:
    program = product(m, n, k, dtype, batch)
    a, b, bias = (integers(*t.shape, dtype=getattr(torch, t.dtype)) for t in program.inputs)
    wanted = F.relu(a.double() @ b.double().mT + bias.double()).to(a.dtype)
    schedule = next(iter(EMITTER.schedules(program, APPLE)))
    text = source(program, EMITTER.emit(program, schedule, APPLE))
    (found,) = build(text)(a, b, bias)
    assert torch.equal(found, wanted)


def test_every_tile_of_a_product_is_exact() -> None:
    program = product(70, 45, 50)
    a, b, bias = (integers(*t.shape) for t in program.inputs)
    wanted = F.relu(a @ b.mT + bias)
    assert all(torch.equal(found, wanted) for found in results(program, [a, b, bias]))
    first = next(iter(EMITTER.schedules(program, APPLE)))
    for schedule in EMITTER.refine(program, first, APPLE):
        text = source(program, EMITTER.emit(program, schedule, APPLE))
        assert torch.equal(build(text)(a, b, bias)[0], wanted), schedule


@pytest.mark.parametrize(("m", "k", "n"), [(1, 300, 77), (77, 300, 1), (1, 31, 1), (2, 65, 130)])
def test_a_matrix_times_a_vector_is_exact(m: int, k: int, n: int) -> None:
    x, w = integers(m, k), integers(k, n)
    program = own_program(torch.matmul, [x, w])
    assert all(torch.equal(found, x @ w) for found in results(program, [x, w]))


IMAGES = {
    "rows": (lambda x, w: F.conv1d(x, w, stride=2, padding=3), (2, 5, 19), (7, 5, 4)),
    "padded": (lambda x, w: F.conv2d(x, w, padding=1), (2, 3, 9, 7), (5, 3, 3, 3)),
    "strided and dilated": (
        lambda x, w: F.conv2d(x, w, stride=(2, 1), padding=(0, 2), dilation=(1, 2)),
        (2, 3, 11, 8),
        (20, 3, 3, 2),
    ),
    "groups": (lambda x, w: F.conv2d(x, w, groups=3, padding=1), (2, 6, 7, 5), (12, 2, 3, 3)),
    "depthwise": (lambda x, w: F.conv2d(x, w, groups=6, padding=1), (2, 6, 7, 5), (6, 1, 3, 3)),
    "pointwise": (lambda x, w: F.conv2d(x, w), (2, 9, 7, 5), (17, 9, 1, 1)),
    "volumes": (lambda x, w: F.conv3d(x, w, padding=1), (1, 3, 5, 4, 6), (4, 3, 3, 3, 3)),
    "two channels": (lambda x, w: F.conv2d(x, w), (2, 3, 9, 7), (2, 3, 3, 3)),
    "transposed rows": (
        lambda x, w: F.conv_transpose1d(x, w, stride=3, padding=1, dilation=2),
        (2, 5, 8),
        (5, 6, 3),
    ),
    "transposed": (
        lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1, output_padding=1, groups=2),
        (2, 4, 5, 6),
        (4, 3, 3, 3),
    ),
}


@pytest.mark.parametrize("name", IMAGES)
def test_convolutions_are_exact(name: str) -> None:
    function, image, weight = IMAGES[name]
    x, w = integers(*image), integers(*weight)
    program = own_program(function, [x, w])
    schedule = next(iter(EMITTER.schedules(program, APPLE)))
    text = source(program, EMITTER.emit(program, schedule, APPLE))
    assert torch.equal(build(text)(x, w)[0], function(x, w))


def test_what_follows_a_product_is_in_its_kernel() -> None:
    def block(x: torch.Tensor, w: torch.Tensor, b: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return y + 0.5 * F.relu(F.linear(x, w, b))

    inputs = [integers(19, 30), integers(21, 30), integers(21), integers(19, 21)]
    program = own_program(block, inputs)
    assert [type(step) for step in program.steps] == [Contraction]
    assert all(torch.equal(found, block(*inputs)) for found in results(program, inputs))


ATTENTION = {
    "full": ((2, 3, 37, 24), (2, 3, 41, 24), False),
    "causal": ((1, 2, 45, 40), (1, 2, 45, 40), True),
    "shared keys": ((2, 6, 19, 16), (2, 2, 35, 16), False),
    "one head of keys": ((1, 3, 20, 64), (1, 1, 70, 64), False),
    "wide": ((1, 1, 10, 130), (1, 1, 12, 130), True),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("name", ATTENTION)
def test_attention_sums_in_float(name: str, dtype: torch.dtype) -> None:
    queries, keys, causal = ATTENTION[name]
    inputs = [torch.randn(shape).to(dtype) for shape in (queries, keys, keys)]

    def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        return F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=True)

    program = own_program(attention, inputs)
    assert [type(step) for step in program.steps] == [Attention]
    wanted = attention(*(value.double() for value in inputs))
    within = 4e-6 if dtype is torch.float32 else torch.finfo(dtype).eps
    of_schedules = results(program, inputs) if dtype is torch.float32 else None
    if of_schedules is None:
        schedule = next(iter(EMITTER.schedules(program, APPLE)))
        of_schedules = [build(source(program, EMITTER.emit(program, schedule, APPLE)))(*inputs)[0]]
    for found in of_schedules:
        assert found.dtype is dtype
        torch.testing.assert_close(found.double(), wanted, atol=within, rtol=within)


def test_bfloat16_rounds_to_the_nearest_and_ties_to_even() -> None:
    def halved(x: torch.Tensor) -> torch.Tensor:
        return x.bfloat16()

    bits = torch.arange(0x3F80_0000, 0x3F80_0000 + (1 << 18), 977, dtype=torch.int32)
    ties = torch.arange(0x3F80_8000, 0x3F90_8000, 1 << 16, dtype=torch.int32)
    special = torch.tensor([0.0, -0.0, 3.4e38, -3.4e38, float("inf"), 1e-45])
    x = torch.cat([bits.view(torch.float32), ties.view(torch.float32), special])
    program = own_program(halved, [x])
    for found in results(program, [x]):
        assert torch.equal(found.view(torch.int16), halved(x).view(torch.int16))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: F.silu(x) * 2 - x,
        lambda x: x.softmax(-1),
        lambda x: x.sum(0),
        lambda x: F.layer_norm(x, (50,)),
    ],
    ids=["pointwise", "softmax", "sum", "norm"],
)
def test_bfloat16_is_computed_in_float(function: Callable[[torch.Tensor], torch.Tensor]) -> None:
    x = torch.randn(37, 50).bfloat16()
    program = own_program(function, [x])
    schedule = next(iter(EMITTER.schedules(program, APPLE)))
    text = source(program, EMITTER.emit(program, schedule, APPLE))
    (found,) = build(text)(x)
    assert found.dtype is torch.bfloat16
    torch.testing.assert_close(found.double(), function(x.double()), atol=8e-3, rtol=8e-3)


def test_infinities_stay_in_their_rows() -> None:
    program = CASES["product_infinite"]()
    inputs = example_inputs(program, special=True)
    for schedule in EMITTER.schedules(program, APPLE):
        text = source(program, EMITTER.emit(program, schedule, APPLE))
        assert mismatch(build(text)(*inputs), program, inputs) == ""


def test_arguments_may_be_called_like_words_of_the_language() -> None:
    def named(
        kernel: torch.Tensor, half: torch.Tensor, device: torch.Tensor, row: torch.Tensor
    ) -> torch.Tensor:
        return torch.softmax((kernel @ half) * device + row, -1)

    class Named(nn.Module):
        def forward(
            self, kernel: torch.Tensor, half: torch.Tensor, device: torch.Tensor, row: torch.Tensor
        ) -> tuple[torch.Tensor]:
            return (named(kernel, half, device, row),)

    inputs = [integers(9, 10), integers(10, 11), integers(11), integers(9, 11)]
    captured = capture(Named(), inputs)
    program = assemble_supported(captured, Fusion(), EMITTER.supports, products=True)
    words = {tensor.name for tensor in program.inputs}
    assert words & {"kernel", "half", "device", "row"}
    schedule = next(iter(EMITTER.schedules(program, APPLE)))
    text = source(program, EMITTER.emit(program, schedule, APPLE))
    torch.testing.assert_close(build(text)(*inputs)[0], named(*inputs))
