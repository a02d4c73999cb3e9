"""Ports from sources to verdict: compiled for AMD targets, run at both widths, reported."""

import json

import pytest
from click.testing import CliRunner
from tests.host.port.conftest import needs_amd

from kernelwright.bench.port_bench import chosen, evaluate, programs
from kernelwright.core.errors import UsageError
from kernelwright.dialects.amdgpu import compile_hip
from kernelwright.hipify import translate
from kernelwright.port import RungStatus, port
from kernelwright.port.emulated import emulates
from kernelwright.port.programs import Program

LIBRARIES = chosen(["library_rand_device_pi", "library_blas_power_iteration"])
GOOD = """#include <cstdio>
__global__ void sum(int* p) {
  __shared__ int s[100];
  s[threadIdx.x] = threadIdx.x;
  int v = threadIdx.x;
  for (int o = 16; o > 0; o >>= 1) v += __shfl_xor_sync(0xffffffffu, v, o);
  if (threadIdx.x % 32 == 0) p[threadIdx.x / 32] = v;
}
int main() {
  int* p;
  cudaMallocManaged(&p, 8);
  sum<<<1, 64>>>(p);
  cudaDeviceSynchronize();
  printf("%d %d\\n", p[0], p[1]);
}
"""


def run(original, ported):
    return emulates(Program.of(original), Program.of(ported))


@needs_amd
def test_resources_are_read_from_the_object(tmp_path):
    path = tmp_path / "a.hip"
    path.write_text(
        "#include <hip/hip_runtime.h>\n__global__ void k(int* p) {\n"
        "__shared__ int s[128]; s[threadIdx.x] = p[threadIdx.x]; __syncthreads();\n"
        "p[threadIdx.x] = s[127 - threadIdx.x]; }\n"
    )
    for target, lanes in (("gfx942", 64), ("gfx1100", 32)):
        built = compile_hip(path, target=target)
        (kernel,) = built.kernels
        assert kernel.lds_bytes == 512
        assert kernel.wave_width == lanes
        assert kernel.vgprs > 0
        assert kernel.scratch_bytes == kernel.vgpr_spills == 0


@needs_amd
def test_a_32_bit_mask_does_not_compile_and_its_port_does(tmp_path):
    path = tmp_path / "a.hip"
    path.write_text("#include <hip/hip_runtime.h>\n" + GOOD.replace("cudaM", "hipM"))
    assert not compile_hip(path, target="gfx942").is_built
    path.write_text(translate(GOOD).text)
    assert compile_hip(path, target="gfx942").is_built


@needs_amd
def test_a_file_climbs_the_ladder(tmp_path):
    (tmp_path / "sum.cu").write_text(GOOD)
    report = port(tmp_path / "sum.cu", out=tmp_path / "out", rungs=(0, 1, 2), targets=("gfx942",))
    (file,) = report.files
    assert [str(rung.status) for rung in file.rungs] == ["passed"] * 3
    assert report.is_done
    assert json.loads((tmp_path / "out/port.json").read_text())["done"] is True
    assert "hipMallocManaged" in (tmp_path / "out/sum.hip").read_text()


def test_rungs_that_cannot_be_checked_do_not_pass(tmp_path):
    (tmp_path / "a.cu").write_text("__global__ void k() {}\n")
    report = port(tmp_path / "a.cu", rungs=(0, 3, 4))
    assert [rung.status for rung in report.files[0].rungs[1:]] == [RungStatus.NOT_CHECKED] * 2
    assert not report.is_done


def test_a_port_that_prints_something_else_fails():
    ported = translate(GOOD).text
    assert run(GOOD, ported).status is RungStatus.PASSED
    rung = run(GOOD.replace("v = threadIdx.x", "v = threadIdx.x + threadIdx.x / 63"), ported)
    assert rung.status is RungStatus.FAILED
    assert "prints something else: -496 1521 | +496 1520" in rung.details[0]


def test_a_port_without_repairs_fails_at_64_lanes():
    naive = GOOD.replace("cudaM", "hipM").replace("cudaD", "hipD").replace("0xffffffffu", "~0ull")
    naive = naive.replace("p[threadIdx.x / 32]", "p[threadIdx.x / warpSize]")
    rung = run(GOOD, "#include <hip/hip_runtime.h>\n" + naive)
    assert rung.status is RungStatus.FAILED
    assert all(detail.startswith("64 lanes") for detail in rung.details)


def test_a_folder_knows_the_names_of_all_its_files(tmp_path):
    (tmp_path / "own.cuh").write_text("inline void cudaMine() { cudaFree(0); }\n")
    (tmp_path / "main.cu").write_text('#include "own.cuh"\nvoid f() { cudaMine(); }\n')
    (tmp_path / "ext.py").write_text('S = """__global__ void k() { __syncwarp(3); }"""\n')
    (tmp_path / "notes.py").write_text("x = 1\n")
    report = port(tmp_path, rungs=(0,), out=tmp_path / "out")
    assert [file.path for file in report.files] == ["ext.py", "main.cu", "own.cuh"]
    assert report.is_done
    assert "hipFree" in (tmp_path / "out/own.cuh").read_text()


def test_wrong_use(tmp_path):
    with pytest.raises(UsageError, match="nothing to port"):
        port(tmp_path / "none.cu")
    (tmp_path / "a.cu").write_text("")
    with pytest.raises(UsageError, match="unknown target"):
        port(tmp_path / "a.cu", targets=("gfx90",))
    with pytest.raises(UsageError, match="no rung"):
        port(tmp_path / "a.cu", rungs=(9,))


def test_the_command_exits_with_1_if_something_is_unported(tmp_path):
    from kernelwright.cli import main

    source = tmp_path / "a.cu"
    source.write_text("void f() { cudaNothing(); }\n")
    done = CliRunner().invoke(main, ["port", str(source), "--rungs", "0"])
    assert done.exit_code == 1
    assert "unported: cudaNothing" in done.output
    source.write_text("void f() { cudaFree(0); }\n")
    assert CliRunner().invoke(main, ["port", str(source), "--rungs", "0"]).exit_code == 0


@pytest.mark.parametrize(
    "name", ["reduce_volatile_tail", "image_histogram_match", "ptx_lane_prefix"]
)
def test_programs_of_the_bench_run_at_both_widths(name):
    (program,) = [p for p in programs() if p.name == name]
    outcome = evaluate(program, lambda p: translate(p.source).text, targets=())
    assert not outcome.faults
    assert outcome.runs_at(32)
    assert outcome.runs_at(64)


def test_the_bench_is_as_wide_as_it_says():
    known = programs()
    assert len(known) >= 60
    assert len({program.domain for program in known}) >= 16
    assert sum(bool(program.hazards) for program in known) * 3 >= len(known)
    assert all(program.expected not in ("", "?") for program in known)


@needs_amd
def test_device_text_in_a_python_file_is_compiled(tmp_path):
    path = tmp_path / "a.py"
    path.write_text(
        'SOURCE = r"""\n__global__ void k(float* p) { p[0] = __shfl_sync(~0u, p[0], 0); }\n"""\n'
    )
    _, rung = port(path, targets=("gfx942",)).files[0].rungs
    assert rung.status is RungStatus.PASSED
    assert [kernel.kernel for _, kernel in rung.resources] == ["_Z1kPf"]
    path.write_text(path.read_text().replace("p[0] =", "nothing ="))
    _, rung = port(path, targets=("gfx942",)).files[0].rungs
    assert rung.status is RungStatus.FAILED and "nothing" in rung.details[0]


@needs_amd
def test_a_library_without_its_own_header_is_compiled_with_ours_and_the_rung_says_so(tmp_path):
    (program,) = chosen(["library_cub_block_reduce_scan"])
    path = tmp_path / "a.cu"
    path.write_text(program.source)
    _, rung = port(path, targets=("gfx942",)).files[0].rungs
    assert rung.status is RungStatus.PASSED
    assert rung.details == ("<hipcub/hipcub.hpp> is a stand-in of ours, not AMD's header",)
    path.write_text(program.source.replace("Warp(", "cub::BlockHistogram<int, 1, 1, 1>("))
    _, rung = port(path, targets=("gfx942",)).files[0].rungs
    assert rung.status is RungStatus.NOT_CHECKED  # ours has no such name, AMD's may have it


@pytest.mark.parametrize("program", LIBRARIES, ids=lambda p: p.name)
def test_programs_that_call_libraries_run_at_both_widths(program):
    outcome = evaluate(program, lambda p: translate(p.source).text, targets=())
    assert outcome.faults == ()


def test_threads_that_return_before_a_barrier_are_ignored_if_the_original_does_so_too():
    text = GOOD.replace("  __shared__", "  if (threadIdx.x > 63) return;\n  __shared__").replace(
        "<<<1, 64>>>", "<<<1, 96>>>"
    )
    barrier = text.replace("  int v =", "  __syncthreads();\n  int v =")
    rung = run(barrier, translate(barrier).text)
    assert rung.status is RungStatus.PASSED
    assert rung.details == ("the original too: barrier-exit",)
    added = translate(text).text.replace("  int v =", "  __syncthreads();\n  int v =")
    assert run(text, added).status is RungStatus.FAILED


LOCKSTEP = """#include <cstdio>
#include "tail.cuh"
__global__ void sum(int* in, int* out) {
  __shared__ int s[256];
  int t = threadIdx.x;
  s[t] = in[t];
  __syncthreads();
  for (int k = 128; k > 32; k >>= 1) { if (t < k) s[t] += s[t + k]; __syncthreads(); }
  if (t < 32) tail(s, t);
  if (t == 0) *out = s[0];
}
int main() {
  int *in, *out;
  cudaMallocManaged(&in, 1024);
  cudaMallocManaged(&out, 4);
  for (int k = 0; k < 256; k++) in[k] = k;
  sum<<<1, 256>>>(in, out);
  cudaDeviceSynchronize();
  printf("%d\\n", *out);
}
"""
TAIL = """__device__ void tail(volatile int* s, int t) {
  s[t] += s[t + 32]; s[t] += s[t + 16]; s[t] += s[t + 8];
  s[t] += s[t + 4]; s[t] += s[t + 2]; s[t] += s[t + 1];
}
"""


@pytest.mark.parametrize("is_in_header", [False, True])
def test_an_original_that_trusts_lockstep_is_run_in_lockstep(tmp_path, is_in_header):
    (tmp_path / "tail.cuh").write_text(TAIL)
    text = LOCKSTEP if is_in_header else LOCKSTEP.replace('#include "tail.cuh"\n', TAIL)
    (tmp_path / "sum.cu").write_text(text)
    done = {file.path: file.rungs for file in port(tmp_path / "sum.cu", rungs=(2,)).files}
    assert [rung.status for rung in done["sum.cu"]] == [RungStatus.PASSED]


def test_a_port_without_barriers_between_lanes_is_not_run_in_lockstep():
    text = LOCKSTEP.replace('#include "tail.cuh"\n', TAIL)
    assert run(text, text).status is RungStatus.FAILED


def test_faults_of_a_port_are_located_in_its_file(tmp_path):
    kernel = "__global__ void k(int* p) {\n  int o = *p;\n  atomicAdd(p, o);\n}\n"
    main = "int main() {\n  int* p;\n  cudaMallocManaged(&p, 4);\n  k<<<1, 32>>>(p);\n}\n"
    (tmp_path / "a b.cu").write_text(kernel + main)
    (rung,) = port(tmp_path / "a b.cu", rungs=(2,), out=tmp_path / "out").files[0].rungs
    ported = (tmp_path / "out/a b.hip").read_text().splitlines()
    line = 1 + ported.index("  int o = *p;")
    assert f"race at a b.hip:{line}: read of another's write" in rung.details[0]
