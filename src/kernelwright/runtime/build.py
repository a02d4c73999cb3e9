"""``kw.build``: makes a runnable module from a candidate."""

from __future__ import annotations

import copyreg
import importlib.util
import itertools
import linecache
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from kernelwright.compiler.candidate.unchanged import misses_of
from kernelwright.core.digest import digest
from kernelwright.core.errors import TaskError, UsageError, nearest
from kernelwright.core.syntax import lines
from kernelwright.loaders import open_reference
from kernelwright.loaders.neighbours import own_neighbours
from kernelwright.loaders.plain import weights_of
from kernelwright.loaders.reference import execute
from kernelwright.loaders.training_step import inputs_of_module, module_of
from kernelwright.search.result import Result

if TYPE_CHECKING:
    from torch import Tensor, nn

    from kernelwright.core.task import Task
    from kernelwright.loaders import Reference
    from kernelwright.runtime.dispatch import Key

BUILDABLE = "give a Result, a list of them, or the path of a candidate's file"
ON_MISS = ("warn", "raise", "silent")
_NUMBERS = itertools.count()
BUILD_SEED = 0
"""Seed of the weights of a module that is built without a state_dict, as in KernelBench."""


def build(
    result: Result | Sequence[Result] | Path | str,
    *args: Any,
    state_dict: Mapping[str, Tensor] | None = None,
    on_miss: str = "warn",
    **kwargs: Any,
) -> nn.Module:
    """Build the module that a result's source file (or any candidate file) defines.

    From one Result, ``args`` and ``kwargs`` default to the task's constructor arguments, and the
    weights to the reference's if the task was made from an object. From several Results, one for
    each input shape of the same module, with gradients or without, the built module's forward picks
    the kernel by shape; for calls unlike those that were judged it runs the module's own code
    (``dispatch.ByShape``). So it is for a result in both modes. A result in which nothing beat the
    library gives the module under the strongest setting of it. The file runs in this process: build
    only files that were judged or that you trust.

    A call that no kernel serves is a miss, and runs the module's own code. ``on_miss`` says what
    else happens: "warn" once for each reason, "raise" a RuntimeError, or stay "silent". ``misses``
    counts them, and ``built.why_not(*inputs)`` says why a call would be one.

    In both cases the weights have the same names as in the reference. The built module can be
    copied and pickled. Its source texts are pickled with it and run when it is unpickled.

    Raises:
        TaskError: the file does not define ModelNew or does not accept the weights; or the list of
            results is empty or mixes different modules.
        UsageError: ``on_miss`` is none of the three.
    """
    if on_miss not in ON_MISS:
        raise UsageError("on_miss is not known", seen=repr(on_miss), do=nearest(on_miss, ON_MISS))
    if isinstance(result, Result) and result.other is not None:
        first = replace(result, other=None)
        result = first if result.other.error else [first, result.other]
    if isinstance(result, Sequence):
        results = [one for one in result if isinstance(one, Result)]
        if len(results) == len(result):
            return _by_shape(results, args, kwargs, state_dict, on_miss)
    if not isinstance(result, (Result, str, Path)):
        raise TaskError("there is nothing to build", seen=type(result).__name__, do=BUILDABLE)
    module = _from_file(result, args, kwargs, state_dict)
    for part in module.modules():
        if hasattr(type(part), "on_miss"):
            vars(part)["on_miss"] = on_miss
    return module


def _from_file(
    result: Result | Path | str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    state_dict: Mapping[str, Tensor] | None,
) -> nn.Module:
    """Build what one file defines."""
    path = result.source_path if isinstance(result, Result) else Path(result)
    if path is None:
        raise TaskError(
            "there is no source to build",
            seen="a result without a file",
            do="give a result of kw.optimize that has a source_path",
        )
    file = _executed(path)
    if isinstance(result, Result):
        reference = open_reference(result.task)
        if not args and not kwargs:
            args = tuple(reference.init_inputs(BUILD_SEED))
        if state_dict is None and reference.has_fixed_weights:
            state_dict = weights_of(reference.build(BUILD_SEED))
    module: nn.Module = file.ModelNew(*args, **kwargs)
    if isinstance(result, Result):
        result.task.set_mode(module)
    if state_dict is not None:
        module.load_state_dict(state_dict)
    return module


def misses(module: nn.Module) -> dict[str, int]:
    """How many calls of a built module were not served by its kernels, by reason.

    ``module`` may contain built modules: their misses are added up.
    """
    from kernelwright.runtime.dispatch import ByShape

    total = Counter(misses_of(module))
    for part in module.modules():
        if isinstance(part.forward, ByShape):  # built from several results
            for kernel in part.forward.all_kernels():
                total.update(misses_of(kernel))
    return dict(total)


def _executed(path: Path) -> ModuleType:
    """Execute the file as a module that defines ModelNew, whose instances can be pickled."""
    if path.suffix != ".py" or not path.is_file():
        seen = "no such file" if not path.exists() else "not the path of a Python file"
        raise TaskError(f"{path} cannot be built", seen=seen, do=BUILDABLE)
    text = importlib.util.decode_source(path.read_bytes())
    name = _new_name(digest(text))
    file = _run(text, str(path), name)
    if not hasattr(file, "ModelNew"):
        raise TaskError(f"{path} defines no ModelNew", seen=str(path), do=BUILDABLE)
    _let_travel(file.ModelNew, "ModelNew", name, _run, text, str(path))
    return file


def _run(text: str, path: str, name: str) -> ModuleType:
    """Execute the text as a module of that name.

    The text is entered in ``linecache`` under ``path`` even if there is no such file, because
    kernel compilers read the source lines from there.
    """
    linecache.cache[path] = (len(text), None, lines(text), path)
    file = ModuleType(name)
    file.__file__ = path
    sys.modules[name] = file  # pickle and dataclasses look classes up here
    with own_neighbours(text):
        exec(compile(text, path, "exec"), vars(file))
    return file


def opened(task: Task) -> Reference:
    """Open the task's reference under a unique module name, so that its modules can be pickled.

    The unique name keeps other executions of the same source from replacing its classes.
    """
    name = _new_name(task.digest)
    reference = open_reference(task, name)
    model = reference.namespace[task.model]
    if model.__module__ == name:  # an imported class is pickled like any other
        _let_travel(model, task.model, name, execute, task)
    return reference


def _new_name(of: str) -> str:
    return f"kernelwright_built_{of.removeprefix('b2:')[:12]}_{next(_NUMBERS)}"


def _let_travel(model: type, *origin: Any) -> None:
    """Register a reducer: unpickling a ``model`` begins with ``_blank(*origin)``."""
    copyreg.pickle(model, lambda it: (_blank, origin, it.__reduce_ex__(4)[2]))


def _blank(entry: str, name: str, run: Callable[..., Any], *text: Any) -> nn.Module:
    """Create an instance of the class ``entry`` without state, as the first step of unpickling.

    The class is looked up in the module ``name``; ``run(*text, name)`` creates that module if it
    does not exist in this process.
    """
    if name not in sys.modules:
        run(*text, name)
        _let_travel(getattr(sys.modules[name], entry), entry, name, run, *text)
    model = getattr(sys.modules[name], entry)
    blank: nn.Module = model.__new__(model)
    return blank


def _by_shape(
    results: Sequence[Result],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    state_dict: Mapping[str, Tensor] | None,
    on_miss: str,
) -> nn.Module:
    """Build a module with the best kernel for each shape; all kernels share its weights."""
    from kernelwright.runtime.dispatch import forms_of, modes_of, serve

    if not results:
        raise TaskError("there is nothing to build", seen="no result", do="give one for each shape")
    references = [opened(result.task) for result in results]
    modules = [
        reference.namespace[result.task.model](*args, **kwargs)
        if args or kwargs
        else module_of(reference.build(BUILD_SEED))
        for result, reference in zip(results, references, strict=True)
    ]
    first = modules[0]
    for result, module in zip(results, modules, strict=True):
        if _parts(module) != _parts(first):
            raise TaskError(
                "the results belong to different modules",
                seen=f"{results[0].task.name}: {_parts(first)}; {result.task.name}: "
                f"{_parts(module)}"[:500],
                do="build results of one module that differ only in their inputs",
            )
    if state_dict is not None:
        first.load_state_dict(state_dict)
    weights = first.state_dict()
    tables: dict[bool, dict[Key, nn.Module]] = {False: {}, True: {}}
    """Kernels by what tells calls apart, without gradients and with gradients."""
    gains: dict[tuple[bool, Key], float] = {}
    for result, reference, module in zip(results, references, modules, strict=True):
        searched_on = result.evaluation.environment.device if result.evaluation else result.device
        if not searched_on:
            continue
        kind = searched_on.partition(":")[0]
        kernel = build(result, *args, state_dict=weights, on_miss=on_miss, **kwargs)
        modes = () if getattr(kernel, "any_mode", False) else modes_of(module)
        gives = bool(result.task.step_of)
        forms = forms_of(inputs_of_module(reference, BUILD_SEED))
        key: Key = ("cuda" if kind == "hip" else kind, forms, modes)
        if key not in tables[gives] or _least_gain(result) > gains[gives, key]:
            tables[gives][key], gains[gives, key] = kernel, _least_gain(result)
    serve(first, tables[False], on_miss, tables[True])
    return first


def _parts(module: nn.Module) -> list[tuple[str, tuple[int, ...]]]:
    return [(name, tuple(value.shape)) for name, value in weights_of(module).items()]


def _least_gain(result: Result) -> float:
    speedup = result.evaluation.speedup if result.evaluation else None
    return speedup.low if speedup else 0.0
