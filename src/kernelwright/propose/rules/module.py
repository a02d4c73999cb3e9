"""The candidate file: the reference's constructor, the kernels, and a new ``forward``."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from kernelwright.propose.rules.emit.base import Emitted
from kernelwright.propose.rules.ir import Call, Program, Tensor
from kernelwright.propose.rules.splice import Spliced
from kernelwright.propose.rules.steps import call_text, literal, references

_LIBRARY_IMPORTS = ("import torch", "import torch.nn.functional as F", "from torch import nn")


@dataclass(frozen=True)
class Face:
    """What the file shows to the outside: where it comes from and what it was made for."""

    title: str
    device_kind: str
    """'cpu' or 'cuda': torch's type of the device that the kernels run on."""
    arguments: tuple[Any, ...]
    """The forward's arguments: a tensor's name, or the value of any other argument."""
    training: bool
    rules: tuple[str, ...]


def write(program: Program, emitted: Emitted, reference: Spliced, face: Face) -> str:
    """The text of one standalone file that defines ``ModelNew``."""
    guard = _guard_text(program, face)
    forward = _forward_text(program, emitted, reference, face)
    imports = _sorted_imports([*reference.imports, *emitted.imports, *_LIBRARY_IMPORTS])
    used = "\n".join([*reference.imports, reference.definitions, reference.body, guard, forward])
    parts = [
        _docstring(program, face),
        "\n".join(
            line for line in imports if _is_used(line, used, [*reference.imports, *emitted.imports])
        ),
        reference.definitions,
        emitted.definitions.strip("\n"),
        guard,
        f"class ModelNew({reference.bases}):\n{reference.body}\n\n{forward}",
    ]
    return "\n\n\n".join(part for part in parts if part) + "\n"


def _sorted_imports(lines: Sequence[str]) -> list[str]:
    seen = dict.fromkeys(line for text in lines for line in [text])
    return sorted(seen, key=lambda line: (not line.startswith("from __future__"), line))


def _is_used(line: str, text: str, always: Sequence[str]) -> bool:
    name = line.split()[-1]
    return line in always or f"{name}." in text


def _docstring(program: Program, face: Face) -> str:
    shapes = ", ".join(f"{t.name}: {t.dtype}{list(t.shape)}" for t in program.inputs)
    mode = "train" if face.training else "eval"
    about = f"Made for {face.device_kind}, {shapes}, {mode} mode, no gradients."
    about += " Any other use takes the reference's own forward."
    lines = [f'"""{face.title}', "", *textwrap.wrap(about, 98)]
    if face.rules:
        lines += ["", "Rules, in the order in which they were applied:"]
        lines += [f"    {rule}" for rule in face.rules]
    return "\n".join(lines) + '\n"""'


def _guard_text(program: Program, face: Face) -> str:
    rows = "\n".join(f"    ({t.shape}, {t.strides}, torch.{t.dtype})," for t in program.inputs)
    return f'''EXPECTED = (
{rows}
)


def _as_expected(*tensors):
    """Whether the kernels were made for these inputs, and no gradient is wanted."""
    return not torch.is_grad_enabled() and all(
        tensor.shape == shape
        and tensor.stride() == strides
        and tensor.dtype == dtype
        and tensor.device.type == "{face.device_kind}"
        for tensor, (shape, strides, dtype) in zip(tensors, EXPECTED)
    )'''


def _forward_text(program: Program, emitted: Emitted, reference: Spliced, face: Face) -> str:
    tensors = ", ".join(tensor.name for tensor in program.inputs)
    fixed = [
        f"{name} == {value!r}"
        for name, value in zip(_parameters(reference.signature), face.arguments, strict=False)
        if not isinstance(value, Tensor)
    ]
    mode = "self.training" if face.training else "not self.training"
    test = " and ".join([f"{mode} and _as_expected({tensors})", *fixed])
    passed = ", ".join(_parameters(reference.signature))
    lines = [
        f"if not ({test}):",
        f"    return self._reference_forward({passed})",
        *(f"{tensor.name} = self.{path}" for tensor, path in _bound(program)),
        *_step_lines(program, emitted),
        *(f"self.{path}.copy_({name})" for name, path in program.mutations),
        f"return {literal(program.outputs, '')}",
    ]
    head = f"    def forward({reference.signature}):\n"
    return head + textwrap.indent("\n".join(lines), " " * 8)


def _parameters(signature: str) -> list[str]:
    """The names in a signature's text, without self."""
    import ast

    args = ast.parse(f"def f({signature}): pass").body[0].args
    return [a.arg for a in (*args.posonlyargs, *args.args)][1:]


def _bound(program: Program) -> list[tuple[Tensor, str]]:
    used = set(references(program.outputs)) | {name for name, _ in program.mutations}
    for step in program.steps:
        used |= _needs(step)
    return [(tensor, path) for tensor, path in program.attributes if tensor.name in used]


def _needs(step: Any) -> set[str]:
    if isinstance(step, Call):
        return set(references((step.args, dict(step.kwargs))))
    return {tensor.name for tensor in (*step.reads, *step.writes)}


def _step_lines(program: Program, emitted: Emitted) -> list[str]:
    """Every step, with a comment that says where it came from, and what is not needed dropped."""
    device = f"{program.inputs[0].name}.device"
    lines: list[str] = []
    for step in program.steps:
        if isinstance(step, Call):
            lines.append(call_text(step, device))
        else:
            origin = ", ".join(step.origin)
            lines += textwrap.wrap(origin, 88, initial_indent="# ", subsequent_indent="# ")
            lines += emitted.launches[step.name].splitlines()
    return lines
