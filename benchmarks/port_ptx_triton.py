"""Triton's PTX in HIP: run on an NVIDIA GPU as it is, and translated on this CPU.

    python benchmarks/port_ptx_triton.py measure FOLDER     # where there is a GPU and Triton
    python benchmarks/port_ptx_triton.py compare FOLDER     # where there is clang; on any machine

``measure`` runs each kernel on the GPU and keeps its PTX for this GPU and for sm_80, the operands
and the results. ``compare`` translates the PTX, runs it at 32 and 64 lanes on the same operands,
and gives the largest difference from the GPU's results, relative to the largest of them.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from kernelwright.dialects.simt import machine
from kernelwright.hipify.ptx.program import PtxTranslation, translate_ptx

SIZE, ROWS, COLUMNS, TILE = 1000, 8, 500, 64
READ = {"fp32": np.float32, "fp16": np.float16, "i32": np.int32, "bf16": np.uint16}


def kernels() -> dict[str, Any]:
    """Return Triton kernels by name."""
    import triton
    import triton.language as tl

    @triton.jit
    def add(x, y, z, n, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        tl.store(z + i, tl.load(x + i, i < n) + tl.load(y + i, i < n), i < n)

    @triton.jit
    def softmax(x, z, n, B: tl.constexpr):
        r, i = tl.program_id(0), tl.arange(0, B)
        v = tl.load(x + r * n + i, i < n, other=-float("inf"))
        v = tl.exp(v - tl.max(v, 0))
        tl.store(z + r * n + i, v / tl.sum(v, 0), i < n)

    @triton.jit
    def layer_norm(x, w, z, n, eps, B: tl.constexpr):
        r, i = tl.program_id(0), tl.arange(0, B)
        v = tl.load(x + r * n + i, i < n, other=0.0)
        d = tl.where(i < n, v - tl.sum(v, 0) / n, 0.0)
        scale = tl.rsqrt(tl.sum(d * d, 0) / n + eps)
        tl.store(z + r * n + i, d * scale * tl.load(w + i, i < n), i < n)

    @triton.jit
    def scan(x, z, n, B: tl.constexpr):
        r, i = tl.program_id(0), tl.arange(0, B)
        tl.store(z + r * n + i, tl.cumsum(tl.load(x + r * n + i, i < n, other=0), 0), i < n)

    @triton.jit
    def matmul(a, b, c, M, N, K, T: tl.constexpr):
        m, n = tl.program_id(0) * T + tl.arange(0, T), tl.program_id(1) * T + tl.arange(0, T)
        k = tl.arange(0, T)
        acc = tl.zeros((T, T), tl.float32)
        for at in range(0, K, T):
            x = tl.load(a + m[:, None] * K + (at + k)[None, :])
            acc += tl.dot(x, tl.load(b + (at + k)[:, None] * N + n[None, :]))
        tl.store(c + m[:, None] * N + n[None, :], acc)

    @triton.jit
    def histogram(x, z, n, B: tl.constexpr):
        i = tl.program_id(0) * B + tl.arange(0, B)
        tl.atomic_add(z + tl.load(x + i, i < n, other=0), 1, i < n)

    return {k.fn.__name__: k for k in (add, softmax, layer_norm, scan, matmul, histogram)}


def cases() -> dict[str, tuple[str, list[Any], dict[str, int], tuple[int, ...]]]:
    """Return (kernel, arguments, constants, grid) by name; results are the last tensors."""
    import torch

    torch.manual_seed(7)

    def numbers(*shape: int, dtype: Any = torch.float32) -> Any:
        return torch.randn(*shape, device="cuda").to(dtype)

    def whole(*shape: int) -> Any:
        return torch.randint(0, 16, shape, device="cuda", dtype=torch.int32)

    found: dict[str, Any] = {}
    for name in ("float32", "float16", "bfloat16"):
        kind = getattr(torch, name)
        tile = [numbers(TILE, TILE, dtype=kind) for _ in range(2)]
        line = [numbers(SIZE, dtype=kind) for _ in range(3)]
        product = [*tile, numbers(TILE, TILE), TILE, TILE, TILE]
        found[f"add_{name}"] = ("add", [*line, SIZE], {"B": 256}, (4,))
        found[f"matmul_{name}"] = ("matmul", product, {"T": 32}, (2, 2))
    rows, wide = (ROWS, COLUMNS), {"B": 512}
    found["softmax"] = ("softmax", [numbers(*rows), numbers(*rows), COLUMNS], wide, (ROWS,))
    norm = [numbers(*rows), numbers(COLUMNS), numbers(*rows), COLUMNS, 1e-5]
    found["layer_norm"] = ("layer_norm", norm, wide, (ROWS,))
    found["scan"] = ("scan", [whole(*rows), whole(*rows), COLUMNS], wide, (ROWS,))
    counts = [whole(SIZE), 0 * whole(16), SIZE]
    found["histogram"] = ("histogram", counts, {"B": 256}, (4,))
    return found


def measure(folder: Path) -> None:
    """Run all kernels on the GPU, and keep what ``compare`` needs."""
    import torch
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    folder.mkdir(parents=True, exist_ok=True)
    names = {torch.float32: "fp32", torch.float16: "fp16", torch.bfloat16: "bf16",
             torch.int32: "i32"}  # fmt: skip
    known = kernels()
    for name, (kernel, given, constants, grid) in cases().items():
        function = known[kernel]
        before = [a.cpu().clone() if torch.is_tensor(a) else a for a in given]
        built = function[grid](*given, **constants)
        kinds = [names[a.dtype] if torch.is_tensor(a) else "" for a in given]
        types = {
            p: f"*{kind}" if kind else "fp32" if isinstance(a, float) else "i32"
            for p, kind, a in zip(function.arg_names, kinds, given, strict=False)
        }
        places = {(function.arg_names.index(p),): v for p, v in constants.items()}
        source = ASTSource(function, types | dict.fromkeys(constants, "constexpr"), places)
        older = triton.compile(source, target=GPUTarget("cuda", 80, 32))
        (folder / f"{name}.sm_90.ptx").write_text(built.asm["ptx"])
        (folder / f"{name}.sm_80.ptx").write_text(older.asm["ptx"])
        arguments = []
        for k, (old, new, kind) in enumerate(zip(before, given, kinds, strict=True)):
            if not kind:
                arguments.append({"type": types[function.arg_names[k]], "value": old})
                continue
            for tag, tensor in (("in", old), ("out", new.cpu())):
                view = tensor.view(torch.int16) if tensor.element_size() == 2 else tensor
                (folder / f"{name}.{k}.{tag}.bin").write_bytes(view.numpy().tobytes())
            arguments.append({"type": kind, "bytes": new.numel() * new.element_size()})
        shared = {"sm_90": built.metadata.shared, "sm_80": older.metadata.shared}
        about = {"grid": grid, "threads": 32 * built.metadata.num_warps, "shared": shared,
                 "args": arguments}  # fmt: skip
        (folder / f"{name}.json").write_text(json.dumps(about))
        print(name, "kept", flush=True)


def program_of(translated: PtxTranslation, about: dict[str, Any], name: str, arch: str) -> str:
    """Return a HIP program that runs a kernel on kept operands and prints what is left."""
    kernel = translated.kernels[0]
    lines, given = [], []
    for k, argument in enumerate(about["args"]):
        if "bytes" in argument:
            lines.append(f'char* b{k} = read("{name}.{k}.in.bin", {argument["bytes"]});')
            given.append(f"(u64)b{k}")
        elif argument["type"] == "fp32":
            given.append(f"{argument['value']}f")
        else:
            given.append(str(argument["value"]))
    given += ["0"] * (len(kernel.parameters) - len(given))  # memory that Triton may ask for
    grid = ", ".join(map(str, about["grid"]))
    launch = f"{kernel.name}<<<dim3({grid}), {about['threads']}, {about['shared'][arch]}>>>"
    lines.append(f"{launch}({', '.join(given)}); hipDeviceSynchronize();")
    for k, argument in enumerate(about["args"]):
        if "bytes" in argument:
            lines.append(f'write("{k}.bin", b{k}, {argument["bytes"]});')
    body = "\n  ".join(lines)
    return f"""{translated.text}
#include <cstdio>
#include <cstdlib>
char* read(const char* name, size_t n) {{
  char *host = (char*)malloc(n), *device;
  FILE* file = fopen(name, "rb");
  if (!file || fread(host, 1, n, file) != n) exit(3);
  fclose(file);
  hipMalloc(&device, n);
  hipMemcpy(device, host, n, hipMemcpyHostToDevice);
  return device;
}}
void write(const char* name, char* device, size_t n) {{
  char* host = (char*)malloc(n);
  hipMemcpy(host, device, n, hipMemcpyDeviceToHost);
  FILE* file = fopen(name, "wb");
  fwrite(host, 1, n, file);
  fclose(file);
}}
int main() {{
  {body}
  return 0;
}}
"""


def compare(folder: Path) -> None:
    """Translate what ``measure`` kept, run it, and print the differences."""
    for about_path in sorted(folder.glob("*.json")):
        name, about = about_path.stem, json.loads(about_path.read_text())
        for arch in about["shared"]:
            text = (folder / f"{name}.{arch}.ptx").read_text()
            translated = translate_ptx(text, name=f"{name}.{arch}.ptx")
            if translated.unported:
                constructs = dict.fromkeys(f.construct.split()[0] for f in translated.unported)
                print(name, arch, "not translated:", *constructs, flush=True)
                continue
            print(name, arch, *_differences(folder, translated, about, name, arch), flush=True)


def _differences(
    folder: Path, translated: PtxTranslation, about: dict[str, Any], name: str, arch: str
) -> list[str]:
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        built = machine.build(program_of(translated, about, name, arch), folder=place)
        for file in folder.glob(f"{name}.*.in.bin"):
            (place / file.name).write_bytes(file.read_bytes())
        found = []
        for width in machine.WIDTHS:
            run = machine.run(built, width=width, how=machine.Running(limit_s=300, folder=place))
            if run.exit_code or run.complaints:
                said = "; ".join(f"{c.kind} at {c.place}" for c in run.complaints[:3])
                found.append(f"{width} lanes: exit {run.exit_code} {said} {run.errors[-200:]}")
                continue
            found.append(f"{width} lanes: {_largest(folder, place, about, name):.1e}")
    return found


def _largest(folder: Path, place: Path, about: dict[str, Any], name: str) -> float:
    largest = 0.0
    for k, argument in enumerate(about["args"]):
        if "bytes" in argument:
            ours = _read(place / f"{k}.bin", argument["type"])
            theirs = _read(folder / f"{name}.{k}.out.bin", argument["type"])
            scale = float(np.abs(theirs).max()) or 1.0
            found = float(np.abs(ours - theirs).max()) / scale
            largest = float(np.maximum(largest, found))  # max() would pass over NaN
    return largest


def _read(path: Path, kind: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    raw = np.fromfile(path, READ[kind])
    if kind == "bf16":
        raw = (raw.astype(np.uint32) << 16).view(np.float32)
    return raw.astype(np.float64)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("measure", "compare"))
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    (measure if options.what == "measure" else compare)(options.folder)


if __name__ == "__main__":
    main()
