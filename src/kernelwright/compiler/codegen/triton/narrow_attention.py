"""Attention in 16 bits as one Triton kernel: with a mask, or with scores that are capped.

The library's kernels are faster where they take attention as it is. They take no cap, and with a
mask they compute all scores. Here a program has a tile of queries, and of each query the first key
that it sees and the end of the last. It leaves out tiles of keys that none of its queries sees; in
between, where all see all, nothing is masked. The mask itself is read only by tiles in which a
query does not see all keys from its first to its last.

The softmax is computed online: a greater maximum scales down the sums so far (Milakov and
Gimelshein, 2018). Weights are rounded to the values' type, as in flash attention. A query that sees
no key has a result of zero, as in torch's safe softmax.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from kernelwright.compiler.codegen.gpu.launch import Launched
from kernelwright.compiler.codegen.gpu.names import function_name, wrapped
from kernelwright.compiler.codegen.gpu.schedule import Knobs, power_of_two
from kernelwright.compiler.codegen.triton.ops import TYPES
from kernelwright.compiler.ir.ir import Attention, Tensor
from kernelwright.compiler.ir.sizes import fixed_only

WIDEST = 256
"""Largest width of a head: a program keeps the results of its queries in registers."""


def takes(step: Attention) -> bool:
    """Return whether the step is in 16 bits, and no kernel of the library suits it."""
    dtypes = {tensor.dtype for tensor in (step.q, step.k, step.v, step.result)}
    batch, heads, _, width = step.q.shape
    shares = step.k.shape[0] == batch and heads % step.k.shape[1] == 0
    is_alike = step.k.shape == step.v.shape and step.k.shape[3] == width and shares
    is_own = step.mask is not None or step.cap > 0
    return is_own and is_alike and dtypes in ({"bfloat16"}, {"float16"}) and width <= WIDEST


def choices(step: Attention) -> list[Knobs]:
    """Return knobs, the most promising first; none was measured."""
    width = step.q.shape[3]
    sizes = [(128, 64, 4, 3), (128, 64, 8, 3), (64, 64, 4, 3), (128, 128, 8, 2)]
    if width > 64:
        sizes = [(128, 64, 8, 3), (128, 128, 8, 2), (64, 64, 4, 3), (128, 64, 4, 2)]
    if width > 128:
        sizes = [(128, 64, 8, 2), (64, 64, 4, 2), (128, 32, 8, 3), (64, 32, 4, 3)]
    names = ("block_m", "block_n", "warps", "stages")
    return [dict(zip(names, size, strict=True)) for size in sizes]


def emit_narrow(step: Attention, knobs: Mapping[str, Any], *, interpreted: bool) -> Launched:
    """Emit ``step`` in Triton under ``knobs``: block_m, block_n, warps, stages."""
    masks = (step.mask,) if step.mask else ()
    tensors = (step.q, step.k, step.v, step.result, *masks, *step.spans)
    fixed_only([(tensor.shape[1:], tensor.strides) for tensor in tensors])
    batch, heads, length, width = step.q.shape
    tiles = math.ceil(length / knobs["block_m"])
    given = {"q_ptr": step.q, "k_ptr": step.k, "v_ptr": step.v, "out_ptr": step.result}
    given |= dict(zip(("mask_ptr",), masks, strict=False))
    given |= dict(zip(("first_ptr", "end_ptr", "seen_ptr"), step.spans, strict=False))
    constants = {
        "BLOCK_M": knobs["block_m"], "BLOCK_N": knobs["block_n"],
        "BLOCK_D": max(16, power_of_two(width)),
    }  # fmt: skip
    name = function_name(step)
    head = ", ".join([*given, *(f"{constant}: tl.constexpr" for constant in constants)])
    about = [f"# {line}" for line in step.origin]
    lines = "".join(
        f"    {line}\n" for line in [*about, *_body(step, tiles, interpreted=interpreted)]
    )
    text = f"{_keys(step, interpreted=interpreted)}\n\n@triton.jit\ndef {name}({head}):\n{lines}"
    options = [f"{key}={value}" for key, value in constants.items()]
    options += [f"num_warps={knobs['warps']}", f"num_stages={knobs['stages']}"]
    arguments = [tensor.name for tensor in given.values()]
    launch = wrapped(f"{name}[({batch * heads * tiles},)](", [arguments, options], ")")
    return Launched(text, launch, others=(_block(step),))


def _block(step: Attention) -> str:
    """Return the name of the function for one block of keys."""
    return f"{function_name(step)}_block"


def _body(step: Attention, tiles: int, *, interpreted: bool) -> list[str]:
    """Return the statements of the kernel: a tile of queries, and blocks of keys in three loops."""
    _, heads, length, _ = step.q.shape
    n_shared = heads // step.k.shape[1]
    live = [f"(rows < {length})[:, None]", *_narrower(step, "[None, :]")]
    key_head = f"head // {n_shared}" if n_shared > 1 else "head"
    calls = [_call(step, within=within) for within in (False, True, False)]
    is_one = "(beyond <= within)" + (" | has_gaps" if step.spans else "")
    return [
        f"tile = {tiles - 1} - tl.program_id(0) % {tiles}  # under a triangle, the longest first",
        f"head = tl.program_id(0) // {tiles} % {heads}",
        f"image = tl.program_id(0) // {tiles * heads}",
        "rows = tile * BLOCK_M + tl.arange(0, BLOCK_M)",
        "d = tl.arange(0, BLOCK_D)",
        f"q_at = q_ptr + {_head_of(step.q, 'head')}",
        f"q = tl.load(q_at + {_tile_of(step.q, 'rows', 'd')}, mask={' & '.join(live)}, other=0.0)",
        f"k_at = k_ptr + {_head_of(step.k, key_head)}",
        f"v_at = v_ptr + {_head_of(step.v, key_head)}",
        *_seen(step),
        "low, high = tl.min(first) // BLOCK_N * BLOCK_N, tl.max(end)",
        "within = tl.cdiv(tl.max(first), BLOCK_N) * BLOCK_N",
        "beyond = tl.min(end) // BLOCK_N * BLOCK_N",
        f"if {is_one}:  # no block of keys is seen by all queries",
        "    within = high",
        "    beyond = high",
        'top = tl.full((BLOCK_M,), float("-inf"), tl.float32)',
        "total = tl.zeros((BLOCK_M,), tl.float32)",
        "acc = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)",
        "for start in range(low, within, BLOCK_N):",
        *calls[0],
        "for start in range(within, beyond, BLOCK_N):",
        *calls[1],
        "for start in range(beyond, high, BLOCK_N):",
        *calls[2],
        "out = acc / tl.where(total == 0.0, 1.0, total)[:, None]",
        f"out_at = out_ptr + {_head_of(step.result, 'head')}",
        f"tl.store(out_at + {_tile_of(step.result, 'rows', 'd')}, "
        f"{_rounded('out', step.result, interpreted=interpreted)}, mask={' & '.join(live)})",
    ]


def _seen(step: Attention) -> list[str]:
    """Return the statements that say which keys each query may see: from ``first`` to ``end``."""
    n_keys, length = step.k.shape[2], step.q.shape[2]
    if step.spans:
        assert step.mask is not None
        (image, head, along, _), rows = _steps(step.mask, 4), _steps(step.spans[0], 3)
        row = f"tl.minimum(rows, {length - 1})"
        return [
            f"row = image * {rows[0]} + head * {rows[1]} + {row} * {rows[2]}",
            "first = tl.load(first_ptr + row)",
            "end = tl.load(end_ptr + row)",
            "seen = tl.load(seen_ptr + row)",
            "has_gaps = tl.max((seen != tl.maximum(end - first, 0)).to(tl.int32)) > 0",
            f"mask_at = mask_ptr + image * {image} + head * {head}",
            f"mask_rows = {row} * {along}",
        ]
    lines = ["first = tl.zeros((BLOCK_M,), tl.int32)"]
    if step.mask is not None:
        image, head, along, _ = _steps(step.mask, 4)
        lines.append(f"mask_at = mask_ptr + image * {image} + head * {head}")
        lines.append(f"mask_rows = tl.minimum(rows, {length - 1}) * {along}")
    if step.causal:
        return [*lines, f"end = tl.minimum(rows + 1, {n_keys})"]
    return [*lines, f"end = tl.full((BLOCK_M,), {n_keys}, tl.int32)"]


def _call(step: Attention, *, within: bool) -> list[str]:
    """Return the statements of a loop over blocks of keys, ``within`` those that all queries
    see."""
    masks = ["mask_at", "mask_rows"] if step.mask else []
    masks += ["has_gaps"] if step.spans else []
    given = ["start", "q", "k_at", "v_at", "d", "first", "end", *masks, "top", "total", "acc"]
    text = f"{_block(step)}({', '.join(given)}, {within}, BLOCK_N)"
    return ["    top, total, acc = (", f"        {text}", "    )"]


def _keys(step: Attention, *, interpreted: bool) -> str:
    """Return the function that adds a block of keys to the sums of a tile of queries."""
    masks = ["mask_at", "mask_rows"] if step.mask else []
    masks += ["has_gaps"] if step.spans else []
    given = ["start", "q", "k_at", "v_at", "d", "first", "end", *masks, "top", "total", "acc"]
    live = [f"(columns < {step.k.shape[2]})"]
    factor, scores = _scores(step)
    wide = ".to(tl.float32)" if interpreted else ""
    rounded = _rounded("p", step.v, interpreted=interpreted) + wide
    k_tile = _tile_of(step.k, "columns", "d", turned=True)
    v_tile = _tile_of(step.v, "columns", "d")
    lines = [
        "columns = start + tl.arange(0, BLOCK_N)",
        "if WITHIN:",
        f"    k = tl.load(k_at + {k_tile}{_guard(_narrower(step, '[:, None]'))})",
        f"    v = tl.load(v_at + {v_tile}{_guard(_narrower(step, '[None, :]'))})",
        "else:",
        "    k = tl.load(k_at + "
        f"{k_tile}{_guard([f'{live[0]}[None, :]', *_narrower(step, '[:, None]')])})",
        "    v = tl.load(v_at + "
        f"{v_tile}{_guard([f'{live[0]}[:, None]', *_narrower(step, '[None, :]')])})",
        f"s = tl.dot(q{wide}, k{wide}" + (', input_precision="ieee")' if interpreted else ")"),
        *scores,
        *_hidden(step),
        f"above = tl.maximum(top, tl.max(s, 1) * {factor!r})",
        'near = tl.where(above == float("-inf"), 0.0, above)  # where no key was seen yet',
        f"p = tl.exp2(s * {factor!r} - near[:, None])",
        "less = tl.exp2(top - near)",
        "total = total * less + tl.sum(p, 1)",
        f"acc = tl.dot({rounded}, v{wide}, acc * less[:, None]"
        + (', input_precision="ieee")' if interpreted else ")"),
        "return above, total, acc",
    ]
    head = f"{', '.join(given)}, WITHIN: tl.constexpr, BLOCK_N: tl.constexpr"
    body = "".join(f"    {line}\n" for line in lines)
    return f"@triton.jit\ndef {_block(step)}({head}):\n{body}"


def _scores(step: Attention) -> tuple[float, list[str]]:
    """Return the factor, above zero, that makes scores exponents of two, and the statements that
    make scores of the products of queries and keys."""
    lines, factor = [], math.log2(math.e)
    if step.cap:
        lines = [
            f"s = tl.exp2(s * {2 * factor * step.scale / step.cap!r})  # tanh from here",
            "s = 1.0 - 2.0 / (s + 1.0)",
        ]
        factor *= step.cap
    elif step.scale > 0 and (step.spans or not step.mask):
        factor *= step.scale
    else:
        lines = [f"s *= {step.scale!r}"]
    if step.mask and not step.spans:
        added = "tl.load({}, mask=({})[None, :], other=0.0)".format(
            _mask_tile(step), f"columns < {step.k.shape[2]}"
        )
        lines.append(f"s += {added}.to(tl.float32)" + (f" * {1 / step.cap!r}" if step.cap else ""))
    return factor, lines


def _hidden(step: Attention) -> list[str]:
    """Return the statements that hide the scores of keys that a query does not see."""
    lines = [
        "if not WITHIN:",
        "    seen = (columns[None, :] >= first[:, None]) & (columns[None, :] < end[:, None])",
    ]
    if step.spans:
        lines += [
            "    if has_gaps:",
            f"        seen &= tl.load({_mask_tile(step)}, mask=seen, other=0) != 0",
        ]
    return [*lines, '    s = tl.where(seen, s, float("-inf"))']


def _mask_tile(step: Attention) -> str:
    assert step.mask is not None
    along = _steps(step.mask, 4)[3]
    return f"mask_at + mask_rows[:, None] + (columns * {along})[None, :]"


def _rounded(name: str, tensor: Tensor, *, interpreted: bool) -> str:
    """Return a value rounded to a tensor's type, which Triton's interpreter does not do itself."""
    is_cut_off = interpreted and tensor.dtype == "bfloat16"
    return f"to_bfloat16({name})" if is_cut_off else f"{name}.to({TYPES[tensor.dtype]})"


def _guard(conditions: list[str]) -> str:
    return f", mask={' & '.join(conditions)}, other=0.0" if conditions else ""


def _narrower(step: Attention, shape: str) -> list[str]:
    """Return the condition that a column of a head exists, where tiles are wider than heads."""
    width = step.q.shape[3]
    return [f"(d < {width}){shape}"] if width != max(16, power_of_two(width)) else []


def _head_of(tensor: Tensor, head: str) -> str:
    image, step = tensor.strides[:2]
    return f"image * {image} + {head} * {step}"


def _tile_of(tensor: Tensor, rows: str, columns: str, *, turned: bool = False) -> str:
    """Return the places of a tile of a head from its start; ``turned`` transposes the tile."""
    row, column = tensor.strides[2:]
    first, second = ("[None, :]", "[:, None]") if turned else ("[:, None]", "[None, :]")
    return f"({rows} * {row}){first} + ({columns} * {column}){second}"


def _steps(tensor: Tensor, n_dims: int) -> tuple[int, ...]:
    """Return the steps of a tensor along the first dimensions of scores: 0 where it is
    broadcast."""
    steps = [0 if n == 1 else s for n, s in zip(tensor.shape, tensor.strides, strict=True)]
    return (*[0] * (n_dims - len(steps)), *steps)
