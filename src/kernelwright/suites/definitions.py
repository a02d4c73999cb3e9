"""FlashInfer-Bench and SOL-ExecBench: a definition of a function, and workloads that give its
sizes.

A task is made for each workload: its module's forward is the definition's ``run``. A workload's own
tolerance is not used, since the judge has its own.

Source:
    flashinfer-bench 0.1.2, ``flashinfer_bench/data`` and ``bench/utils.py``;
    NVIDIA/SOL-ExecBench, ``docs/definition.md``, ``docs/workload.md`` and ``core/bench/io.py``.
"""

from __future__ import annotations

import ast
import json
import keyword
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import msgspec

from kernelwright.core.errors import TaskError
from kernelwright.core.task import Task
from kernelwright.suites.device_text import on_any_device

FIB, SOL = "fib", "sol"
ENTRY = "DefinedModel"
"""The class's name: a reference may well define a ``Model`` of its own."""
INTEGERS = {"int8": 128, "int16": 1024, "int32": 1024, "int64": 1024}
"""Random whole numbers lie between the negative of this and this, the latter excluded."""
_ASK = {
    FIB: "give a folder with definitions/ and workloads/, such as a clone of "
    "https://huggingface.co/datasets/flashinfer-ai/flashinfer-trace",
    SOL: "give a folder of problems with definition.json and workload.jsonl, as in examples/ of "
    "https://github.com/NVIDIA/SOL-ExecBench",
}
_TEXT = '''"""{name}: {where}."""

import torch
{imports}
{reference}


class {entry}(torch.nn.Module):
    """The definition's function as a module without weights."""

    def forward(self, {names}):
        return run({names})


def get_init_inputs():
    return []


def get_inputs():
{made}    return [{names}]
'''


class Axis(msgspec.Struct):
    """The size that one name in a shape stands for."""

    type: Literal["const", "var", "expr"]
    value: int | None = None
    expression: str = ""


class Spec(msgspec.Struct):
    """The form of one input; ``shape`` is None for a Python number."""

    dtype: str
    shape: list[str] | None = None


class Definition(msgspec.Struct):
    """A function by its text, its inputs and its axes."""

    name: str
    axes: dict[str, Axis]
    inputs: dict[str, Spec]
    reference: str
    op_type: str = ""
    custom_inputs_entrypoint: str | None = None


class Input(msgspec.Struct):
    """Where one input's values come from."""

    type: Literal["random", "scalar", "safetensors", "custom"]
    value: bool | int | float | None = None
    path: str = ""
    tensor_key: str = ""


class Workload(msgspec.Struct):
    """Sizes for the variable axes, and the inputs' sources."""

    uuid: str
    axes: dict[str, int]
    inputs: dict[str, Input]


class _Row(msgspec.Struct):
    """A line of FlashInfer-Bench's files: a workload inside a trace without a solution."""

    workload: Workload


@dataclass(frozen=True)
class _Problem:
    """The files of one definition, and the folder to which paths in its workloads are relative."""

    definition: Path
    workloads: Path
    root: Path


def tasks(suite: str, path: Path) -> Iterator[tuple[str, Task]]:
    """Yield each definition's name with a task for each of its workloads. No text is run.

    Raises:
        TaskError: ``path`` holds no such files, or one of them cannot be read.
    """
    problems = _fib_problems(path) if suite == FIB else _sol_problems(path)
    if not problems:
        seen = "no definitions with workloads in it" if path.is_dir() else "no such folder"
        raise TaskError(f"{path} holds nothing of the suite {suite}", seen=seen, do=_ASK[suite])
    for problem in problems:
        definition = _decoded(problem.definition, problem.definition.read_bytes(), Definition)
        for number, line in enumerate(problem.workloads.read_bytes().splitlines()):
            if line.strip():
                kind = _Row if suite == FIB else Workload
                row = _decoded(problem.workloads, line, kind)
                workload = row.workload if isinstance(row, _Row) else row
                name = f"{definition.name}_{number}"
                source = _Text(definition, workload, problem).source
                yield definition.name, Task(name, suite, source, entry=ENTRY)


def _fib_problems(path: Path) -> list[_Problem]:
    found = []
    for definition in sorted((path / "definitions").rglob("*.json")):
        beside = definition.relative_to(path / "definitions").with_suffix(".jsonl")
        workloads = path / "workloads" / beside
        if workloads.is_file():
            found.append(_Problem(definition, workloads, path))
    return found


def _sol_problems(path: Path) -> list[_Problem]:
    pairs = [
        (file, file.with_name("workload.jsonl")) for file in sorted(path.rglob("definition.json"))
    ]
    return [_Problem(one, other, one.parent) for one, other in pairs if other.is_file()]


def _decoded(file: Path, text: bytes, kind: type[Any]) -> Any:
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.MsgspecError as error:
        raise TaskError(
            f"{file} cannot be read", seen=str(error), do="take the file anew from its source"
        ) from error


class _Text:
    """The text of one workload's task."""

    def __init__(self, definition: Definition, workload: Workload, problem: _Problem) -> None:
        self._definition, self._workload, self._problem = definition, workload, problem
        self._sizes = self._resolved()

    @property
    def source(self) -> str:
        """KernelBench's form of the workload.

        Raises:
            TaskError: an input's form or source is unknown.
        """
        names = list(self._definition.inputs)
        if not all(name.isidentifier() and not keyword.iskeyword(name) for name in names):
            raise self._fault("an input's name is not a name of Python", str(names))
        try:
            reference = on_any_device(self._definition.reference).strip()
        except SyntaxError as error:
            raise self._fault("the reference is not Python", str(error)) from error
        sizes = ", ".join(f"{name}={size}" for name, size in self._sizes.items())
        lines = [self._made(name, spec) for name, spec in self._definition.inputs.items()]
        is_stored = any(one.type == "safetensors" for one in self._workload.inputs.values())
        return _TEXT.format(
            name=self._definition.name,
            where=f"{sizes} (workload {self._workload.uuid})",
            imports="from safetensors.torch import load_file\n" if is_stored else "",
            reference=reference,
            entry=ENTRY,
            names=", ".join(names),
            made="".join(f"    {line}\n" for line in [*self._custom(), *lines]),
        )

    def _resolved(self) -> dict[str, int]:
        """The size of each axis: constants, the workload's own, then those computed from them."""
        axes = self._definition.axes
        known = {n: a.value for n, a in axes.items() if a.type == "const" and a.value is not None}
        known |= self._workload.axes
        for name, axis in axes.items():
            if axis.type == "expr":
                known[name] = self._computed(axis.expression, known)
        lacking = [name for name in axes if name not in known]
        if lacking:
            raise self._fault("a workload lacks the size of an axis", ", ".join(lacking))
        return known

    def _computed(self, expression: str, known: Mapping[str, int]) -> int:
        try:
            return _value(ast.parse(expression, mode="eval").body, known)
        except (SyntaxError, KeyError, ValueError, ZeroDivisionError) as error:
            raise self._fault("an axis cannot be computed", f"{expression}: {error}") from error

    def _custom(self) -> list[str]:
        """The call of the definition's own function that makes inputs."""
        if not any(one.type == "custom" for one in self._workload.inputs.values()):
            return []
        scalars = {n: one.value for n, one in self._workload.inputs.items() if one.type == "scalar"}
        given = {**self._sizes, **scalars}
        entry = self._definition.custom_inputs_entrypoint
        if not entry or not entry.isidentifier():
            raise self._fault("custom inputs need a function", f"entry point {entry!r}")
        return [f"_custom = {entry}({given!r}, torch.get_default_device())"]

    def _made(self, name: str, spec: Spec) -> str:
        """The statement that makes one input."""
        source = self._workload.inputs.get(name, Input("random"))
        if source.type == "scalar":
            return f"{name} = {source.value!r}"
        if source.type == "custom":
            return f"{name} = _custom[{name!r}]"
        if source.type == "safetensors":
            file = (self._problem.root / source.path).resolve()
            return f"{name} = load_file({json.dumps(str(file))})[{source.tensor_key!r}]"
        return f"{name} = {self._random(name, spec)}"

    def _random(self, name: str, spec: Spec) -> str:
        """The expression of a random input, as the suites draw it."""
        shape = () if spec.shape is None else tuple(self._size(word) for word in spec.shape)
        kind = f"torch.{spec.dtype}"
        if spec.dtype in INTEGERS:
            most = INTEGERS[spec.dtype]
            drawn = f"torch.randint({-most}, {most}, {shape}, dtype={kind})"
        elif spec.dtype == "bool":
            drawn = f"torch.randint(0, 2, {shape}, dtype=torch.bool)"
        elif spec.dtype.startswith("float8"):
            drawn = f"torch.randn({shape}).clamp(-2.0, 2.0).to({kind})"
        elif spec.dtype in ("float64", "float32", "float16", "bfloat16"):
            drawn = f"torch.randn({shape}, dtype={kind})"
        else:
            raise self._fault(f"no random values of the type {spec.dtype} are made", name)
        if self._definition.op_type == "sampling" and name == "probs":
            drawn = f"{drawn}.softmax(-1)"
        return drawn if spec.shape is not None else f"{drawn}.item()"

    def _size(self, word: str) -> int:
        if word.isdecimal():
            return int(word)
        if word not in self._sizes:
            raise self._fault("a shape names an axis that is not defined", word)
        return self._sizes[word]

    def _fault(self, what: str, seen: str) -> TaskError:
        return TaskError(
            f"{self._problem.definition}: {what}",
            seen=seen,
            do="correct the definition or its workload, or leave it out with --problem",
        )


_OPERATIONS = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Div: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
    ast.Pow: lambda a, b: a**b,
}


def _value(node: ast.expr, known: Mapping[str, int]) -> int:
    """The value of an expression over sizes. No other code of the file is run to find it."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.Name):
        return known[node.id]
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATIONS:
        found: int = _OPERATIONS[type(node.op)](_value(node.left, known), _value(node.right, known))
        return found
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand, known)
    raise ValueError(f"{ast.dump(node)} is not arithmetic over sizes")
