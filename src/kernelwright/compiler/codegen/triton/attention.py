"""Attention in float32 as one Triton kernel: scores, softmax and weighted sum, one tile of queries
at a time, on the tensor cores.

Every factor is split into three bfloat16 parts, of which six products matter (see split.py). The
softmax is computed online: a greater maximum scales down the sums so far (Milakov and Gimelshein,
2018). A tile that ends as NaN may have met infinities, whose parts are NaN; it is recomputed from
the unsplit operands.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

from kernelwright.compiler.codegen.gpu.launch import Launched
from kernelwright.compiler.codegen.gpu.names import function_name, wrapped
from kernelwright.compiler.codegen.gpu.schedule import Knobs, power_of_two
from kernelwright.compiler.codegen.gpu.stages import Stages
from kernelwright.compiler.codegen.knobs import Knob, StepSpace, powers_of_two
from kernelwright.compiler.codegen.triton import few_queries, narrow_attention
from kernelwright.compiler.codegen.triton.split import PRODUCTS, split_inside
from kernelwright.compiler.ir.ir import Attention, Tensor
from kernelwright.compiler.ir.sizes import fixed_only

WIDEST = 128
"""Largest width of a head that a program keeps; wider ones leave no registers for scores."""
_LARGE = 2**31 - 2**20


def supports(step: Attention) -> bool:
    """Return whether the step has 32-bit indices, and is in float32 with narrow heads and no mask,
    or in 16 bits."""
    tensors = (*step.reads, *step.writes)
    extents = (sum((n - 1) * s for n, s in zip(t.shape, t.strides, strict=True)) for t in tensors)
    ways = (_takes, few_queries.takes, narrow_attention.takes)
    return max(extents) < _LARGE and any(takes(step) for takes in ways)


def _takes(step: Attention) -> bool:
    batch, heads, _, width = step.q.shape
    is_alike = step.k.shape == step.v.shape and step.k.shape[:2] == (batch, heads)
    is_alike = is_alike and step.k.shape[3] == width <= WIDEST and not (step.mask or step.cap)
    return is_alike and all(t.dtype == "float32" for t in (*step.reads, *step.writes))


def choices(step: Attention) -> list[Knobs]:
    """Return knobs, the most promising first; none was measured."""
    if few_queries.takes(step):
        return few_queries.choices(step)
    if narrow_attention.takes(step):
        return narrow_attention.choices(step)
    sizes = [(128, 64, 8, 2), (64, 64, 4, 2), (128, 32, 8, 2), (64, 32, 4, 3)]
    if step.q.shape[3] > 64:
        sizes = [(128, 32, 8, 1), (64, 32, 4, 1), (64, 64, 4, 1), (128, 64, 8, 1)]
    names = ("block_m", "block_n", "warps", "stages")
    return [dict(zip(names, size, strict=True)) for size in sizes]


SPACE = StepSpace(
    (
        Knob("block_m", powers_of_two(32, 256)),
        Knob("block_n", powers_of_two(16, 128)),
        Knob("warps", (4, 8)),
        Knob("stages", (1, 2, 3, 4)),
    )
)


def neighbours(step: Attention, knobs: Knobs) -> Iterator[Knobs]:
    """Yield knobs with one of them changed. The compiler refuses what shared memory cannot hold."""
    return few_queries.neighbours(knobs) if "parts" in knobs else SPACE.moves(knobs)


def stages(step: Attention, knobs: Mapping[str, Any]) -> Stages:
    """Return the step with the tensors that its kernels pass to each other."""
    return few_queries.stages(step, knobs) if "parts" in knobs else Stages((step,))


def emit_attention(step: Attention, knobs: Mapping[str, Any], *, interpreted: bool) -> Launched:
    """Emit ``step`` in Triton under ``knobs``: block_m, block_n, warps, stages."""
    if few_queries.takes(step):
        return few_queries.FewQueries(step, knobs, interpreted=interpreted).launched()
    if narrow_attention.takes(step):
        return narrow_attention.Writer(step, knobs, interpreted=interpreted).launched()
    tensors = (step.q, step.k, step.v, step.result)
    fixed_only([(tensor.shape[1:], tensor.strides) for tensor in tensors])
    batch, heads, length, width = step.q.shape
    tiles = math.ceil(length / knobs["block_m"])
    name, pointers = function_name(step), ["q_ptr", "k_ptr", "v_ptr", "out_ptr"]
    constants = {
        "BLOCK_M": knobs["block_m"], "BLOCK_N": knobs["block_n"],
        "BLOCK_D": max(16, power_of_two(width)),
    }  # fmt: skip
    head = ", ".join([*pointers, *(f"{constant}: tl.constexpr" for constant in constants)])
    body = [*_start(step, tiles), *_loop(step, exact=False, interpreted=interpreted)]
    body += ["if tl.max((out != out).to(tl.int32)) > 0:  # infinities have no parts"]
    body += [f"    {line}" for line in _loop(step, exact=True, interpreted=interpreted)]
    body += [f"tl.store(out_ptr + {_index(step.result, 'rows', 'd')}, out, mask=live_q)"]
    about = [f"# {line}" for line in step.origin]
    lines = "".join(f"    {line}\n" for line in [*about, *body])
    text = f"@triton.jit\ndef {name}({head}):\n{lines}"
    given = [tensor.name for tensor in (step.q, step.k, step.v, step.result)]
    options = [f"{key}={value}" for key, value in constants.items()]
    options += [f"num_warps={knobs['warps']}", f"num_stages={knobs['stages']}"]
    return Launched(text, wrapped(f"{name}[({batch * heads * tiles},)](", [given, options], ")"))


def _start(step: Attention, tiles: int) -> list[str]:
    """Return the statements that compute which queries the program is for."""
    length, width = step.q.shape[2:]
    return [
        f"tile = tl.program_id(0) % {tiles}",
        f"head = tl.program_id(0) // {tiles} % {step.q.shape[1]}",
        f"image = tl.program_id(0) // {tiles * step.q.shape[1]}",
        "rows = tile * BLOCK_M + tl.arange(0, BLOCK_M)",
        "d = tl.arange(0, BLOCK_D)",
        f"live_q = (rows < {length})[:, None] & (d < {width})[None, :]",
        f"q = tl.load(q_ptr + {_index(step.q, 'rows', 'd')}, mask=live_q, other=0.0)",
        f"q = q * {step.scale * math.log2(math.e)!r}  # powers of two below",
    ]


def _index(tensor: Tensor, rows: str, columns: str, *, turned: bool = False) -> str:
    """Return the indices of a tile of a head; ``turned`` transposes the tile."""
    image, head, row, column = tensor.strides
    first, second = ("[None, :]", "[:, None]") if turned else ("[:, None]", "[None, :]")
    return (
        f"image * {image} + head * {head} + "
        f"({rows} * {row}){first} + ({columns} * {column}){second}"
    )


def _loop(step: Attention, *, exact: bool, interpreted: bool) -> list[str]:
    """Return the loop over keys and values, which leaves its result in ``out``."""
    n_keys, width = step.k.shape[2:]
    end = f"min({n_keys}, (tile + 1) * BLOCK_M)" if step.causal else str(n_keys)
    kept = [f"(columns < {n_keys})[None, :]"]
    kept += ["(columns[None, :] <= rows[:, None])"] if step.causal else []
    keys = _index(step.k, "columns", "d", turned=True)
    inside = [
        "columns = start + tl.arange(0, BLOCK_N)",
        f"live = (columns < {n_keys})[:, None] & (d < {width})[None, :]",
        f"live_k = (d < {width})[:, None] & (columns < {n_keys})[None, :]",
        f"k = tl.load(k_ptr + {keys}, mask=live_k, other=0.0)",
        *_product("s", "q", "k", exact=exact, interpreted=interpreted),
        f's = tl.where({" & ".join(kept)}, s, float("-inf"))',
        "above = tl.maximum(top, tl.max(s, 1))",
        'near = tl.where(above == float("-inf"), 0.0, above)  # where no score is above that yet',
        "p = tl.exp2(s - near[:, None])",
        "less = tl.exp2(top - near)",
        "total = total * less + tl.sum(p, 1)",
        f"v = tl.load(v_ptr + {_index(step.v, 'columns', 'd')}, mask=live, other=0.0)",
        *_product("o", "p", "v", exact=exact, interpreted=interpreted),
        "acc = acc * less[:, None] + o",
        "top = above",
    ]
    before = [] if exact else split_inside("q", interpreted=interpreted)
    return [
        *before,
        'top = tl.full((BLOCK_M,), float("-inf"), tl.float32)',
        "total = tl.zeros((BLOCK_M,), tl.float32)",
        "acc = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)",
        f"for start in range(0, {end}, BLOCK_N):",
        *(f"    {line}" for line in inside),
        "out = acc / total[:, None]",
    ]


def _product(to: str, a: str, b: str, *, exact: bool, interpreted: bool) -> list[str]:
    """Return statements that set ``to`` to the product of two tiles; q is already split into
    parts."""
    if exact:
        return [f'{to} = tl.dot({a}, {b}, input_precision="ieee")']
    lines = [line for x in (a, b) if x != "q" for line in split_inside(x, interpreted=interpreted)]
    wide = ".to(tl.float32)" if interpreted else ""
    precision = ', input_precision="ieee"' if interpreted else ""
    for i, (left, right) in enumerate(PRODUCTS):
        so_far = f", {to}" if i else ""
        lines.append(f"{to} = tl.dot({a}{left}{wide}, {b}{right}{wide}{so_far}{precision})")
    return lines
