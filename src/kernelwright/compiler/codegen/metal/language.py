"""The Metal Shading Language, as far as it differs from CUDA C++ in emitted kernels.

A kernel is given its position under CUDA's names. Threadgroup memory is declared in the kernel and
passed to the functions that reduce over threads.

Source: Metal Shading Language Specification 4; torch/_inductor/codegen/mps.py for the functions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from kernelwright.compiler.codegen.cuda.ops import Language
from kernelwright.compiler.codegen.cuda.reserved import RESERVED
from kernelwright.compiler.codegen.float8 import FLOAT8

_PIECES = {
    "within": """\
DEVICE long within(long index, long size) { return metal::clamp(index, 0l, size - 1); }
""",
    "rounded_product": """\
DEVICE float rounded_product(float a, float b) {
    #pragma METAL fp contract(off)
    return a * b;
}
""",
    "expm1_of": """\
DEVICE float expm1_of(float x) {  // PyTorch's is exact near zero, and less so elsewhere
    return metal::abs(x) < 0.5f ? c10::metal::expm1f(x) : metal::precise::exp(x) - 1.0f;
}
""",
    "INF": """\
#define INF INFINITY
""",
    "NAN": "",
    "Pack": """\
// N neighbours, moved by one instruction.
template <class T, int N> struct alignas(sizeof(T) * N) Pack { T lane[N]; };
template <int N, class T> DEVICE Pack<T, N> load_pack(const device T* from) {
    return *reinterpret_cast<const device Pack<T, N>*>(from);
}
template <int N, class T> DEVICE void store_pack(device T* to, Pack<T, N> pack) {
    *reinterpret_cast<device Pack<T, N>*>(to) = pack;
}
""",
    "shuffle": """\
template <class T> DEVICE T shuffle(T x, ushort mask) { return metal::simd_shuffle_xor(x, mask); }
DEVICE bool shuffle(bool x, ushort mask) { return metal::simd_shuffle_xor(int(x), mask); }
DEVICE long shuffle(long x, ushort mask) {
    return as_type<long>(metal::simd_shuffle_xor(as_type<uint2>(x), mask));
}
""",
    "block_reduce": """\
// Every thread of the block gets the combination of all: simdgroups first, then one value of each.
template <int THREADS, class T, class Combine>
DEVICE T block_reduce(T x, Combine combine, threadgroup T* parts, uint thread_number) {
    x = warp_reduce(x, combine);
    if (thread_number % 32 == 0) parts[thread_number / 32] = x;
    metal::threadgroup_barrier(metal::mem_flags::mem_threadgroup);
    T all = parts[0];
    #pragma unroll
    for (int group = 1; group < THREADS / 32; ++group) all = combine(all, parts[group]);
    return all;
}
""",
    "column_reduce": """\
// Threads with the same x, one below the other: each gets the combination of all of them.
template <int LANES, int HEIGHT, class T, class Combine>
DEVICE T column_reduce(T x, Combine combine, threadgroup T* parts, uint3 at) {
    threadgroup T* own = parts + at.y * LANES + at.x;
    *own = x;
    metal::threadgroup_barrier(metal::mem_flags::mem_threadgroup);
    #pragma unroll
    for (int far = HEIGHT / 2; far >= 8; far /= 2) {
        if (at.y < uint(far)) *own = combine(*own, own[far * LANES]);
        metal::threadgroup_barrier(metal::mem_flags::mem_threadgroup);
    }
    T all = parts[at.x];
    #pragma unroll
    for (int y = 1; y < (HEIGHT < 8 ? HEIGHT : 8); ++y) all = combine(all, parts[y * LANES + at.x]);
    return all;
}
""",
}
_OTHERS = ("float16", "bfloat16", *FLOAT8, "block_scan", "run_cell", "group_reduce")
"""Pieces of CUDA C++ that Metal has a type for, or no kernels with."""
_SHARED = {
    name: text.replace("long long", "long")
    for name, text in Language.pieces.items()
    if name not in _OTHERS
}
_TYPES = {
    "float32": "float", "float16": "half", "bfloat16": "bfloat", "int64": "long", "int32": "int",
    "int16": "short", "int8": "char", "uint8": "uchar", "bool": "bool",
}  # fmt: skip
_FUNCTIONS = {
    "abs": "metal::abs", "erf": "c10::metal::erf", "expm1": "expm1_of",
    "log1p": "c10::metal::log1p", "floor": "metal::floor", "ceil": "metal::ceil",
    "round": "metal::rint", "trunc": "metal::trunc", "fmod": "metal::fmod",
}  # fmt: skip
"""Operators whose function is not the one of ``metal::precise`` with the same name."""
_HEADERS = {
    "c10::metal::erf": "special_math",
    "c10::metal::log1p": "special_math",
    "expm1_of": "expm1f",
}
"""Function → the header that torch has it in, and pastes into the text."""


_WORDS = (
    "kernel", "vertex", "fragment", "device", "constant", "thread", "threadgroup", "half", "bfloat",
    "uchar", "ushort", "uint", "ulong", "size_t", "uniform", "array", "sampler", "metal", "c10",
    "uint2", "uint3", "float2", "float3", "float4", "half2", "half4", "within", "shuffle",
)  # fmt: skip
"""Words of the language, and names at its outermost level, beside those of CUDA C++."""


class MetalLanguage(Language):
    """The words and forms of the Metal Shading Language that differ from CUDA C++."""

    types: Mapping[str, str] = MappingProxyType(_TYPES)
    words: Sequence[str] = (*RESERVED, *_WORDS)
    wide_suffix = "l"
    device = "#include <metal_stdlib>\n#define DEVICE inline\n"
    pieces: Mapping[str, str] = MappingProxyType(_SHARED | _PIECES)
    rounded: Mapping[str, str] = MappingProxyType({"float32": "rounded_product"})

    def prelude(self, text: str) -> str:
        headers = {h for name, h in _HEADERS.items() if f"{name}(" in text}
        lines = "".join(f"#include <c10/metal/{header}.h>\n" for header in sorted(headers))
        return lines + super().prelude(text)

    def head(
        self,
        name: str,
        tensors: Sequence[tuple[str, str, bool]],
        sizes: Sequence[tuple[str, str]],
        threads: int,
        *,
        together: bool,
    ) -> list[str]:
        parameters = [
            f"    device {'' if is_written else 'const '}{self.types[dtype]}* {tensor},"
            for tensor, dtype, is_written in tensors
        ]
        parameters += [f"    constant long& {size}," for size, _ in sizes]  # torch binds int64
        return [
            f"kernel void {name}(",
            *parameters,
            "    uint3 threadIdx [[thread_position_in_threadgroup]],",
            "    uint3 blockIdx [[threadgroup_position_in_grid]],",
            "    uint3 gridDim [[threadgroups_per_grid]]) {",
        ]

    def launch(self, name: str, blocks: int, threads: tuple[int, int], given: Sequence[str]) -> str:
        across, down = threads
        extents = f"threads=({blocks * across}, {down}), group_size=({across}, {down})"
        return f"KERNELS.{name}({', '.join(given)}, {extents})"

    def reduce(
        self, shape: str, threads: int, own: str, combine: str, kind: str
    ) -> tuple[str, str]:
        parts = f"{own}_parts"
        if shape == "column":
            text = f"column_reduce<LANES, HEIGHT>({own}, {combine}(), {parts}, threadIdx)"
            return f"threadgroup {kind} {parts}[LANES * HEIGHT];", text
        if threads == 32:
            return super().reduce(shape, threads, own, combine, kind)
        text = f"block_reduce<THREADS>({own}, {combine}(), {parts}, threadIdx.x)"
        return f"threadgroup {kind} {parts}[THREADS / 32];", text

    def widened(self, text: str) -> str:
        return f"float({text})"

    def put(self, place: str, text: str, dtype: str) -> str:
        return f"{place} = {self.types[dtype]}({text});"

    def function(self, op: str, dtype: str) -> str:
        return _FUNCTIONS.get(op, f"metal::precise::{op}")


METAL = MetalLanguage()
