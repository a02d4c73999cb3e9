"""Whole programs under the emulation: what is linked, what is run, what is compared."""

import json

import pytest
from click.testing import CliRunner

from kernelwright.cli import main
from kernelwright.dialects.simt import machine
from kernelwright.hipify import translate
from kernelwright.port import PortOptions, RungStatus, port, port_with
from kernelwright.port.emulated import RunOptions, emulates
from kernelwright.port.programs import Program, plain_name

pytestmark = pytest.mark.skipif(
    machine.emulation_missing() is not None, reason=str(machine.emulation_missing())
)
KERNEL = """#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
__global__ void k(int* p, int n) { p[threadIdx.x] = threadIdx.x * n; }
"""
RUN = """int h[32] = {}, *d;
  cudaMalloc(&d, sizeof h);
  k<<<1, 32>>>(d, %s);
  cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
"""


def run(path, name="a.cu", **running):
    report = port_with(path, PortOptions(rungs=(2,), running=RunOptions(**running)))
    return {file.path: file for file in report.files}[name].rungs[-1]


def program(n="3", rest='printf("%d\\n", h[2]);', head="int main() {"):
    return f"{KERNEL}{head}\n  {RUN % n}  {rest}\n}}\n"


def test_a_main_function_in_plain_c_is_linked_with_the_kernels(tmp_path):
    (tmp_path / "k.cu").write_text(
        f'{KERNEL}extern "C" void fill(int* to) {{\n  {RUN % 3}  for (int i : {{0, 1, 2}}) '
        "to[i] = h[i];\n}\n"
    )
    (tmp_path / "main.c").write_text(
        "#include <stdio.h>\nvoid fill(int *);\nint scale(int);\nint main() {\n  int h[3];\n"
        '  fill(h);\n  printf("%d\\n", scale(h[2]));\n  return 0;\n}\n'
    )
    (tmp_path / "scale.cpp").write_text('extern "C" int scale(int x) { return x * 2; }\n')
    (tmp_path / "unused.cpp").write_text("this is no C++\n")
    rung = run(tmp_path, "main.c")
    assert rung.status is RungStatus.PASSED, rung.details
    assert set(rung.units) == {"main.c", "k.hip", "scale.cpp"}
    assert rung.values == (("the output", 1),)


def test_a_rung_that_was_asked_for_and_never_climbed_is_not_done(tmp_path):
    (tmp_path / "k.cu").write_text(f"{KERNEL}void f() {{ cudaFree(0); }}\n")
    report = port(tmp_path, rungs=(0, 2))
    assert not report.is_done and report.unclimbed == (2,)
    (rung,) = [rung for rung in report.files[0].rungs if rung.name == "emulate"]
    assert rung.status is RungStatus.NOT_CHECKED
    assert (
        CliRunner().invoke(main, ["port", str(tmp_path / "k.cu"), "--rungs", "0,2"]).exit_code == 1
    )


def test_device_code_takes_the_side_of_the_device():
    text = """#include <cuda_runtime.h>
#include <cstdio>
__host__ __device__ int side() {
#ifdef __CUDA_ARCH__
  return 1;
#else
  return 2;
#endif
}
__global__ void k(int* o) {
  __shared__ int s[64];
  s[threadIdx.x] = threadIdx.x;
#ifdef __CUDA_ARCH__
  if (o[64]) o[threadIdx.x] = s[threadIdx.x ^ 33];
#endif
  __syncthreads();
  o[threadIdx.x] = s[threadIdx.x] + side();
}
int main() {
  int h[65] = {}, *d;
  h[64] = RACES;
  cudaMalloc(&d, sizeof h);
  cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
  k<<<1, 64>>>(d);
  cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
  printf("%d %d\\n", h[5], side());
}
"""
    for races, status in (("0", RungStatus.PASSED), ("1", RungStatus.AS_ORIGINAL)):
        original = text.replace("RACES", races)
        rung = emulates(Program.of(original), Program.of(translate(original).text))
        assert rung.status is status, rung.details
    assert any("race" in detail and "as in the original" in detail for detail in rung.details)


def test_files_that_a_program_writes_are_compared(tmp_path):
    rest = """FILE* f = fopen("result.txt", "w");
  for (int v : h) fprintf(f, "%d\\n", v);
  fclose(f);
  puts("stored");"""
    (tmp_path / "a.cu").write_text(program(rest=rest))
    rung = run(tmp_path)
    assert rung.status is RungStatus.PASSED
    assert rung.values == (("result.txt", 31),)  # the first value is 0 without the kernel as well
    original = program(rest=rest)
    wrong = translate(original).text.replace("threadIdx.x * n", "threadIdx.x + n")
    rung = emulates(Program.of(original), Program.of(wrong))
    assert rung.status is RungStatus.FAILED and "in result.txt: " in rung.details[0]


def test_a_program_that_leaves_nothing_of_its_kernels_is_compared_by_its_copies():
    original = program(rest='printf("%d threads, done\\n", 32);')
    ported = translate(original).text
    rung = emulates(Program.of(original), Program.of(ported))
    assert rung.status is RungStatus.PASSED and rung.values == (("copies from the device", 32),)
    rung = emulates(Program.of(original), Program.of(ported.replace("* n", "+ n")))
    assert "copies from the device: other values in 32 of 32 words" in rung.details[0]


TIMED = """#include <cstdio>
__global__ void k(int* p) { %s }
int main() {
  int* d;
  cudaMalloc(&d, 64 * sizeof(int));
  cudaMemset(d, 0, 64 * sizeof(int));
  k<<<1, 64>>>(d);
  puts("done");
}
"""
"""A program that only says how long its kernel takes, as benchmarks do."""


def test_a_program_that_copies_nothing_either_is_compared_by_what_it_leaves_on_the_device():
    original = TIMED % "p[threadIdx.x] = threadIdx.x;"
    ported = translate(original).text
    rung = emulates(Program.of(original), Program.of(ported))
    assert rung.status is RungStatus.PASSED and rung.values == (("the device's memory", 63),)
    rung = emulates(Program.of(original), Program.of(ported.replace("= threadIdx.x", "= 65")))
    assert "the device's memory: other values in 64 of 64 words" in rung.details[0]


@pytest.mark.parametrize(
    "body", ["", "if (threadIdx.x < 9) p[atomicAdd(p + 63, 1)] = threadIdx.x;"]
)
def test_a_program_with_nothing_to_compare_is_not_passed(body):
    original = TIMED % body
    rung = emulates(Program.of(original), Program.of(translate(original).text))
    assert rung.status is RungStatus.RAN and rung.values == ()


def test_exit_codes_are_compared():
    original = program(rest='printf("%d\\n", h[2]);\n  return h[1];')
    ported = translate(original).text
    assert emulates(Program.of(original), Program.of(ported)).status is RungStatus.PASSED
    rung = emulates(Program.of(original), Program.of(ported.replace("return h[1]", "return 0")))
    assert "exits with 0; the original exits with 3" in rung.details[0]


def test_arguments_input_and_the_folder_of_a_program_are_given_to_it(tmp_path):
    rest = """int more = 0, last = 0;
  FILE* f = fopen("../data/n.txt", "r");
  if (!f || fscanf(f, "%d", &more) != 1 || scanf("%d", &last) != 1) return 1;
  printf("%d\\n", h[1] + more + last);"""
    head = "int main(int argc, char** argv) {"
    (tmp_path / "data").mkdir()
    (tmp_path / "data/n.txt").write_text("100\n")
    (tmp_path / "p").mkdir()
    (tmp_path / "p/a.cu").write_text(program("atoi(argv[1])", rest, head))
    rung = run(tmp_path, "p/a.cu", arguments=("7",), stdin=b"1000\n")
    assert rung.status is RungStatus.PASSED, rung.details
    rung = run(tmp_path / "p", arguments=("7",), stdin=b"1000\n", folder=tmp_path / "data")
    assert rung.status is RungStatus.PASSED, rung.details


def test_a_lock_that_every_lane_takes_hangs_on_a_wave():
    text = """#include <cuda_runtime.h>
#include <cstdio>
__global__ void k(int* lock, int* n) {
  while (atomicCAS(lock, 0, 1) != 0) {}
  *(volatile int*)n = *(volatile int*)n + 1;
  __threadfence();
  atomicExch(lock, 0);
}
int main() {
  int *d, h = 0;
  cudaMalloc(&d, 8);
  cudaMemset(d, 0, 8);
  k<<<1, LANES>>>(d, d + 1);
  cudaMemcpy(&h, d + 1, 4, cudaMemcpyDeviceToHost);
  printf("%d\\n", h);
}
"""
    alone, all_ = text.replace("LANES", "1"), text.replace("LANES", "32")
    assert (
        emulates(Program.of(alone), Program.of(translate(alone).text)).status is RungStatus.PASSED
    )
    rung = emulates(Program.of(all_), Program.of(translate(all_).text))
    assert rung.status is RungStatus.FAILED
    assert any("hangs: no thread makes progress" in detail for detail in rung.details)


def test_a_crash_is_told_in_words_with_what_the_emulation_saw():
    text = program(rest='fprintf(stderr, "about to fail\\n");\n  abort();')
    rung = emulates(Program.of(text), Program.of(translate(text).text))
    assert rung.status is RungStatus.NOT_CHECKED
    assert 'is ended by SIGABRT (Aborted), and says: "about to fail"' in rung.details[0]
    text = text.replace("p[threadIdx.x] =", "p[threadIdx.x + 100000000] =")
    rung = emulates(Program.of(text), Program.of(translate(text).text))
    assert "SIGSEGV" in rung.details[0] and "out-of-bounds at program:4" in rung.details[0]


def test_older_names_null_arguments_and_spaced_launches_run(tmp_path):
    text = """#include <cstdio>
#include <cuda.h>
void check(cudaError e) { if (e != cudaSuccess) printf("bad\\n"); }
template <bool B> __global__ void k(int* o, const int* in, int n) {
  __nanosleep(100);
  o[threadIdx.x] = in ? in[0] : n + B;
}
int main() {
  int *d, h[4];
  cudaMalloc(&d, sizeof h);
  k<true> << < 1, 4 >> > (d, NULL, 7);
  check(cudaThreadSynchronize());
  cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
  printf("%d\\n", h[3]);
}
"""
    (tmp_path / "a.cu").write_text(text)
    assert run(tmp_path).status is RungStatus.PASSED


def test_times_and_seeds_are_the_same_in_every_run():
    text = """#include <chrono>
#include <cstdio>
#include <ctime>
#include <sys/resource.h>
#include <sys/time.h>
__global__ void k(int* p) { *p = 7; }
int main() {
  int *d, h;
  timeval now;
  gettimeofday(&now, nullptr);
  rusage used;
  getrusage(RUSAGE_SELF, &used);
  srand(time(nullptr));
  auto at = std::chrono::steady_clock::now().time_since_epoch().count();
  cudaMalloc(&d, 4);
  k<<<1, 1>>>(d);
  cudaMemcpy(&h, d, 4, cudaMemcpyDeviceToHost);
  printf("%d %d %ld %lld %ld\\n", h, rand(), (long)now.tv_usec, (long long)at, (long)clock());
  printf("%ld of memory, %ld\\n", used.ru_maxrss, (long)used.ru_utime.tv_usec);
}
"""
    rung = emulates(Program.of(text), Program.of(translate(text).text))
    assert rung.status is RungStatus.PASSED and rung.values == (("the output", 1),)


def test_a_run_that_is_stopped_leaves_the_report_of_what_was_done(tmp_path, monkeypatch):
    (tmp_path / "p").mkdir()
    for name in ("a.cu", "b.cu"):
        (tmp_path / "p" / name).write_text(program())

    def stop(*_given):
        raise KeyboardInterrupt

    monkeypatch.setattr("kernelwright.port.project.emulates", stop)
    with pytest.raises(KeyboardInterrupt):
        port(tmp_path / "p", rungs=(0, 2), out=tmp_path / "out")
    report = json.loads((tmp_path / "out/port.json").read_text())
    assert report["whole"] is False and report["done"] is False
    assert set(report["digests"]) == {"a.hip", "b.hip"}
    monkeypatch.undo()
    assert port(tmp_path / "p", rungs=(0, 2), out=tmp_path / "out").is_done


def test_the_last_name_of_a_mangled_symbol_is_found():
    assert plain_name("_ZN4some5outer8host_refEi") == "host_ref"
    assert plain_name("_Z8host_refi") == "host_ref"
    assert plain_name("host_ref") == "host_ref"


SHIFT = """#include <cstdio>
__global__ void k(unsigned* x) { *x = *x << (32 - threadIdx.x); }
int main() {
  unsigned h = 5, *d;
  cudaMalloc(&d, 4);
  cudaMemcpy(d, &h, 4, cudaMemcpyHostToDevice);
  k<<<1, 1>>>(d);
  cudaMemcpy(&h, d, 4, cudaMemcpyDeviceToHost);
  printf("%u\\n", h);
}
"""


def test_a_shift_by_all_bits_which_amd_computes_otherwise_is_a_fault_of_the_port():
    rung = emulates(Program.of(SHIFT), Program.of(translate(SHIFT).text))
    assert rung.status is RungStatus.FAILED
    assert "shift at program" in rung.details[0] and "as in" not in rung.details[0]


RACY = """#include <cstdio>
__global__ void k(float* x) { x[(threadIdx.x + 1) % 4] = x[threadIdx.x]; }
int main() {
  float h[4] = {1, 2, 3, 4}, *d;
  cudaMalloc(&d, sizeof h);
  cudaMemcpy(d, h, sizeof h, cudaMemcpyHostToDevice);
  k<<<1, 4>>>(d);
  cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
  printf("%g\\n", h[3]);
}
"""


def test_faults_that_the_original_has_as_well_are_a_status_of_their_own():
    rung = emulates(Program.of(RACY), Program.of(translate(RACY).text))
    assert rung.status is RungStatus.AS_ORIGINAL, rung.details
    assert all(said.endswith("as in the original") for said in rung.details)
    assert any("prints something else" in said for said in rung.details)
    good = RACY.replace("x[(threadIdx.x + 1) % 4] = x", "x[threadIdx.x] += x")
    port = Program.of(translate(RACY).text)
    assert emulates(Program.of(good), port).status is RungStatus.FAILED


def test_the_suffix_of_a_file_that_a_program_prints_is_no_difference(tmp_path):
    (tmp_path / "a.cu").write_text(program(rest='printf("%s %d\\n", __FILE__, h[2]);'))
    assert run(tmp_path).status is RungStatus.PASSED
