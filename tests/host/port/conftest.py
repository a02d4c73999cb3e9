"""Device code on this CPU, and compiled for AMD GPUs: both need clang, some the Triton wheel."""

import pytest

pytest.importorskip("tree_sitter_cuda")
from kernelwright.dialects.amdgpu import compile_missing
from kernelwright.dialects.simt import machine

needs_amd = pytest.mark.skipif(compile_missing() is not None, reason=str(compile_missing()))


def pytest_collection_modifyitems(items):
    missing = machine.emulation_missing()
    for item in items:
        # what runs on a GPU needs no emulation
        if missing and "host/port" in str(item.path) and item.path.name != "test_hardware.py":
            item.add_marker(pytest.mark.skip(reason=missing))


@pytest.fixture
def emulate(tmp_path):
    """A function that builds a kernel with a main around it and runs it."""

    def run(kernel: str, main: str, *, hip: bool = False, **options) -> machine.EmulatedRun:
        api = "hip" if hip else "cuda"
        header = "hip/hip_runtime.h" if hip else "cuda_runtime.h"
        text = f"#include <cstdio>\n#include <{header}>\n{kernel}\nint main() {{\n{main}\n}}\n"
        program = machine.build(text.replace("api", api), folder=tmp_path)
        return machine.run(program, **options)

    return run
