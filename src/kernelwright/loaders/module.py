"""Loads classes, functions and instances as tasks in KernelBench's format."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from kernelwright.core.digest import digest
from kernelwright.core.errors import TaskError, nearest
from kernelwright.core.places import holds_installed_packages
from kernelwright.core.task import Task
from kernelwright.loaders import pickling, synthesis
from kernelwright.loaders.constructor import Expression, bound, constructor_arguments, is_literal
from kernelwright.loaders.copies import copied
from kernelwright.loaders.inlined import bundled
from kernelwright.loaders.inputs import SYNTAX, by_name, expression, of_sizes
from kernelwright.loaders.kernelbench import read_source
from kernelwright.loaders.packages import named_by_package
from kernelwright.loaders.reference import FURTHER, execute, open_reference, task_code

ORIGIN = "module"
_DOTTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+")
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class ModuleLoader:
    """Claims ``file.py:Class``, ``package.module:Class``, ``package.module.Class``, modules, module
    classes and functions."""

    def claims(self, target: Any) -> bool:
        if not isinstance(target, str):
            return callable(target)
        return ":" in target or (bool(_DOTTED.fullmatch(target)) and not target.endswith(".py"))

    def load(
        self,
        target: Any,
        *,
        inputs: Any = None,
        init: Any = None,
        kwargs: Mapping[str, Any] | None = None,
        name: str | None = None,
    ) -> Task:
        """Return the task in KernelBench's format.

        Raises:
            TaskError: there is no such class, its arguments do not fit, inputs are missing or
                invalid, or the object cannot be pickled.
        """
        arguments, keywords = constructor_arguments(init, kwargs)
        if isinstance(target, type):
            target = _import_name(target)
        if isinstance(target, str):
            named = _open_named(target, name)
            if inputs is None and not callable(named.beside.get("get_inputs")):
                raise _no_inputs(named.task.entry)
            if isinstance(named.target, type):
                return _from_class(named, inputs, arguments, keywords)
            return _from_function(named, inputs)
        if arguments or keywords:
            raise TaskError(
                "constructor arguments were given for an existing object",
                seen=f"{type(target).__name__}, {arguments or keywords!r}"[:300],
                do="leave init and kwargs out, or give the class instead of the instance",
            )
        return _from_object(target, inputs, name)


def _import_name(target: type) -> str:
    """Return a class's name as ``package.module:Class``."""
    if target.__module__ == "__main__" or "." in target.__qualname__:
        raise TaskError(
            f"the class {target.__qualname__} cannot be imported by name",
            seen=f"{target.__module__}.{target.__qualname__}",
            do=f"give an instance, {target.__name__}(...), or move the class to a file",
        )
    return f"{target.__module__}:{target.__name__}"


@dataclasses.dataclass(frozen=True)
class _Named:
    """A class or a function that was named, and the beginning of its task."""

    task: Task
    """Its text defines or imports the target."""
    target: Any
    beside: Mapping[str, Any]
    """The names in the target's file, with the target's own."""
    imported: str = ""
    """The name under which the text imports the target; empty if it defines it."""


def _open_named(text: str, name: str | None) -> _Named:
    place, _, entry = text.rpartition(":" if ":" in text else ".")
    if place.endswith(".py"):
        path = Path(place)
        roots = (str(path.resolve().parent),)
        task = Task(name or entry, ORIGIN, read_source(path), entry, import_roots=roots)
        with named_by_package(path, entry):
            beside = execute(task)
        return _Named(task, _target_in(beside, entry), beside)
    task = Task(name or entry, ORIGIN, "", entry, import_roots=_own_folders())
    with task_code(task, f"{place} does not import", "check its name, or give file.py:Class"):
        module = importlib.import_module(place)
        beside = dict(vars(module))
        if hasattr(module, entry):  # which may only now import it
            beside[entry] = getattr(module, entry)
    target = _target_in(beside, entry)
    parts = [part for part in ("get_inputs", "get_init_inputs") if part in beside]
    imported = "Reference" if entry == "Model" else entry
    names = ", ".join([f"{entry} as {imported}" if imported != entry else entry, *parts])
    # The comment makes the package's text part of the task's identity.
    defined = inspect.getmodule(target) or module
    source = f"# The text of {defined.__name__} is {_text_digest(defined)}.\n"
    source += f"from {place} import {names}\n"
    return _Named(dataclasses.replace(task, source=source), target, beside, imported)


def _text_digest(module: ModuleType) -> str:
    try:
        return digest(inspect.getsource(module))
    except (OSError, TypeError):  # it is compiled
        return "unknown"


def _own_folders() -> tuple[str, ...]:
    """Return the working folder and the folders of ``sys.path`` that hold no installed packages."""
    installed = (sys.prefix, sys.base_prefix)
    folders = [os.path.abspath(folder) for folder in ("", *sys.path)]
    own = (f for f in folders if not f.startswith(installed) and not holds_installed_packages(f))
    return tuple(dict.fromkeys(own))


def _from_function(named: _Named, inputs: Any) -> Task:
    """Return the task of a function: a module without weights around it."""
    entry = named.task.entry
    signature = _signature_of(named.target)
    values, names = _in_order(entry, signature, inputs)
    parameters = _parameters(signature, values, names)
    parts = [synthesis.function_module(named.imported or entry, parameters, names)]
    parts.append(synthesis.get_init_inputs([]))
    return _finish(dataclasses.replace(named.task, entry="Model"), parts, {}, values)


def _from_class(
    named: _Named, inputs: Any, arguments: list[Any], keywords: Mapping[str, Any]
) -> Task:
    """Return the task of a class: itself, or a subclass where it is imported or wants arguments by
    name."""
    task, signature = named.task, _signature_of(named.target)
    values, names = _in_order(task.entry, signature, inputs)
    parts: list[str] = []
    methods: list[str] = []
    pickled: dict[str, Any] = {}
    if arguments or keywords or not callable(named.beside.get("get_init_inputs")):
        positional, only = bound(named.target, arguments, keywords)
        if only:
            methods.append(synthesis.constructor(len(positional), list(only)))
        given = [*positional, *only.values()]
        if all(isinstance(value, Expression) or is_literal(value) for value in given):
            parts.append(synthesis.get_init_inputs(given))
        else:
            parts.append(synthesis.PICKLED_INIT)
            pickled["init"] = given
    if names:
        methods.append(synthesis.widened_forward(_by_position(signature), names))
    if methods or named.imported:
        parts.insert(0, synthesis.subclass(named.imported or task.entry, methods))
        task = dataclasses.replace(task, entry="Model")
    return _finish(task, parts, pickled, values)


def _target_in(found: Mapping[str, Any], entry: str) -> Any:
    """Return the class or function of that name.

    Raises:
        TaskError: there is none.
    """
    from torch import nn

    target = found.get(entry)
    if inspect.isroutine(target) or (isinstance(target, type) and issubclass(target, nn.Module)):
        return target
    known = [n for n, v in found.items() if isinstance(v, type) and issubclass(v, nn.Module)]
    if target is not None:
        what, seen = f"{entry} is neither an nn.Module class nor a function", repr(target)
    else:
        what, seen = f'no class "{entry}" there', f"{len(known)} subclasses of torch.nn.Module"
    do = nearest(entry, known) if known else "define a subclass of torch.nn.Module"
    raise TaskError(what, seen=seen[:300], do=do)


def _from_object(target: Any, inputs: Any, name: str | None) -> Task:
    """Return a task that holds an instance or a function in pickled form."""
    from torch import nn

    own_name = getattr(target, "__name__", type(target).__name__)
    if inputs is None:
        raise _no_inputs(own_name)
    task = Task(name or own_name, ORIGIN, "", "Model", import_roots=_own_folders())
    signature = _signature_of(target.forward if isinstance(target, nn.Module) else target)
    values, names = _in_order(own_name, signature, inputs)
    if isinstance(target, nn.Module):
        if names:
            raise TaskError(
                "an instance takes its inputs by position",
                seen=f"by name only: {', '.join(names)}",
                do="give the class with its arguments, package.module:Class and init",
            )
        with task_code(task, f"{own_name} cannot be copied", "give the class with its arguments"):
            target = copied(target).cpu()
        source, parts = synthesis.INSTANCE.format(name=own_name), []
    else:
        own_name = own_name if own_name.isidentifier() else "function"
        source = synthesis.FUNCTION.format(name=own_name)
        parameters = _parameters(signature, values, names)
        parts = [synthesis.function_module(own_name, parameters, names)]
    parts.append(synthesis.get_init_inputs([]))
    return _finish(dataclasses.replace(task, source=source), parts, {"target": target}, values)


def _finish(task: Task, parts: Sequence[str], pickled: dict[str, Any], inputs: Any) -> Task:
    """Complete the task with its remaining parts, inputs and payload, and check that it runs."""
    imports = "" if "import torch\n" in task.source else "\n\nimport torch\n"
    parts = [task.source.rstrip() + "\n", imports, *parts]
    if callable(inputs):
        parts.append(synthesis.PICKLED_INPUTS)
        pickled = {**pickled, "inputs": inputs}
    elif inputs is not None:
        sizes = of_sizes(inputs)
        parts.append(synthesis.get_inputs([expression(value) for value in sizes.main]))
        for function, sets in zip(FURTHER, (sizes.listed, sizes.held_out), strict=True):
            texts = [[expression(value) for value in values] for values in sets]
            parts.append(synthesis.sets_of_inputs(function, texts))
    payload = None
    if pickled:
        with task_code(task, f"{task.name} cannot be pickled", "give it as file.py:Class"):
            payload = pickling.pickled(pickled, _own_folders())
    task = dataclasses.replace(task, source="".join(parts), payload=payload)
    open_reference(task)
    return bundled(task)


def _signature_of(target: Any) -> inspect.Signature | None:
    """Return how a class's forward, or a function, is called; None for a built-in without one."""
    try:
        if not isinstance(target, type):
            return inspect.signature(target)
        whole = inspect.signature(target.forward)  # type: ignore[attr-defined]
        return whole.replace(parameters=list(whole.parameters.values())[1:])
    except ValueError:
        return None


def _in_order(name: str, signature: inspect.Signature | None, inputs: Any) -> tuple[Any, list[str]]:
    """Return the inputs in the order of the forward's parameters, and the names of the last ones,
    which it takes by name only. A function that makes inputs is returned as it is.

    Raises:
        TaskError: the inputs do not fit the signature.
    """
    if inputs is None or callable(inputs):
        return inputs, []
    positional, named = by_name(inputs)
    if not named:
        return positional, []
    try:
        given = (signature or inspect.signature(lambda *_: None)).bind(*positional, **named)
    except TypeError as error:
        raise TaskError(
            f"the inputs do not fit {name}{signature or ''}",
            seen=f"{error} ({len(positional)} by position, {', '.join(named)} by name)",
            do="name them like the forward's parameters",
        ) from error
    assert signature is not None
    kinds = {parameter.kind: parameter.name for parameter in signature.parameters.values()}
    held = dict(given.arguments)
    others = held.pop(kinds.get(inspect.Parameter.VAR_KEYWORD, ""), {})
    first = _by_position(signature)
    only = {key: value for key, value in held.items() if key not in [p.name for p in first]}
    only |= others
    if only and inspect.Parameter.VAR_POSITIONAL in kinds:
        raise TaskError(
            f"the inputs do not fit {name}{signature}",
            seen=f"{', '.join(only)} by name, beside *{kinds[inspect.Parameter.VAR_POSITIONAL]}",
            do="leave them out, or give a module around this one whose forward names its inputs",
        )
    if not only:  # as far as the last that is given
        first = first[: 1 + max(i for i, p in enumerate(first) if p.name in held)]
    return [*(held.get(p.name, p.default) for p in first), *only.values()], list(only)


def _by_position(signature: inspect.Signature | None) -> list[inspect.Parameter]:
    parameters = signature.parameters.values() if signature else ()
    return [p for p in parameters if p.kind in _POSITIONAL]


def _parameters(
    signature: inspect.Signature | None, inputs: Any, names: Sequence[str]
) -> list[str]:
    """Return the names of the parameters that take the inputs by position."""
    parameters = _by_position(signature)
    if inputs is None or callable(inputs):
        return [p.name for p in parameters if p.default is p.empty] or ["*inputs"]
    n_inputs = len(inputs) - len(names)
    return [p.name for p in parameters][:n_inputs] if len(parameters) >= n_inputs else ["*inputs"]


def _no_inputs(name: str) -> TaskError:
    return TaskError(
        f"{name} has no inputs",
        seen="no inputs given, and no get_inputs beside it",
        do=f"give one --input (or inputs=[...]) per argument of the forward: {SYNTAX}",
    )
