"""The outside of a candidate: constructor, parameters, and when its kernels may be used."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from inspect import Parameter
from typing import Any

from torch import nn

from kernelwright.compiler.candidate.attributes import (
    FROM_TABLES,
    MOST_TABLE_BYTES,
    REBUILT,
    REFUSED,
    UNPACKED,
    indexed_text,
    path_text,
    state_rows,
    table_rows,
)
from kernelwright.compiler.candidate.module import Face
from kernelwright.compiler.candidate.splice import Spliced, splice
from kernelwright.compiler.candidate.unchanged import description_of
from kernelwright.compiler.capture.capture import CannotCapture, Captured
from kernelwright.compiler.capture.structures import CLASS, classes
from kernelwright.compiler.ir.ir import Ref
from kernelwright.compiler.ir.steps import literal, variable
from kernelwright.core.syntax import parse
from kernelwright.core.task import Task
from kernelwright.loaders.constructor import is_literal
from kernelwright.loaders.pickling import is_own

_PASSED = {
    Parameter.VAR_POSITIONAL: "*{0}",
    Parameter.VAR_KEYWORD: "**{0}",
    Parameter.KEYWORD_ONLY: "{0}={0}",
}
"""How parameters are passed on; those of other kinds are by name alone."""


_INHERITED = """

    def _reference_forward({signature}):
        return super().forward({passed})"""


def passed_on(signature: inspect.Signature) -> str:
    """The arguments of a call that passes everything on, such as 'x, *args, scale=scale'."""
    parameters = signature.parameters.values()
    return ", ".join(_PASSED.get(p.kind, "{0}").format(p.name) for p in parameters)


def reference_text(
    task: Task, module: nn.Module, captured: Captured, arguments: Sequence[Any]
) -> Spliced:
    """What the candidate has from the reference: its text, or its state where there is no text.

    ``arguments`` are those that ``module`` was constructed with.

    Raises:
        CannotCapture: there is no text, and forward uses a tensor that the state does not hold.
    """
    try:
        spliced = splice(task.source, task.entry, "ModelNew")
    except LookupError:
        return _rebuilt(task, module, captured, arguments)
    if spliced.needs_payload:
        return _rebuilt(task, module, captured, arguments)
    if spliced.signature:
        return spliced
    signature = signature_of(module)
    passed = passed_on(inspect.signature(module.forward))
    inherited = _INHERITED.format(signature=signature, passed=passed)
    return replace(spliced, body=spliced.body + inherited, signature=signature)


def _rebuilt(
    task: Task, module: nn.Module, captured: Captured, arguments: Sequence[Any]
) -> Spliced:
    rows, tables = state_rows(module), table_rows(module, captured.attributes.values())
    missing = set(captured.attributes.values()) - {row[0] for row in (*rows, *tables)}
    if missing:
        why = f"no source, and neither parameters nor buffers: {', '.join(sorted(missing))}"
        raise CannotCapture(f"{why}; register_buffer(…, persistent=False) would help")
    if sum(len(row[-1]) for row in tables) > MOST_TABLE_BYTES:
        names = ", ".join(row[0] for row in tables)
        raise CannotCapture(f"no source, and too large for text: {names}; give file.py:Class")
    state = "".join(f"    {row!r},\n".replace(f"'{row[2]}'", row[2]) for row in rows)
    signature = signature_of(module)
    extra = FROM_TABLES if tables else ""
    body = f'''    """The same parameters and buffers as the module {task.name} that was given."""

{_constructor_head(arguments)}
        super().__init__()
        for path, shape, dtype, is_parameter in STATE:
            value = torch.zeros(shape, dtype=dtype)
            _place(self, path, nn.Parameter(value) if is_parameter else value){extra}
        self.train({module.training})

    def _reference_forward(self, *given, **named):
        raise RuntimeError(_refusal(self, given, named))'''
    held = [f"STATE = (  # path, shape, dtype, whether it is a parameter\n{state})"]
    if tables:
        lines = "".join(f"    {row!r},\n".replace(f"'{row[2]}'", row[2]) for row in tables)
        held.append(f"TABLES = (  # path, shape, dtype, numbers; of no state\n{lines})")
    definitions = "\n\n\n".join(
        ["\n".join(held), REBUILT, *([UNPACKED] if tables else []), REFUSED]
    )
    imports = ("import base64", "import zlib") if tables else ()
    return Spliced(imports, definitions, "Part", body, signature)


def _constructor_head(arguments: Sequence[Any]) -> str:
    """The head of a constructor that takes the reference's arguments, and no others: the state
    follows from them. Those that text cannot say are taken unseen."""
    if not arguments:
        return "    def __init__(self):"
    head = "    def __init__(self, *arguments):"
    if not all(map(is_literal, arguments)):
        return head
    return f"""{head}
        made_with = {tuple(arguments)!r}
        if arguments not in ((), made_with):
            raise TypeError(f"the state here is of arguments {{made_with}}, not {{arguments}}")"""


def signature_of(module: nn.Module) -> str:
    """The parameters of forward with their defaults, without what annotates them."""
    parameters = inspect.signature(module.forward).parameters.values()
    bare = inspect.Signature([p.replace(annotation=p.empty) for p in parameters])
    return f"self, {str(bare)[1:-1]}".removesuffix(", ")


def face_of(
    title: str, module: nn.Module, captured: Captured, reference: Spliced, device_kind: str
) -> tuple[Face, tuple[str, ...]]:
    """The Face, without what it says of the module's parts, and the names of the tensor inputs in
    the forward.

    Raises:
        CannotCapture: forward's parameters have defaults that text cannot say.
    """
    try:
        parse(f"def f({reference.signature}): pass")
    except SyntaxError as error:
        why = f"a default of forward that text cannot say: {reference.signature}"
        raise CannotCapture(why[:300]) from error
    signature = inspect.signature(module.forward)
    found = Inside(list(signature.parameters))
    for name, parameter in signature.parameters.items():
        if name in captured.arguments:
            found.look(name, captured.arguments[name], name)
        elif parameter.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD):
            empty = "()" if parameter.kind is Parameter.VAR_POSITIONAL else "{}"
            found.conditions.append(f"{name} == {empty}")
        else:
            found.look(name, parameter.default, name)
    tensors = tuple(found.names[name] for name in captured.inputs)
    rebuilt = reference.bases == "Part"
    paths = {
        path: indexed_text(path) if rebuilt else path_text(module, path)
        for path in [*captured.attributes.values(), *(path for _, path in captured.mutations)]
    }
    face = Face(
        title,
        device_kind,
        conditions=(),
        passed=passed_on(signature),
        unpacked="\n".join(found.unpacked),
        paths=paths,
        arguments=tuple(found.conditions),
        read={found.names[name]: values for name, values in captured.read.items()},
        is_refused_elsewhere=rebuilt,
    )
    return face, tensors


def result_imports(outputs: Any, home: str, *, rebuilt: bool) -> tuple[str, ...]:
    """The imports of the classes of the objects in ``outputs``, as described; ``home`` is the name
    of the file with the reference's class, whose text a ``rebuilt`` module does not have.

    Raises:
        CannotCapture: the new file cannot import one.
    """
    found = []
    for place, _, name in (text.partition(":") for text in classes(outputs)):
        if place == home and not rebuilt:
            continue
        is_only_here = place == "__main__" or is_own(place, sys.modules[place], ("/",))
        if (rebuilt and is_only_here) or "." in name:
            why = f"its result is of {place}.{name}, a class that no other file can import"
            raise CannotCapture(f"{why}: give the module as file.py:Class")
        found.append(f"from {place} import {name}")
    return tuple(found)


def with_parts(face: Face, module: nn.Module, reference: Spliced, home: str, *, mode: bool) -> Face:
    """``face`` with what the kernels take for granted of the module's parts; ``home`` is the name
    of the file with their classes, and ``mode`` says whether training counts among it."""
    rebuilt = reference.bases == "Part"
    described = (
        _parts_of(module, face.paths, mode=mode) if rebuilt else description_of(module, home, mode)
    )
    trains = "self.training" if module.training else "not self.training"
    conditions = (*face.conditions, *([trains] if mode else []))
    return replace(face, conditions=conditions, described=described)


def _parts_of(module: nn.Module, paths: Iterable[str], *, mode: bool) -> dict[str, Any]:
    """The description of a module that is rebuilt from its state and the tensors at ``paths``."""
    found: dict[str, Any] = {"": ("", {})}
    held = {path: is_parameter for path, _, _, is_parameter in state_rows(module)}
    for path, is_parameter in (dict.fromkeys(paths, False) | held).items():
        *parts, name = path.split(".")
        for end in range(len(parts)):
            found.setdefault(".".join(parts[: end + 1]), ("Part", {}))
        if is_parameter:
            own = found[".".join(parts)][1]
            own["parameters"] = sorted([*own.get("parameters", ()), name])
    for _, own in found.values():
        own |= {"training": module.training} if mode else {}
    return found


class Inside:
    """The tensors inside of forward's arguments, and what must be so of everything else, which was
    built into the kernels."""

    def __init__(self, parameters: Sequence[str]) -> None:
        self.conditions: list[str] = []
        self.unpacked: list[str] = []
        """Statements that name the tensors inside of containers."""
        self.names: dict[str, str] = {}
        """Placeholder → the tensor's name in forward."""
        self._taken = {"self", *parameters}

    def look(self, name: str, value: Any, place: str) -> None:
        """Add what ``value``, as described, says of the argument at the expression ``place``."""
        if isinstance(value, Ref):
            if name != place:
                name = variable(name, self._taken)
                self.unpacked.append(f"{name} = {place}")
            self.names[value.name] = name
        elif isinstance(value, (list, tuple)):
            kind = type(value).__name__
            self.conditions.append(f"type({place}) is {kind} and len({place}) == {len(value)}")
            for position, part in enumerate(value):
                self.look(f"{name}_{position}", part, f"{place}[{position}]")
        elif isinstance(value, dict) and CLASS in value:
            kind = value[CLASS].partition(":")[2]
            is_constant = value == {CLASS: f"torch:{kind}"}
            is_it = f"type({place}).__qualname__ == {kind!r}"
            self.conditions.append(f"{place} == torch.{kind}" if is_constant else is_it)
            for key in value.keys() - {CLASS}:
                self.look(f"{name}_{key}", value[key], f"{place}.{key}")
        elif isinstance(value, dict):
            keys = f"set({place}) == {set(value)!r}" if value else f"{place} == {{}}"
            self.conditions.append(f"type({place}) is dict and {keys}")
            for key, part in value.items():
                self.look(re.sub(r"\W", "_", f"{name}_{key}"), part, f"{place}[{key!r}]")
        elif value is None or isinstance(value, bool):
            self.conditions.append(f"{place} is {value!r}")
        elif isinstance(value, (int, float)):
            kind = type(value).__name__
            self.conditions.append(f"type({place}) is {kind} and {place} == {literal(value)}")
        else:
            self.conditions.append(f"{place} == {value!r}")
