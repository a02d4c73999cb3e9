"""Constructs of public programs that no program of the bench has."""

from pathlib import Path

import pytest

from kernelwright.hipify import State, translate, translate_make
from kernelwright.hipify.table import load_map
from kernelwright.port import port
from kernelwright.port.compared import differences
from kernelwright.port.reach import inclusions, names_in_reach, with_includes

HEAD = "#include <cooperative_groups.h>\nnamespace cg = cooperative_groups;\n"


def body(text: str):
    return translate(f"{HEAD}__global__ void k(int* p) {{\n{text}\n}}\n", implicit=False)


def test_bytes_that_are_not_utf8_are_kept():
    text = b"// caf\xe9\nvoid f() { cudaFree(0); }\n".decode(errors="surrogateescape")
    assert translate(text).text.encode(errors="surrogateescape").startswith(b"#include")
    assert "caf\udce9" in translate(text).text


def test_guards_of_cudas_headers_are_those_of_hips():
    done = translate("#ifdef __DRIVER_TYPES_H__\n#endif\n#ifdef CUBLAS_API_H_\n#endif\n")
    assert "#ifdef HIP_INCLUDE_HIP_DRIVER_TYPES_H" in done.text
    assert "#ifdef HIPBLAS_H" in done.text
    assert load_map("cuda").names["HIPBLAS_H"].hip == "CUBLAS_API_H_"


def test_names_that_another_program_of_the_tree_declares_are_cudas_here(tmp_path):
    texts = {
        Path("a/main.cu"): '#include "own.h"\nvoid f() { cudaMine(); }\n',
        Path("a/own.h"): '#include "deep/more.h"\n',
        Path("inc/deep/more.h"): "void cudaMine();\n",
        Path("b/wrap.h"): "typedef int CUtexObject;\n",
    }
    reach = names_in_reach(texts, inclusions(texts))
    assert "cudaMine" in reach[Path("a/main.cu")]
    assert "CUtexObject" not in reach[Path("a/main.cu")]
    assert "CUtexObject" in reach[Path("b/wrap.h")]


def test_among_headers_of_one_name_the_nearest_is_included():
    texts = {
        Path("a/m.cu"): '#include "n.h"\n',
        Path("a/n.h"): "void cudaA();\n",
        Path("b/n.h"): "void cudaB();\n",
    }
    reach = names_in_reach(texts, inclusions(texts))
    assert reach[Path("a/m.cu")] & {"cudaA", "cudaB"} == {"cudaA"}


def test_a_qualified_name_of_a_group_is_not_the_programs_own():
    done = translate(
        HEAD + "template <class T> __global__ void reduce(T* p) {\n"
        "v = cg::reduce(t, v, cg::plus<int>());\n}\n"
    )
    assert "port_group_reduce(t, v, port_plus<int>())" in done.text
    other = "namespace cg { int reduce(int, int, int); }\nvoid f() { cg::reduce(1, 2, 3); }\n"
    assert translate(other, implicit=False).text == other


@pytest.mark.parametrize(
    ("text", "became"),
    [
        (
            "cg::memcpy_async(b, s, p, n); cg::wait(b);",
            "port_group_copy(b, s, p, n); port_group_wait(b);",
        ),
        ("cg::wait_prior<1>(b);", "port_group_wait(b);"),
        ("v = cg::inclusive_scan(t, v);", "v = port_group_inclusive_scan(t, v);"),
        (
            "v = cg::exclusive_scan(t, v, cg::plus<int>());",
            "port_group_exclusive_scan(t, v, port_plus<int>())",
        ),
    ],
)
def test_group_operations_are_written_by_hand(text, became):
    done = body(text)
    assert became in done.text
    assert not done.unported


@pytest.mark.parametrize(
    "text", ["cg::block_tile_memory<256> s;", "auto g = cg::labeled_partition(t, 1);"]
)
def test_group_names_that_hip_lacks_are_reported(text):
    assert [f.state for f in body(text).unported] == [State.UNPORTED]


def test_own_functions_follow_the_includes_inside_a_guard():
    done = translate(
        "#ifndef G\n#define G\n#include <cooperative_groups.h>\n__global__ void k(int* p) {\n"
        "v = cooperative_groups::reduce(t, v, cooperative_groups::plus<int>()); }\n#endif\n"
    )
    assert done.text.index("hip_cooperative_groups.h") < done.text.index("PORT_GROUP_REDUCE")
    assert done.text.index("#define G") < done.text.index("PORT_GROUP_REDUCE")


def test_vector_operators_that_hip_has_are_guarded_out():
    text = (
        "inline float3 operator*(float3 a, float3 b) { return make_float3(a.x * b.x, a.y * b.y, "
        "a.z * b.z); }\n"
        "inline void operator+=(float2& a, const float2& b) { a.x += b.x; a.y += b.y; }\n"
        "inline float3 operator*(float3 a, float s) { return make_float3(a.x * s, 0, 0); }\n"
    )
    done = translate(text, implicit=False)
    assert done.text.count("#ifndef __HIP_PLATFORM_AMD__") == done.text.count("#endif") == 2
    assert "#endif\ninline float3 operator*(float3 a, float s)" in done.text


@pytest.mark.parametrize(
    "body",
    [
        "{ return dot(a, b); }",
        "{ return make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x); }",
        "{ return make_float2(a.y * b.y, a.x * b.x); }",
        "{ float2 c; c.x = a.x * b.x; c.y = a.x * b.y; return c; }",
    ],
)
def test_an_operator_that_computes_something_else_than_hips_is_reported(body):
    text = f"inline float2 operator*(float2 a, float2 b) {body}\n"
    done = translate(text, implicit=False)
    assert done.text == text
    assert [f.construct for f in done.unported] == ["operator* of float2"]


@pytest.mark.parametrize(
    "text",
    [
        "int2 operator*(int2 a, int2 b) { int2 c; c.x = a.x*b.x; c.y = a.y*b.y; return c; }",
        "int2 operator/(int2 p, int2 q) { int2 r = {p.x / q.x, /* and */ p.y / q.y}; return r; }",
        "int2 operator-(const int2& v) { return make_int2(-v.x, -v.y); }",
        "int2& operator-=(int2& a, int2 b) { a = a - b; return a; }",
    ],
)
def test_element_by_element_has_several_forms(text):
    done = translate(text + "\n", implicit=False)
    assert done.text.startswith("#ifndef __HIP_PLATFORM_AMD__")
    assert not done.unported


def test_member_operators_do_not_collide_with_hips():
    text = "struct V { float3 x; V operator-(float3 b) { return V{x - b}; } };\n"
    text += "struct W { W& operator=(const W& w) = default; };\n"
    assert translate(text, implicit=False).text == text


def test_two_definitions_on_a_line_are_guarded_apart():
    one = "{0}2 operator*({0}2 a, {0}2 b) {{ return {{a.x * b.x, a.y * b.y}}; }}"
    done = translate(one.format("float") + " " + one.format("int") + "\n", implicit=False)
    assert done.text.count("#ifndef") == done.text.count("#endif") == 2


@pytest.mark.parametrize(
    ("text", "became"),
    [
        ("struct cudaGraphicsResource* r;", "hipGraphicsResource* r;"),
        ("void CUDART_CB f(void* p) {}", "void f(void* p) {}"),
        ("void f() { cudaEventCreate(&e, 2); }", "hipEventCreateWithFlags(&e, 2)"),
        ("void f() { cudaMalloc3DArray(&a, &d, e); }", "hipMalloc3DArray(&a, &d, e, 0)"),
        ("void f() { cudaGraphAddDependencies(g, a, b, nullptr, 2); }", "(g, a, b, 2)"),
        ("void f() { cudaGraphAddDependencies(g, a, b, e, 2); }", "(g, a, b, e, 2)"),
        (
            "void f() { cudaLaunchCooperativeKernel(k, g, b, a); }",
            "(reinterpret_cast<const void*>(k), g, b, a, 0, nullptr)",
        ),
        (
            "void f() { cudaMemcpyToSymbolAsync(s, p, 4); }",
            "(HIP_SYMBOL(s), p, 4, 0, hipMemcpyHostToDevice)",
        ),
        ("__global__ void k() { atomicInc_system(p, 3); }", "port_atomicInc_system(p, 3)"),
        ("void f() { uint3 g = n(); k<<<g, 32>>>(); }", "k<<<dim3(g.x, g.y, g.z), 32>>>()"),
    ],
)
def test_forms_that_hip_lacks_are_rewritten(text, became):
    done = translate(text, implicit=False)
    assert became in done.text
    assert not done.unported


def test_a_unit_that_is_included_has_the_other_suffix():
    assert '#include "k.hip"' in translate('#include "k.cu"\n').text
    assert '#include "k.cu"' in translate('#include "k.hip"\n', to="cuda").text


def test_files_that_a_file_includes_from_its_folder_are_ported_too(tmp_path):
    (tmp_path / "inc").mkdir()
    (tmp_path / "main.cu").write_text('#include "inc/a.cuh"\n#include "../out.h"\n#include <b.h>\n')
    (tmp_path / "inc/a.cuh").write_text('#include "b.h"\n')
    (tmp_path / "inc/b.h").write_text("")
    (tmp_path / "b.h").write_text("")
    found = [str(path.relative_to(tmp_path)) for path in with_includes(tmp_path / "main.cu")]
    assert found == ["main.cu", "inc/a.cuh", "inc/b.h"]


def test_insertions_at_one_place_keep_their_order():
    done = translate(
        'extern "C" __global__ void k() {\n asm("mov.u32 %0, %%laneid;" : "=r"(x)); }\n'
    )
    assert done.text.index("#include <hip/hip_runtime.h>") < done.text.index("#ifndef PORT_LANE")


def test_times_and_rates_are_not_compared():
    told = "sum 7\ntime 1.5 ms, 3.2e+01 GB/s (0.93 (s))\n"
    assert not differences(told.replace("1.5", "2.25").replace("0.93", "1"), told, frozenset())
    assert differences(told.replace("sum 7", "sum 8"), told, frozenset())
    assert differences("8\nsecond\n", "7\nsecond\n", frozenset())


def test_overloads_whose_types_are_the_same_in_hip_are_left_out():
    text = (
        "const char* name(cudaError_t e) { return cudaGetErrorName(e); }\n"
        "const char* name(CUresult e) { return 0; }\nint name(int i) { return i; }\n"
    )
    done = translate(text, implicit=False)
    assert "#ifndef __HIP__  // HIP has it itself\nconst char* name(hipError_t e)" in done.text
    assert done.text.count("#ifndef") == 1
    apart = "struct A { void f(CUresult r) {} };\nstruct B { void f(CUresult r) {} };\n"
    assert "#ifndef" not in translate(apart, implicit=False).text


def test_launches_with_spaced_brackets_are_closed():
    done = translate("void f() { k << <n, dim3(1, 2), 0 >> > (p, 1 << 2); }\n", implicit=False)
    assert "k <<<n, dim3(1, 2), 0 >>> (p, 1 << 2);" in done.text


def test_standard_headers_that_nvcc_includes_are_added_if_used():
    assert "<ctime>" in translate('#include "own.h"\n').text
    text = "#include <own.h>\n__global__ void k() { assert(1); }\nvoid f() { strlen(s); }\n"
    assert "#include <cassert>\n#include <cstring>\n" in translate(text).text
    assert "<cassert>" not in translate("#include <assert.h>\n" + text).text
    assert "<cassert>" not in translate(text, implicit=False).text


def test_an_overload_of_a_cache_hint_does_not_hide_cudas():
    text = (
        "__device__ X __ldcs(const X* p) { return *p; }\n__global__ void k() { v = __ldcs(q); }\n"
    )
    done = translate(text, implicit=False)
    assert "v = port_load(q);" in done.text
    assert "X __ldcs(const X* p)" in done.text


def test_headers_of_half_types_that_cublas_includes_are_added():
    text = "#include <cublas_v2.h>\n__nv_bfloat16 x;\n"
    assert "<hipblas/hipblas.h>\n#include <hip/hip_bf16.h>\n" in translate(text).text
    assert translate("#include <cuda_bf16.h>\n" + text).text.count("hip_bf16.h") == 1


def test_min_of_signed_and_unsigned_integers_is_not_a_double():
    done = translate("__global__ void k(int n) { p[min(n - 1, blockDim.x)] = min(n, 3); }\n")
    assert done.text.count("PORT_MIXED_SIGNS(long long)") == 1
    assert [f.construct for f in done.findings if f.state is State.REPAIRED] == ["min"]
    assert "MIXED" not in translate("__global__ void k() { x = std::min(a, 3u); }\n").text
    head = "__global__ void k(int i, unsigned n, unsigned m) "
    assert "MIXED" in translate(head + "{ x = ::min(i, n + 1); }\n").text
    assert "MIXED" not in translate(head + "{ x = min(m, n); }\n").text


def test_a_label_that_rocm_has_no_value_for_is_left_out_of_its_switch():
    done = translate(
        "const char* said(cufftResult r) {\n  switch (r) {\n"
        '    case CUFFT_SUCCESS:\n      return "fine";\n'
        '    case CUFFT_NVRTC_FAILURE:\n      return "no compiler";\n  }\n'
        '  return r == CUFFT_NVRTC_FAILURE ? "?" : "";\n}\n'
    )
    assert "case HIPFFT_SUCCESS:" in done.text and "case CUFFT_NVRTC_FAILURE" not in done.text
    states = {f.state for f in done.findings if f.construct == "CUFFT_NVRTC_FAILURE"}
    assert states == {State.CHANGED, State.UNPORTED}  # outside a label it is still reported


def test_pointers_of_any_type_are_passed_where_hip_takes_only_void():
    done = translate("void f(float* h) { float* p; cudaHostGetDevicePointer(&p, h, 0);\n"
                     "cudaGetSymbolAddress(&p, table); }\n", implicit=False)  # fmt: skip
    assert "hipHostGetDevicePointer((void**)(&p), h, 0)" in done.text
    assert "hipGetSymbolAddress((void**)(&p), HIP_SYMBOL(table))" in done.text


def test_operations_on_parts_of_a_word_become_functions_of_the_port():
    done = translate(
        "__device__ unsigned f(unsigned a, unsigned b) {\n  unsigned d;\n"
        '  asm("vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;" : "=r"(d) : "r"(a), "r"(b), "r"(0));\n'
        "  return __vmaxs4(a, b) + umin(a, d);\n}\n"
    )
    assert not done.unported
    assert "port__vsadu4((a), (b))" in done.text and "port__vmaxs4(a, b)" in done.text
    assert "port_umin(a, d)" in done.text


@pytest.mark.parametrize("text", ["extern __nv_bfloat16 scale;\n", "typedef CUstream lane;\n"])
def test_headers_that_only_use_types_of_cuda_are_ported(tmp_path, text):
    (tmp_path / "types.h").write_text(text)
    (tmp_path / "a.cu").write_text('#include "types.h"\nint x;\n')
    port(tmp_path, rungs=(0,), out=tmp_path / "out")
    assert "hip" in (tmp_path / "out/types.h").read_text()
    assert "<hip/hip_runtime.h>" in (tmp_path / "out/a.hip").read_text()


def test_an_aligned_declaration_is_read_like_any_other():
    done = translate("__global__ void k(int* p) {\n  __shared__ int __align__(8) s[32];\n"
                     "  s[0] += s[p[0]];\n  atomicAdd(&s[1], cudaSuccess);\n}\n")  # fmt: skip
    assert "__align__(8) s[32]" in done.text and "hipSuccess" in done.text


def test_a_call_inside_a_macro_without_a_semicolon_declares_nothing():
    done = translate(
        "#define CHECK(x) { if (x) return 1; }\nint f(double* p, double* q, int m) {\n"
        "  CHECK( cudaMemcpy(p, q, m * sizeof(double), cudaMemcpyDeviceToDevice) )\n"
        "  //    a comment\n  CHECK( cudaDeviceSynchronize() )\n  return 0;\n}\n"
    )
    assert "cuda" not in done.text.replace("CHECK", "")


def test_standard_headers_that_cudas_libraries_include_are_added():
    done = translate("#include <cub/cub.cuh>\nauto now = std::chrono::steady_clock::now();\n")
    assert "#include <chrono>\n" in done.text and "<limits>" not in done.text


def test_halves_of_cublas_are_those_of_hipblas():
    done = translate("#include <cublas_v2.h>\nvoid f() { cublasHgemm(h, a, b, c); }\n")
    assert done.text.index("#define HIPBLAS_USE_HIP_HALF") < done.text.index("<hipblas/hipblas.h>")


def test_the_storage_class_register_is_left_out():
    done = translate("__device__ int f(int a) { register int x = a; return x; }\n", implicit=False)
    assert "{ int x = a;" in done.text and not done.unported


def test_memory_advice_takes_a_location_as_in_cuda_13_or_a_device():
    text = (
        "void f(int* p) { cudaMemLocation at; at.id = 0;\n"
        "  cudaMemAdvise(p, 4, cudaMemAdviseSetReadMostly, at);\n"
        "  cudaMemAdvise(p, 4, cudaMemAdviseSetReadMostly, 0); }\n"
    )
    done = translate(text).text
    assert "hipMemAdvise_v2(p, 4, hipMemAdviseSetReadMostly, at)" in done
    assert "hipMemAdvise(p, 4, hipMemAdviseSetReadMostly, 0)" in done


def test_an_architecture_that_a_makefile_has_in_a_variable_is_dropped():
    done = translate_make("ARCH = sm_60\nCFLAGS = -O3 -arch=$(ARCH)\n")
    assert "CFLAGS = -O3 \n" in done.text
    assert [f.construct for f in done.findings] == ["-arch=$(ARCH)"]
