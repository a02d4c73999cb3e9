"""Attention as one kernel on simdgroup matrices: scores, softmax and weighted sum, one block of
queries at a time, all in float.

Each simdgroup has eight queries. Their factors and results stay in its registers; keys, and then
values, pass through threadgroup memory block by block. The softmax is computed online: a greater
maximum scales down the sums so far (Milakov and Gimelshein, 2018), here by a product with a
diagonal matrix, since no lane may know which sums it holds. Several heads may share their keys and
values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kernelwright.compiler.codegen.gpu.launch import Launched
from kernelwright.compiler.codegen.gpu.names import function_name
from kernelwright.compiler.codegen.gpu.schedule import INT_LIMIT, Knobs
from kernelwright.compiler.codegen.knobs import Knob, StepSpace, powers_of_two
from kernelwright.compiler.codegen.metal.language import METAL
from kernelwright.compiler.ir.ir import NARROW, Attention, Tensor
from kernelwright.compiler.ir.sizes import fixed_only

WIDEST = 256
"""Largest width of a head: a simdgroup keeps eight queries and their results in registers."""
_MEMORY_BYTES = 28 * 1024
"""Threadgroup memory for a block of keys or values, with its scores; 32 KiB are the limit."""


def supports(step: Attention) -> bool:
    """Return whether heads are narrow, have keys and values to share, all of which are seen as they
    are, and need 32-bit indices."""
    tensors = (*step.reads, *step.writes)
    (batch, heads, _, width), keys = step.q.shape, step.k.shape
    alike = keys == step.v.shape and (keys[0], keys[3]) == (batch, width) and keys[2] > 0
    if step.mask or step.cap:
        return False
    if not alike or heads % keys[1] or any(t.dtype not in _DTYPES for t in tensors):
        return False
    extents = (sum((n - 1) * s for n, s in zip(t.shape, t.strides, strict=True)) for t in tensors)
    return width <= WIDEST and max(extents) < INT_LIMIT


_DTYPES = ("float32", "float16", "bfloat16")


def attention_choices(step: Attention) -> list[Knobs]:
    """Return knobs, the most promising first; none was measured."""
    most = max(8, -(-step.q.shape[2] // 8) * 8)
    return [{"block": block} for block in (32, 16, 8) if block <= most and _fits(step, block)]


def attention_neighbours(step: Attention, knobs: Knobs) -> Iterator[Knobs]:
    """Yield knobs with another block."""
    space = StepSpace(
        (Knob("block", powers_of_two(8, 64)),), lambda knobs: _fits(step, knobs["block"])
    )
    return space.moves(knobs)


def _fits(step: Attention, block: int) -> bool:
    """Return whether threadgroup memory holds a block of keys and the scores of a block."""
    wide = -(-step.q.shape[3] // 8) * 8 + 4
    return 4 * block * (wide + block) <= _MEMORY_BYTES


def emit_attention(step: Attention, knobs: Mapping[str, Any]) -> Launched:
    """Emit ``step`` in MSL under ``knobs``: block, the number of queries of a threadgroup and of
    keys at a time."""
    given = (step.q, step.k, step.v, step.result)
    fixed_only([(tensor.shape[1:], tensor.strides) for tensor in given])
    block = int(knobs["block"])
    batch, heads, length, _ = step.q.shape
    threads, tiles = 4 * block, -(-length // block)
    name = function_name(step)
    named = list(zip(("q", "k", "v", "result"), given, strict=True))
    tensors = [(word, tensor.dtype, word == "result") for word, tensor in named]
    about = [f"// {line}" for line in step.origin]
    lines = [*about, *METAL.head(name, tensors, [], threads, together=False)]
    body = _TEXT.format(**_words(step, block, tiles))
    text = "\n".join([*lines, *(f"    {line}" if line else "" for line in body.split("\n"))])
    arguments = [tensor.name for tensor in given]
    launch = METAL.launch(name, batch * heads * tiles, (threads, 1), arguments)
    return Launched(f"{text}}}\n", launch)


def _words(step: Attention, block: int, tiles: int) -> dict[str, Any]:
    """Return what the text of the kernel is filled with."""
    _, heads, length, width = step.q.shape
    keys = step.k.shape[2]
    shared = heads // step.k.shape[1]
    causal = " && column <= query" if step.causal else ""
    return {
        "block": block, "width": width, "parts": -(-width // 8), "length": length, "keys": keys,
        "heads": heads, "tiles": tiles,
        "end": f"metal::min({keys}, first + BLOCK)" if step.causal else str(keys),
        "kept": f"column < {keys}{causal}",
        "scale": METAL.literal(step.scale, "float32"),
        "exp": METAL.function("exp", "float32"),
        "of_q": _start(step.q, "head"), "of_result": _start(step.result, "head"),
        "of_k": _start(step.k, f"(head / {shared})"), "of_v": _start(step.v, f"(head / {shared})"),
        "at_q": _at("q", step.q, "first + row"), "at_k": _at("k", step.k, "start + row"),
        "at_v": _at("v", step.v, "start + row"),
        "put": METAL.put(
            f"result[of_result + {_place(step.result, 'query')}]",
            "scores[at] / fade[at / BLOCK * 9]",
            step.result.dtype,
        )
        if step.result.dtype in NARROW
        else f"result[of_result + {_place(step.result, 'query')}] = "
        "scores[at] / fade[at / BLOCK * 9];",
    }  # fmt: skip


def _start(tensor: Tensor, head: str) -> str:
    """Return where a head begins in a tensor."""
    return f"image * {tensor.strides[0]} + {head} * {tensor.strides[1]}"


def _place(tensor: Tensor, row: str) -> str:
    return f"({row}) * {tensor.strides[2]} + column * {tensor.strides[3]}"


def _at(name: str, tensor: Tensor, row: str) -> str:
    """Return a head's number at a row and a column, as a float."""
    text = f"{name}[of_{name} + {_place(tensor, row)}]"
    return METAL.widened(text) if tensor.dtype in NARROW else text


_TEXT = """\
constexpr int BLOCK = {block}, WIDTH = {width}, PARTS = {parts}, ROW = 8 * PARTS + 4;
constexpr int THREADS = 4 * BLOCK;  // eight queries a simdgroup
threadgroup float slab[BLOCK * ROW];  // of queries, then keys and values in turn
threadgroup float all_scores[BLOCK * BLOCK];
threadgroup float all_fades[BLOCK * 8];
const int me = threadIdx.x, lane = me % 32, group = me / 32;
const int head = blockIdx.x / {tiles} % {heads}, image = blockIdx.x / {tiles} / {heads};
const int first = blockIdx.x % {tiles} * BLOCK;
const int of_q = {of_q}, of_k = {of_k};
const int of_v = {of_v}, of_result = {of_result};
threadgroup float* scores = all_scores + group * 8 * BLOCK;
threadgroup float* fade = all_fades + group * 64;  // a diagonal matrix
for (int at = lane; at < 64; at += 32) fade[at] = 0.0f;
for (int at = me; at < BLOCK * 8 * PARTS; at += THREADS) {{
    const int row = at / (8 * PARTS), column = at % (8 * PARTS);
    float value = 0.0f;
    if (first + row < {length} && column < WIDTH) value = {at_q};
    slab[row * ROW + column] = value * {scale};
}}
metal::threadgroup_barrier(metal::mem_flags::mem_threadgroup);
metal::simdgroup_matrix<float, 8, 8> queries[PARTS], sums[PARTS], a, b;
#pragma unroll
for (int d = 0; d < PARTS; ++d) {{
    metal::simdgroup_load(queries[d], slab + group * 8 * ROW + 8 * d, ROW);
    sums[d] = metal::make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
}}
// Four neighbouring lanes share a row of scores.
const int row = lane / 4, query = first + 8 * group + row;
float top = -INFINITY, total = 0.0f;
for (int start = 0; start < {end}; start += BLOCK) {{
    metal::threadgroup_barrier(metal::mem_flags::mem_threadgroup);
    for (int at = me; at < BLOCK * 8 * PARTS; at += THREADS) {{
        const int row = at / (8 * PARTS), column = at % (8 * PARTS);
        float value = 0.0f;
        if (start + row < {keys} && column < WIDTH) value = {at_k};
        slab[row * ROW + column] = value;
    }}
    metal::threadgroup_barrier(metal::mem_flags::mem_threadgroup);
    #pragma unroll
    for (int j = 0; j < BLOCK; j += 8) {{
        a = metal::make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
        #pragma unroll
        for (int d = 0; d < PARTS; ++d) {{
            metal::simdgroup_load(b, slab + j * ROW + 8 * d, ROW, ulong2(0, 0), true);
            metal::simdgroup_multiply_accumulate(a, queries[d], b, a);
        }}
        metal::simdgroup_store(a, scores + j, BLOCK);
    }}
    metal::simdgroup_barrier(metal::mem_flags::mem_threadgroup);
    float above = top;
    for (int at = lane % 4; at < BLOCK; at += 4) {{
        const int column = start + at;
        const float score = {kept} ? scores[row * BLOCK + at] : -INFINITY;
        scores[row * BLOCK + at] = score;
        above = metal::max(above, score);
    }}
    above = metal::quad_max(above);
    const float near = above == -INFINITY ? 0.0f : above;  // where no score is above that yet
    float sum = 0.0f;
    for (int at = lane % 4; at < BLOCK; at += 4) {{
        const float weight = {exp}(scores[row * BLOCK + at] - near);
        scores[row * BLOCK + at] = weight;
        sum += weight;
    }}
    const float less = {exp}(top - near);
    total = total * less + metal::quad_sum(sum);
    top = above;
    if (lane % 4 == 0) fade[row * 9] = less;
    metal::threadgroup_barrier(metal::mem_flags::mem_threadgroup);
    for (int at = me; at < BLOCK * 8 * PARTS; at += THREADS) {{
        const int row = at / (8 * PARTS), column = at % (8 * PARTS);
        float value = 0.0f;
        if (start + row < {keys} && column < WIDTH) value = {at_v};
        slab[row * ROW + column] = value;
    }}
    metal::threadgroup_barrier(metal::mem_flags::mem_threadgroup);
    metal::simdgroup_load(a, fade, 8);
    #pragma unroll
    for (int d = 0; d < PARTS; ++d) metal::simdgroup_multiply(sums[d], a, sums[d]);
    #pragma unroll
    for (int j = 0; j < BLOCK; j += 8) {{
        metal::simdgroup_load(a, scores + j, BLOCK);
        #pragma unroll
        for (int d = 0; d < PARTS; ++d) {{
            metal::simdgroup_load(b, slab + j * ROW + 8 * d, ROW);
            metal::simdgroup_multiply_accumulate(sums[d], a, b, sums[d]);
        }}
    }}
    metal::simdgroup_barrier(metal::mem_flags::mem_threadgroup);
}}
if (lane % 4 == 0) fade[row * 9] = total;
for (int d = 0; d < PARTS; d += BLOCK / 8) {{
    #pragma unroll
    for (int j = 0; j < BLOCK / 8; ++j)
        if (d + j < PARTS) metal::simdgroup_store(sums[d + j], scores + 8 * j, BLOCK);
    metal::simdgroup_barrier(metal::mem_flags::mem_threadgroup);
    for (int at = lane; at < 8 * BLOCK; at += 32) {{
        const int query = first + 8 * group + at / BLOCK, column = 8 * d + at % BLOCK;
        if (query < {length} && column < WIDTH) {put}
    }}
    metal::simdgroup_barrier(metal::mem_flags::mem_threadgroup);
}}
"""
