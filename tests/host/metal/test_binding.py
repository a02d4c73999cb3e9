"""The stand-in for ``torch.mps.compile_shader`` binds arguments as torch does."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch

from kernelwright.dialects.compile_shader import Library, compile_shader
from kernelwright.dialects.simt.metal import msl_missing

pytestmark = pytest.mark.skipif(msl_missing() is not None, reason=str(msl_missing()))

SOURCE = """
kernel void put_long(device long* y, constant long& v) { y[0] = v; }
kernel void put_int(device int* y, constant int& v) { y[0] = v; }
kernel void put_float(device float* y, constant float& v) { y[0] = v; }
kernel void put_half(device half* y, constant half& v) { y[0] = v; }
kernel void put_bool(device int* y, constant long& v) { y[0] = v ? 7 : 0; }
kernel void put_list(device long* y, constant long* v) { y[0] = v[0] * 100 + v[1]; }
kernel void copy(device const float* x, device float* y, uint i [[thread_position_in_grid]]) {
  y[i] = x[i];
}
kernel void where(device int* y, uint2 at [[thread_position_in_grid]],
                  uint2 n [[threads_per_grid]], uint2 group [[threads_per_threadgroup]]) {
  y[at.y * n.x + at.x] = at.y * 1000 + at.x * 10 + (group.x == 4);
}
kernel void third(device float* y, device float* z, constant float& v [[buffer(5)]]) { y[0] = v; }
"""


@pytest.fixture(scope="module")
def library() -> Library:
    return compile_shader(SOURCE)


@pytest.mark.parametrize(
    ("name", "dtype", "value", "casts", "wanted"),
    [
        ("put_long", torch.int64, 1 << 40, None, 1 << 40),
        ("put_long", torch.int64, -3, None, -3),
        ("put_bool", torch.int32, True, None, 7),
        ("put_int", torch.int32, -3, "int32", -3),
        ("put_int", torch.int32, 5, {1: "int32"}, 5),
        ("put_float", torch.float32, 0.5, None, 0.5),
        ("put_half", torch.float16, 0.1, "fp16", 0.0999755859375),
        ("put_list", torch.int64, [3, 4], None, 304),
    ],
)
def test_numbers(
    library: Library, name: str, dtype: torch.dtype, value: Any, casts: Any, wanted: float
) -> None:
    y = torch.empty(1, dtype=dtype)
    getattr(library, name)(y, value, arg_casts=casts, threads=1)
    assert y.item() == wanted


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda k, y: k.put_int(y, 3), RuntimeError, "argument 1 has 8 bytes"),
        (lambda k, y: k.put_long(y, 3, arg_casts="int32"), RuntimeError, "has 4 bytes"),
        (lambda k, y: k.put_float(y, 3), RuntimeError, "has 8 bytes"),
        (lambda k, y: k.third(y, y), RuntimeError, "parameter 2 reads buffer(5), and 2 arguments"),
        (lambda k, y: k.put_long(y, None), TypeError, "not NoneType"),
        (lambda k, y: k.put_long(y, 3, arg_casts="uint32"), ValueError, "uint32"),
        (lambda k, y: k.copy(y, y, threads=8, group_size=2048), ValueError, "2048 threads"),
        (lambda k, y: k.copy(y, y, threads=(8, 8), group_size=8), ValueError, "2 extents"),
        (lambda k, y: k.copy(y, y, threads=(1, 1, 1, 1)), ValueError, "one to three"),
        (lambda k, y: k.copy(y.double(), y), TypeError, "float64"),
        (lambda k, y: k.nothing(y), RuntimeError, "no kernel nothing"),
        (lambda k, y: k.copy(y, torch.zeros(4)), RuntimeError, "out-of-bounds"),
        (lambda k, y: k.copy(y, torch.zeros(1).expand(8)), RuntimeError, "out-of-bounds"),
    ],
)  # fmt: skip
def test_what_does_not_fit(library: Library, call: Any, kind: type, message: str) -> None:
    y = torch.zeros(8)
    with pytest.raises(kind, match=re.escape(message)):
        call(library, y)


def test_strides_are_not_passed(library: Library) -> None:
    x, y = torch.arange(6.0).view(2, 3).t(), torch.empty(6)
    library.copy(x, y)
    assert y.tolist() == [0, 1, 2, 3, 4, 5]  # as the storage lies, not as x is indexed


def test_a_view_begins_at_its_offset_and_results_lie_in_place(library: Library) -> None:
    x = torch.arange(10.0)
    library.copy(x[5:], x[:5])
    assert x.tolist() == [5, 6, 7, 8, 9, 5, 6, 7, 8, 9]


def test_threads_are_totals(library: Library) -> None:
    y = torch.zeros(3, 10, dtype=torch.int32)
    library.where(y, threads=(10, 3), group_size=(4, 1))
    assert y[2].tolist() == [2001, 2011, 2021, 2031, 2041, 2051, 2061, 2071, 2080, 2090]


def test_nothing_is_dispatched_for_no_threads(library: Library) -> None:
    y = torch.ones(2)
    library.copy(torch.empty(0), y)
    assert y.tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("kernel void f(device float* y [[buffer(31)]]) {}", "out of bounds"),
        ("kernel void f(threadgroup float* y [[threadgroup(0)]]) {}", "threadgroup"),
        ("kernel void f(texture2d<float> y [[texture(0)]]) {}", "texture"),
        ("kernel void f(device float* y, uint n) {}", "without an attribute"),
        ("kernel void f(device float* y) { y[0] = 1 }", "line 1, column 42: expected ';'"),
    ],
)
def test_errors_of_compilation_are_syntax_errors(text: str, message: str) -> None:
    with pytest.raises(SyntaxError, match=re.escape(message)):
        compile_shader(text)


def test_errors_that_a_kernel_reports_are_raised() -> None:
    library = compile_shader(
        "#include <c10/metal/error.h>\n"
        "kernel void check(device const int* x, device c10::metal::ErrorMessages* errors,\n"
        "                  uint i [[thread_position_in_grid]]) {\n"
        '  if (x[i] > 2) TORCH_REPORT_ERROR(errors, "index ", x[i], " is too large");\n'
        "}\n"
    )
    library.check(torch.tensor([0, 2], dtype=torch.int32), error_buf_idx=1)
    with pytest.raises(RuntimeError, match="check reports 1 errors, the first: index 7 is too"):
        library.check(torch.tensor([0, 7], dtype=torch.int32), error_buf_idx=1)
