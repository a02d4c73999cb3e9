"""Checks of a task's inputs, weights and results.

They must be values that can be passed to a candidate's process and that can be compared.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from kernelwright.core.errors import TaskError

if TYPE_CHECKING:
    import torch

CONTAINERS = (list, tuple, dict)
CONSTANTS = (bool, int, str)
"""Types of plain values that may be part of a result: they must be the same in every call."""
MAX_DEPTH = 8
"""Maximum depth of nested containers in a result."""
OF_TYPE = "a tensor of "
COMPARED = "in a type that torch compares, as int32 or int64 (complex64), and cast inside"
UNCOMPARED = ("uint16", "uint32", "uint64", "complex32", "bits", "q")
"""Prefixes of the names of types that torch cannot compare on a CPU."""


def require_plain(values: Any, function: str, own: str) -> None:
    """Check that ``function`` returned only dense tensors and plain values.

    They may be nested in lists, tuples and dicts. ``own`` is the name of the task's module, whose
    classes other processes do not have.

    Raises:
        TaskError: a value is of another kind.
    """
    kind = _other(values, own)
    if kind:
        raise TaskError(
            f"{function} returns a value that cannot be passed to a candidate",
            seen=kind,
            do=f"return them {COMPARED}"
            if kind.startswith(OF_TYPE)
            else "return dense tensors and plain values, in lists, tuples or dicts, and build the "
            "rest in the module",
        )


def require_dense_weights(module: torch.nn.Module) -> None:
    """Check that a module's weights and buffers can be copied into a candidate's.

    Raises:
        TaskError: a weight or buffer is sparse or nested.
    """
    for name, value in weights_of(module).items():
        kind = _other_layout(value)
        if kind:
            raise TaskError(
                "the module has a weight that cannot be passed to a candidate",
                seen=f"{name} is {kind}",
                do="store its contents as dense tensors, and build it in the forward",
            )


def flatten(value: Any, depth: int = 0) -> list[torch.Tensor]:
    """Return the tensors of a module's result, in order.

    None and numbers do not count as results: attention returns None for weights that were not
    requested, and embeddings of patches return the sizes of the image.

    Raises:
        TaskError: the result contains something that cannot be compared or that kernels do not
            return.
    """
    import torch

    if value is None or type(value) in CONSTANTS:
        return []
    named = named_parts(value)
    if isinstance(value, (list, tuple)) or named is not None:
        if depth == MAX_DEPTH:
            raise TaskError(
                f"the forward's result is nested more than {MAX_DEPTH} deep",
                seen=nesting(value),
                do="return a flatter result, from the forward or from a module around this one",
            )
        items = value if named is None else named.values()
        return [tensor for item in items for tensor in flatten(item, depth + 1)]
    is_tensor = isinstance(value, torch.Tensor)
    kind = _other_than_dense(value) if is_tensor else type(value).__name__
    if kind:
        raise TaskError(
            "the forward's result cannot be compared",
            seen=kind,
            do=f"return it {COMPARED}"
            if kind.startswith(OF_TYPE)
            else "let forward return dense tensors, in lists, tuples, dicts or dataclasses; leave "
            "a cache out, as with use_cache=False",
        )
    return [value]


def named_parts(value: Any) -> dict[str, Any] | None:
    """Return the parts of a dictionary or a dataclass by name; None for any other value.

    The result objects of transformers and diffusers are dictionaries of the parts that they have.
    """
    if isinstance(value, Mapping):
        return {str(key): part for key, part in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {part.name: getattr(value, part.name) for part in dataclasses.fields(value)}
    return None


def nothing_returned(result: Any) -> TaskError:
    """Return the error for a forward whose result holds no tensor."""
    return TaskError(
        "the forward returns nothing",
        seen=f"{result!r:.200}",
        do="let forward return a dense tensor, or lists, tuples, dicts or dataclasses of them",
    )


def map_plain(function: Any, value: Any) -> Any:
    """Apply ``function`` to every tensor in the lists, tuples and dicts of ``value``."""
    import torch

    if isinstance(value, torch.Tensor):
        return function(value)
    if isinstance(value, (list, tuple)):
        parts = [map_plain(function, item) for item in value]
        return tuple(parts) if isinstance(value, tuple) else parts
    if isinstance(value, dict):
        return {key: map_plain(function, item) for key, item in value.items()}
    return value


def _other(value: Any, own: str) -> str:
    """Describe a part of a value that cannot be passed to another process; empty if all can."""
    import numpy as np
    import torch

    if isinstance(value, torch.Tensor):
        return _other_than_dense(value)
    if isinstance(value, np.ndarray):
        return "a NumPy array"
    if getattr(value, "__module__", None) == own:
        return f"{getattr(value, '__name__', type(value).__name__)}, which the task defines"
    if isinstance(value, CONTAINERS) and not isinstance(value, torch.Size):
        if type(value) not in CONTAINERS:
            return type(value).__name__
        items = value.values() if isinstance(value, dict) else value
        return next(filter(None, (_other(item, own) for item in items)), "")
    return ""


def _other_than_dense(tensor: torch.Tensor) -> str:
    dtype = str(tensor.dtype).removeprefix("torch.")
    return _other_layout(tensor) or (OF_TYPE + dtype if dtype.startswith(UNCOMPARED) else "")


def _other_layout(tensor: torch.Tensor) -> str:
    import torch

    if tensor.is_nested:
        return "a nested tensor"
    if tensor.layout is not torch.strided:
        return f"a tensor in the layout {str(tensor.layout).removeprefix('torch.')}"
    return ""


def nesting(value: Any) -> str:
    """Describe how a result is nested, as ``tensor``, ``[tensor, None]`` or ``{'logits': tensor}``.

    Lists and tuples are not distinguished, nor are dictionaries and dataclasses; numbers count.
    """
    named = named_parts(value)
    if named is not None:
        return enclosed_by_name((name, nesting(part)) for name, part in named.items())
    if isinstance(value, (list, tuple)):
        return enclosed(map(nesting, value))
    return repr(value) if value is None or type(value) in CONSTANTS else "tensor"


def enclosed(parts: Iterable[str]) -> str:
    """Return the ``nesting`` of a list whose items are nested as ``parts`` say."""
    return f"[{', '.join(parts)}]"


def enclosed_by_name(parts: Iterable[tuple[str, str]]) -> str:
    """Return the ``nesting`` of a dictionary whose items are nested as ``parts`` say."""
    return f"{{{', '.join(f'{name!r}: {part}' for name, part in parts)}}}"


def weights_of(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Return the tensors of a module's ``state_dict``, without the values of get_extra_state."""
    import torch

    state = module.state_dict()
    return {name: value for name, value in state.items() if isinstance(value, torch.Tensor)}
