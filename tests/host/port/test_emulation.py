"""The emulation computes what a GPU computes, and detects errors that a GPU does not report."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kernelwright.dialects import amdgpu
from kernelwright.dialects.simt import machine

BUFFER = "int* p; apiMalloc(&p, 64 * sizeof(int)); apiMemset(p, 0, 64 * sizeof(int));\n"
SUM = 'int s = 0; for (int i = 0; i < 64; ++i) s += p[i]; printf("%d\\n", s);'


def kinds(run: machine.EmulatedRun) -> set[str]:
    return {complaint.kind for complaint in run.complaints}


@pytest.mark.parametrize("width", machine.WIDTHS)
@pytest.mark.parametrize("schedule", machine.SCHEDULES)
def test_barriers_and_shared_memory(emulate, width, schedule):
    run = emulate(
        """__global__ void k(int* p) {
          __shared__ int s[64];
          s[threadIdx.x] = threadIdx.x * threadIdx.x;
          __syncthreads();
          p[threadIdx.x] = s[63 - threadIdx.x] + blockDim.x;
        }""",
        BUFFER + 'k<<<1, 64>>>(p); printf("%d %d\\n", p[0], p[63]);',
        width=width,
        schedule=schedule,
    )
    assert run.output == "4033 64\n"
    assert run.exit_code == 0
    assert not run.complaints
    assert (run.threads, run.barriers) == (64, 64)


def test_shared_variables_outside_functions_are_each_blocks_own(emulate):
    run = emulate(
        """struct Pair { int a, b; };
        __shared__ int s[64];
        static __shared__ Pair pair;
        __shared__ int flag;
        __device__ int other(int t) { return s[63 - t] + ((int*)s)[t]; }
        __global__ void k(int* p) {
          s[threadIdx.x] = threadIdx.x + blockIdx.x;
          if (threadIdx.x == 0) flag = 1 + blockIdx.x, (&pair)->b = 2;
          __syncthreads();
          if (flag == 2) p[threadIdx.x] = other(threadIdx.x) + (&pair)->b;
        }""",
        BUFFER + 'k<<<2, 64>>>(p); printf("%d %d\\n", p[0], p[63]);',
    )
    assert run.output == "67 67\n"
    assert not run.complaints


@pytest.mark.parametrize(("width", "wanted"), [(32, "32 32 0\n"), (64, "64 64 32\n")])
def test_the_width_is_that_of_the_wave(emulate, width, wanted):
    run = emulate(
        """__global__ void k(int* p) {
          unsigned long long all = __ballot(1);
          if (threadIdx.x == 32) p[0] = warpSize, p[1] = __popcll(all), p[2] = __lane_id();
        }""",
        BUFFER + 'k<<<1, 64>>>(p); printf("%d %d %d\\n", p[0], p[1], p[2]);',
        hip=True,
        width=width,
    )
    assert run.output == wanted


def test_converged_operations_exclude_lanes_on_another_branch(emulate):
    run = emulate(
        """__global__ void k(unsigned long long* p) {
          if (threadIdx.x < 10) p[0] = __ballot(threadIdx.x & 1);
          unsigned long long all = __ballot(1);
          if (threadIdx.x == 20) p[1] = all;
        }""",
        "unsigned long long* p; apiMalloc(&p, 64); k<<<1, 32>>>(p);\n"
        'printf("%llx %llx\\n", p[0], p[1]);',
        hip=True,
    )
    assert run.output == "2aa ffffffff\n"


@pytest.mark.parametrize("width", machine.WIDTHS)
def test_a_function_called_from_two_places_does_not_bring_their_lanes_together(emulate, width):
    """Like a wavefront, the emulation runs a branch with its own lanes first, then the code after
    it."""
    run = emulate(
        """__device__ int active();
        __global__ void k(int* p) {
          int mine = 0;
          if (threadIdx.x % 4 == 1) mine = active();
          for (int d = 1; d < 8; d *= 2) mine += 100 * __shfl_up(d, 1, 8);
          p[threadIdx.x] = mine + 10000 * active();
        }
        __device__ int active() { return __popcll(__ballot(1)); }""",
        BUFFER + 'k<<<1, 64>>>(p); printf("%d %d\\n", p[1], p[2]);',
        width=width,
        hip=True,
    )
    assert run.output == f"{width * 10000 + 700 + width // 4} {width * 10000 + 700}\n"


@pytest.mark.parametrize(
    ("kernel", "kind", "detail"),
    [
        ("__shared__ int s[64]; s[t] = t; p[t] = s[63 - t];", "race", "read of another"),
        ("p[0] = t;", "race", "two threads write"),
        ("int o = *p; atomicAdd(p, o);", "race", "read of another"),
        ("int o = *p; atomicCAS(p, o + 1, t);", "race", "read of another"),
        ("int o = *p; p[1 + t % 63] = o; atomicCAS(p + 1, o, t);", "race", "two threads write"),
        ("if (t == 63) p[0] = 9; else { int o = p[0]; atomicCAS(p, o, 5); }", "race", "two"),
        ("if (t) atomicAdd(p, 1); else p[1] = p[0];", "race", "under another"),
        ("p[64 + t] = 1;", "out-of-bounds", "outside every"),
        ("__shared__ int s[32]; s[t] = t; p[t] = 1;", "out-of-bounds", "outside an array"),
        ("extern __shared__ int d[]; d[t + 8] = t; p[t] = 1;", "out-of-bounds", "beyond"),
        ("__shared__ int s[64]; p[t] = s[t];", "uninitialised", "before it is written"),
        (
            "if (t < 32) { p[t] = 2; __syncthreads(); p[t] *= 3; } else __syncthreads();",
            "barrier",
            "",
        ),
        ("if (t < 32) return; __syncthreads(); p[t] = 1;", "barrier-exit", "returned"),
        ("if (t < 9) p[t] = __shfl_sync(~0u, t, 0); else __syncthreads();", "mask", "never reach"),
        ("p[t] = __shfl_sync(1u, t, 0);", "mask", "not in its own mask"),
    ],
)
def test_errors_are_detected_and_located(emulate, kernel, kind, detail):
    body = f"__global__ void k(int* p) {{ int t = threadIdx.x;\n{kernel}\n}}"
    run = emulate(body, BUFFER + "k<<<1, 64, 128>>>(p);" + SUM)
    found = [c for c in run.complaints if c.kind == kind and detail in c.detail]
    assert found, run.complaints
    assert found[0].place.startswith("program:4")


def test_an_access_outside_a_local_array_is_told_and_does_not_end_the_program(emulate):
    if "version 1" in amdgpu.clang_version(amdgpu.find_clang() or ""):
        pytest.skip("clang before 20 ends the program there")
    body = "int a[4] = {1, 2, 3, (int)threadIdx.x}, *q = a; p[threadIdx.x] = q[threadIdx.x % 5];"
    run = emulate(
        f"__global__ void k(int* p) {{ {body} }}", BUFFER + 'k<<<1, 64>>>(p); puts("end");'
    )
    assert run.output == "end\n"
    assert {(c.kind, c.detail) for c in run.complaints} == {
        ("out-of-bounds", "access outside a variable")
    }


@pytest.mark.parametrize(
    "kernel",
    [
        "atomicAdd(p, t);",
        "if (t == 0) p[0] = 1; __syncwarp(); if (t == 1) p[0] = 2;",
        "p[0] = 7; p[1 + t % 63] = 0;",  # all threads store the same value
        "volatile int* v = p; v[0] = t;",
        "int o = *p, a; do { a = o; o = atomicCAS(p, a, a + t); } while (a != o);",
        "int o = *p, a; atomicAdd(p + 1, 1); do { a = o; o = atomicCAS(p, a, a + t); }"
        " while (a != o); atomicAdd(p, 1);",
        "int a; do a = *p; while (atomicCAS(p, a, a + t) != a);",
        "auto u = (unsigned long long*)p; auto o = *u, a = o;"
        " do { a = o; o = atomicCAS(u, a, a + t); } while (a != o);",
        "__shared__ int s; if (!t) s = 0; __syncwarp();"
        " int o = s, a; do { a = o; o = atomicCAS(&s, a, a + t); } while (a != o);",
    ],
)
def test_ordered_or_harmless_accesses_are_not_races(emulate, kernel):
    body = f"__global__ void k(int* p) {{ int t = threadIdx.x; {kernel} }}"
    assert "race" not in kinds(emulate(body, BUFFER + "k<<<1, 32>>>(p);"))


def test_blocks_that_wait_for_one_another_run_together(emulate):
    run = emulate(
        """__global__ void k(int* p) {
          if (blockIdx.x == 0) { while (atomicAdd(p, 0) < 3) {} p[1] = 5; }
          else atomicAdd(p, 1);
        }""",
        BUFFER + 'k<<<4, 1>>>(p); printf("%d %d\\n", p[0], p[1]);',
    )
    assert run.output == "3 5\n"


def test_a_barrier_of_the_grid_orders_shared_memory_too(emulate):
    run = emulate(
        """#include <cooperative_groups.h>
        __global__ void k(int* p) {
          __shared__ int s[64];
          for (int round = 0; round < 2; ++round) {
            s[threadIdx.x] = round + threadIdx.x;
            __syncthreads();
            p[threadIdx.x] = s[63 - threadIdx.x];
            cooperative_groups::this_grid().sync();
          }
        }""",
        BUFFER + "void* given[] = {&p};\n"
        "apiLaunchCooperativeKernel(k, dim3(1), dim3(64), given);\n"
        'printf("%d %d\\n", p[0], p[63]);',
    )
    assert (run.output, run.complaints) == ("64 1\n", ())


def test_a_hanging_program_is_stopped(emulate):
    run = emulate(
        "__global__ void k(int* p) { while (atomicAdd(p, 0) == 0) {} }", BUFFER + "k<<<1, 1>>>(p);"
    )
    assert run.exit_code != 0
    assert "hang" in kinds(run)


def test_cuda_text_that_trusts_32_lanes_is_wrong_at_64(emulate):
    kernel = """__global__ void k(int* p) {
      int v = threadIdx.x;
      for (int o = 16; o; o >>= 1) v += __shfl_down_sync(0xffffffffu, v, o);
      if (threadIdx.x % 32 == 0) p[threadIdx.x / 32] = v;
    }"""
    main = BUFFER + 'k<<<1, 64>>>(p); printf("%d %d\\n", p[0], p[1]);'
    assert emulate(kernel, main, width=32).output == "496 1520\n"
    assert "mask" in kinds(emulate(kernel, main, width=64))


def test_launch_errors_are_reported_by_the_runtime(emulate):
    run = emulate(
        "__global__ void k() {}", 'k<<<1, 4096>>>(); printf("%d", (int)apiGetLastError());'
    )
    assert run.output == "9"


def test_code_that_does_not_compile_is_a_build_error(tmp_path):
    with pytest.raises(machine.BuildError, match="undeclared"):
        machine.build("int main() { return nothing; }", folder=tmp_path)


def test_device_code_in_included_headers_runs_too(tmp_path):
    (tmp_path / "inc/deep").mkdir(parents=True)
    (tmp_path / "inc/k.cuh").write_text('#include "deep/s.h"\n#include "../top.h"\n')
    (tmp_path / "inc/deep/s.h").write_text(
        "__global__ void k(int* p) { __shared__ int s; if (!threadIdx.x) s = 7;\n"
        "  __syncthreads(); p[threadIdx.x] = s; }\n"
    )
    (tmp_path / "top.h").write_text(
        "inline void go(int* p) { k<<<1, 2>>>(p); }  // caf\xe9\n", "latin-1"
    )
    text = (
        '#include <cstdio>\n#include "inc/k.cuh"\nint main() { int* p; cudaMallocManaged(&p, 8);\n'
        'go(p); cudaDeviceSynchronize(); printf("%d\\n", p[1]); }\n'
    )
    program = machine.build(text, folder=tmp_path / "inc", includes=(tmp_path,))
    assert machine.run(program).output == "7\n"


def test_negating_a_vector_changes_the_sign_of_zero(tmp_path):
    text = (
        "#include <hip/hip_runtime.h>\n#include <cstdio>\n"
        'int main() { const float2 v = -make_float2(0.0f, 2.0f); printf("%g %g\\n", v.x, v.y); }\n'
    )
    assert machine.run(machine.build(text, folder=tmp_path)).output == "-0 -2\n"


def test_a_programs_environment_has_no_keys(emulate, monkeypatch):
    """The program may be written by a model."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-mine")
    monkeypatch.setenv("SHOWN", "shown")
    run = emulate(
        "#include <cstdlib>\n",
        'printf("%d %s\\n", getenv("OPENAI_API_KEY") != nullptr, getenv("SHOWN"));',
    )
    assert run.output == "0 shown\n"


def test_the_emulations_own_memory_does_not_hide_an_access_outside(emulate):
    kernel = """__global__ void k(int* x) {
      int v = __shfl_sync(~0u, x[threadIdx.x], 0);
      if (threadIdx.x == 31) x[32 + 4096] = v;
    }"""
    main = "int* d; cudaMalloc(&d, 128); cudaMemset(d, 0, 128); k<<<1, 32>>>(d);"
    (found,) = emulate(kernel, main).complaints
    assert found.kind == "out-of-bounds"


def test_a_program_does_not_outlive_the_process_that_runs_it(tmp_path):
    text = """#include <cstdio>
    #include <unistd.h>
    #include <cuda_runtime.h>
    int main() {
      FILE* f = fopen("pid", "w");
      fprintf(f, "%d\\n", getpid());
      fclose(f);
      for (;;) usleep(1000);
    }
    """
    program = machine.build(text, folder=tmp_path)
    script = (
        "from pathlib import Path\n"
        "from kernelwright.dialects.simt import machine\n"
        f"machine.run(Path({str(program)!r}), how=machine.Running(folder=Path({str(tmp_path)!r})))"
    )
    runner = subprocess.Popen([sys.executable, "-c", script])
    said, until = tmp_path / "pid", time.monotonic() + 60
    while not (said.exists() and said.read_text().endswith("\n")) and time.monotonic() < until:
        time.sleep(0.05)
    own = Path("/proc") / said.read_text().strip()
    assert own.exists()
    os.kill(runner.pid, signal.SIGKILL)
    runner.wait()
    until = time.monotonic() + 10
    while own.exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert not own.exists()
