"""Attention of few queries in 16 bits, as in a step of decoding: keys are split between programs.

The time is that of reading keys and values once. A program has all queries that share a head of
keys, and one of ``parts`` stretches of the keys that they see; it keeps the maximum, the total and
the sums of its stretch. A second kernel adds these up (flash-decoding; Dao and others, 2023). Of a
cache that is filled in part, nothing behind the last key that is seen is read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kernelwright.compiler.codegen.gpu.launch import Launched
from kernelwright.compiler.codegen.gpu.names import function_name, wrapped
from kernelwright.compiler.codegen.gpu.schedule import N_PROCESSORS, Knobs, power_of_two
from kernelwright.compiler.codegen.gpu.stages import Stages
from kernelwright.compiler.codegen.knobs import Knob, StepSpace, powers_of_two
from kernelwright.compiler.codegen.triton.launch import NAME
from kernelwright.compiler.codegen.triton.narrow_attention import (
    Writer,
    function,
    is_narrow,
    rounded,
    steps_of,
    sum_of,
)
from kernelwright.compiler.ir.ir import Attention, Tensor, contiguous

MOST_ROWS = 64
"""Most queries of one program: those of all heads that share keys."""
TOGETHER = 3
"""Programs that shared memory lets a processor of an H100 run side by side, in the first blocks:
so many are wanted, so that all of them end together."""


def takes(step: Attention) -> bool:
    """Return whether the step is in 16 bits and has few queries, none of which sees fewer keys for
    coming earlier."""
    return is_narrow(step) and not step.causal and _n_rows(step) <= MOST_ROWS


def _n_rows(step: Attention) -> int:
    """Return how many queries read each head of keys."""
    return step.q.shape[1] // step.k.shape[1] * step.q.shape[2]


def choices(step: Attention) -> list[Knobs]:
    """Return knobs, the most promising first; none was measured."""
    sizes = [(64, 4, 3), (128, 4, 2), (128, 8, 2), (32, 4, 4)]
    block_m = max(16, power_of_two(_n_rows(step)))
    wanted = TOGETHER * N_PROCESSORS // (step.k.shape[0] * step.k.shape[1])
    return [
        {
            "block_m": block_m, "block_n": block_n, "warps": warps, "stages": stages,
            "parts": max(1, min(wanted, step.k.shape[2] // (2 * block_n))),
        }
        for block_n, warps, stages in sizes
    ]  # fmt: skip


SPACE = StepSpace(
    (
        Knob("block_n", powers_of_two(16, 256)),
        Knob("parts", (*range(1, 9), 12, 16, 24, 32, 48, 64, 96, 128)),
        Knob("warps", (2, 4, 8)),
        Knob("stages", (1, 2, 3, 4, 5)),
    )
)


def neighbours(knobs: Knobs) -> Iterator[Knobs]:
    """Yield knobs with one of them changed."""
    return SPACE.moves(knobs)


def workspace(step: Attention, knobs: Mapping[str, Any]) -> tuple[Tensor, ...]:
    """Return the tensors that the first kernel passes to the second: maxima, totals and sums."""
    rows = (step.k.shape[0], step.k.shape[1], knobs["parts"], _n_rows(step))
    shapes = {"tops": rows, "totals": rows, "sums": (*rows, step.q.shape[3])}
    return tuple(contiguous(f"{step.name}_{n}", s, "float32") for n, s in shapes.items())


def stages(step: Attention, knobs: Mapping[str, Any]) -> Stages:
    """Return the step with its workspace."""
    return Stages((step,), workspace(step, knobs))


class FewQueries(Writer):
    """The writer of both kernels; of its knobs, ``parts`` is the number of stretches of keys."""

    def __init__(self, step: Attention, knobs: Mapping[str, Any], *, interpreted: bool) -> None:
        super().__init__(step, knobs, interpreted=interpreted)
        self.parts, self.n_rows = int(knobs["parts"]), _n_rows(step)
        self.key_heads = step.k.shape[1]

    def launched(self) -> Launched:
        """Return the functions, and both launches."""
        grid = self.batch * self.key_heads * self.parts
        passed = workspace(self.step, self.knobs)
        made = dict(zip(("tops_ptr", "totals_ptr", "sums_ptr"), passed, strict=True))
        text, launch = self.kernel(grid, made, self._of_a_stretch())
        joined = f"{function_name(self.step)}_joined"
        constants = [f"PARTS={power_of_two(self.parts)}", f"BLOCK_D={self.block_d}", "num_warps=4"]
        given = [tensor.name for tensor in (*passed, self.step.result)]
        n_rows = self.batch * self.key_heads * self.n_rows
        last = wrapped(f"{NAME}(", [[joined, str(n_rows)], given, constants], ")")
        texts = (self.of_keys(), text, self._joined(joined))
        return Launched("\n\n".join(texts), f"{launch}\n{last}", others=(self.block, joined))

    def _of_a_stretch(self) -> list[str]:
        """Return the statements for the queries of a head of keys and one stretch of these."""
        step, n_shared = self.step, self.heads // self.key_heads
        live = self.guard([f"(rows < {self.n_rows})[:, None]"], "[None, :]")
        query = sum_of(step.q.strides[1:3], ("head_of_row", "token"))
        head_of_row = f"head * {n_shared} + row // {self.length}" if n_shared > 1 else "head"
        sums = f"tl.program_id(0) * {self.n_rows} + rows"
        return [
            f"part = tl.program_id(0) % {self.parts}",
            f"head = tl.program_id(0) // {self.parts} % {self.key_heads}",
            f"image = tl.program_id(0) // {self.parts * self.key_heads}",
            "rows, d = tl.arange(0, BLOCK_M), tl.arange(0, BLOCK_D)",
            f"row = tl.minimum(rows, {self.n_rows - 1})",
            f"head_of_row, token = {head_of_row}, row % {self.length}",
            f"q_at = q_ptr + image * {step.q.strides[0]} + {query}",
            f"q = tl.load(q_at[:, None] + (d * {step.q.strides[3]})[None, :]{live}, other=0.0)",
            f"k_at = k_ptr + {sum_of(step.k.strides[:2], ('image', 'head'))}",
            f"v_at = v_ptr + {sum_of(step.v.strides[:2], ('image', 'head'))}",
            *self.seen(),
            "low, high = tl.min(first) // BLOCK_N * BLOCK_N, tl.max(end)",
            f"n_keys = tl.cdiv(tl.maximum(high - low, 0), {self.parts})",
            "n_keys = tl.cdiv(n_keys, BLOCK_N) * BLOCK_N",
            "low += part * n_keys",
            "high = tl.minimum(high, low + n_keys)",
            "within = tl.maximum(low, tl.cdiv(tl.max(first), BLOCK_N) * BLOCK_N)",
            "beyond = tl.minimum(tl.min(end), high) // BLOCK_N * BLOCK_N",
            *self.loops(),
            f"sums = {sums}",
            f"live = rows < {self.n_rows}",
            "tl.store(tops_ptr + sums, top, mask=live)",
            "tl.store(totals_ptr + sums, total, mask=live)",
            f"tl.store(sums_ptr + (sums * {self.width})[:, None] + d[None, :], acc{live})",
        ]

    def seen(self) -> list[str]:
        """Return the statements that say which keys each query may see."""
        step, lines = self.step, []
        names = ("image", "head_of_row", "token")
        if step.mask:
            *places, _ = steps_of(step.mask, 4)
            lines = ["mask_at = mask_ptr", f"mask_rows = {sum_of(places, names)} + row * 0"]
        if step.spans:
            return [
                *lines,
                f"row_at = {sum_of(steps_of(step.spans[0], 3), names)} + row * 0",
                "first, end = tl.load(first_ptr + row_at), tl.load(end_ptr + row_at)",
                "n_seen = tl.load(n_seen_ptr + row_at)",
                "has_gaps = tl.max((n_seen != tl.maximum(end - first, 0)).to(tl.int32)) > 0",
            ]
        first, end = (
            "tl.zeros((BLOCK_M,), tl.int32)",
            f"tl.full((BLOCK_M,), {self.n_keys}, tl.int32)",
        )
        return [*lines, f"first = {first}", f"end = {end}"]

    def _joined(self, name: str) -> str:
        """Return the kernel that adds up the stretches of a query."""
        step, n_shared = self.step, self.heads // self.key_heads
        n_programs = self.n_rows * self.key_heads
        head = f"head * {n_shared} + row // {self.length}" if n_shared > 1 else "head"
        out_at = sum_of(step.result.strides[:3], ("image", "head_of_row", "token"))
        guard = self.guard([], "")
        lines = [
            f"row = tl.program_id(0) % {self.n_rows}",
            f"head = tl.program_id(0) // {self.n_rows} % {self.key_heads}",
            f"image = tl.program_id(0) // {n_programs}",
            f"head_of_row, token = {head}, row % {self.length}",
            "parts, d = tl.arange(0, PARTS), tl.arange(0, BLOCK_D)",
            f"live = parts < {self.parts}",
            f"at = (image * {self.key_heads} + head) * {self.parts} + parts",
            f"at = at * {self.n_rows} + row",
            'tops = tl.load(tops_ptr + at, mask=live, other=float("-inf"))',
            "top = tl.max(tops, 0)",
            'weights = tl.exp2(tops - tl.where(top == float("-inf"), 0.0, top))',
            "total = tl.sum(tl.load(totals_ptr + at, mask=live, other=0.0) * weights, 0)",
            f"sums_at = (at * {self.width})[:, None] + d[None, :]",
            f"live = live[:, None]{' & (d < ' + str(self.width) + ')[None, :]' if guard else ''}",
            "sums = tl.load(sums_ptr + sums_at, mask=live, other=0.0)",
            "out = tl.sum(sums * weights[:, None], 0) / tl.where(total == 0.0, 1.0, total)",
            f"out_at = out_ptr + {out_at}",
            f"tl.store(out_at + d * {step.result.strides[3]}, "
            f"{rounded('out', step.result, interpreted=self.interpreted)}{guard})",
        ]
        pointers = ["tops_ptr", "totals_ptr", "sums_ptr", "out_ptr"]
        return function(name, [pointers, ["PARTS: tl.constexpr", "BLOCK_D: tl.constexpr"]], lines)
