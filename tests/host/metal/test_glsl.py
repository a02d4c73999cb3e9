"""Programs in GLSL, cross-compiled to MSL by SPIRV-Cross, agree with a Vulkan driver of the CPU.

SPIRV-Cross is a writer of MSL that knows nothing of kernelwright. Needs glslangValidator and
spirv-cross, and Mesa's lavapipe with the package wgpu.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import numpy
import pytest
import torch

from kernelwright.dialects.compile_shader import compile_shader
from kernelwright.dialects.simt.metal import msl_missing

TOOLS = {"glslangValidator": "glslang-tools", "spirv-cross": "spirv-cross"}
"""Programs, and Debian's packages that hold them."""


def missing() -> str:
    """What this machine lacks for the comparison; empty if nothing."""
    if said := msl_missing():
        return said
    for tool, package in TOOLS.items():
        if shutil.which(tool) is None:
            return f"no {tool}; install the package {package}"
    if not list(Path("/usr/share/vulkan/icd.d").glob("lvp_icd*.json")):
        return "no lavapipe; install the package mesa-vulkan-drivers"
    try:
        import wgpu  # noqa: F401
    except ImportError:
        return "no wgpu; run: pip install wgpu"
    return ""


pytestmark = pytest.mark.skipif(bool(missing()), reason=missing())


class Program(NamedTuple):
    """A compute shader that reads buffer 0 and writes buffer 1."""

    body: str
    local: tuple[int, int]
    groups: tuple[int, int]
    n_results: int
    before: str = ""
    kind: str = "float"


TREE = """
  uint t = gl_LocalInvocationID.x;
  part[t] = x[gl_GlobalInvocationID.x];
  barrier();
  for (uint s = 32u; s > 0u; s >>= 1) { if (t < s) part[t] += part[t + s]; barrier(); }
  if (t == 0u) y[gl_WorkGroupID.x] = part[0];
"""
TRANSPOSED = """
  uvec2 t = gl_LocalInvocationID.xy, at = gl_GlobalInvocationID.xy;
  tile[t.y][t.x] = x[at.y * 16u + at.x];
  barrier();
  uvec2 to = gl_WorkGroupID.yx * 8u + t;
  y[to.y * 16u + to.x] = tile[t.x][t.y];
"""
PRODUCT = """
  uint r = gl_GlobalInvocationID.y, c = gl_GlobalInvocationID.x;
  float sum = 0.0;
  for (uint k = 0u; k < 16u; ++k) sum = fma(x[r * 16u + k], x[k * 16u + c], sum);
  y[r * 16u + c] = sum;
"""
VECTORS = """
  uint i = gl_GlobalInvocationID.x;
  vec4 a = vec4(x[i], x[i + 1u], x[i + 2u], x[i + 3u]);
  mat2 m = mat2(a.xy, a.zw);
  vec2 v = m * a.wx + transpose(m)[1];
  vec3 n = normalize(cross(a.xyz, a.wzy));
  y[i] = dot(v, vec2(0.5, 0.25)) + length(n) + mix(a.x, a.y, 0.3) + clamp(a.z, 0.2, 0.6);
"""
MATH = """
  uint i = gl_GlobalInvocationID.x;
  float v = x[i] * 4.0 - 2.0;
  y[i] = exp(v) + sin(v) * cos(v) + sqrt(abs(v)) + pow(abs(v) + 0.1, 1.5) + fract(v) + floor(v)
    + sign(v) + smoothstep(-1.0, 1.0, v) + step(0.5, v) + atan(v, 2.0) + inversesqrt(abs(v) + 1.0)
    + mod(v, 0.75) + tanh(v) + log2(abs(v) + 1.0);
"""
BITS = """
  uint i = gl_GlobalInvocationID.x;
  uint v = x[i] * 2654435761u + i;
  y[i] = (v << 3 | v >> 29) ^ uint(bitCount(v)) ^ bitfieldReverse(v) ^ uint(findMSB(v))
    ^ bitfieldExtract(v, 5, 7) + uint(max(int(v), -5)) / 3u;
"""
COUNTS = """
  atomicAdd(y[x[gl_GlobalInvocationID.x] % 16u], 1u);
"""
SHARED_COUNTS = """
  uint t = gl_LocalInvocationID.x;
  if (t < 16u) part[t] = 0u;
  barrier();
  atomicAdd(part[x[gl_GlobalInvocationID.x] % 16u], t);
  barrier();
  if (t < 16u) atomicMax(y[t], part[t]);
"""
BRANCHES = """
  uint i = gl_GlobalInvocationID.x;
  float v = x[i], sum = 0.0;
  int n = int(v * 10.0);
  for (int k = 0; k < 12; ++k) {
    if (k == n) continue;
    if (k > n + 4) break;
    switch (k % 3) { case 0: sum += v; break; case 1: sum -= 0.5; default: sum *= 1.25; }
  }
  y[i] = i % 2u == 0u ? sum : twice(sum);
"""
PROGRAMS = {
    "tree": Program(TREE, (64, 1), (4, 1), 4, "shared float part[64];"),
    "transposed": Program(TRANSPOSED, (8, 8), (2, 2), 256, "shared float tile[8][8];"),
    "product": Program(PRODUCT, (16, 4), (1, 4), 256),
    "vectors": Program(VECTORS, (32, 1), (7, 1), 224),
    "math": Program(MATH, (32, 1), (8, 1), 256),
    "bits": Program(BITS, (64, 1), (4, 1), 256, kind="uint"),
    "counts": Program(COUNTS, (64, 1), (4, 1), 16, kind="uint"),
    "shared_counts": Program(
        SHARED_COUNTS, (64, 1), (4, 1), 16, "shared uint part[16];", kind="uint"
    ),
    "branches": Program(BRANCHES, (32, 1), (8, 1), 256, "float twice(float v) { return 2.0 * v; }"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_it_agrees_with_lavapipe(name: str, tmp_path: Path) -> None:
    from wgpu.utils.compute import compute_with_buffers

    program = PROGRAMS[name]
    kind, (width, height) = program.kind, program.local
    (tmp_path / "a.comp").write_text(
        f"#version 450\nlayout(local_size_x = {width}, local_size_y = {height}) in;\n"
        f"layout(std430, binding = 0) readonly buffer X {{ {kind} x[]; }};\n"
        f"layout(std430, binding = 1) buffer Y {{ {kind} y[]; }};\n"
        f"{program.before}\nvoid main() {{{program.body}}}\n"
    )
    for command in (
        ["glslangValidator", "-V", "a.comp", "-o", "a.spv"],
        [
            "spirv-cross",
            "--msl",
            "--msl-version",
            "30000",
            "--msl-decoration-binding",
            "a.spv",
            "--output",
            "a.metal",
        ],
    ):
        subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    draw = numpy.random.default_rng(7)
    x = draw.random(256, dtype="float32")
    if kind == "uint":
        x = draw.integers(0, 1000, 256).astype("uint32")
    format_ = "f" if kind == "float" else "I"
    found = compute_with_buffers(
        {0: x}, {1: (program.n_results, format_)}, (tmp_path / "a.spv").read_bytes(),
        n=(*program.groups, 1),
    )  # fmt: skip
    wanted = numpy.frombuffer(found[1], dtype=x.dtype)
    y = torch.zeros(program.n_results, dtype=torch.float32 if kind == "float" else torch.int32)
    threads = tuple(a * b for a, b in zip(program.local, program.groups, strict=True))
    kernel = compile_shader((tmp_path / "a.metal").read_text()).main0
    kernel(torch.from_numpy(x.view("int32") if kind == "uint" else x), y, threads=threads,
           group_size=program.local)  # fmt: skip
    if kind == "uint":
        assert (y.numpy().view("uint32") == wanted).all()
    else:
        numpy.testing.assert_allclose(y.numpy(), wanted, rtol=2e-5, atol=2e-6)
