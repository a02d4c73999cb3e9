"""Rungs 3 and 4: runs on a GPU, and messages if there is none."""

import shutil

import pytest
from tests.host.port.test_port import GOOD

from kernelwright.dialects import amdgpu, nvidia
from kernelwright.hipify import translate
from kernelwright.port import RungStatus, port
from kernelwright.port.hardware import HardwareRun, runs_on_amd, runs_on_nvidia
from kernelwright.port.ladder import DeviceUnit
from kernelwright.port.layer import layer

needs_nvcc = pytest.mark.skipif(nvidia.nvcc_missing() is not None, reason="no nvcc")
has_gpu = nvidia.nvcc_missing() is None and nvidia.gpu_missing() is None
has_amd = amdgpu.gpu_missing() is None and shutil.which("hipcc") is not None


@pytest.fixture
def climb(tmp_path):
    def run(original, ported):
        before, after = tmp_path / "a.cu", tmp_path / "a.hip"
        before.write_text(original)
        after.write_text(ported)
        return runs_on_nvidia(HardwareRun((DeviceUnit(before),), (DeviceUnit(after),)))

    return run


def test_the_layer_has_headers_and_names_of_hip_alone():
    names = (layer() / "hip/names.h").read_text().splitlines()
    assert "#define hipMemcpy cudaMemcpy" in names
    assert "#define hipblasSgemm cublasSgemm" in names
    defined = [line.split()[1].lstrip("_").lower() for line in names if line.startswith("#def")]
    assert all(name.startswith(("hip", "roc", "miopen", "make_hip")) for name in defined)
    assert "<cooperative_groups.h>" in (layer() / "hip/hip_cooperative_groups.h").read_text()
    assert "namespace hipcub = cub" in (layer() / "hipcub/hipcub.hpp").read_text()


@needs_nvcc
def test_a_port_is_built_by_nvcc_and_run_where_there_is_a_gpu(climb):
    rung = climb(GOOD, translate(GOOD).text)
    if has_gpu:
        assert rung.status is RungStatus.PASSED, rung.details
    else:
        assert rung.status is RungStatus.NOT_CHECKED
        assert "the port compiles through the header layer" in rung.details[0]


@needs_nvcc
def test_cooperative_groups_and_half_pass_through_the_layer(climb):
    text = """#include <cuda_fp16.h>
    #include <cooperative_groups.h>
    namespace cg = cooperative_groups;
    __global__ void k(__half* p) {
      auto tile = cg::tiled_partition<32>(cg::this_thread_block());
      p[0] = __hadd(p[0], __float2half(tile.shfl(1.0f, 0)));
      if (__any_sync(0xffffffffu, threadIdx.x == 3)) p[1] = p[0];
    }
    int main() { __half* p; cudaMalloc(&p, 64); k<<<1, 32>>>(p); return cudaDeviceSynchronize(); }
    """
    rung = climb(text, translate(text).text)
    assert rung.status is not RungStatus.FAILED, rung.details


@needs_nvcc
def test_a_port_that_does_not_compile_fails(climb):
    rung = climb(GOOD, translate(GOOD).text.replace("hipMallocManaged", "hipMallocNothing"))
    assert rung.status is RungStatus.FAILED
    assert "hipMallocNothing" in rung.details[0]


@needs_nvcc
@pytest.mark.skipif(not has_gpu, reason="no NVIDIA GPU")
def test_a_port_that_prints_something_else_fails(climb):
    rung = climb(GOOD, translate(GOOD).text.replace("threadIdx.x % 32", "threadIdx.x % 64"))
    assert rung.status is RungStatus.FAILED
    assert "prints something else" in rung.details[0]


@pytest.mark.skipif(has_amd, reason="an AMD GPU is here")
def test_without_an_amd_gpu_the_rung_is_not_checked(tmp_path):
    units = (DeviceUnit(tmp_path / "a.cu"),), (DeviceUnit(tmp_path / "a.hip"),)
    rung = runs_on_amd(HardwareRun(*units))
    assert rung.status is RungStatus.NOT_CHECKED
    assert "AMD GPU" in rung.details[0] or "hipcc" in rung.details[0]


def test_a_file_without_a_main_function_is_not_run(tmp_path):
    (tmp_path / "a.cu").write_text("__global__ void k() {}\n")
    rungs = port(tmp_path / "a.cu", rungs=(3,)).files[0].rungs
    assert rungs[0].status is RungStatus.NOT_CHECKED and "main" in rungs[0].details[0]
