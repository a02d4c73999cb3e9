"""From a candidate to a module that runs: what ``kw.build`` does."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelwright.core.errors import TaskError
from kernelwright.load import open_reference
from kernelwright.search import Result

if TYPE_CHECKING:
    from torch import Tensor, nn

BUILD_SEED = 0  # the seed of a module built without a state_dict, as KernelBench's examples use


def build(
    result: Result | Path | str,
    *args: Any,
    state_dict: Mapping[str, Tensor] | None = None,
    **kwargs: Any,
) -> nn.Module:
    """The module that a result's source file (or any candidate file) defines, ready to call.

    From a Result, ``args`` and ``kwargs`` default to the task's own constructor arguments, and the
    weights to the reference's when the task was made from an object. The file runs in this
    process: build what was judged, or what you trust.

    Raises:
        TaskError: the file does not define ModelNew, or does not take the weights.
    """
    path = result.source_path if isinstance(result, Result) else Path(result)
    if path is None:
        raise TaskError(
            "there is no source to build", seen="a result without a file", do="optimize"
        )
    spec = importlib.util.spec_from_file_location(path.stem.replace("-", "_"), path)
    assert spec is not None and spec.loader is not None  # a path that ends in .py has both
    file = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(file)
    if not hasattr(file, "ModelNew"):
        raise TaskError(f"{path} defines no ModelNew", seen=str(path), do="name a candidate's file")
    if isinstance(result, Result):
        reference = open_reference(result.task)
        if not args and not kwargs:
            args = tuple(reference.init_inputs(BUILD_SEED))
        if state_dict is None and reference.has_fixed_weights:
            state_dict = reference.build(BUILD_SEED).state_dict()
    module = file.ModelNew(*args, **kwargs)
    if state_dict is not None:
        module.load_state_dict(state_dict)
    return module
