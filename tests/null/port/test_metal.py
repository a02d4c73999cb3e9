"""What Metal lacks is reported with its line, and the rest of the file is ported."""

from __future__ import annotations

import pytest

from kernelwright.core.candidate import Brief, Candidate, Proposal
from kernelwright.core.device import Device
from kernelwright.core.task import Task
from kernelwright.hipify.metal import metal_of_cuda, metal_of_python
from kernelwright.proposers.port import PortProposer

KERNEL = "__global__ void k(float* y, int n) {{\n  {body}\n}}\n"
HOST = "torch::Tensor f(torch::Tensor x) {{\n  {body}\n}}\n"


@pytest.mark.parametrize(
    ("body", "construct"),
    [
        ("double d = 1; y[0] = d;", "double"),
        ('printf("%d", n);', "printf"),
        ('asm("mov.u32 %0, 1;" : "=r"(n));', "asm"),
        ("auto g = cg::this_grid(); g.sync();", "cg::"),
        ("typedef cub::BlockReduce<float, 64> R;", "cub::"),
        ("y[0] = clock64();", "clock64"),
        ("__threadfence();", "__threadfence"),
        ("y[0] = __shfl_down_sync(0xff, y[0], 1);", "__shfl_down_sync(0xff, …)"),
        ("y[0] = __shfl_down_sync(0xffffffff, y[0], 1, 8);", "__shfl_down_sync with width 8"),
        ("__shared__ float s[4]; atomicAdd(&s[n], 1.0f);", "atomicAdd on float"),
        ("y[0] = __match_any_sync(0xffffffff, n);", "__match_any_sync"),
        ("k<<<1, 1>>>(y, n);", "<<<"),
    ],
)
def test_kernels(body: str, construct: str) -> None:
    left = metal_of_cuda(KERNEL.format(body=body), file="k.cu").unported
    assert construct in {finding.construct for finding in left}
    assert all(finding.line == 2 and finding.reason and finding.advice for finding in left)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("k<<<1, 1>>>(nullptr, 3); return x;", "null pointer"),
        ("k<<<1, 1>>>(x.packed_accessor32<float, 1>(), 3); return x;", "accessors"),
        ("switch (x.dim()) { case 1: return x; } return x;", "switch statement"),
        ("return somewhere(x);", "do not know this function"),
        ("other<<<1, 1>>>(x.data_ptr<float>()); return x;", "not in this file"),
    ],
)
def test_host_functions(body: str, reason: str) -> None:
    done = metal_of_cuda(KERNEL.format(body="y[0] = n;") + HOST.format(body=body))
    (left,) = done.unported
    assert reason in left.reason and left.line == 5
    assert "raise NotImplementedError" in done.text and "kernel void k" in done.text


def test_programs_of_the_runtime_are_left_to_the_user() -> None:
    text = KERNEL.format(body="y[0] = n;") + "int main() { k<<<1, 1>>>(nullptr, 1); }\n"
    (left,) = metal_of_cuda(text).unported
    assert left.construct == "main" and left.line == 4


def test_comments_and_used_types_stay_and_unused_host_text_goes() -> None:
    text = (
        "#include <torch/extension.h>\n// Two numbers.\nstruct Pair { float a, b; };\n"
        "struct Unused { torch::Tensor t; };\n"
        "// Adds them.\n__device__ float sum(Pair p) { return p.a + p.b; }\n"
        "__global__ void k(float* y) { Pair p = {1, 2}; y[0] = sum(p); }\n"
    )
    made = metal_of_cuda(text).text
    assert "// Two numbers.\nstruct Pair" in made and "// Adds them.\n" in made
    assert "Unused" not in made and "extension.h" not in made


def test_names_that_msl_takes_are_changed() -> None:
    text = (
        "__device__ float clamp(float v, float a, float b) { return min(max(v, a), b); }\n"
        "__global__ void k(float* kernel, int n) { kernel[n] = clamp(kernel[n], 0.f, 1.f); }\n"
    )
    made = metal_of_cuda(text).text
    assert "float clamp_(" in made and "device float* kernel_ [[buffer(0)]]" in made
    assert "kernel_[n] = clamp_(kernel_[n], 0.f, 1.f);" in made


def test_parameters_that_a_kernel_changes_are_copied() -> None:
    made = metal_of_cuda("__global__ void k(int* y, int n) { n += 1; y[0] = n; }\n").text
    assert "constant int& n_given [[buffer(1)]]" in made and "int n = n_given;" in made


def test_sources_that_are_no_strings_are_reported() -> None:
    text = "import x\nm = load_inline(name='m', cpp_sources='', cuda_sources=x.read())\n"
    done = metal_of_python(text)
    (left,) = done.unported
    assert left.line == 2 and done.text == text


def test_the_proposer_ports_what_the_archive_has() -> None:
    cuda = KERNEL.format(body="y[0] = n;") + HOST.format(
        body="k<<<1, 1>>>(x.data_ptr<float>(), 3); return x;"
    )
    source = f'm = load_inline(name="m", cpp_sources="", cuda_sources=r"""{cuda}""")\n'
    own = Proposal(Candidate(source, "cuda"), "swarm")
    brief = Brief(
        Task("t", "kernelbench", ""), Device.parse("metal"), ("metal",), elsewhere=((own, None),)
    )
    (found,) = PortProposer().propose(brief)
    assert found.candidate.dialect == "metal" and found.parent == own.candidate.digest
    assert "launch(Extension.LIBRARY.k, 1, 1, x, 3, arg_casts={1: 'int32'})" in (
        found.candidate.source
    )
