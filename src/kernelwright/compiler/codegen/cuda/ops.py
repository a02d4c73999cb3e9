"""The CUDA C++ text of every pointwise operator, reduction and scan of the loop language.

The text needs no header: NVRTC has the mathematical functions built in, and half-precision types
are held in memory as bits and computed in float.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from kernelwright.compiler.codegen.cuda.groups import GROUP_REDUCE
from kernelwright.compiler.codegen.cuda.recurrence_text import RECURRENCE
from kernelwright.compiler.codegen.cuda.reserved import RESERVED
from kernelwright.compiler.codegen.float8 import FLOAT8, narrowing, widening
from kernelwright.compiler.codegen.gpu.axes import start_value
from kernelwright.compiler.ir.ir import NARROW

TYPES = {
    "float64": "double", "float32": "float", "float16": "float16", "bfloat16": "bfloat16",
    "float8_e4m3fn": "float8_e4m3fn", "float8_e5m2": "float8_e5m2",
    "int64": "long long", "int32": "int", "int16": "short", "int8": "signed char",
    "uint8": "unsigned char", "bool": "bool",
}  # fmt: skip
BYTES = {"float64": 8, "int64": 8, "float32": 4, "int32": 4, "float16": 2, "bfloat16": 2,
         "float8_e4m3fn": 1, "float8_e5m2": 1,
         "int16": 2, "int8": 1, "uint8": 1, "bool": 1}  # fmt: skip

_OPERATORS = {
    "add": "{0} + {1}", "sub": "{0} - {1}", "mul": "{0} * {1}", "div": "{0} / {1}", "neg": "-{0}",
    "square": "{0} * {0}", "lt": "{0} < {1}", "le": "{0} <= {1}", "gt": "{0} > {1}",
    "ge": "{0} >= {1}", "eq": "{0} == {1}", "ne": "{0} != {1}", "and": "{0} & {1}",
    "or": "{0} | {1}", "xor": "{0} ^ {1}", "rshift": "{0} >> {1}",
    "not": "{0} == 0", "isnan": "{0} != {0}",
    "where": "{0} ? {1} : {2}", "maximum": "maximum({0}, {1})", "minimum": "minimum({0}, {1})",
    "sign": "({0} > 0) - ({0} < 0)",
}  # fmt: skip
# names in CUDA's math library without the suffix f of float; rint rounds half to even
_FUNCTIONS = {
    "abs": "fabs", "exp": "exp", "expm1": "expm1", "log": "log", "log1p": "log1p", "log2": "log2",
    "sqrt": "sqrt", "rsqrt": "rsqrt", "sin": "sin", "cos": "cos", "tanh": "tanh", "erf": "erf",
    "floor": "floor", "ceil": "ceil", "round": "rint", "trunc": "trunc", "pow": "pow",
    "fmod": "fmod", "atan2": "atan2",
}  # fmt: skip

_START = {"sum": 0, "prod": 1, "any": False, "all": True}

_PIECES = {  # name → text; emitted where the name is used
    "within": """\
DEVICE long long within(long long index, long long size) {
    if (index < 0 || index >= size) __trap();  // as torch's own kernels assert
    return index;
}
""",
    "float16": """\
struct float16 { unsigned short bits; };
DEVICE float to_float(float16 x) {
    float y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(x.bits));
    return y;
}
DEVICE void put(float16& x, float y) { asm("cvt.rn.f16.f32 %0, %1;" : "=h"(x.bits) : "f"(y)); }
""",
    "bfloat16": """\
struct bfloat16 { unsigned short bits; };
DEVICE float to_float(bfloat16 x) { return __uint_as_float((unsigned)x.bits << 16); }
DEVICE void put(bfloat16& x, float y) {
    const unsigned bits = __float_as_uint(y);  // round to nearest even; a NaN stays one
    x.bits = y != y ? 0x7fff : (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
}
""",
    "INF": """\
#define INF __int_as_float(0x7f800000)
""",
    "NAN": """\
#define NAN __int_as_float(0x7fffffff)
""",
    "maximum": """\
template <class T> DEVICE T maximum(T a, T b) { return a != a || a > b ? a : b; }  // NaN wins
""",
    "minimum": """\
template <class T> DEVICE T minimum(T a, T b) { return a != a || a < b ? a : b; }  // NaN wins
""",
    "Pack": """\
// N neighbours, moved by one instruction.
template <class T, int N> struct alignas(sizeof(T) * N) Pack { T lane[N]; };
template <int N, class T> DEVICE Pack<T, N> load_pack(const T* from) {
    return *reinterpret_cast<const Pack<T, N>*>(from);
}
template <int N, class T> DEVICE void store_pack(T* to, const Pack<T, N>& pack) {
    *reinterpret_cast<Pack<T, N>*>(to) = pack;
}
""",
    "Sum": """\
struct Sum { template <class T> DEVICE T operator()(T a, T b) const { return a + b; } };
""",
    "Product": """\
struct Product { template <class T> DEVICE T operator()(T a, T b) const { return a * b; } };
""",
    "Maximum": """\
struct Maximum { template <class T> DEVICE T operator()(T a, T b) const { return maximum(a, b); } };
""",
    "Minimum": """\
struct Minimum { template <class T> DEVICE T operator()(T a, T b) const { return minimum(a, b); } };
""",
    "Any": """\
struct Any { DEVICE bool operator()(bool a, bool b) const { return a | b; } };
""",
    "All": """\
struct All { DEVICE bool operator()(bool a, bool b) const { return a & b; } };
""",
    "FirstGreatest": """\
struct FirstGreatest {  // torch.argmax: NaN is greater than all, the first of equals wins
    template <class T> DEVICE Place<T> operator()(Place<T> a, Place<T> b) const {
        const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
        const bool equal = a.value == b.value || (a_nan && b_nan);
        const bool keep = equal ? a.at < b.at : a_nan || (!b_nan && a.value > b.value);
        return keep ? a : b;
    }
};
""",
    "FirstLeast": """\
struct FirstLeast {  // torch.argmin: NaN is less than all, the first of equals wins
    template <class T> DEVICE Place<T> operator()(Place<T> a, Place<T> b) const {
        const bool a_nan = a.value != a.value, b_nan = b.value != b.value;
        const bool equal = a.value == b.value || (a_nan && b_nan);
        const bool keep = equal ? a.at < b.at : a_nan || (!b_nan && a.value < b.value);
        return keep ? a : b;
    }
};
""",
    "Place": """\
template <class T> struct Place { T value; long long at; };
""",
    "shuffle": """\
template <class T> DEVICE T shuffle(T x, int mask) { return __shfl_xor_sync(~0u, x, mask); }
DEVICE bool shuffle(bool x, int mask) { return __shfl_xor_sync(~0u, (int)x, mask); }
""",
    "shuffle_place": """\
template <class T> DEVICE Place<T> shuffle(Place<T> x, int mask) {
    return {shuffle(x.value, mask), shuffle(x.at, mask)};
}
""",
    "fetch": """\
// Bring what is read soon from memory to the L2 cache.
DEVICE void fetch(const void* place) {
#ifdef __CUDA_ARCH__
    asm volatile("prefetch.global.L2 [%0];" :: "l"(place));
#endif
}
""",
    "warp_reduce": """\
// Every lane of the warp gets the combination of all 32 lanes.
template <class T, class Combine> DEVICE T warp_reduce(T x, Combine combine) {
    #pragma unroll
    for (int mask = 16; mask; mask >>= 1) x = combine(x, shuffle(x, mask));
    return x;
}
""",
    "block_reduce": """\
// Every thread of the block gets the combination of all: warps first, then one value per warp.
template <int THREADS, class T, class Combine> DEVICE T block_reduce(T x, Combine combine) {
    __shared__ T per_warp[THREADS / 32];
    x = warp_reduce(x, combine);
    __syncthreads();  // the values of a reduction before this one have been read
    if (threadIdx.x % 32 == 0) per_warp[threadIdx.x / 32] = x;
    __syncthreads();
    T all = per_warp[0];
    #pragma unroll
    for (int warp = 1; warp < THREADS / 32; ++warp) all = combine(all, per_warp[warp]);
    return all;
}
""",
    "column_reduce": """\
// Threads with the same x, one below the other: each gets the combination of all of them.
template <int LANES, int HEIGHT, class T, class Combine>
DEVICE T column_reduce(T x, Combine combine) {
    __shared__ T tile[HEIGHT][LANES];
    __syncthreads();  // the values of a reduction before this one have been read
    tile[threadIdx.y][threadIdx.x] = x;
    __syncthreads();
    #pragma unroll
    for (int far = HEIGHT / 2; far >= 8; far /= 2) {
        if (threadIdx.y < far) {
            tile[threadIdx.y][threadIdx.x] =
                combine(tile[threadIdx.y][threadIdx.x], tile[threadIdx.y + far][threadIdx.x]);
        }
        __syncthreads();
    }
    T all = tile[0][threadIdx.x];
    #pragma unroll
    for (int y = 1; y < (HEIGHT < 8 ? HEIGHT : 8); ++y) all = combine(all, tile[y][threadIdx.x]);
    return all;
}
""",
    "block_scan": """\
// The combination of the values of all threads before this one; total: of all.
template <int THREADS, class T, class Combine>
DEVICE T block_scan(T x, T start, T& total, Combine combine) {
    __shared__ T per_warp[THREADS / 32];
    const int lane = threadIdx.x % 32, own = threadIdx.x / 32;
    #pragma unroll
    for (int step = 1; step < 32; step <<= 1) {
        const T before = __shfl_up_sync(~0u, x, step);
        if (lane >= step) x = combine(before, x);
    }
    __syncthreads();  // the values of a scan before this one have been read
    if (lane == 31) per_warp[own] = x;
    __syncthreads();
    T before = start;
    total = start;
    #pragma unroll
    for (int warp = 0; warp < THREADS / 32; ++warp) {
        if (warp == own) before = total;
        total = combine(total, per_warp[warp]);
    }
    const T beside = __shfl_up_sync(~0u, x, 1);
    return lane ? combine(before, beside) : before;
}
""",
}
_WORDS = {"unsigned": "unsigned", "as_float": "__uint_as_float", "as_bits": "__float_as_uint"}
_PIECES |= {
    dtype: f"struct {dtype} {{ unsigned char bits; }};\n"
    f"DEVICE float to_float({dtype} x) {{\n{widening(dtype, byte='x.bits', **_WORDS)}}}\n"
    f"DEVICE unsigned bits_of_{dtype}(float f) {{\n{narrowing(dtype, **_WORDS)}}}\n"
    f"DEVICE void put({dtype}& x, float y) {{ x.bits = bits_of_{dtype}(y); }}\n"
    for dtype in FLOAT8
}
_PIECES |= {"run_cell": RECURRENCE, "group_reduce": GROUP_REDUCE}
_NEEDS = {
    "Maximum": ("maximum",), "Minimum": ("minimum",), "FirstGreatest": ("Place",),
    "FirstLeast": ("Place",), "warp_reduce": ("shuffle",), "block_reduce": ("warp_reduce",),
    "shuffle_place": ("shuffle", "Place"), "NAN": (), "group_reduce": ("warp_reduce",),
}  # fmt: skip
_ORDER = (
    "within", "rounded_product", "expm1_of", "fetch",
    "float16", "bfloat16", *FLOAT8,
    "INF", "NAN", "Pack", "maximum", "minimum", "Sum", "Product", "Maximum",
    "Minimum", "Any", "All", "Place", "FirstGreatest", "FirstLeast", "shuffle", "shuffle_place",
    "warp_reduce", "block_reduce", "column_reduce", "block_scan",
    "run_cell", "group_reduce",
)  # fmt: skip


class Language:
    """The words and forms of CUDA C++. Languages like it override those that they write
    differently."""

    types: Mapping[str, str] = TYPES
    """dtype → type."""
    words: Sequence[str] = RESERVED
    """Names that neither a tensor nor a value may have in a kernel."""
    wide_suffix = "ll"
    device = "#define DEVICE __device__ __forceinline__\n"
    pieces: Mapping[str, str] = _PIECES
    rounded: Mapping[str, str] = MappingProxyType({"float32": "__fmul_rn", "float64": "__dmul_rn"})
    """dtype → the product that is rounded before anything is added to it."""

    def prelude(self, text: str) -> str:
        """Return the definitions that ``text`` uses, in an order in which they compile."""
        used = self.pieces.keys() & set(re.findall(r"\w+", text))
        if "load_pack" in text:
            used.add("Pack")
        pending = list(used)
        while pending:
            for name in _NEEDS.get(pending.pop(), ()):
                if name not in used:
                    used.add(name)
                    pending.append(name)
        if "Place" in used and "shuffle" in used:
            used.add("shuffle_place")
        pieces = [self.pieces[name] for name in _ORDER if name in used]
        return "\n".join([self.device, *pieces])

    def head(
        self,
        name: str,
        tensors: Sequence[tuple[str, str, bool]],
        sizes: Sequence[tuple[str, str]],
        threads: int,
        *,
        together: bool,
    ) -> list[str]:
        """Return the first lines of a kernel; ``tensors``: name, dtype, and whether it is written
        to; ``sizes``: name and type of numbers that it is given."""
        parameters = [
            f"{'' if is_written else 'const '}{self.types[dtype]}* __restrict__ {tensor}"
            for tensor, dtype, is_written in tensors
        ]
        parameters += ["float* __restrict__ exchange"] if together else []
        parameters += [f"const {kind} {size}" for size, kind in sizes]
        bounds = f"{threads}, 2" if together else str(threads)
        head = f'extern "C" __global__ void __launch_bounds__({bounds})'
        return [head, f"{name}({', '.join(parameters)}) {{"]

    def launch(self, name: str, blocks: int, threads: tuple[int, int], given: Sequence[str]) -> str:
        """Return the Python statement that runs a kernel."""
        return f'KERNELS.launch("{name}", {blocks}, {threads}, {", ".join(given)})'

    def reduce(
        self, shape: str, threads: int, own: str, combine: str, kind: str
    ) -> tuple[str, str]:
        """Return the declaration that a reduction over threads needs, and its text.

        ``own``: the thread's part, of type ``kind``; ``combine``: what puts two parts together.
        """
        if shape == "column":
            return "", f"column_reduce<LANES, HEIGHT>({own}, {combine}())"
        if threads == 32:
            return "", f"warp_reduce({own}, {combine}())"
        return "", f"block_reduce<THREADS>({own}, {combine}())"

    def widened(self, text: str) -> str:
        """Return a number of a type in which nothing is computed as a float."""
        return f"to_float({text})"

    def put(self, place: str, text: str, dtype: str) -> str:
        """Return the statement that rounds a float to such a type, ``dtype``, and keeps it."""
        return f"put({place}, {text});"

    def literal(self, value: float | int | bool, dtype: str) -> str:
        """Return a number as a literal of ``dtype``."""
        if dtype == "bool":
            return "true" if value else "false"
        if dtype == "int64":
            number, suffix = int(value), self.wide_suffix
            least = f"({number + 1}{suffix} - 1)"
            return least if number == -(2**63) else f"{number}{suffix}"
        if "float" not in dtype:
            return str(int(value))
        value = float(value)
        if math.isfinite(value):
            return repr(value) + ("" if dtype == "float64" else "f")
        text = "NAN" if value != value else "INF" if value > 0 else "-INF"
        return f"(double)({text})" if dtype == "float64" else text

    def neutral(self, op: str, dtype: str) -> str:
        """Return the number that a reduction or scan starts from."""
        if op in _START:
            return self.literal(_START[op], dtype)
        return self.literal(start_value(op.removeprefix("arg"), dtype), dtype)

    def function(self, op: str, dtype: str) -> str:
        """Return the name of a mathematical function."""
        return _FUNCTIONS[op] + ("" if dtype == "float64" else "f")

    def pointwise(self, op: str, args: list[str], dtype: str) -> str:
        """Return the expression for ``op`` of ir.POINTWISE other than 'cast'; ``dtype`` is the
        dtype it computes in."""
        is_float = "float" in dtype
        one = self.literal(1, dtype)
        match op:
            case "relu":
                return f"maximum({args[0]}, {self.literal(0, dtype)})"
            case "reciprocal":
                return f"{one} / {args[0]}"
            case "sigmoid":
                return f"{one} / ({one} + {self.pointwise('exp', [f'-{args[0]}'], dtype)})"
            case "isinf":
                infinite = self.literal(math.inf, dtype)
                return f"{self.pointwise('abs', args, dtype)} == {infinite}"
            case "abs" if not is_float:
                return f"({args[0]} < 0 ? -{args[0]} : {args[0]})"
            case "fmod" if not is_float:
                return f"{args[0]} % {args[1]}"
            case "within":
                return f"within({args[0]}, {args[1]})"
            case "floor" | "ceil" | "round" | "trunc" if not is_float:
                return args[0]
        if op in _OPERATORS:
            return _OPERATORS[op].format(*args)
        return f"{self.function(op, dtype)}({', '.join(args)})"


CUDA = Language()


def held(dtype: str) -> str:
    """Return the dtype in which a value of ``dtype`` is computed and kept in registers."""
    return "float32" if dtype in NARROW else dtype
