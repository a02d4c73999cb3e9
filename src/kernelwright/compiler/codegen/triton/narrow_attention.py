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
from collections.abc import Mapping, Sequence
from typing import Any

from kernelwright.compiler.codegen.gpu.launch import Launched
from kernelwright.compiler.codegen.gpu.names import function_name, wrapped
from kernelwright.compiler.codegen.gpu.schedule import Knobs, power_of_two
from kernelwright.compiler.codegen.gpu.text import affine, grouped
from kernelwright.compiler.codegen.triton.launch import NAME
from kernelwright.compiler.codegen.triton.ops import TYPES
from kernelwright.compiler.ir.ir import Affine, Attention, Tensor
from kernelwright.compiler.ir.sizes import fixed_only

WIDEST = 256
"""Largest width of a head: a program keeps the results of its queries in registers."""
LEAST_ADDED = -1e37
"""Least finite value of a mask that is added. Less, such as bfloat16's least value, would become
minus infinity as an exponent of two, and a query whose keys all have it would see none."""


def takes(step: Attention) -> bool:
    """Return whether the step is in 16 bits, and no kernel of the library suits it."""
    return is_narrow(step) and (step.mask is not None or step.cap > 0)


def is_narrow(step: Attention) -> bool:
    """Return whether the step is in 16 bits, with heads that a program can keep."""
    dtypes = {tensor.dtype for tensor in (step.q, step.k, step.v, step.result)}
    batch, heads, _, width = step.q.shape
    shares = step.k.shape[0] == batch and heads % step.k.shape[1] == 0
    is_alike = step.k.shape == step.v.shape and step.k.shape[3] == width and shares
    return is_alike and dtypes in ({"bfloat16"}, {"float16"}) and width <= WIDEST


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


class Writer:
    """The writer of one kernel: a function for a block of keys, and one for a tile of queries.

    Its knobs are block_m, block_n, warps and stages.
    """

    def __init__(self, step: Attention, knobs: Mapping[str, Any], *, interpreted: bool) -> None:
        masks = (step.mask,) if step.mask else ()
        tensors = (step.q, step.k, step.v, step.result, *masks, *step.spans)
        fixed_only([(tensor.shape[1:], tensor.strides) for tensor in tensors])
        self.step, self.knobs, self.interpreted = step, knobs, interpreted
        self.batch, self.heads, self.length, self.width = step.q.shape
        self.n_keys = step.k.shape[2]
        self.block_d = max(16, power_of_two(self.width))
        self.name = function_name(step)
        self.block = f"{self.name}_block"
        self.passed = ["start", "q", "k_at", "v_at", "d", "first", "end"]
        self.passed += ["mask_at", "mask_rows"] if step.mask else []
        self.passed += ["has_gaps"] if step.spans else []
        self.passed += ["top", "total", "acc"]
        """What the function for a block of keys is given."""

    def launched(self) -> Launched:
        """Return both functions, and the launch."""
        grid = self.batch * self.heads * self._tiles()
        text, launch = self.kernel(grid, {"out_ptr": self.step.result}, self._of_queries())
        return Launched(f"{self.of_keys()}\n\n{text}", launch, others=(self.block,))

    def kernel(self, grid: int, made: Mapping[str, Tensor], lines: list[str]) -> tuple[str, str]:
        """Return the kernel of these statements that writes to ``made``, and its launch."""
        step = self.step
        given = {"q_ptr": step.q, "k_ptr": step.k, "v_ptr": step.v, **made}
        given |= dict(zip(("mask_ptr",), (step.mask,) if step.mask else (), strict=False))
        given |= dict(zip(("first_ptr", "end_ptr", "n_seen_ptr"), step.spans, strict=False))
        constants = {
            "BLOCK_M": self.knobs["block_m"], "BLOCK_N": self.knobs["block_n"],
            "BLOCK_D": self.block_d,
        }  # fmt: skip
        named = [f"{name}: tl.constexpr" for name in constants]
        about = [f"# {line}" for line in step.origin]
        text = function(self.name, [[*given], named], [*about, *lines])
        options = [f"{key}={value}" for key, value in constants.items()]
        options += [f"num_{key}={self.knobs[key]}" for key in ("warps", "stages")]
        arguments = [tensor.name for tensor in given.values()]
        launch = wrapped(f"{NAME}(", [[self.name, str(grid)], arguments, options], ")")
        return text, launch

    def _tiles(self) -> int:
        return math.ceil(self.length / self.knobs["block_m"])

    def _of_queries(self) -> list[str]:
        """Return the statements for a tile of queries: blocks of keys in three loops."""
        step, tiles, heads = self.step, self._tiles(), self.heads
        n_shared = heads // step.k.shape[1]
        key_head = f"head // {n_shared}" if n_shared > 1 else "head"
        live = self.guard([f"(rows < {self.length})[:, None]"], "[None, :]")
        out = rounded("out", step.result, interpreted=self.interpreted)
        return [
            f"tile = {tiles - 1} - tl.program_id(0) % {tiles}  # the longest first",
            f"head = tl.program_id(0) // {tiles} % {heads}",
            f"image = tl.program_id(0) // {tiles * heads}",
            "rows = tile * BLOCK_M + tl.arange(0, BLOCK_M)",
            "d = tl.arange(0, BLOCK_D)",
            f"q_at = q_ptr + {_along(step.q, 'image', 'head')}",
            f"q = tl.load(q_at + {tile_of(step.q, 'rows', 'd')}{live}, other=0.0)",
            f"k_at = k_ptr + {_along(step.k, 'image', key_head)}",
            f"v_at = v_ptr + {_along(step.v, 'image', key_head)}",
            *self.seen(),
            "low, high = tl.min(first) // BLOCK_N * BLOCK_N, tl.max(end)",
            "within = tl.cdiv(tl.max(first), BLOCK_N) * BLOCK_N",
            "beyond = tl.min(end) // BLOCK_N * BLOCK_N",
            *self.loops(),
            "out = acc / tl.where(total == 0.0, 1.0, total)[:, None]",
            f"out_at = out_ptr + {_along(step.result, 'image', 'head')}",
            f"tl.store(out_at + {tile_of(step.result, 'rows', 'd')}, {out}{live})",
        ]

    def loops(self) -> list[str]:
        """Return the loops over blocks of keys from ``low`` to ``high``, of which all queries see
        those from ``within`` to ``beyond``."""
        is_one = "(beyond <= within) | has_gaps" if self.step.spans else "beyond <= within"
        return [
            f"if {is_one}:  # no block of keys is seen by all queries",
            "    within = high",
            "    beyond = high",
            'top = tl.full((BLOCK_M,), float("-inf"), tl.float32)',
            "total = tl.zeros((BLOCK_M,), tl.float32)",
            "acc = tl.zeros((BLOCK_M, BLOCK_D), tl.float32)",
            *self._loop("low", "within", within=False),
            *self._loop("within", "beyond", within=True),
            *self._loop("beyond", "high", within=False),
        ]

    def seen(self) -> list[str]:
        """Return the statements that say which keys each query may see: from ``first`` to
        ``end``."""
        step, lines = self.step, []
        if step.mask:
            *heads, along, _ = steps_of(step.mask, 4)
            lines.append(f"row = tl.minimum(rows, {self.length - 1})")
            lines.append(f"mask_at = mask_ptr + {sum_of(heads, ('image', 'head'))}")
            lines.append(f"mask_rows = row * {along}")
        if step.spans:
            *heads, along = steps_of(step.spans[0], 3)
            return [
                *lines,
                f"row = {sum_of(heads, ('image', 'head'))} + row * {along}",
                "first, end = tl.load(first_ptr + row), tl.load(end_ptr + row)",
                "n_seen = tl.load(n_seen_ptr + row)",
                "has_gaps = tl.max((n_seen != tl.maximum(end - first, 0)).to(tl.int32)) > 0",
            ]
        if step.causal:
            end = f"tl.minimum(rows + 1, {self.n_keys})"
        else:
            end = f"tl.full((BLOCK_M,), {self.n_keys}, tl.int32)"
        return [*lines, "first = tl.zeros((BLOCK_M,), tl.int32)", f"end = {end}"]

    def _loop(self, start: str, end: str, *, within: bool) -> list[str]:
        """Return a loop over blocks of keys, ``within`` those that all queries see."""
        call = wrapped(f"{self.block}(", [self.passed, [str(within), "BLOCK_N"]], ")")
        text = f"for start in range({start}, {end}, BLOCK_N):\n    top, total, acc = "
        return (text + call.replace("\n", "\n    ")).split("\n")

    def of_keys(self) -> str:
        """Return the function that adds a block of keys to the sums of a tile of queries."""
        step, loads = self.step, []
        for is_live in (False, True):
            tests = (f"(columns < {self.n_keys})",) if is_live else ()
            for name, tensor, row, column in (
                ("k", step.k, "[None, :]", "[:, None]"), ("v", step.v, "[:, None]", "[None, :]")
            ):  # fmt: skip
                guard = self.guard([test + row for test in tests], column)
                guard += ", other=0.0" if guard else ""
                tile = tile_of(tensor, "columns", "d", turned=name == "k")
                loads.append(f"    {name} = tl.load({name}_at + {tile}{guard})")
        factor, scores = self._scores()
        wide, exact = "", ""
        if self.interpreted:
            wide, exact = ".to(tl.float32)", ', input_precision="ieee"'
        weights = rounded("p", step.v, interpreted=self.interpreted) + wide
        lines = [
            "columns = start + tl.arange(0, BLOCK_N)",
            "if WITHIN:", *loads[:2], "else:", *loads[2:],
            f"s = tl.dot(q{wide}, k{wide}{exact})",
            *scores,
            "if not WITHIN:",
            "    seen = (columns[None, :] >= first[:, None]) & (columns[None, :] < end[:, None])",
        ]  # fmt: skip
        if step.spans:
            lines += [
                "    if has_gaps:",
                f"        seen &= tl.load({self._mask_tile()}, mask=seen, other=0) != 0",
            ]
        lines += [
            '    s = tl.where(seen, s, float("-inf"))',
            f"above = tl.maximum(top, tl.max(s, 1) * {factor!r})",
            'near = tl.where(above == float("-inf"), 0.0, above)  # where no key was seen yet',
            f"p = tl.exp2(s * {factor!r} - near[:, None])",
            "less = tl.exp2(top - near)",
            "total = total * less + tl.sum(p, 1)",
            f"acc = tl.dot({weights}, v{wide}, acc * less[:, None]{exact})",
            "return above, total, acc",
        ]
        constants = ["WITHIN: tl.constexpr", "BLOCK_N: tl.constexpr"]
        return function(self.block, [self.passed, constants], lines)

    def _scores(self) -> tuple[float, list[str]]:
        """Return the factor, above zero, that makes scores exponents of two, and the statements
        that make scores of the products of queries and keys."""
        step, lines, factor = self.step, [], math.log2(math.e)
        is_added = step.mask is not None and not step.spans
        if step.cap:
            lines = [
                f"s = tl.exp2(s * {2 * factor * step.scale / step.cap!r})",
                "s = 1.0 - 2.0 / (s + 1.0)  # the tanh",
            ]
            factor *= step.cap
        elif step.scale > 0 and not is_added:
            factor *= step.scale
        else:
            lines = [f"s *= {step.scale!r}"]
        if is_added:
            live = f"(columns < {self.n_keys})[None, :]"
            part = f" * {1 / step.cap!r}" if step.cap else ""
            lines += [
                f"added = tl.load({self._mask_tile()}, mask={live}, other=0.0)",
                "added = added.to(tl.float32)",
                f"is_least = (added < {LEAST_ADDED!r}) & (added > float('-inf'))",
                f"s += tl.where(is_least, {LEAST_ADDED!r}, added){part}",
            ]
        return factor, lines

    def _mask_tile(self) -> str:
        assert self.step.mask is not None
        columns = sum_of(steps_of(self.step.mask, 4)[3:], ("columns",))
        return f"mask_at + mask_rows[:, None] + {grouped(columns)}[None, :]"

    def guard(self, conditions: list[str], columns: str) -> str:
        """Return a load's or store's mask: the conditions, and that a column of a head exists where
        tiles are wider than heads; empty if there are none."""
        wider = [f"(d < {self.width}){columns}"] if self.width != self.block_d else []
        both = [*conditions, *wider]
        return f", mask={' & '.join(both)}" if both else ""


def function(name: str, parameters: list[list[str]], lines: list[str]) -> str:
    """Return a jitted function."""
    head = wrapped(f"def {name}(", parameters, "):")
    return f"@triton.jit\n{head}\n" + "".join(f"    {line}\n" for line in lines)


def rounded(name: str, tensor: Tensor, *, interpreted: bool) -> str:
    """Return a value rounded to a tensor's type, which Triton's interpreter does not do itself."""
    is_cut_off = interpreted and tensor.dtype == "bfloat16"
    return f"to_bfloat16({name})" if is_cut_off else f"{name}.to({TYPES[tensor.dtype]})"


def sum_of(steps: Sequence[int], names: Sequence[str]) -> str:
    """Return the sum of positions times steps, as text."""
    texts = dict(zip("abcd", names, strict=False))
    return affine(Affine.of(dict(zip("abcd", steps, strict=False))), texts)


def _along(tensor: Tensor, image: str, head: str) -> str:
    return sum_of(tensor.strides[:2], (image, head))


def tile_of(tensor: Tensor, rows: str, columns: str, *, turned: bool = False) -> str:
    """Return the places of a tile of a head from its start; ``turned`` transposes the tile."""
    row, column = tensor.strides[2:]
    shapes = ("[None, :]", "[:, None]") if turned else ("[:, None]", "[None, :]")
    sides = (grouped(sum_of([step], (name,))) for step, name in ((row, rows), (column, columns)))
    return " + ".join(side + shape for side, shape in zip(sides, shapes, strict=True))


def steps_of(tensor: Tensor, n_dims: int) -> list[int]:
    """Return the steps of a tensor along the first dimensions of scores: 0 where it is
    broadcast."""
    steps = [0 if n == 1 else s for n, s in zip(tensor.shape, tensor.strides, strict=True)]
    return [0] * (n_dims - len(steps)) + steps
