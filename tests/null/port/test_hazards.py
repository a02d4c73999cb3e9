"""Hazards: code that would compile on AMD and then compute something else."""

import pytest

from kernelwright.dialects.simt.source import Source
from kernelwright.hipify import State, translate
from kernelwright.hipify.names import declared

HEAD = "__global__ void k(int* p) {\n"


def port(body: str):
    return translate(f"{HEAD}{body}\n}}\n", implicit=False)


def states(done, construct: str) -> list[State]:
    return [f.state for f in done.findings if construct in f.construct]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("v = __shfl_sync(m, v, 0);", "v = __shfl(v, 0, 32);"),
        ("v = __shfl_down_sync(0xffffffff, f(v), o);", "v = __shfl_down(f(v), o, 32);"),
        ("v = __shfl_xor_sync(0xffffffff, v, o, 16);", "v = __shfl_xor(v, o, 16);"),
        ("v = __shfl_up(v, 1);", "v = __shfl_up(v, 1, 32);"),
        ("m = __ballot_sync(a, p[0] > 0);", "m = port_ballot(a, p[0] > 0);"),
        ("m = __ballot(p[0]);", "m = port_ballot(~0u, p[0]);"),
        ("m = __any_sync(a, b);", "m = port_any(a, b);"),
        ("m = __all(b);", "m = port_all(~0u, b);"),
        ("m = __activemask();", "m = port_activemask();"),
        ("__syncwarp(mask);", "__syncwarp();"),
        ("m = __match_any_sync(a, v);", "m = port_match_any(a, v);"),
        ("v = __reduce_max_sync(a, v);", "v = port__reduce_max(a, v);"),
        ("__nanosleep(100);", "port_nanosleep(100);"),
        ("atomicAdd_block(p, 1);", "port_block_atomicAdd(p, 1);"),
        ("int n = blockDim.x / warpSize;", "int n = blockDim.x / 32 /*warpSize*/;"),
    ],
)
def test_warp_operations_work_on_logical_warps_of_32(before, after):
    assert after in port(before).text


def test_device_functions_are_put_in_once_after_the_includes_with_what_they_need():
    done = translate(
        "#include <cstdio>\n#include <cuda_runtime.h>\nint x;\n"
        + HEAD
        + "__any_sync(m, 1); __any_sync(m, 2); }\n"
    )
    assert done.text.count("int port_any(") == 1
    assert done.text.count("unsigned port_ballot(") == 1
    assert (
        done.text.index("<hip/hip_runtime.h>")
        < done.text.index("port_ballot(")
        < done.text.index("int x")
    )


@pytest.mark.parametrize("name", ["__fadd_rn", "__fsub_rn", "__fmul_rn", "__dadd_rn", "__dmul_rn"])
def test_sums_and_products_that_cuda_never_fuses_are_not_fused_by_clang(name):
    done = port(f"x = {name}(y, z);")
    assert f"x = port{name}(y, z);" in done.text
    assert '_Pragma("clang fp contract(off)")' in done.text
    assert states(done, name) == [State.REPAIRED]


def test_volatile_loads_do_not_become_cached_loads():
    done = port("while (__ldcv(p) == 0) {} __stwt(p, 1); x = __ldcg(p);")
    assert "while (port_load_again(p) == 0) {}" in done.text
    assert "x = port_load(p);" in done.text
    assert "volatile" in done.text
    assert states(done, "__ldcv") == [State.REPAIRED]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "__shared__ typename cub::WarpReduce<float>::TempStorage t;",
            "typename hipcub::WarpReduce<float, 32>::TempStorage t;",
        ),
        ("v = cub::WarpScan<int>(t).Sum(v);", "v = hipcub::WarpScan<int, 32>(t).Sum(v);"),
        ("using R = ::cub::WarpReduce<T>;", "using R = ::hipcub::WarpReduce<T, 32>;"),
        ("using namespace cub; WarpReduce<float> r(t);", "WarpReduce<float, 32> r(t);"),
        ("using cub::WarpReduce; WarpReduce<float> r(t);", "WarpReduce<float, 32> r(t);"),
        ("namespace b = cub; b::WarpReduce<float> r(t);", "b::WarpReduce<float, 32> r(t);"),
        ("cub::WarpLoad<int, 4> l(t);", "WarpLoad<int, 4, hipcub::WARP_LOAD_DIRECT, 32> l"),
        ("cub::WarpStore<int, 4, A> s(t);", "hipcub::WarpStore<int, 4, A, 32> s(t);"),
        ("cub::WarpMergeSort<int, 4> s(t);", "hipcub::WarpMergeSort<int, 4, 32> s(t);"),
        ("cub::WarpExchange<int, 4, 16> s(t);", "hipcub::WarpExchange<int, 4, 16> s(t);"),
        ("WarpReduce<float> r(t);", "WarpReduce<float> r(t);"),
        ("mine::WarpReduce<float> r(t);", "mine::WarpReduce<float> r(t);"),
        ("int l = cub::LaneId();", "int l = (hipcub::LaneId() & 31);"),
        ("int n = CUB_PTX_WARP_THREADS;", "int n = 32 /*CUB_PTX_WARP_THREADS*/;"),
    ],
)
def test_cubs_warps_have_32_lanes_however_they_are_named(before, after):
    assert after in port(before).text


def test_a_warp_operation_of_the_programs_own_is_left_alone():
    text = "using namespace cub; template <typename T> struct WarpReduce {}; WarpReduce<int> r;"
    assert translate(text, implicit=False).text.endswith("WarpReduce<int> r;")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("cublasSetMathMode(h, CUBLAS_TENSOR_OP_MATH);", "(h, HIPBLAS_DEFAULT_MATH);"),
        ("f(fast ? CUBLAS_TF32_TENSOR_OP_MATH : CUBLAS_DEFAULT_MATH);",
         "f(fast ? HIPBLAS_DEFAULT_MATH : HIPBLAS_DEFAULT_MATH);"),
        ("cublasComputeType_t c = CUBLAS_COMPUTE_32F_FAST_TF32;", "c = HIPBLAS_COMPUTE_32F;"),
        ("switch (m) { case CUBLAS_TENSOR_OP_MATH: f(); }", "case HIPBLAS_TENSOR_OP_MATH:"),
        ("if (m == CUBLAS_PEDANTIC_MATH) f();", "m == HIPBLAS_PEDANTIC_MATH"),
        ("cublasLtMatmulDescCreate(&d, CUBLAS_COMPUTE_32F_FAST_TF32, CUDA_R_32F);",
         "(&d, HIPBLAS_COMPUTE_32F_FAST_TF32, HIP_R_32F);"),
    ],
)  # fmt: skip
def test_modes_that_hipblas_refuses_become_those_that_it_has(before, after):
    done = port(before)
    assert after in done.text
    changed = states(done, "CUBLAS_").count(State.CHANGED)
    assert changed == (after.count("_DEFAULT_MATH") > 0 or "_COMPUTE_32F;" in after)


def test_a_device_property_is_the_logical_width_as_well():
    text = "int f() { cudaDeviceProp p; return 64 / p.warpSize; }"
    assert "64 / 32 /*warpSize*/" in translate(text).text


@pytest.mark.parametrize(
    "text",
    [
        "struct Tile { int warpSize; }; int f(Tile* t) { return t->warpSize; }",
        "struct Tile { int warpSize; int half() const { return warpSize / 2; } };",
        "int f(T& t) { t.warpSize = 64; t.warpSize += 1; return g(&t.warpSize); }",
        "struct Tile { int warpSize; }; Tile t{.warpSize = 16};",
        "struct Tile { Tile(int w) : warpSize(w) {} const int warpSize; };",
        "template <int warpSize> __device__ int f() { return warpSize; }",
        "#define warpSize 16\nint f() { return warpSize; }",
    ],
)
def test_a_warp_size_of_the_programs_own_is_left_alone(text):
    done = translate(text, implicit=False)
    assert done.text == text
    assert not states(done, "warpSize")


def test_a_local_variable_named_like_the_warp_size_does_not_affect_other_functions():
    text = (
        "__device__ int f() { return warpSize / 2; }\n"
        "int g(cudaDeviceProp p) { int warpSize = p.warpSize; return warpSize; }\n"
    )
    done = translate(text, implicit=False).text
    assert "return 32 /*warpSize*/ / 2;" in done
    assert "int warpSize = 32 /*warpSize*/; return warpSize;" in done


def test_a_member_of_another_file_named_as_the_warp_size_is_left_alone():
    header = Source(b"struct Tile { int warpSize; }; inline int w() { int warpSize = 1; }")
    text = "int f(Tile t, cudaDeviceProp p) { return t.warpSize + p.warpSize + warpSize; }"
    done = translate(text, own=declared(header), implicit=False).text
    assert "return t.warpSize + 32 /*warpSize*/ + 32 /*warpSize*/;" in done


@pytest.mark.parametrize(
    "use",
    [
        "cudaDeviceProp p; return p.major >= 8;",
        "std::vector<cudaDeviceProp> p; return p[0].minor;",
        "int v; cudaDeviceGetAttribute(&v, cudaDevAttrComputeCapabilityMajor, 0); return v;",
        "int v, w; cuDeviceComputeCapability(&v, &w, 0); return v;",
    ],
)
def test_a_queried_compute_capability_is_reported_as_not_that_of_the_device_code(use):
    done = translate(f"int f() {{ {use} }}")
    assert [f.advice for f in done.findings if f.state is State.CHANGED] == [
        "decide by the device's properties, or by gcnArchName"
    ]
    assert translate("struct V { int major; }; int f(V v) { return v.major; }").findings == ()


def test_macros_that_emulate_newer_warp_operations_are_not_the_programs_own():
    macros = (
        "#if CUDART_VERSION < 9000\n#define __shfl_down_sync(m, v, d) __shfl_down(v, d)\n"
        "#define __ballot_sync(m, p) __ballot(p)\n#define __syncwarp(m)\n#endif\n"
    )
    body = "v = __shfl_down_sync(m, v, 1); b = __ballot_sync(m, v); __syncwarp(m);"
    after = "v = __shfl_down(v, 1, 32); b = port_ballot(m, v); __syncwarp();"
    assert after in translate(f"{macros}{HEAD}{body}}}\n", implicit=False).text
    own = declared(Source(macros.encode()))
    assert after in translate(f"{HEAD}{body}}}\n", own=own, implicit=False).text
    overload = "__device__ V __shfl_down_sync(unsigned m, V v, int d) { return v; }\n"
    assert "v = __shfl_down_sync(m, v, 1);" in translate(f"{overload}{HEAD}{body}}}\n").text


def test_arithmetic_on_32_lanes_is_kept_and_mentioned():
    done = port("int lane = threadIdx.x & 31, w = threadIdx.x >> 5;")
    assert "threadIdx.x & 31, w = threadIdx.x >> 5" in done.text
    assert len(states(done, "threadIdx.x")) == 2


def test_the_second_launch_bound_is_dropped():
    done = translate("__global__ void __launch_bounds__(256, 4) k() {}\n")
    assert "__launch_bounds__(256)" in done.text
    assert states(done, "__launch_bounds__") == [State.CHANGED]


def test_architecture_tests_are_decided_as_for_one_architecture():
    done = translate(
        "#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 600\n#endif\n#ifdef __CUDA_ARCH__\n#endif\n"
    )
    assert "defined(__HIP_DEVICE_COMPILE__) && (__HIP_DEVICE_COMPILE__ * 700) >= 600" in done.text
    assert "#ifdef __HIP_DEVICE_COMPILE__" in done.text
    assert set(states(done, "__CUDA_ARCH__")) == {State.CHANGED}


def test_cubs_warp_operations_keep_their_width():
    done = port(
        "typedef cub::WarpReduce<int> R; typedef cub::WarpScan<int, 16> S;"
        "cub::BlockReduce<int, 64> b;"
    )
    assert "hipcub::WarpReduce<int, 32>" in done.text
    assert "hipcub::WarpScan<int, 16>" in done.text
    assert "hipcub::BlockReduce<int, 64>" in done.text


def test_implicit_synchrony_of_volatile_memory_gets_barriers():
    done = translate(
        "__device__ void f(volatile int* s, int t) { s[t] += s[t + 16]; }\n", implicit=False
    )
    assert (
        "const auto port_value_0 = s[t + 16]; __syncwarp(); s[t] += port_value_0; __syncwarp();"
        in done.text
    )


def test_implicit_synchrony_in_the_last_warp_gets_barriers_where_there_is_none():
    shared = "__shared__ int s[64]; int t = threadIdx.x;\n"
    body = shared + "if (t < 32) { s[t] = s[t] + s[t + 32]; s[t] += s[t + 16]; }"
    assert port(body).text.count("__syncwarp()") == 4
    assert (
        "port_value"
        not in port("__shared__ int s[64];\nif (t < 32) { s[t] += s[t + 32]; __syncwarp(); }").text
    )


def test_memory_that_is_not_shared_is_not_changed():
    assert "port_value" not in port("p[0] += p[1];").text


@pytest.mark.parametrize(
    ("body", "construct", "state"),
    [
        ("nvcuda::wmma::load_matrix_sync(a, p, 16);", "nvcuda::wmma", State.REPAIRED),
        ("nvcuda::wmma::bmma_sync(d, a, b, c);", "bmma_sync", State.UNPORTED),
        ("wmma::mma_sync(d, a, b, c, true);", "mma_sync", State.UNPORTED),
        ("k<<<1, 1>>>(p);", "launch from device code", State.UNPORTED),
        ("while (atomicCAS(p, 0, 1) != 0) {}", "spin lock", State.CHANGED),
        ("long t = clock64();", "clock64", State.CHANGED),
        ('printf("%d", 1);', "printf", State.TRANSLATED),
        ("atomicAdd(f, 1.0f);", "atomicAdd", State.TRANSLATED),
        ("int v = __ldcs(p);", "__ldcs", State.CHANGED),
        ("float v = texCubemap<float>(t, 1, 2, 3);", "texCubemap", State.CHANGED),
    ],
)
def test_hazards_without_a_repair_are_reported(body, construct, state):
    assert state in states(port(body), construct)


def test_more_shared_memory_than_amd_has():
    text = "void f() { cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, %s); }"
    assert translate(text % "96 * 1024").unported
    assert not translate(text % "65536").unported
    assert states(translate(text % "bytes"), "dynamic shared memory") == [State.CHANGED]


def test_group_reductions_are_written_with_shuffles():
    done = port("v = cg::reduce(tile, v, cg::plus<int>()); w = cg::reduce(tile, w, mine);")
    assert "v = port_group_reduce(tile, v, port_plus<int>());" in done.text
    assert "w = port_group_reduce(tile, w, mine);" in done.text
    assert not done.unported
    assert port("w = cg::reduce(tile, w, cg::unheard<int>());").unported


def test_atomics_that_hip_has_are_not_defined_twice():
    text = "__device__\nfloat atomicMin(float* a, float b) { return 0; }\nint x;\n"
    done = translate("// own\n" + text, implicit=False)
    start, end = done.text.index("#ifndef __HIP_PLATFORM_AMD__"), done.text.index("#endif")
    assert start < done.text.index("__device__") < end < done.text.index("int x")
    assert "#ifndef" not in translate(text.replace("float", "int"), implicit=False).text


def test_matrix_tiles_are_written_out_on_32_lanes():
    done = translate(
        "#include <mma.h>\nusing namespace nvcuda;\n__global__ void k() {\n"
        "  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;\n"
        "  wmma::fill_fragment(c, 0.0f);\n}\n"
    )
    assert "using namespace port_nvcuda;" in done.text
    assert done.text.count("namespace port_nvcuda {") == 1
    assert "<mma.h>" not in done.text and not done.unported


def test_groups_are_found_under_any_name_of_their_namespace():
    head = "#include <cooperative_groups.h>\nnamespace g = cooperative_groups;\n"
    done = translate(head + HEAD + "v = g::reduce(t, v, g::plus<int>()); g::invoke_one(b, f); }\n")
    assert "port_group_reduce(t, v, port_plus<int>())" in done.text
    assert [f.construct for f in done.unported] == ["g::invoke_one"]
    opened = "#include <cooperative_groups.h>\nusing namespace cooperative_groups;\n"
    assert (
        "port_group_copy(b, p, q, 4);"
        in translate(opened + HEAD + "memcpy_async(b, p, q, 4); }").text
    )
    own = "void wait(int);\n"
    assert not translate(opened + own + HEAD + "wait(3); }").unported
    assert "wait(&s);" in translate(opened + "int main() { int s; wait(&s); }").text
    assert states(port("auto g = cg::coalesced_threads();"), "coalesced") == [State.CHANGED]


def test_a_query_of_the_warp_size_returns_32():
    done = translate(
        "int f() { int w; return cudaDeviceGetAttribute(&w, cudaDevAttrWarpSize, 0); }"
    )
    assert "return (*(&w) = 32 /*warpSize*/, hipSuccess);" in done.text
    assert states(done, "cudaDevAttrWarpSize") == [State.REPAIRED]


def test_surface_references_and_addresses_of_shared_memory_are_reported():
    assert translate("surface<void, 2> s;\n").unported
    assert port("unsigned a = __cvta_generic_to_shared(p);").unported


def test_errors_that_hip_does_not_have_become_their_numbers():
    done = translate("int f(cudaError_t e) { return e == cudaErrorMisalignedAddress; }\n")
    assert done.text.endswith("{ return e == (hipError_t)716; }\n")
    assert done.unported == ()


def test_a_string_beside_a_macro_gets_its_space():
    done = translate('void f() { printf("a"FORMAT"b\\n", x); auto s = "c"s; }\n')
    assert done.text.endswith('printf("a" FORMAT"b\\n", x); auto s = "c"s; }\n')
