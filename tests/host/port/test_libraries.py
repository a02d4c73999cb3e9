"""Libraries that are not installed: those that the emulation implements, and those only
declared."""

from pathlib import Path

import pytest
from tests.host.port.conftest import needs_amd

from kernelwright.bench.port_bench import chosen, evaluate
from kernelwright.dialects.simt import machine
from kernelwright.hipify import translate
from kernelwright.port import RungStatus, port

HERE = Path(__file__).parent
DECLARED = {
    "hipsolver": (
        "#include <cusolverDn.h>",
        "cusolverDnHandle_t h; cusolverDnCreate(&h); float* a = 0; int n;"
        "cusolverDnSpotrf_bufferSize(h, CUBLAS_FILL_MODE_LOWER, 4, a, 4, &n);",
    ),
    "hipsparse": (
        "#include <cusparse.h>",
        "cusparseSpGEMMDescr_t d; cusparseSpGEMM_createDescr(&d);",
    ),
    "miopen": ("#include <cudnn.h>", "cudnnHandle_t h; cudnnCreate(&h);"),
    "nccl": (
        "#include <nccl.h>",
        "ncclComm_t c; float* a = 0; ncclAllReduce(a, a, 4, ncclFloat, ncclSum, c, 0);",
    ),
}
MANY = """#include <thrust/binary_search.h>
#include <thrust/device_vector.h>
#include <thrust/iterator/transform_iterator.h>
#include <thrust/partition.h>
#include <thrust/remove.h>
#include <thrust/scan.h>
#include <thrust/sort.h>
#include <thrust/unique.h>
#include <cstdio>
struct IsOdd { __device__ bool operator()(int v) const { return v % 2; } };
struct Twice { __device__ int operator()(int v) const { return 2 * v; } };
void print(const thrust::device_vector<int>& v, int n) {
  for (int i = 0; i < n; ++i) printf("%d ", v[i]);
}
int main() {
  const int given[] = {5, 3, 8, 3, 1, 5, 5, 2};
  thrust::device_vector<int> a(given, given + 8), b = a, c(8);
  thrust::sort(a.begin(), a.end(), thrust::greater<int>());
  print(a, 8);
  print(a, thrust::unique(a.begin(), a.end()) - a.begin());
  a = b;
  thrust::exclusive_scan(thrust::make_transform_iterator(a.begin(), Twice()),
                         thrust::make_transform_iterator(a.end(), Twice()), c.begin(), 100);
  print(c, 8);
  thrust::inclusive_scan(a.begin(), a.end(), a.begin(), thrust::maximum<int>());
  print(a, 8);
  print(b, thrust::remove_if(b.begin(), b.end(), IsOdd()) - b.begin());
  thrust::sort(a.begin(), a.end());
  printf("%d %d", (int)(thrust::lower_bound(a.begin(), a.end(), 8) - a.begin()),
         (int)thrust::binary_search(a.begin(), a.end(), 6));
}
"""


@needs_amd
@pytest.mark.parametrize("library", DECLARED)
def test_a_declared_library_is_compiled_and_not_run(library, tmp_path):
    header, calls = DECLARED[library]
    path = tmp_path / "a.cu"
    path.write_text(f"{header}\nint main() {{ {calls} }}\n")
    compiled, emulated = port(path, targets=("gfx942",), rungs=(1, 2)).files[0].rungs
    assert compiled.status is RungStatus.PASSED
    assert "stand-in" in compiled.details[0]
    assert emulated.status is RungStatus.NOT_CHECKED
    assert f"the emulation has no {library}" in emulated.details[0]


@needs_amd
def test_a_call_with_an_argument_too_few_fails(tmp_path):
    path = tmp_path / "a.cu"
    path.write_text(
        "#include <cufft.h>\nint main() { cufftHandle p; cufftPlan1d(&p, 8, CUFFT_C2C); }\n"
    )
    assert port(path, targets=("gfx942",), rungs=(1,)).files[0].rungs[0].status is RungStatus.FAILED


@needs_amd
def test_operators_given_to_thrust_are_compiled_for_the_device(tmp_path):
    path = tmp_path / "a.cu"
    path.write_text(MANY)
    (rung,) = port(path, targets=("gfx942",), rungs=(1,)).files[0].rungs
    assert rung.status is RungStatus.PASSED
    assert any("IsOdd" in kernel.kernel for _, kernel in rung.resources)
    path.write_text(MANY.replace("return v % 2", "return absent(v)"))
    (rung,) = port(path, targets=("gfx942",), rungs=(1,)).files[0].rungs
    assert rung.status is not RungStatus.PASSED


def test_thrusts_algorithms(tmp_path):
    for text in (MANY, translate(MANY).text):
        run = machine.run(machine.build(text, folder=tmp_path))
        assert " ".join(run.output.split()) == (
            "8 5 5 5 3 3 2 1 8 5 3 2 1 100 110 116 132 138 140 150 160 5 5 8 8 8 8 8 8 8 2 2 0"
        )


def test_kernels_may_use_the_memory_of_device_vectors_and_no_more(emulate):
    main = (
        "thrust::device_vector<int> v(32, 1); k<<<1, %d>>>(thrust::raw_pointer_cast(v.data()));"
        'cudaDeviceSynchronize(); printf("%%d", (int)v[31]);'
    )
    kernel = "#include <thrust/device_vector.h>\n__global__ void k(int* p) { p[threadIdx.x] += 4; }"
    run = emulate(kernel, main % 32)
    assert (run.output, run.complaints) == ("5", ())
    assert [c.kind for c in emulate(kernel, main % 64).complaints] == ["out-of-bounds"]


@pytest.mark.parametrize("program", chosen(["library_thrust_vectors"]), ids=lambda p: p.name)
def test_thrust_over_vectors_pointers_and_computed_iterators(program):
    outcome = evaluate(program, lambda p: translate(p.source).text, targets=())
    assert outcome.faults == ()


def test_complex_numbers(emulate):
    run = emulate(
        "#include <cuComplex.h>\n__global__ void k() { cuDoubleComplex z = "
        "cuCdiv(make_cuDoubleComplex(1, 2), make_cuDoubleComplex(3, 4));"
        'printf("%.2f %.2f", cuCreal(z), cuCimag(cuConj(z))); }',
        "k<<<1, 1>>>(); cudaDeviceSynchronize();",
    )
    assert run.output == "0.44 -0.08"


KINDS = """#include <cublas_v2.h>
#include <cuda_fp16.h>
#include <cstdio>
int main() {
  __half *a, *b; float* c; cublasHandle_t h; cublasCreate(&h);
  cudaMallocManaged(&a, 12); cudaMallocManaged(&b, 12); cudaMallocManaged(&c, 16);
  for (int i = 0; i < 6; ++i) a[i] = __float2half(i + 1), b[i] = __float2half(i % 2 ? -i : i);
  c[0] = c[1] = c[2] = c[3] = 100;
  const float two = 2, one = 1;  // a: 2 x 3, b: its transpose is 3 x 2
  auto said = cublasGemmEx(
      h, CUBLAS_OP_N, CUBLAS_OP_T, 2, 2, 3, &two, a, CUDA_R_16F, 2, b, CUDA_R_16F, 2, &one, c,
      CUDA_R_32F, 2, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  printf("%d %g %g %g %g\\n", int(said), c[0], c[1], c[2], c[3]);
  said = cublasGemmEx(
      h, CUBLAS_OP_N, CUBLAS_OP_T, 2, 2, 3, &two, a, CUDA_R_8I, 2, b, CUDA_R_8I, 2, &one, c,
      CUDA_R_32F, 2, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  printf("%d %g\\n", said == CUBLAS_STATUS_NOT_SUPPORTED, c[0]);
}
"""


def test_products_of_mixed_kinds(tmp_path):
    for text in (KINDS, translate(KINDS).text):
        assert machine.run(machine.build(text, folder=tmp_path)).output == (
            "0 152 164 30 12\n1 152\n"
        )


CALLS = {
    "cub_calls.cu": [
        "0 51 6100", "select 48 34 64", "scans 100007011 100085011 64", "runs 11 95 128",
        "scan 3 98 128", "squares 429692 429692 128", "histogram 32 32 128", "sorted 100 0 128",
    ],
    "sparse_calls.cu": [
        "product 20 32 68", "transposed 28 12 32", "solved 0.5 0.666667 0.2",
        "square 8 28 9 7 29", "columns 5: 3 4 6, 4 3 1",
    ],
    "fft_calls.cu": ["21.000 -3.500 4.598", "23.000 -5.732 2.268 4.000 2.000"],
}  # fmt: skip
"""Programs that call a library, and what they print, as numpy and Python compute it."""


@pytest.mark.parametrize("name", CALLS)
def test_calls_of_libraries_run_in_the_original_and_the_port(name, tmp_path):
    text = (HERE / name).read_text()
    for side, source in (("cuda", text), ("hip", translate(text).text)):
        built = machine.build(source, folder=tmp_path, name=side)
        for width in machine.WIDTHS if side == "hip" else (32,):
            run = machine.run(built, width=width)
            assert (run.output.splitlines(), run.complaints) == (CALLS[name], ())


GROUPS = """
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <curand_kernel.h>
namespace cg = cooperative_groups;
__global__ void k(int* out) {
  auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  const int rank = threadIdx.x;
  out[rank] = cg::inclusive_scan(tile, rank, cg::plus<int>());
  out[64 + rank] = cg::exclusive_scan(tile, rank, cg::plus<int>());
  if (rank < 13) out[128 + rank] = cg::reduce(cg::coalesced_threads(), rank, cg::plus<int>());
  curandState state;
  curand_init(7, rank, 0, &state);
  unsigned sum = 0;
  for (int i = 0; i < 256; ++i) sum += curand_poisson(&state, 4.0);
  if (rank == 0) out[200] = sum > 896 && sum < 1152;  // 1024 is expected, within four deviations
}
"""


def test_scans_and_reductions_of_groups(emulate):
    main = """int h[256] = {}, *d;
  cudaMalloc(&d, sizeof h);
  k<<<1, 64>>>(d);
  cudaMemcpy(h, d, sizeof h, cudaMemcpyDeviceToHost);
  printf("%d %d %d %d %d", h[7], h[12], h[64 + 12], h[128], h[200]);"""
    run = emulate(GROUPS, main)
    assert (run.output, run.complaints) == ("28 50 38 78 1", ())
