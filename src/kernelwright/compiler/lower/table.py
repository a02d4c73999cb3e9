"""The table of operators that own code can do, and the decorator that fills it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kernelwright.compiler.fuse.flow import Constant, Node, Point, broadcast
from kernelwright.compiler.ir.interpret import dtype_name

Handler = Callable[..., Any]
HANDLERS: dict[str, Handler] = {}
"""ATen operator name without its overload → its handler."""


@dataclass(frozen=True)
class Result:
    """The facts about the operator's own result that a handler may use, from the captured graph."""

    shape: tuple[int, ...]
    dtype: str
    operator: str
    """The ATen operator's name without its overload."""


def lowers(*operators: str) -> Callable[[Handler], Handler]:
    """Register ``handler(result, *args, **kwargs)`` for ATen operators.

    Arguments that are values of the graph arrive as Nodes. A handler returns a Node, or a tuple of
    them for an operator with several results (None for one that it cannot compute), or raises
    Unsupported.
    """

    def register(handler: Handler) -> Handler:
        for operator in operators:
            if operator in HANDLERS:
                raise ValueError(f"two handlers for {operator}")
            HANDLERS[operator] = handler
        return handler

    return register


def result_of(value: Any, operator: str) -> Result:
    """Return the Result that describes a (fake) tensor."""
    return Result(tuple(int(n) for n in value.shape), dtype_name(value.dtype), operator)


def constant(like: Node | Result, value: float | int | bool, dtype: str | None = None) -> Node:
    """Return ``value`` everywhere in the shape of ``like``."""
    return Constant(like.shape, dtype or like.dtype, value)


def point(op: str, *operands: Node, dtype: str | None = None) -> Node:
    """Return a pointwise operator on operands of one shape; the dtype is the first operand's by
    default."""
    first = operands[0]
    if op == "cast" and first.dtype == dtype:
        return first
    return Point(first.shape, dtype or first.dtype, op, operands)


def cast(node: Node, dtype: str) -> Node:
    """Return ``node`` in another dtype; a constant stays a constant."""
    if node.dtype == dtype:
        return node
    if isinstance(node, Constant) and "float" in dtype:
        return Constant(node.shape, dtype, float(node.value))
    return point("cast", node, dtype=dtype)


def operand(value: Any, like: Result, dtype: str) -> Node:
    """Return an argument (a node, or a Python number) as a node of the result's shape in
    ``dtype``."""
    if isinstance(value, Node):
        return cast(broadcast(value, like.shape), dtype)
    number = value if dtype == "bool" else float(value) if "float" in dtype else int(value)
    return Constant(like.shape, dtype, number)
