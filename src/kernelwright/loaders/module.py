"""Loads classes, functions and instances as tasks in KernelBench's format."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from kernelwright.core.digest import digest
from kernelwright.core.errors import TaskError, nearest
from kernelwright.core.places import holds_installed_packages
from kernelwright.core.task import Task
from kernelwright.loaders import pickling, synthesis
from kernelwright.loaders.copies import copied
from kernelwright.loaders.inlined import bundled
from kernelwright.loaders.inputs import SYNTAX, expression
from kernelwright.loaders.kernelbench import read_source
from kernelwright.loaders.packages import named_by_package
from kernelwright.loaders.reference import execute, open_reference, task_code

ORIGIN = "module"
_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class ModuleLoader:
    """Claims ``file.py:Class``, ``package.module:Class``, modules, module classes, functions."""

    def claims(self, target: Any) -> bool:
        return ":" in target if isinstance(target, str) else callable(target)

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
        arguments, keywords = _constructor_arguments(init, kwargs)
        if isinstance(target, type):
            target = _import_name(target)
        if isinstance(target, str):
            task, found = _open_named(target)
            task = dataclasses.replace(task, name=name or task.entry)
            return _from_named(task, found, inputs, arguments, keywords)
        if arguments or keywords:
            raise TaskError(
                "constructor arguments were given for an existing object",
                seen=f"{type(target).__name__}, {arguments or keywords!r}"[:300],
                do="leave init and kwargs out, or give the class instead of the instance",
            )
        return _from_object(target, inputs, name)


def _constructor_arguments(
    init: Any, kwargs: Mapping[str, Any] | None
) -> tuple[list[Any], dict[str, Any]]:
    keywords = dict(kwargs or {})
    if isinstance(init, Mapping):
        return [], {**init, **keywords}
    if init is None or (isinstance(init, Sequence) and not isinstance(init, str)):
        return list(init or []), keywords
    raise TaskError(
        "constructor arguments are a list or a mapping",
        seen=repr(init)[:200],
        do="""write [1024, 4096] or {"hidden": 5}""",
    )


def _import_name(target: type) -> str:
    """Return a class's name as ``package.module:Class``."""
    if target.__module__ == "__main__" or "." in target.__qualname__:
        raise TaskError(
            f"the class {target.__qualname__} cannot be imported by name",
            seen=f"{target.__module__}.{target.__qualname__}",
            do=f"give an instance, {target.__name__}(...), or move the class to a file",
        )
    return f"{target.__module__}:{target.__name__}"


def _open_named(target: str) -> tuple[Task, dict[str, Any]]:
    """Return a task whose text defines or imports ``target``, and the names beside ``target``."""
    place, _, entry = target.rpartition(":")
    if place.endswith(".py"):
        path = Path(place)
        roots = (str(path.resolve().parent),)
        task = Task(path.name, ORIGIN, read_source(path), entry, import_roots=roots)
        with named_by_package(path, entry):
            return task, execute(task)
    task = Task(place, ORIGIN, "", entry, import_roots=_own_folders())
    with task_code(task, f"{place} does not import", "check its name, or give file.py:Class"):
        found = vars(importlib.import_module(place))
    parts = ("get_inputs", "get_init_inputs")
    names = ", ".join([entry, *(part for part in parts if part in found)])
    # The comment makes the package's text part of the task's identity.
    text = digest(inspect.getsource(sys.modules[place]))
    source = f"# The text of {place} is {text}.\nfrom {place} import {names}\n"
    return dataclasses.replace(task, source=source), found


def _own_folders() -> tuple[str, ...]:
    """Return the working folder and the folders of ``sys.path`` that hold no installed packages."""
    installed = (sys.prefix, sys.base_prefix)
    folders = [os.path.abspath(folder) for folder in ("", *sys.path)]
    own = (f for f in folders if not f.startswith(installed) and not holds_installed_packages(f))
    return tuple(dict.fromkeys(own))


def _from_named(
    task: Task,
    found: Mapping[str, Any],
    inputs: Any,
    arguments: list[Any],
    keywords: Mapping[str, Any],
) -> Task:
    """Add to ``task``, which defines the class or function ``entry``, the format's other parts."""
    target = _named_target(task, found)
    if inputs is None and not callable(found.get("get_inputs")):
        raise _no_inputs(task.entry)
    parts, entry = [], task.entry
    if not isinstance(target, type):
        parts.append(synthesis.function_module(task.entry, _parameters(target, inputs)))
        parts.append(synthesis.get_init_inputs([]))
        entry = "Model"
    elif arguments or keywords or not callable(found.get("get_init_inputs")):
        positional, by_name = _bind(target, arguments, keywords)
        if by_name:
            text = synthesis.positional_subclass(task.entry, len(positional), list(by_name))
            parts.append(text)
            entry = "Model"
        parts.append(synthesis.get_init_inputs([*positional, *by_name.values()]))
    return _finish(dataclasses.replace(task, entry=entry), parts, {}, inputs)


def _named_target(task: Task, found: Mapping[str, Any]) -> Any:
    from torch import nn

    target = found.get(task.entry)
    if inspect.isfunction(target) or (isinstance(target, type) and issubclass(target, nn.Module)):
        return target
    known = [n for n, v in found.items() if isinstance(v, type) and issubclass(v, nn.Module)]
    if target is not None:
        what, seen = f"{task.entry} is neither an nn.Module class nor a function", repr(target)
    else:
        what, seen = f'no class "{task.entry}" there', f"{len(known)} subclasses of torch.nn.Module"
    do = nearest(task.entry, known) if known else "define a subclass of torch.nn.Module"
    raise TaskError(what, seen=seen[:300], do=do)


def _from_object(target: Any, inputs: Any, name: str | None) -> Task:
    """Return a task that holds an instance or a function in pickled form."""
    from torch import nn

    own_name = getattr(target, "__name__", type(target).__name__)
    if inputs is None:
        raise _no_inputs(own_name)
    task = Task(name or own_name, ORIGIN, "", "Model", import_roots=_own_folders())
    if isinstance(target, nn.Module):
        with task_code(task, f"{own_name} cannot be copied", "give the class with its arguments"):
            target = copied(target).cpu()
        source, parts = synthesis.INSTANCE.format(name=own_name), []
    else:
        own_name = own_name if own_name.isidentifier() else "function"
        source = synthesis.FUNCTION.format(name=own_name)
        parts = [synthesis.function_module(own_name, _parameters(target, inputs))]
    parts.append(synthesis.get_init_inputs([]))
    return _finish(dataclasses.replace(task, source=source), parts, {"target": target}, inputs)


def _finish(task: Task, parts: Sequence[str], pickled: dict[str, Any], inputs: Any) -> Task:
    """Complete the task with its remaining parts, inputs and payload, and check that it runs."""
    imports = "" if "import torch\n" in task.source else "\n\nimport torch\n"
    parts = [task.source.rstrip() + "\n", imports, *parts]
    if callable(inputs):
        parts.append(synthesis.PICKLED_INPUTS)
        pickled = {**pickled, "inputs": inputs}
    elif inputs is not None:
        parts.append(synthesis.get_inputs([expression(value) for value in _listed(inputs)]))
    payload = None
    if pickled:
        with task_code(task, f"{task.name} cannot be pickled", "give it as file.py:Class"):
            payload = pickling.pickled(pickled, _own_folders())
    task = dataclasses.replace(task, source="".join(parts), payload=payload)
    open_reference(task)
    return bundled(task)


def _listed(inputs: Any) -> list[Any]:
    if isinstance(inputs, Mapping):
        raise TaskError(
            "inputs are given by position",
            seen=", ".join(map(str, inputs)),
            do="give a list, in the order of the forward's parameters",
        )
    return list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]


def _parameters(function: Callable[..., Any], inputs: Any) -> list[str]:
    """Return the names of the parameters that take the inputs of ``function``."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # a built-in without a signature
        return ["*inputs"]
    if inputs is None or callable(inputs):
        names = [p.name for p in parameters if p.default is p.empty and p.kind in _POSITIONAL]
        return names or ["*inputs"]
    names = [p.name for p in parameters if p.kind in _POSITIONAL]
    n_inputs = len(_listed(inputs))
    return names[:n_inputs] if len(names) >= n_inputs else ["*inputs"]


def _bind(
    target: type, arguments: Sequence[Any], keywords: Mapping[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Bind the constructor's arguments, as many as possible by position.

    Raises:
        TaskError: the arguments do not fit the constructor's signature.
    """
    signature = inspect.signature(target)
    try:
        bound = signature.bind(*arguments, **keywords)
    except TypeError as error:
        raise TaskError(
            f"the constructor arguments do not fit {target.__name__}{signature}",
            seen=f"{error} ({[*arguments]}, {dict(keywords)})"[:300],
            do="give them in order, --init '[1024, 4096]', or by name, --init '{\"hidden\": 5}'",
        ) from error
    positional = [p for p in signature.parameters.values() if p.kind in _POSITIONAL]
    last = max((i for i, p in enumerate(positional) if p.name in bound.arguments), default=0)
    for parameter in positional[:last]:
        if synthesis.is_literal(parameter.default):
            bound.arguments.setdefault(parameter.name, parameter.default)
    return list(bound.args), dict(bound.kwargs)


def _no_inputs(name: str) -> TaskError:
    return TaskError(
        f"{name} has no inputs",
        seen="no inputs given, and no get_inputs beside it",
        do=f"give one --input (or inputs=[...]) per argument of the forward: {SYNTAX}",
    )
