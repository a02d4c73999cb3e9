"""The C++ emitter writes the kernels and contractions of a program as one compiled text."""

from __future__ import annotations

import itertools
import json
from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import Any

from kernelwright.compiler.codegen.anonymous import anonymous
from kernelwright.compiler.codegen.base import Emitted, Schedule, Target, text_of
from kernelwright.compiler.codegen.cpp import loader
from kernelwright.compiler.codegen.cpp.gemm import contraction_text
from kernelwright.compiler.codegen.cpp.gemm import supports as is_product
from kernelwright.compiler.codegen.cpp.gemm_text import gemm_prelude
from kernelwright.compiler.codegen.cpp.loop import Knobs, parameters
from kernelwright.compiler.codegen.cpp.math import prelude
from kernelwright.compiler.codegen.cpp.rows import kernel_text
from kernelwright.compiler.codegen.cpp.schedule import first_schedules, knobs_of, neighbours
from kernelwright.compiler.codegen.cpp.types import MEMORY, SIZE_BYTES
from kernelwright.compiler.ir.ir import (
    Attention,
    Call,
    Contraction,
    Kernel,
    Program,
    Recurrence,
    Step,
    Tensor,
    contiguous,
)
from kernelwright.compiler.ir.ops import has_indices
from kernelwright.compiler.ir.sizes import free_reaches, names_in

INT_LIMIT = 2**31 - 1
"""Largest index that uses 32 bits; 32-bit indices vectorise twice as wide as 64-bit ones."""

C_TYPES = {"int": "c_int", "int64_t": "c_int64"}
"""Types of indices, and what ctypes calls them."""


class CppEmitter:
    """The emitter of C++17 with OpenMP, compiled when the candidate is imported."""

    dialect = "cpp"

    def supports(self, step: Step) -> bool:
        """Return whether C++ has the step's dtypes; the only contractions supported are matrix
        products."""
        if isinstance(step, (Attention, Call, Recurrence)):
            return False
        if isinstance(step, Contraction) and (step.folds or not is_product(step)):
            return False
        return all(tensor.dtype in MEMORY for tensor in (*step.reads, *step.writes))

    def schedules(self, program: Program, target: Target) -> Iterator[Schedule]:
        return self._distinct(program, first_schedules(program, target), target)

    def refine(self, program: Program, schedule: Schedule, target: Target) -> Iterator[Schedule]:
        found = neighbours(program, schedule, target)
        own = self._distinct(program, itertools.chain([schedule], found), target)
        return itertools.islice(own, 1, None)

    def _distinct(
        self, program: Program, schedules: Iterable[Schedule], target: Target
    ) -> Iterator[Schedule]:
        """Yield the schedules whose text differs from all earlier ones."""
        seen: set[str] = set()
        for schedule in schedules:
            text = text_of(lambda choice: self.emit(program, choice, target), schedule)
            if text not in seen:
                seen.add(text)
                yield schedule

    def emit(self, program: Program, schedule: Schedule, target: Target) -> Emitted:
        made = {tensor.name for tensor in program.inputs}
        made |= {tensor.name for tensor, _ in program.attributes}
        texts: list[str] = []
        launches: dict[str, str] = {}
        binds: list[str] = []
        written: dict[Hashable, str] = {}
        kind = _index_type(program)
        for step in program.steps:
            if isinstance(step, Call):
                made |= {tensor.name for tensor in step.outputs}
                continue
            fresh = [tensor for tensor in step.writes if tensor.name not in made]
            made |= {tensor.name for tensor in fresh}
            reads, writes = parameters(step)
            knobs = knobs_of(step, schedule, target)
            same = (anonymous(step, "", keep_axes=True), json.dumps(knobs, sort_keys=True))
            if same not in written:
                written[same] = step.name
                given = [f'"{step.name}"', str(len(reads) + len(writes))]
                given += [f"ctypes.{C_TYPES[kind]}" for _ in names_in(step)]
                given += ["result=ctypes.c_int"] if has_indices(step) else []
                binds.append(f"_{step.name} = _bind({', '.join(given)})")
                texts.append(_function(step, knobs))
            passed = [f"{tensor.name}.data_ptr()" for tensor in (*reads, *writes)]
            passed += names_in(step)
            launches[step.name] = _launch(written[same], fresh, passed, checks=has_indices(step))
        if not texts:
            return Emitted((), "", {})
        source = _source("\n".join(texts), kind)
        definitions = f'SOURCE = r"""\n{source}"""\n\n{loader.BUILD}' + "\n".join(binds) + "\n"
        if any("_empty(" in launch for launch in launches.values()):
            definitions += f"\n\n{loader.KEEP}"
        reaches = free_reaches(_tensors(program)) if kind == "int" else []
        limits = [f"{reach} < {INT_LIMIT}" for reach in reaches]
        return Emitted(loader.IMPORTS, definitions, launches, limits=tuple(limits))


def _function(step: Kernel | Contraction, knobs: Mapping[str, Any]) -> str:
    if isinstance(step, Contraction):
        text = contraction_text(step, knobs)
    else:
        text = kernel_text(step, Knobs(**knobs))
    return _telling(text) if has_indices(step) else text


def _telling(text: str) -> str:
    """The function, which returns whether a position was outside of what it is a position in."""
    before, _, rest = text.partition('extern "C" void')
    signature, _, body = rest.partition(" {\n")
    body = body.rstrip().removesuffix("}")
    told = 'extern "C" int'
    return f"{before}{told}{signature} {{\n  int outside = 0;\n{body}  return outside;\n}}\n"


def _tensors(program: Program) -> list[Tensor]:
    return [t for step in program.own() for t in (*step.reads, *step.writes)]


def _index_type(program: Program) -> str:
    largest = max((_extent(tensor) for tensor in _tensors(program)), default=0)
    return "int" if largest < INT_LIMIT else "int64_t"


def _source(text: str, kind: str) -> str:
    parts = [loader.HEAD, f"using index = {kind};\n"]
    if "lanes_t<" in text:
        parts.append(loader.LANES)
    parts.append(prelude(text))
    parts.append(gemm_prelude(text))
    return "\n".join(part for part in (*parts, text) if part)


def _extent(tensor: Tensor) -> int:
    pairs = zip(tensor.shape, tensor.strides, strict=True)
    return 1 + sum(max(size - 1, 0) * stride for size, stride in pairs)


def _launch(name: str, fresh: list[Tensor], passed: list[str], *, checks: bool) -> str:
    lines = []
    for tensor in fresh:
        options = f'dtype=torch.{tensor.dtype}, device="cpu"'
        large = _extent(tensor) * SIZE_BYTES[tensor.dtype] >= loader.KEPT_BYTES
        if large or names_in(tensor):
            layout = f"{tensor.shape}, {tensor.strides}"
            lines.append(f"{tensor.name} = _empty({layout}, torch.{tensor.dtype})")
        elif tensor == contiguous(tensor.name, tensor.shape, tensor.dtype):
            lines.append(f"{tensor.name} = torch.empty({tensor.shape}, {options})")
        else:
            layout = f"{tensor.shape}, {tensor.strides}"
            lines.append(f"{tensor.name} = torch.empty_strided({layout}, {options})")
    call = f"_{name}({', '.join(passed)})"
    if checks:
        lines += [f"if {call}:", '    raise IndexError("index out of range in self")']
        return "\n".join(lines)
    return "\n".join([*lines, call])
