"""The translation of a file: every kind of edit, and a finding for every remaining name."""

import re

import pytest

from kernelwright.core.errors import UsageError
from kernelwright.hipify import State, translate
from kernelwright.hipify.table import load_map


def hip(text: str, **options) -> str:
    return translate(text, **options).text


def test_names_are_renamed_and_everything_else_stays():
    text = "int f() {  /* cudaFree */ return cudaMalloc( &p , 4 );\t// cudaMalloc\n}\n"
    assert hip(text, implicit=False) == text.replace("cudaMalloc(", "hipMalloc(")


def test_strings_are_not_changed():
    assert '"cudaMalloc failed"' in hip('void f() { puts("cudaMalloc failed"); }')


def test_bodies_of_macros_are_translated():
    text = "#define CHECK(x) do { if ((x) != cudaSuccess) abort(); } while (0)\n"
    assert "hipSuccess" in hip(text, implicit=False)


def test_includes_become_those_of_hip():
    text = (
        "#include <cuda_runtime.h>\n#include <cublas_v2.h>\n#include <cub/device/device_scan.cuh>\n"
    )
    done = hip(text)
    assert "<hip/hip_runtime.h>" in done
    assert "<hipblas/hipblas.h>" in done
    assert "<hipcub/hipcub.hpp>" in done


def test_the_runtime_header_that_nvcc_includes_implicitly_is_added_once():
    assert hip("__global__ void k() {}\n").startswith("#include <hip/hip_runtime.h>\n")
    assert hip("#include <cuda.h>\n__global__ void k() {}\n").count("hip_runtime") == 1


def test_names_that_the_program_declares_are_its_own():
    done = translate("void cudaCheck(int e) {}\nvoid f() { cudaCheck(1); cudaOther(2); }\n")
    assert "cudaCheck(1)" in done.text
    assert [f.construct for f in done.unported] == ["cudaOther"]
    assert not translate("void f() { cudaOther(2); }\n", own=["cudaOther"]).unported


@pytest.mark.parametrize(
    ("text", "construct"),
    [
        ("void f() { cudaNoSuchThing(); }", "cudaNoSuchThing"),
        ("cuNoSuchType_t x;", "cuNoSuchType_t"),
        ("#include <cuda/barrier>\n", "<cuda/barrier>"),
        ("#include <cutensor.h>\n", "<cutensor.h>"),
        ("void f() { nvmlInit(); }", "nvmlInit"),
        ("#define M cublasNoSuch(1)\n", "cublasNoSuch"),
        (
            "void f() { cudaDeviceFlushGPUDirectRDMAWrites(); }",
            "cudaDeviceFlushGPUDirectRDMAWrites",
        ),
    ],
)
def test_names_without_a_counterpart_are_reported_with_their_line(text, construct):
    done = translate("\n\n" + text, file="a.cu")
    (finding,) = [f for f in done.unported if f.construct == construct]
    assert finding.line == 3
    assert finding.file == "a.cu"
    assert finding.reason
    assert finding.advice


def test_every_remaining_cuda_name_is_reported():
    names = ["cudaMalloc", "cudaFoo", "cublasSgemm", "cuBar", "CU_STREAM_DEFAULT", "nvrtcResult"]
    done = translate("void f() { " + " ".join(f"use({name});" for name in names) + " }")
    left = {w for w in re.findall(r"\w+", done.text) if load_map("hip").owned.fullmatch(w)}
    assert left == {f.construct for f in done.unported}


def test_symbols_and_kernels_are_passed_as_hip_requires():
    text = "void f() { cudaMemcpyToSymbol(c, h, 4); cudaMemcpyFromSymbol(h, c, 4);"
    done = hip(text + " cudaFuncSetAttribute(k, a, 1); }")
    assert "hipMemcpyToSymbol(HIP_SYMBOL(c), h, 4)" in done
    assert "hipMemcpyFromSymbol(h, HIP_SYMBOL(c), 4)" in done
    assert "hipFuncSetAttribute(reinterpret_cast<const void*>(k), a, 1)" in done


def test_the_short_form_of_graph_instantiation():
    done = hip("void f() { cudaGraphInstantiate(&e, g, 0); cudaGraphInstantiate(&e, g, 0, 0, 0); }")
    assert "hipGraphInstantiateWithFlags(&e, g, 0)" in done
    assert "hipGraphInstantiate(&e, g, 0, 0, 0)" in done


def test_launches_are_not_changed():
    assert "k<<<1, 2, 0, s>>>(p)" in hip("void f() { k<<<1, 2, 0, s>>>(p); }")


def test_functions_whose_arguments_differ_are_changed():
    done = translate("void f() { cudnnConvolutionForward(h); }")
    (finding,) = [f for f in done.findings if f.construct == "cudnnConvolutionForward"]
    assert finding.state is State.CHANGED


def test_an_unknown_side():
    with pytest.raises(UsageError, match="cannot port"):
        translate("", to="metal")


def test_a_file_with_syntax_errors_is_still_translated():
    assert "hipMalloc(&p, 4)" in hip("WEIRD_MACRO( void f() { cudaMalloc(&p, 4) }")


def test_translating_twice_changes_nothing_more():
    once = hip("__global__ void k() { int v = __shfl_down_sync(~0u, 1, 2); }\n")
    assert hip(once) == once


def test_the_translation_of_a_whole_program(snapshot):
    from kernelwright.bench.port_bench import programs

    (program,) = [p for p in programs() if p.name == "atomics_aggregated_warp"]
    assert hip(program.source) == snapshot


def test_namespaces_of_libraries_are_moved_or_reported_and_own_ones_left():
    done = translate(
        "#define CUDA_API_PER_THREAD_DEFAULT_STREAM\n"
        "void f() { thrust::sort(thrust::cuda::par.on(s), a, b); cuda::atomic<int> c;\n"
        "ncclFooBar(); auto g = cooperative_groups::this_cluster(); }\n"
        "__device__ void h() { __trap(); }\n"
    )
    assert "#define HIP_API_PER_THREAD_DEFAULT_STREAM" in done.text
    assert "thrust::hip::par.on(s)" in done.text and "__builtin_trap()" in done.text
    assert {f.construct for f in done.unported} == {
        "cuda::atomic", "ncclFooBar", "cooperative_groups::this_cluster",
    }  # fmt: skip
    own = translate("namespace cuda { int x; }\nint y = cuda::x;\n")
    assert not own.findings
    back = translate("auto p = thrust::hip::par;\n", to="cuda")
    assert "thrust::cuda::par" in back.text


def test_hipblas_functions_with_hips_own_types_are_selected():
    """ROCm 6 has them behind a macro, ROCm 7 has no others."""
    text = "#include <cublas_v2.h>\n"
    switch = translate(text).text.index("#define HIPBLAS_V2")
    assert switch < translate(text).text.index("<hipblas/hipblas.h>")
    header = translate("#pragma once\n" + text, implicit=False).text
    assert header.index("#define HIPBLAS_V2") < header.index("<hipblas/hipblas.h>")
    assert "HIPBLAS_V2" not in translate("#include <cuda_runtime.h>\n").text
