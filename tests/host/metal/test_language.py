"""Kernels in MSL on the emulation give the numbers that the language defines."""

from __future__ import annotations

import math

import pytest
import torch

from kernelwright.dialects.compile_shader import compile_shader
from kernelwright.dialects.simt.metal import msl_missing

pytestmark = pytest.mark.skipif(msl_missing() is not None, reason=str(msl_missing()))

HEAD = "#include <metal_stdlib>\nusing namespace metal;\n"
PARAMETERS = "device float* y, uint i [[thread_position_in_grid]]"


def value(body: str, *, before: str = "", n: int = 1) -> list[float]:
    """What a kernel with this body writes to ``y[0]`` to ``y[n - 1]``."""
    library = compile_shader(f"{HEAD}{before}kernel void f({PARAMETERS}) {{ {body} }}")
    y = torch.full((n,), math.nan)
    library.f(y, threads=1)
    return y.tolist()


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        ("float4 a = float4(1, 2, 3, 4); a.xw = a.yz; y[0] = a.x; y[1] = a.w;", [2, 3]),
        ("float4 a = float4(1, 2, 3, 4); a.xy += a.zw; y[0] = a.x; y[1] = a.y;", [4, 6]),
        ("float3 a = float3(float2(1, 2), 3).zyx; y[0] = a.x; y[1] = a[2];", [3, 1]),
        ("float4 a = 2; a *= 3.0; y[0] = dot(a, float4(1)); y[1] = a.rgb.g;", [24, 6]),
        ("y[0] = sizeof(float3); y[1] = sizeof(packed_float3);", [16, 12]),
        ("y[0] = sizeof(1.0); y[1] = 1.0 / 3.0 == 1.0f / 3.0f;", [4, 1]),
        ("half h = 2048.0h; h = h + half(1.0); y[0] = h; y[1] = half(65504.0);", [2048, 65504]),
        ("bfloat b = bfloat(257.0); y[0] = float(b); y[1] = float(b + b);", [256, 512]),
        ("y[0] = as_type<float>(0x40490fdbu); y[1] = as_type<uint>(1.0f) >> 23;", [math.pi, 127]),
        ("y[0] = clamp(5.0, 0.0, 1.0); y[1] = max(float3(1, 5, 2), 3.0).x;", [1, 3]),
        ("y[0] = precise::exp(1.0f); y[1] = fast::rsqrt(4.0f);", [math.e, 0.5]),
        ("y[0] = select(1.0f, 2.0f, true); y[1] = all(float2(1) < float2(2));", [2, 1]),
        ("y[0] = mulhi(0x80000000u, 4u); y[1] = popcount(255);", [2, 8]),
        ("float c; y[0] = sincos(0.0f, c); y[1] = c;", [0, 1]),
        ("float2x2 m = float2x2(float2(1, 2), float2(3, 4)); float2 v = m * float2(1, 1);"
         " y[0] = v.x; y[1] = v.y;", [4, 6]),
        ("y[0] = numeric_limits<float>::max() > 3e38f; y[1] = numeric_limits<int>::min();",
         [1, -2147483648.0]),
        ("auto twice = [](float v) { return 2 * v; }; y[0] = twice(4); y[1] = M_PI_F;",
         [8, math.pi]),
    ],
)  # fmt: skip
def test_values(body: str, wanted: list[float]) -> None:
    assert value(body, n=2) == pytest.approx(wanted, rel=1e-6)


def test_a_kernel_may_define_names_of_the_c_library() -> None:
    before = "float log1p(float x) { return log(1.0 + x); }\nfloat expm1f(float x) { return x; }\n"
    assert value("y[0] = log1p(0.0f) + expm1f(2.0f);", before=before) == [2.0]


@pytest.mark.parametrize(
    "body",
    [
        "y[0] = max(1.0f, 2);",
        "constant float* c = y; c[0] = 1;",
        "double d = 1; y[0] = nothing;",
    ],
)
def test_what_apples_compiler_refuses_is_a_syntax_error(body: str) -> None:
    with pytest.raises(SyntaxError, match="line 3"):
        value(body)


def test_a_reduction_after_a_branch_takes_all_threads() -> None:
    # What follows a branch must not be compiled twice, once for the threads that took it.
    library = compile_shader(
        "#include <c10/metal/reduction_utils.h>\n"
        "kernel void f(device float* y, uint i [[thread_position_in_grid]]) {\n"
        "  threadgroup float a[32]; threadgroup float b[32];\n"
        "  auto first = c10::metal::threadgroup_sum(a, 1.0f, i, 128);\n"
        "  if (i == 0) y[0] = first;\n"
        "  auto second = c10::metal::threadgroup_sum(b, 2.0f, i, 128);\n"
        "  if (i == 0) y[1] = second;\n"
        "}\n"
    )
    y = torch.zeros(2)
    library.f(y, threads=128, group_size=128)
    assert y.tolist() == [128, 256]


def test_functions_that_differ_in_address_spaces_alone_are_one() -> None:
    before = (
        "float at(device const float* p) { return p[0]; }\n"
        "float at(thread const float* p) { return p[0]; }\n"
        "struct Pair {\n  float a, b;\n"
        "  float sum() const device { return a + b; }\n"
        "  float sum() const thread { return a + b; }\n};\n"
    )
    assert value("Pair p = {1, 2}; float q[1] = {4}; y[0] = p.sum() + at(q);", before=before) == [7]


def test_bfloat_is_rounded_and_cast_like_other_types() -> None:
    body = "bfloat b = bfloat(float(i) + 257.0f); y[0] = b; y[1] = float(static_cast<half>(b));"
    assert value(body, n=2) == [256, 256]


def test_a_program_may_define_functions_of_bfloat() -> None:
    before = "namespace metal { bfloat abs(bfloat x) { return bfloat(7.0f); } }\n"
    assert value("y[0] = float(metal::abs(bfloat(-1.0f)));", before=before) == [7]


def test_templates_are_instantiated_under_their_host_names() -> None:
    library = compile_shader(
        HEAD + "template <typename T, int N>\n"
        "[[kernel]] void scale(device const T* x [[buffer(1)]], device T* y [[buffer(0)]],\n"
        "                      uint i [[thread_position_in_grid]]) { y[i] = x[i] * T(N); }\n"
        'template [[host_name("scale_half_3")]] [[kernel]] void scale<half, 3>(\n'
        "    device const half*, device half*, uint);\n"
        'template [[host_name("scale_float_2")]] [[kernel]]\n'
        "decltype(scale<float, 2>) scale<float, 2>;\n"
    )
    assert dir(library) == ["scale_float_2", "scale_half_3"]
    x = torch.arange(5, dtype=torch.float16)
    y = torch.empty_like(x)
    library.scale_half_3(y, x)
    assert torch.equal(y, 3 * x)


def test_the_last_threadgroup_is_partial() -> None:
    library = compile_shader(
        HEAD + "kernel void f(device float* y, uint i [[thread_position_in_grid]],\n"
        "  uint n [[threads_per_threadgroup]], uint t [[thread_position_in_threadgroup]],\n"
        "  uint whole [[dispatch_threads_per_threadgroup]]) {\n"
        "  threadgroup float part[32];\n  part[t] = 1;\n"
        "  threadgroup_barrier(mem_flags::mem_threadgroup);\n"
        "  float sum = 0;\n  for (uint k = 0; k < n; ++k) sum += part[k];\n"
        "  y[i] = sum + 100 * whole;\n}\n"
    )
    y = torch.empty(70)
    library.f(y, threads=70, group_size=32)
    assert y.tolist() == [3232.0] * 64 + [3206.0] * 6


def test_sums_of_a_simdgroup_take_the_lanes_that_are_there() -> None:
    library = compile_shader(
        HEAD + "kernel void f(device const float* x, device float* y,\n"
        "  uint i [[thread_position_in_grid]], uint lane [[thread_index_in_simdgroup]]) {\n"
        "  float sum = x[i];\n"
        "  for (ushort d = 16; d > 0; d /= 2) sum += simd_shuffle_and_fill_down(sum, 0.0f, d);\n"
        "  y[i] = lane == 0 ? sum : simd_sum(x[i]);\n}\n"
    )
    x, y = torch.randn(40), torch.empty(40)
    library.f(x, y, threads=40, group_size=40)
    wanted = [float(x[:32].sum()), float(x[32:].sum())]
    assert [float(y[0]), float(y[32])] == pytest.approx(wanted, abs=1e-5)


def test_sums_of_a_quadgroup_take_its_four_lanes_as_far_as_they_are_there() -> None:
    library = compile_shader(
        HEAD + "kernel void f(device const float* x, device float* y,\n"
        "  uint i [[thread_position_in_grid]]) { y[i] = quad_sum(x[i]) + 100 * quad_max(x[i]); }\n"
    )
    x, y = torch.arange(38, dtype=torch.float32), torch.empty(38)
    library.f(x, y, threads=38, group_size=38)
    for begin in range(0, 38, 4):
        quad = x[begin : begin + 4]
        assert y[begin : begin + 4].tolist() == [float(quad.sum() + 100 * quad.max())] * len(quad)


def test_matrices_of_a_simdgroup_multiply() -> None:
    library = compile_shader(
        HEAD + "kernel void f(device const half* a, device const half* b, device float* c,\n"
        "              uint2 group [[threadgroup_position_in_grid]]) {\n"
        "  simdgroup_float8x8 sum = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);\n"
        "  simdgroup_half8x8 left, right;\n"
        "  for (int k = 0; k < 32; k += 8) {\n"
        "    simdgroup_load(left, a + group.y * 8 * 32 + k, 32);\n"
        "    simdgroup_load(right, b + k * 32 + group.x * 8, 32);\n"
        "    simdgroup_multiply_accumulate(sum, left, right, sum);\n  }\n"
        "  simdgroup_store(sum, c + group.y * 8 * 32 + group.x * 8, 32);\n}\n"
    )
    a, b, c = torch.randn(32, 32).half(), torch.randn(32, 32).half(), torch.empty(32, 32)
    library.f(a, b, c, threads=(4 * 32, 4), group_size=(32, 1))
    torch.testing.assert_close(c, a.float() @ b.float(), atol=1e-5, rtol=1e-5)


def test_atomics_count_every_thread() -> None:
    library = compile_shader(
        HEAD + "kernel void f(device const int* x, device atomic_uint* bins,\n"
        "              device atomic_float* sum, uint i [[thread_position_in_grid]]) {\n"
        "  atomic_fetch_add_explicit(bins + x[i], 1, memory_order_relaxed);\n"
        "  atomic_fetch_add_explicit(sum, 0.5, memory_order_relaxed);\n}\n"
    )
    x = torch.randint(0, 8, (500,), dtype=torch.int32)
    bins, total = torch.zeros(8, dtype=torch.int32), torch.zeros(1)
    library.f(x, bins, total)
    assert torch.equal(bins.long(), x.bincount(minlength=8))
    assert float(total) == 250.0


@pytest.mark.parametrize("name", ["reduction_utils", "special_math", "random", "indexing"])
def test_the_headers_of_pytorchs_kernels_compile(name: str) -> None:
    text = f"#include <c10/metal/{name}.h>\n"
    assert dir(compile_shader(text + f"kernel void f({PARAMETERS}) {{ y[i] = 1; }}")) == ["f"]


def test_pytorchs_reduction_of_a_threadgroup_is_right() -> None:
    library = compile_shader(
        "#include <c10/metal/reduction_utils.h>\n"
        "kernel void f(device const long* x, device long* y,"
        "  uint t [[thread_index_in_threadgroup]], uint n [[threads_per_threadgroup]]) {\n"
        "  threadgroup long part[32];\n"
        "  long sum = c10::metal::threadgroup_sum(part, x[t], t, n);\n"
        "  if (t == 0) y[0] = sum;\n}\n"
    )
    for n in (8, 64, 200):
        x, y = torch.arange(n), torch.empty(1, dtype=torch.int64)
        library.f(x, y, threads=n, group_size=n)
        assert int(y) == n * (n - 1) // 2
