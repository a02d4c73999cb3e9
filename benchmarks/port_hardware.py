"""Rows of the lifter's tables against an NVIDIA GPU: the same machine code there and lifted.

    python benchmarks/port_hardware.py measure FOLDER     # where there is an NVIDIA GPU
    python benchmarks/port_hardware.py compare FOLDER     # where there is clang; on any machine

Each kernel is one PTX instruction on random and edge operands. ``measure`` has ptxas assemble all
of them for the GPU, runs them and keeps the cubin, the operands and the results. ``compare`` lifts
that cubin, runs it as a twin and compares bits: NaN equals NaN, and approximations may differ by
the stated number of units in the last place.
"""

from __future__ import annotations

import argparse
import ctypes
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kernelwright.dialects.nvidia import assemble_ptx
from kernelwright.dialects.simt import machine

N, BLOCK, SEED = 8192, 128, 47
"""Operands of each kernel, and threads of a block."""
INTEGERS = (0, 1, 2, 3, 7, 31, 32, 33, 63, 64, 127, 128, 255, 256, 0xFFFF, 0x10000, 0x7FFFFFFF,
            0x80000000, 0x80000001, 0xFFFFFFFE, 0xFFFFFFFF)  # fmt: skip
FLOATS = (0.0, -0.0, 1.0, -1.0, 0.5, 1.5, -2.5, 3.5, 1e-45, -1e-40, 1.1754944e-38, 3.4e38, -3.4e38,
          65504.0, 1e-8, 16777217.0, 2147483648.0, -2147483904.0, 4294967296.0, 9.3e18, -9.3e18,
          1.9e19, np.inf, -np.inf, np.nan)  # fmt: skip
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
UNORDERED = (*COMPARISONS, "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan")
ULPS = {"ex2.approx": 4, "lg2.approx": 1024, "rcp.approx": 2, "rsqrt.approx": 4, "sqrt.approx": 4}
"""Units in the last place by which approximations may differ: each vendor has its own. Near one,
the PTX ISA gives lg2 an absolute error."""


@dataclass(frozen=True)
class Probe:
    """One kernel: PTX that computes ``%d``, ``%f``, ``%ld`` or ``%fd`` of operands a, b, c."""

    name: str
    ptx: str
    kind: str
    """'u32', 'f32', 'u64' or 'f64': the register that holds the result."""
    ulps: int = 0


RESULTS = {"u32": "%d", "f32": "%f", "u64": "%ld", "f64": "%fd"}


def probes() -> list[Probe]:
    """Return all probes; the names are those of kernels."""
    found = []
    for k, (ptx, kind) in enumerate(
        [*_integers(), *_words(), *_floats(), *_conversions(), *_lanes()]
    ):
        ulps = next((n for word, n in ULPS.items() if word in ptx), 0)
        found.append(Probe(f"probe_{k}", ptx, kind, ulps))
    return found


def _integers() -> Iterator[tuple[str, str]]:
    for op in ("add", "sub", "mul.lo", "mul.hi", "min", "max", "div", "rem"):
        for type_ in ("s32", "u32"):
            yield f"{op}.{type_} %d, %a, %b;", "u32"
        for type_ in ("s64", "u64"):
            yield f"{op}.{type_} %ld, %la, %lb;", "u64"
    for type_ in ("s32", "u32"):
        yield f"mad.lo.{type_} %d, %a, %b, %c;", "u32"
        yield f"mad.hi.{type_} %d, %a, %b, %c;", "u32"
        yield f"mad.wide.{type_} %ld, %a, %b, %lc;", "u64"
        yield f"mul.wide.{type_} %ld, %a, %b;", "u64"
        yield f"sad.{type_} %d, %a, %b, %c;", "u32"
        yield f"bfe.{type_} %d, %a, %b, %c;", "u32"
        yield f"bfind.{type_} %d, %a;", "u32"
        yield f"bfind.shiftamt.{type_} %d, %a;", "u32"
        yield f"add.{type_} %d, %a, %b; max.{type_} %d, %d, %c;", "u32"
        yield f"add.{type_} %d, %a, %b; min.{type_} %d, %d, %c;", "u32"
        for order in COMPARISONS:
            yield f"set.{order}.u32.{type_} %d, %a, %b;", "u32"
            yield f"setp.{order}.{type_} %p, %a, %b; selp.b32 %d, %b, %c, %p;", "u32"
    for type_ in ("s64", "u64"):
        for order in COMPARISONS:
            yield f"setp.{order}.{type_} %p, %la, %lb; selp.b64 %ld, %lb, %lc, %p;", "u64"
        yield f"mul.hi.{type_} %ld, %la, %lb;", "u64"


def _words() -> Iterator[tuple[str, str]]:
    for type_ in ("b32", "b64"):
        wide = "l" if type_ == "b64" else ""
        for op in ("and", "or", "xor"):
            yield f"{op}.{type_} %{wide}d, %{wide}a, %{wide}b;", f"u{type_[1:]}"
        yield f"shl.{type_} %{wide}d, %{wide}a, %b;", f"u{type_[1:]}"
        yield f"shr.u{type_[1:]} %{wide}d, %{wide}a, %b;", f"u{type_[1:]}"
        yield f"shr.s{type_[1:]} %{wide}d, %{wide}a, %b;", f"u{type_[1:]}"
        yield f"popc.{type_} %d, %{wide}a;", "u32"
        yield f"clz.{type_} %d, %{wide}a;", "u32"
        yield f"brev.{type_} %{wide}d, %{wide}a;", f"u{type_[1:]}"
    for table in (0x00, 0x80, 0x96, 0xE8, 0x1B, 0xCA, 0xFE, 0xB8):
        yield f"lop3.b32 %d, %a, %b, %c, {table:#x};", "u32"
    for mode in ("l.wrap", "l.clamp", "r.wrap", "r.clamp"):
        yield f"shf.{mode}.b32 %d, %a, %b, %c;", "u32"
    for type_, wide in (("s32", ""), ("s64", "l")):
        yield f"abs.{type_} %{wide}d, %{wide}a;", f"u{type_[1:]}"
        yield f"neg.{type_} %{wide}d, %{wide}a;", f"u{type_[1:]}"
    yield "prmt.b32 %d, %a, %b, %c;", "u32"
    for left in ("s32", "u32"):
        for right in ("s32", "u32"):
            yield f"dp4a.{left}.{right} %d, %a, %b, %c;", "u32"
    yield "mov.u32 %s, 0; vabsdiff4.u32.u32.u32 %d, %a, %b, %s;", "u32"
    yield "vabsdiff4.u32.u32.u32.add %d, %a, %b, %c;", "u32"
    for op in ("min", "max"):
        for type_ in ("s32", "u32"):
            yield f"{op}.{type_} %d, %a, %b; {op}.{type_} %d, %d, %c;", "u32"
    yield "prmt.b32 %d, %a, %b, 0xba98;", "u32"
    yield "bfi.b32 %d, %a, %b, 5, 9;", "u32"
    yield "bmsk.clamp.b32 %d, %a, %b;", "u32"
    yield "bmsk.wrap.b32 %d, %a, %b;", "u32"
    yield "szext.clamp.s32 %d, %a, %b;", "u32"
    yield "szext.clamp.u32 %d, %a, %b;", "u32"
    yield "add.cc.u32 %d, %a, %b; addc.u32 %d, %c, %b;", "u32"
    yield "sub.cc.u32 %d, %a, %b; subc.u32 %d, %c, %b;", "u32"
    yield "add.cc.u32 %d, %a, %b; addc.cc.u32 %d, %c, %b; addc.u32 %d, %a, 0;", "u32"
    yield "mad.lo.cc.u32 %d, %a, %b, %c; madc.hi.u32 %d, %a, %b, %c;", "u32"


def _floats() -> Iterator[tuple[str, str]]:
    for bits, f in (("32", ""), ("64", "d")):
        kind, d = f"f{bits}", "%f" if bits == "32" else "%fd"
        a, b, c = (f"%f{f}{x}" for x in "abc")
        for mode in ("rn", "rz", "rm", "rp"):
            yield f"add.{mode}.f{bits} {d}, {a}, {b};", kind
            yield f"sub.{mode}.f{bits} {d}, {a}, {b};", kind
            yield f"mul.{mode}.f{bits} {d}, {a}, {b};", kind
            yield f"fma.{mode}.f{bits} {d}, {a}, {b}, {c};", kind
        yield f"div.rn.f{bits} {d}, {a}, {b};", kind
        yield f"rcp.rn.f{bits} {d}, {a};", kind
        yield f"sqrt.rn.f{bits} {d}, {a};", kind
        for op in ("min", "max"):
            yield f"{op}.f{bits} {d}, {a}, {b};", kind
        for op in ("abs", "neg"):
            yield f"{op}.f{bits} {d}, {a};", kind
        for order in UNORDERED:
            yield f"set.{order}.u32.f{bits} %d, {a}, {b};", "u32"
    for op in ("add", "mul"):
        yield f"{op}.ftz.f32 %f, %fa, %fb;", "f32"
        yield f"{op}.sat.f32 %f, %fa, %fb;", "f32"
    yield "fma.rn.ftz.f32 %f, %fa, %fb, %fc;", "f32"
    yield "fma.rn.sat.f32 %f, %fa, %fb, %fc;", "f32"
    yield "set.lt.f32.f32 %f, %fa, %fb;", "f32"
    yield "min.ftz.f32 %f, %fa, %fb;", "f32"
    for op in ("ex2", "lg2", "rcp", "rsqrt", "sqrt"):
        yield f"{op}.approx.ftz.f32 %f, %fa;", "f32"
        yield f"{op}.approx.f32 %f, %fa;", "f32"
    for op in ("add", "sub", "mul"):
        yield f"{op}.rn.f16x2 %d, %a, %b;", "u32"
    yield "fma.rn.f16x2 %d, %a, %b, %c;", "u32"
    for op in ("add.rn", "sub.rn", "mul.rn", "min", "max"):
        yield f"{op}.bf16x2 %d, %a, %b;", "u32"
    yield "fma.rn.bf16x2 %d, %a, %b, %c;", "u32"
    for op in ("min", "max"):
        yield f"{op}.f16x2 %d, %a, %b;", "u32"


def _conversions() -> Iterator[tuple[str, str]]:
    integers = {"s32": ("%a", "%d", "u32"), "u32": ("%a", "%d", "u32"),
                "s64": ("%la", "%ld", "u64"), "u64": ("%la", "%ld", "u64")}  # fmt: skip
    for name, (given, result, kind) in integers.items():
        for mode in ("rn", "rz", "rm", "rp"):
            yield f"cvt.{mode}.f32.{name} %f, {given};", "f32"
            yield f"cvt.{mode}.f64.{name} %fd, {given};", "f64"
            yield f"cvt.{mode}i.{name}.f32 {result}, %fa;", kind
            yield f"cvt.{mode}i.{name}.f64 {result}, %fda;", kind
    for mode in ("rn", "rz", "rm", "rp"):
        yield f"cvt.{mode}i.f32.f32 %f, %fa;", "f32"
        yield f"cvt.{mode}i.f64.f64 %fd, %fda;", "f64"
        yield f"cvt.{mode}.f32.f64 %f, %fda;", "f32"
    yield "cvt.f64.f32 %fd, %fa;", "f64"
    for narrow in ("s8", "u8", "s16", "u16"):
        yield f"cvt.rn.f32.{narrow} %f, %a;", "f32"
        yield f"cvt.{'s' if narrow[0] == 's' else 'u'}32.{narrow} %d, %a;", "u32"
    yield "cvt.rn.f16.f32 %h, %fa; cvt.u32.u16 %d, %h;", "u32"
    yield "cvt.rn.f16x2.f32 %d, %fa, %fb;", "u32"
    yield "cvt.rn.bf16x2.f32 %d, %fa, %fb;", "u32"
    yield "cvt.u16.u32 %h, %a; cvt.f32.f16 %f, %h;", "f32"
    yield "cvt.rn.satfinite.e4m3x2.f32 %h, %fa, %fb; cvt.u32.u16 %d, %h;", "u32"
    yield "cvt.rn.satfinite.e5m2x2.f32 %h, %fa, %fb; cvt.u32.u16 %d, %h;", "u32"
    yield "cvt.u16.u32 %h, %a; cvt.rn.f16x2.e4m3x2 %d, %h;", "u32"


def _lanes() -> Iterator[tuple[str, str]]:
    for mode, clamp in (("up", 0), ("down", 31), ("bfly", 31), ("idx", 31)):
        yield f"shfl.sync.{mode}.b32 %d|%p, %a, %b, {clamp}, -1; selp.b32 %d, %d, %c, %p;", "u32"
        segment = 0x1800 | clamp
        yield f"shfl.sync.{mode}.b32 %d|%p, %a, 3, {segment}, -1; selp.b32 %d, %d, %c, %p;", "u32"
    for mode in ("any", "all", "uni"):
        yield (
            f"setp.lt.u32 %p, %a, %b; vote.sync.{mode}.pred %p, %p, -1; selp.b32 %d, %a, %b, %p;",
            "u32",
        )
    yield "setp.lt.u32 %p, %a, %b; vote.sync.ballot.b32 %d, %p, -1;", "u32"
    for op in ("add", "min", "max"):
        for type_ in ("u32", "s32"):
            yield f"redux.sync.{op}.{type_} %d, %a, -1;", "u32"
    for op in ("and", "or", "xor"):
        yield f"redux.sync.{op}.b32 %d, %a, -1;", "u32"
    yield "match.any.sync.b32 %d, %a, -1;", "u32"
    yield "match.any.sync.b64 %d, %la, -1;", "u32"
    yield "match.all.sync.b32 %d|%p, %a, -1; selp.b32 %d, %d, %b, %p;", "u32"
    for name in ("laneid", "lanemask_eq", "lanemask_lt", "lanemask_le", "lanemask_gt",
                 "lanemask_ge", "ntid.x", "nctaid.x", "ctaid.x"):  # fmt: skip
        yield f"mov.u32 %d, %{name};", "u32"


def module(found: list[Probe], arch: str) -> str:
    """Return the PTX of all probes."""
    return f".version 8.0\n.target {arch}\n.address_size 64\n" + "".join(map(_kernel, found))


def _kernel(probe: Probe) -> str:
    result, width = RESULTS[probe.kind], probe.kind[1:]
    stored = f"mov.b{width} %{'s' if width == '32' else 'ls'}, {result};"
    widened = "cvt.u64.u32 %ls, %s;" if width == "32" else ""
    loads = "".join(
        f"ld.param.u64 %l{x}, [p{x}]; add.u64 %l{x}, %l{x}, %at; ld.global.u64 %l{x}, [%l{x}]; "
        f"cvt.u32.u64 %{x}, %l{x}; mov.b32 %f{x}, %{x}; mov.b64 %fd{x}, %l{x};\n"
        for x in "abc"
    )
    return f"""
.visible .entry {probe.name}(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 pd) {{
.reg .pred %p; .reg .b16 %h; .reg .b32 %a, %b, %c, %d, %s, %i, %j; .reg .f32 %f, %fa, %fb, %fc;
.reg .b64 %la, %lb, %lc, %ld, %ls, %at, %to; .reg .f64 %fd, %fda, %fdb, %fdc;
mov.u32 %i, %ctaid.x; mov.u32 %j, %ntid.x; mul.lo.u32 %i, %i, %j; mov.u32 %j, %tid.x;
add.u32 %i, %i, %j; mul.wide.u32 %at, %i, 8;
{loads}{probe.ptx}
{stored} {widened}
ld.param.u64 %to, [pd]; add.u64 %to, %to, %at; st.global.u64 [%to], %ls;
ret;
}}
"""


def operands() -> np.ndarray:
    """Return three arrays of 64-bit words: integers, floats and doubles, at edges and at random."""
    draw = np.random.default_rng(SEED)
    words = draw.integers(0, 1 << 63, (3, N), dtype=np.uint64) << np.uint64(1)
    kinds = draw.integers(0, 6, (3, N))
    integers = np.array(INTEGERS, np.uint64)
    singles = np.array(FLOATS, np.float32).view(np.uint32).astype(np.uint64)
    doubles = np.array(FLOATS, np.float64).view(np.uint64)
    upper = draw.integers(0, 2, (3, N), dtype=np.uint64) * draw.choice(integers, (3, N))
    words = np.where(kinds == 1, draw.choice(integers, (3, N)) | upper << np.uint64(32), words)
    words = np.where(kinds == 2, draw.choice(singles, (3, N)) | upper << np.uint64(32), words)
    words = np.where(kinds == 3, draw.choice(doubles, (3, N)), words)
    near = draw.normal(0, 100, (3, N))
    words = np.where(kinds == 4, near.astype(np.float32).view(np.uint32), words)
    return np.where(kinds == 5, near.view(np.uint64), words)


def measure(folder: Path) -> None:
    """Run all probes that ptxas takes on this machine's GPU."""
    import torch

    major, minor = torch.cuda.get_device_capability()
    arch = f"sm_{major}{minor}"
    taken = probes()
    if not _assembles(taken, arch, folder):
        taken = [probe for probe in taken if _assembles([probe], arch, folder)]
    refused = [probe.ptx for probe in probes() if probe not in taken]
    cubin = folder / "probes.cubin"
    assert _assembles(taken, arch, folder), "ptxas refuses probes together that it takes alone"
    words = operands()
    given = torch.from_numpy(words.view(np.int64)).cuda()
    results = {probe.name: _run(cubin, probe.name, given) for probe in taken}
    np.savez_compressed(folder / "results.npz", words=words, **results)
    print(f"{len(taken)} probes on {torch.cuda.get_device_name()}, {arch}; refused: {refused}")


def _assembles(found: list[Probe], arch: str, folder: Path) -> bool:
    from kernelwright.core.errors import UsageError

    (folder / "probes.ptx").write_text(module(found, arch))
    try:
        assemble_ptx(folder / "probes.ptx", folder / "probes.cubin")
    except UsageError:
        return False
    return True


def _run(cubin: Path, name: str, given: object) -> np.ndarray:
    import torch

    driver = ctypes.CDLL("libcuda.so.1")
    module_, function = ctypes.c_void_p(), ctypes.c_void_p()
    out = torch.zeros(N, dtype=torch.int64, device="cuda")
    assert driver.cuModuleLoad(ctypes.byref(module_), str(cubin).encode()) == 0
    assert driver.cuModuleGetFunction(ctypes.byref(function), module_, name.encode()) == 0
    places = [ctypes.c_uint64(t.data_ptr()) for t in (*given, out)]  # type: ignore[misc]
    pointers = (ctypes.c_void_p * 4)(*(ctypes.cast(ctypes.byref(p), ctypes.c_void_p).value
                                       for p in places))  # fmt: skip
    stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
    assert driver.cuLaunchKernel(
        function, N // BLOCK, 1, 1, BLOCK, 1, 1, 0, stream, pointers, None
    ) == 0  # fmt: skip
    torch.cuda.synchronize()
    driver.cuModuleUnload(module_)
    return out.cpu().numpy().view(np.uint64)


HOST = """#include <cstdio>
#include <vector>
#include <cuda_runtime.h>
using Word = unsigned long long;
{kernels}
int main(int, char** argv) {{
  const int n = {n};
  Word *given, *out;
  cudaMalloc(&given, 3 * n * sizeof(Word));
  cudaMalloc(&out, n * sizeof(Word));
  std::vector<Word> words(3 * n);
  std::FILE* in = std::fopen(argv[1], "rb");
  if (!in || std::fread(words.data(), sizeof(Word), 3 * n, in) != 3u * n) return 1;
  cudaMemcpy(given, words.data(), 3 * n * sizeof(Word), cudaMemcpyHostToDevice);
  std::FILE* to = std::fopen(argv[2], "wb");
  {launches}
  return std::fclose(to);
}}
"""
LAUNCH = """{name}<<<n / {block}, {block}>>>(given, given + n, given + 2 * n, out);
  cudaMemcpy(words.data(), out, n * sizeof(Word), cudaMemcpyDeviceToHost);
  std::fwrite(words.data(), sizeof(Word), n, to);"""


def compare(folder: Path) -> int:
    """Compare the lifted cubin's twin with what the GPU computed; return how many probes differ."""
    from kernelwright.lift import lift, used_rows
    from kernelwright.port.lifted import host_with_twin

    held = np.load(folder / "results.npz")
    by_name = {probe.name: probe for probe in probes()}
    program = lift(folder / "probes.cubin")
    for found in program.unlifted:
        print(f"not lifted: {found.text}")
    names = [kernel.name for kernel in program.lifted]
    signature = "(const Word* a, const Word* b, const Word* c, Word* d) {}"
    host = HOST.format(
        n=N,
        kernels="\n".join(f'extern "C" __global__ void {name}{signature}' for name in names),
        launches="\n  ".join(LAUNCH.format(name=name, block=BLOCK) for name in names),
    )
    built = host_with_twin(program, host, folder)
    words, out = folder / "words.bin", folder / "twin.bin"
    held["words"].tofile(words)
    run = machine.run(built, how=machine.Running((str(words.resolve()), str(out.resolve())), 300))
    if run.exit_code:
        sys.exit(f"the twin ends with {run.exit_code}: {run.errors[-300:]}")
    results = np.fromfile(out, np.uint64).reshape(len(names), N)
    wrong = sum(
        _differs(by_name[name], held["words"], held[name], result)
        for name, result in zip(names, results, strict=True)
    )
    rows_ = len(set(used_rows(program.lifted)))
    print(f"{len(names)} probes of {rows_} mnemonics: {len(names) - wrong} agree, {wrong} differ")
    return wrong


def _differs(probe: Probe, words: np.ndarray, wanted: np.ndarray, result: np.ndarray) -> bool:
    """Print the first difference of a probe; return whether there is one."""
    if probe.kind[0] == "f":
        type_, image = (np.float32, np.uint32) if probe.kind == "f32" else (np.float64, np.uint64)
        x, y = (v.astype(image).view(type_) for v in (wanted, result))
        is_nan = np.isnan(x) & np.isnan(y)
        signed = [v.astype(image).view(image(0).dtype.str.replace("u", "i")).astype(np.float64)
                  for v in (wanted, result)]  # fmt: skip
        is_near = np.abs(signed[0] - signed[1]) <= probe.ulps
        far = ~(is_nan | is_near | (wanted == result))
    else:
        far = wanted != result
    if not far.any():
        return False
    k = int(np.flatnonzero(far)[0])
    given = ", ".join(f"{int(v[k]):#x}" for v in words)
    print(f"{far.sum():5} of {N} differ: {probe.ptx}  of {given}: "
          f"{int(wanted[k]):#x}, lifted {int(result[k]):#x}")  # fmt: skip
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("measure", "compare"))
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    if options.what == "compare":
        sys.exit(min(compare(options.folder), 1))
    measure(options.folder)


if __name__ == "__main__":
    main()
