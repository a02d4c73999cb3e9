"""Emitted programs built and run as a candidate would be, and compared with their meaning."""

from __future__ import annotations

import functools
import importlib.util
import itertools
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kernelwright.compiler.candidate.module import own_imports
from kernelwright.compiler.codegen.base import Emitted, Schedule
from kernelwright.compiler.ir.interpret import interpret
from kernelwright.compiler.ir.ir import Call, Program, Ref

_NUMBERS = itertools.count()
SPECIAL = (
    "unary_steps", "reductions_short", "reductions_long", "pool_max", "softmax_short",
    "product_infinite",
)  # fmt: skip
"""Cases in which NaN, infinities and equal values must be treated as torch does."""


def source(program: Program, emitted: Emitted) -> str:
    """A module whose ``forward`` runs the program's own steps on its inputs."""
    lines = [*own_imports(emitted.imports, [emitted.definitions]), "", emitted.definitions, ""]
    lines.append(f"def forward({', '.join(t.name for t in program.inputs)}):")
    lines += [f"    {s.name} = {s.tensor}.shape[{s.dim}]" for s in program.sizes]
    for step in program.steps:
        assert not isinstance(step, Call), "only own steps are run here"
        for part in emitted.derived:
            if part.steps[0] == step.name:
                lines.extend(f"    {line}" for line in part.text.split("\n"))
        lines.extend(f"    {line}" for line in emitted.launches[step.name].split("\n"))
    names = [ref.name for ref in program.outputs if isinstance(ref, Ref)]
    lines.append(f"    return ({', '.join(names)},)")
    return "\n".join(lines) + "\n"


def build(text: str, name: str = "forward") -> Any:
    """What a module's text defines as ``name``. It is kept in a file: Triton reads it back."""
    path = Path(_folder().name, f"emitted_{next(_NUMBERS)}.py")
    path.write_text(text)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, name)


@functools.cache
def _folder() -> tempfile.TemporaryDirectory[str]:
    """Of this process, for as long as it lives."""
    return tempfile.TemporaryDirectory(prefix="emitted-")


def with_small_blocks(schedule: Schedule) -> Schedule:
    """The same choices in blocks so small that every loop of a small program runs several times."""
    small = {"block": 32, "rows": 4, "block_m": 16, "block_n": 16, "block_k": 16}

    def shrunk(knobs: Any) -> Any:
        if not isinstance(knobs, dict) or knobs.get("shape") == "lanes" or "programs" in knobs:
            return knobs  # a row with totals is one block
        return {k: min(value, small[k]) if k in small else value for k, value in knobs.items()}

    return {name: shrunk(knobs) for name, knobs in schedule.items()}


def example_inputs(program: Program, *, seed: int = 0, special: bool = False) -> list[Any]:
    """Inputs on the CPU: normal numbers, small integers (in range of every gather), and, where
    ``special``, a NaN, infinities and equal values for tie-breaking."""
    import torch

    generator = torch.Generator().manual_seed(seed)
    values = []
    for tensor in program.inputs:
        dtype = getattr(torch, tensor.dtype)
        if dtype.is_floating_point:
            value = torch.randn(tensor.shape, generator=generator, dtype=torch.float64) * 2
            if special and value.numel() > 8:
                value.view(-1)[1::7] = 1.5
                value.view(-1)[3] = float("nan")
                value.view(-1)[5] = float("inf")
                value.view(-1)[6] = -float("inf")
        else:
            value = torch.randint(0, 12, tensor.shape, generator=generator)
        laid_out = torch.empty_strided(tensor.shape, tensor.strides, dtype=dtype)
        values.append(laid_out.copy_(value))
    return values


TF32_UNIT = 2.0**-10
"""The last bit of what tensor cores read of a float32."""


def is_rounded(schedule: Schedule) -> bool:
    """Whether a GPU rounds operands to TF32 under this schedule."""
    knobs = (value for value in schedule.values() if isinstance(value, Mapping))
    return any(value.get("precision") == "tf32" for value in knobs)


def mismatch(got: Any, program: Program, inputs: list[Any], *, unit: float | None = None) -> str:
    """What differs between ``got`` and the program's meaning; empty where nothing does.

    Floating point: within ``unit`` (16 units of the output's dtype, one of 8 bits) of what float32
    arithmetic gives, on the scale of the largest value; integers and NaN positions exactly.
    """
    import torch

    expected = interpret(program, [value.cpu() for value in inputs], {})
    for ref, seen, wanted in zip(program.outputs, got, expected, strict=True):
        seen = seen.cpu()
        if seen.dtype != wanted.dtype or seen.shape != wanted.shape:
            return f"{ref.name}: {seen.dtype} {tuple(seen.shape)}, not {wanted.dtype}"
        if not wanted.dtype.is_floating_point:
            if not torch.equal(seen, wanted):
                return f"{ref.name}: {int((seen != wanted).sum())} values differ"
            continue
        n_units = 1 if wanted.element_size() == 1 else 16
        within = unit or n_units * torch.finfo(wanted.dtype).eps
        seen, wanted = seen.double(), wanted.double()
        finite = wanted[wanted.isfinite()].abs()
        scale = float(finite.max()) if finite.numel() else 1.0
        close = torch.isclose(seen, wanted, rtol=2 * within, atol=within * scale, equal_nan=True)
        if not bool(close.all()):
            worst = (seen - wanted).abs()
            return f"{ref.name}: {int((~close).sum())} values differ, by up to {worst.max()}"
    return ""
