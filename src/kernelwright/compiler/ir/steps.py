"""The text of a program's calls, as a person would write them."""

from __future__ import annotations

import keyword
from collections.abc import Iterator
from typing import Any

import torch

from kernelwright.compiler.ir.ir import Call, Ref

_METHODS = frozenset({
    "view", "permute", "transpose", "t", "expand", "select", "diagonal", "unfold", "squeeze",
    "unsqueeze", "split", "split_with_sizes", "chunk", "unbind", "detach", "reshape", "expand_as",
    "add_",
})  # fmt: skip
_SPREAD = frozenset({"view", "permute", "expand", "reshape"})
"""Methods that take a list's numbers one by one; ``split`` would read the second as an axis."""
_FUNCTIONS = {
    "linear": "F.linear",
    "gelu": "F.gelu",
    "silu": "F.silu",
    "scaled_dot_product_attention": "F.scaled_dot_product_attention",
    "_unsafe_view": "torch.reshape",
    "numpy_T": "torch.t",
} | {
    name: f"torch.{name}"
    for name in (
        "conv1d",
        "conv2d",
        "conv3d",
        "conv_transpose1d",
        "conv_transpose2d",
        "conv_transpose3d",
        "matmul",
        "mm",
        "bmm",
        "addmm",
        "baddbmm",
        "zeros",
        "ones",
        "full",
        "empty_strided",
        "dropout",
        "einsum",
        "lstm",
        "gru",
        "rnn_tanh",
        "rnn_relu",
        "relu",
        "sigmoid",
        "tanh",
        "exp",
        "sum",
        "mean",
        "amax",
        "softmax",
        "layer_norm",
        "group_norm",
        "cat",
        "stack",
        "clamp",
        "embedding",
        "masked_fill",
        "clone",
        "logical_not",
        "full_like",
        "sqrt",
        "rsqrt",
        "cumsum",
        "ones_like",
        "triu",
        "tril",
        "equal",
        "_foreach_add_",
    )
}
"""Spellings whose positional arguments are those of the ATen operator."""
_OPERATORS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
_LAID_BY_DEVICE = ("torch.ops.aten.scaled_dot_product_attention",)
"""Operators whose results have the memory layout of the kernel that torch chooses when it runs: the
strides of a trace on a CPU do not hold on a GPU, nor for every length on a CPU."""
_DROPPED = frozenset({"pin_memory", "layout", "path"})  # torch.einsum finds its own path


def call_text(call: Call, device: str) -> str:
    """Return the statement of a call, such as ``a, b = torch.f(x, 1)``.

    ``device`` is the expression for the device to allocate tensors on.
    """
    name = call.target.removeprefix("torch.ops.aten.").partition(".")[0]
    args = [literal(arg, device) for arg in call.args]
    if name in _OPERATORS and not call.kwargs:
        text = f"{args[0]} {_OPERATORS[name]} {args[1]}"
    elif name == "slice":
        text = _slice_text(call, args)
    elif name in _METHODS:
        method = "reshape" if name == "view" else name.removesuffix("_with_sizes")
        given = _spread(args[1:]) if name in _SPREAD else args[1:]
        text = f"{args[0]}.{method}({', '.join(given)})"
    else:
        args += [
            f"{key}={literal(value, device)}" for key, value in call.kwargs if key not in _DROPPED
        ]
        text = f"{_FUNCTIONS.get(name, call.target)}({', '.join(args)})"
    results = ", ".join(tensor.name for tensor in call.outputs)
    return f"{results} = {text}" if results else text


def layout_text(call: Call) -> str:
    """Return the statement that gives the result the strides that the program expects; empty if it
    has them on every device. It copies only if the strides differ."""
    if not call.target.startswith(_LAID_BY_DEVICE):
        return ""
    (result,) = call.outputs
    order = sorted(range(len(result.shape)), key=lambda dim: -result.strides[dim])
    if order == sorted(order):
        return f"{result.name} = {result.name}.contiguous()"
    there = ", ".join(map(str, order))
    back = ", ".join(str(order.index(dim)) for dim in range(len(order)))
    return f"{result.name} = {result.name}.permute({there}).contiguous().permute({back})"


def _spread(args: list[str]) -> list[str]:
    """Return a single list argument as its elements: ``x.view(2, 3)``."""
    return [args[0][1:-1]] if len(args) == 1 and args[0].startswith("[") else args


def _slice_text(call: Call, args: list[str]) -> str:
    """Return a slice as text, such as ``x[:, 1:3]``."""
    dim, start, end, step = (*call.args[1:], *(0, None, None, 1)[len(call.args) - 1 :])
    rank = len(call.outputs[0].shape)
    first = "" if start in (None, 0) else str(start)
    last = "" if end is None or end >= 2**62 else str(end)
    cut = f"{first}:{last}" + (f":{step}" if step != 1 else "")
    return f"{args[0]}[{', '.join([':'] * (dim % rank) + [cut])}]"


def literal(value: Any, device: str = "") -> str:
    """Return Python text for an argument."""
    match value:
        case Ref(name):
            return name
        case torch.device():
            return device
        case list():
            return "[" + ", ".join(literal(part, device) for part in value) + "]"
        case tuple():
            inside = ", ".join(literal(part, device) for part in value)
            return f"({inside},)" if len(value) == 1 else f"({inside})"
        case {"$class": str(kind), **parts}:  # structures.CLASS: an object
            inside = (f"{key}={literal(part, device)}" for key, part in parts.items())
            return f"{kind.rpartition(':')[2]}({', '.join(inside)})"
        case dict():
            return "{" + ", ".join(f"{k!r}: {literal(v, device)}" for k, v in value.items()) + "}"
        case float() if value != value or value in (float("inf"), float("-inf")):
            return f'float("{value}")'
    return repr(value)


def references(structure: Any) -> Iterator[str]:
    """Yield the names of the tensors that an argument or output structure refers to."""
    match structure:
        case Ref(name):
            yield name
        case list() | tuple():
            for part in structure:
                yield from references(part)
        case dict():
            yield from references(list(structure.values()))


def variable(name: str, taken: set[str]) -> str:
    """Return ``name`` as a Python variable that is not in ``taken``, and add it there."""
    if name[:1].isdigit():
        name = f"layer_{name}"
    if keyword.iskeyword(name) or keyword.issoftkeyword(name):
        name += "_"
    fresh, n = name, 1
    while fresh in taken:
        n += 1
        fresh = f"{name}_{n}"
    taken.add(fresh)
    return fresh
