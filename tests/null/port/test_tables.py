"""The API map: complete rows, no contradictions, and the libraries that a user expects."""

import csv

import pytest

from kernelwright.hipify import translate
from kernelwright.hipify.table import TABLES, load_map

COLUMNS = ["cuda", "hip", "kind", "since", "state", "note", "source"]


@pytest.mark.parametrize("path", sorted(TABLES.glob("*.csv")), ids=lambda path: path.stem)
def test_every_row_says_its_state_and_source(path):
    with path.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert list(rows[0]) == COLUMNS
    names = [row["cuda"] for row in rows]
    assert len(set(names)) == len(names)
    for row in rows:
        assert row["cuda"] and row["state"] and row["source"], row
        assert bool(row["hip"]) or row["state"] == "no counterpart", row


@pytest.mark.parametrize(
    ("cuda", "hip"),
    [
        ("cudaMalloc", "hipMalloc"),
        ("cudaDeviceProp", "hipDeviceProp_t"),
        ("cudaGraphLaunch", "hipGraphLaunch"),
        ("cuLaunchKernel", "hipModuleLaunchKernel"),
        ("cublasSgemm", "hipblasSgemm"),
        ("cublasCgemm", "hipblasCgemm"),
        ("cublasZgemm_v2_64", "hipblasZgemm_64"),
        ("cublasGemmEx", "hipblasGemmEx"),
        ("cusparseSpMV", "hipsparseSpMV"),
        ("cufftExecC2C", "hipfftExecC2C"),
        ("curand_init", "hiprand_init"),
        ("cusolverDnDgetrf", "hipsolverDnDgetrf"),
        ("cudnnCreate", "miopenCreate"),
        ("ncclAllReduce", "ncclAllReduce"),
        ("nvrtcCompileProgram", "hiprtcCompileProgram"),
        ("cuFloatComplex", "hipFloatComplex"),
        ("__nv_bfloat16", "__hip_bfloat16"),
        ("__nv_fp8_e4m3", "__hip_fp8_e4m3"),
        ("cudaTextureObject_t", "hipTextureObject_t"),
    ],
)
def test_names_of_every_library_are_mapped(cuda, hip):
    row = load_map("hip").names[cuda]
    assert row.is_mapped
    assert row.hip == hip


def test_the_way_back_maps_to_the_runtime_before_the_driver():
    assert load_map("cuda").names["hipMalloc"].hip == "cudaMalloc"
    assert load_map("cuda").headers["hip/hip_runtime.h"].hip == "cuda_runtime.h"


def test_blas_names_of_rocm_6_and_7_both_have_a_way_back():
    names = load_map("cuda").names
    assert names["hipblasGemmEx"].hip == names["hipblasGemmEx_v2"].hip == "cublasGemmEx"
    assert names["hipblasCgemm_64"].hip == names["hipblasCgemm_v2_64"].hip == "cublasCgemm_64"


def test_names_of_pytorch_are_left_to_its_own_builder_and_have_a_way_back():
    """On ROCm its classes are in at::cuda and c10::cuda as well; names of HIP are of older ones."""
    text = "#include <c10/cuda/CUDAStream.h>\nauto s = at::cuda::getCurrentCUDAStream();\n"
    assert translate(text, implicit=False).text == text
    back = translate(text.replace("CUDA", "HIP").replace("c10/cuda", "c10/hip"), to="cuda")
    assert "c10/cuda/CUDAStream.h" in back.text and "getCurrentCUDAStream()" in back.text
