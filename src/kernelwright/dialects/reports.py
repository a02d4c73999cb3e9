"""Reports of compilers on a candidate's kernels, collected in the child that holds them.

Registers, spills and shared memory of Triton's and NVRTC's kernels; for C++ the loops that the
compiler vectorised or not. They decide nothing: they are shown to the author of the next candidate.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

Facts = dict[str, float | str]

CPP_FLAGS = ("-O3", "-march=native", "-std=c++17", "-fopenmp", "-fPIC", "-x", "c++")
REMARKS = ("-fopt-info-vec-optimized", "-fopt-info-vec-missed", "-fopt-info-loop-optimized")
COMPILE_LIMIT_S = 20.0
N_REMARKS = 12
_REMARK = re.compile(r"^<stdin>:(\d+):\d+: (?:optimized|missed): +(.*)$")
_TELLING = ("loop vectorized", "couldn't vectorize loop", "not vectorized", "unrolled", "split")
REGISTERS, LOCAL_BYTES, SHARED_BYTES = 4, 3, 1  # CU_FUNC_ATTRIBUTE_*, cuda.h
LAUNCH = {  # names in Kineto's traces, libkineto/src/output_json.cpp: ours
    "grid": "grid",
    "block": "block",
    "registers per thread": "registers a thread",
    "shared memory": "shared memory, bytes",
    "blocks per SM": "blocks a multiprocessor",
    "est. achieved occupancy %": "occupancy, %",
}


def compiled(namespace: Mapping[str, Any]) -> dict[str, Facts]:
    """The compiler's report on each kernel that a module holds at its top level."""
    found: dict[str, Facts] = {}
    for name, value in namespace.items():
        kind = type(value).__name__
        if kind == "JITFunction":
            found |= dict(_triton(name, value))
        elif kind == "_CudaKernel":
            found[name] = _nvrtc(value)
        elif isinstance(value, str) and 'extern "C"' in value and "__global__" not in value:
            found[name] = {f"compiler, line {n}": said for n, said in _cpp(value)}
    return {name: facts for name, facts in found.items() if facts}


def launches(record: Any) -> list[tuple[str, float, Facts]]:
    """(kernel, nanoseconds, facts) of every launch that torch's profiler recorded on a GPU."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "trace.json")
        record.export_chrome_trace(path)
        events = json.loads(Path(path).read_text())["traceEvents"]
    return [
        (
            event["name"],
            event["dur"] * 1e3,
            {LAUNCH[key]: _plain(v) for key, v in event["args"].items() if key in LAUNCH},
        )
        for event in events
        if event.get("cat") == "kernel"
    ]


def _plain(value: Any) -> float | str:
    return " × ".join(map(str, value)) if isinstance(value, list) else value


def _triton(name: str, function: Any) -> Iterator[tuple[str, Facts]]:
    """Source: triton/runtime/jit.py (device_caches), triton/compiler/compiler.py."""
    for caches in function.device_caches.values():
        for number, kernel in enumerate(caches[0].values()):
            facts: Facts = {
                "registers a thread": kernel.n_regs,
                "spilled registers": kernel.n_spills,
            }
            facts |= {
                "shared memory, bytes": kernel.metadata.shared,
                "warps a block": kernel.metadata.num_warps,
                "pipeline stages": kernel.metadata.num_stages,
            }
            yield f"{name}" + (f", variant {number + 1}" if number else ""), facts


def _nvrtc(kernel: Any) -> Facts:
    driver = ctypes.CDLL("libcuda.so.1")

    def attribute(number: int) -> int:
        value = ctypes.c_int()
        driver.cuFuncGetAttribute(ctypes.byref(value), number, kernel.func)
        return value.value

    return {
        "registers a thread": attribute(REGISTERS),
        "local memory a thread (spills), bytes": attribute(LOCAL_BYTES),
        "shared memory, bytes": attribute(SHARED_BYTES),
    }


def _cpp(source: str) -> list[tuple[int, str]]:
    """(line, remark) for each loop: that it was vectorised, or why it was not."""
    command = [os.environ.get("CXX", "g++"), *CPP_FLAGS, *REMARKS, "-c", "-o", os.devnull, "-"]
    done = subprocess.run(
        command, input=source, text=True, capture_output=True, timeout=COMPILE_LIMIT_S
    )
    said: dict[int, list[str]] = {}
    for match in filter(None, map(_REMARK.match, done.stderr.splitlines())):
        line, remark = int(match[1]), match[2]
        about = said.setdefault(line, [])
        if remark not in about and any(word in remark for word in _TELLING):
            about.append(remark)
    return [(line, "; ".join(about[:2])) for line, about in said.items() if about][:N_REMARKS]
