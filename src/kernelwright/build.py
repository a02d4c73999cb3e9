"""From a candidate to a module that runs: what ``kw.build`` does."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from kernelwright.core.errors import TaskError
from kernelwright.load import open_reference
from kernelwright.load.plain import weights_of
from kernelwright.result import Result

if TYPE_CHECKING:
    from torch import Tensor, nn

    from kernelwright.dispatch import Key

BUILD_SEED = 0  # the seed of a module built without a state_dict, as KernelBench's examples use


def build(
    result: Result | Sequence[Result] | Path | str,
    *args: Any,
    state_dict: Mapping[str, Tensor] | None = None,
    **kwargs: Any,
) -> nn.Module:
    """The module that a result's source file (or any candidate file) defines, ready to call.

    From a Result, ``args`` and ``kwargs`` default to the task's own constructor arguments, and the
    weights to the reference's when the task was made from an object. From several Results, one
    for each shape of the same module, a module that picks the kernel by shape and calls the
    reference outside what was judged (``dispatch.ByShape``). The file runs in this process: build
    what was judged, or what you trust.

    Raises:
        TaskError: the file does not define ModelNew, or does not take the weights; or the results
            are of different modules.
    """
    if isinstance(result, Sequence) and not isinstance(result, str):
        return _by_shape(result, args, kwargs, state_dict)
    path = result.source_path if isinstance(result, Result) else Path(result)
    if path is None:
        raise TaskError(
            "there is no source to build", seen="a result without a file", do="optimize"
        )
    file = _executed(path)
    if isinstance(result, Result):
        reference = open_reference(result.task)
        if not args and not kwargs:
            args = tuple(reference.init_inputs(BUILD_SEED))
        if state_dict is None and reference.has_fixed_weights:
            state_dict = weights_of(reference.build(BUILD_SEED))
    module = file.ModelNew(*args, **kwargs)
    if state_dict is not None:
        module.load_state_dict(state_dict)
    return module


def _executed(path: Path) -> ModuleType:
    """The file as a module that defines ModelNew."""
    do = "give a Result, or the path of a candidate's file"
    if path.suffix != ".py" or not path.is_file():
        seen = "no such file" if not path.exists() else "not the path of a Python file"
        raise TaskError(f"{path} cannot be built", seen=seen, do=do)
    spec = importlib.util.spec_from_file_location(path.stem.replace("-", "_"), path)
    assert spec is not None and spec.loader is not None  # a path that ends in .py has both
    file = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(file)
    if not hasattr(file, "ModelNew"):
        raise TaskError(f"{path} defines no ModelNew", seen=str(path), do=do)
    return file


def _by_shape(
    results: Sequence[Result],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    state_dict: Mapping[str, Tensor] | None,
) -> nn.Module:
    """A module of the best kernel for each shape, all with the weights of one reference."""
    from kernelwright.dispatch import ByShape, shapes_of

    if not results:
        raise TaskError("there is nothing to build", seen="no result", do="give one for each shape")
    opened = [open_reference(result.task) for result in results]
    modules = [
        reference.namespace[result.task.entry](*args, **kwargs)
        if args or kwargs
        else reference.build(BUILD_SEED)
        for result, reference in zip(results, opened, strict=True)
    ]
    first = modules[0]
    for result, module in zip(results, modules, strict=True):
        if _parts(module) != _parts(first):
            raise TaskError(
                "the results are of different modules",
                seen=f"{results[0].task.name}: {_parts(first)}; {result.task.name}: "
                f"{_parts(module)}"[:500],
                do="build results of one module that differ in their inputs only",
            )
    if state_dict is not None:
        first.load_state_dict(state_dict)
    kernels: dict[Key, Result] = {}
    for result, reference in zip(results, opened, strict=True):
        if result.evaluation is not None:
            kind = result.evaluation.environment.device.partition(":")[0]
            device = "cuda" if kind == "hip" else kind
            key = (device, shapes_of(reference.inputs(BUILD_SEED, "cpu")))
            kernels[key] = max(kernels.get(key, result), result, key=_least_gain)
    weights = first.state_dict()
    return ByShape(
        first,
        {key: build(r, *args, state_dict=weights, **kwargs) for key, r in kernels.items()},
    )


def _parts(module: nn.Module) -> list[tuple[str, tuple[int, ...]]]:
    return [(name, tuple(value.shape)) for name, value in weights_of(module).items()]


def _least_gain(result: Result) -> float:
    speedup = result.evaluation.speedup if result.evaluation else None
    return speedup.low if speedup else 0.0
