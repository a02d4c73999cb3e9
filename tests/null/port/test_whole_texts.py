"""Texts and projects as they are: bytes, strings of Python, unusual headers, macros, dead code."""

import pytest

from kernelwright.hipify import (
    State,
    translate,
    translate_cmake,
    translate_make,
    translate_python,
)
from kernelwright.port import PortOptions, port, port_with
from kernelwright.port.views import as_page, as_patch, as_sarif

KERNEL = "__global__ void k(int* p) { cudaFree(p); }\n"


@pytest.mark.parametrize("head", [b"", b"\xef\xbb\xbf"])
def test_line_endings_and_other_encodings_are_kept_byte_for_byte(tmp_path, head):
    text = head + b"// caf\xe9\r\n__global__ void k(float *p)\r\n{ *p = __fmul_rn(*p, 2.f); }\r\n"
    (tmp_path / "a.cu").write_bytes(text)
    port(tmp_path / "a.cu", rungs=(0,), out=tmp_path / "out")
    written = (tmp_path / "out/a.hip").read_bytes()
    assert written.startswith(head + b"#include <hip/hip_runtime.h>\r\n")
    assert b"// caf\xe9\r\n" in written
    assert written.count(b"\n") == written.count(b"\r\n")


def test_device_code_in_f_strings_and_escaped_strings_is_translated():
    source = '''N = 64
A = f"""
__global__ void {N}k(float *x) {{ x[{N}] = __shfl_sync(0xffffffff, x[0], 0); cudaFree(x); }}
"""
B = "__global__ void k(char *x) { printf(\\"%d\\\\n\\", warpSize); }"
C = ("__global__ void k(int *p)\\n"
     "{ *p = __shfl_sync(0xffffffff, *p, "
     "0); }")
'''
    done = translate_python(source)
    before, after = {}, {}
    exec(source, before)
    exec(done.text, after)
    assert "64k" in after["A"] and "x[64] = __shfl(x[0], 0, 32); hipFree(x); }" in after["A"]
    assert after["B"] == before["B"].replace("warpSize", "32 /*warpSize*/")
    assert "{ *p = __shfl(*p, 0, 32); }" in after["C"]
    assert {finding.line for finding in done.findings} == {3, 5, 7}
    assert not done.unported


def test_names_of_renamed_files_follow_in_python(tmp_path):
    (tmp_path / "k.cu").write_text(KERNEL)
    (tmp_path / "setup.py").write_text('CUDAExtension("k", ["src/k.cu", "k.cpp", "other.cu"])\n')
    port(tmp_path, rungs=(0,), out=tmp_path / "out")
    written = (tmp_path / "out/setup.py").read_text()
    assert written == 'CUDAExtension("k", ["src/k.hip", "k.cpp", "other.cu"])\n'


def test_the_way_back_reports_what_only_amd_has():
    text = """#include <hip/hip_runtime.h>
#include <rocprim/rocprim.hpp>
__global__ __launch_bounds__(256, 4) void k(int *o) {
  HIP_DYNAMIC_SHARED(int, s)
  int v = hipThreadIdx_x;
  for (int d = 32; d > 0; d >>= 1) v += __shfl_down(v, d);
  v += __builtin_amdgcn_readfirstlane(v) + __shfl_xor(v, 1, 64) + (int)(__ballot(v) >> 40);
  unsafeAtomicAdd((float *)o + 128, 1.f);
}
int f(hipDeviceProp_t p) { return p.gcnArchName[0]; }
"""
    done = translate(text, to="cuda")
    assert {f.construct for f in done.unported} == {
        "<rocprim/rocprim.hpp>", "__shfl_down over 32 lanes", "__builtin_amdgcn_readfirstlane",
        "__shfl_xor of 64 lanes", "upper half of a ballot", "gcnArchName",
    }  # fmt: skip
    assert "__launch_bounds__(256) void" in done.text
    assert "extern __shared__ int s[];" in done.text
    assert "int v = threadIdx.x;" in done.text
    assert "atomicAdd((float *)o + 128, 1.f);" in done.text


@pytest.mark.parametrize(
    "loop", ["for (int d = 16; d; d >>= 1)", "for (int d = warpSize / 2; d; d >>= 1)"]
)
def test_reductions_of_32_lanes_go_back_without_a_report(loop):
    text = f"__global__ void k(int *o) {{ int v = 1; {loop} v += __shfl_down(v, d); *o = v; }}\n"
    assert not translate(text, to="cuda").unported


def test_a_call_in_a_macro_does_not_make_a_name_the_programs_own():
    text = "#define NEW(p) cudaMalloc((void **)&p, 4)\nvoid f(int *p) { cudaMalloc(&p, 4); }\n"
    assert "cudaMalloc" not in translate(text).text


def test_parameters_of_macros_are_not_reported():
    text = "#define PICK(cuDev, n) cuDeviceGet(&cuDev, n)\nvoid f() { CUdevice d; PICK(d, 0); }\n"
    assert not translate(text).unported


def test_code_that_no_compiler_reads_is_left_and_not_reported():
    dead = "#if 0\nnot ( code } at all <<< cudaNonsense cudaMalloc\n#else\n"
    done = translate(f"{dead}{KERNEL}#endif\n")
    assert not done.unported
    assert dead in done.text and "hipFree" in done.text


def test_a_header_whose_functions_are_all_translated_is_not_reported():
    text = "#include <cuda_pipeline.h>\n__global__ void k() { __pipeline_commit(); }\n"
    assert not translate(text).unported


@pytest.mark.parametrize("name", ["a.h", "levels", "table.def"])
def test_headers_are_ported_that_only_include_cuda_or_have_no_suffix(tmp_path, name):
    (tmp_path / name).write_text("#include <cuda.h>\nint levels(int n);\n")
    (tmp_path / "main.cu").write_text(f'#include "{name}"\n{KERNEL}')
    port(tmp_path, rungs=(0,), out=tmp_path / "out")
    assert "#include <hip/hip_runtime.h>" in (tmp_path / "out" / name).read_text()


def test_a_project_is_written_whole(tmp_path):
    texts = {"host.cpp": "int x;\n", "inc/host.h": "#pragma once\n", "run.sh": "#!/bin/sh\n"}
    (tmp_path / "p/inc").mkdir(parents=True)
    (tmp_path / "p/k.cu").write_text(KERNEL)
    for name, text in texts.items():
        (tmp_path / "p" / name).write_text(text)
    report = port(tmp_path / "p", rungs=(0,), out=tmp_path / "out")
    assert report.copied == tuple(sorted(texts))
    assert {n: (tmp_path / "out" / n).read_text() for n in texts} == texts
    assert [file.path for file in report.files] == ["k.cu"]


MAKEFILE = """NVCC = /usr/local/cuda/bin/nvcc  # nvcc of CUDA
%.o: %.cu
\t$(NVCC) -Xcompiler "-Wall -O3" -gencode arch=compute_80,code=sm_80 -lineinfo -c $< -o $@
p: k.o
\t$(NVCC) $^ -L$(CUDA_PATH)/lib64 -lcudart -lcublas -o $@
"""


def test_a_makefile_builds_with_hipcc():
    done = translate_make(MAKEFILE)
    assert (
        done.text
        == """NVCC = /opt/rocm/bin/hipcc  # nvcc of CUDA
%.o: %.hip
\t$(NVCC) -Wall -O3  -gline-tables-only -c $< -o $@
p: k.o
\t$(NVCC) $^ -L$(CUDA_PATH)/lib -lamdhip64 -lhipblas -o $@
"""
    )
    assert [f.construct for f in done.findings if f.state is State.CHANGED] == [
        "-gencode arch=compute_80,code=sm_80"
    ]
    assert ".cu" in translate_make(done.text, to="cuda").text


def test_words_left_in_a_makefile_are_a_verdict_of_their_own(tmp_path):
    (tmp_path / "k.cu").write_text(KERNEL)
    (tmp_path / "Makefile").write_text("k.o: k.cu\n\tnvcc -dlink k.cu\n")
    report = port(tmp_path, rungs=(0,))
    assert report.is_done and not report.is_build_done
    assert report.summary == "0 constructs left, 1 words left in build files"


def test_words_that_a_projects_own_functions_take_are_not_cmakes():
    text = "add_benchmark(x MODEL cuda)\ntarget_compile_features(x PUBLIC cuda_std_17)\n"
    done = translate_cmake(text)
    assert not done.unported and "hip_std_17" in done.text


def test_the_functions_that_a_port_adds_are_in_one_header_of_the_project(tmp_path):
    vote = "__global__ void {}(int *p) {{ p[0] = __any_sync(~0u, p[1]); }}\n"
    (tmp_path / "p/src").mkdir(parents=True)
    (tmp_path / "p/a.cu").write_text(vote.format("a"))
    (tmp_path / "p/src/b.cu").write_text(vote.format("b"))
    port(tmp_path / "p", rungs=(0,), out=tmp_path / "out")
    header = (tmp_path / "out/port_functions.h").read_text()
    assert "port_any(" in header
    for name, path in (("a.hip", "port_functions.h"), ("src/b.hip", "../port_functions.h")):
        text = (tmp_path / "out" / name).read_text()
        assert f'#define PORT_NEEDS_ANY\n#include "{path}"\n' in text
        assert "PORT_ANY\n" not in text.replace("PORT_NEEDS_ANY\n", "")
    port(tmp_path / "p/a.cu", rungs=(0,), out=tmp_path / "alone")
    assert "port_any(" in (tmp_path / "alone/a.hip").read_text().split("__global__")[0]


def test_member_templates_get_the_keyword_that_clang_wants():
    text = "template <int N> __global__ void k(T<N> t) { t.run<true>(1); t.template go<N>(); }\n"
    assert "{ t.template run<true>(1); t.template go<N>(); }" in translate(text).text


def test_a_patch_a_page_and_sarif_show_the_port(tmp_path):
    (tmp_path / "a.cu").write_text(f"{KERNEL}__global__ void l() {{ cudaNonsense(<1>); }}\n")
    report = port(tmp_path / "a.cu", rungs=(0,))
    patch = as_patch(report)
    assert "--- a/a.cu\n+++ b/a.hip\n" in patch
    assert "+__global__ void k(int* p) { hipFree(p); }\n" in patch
    assert "cudaNonsense(&lt;1&gt;)" in as_page(report)
    assert '"ruleId": "unported"' in as_sarif(report) and '"startLine": 2' in as_sarif(report)
    assert report.summary == "1 constructs left"


def test_strict_counts_what_changed(tmp_path):
    (tmp_path / "a.cu").write_text("__global__ __launch_bounds__(256, 4) void k() {}\n")
    for is_strict in (False, True):
        report = port_with(tmp_path / "a.cu", PortOptions(rungs=(0,), is_strict=is_strict))
        assert report.files[0].translation.count(State.CHANGED) == 1
        assert report.is_done is not is_strict
