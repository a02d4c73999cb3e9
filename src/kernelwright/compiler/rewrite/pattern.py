"""Patterns: Python expressions over terms, matched against graphs and built into them.

    matmul(softmax(mul(matmul(q, mT(k)), s), -1), v)

A name stands for anything, and the same name for the same value; numbers, None and tuples stand for
themselves; a call stands for a term with that operator. ``mul`` and ``add`` match in either order.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache, partial
from typing import Any

import torch
from torch import fx

from kernelwright.compiler.ir import capped
from kernelwright.compiler.rewrite.composed import COMPOSED
from kernelwright.compiler.rewrite.terms import term_of
from kernelwright.core.syntax import parse_expression

Bindings = Mapping[str, Any]
_COMMUTATIVE = ("mul", "add", "maximum", "minimum")


@cache
def parsed(text: str) -> ast.expr:
    """Return the expression of a pattern or replacement."""
    return parse_expression(text)


@cache
def operator_of(text: str) -> str:
    """Return the operator of all terms that a pattern matches."""
    expression = parsed(text)
    assert isinstance(expression, ast.Call) and isinstance(expression.func, ast.Name)
    return expression.func.id


def match(pattern: ast.expr, value: Any, bound: Bindings) -> Iterator[dict[str, Any]]:
    """Yield every way in which ``value`` is an instance of ``pattern``, with the names bound.

    The key '' holds the graph nodes that the pattern's calls cover.
    """
    match pattern:
        case ast.Name(id=name):
            if name not in bound:
                yield {**bound, name: value}
            elif bound[name] is value or (not isinstance(value, fx.Node) and bound[name] == value):
                yield dict(bound)
        case ast.Call(func=ast.Name(id=op), args=args):
            term = term_of(value) if isinstance(value, fx.Node) else None
            if term is None or term.op != op or len(term.args) != len(args):
                return
            covered = {**bound, "": (*bound.get("", ()), value)}
            orders = [term.args]
            if op in _COMMUTATIVE and isinstance(term.args[1], fx.Node):
                orders.append(term.args[::-1])
            for order in orders:
                yield from _match_all(args, order, covered)
        case _:
            if not isinstance(value, fx.Node) and ast.literal_eval(pattern) == value:
                yield dict(bound)


def _match_all(
    patterns: list[ast.expr], values: tuple[Any, ...], bound: Bindings
) -> Iterator[dict[str, Any]]:
    if not patterns:
        yield dict(bound)
        return
    for found in match(patterns[0], values[0], bound):
        yield from _match_all(patterns[1:], values[1:], found)


def build(expression: ast.expr, graph: fx.Graph, bound: Bindings) -> Any:
    """Return the value of a replacement; new nodes are added at the graph's insertion point."""
    match expression:
        case ast.Name(id=name):
            return bound[name]
        case ast.Call(func=ast.Name(id=op), args=args, keywords=keywords):
            values = [build(arg, graph, bound) for arg in args]
            named = {k.arg: build(k.value, graph, bound) for k in keywords if k.arg}
            return call(graph, op, *values, **named)
        case ast.List(elts=parts):
            return [build(part, graph, bound) for part in parts]
        case ast.UnaryOp() | ast.Constant() | ast.Tuple():
            return ast.literal_eval(expression)
    raise ValueError(f"a replacement cannot say {ast.unparse(expression)}")


_OVERLOADS = {
    "sum": "dim_IntList", "mean": "dim", "transpose": "int", "mul": "Tensor", "add": "Tensor",
    "div": "Tensor", "sub": "Tensor", "squeeze": "dim", "softmax": "int", "slice": "Tensor",
    "conv_transpose2d": "input", "conv_transpose3d": "input",
}  # fmt: skip


def call(graph: fx.Graph, op: Any, *args: Any, **kwargs: Any) -> fx.Node:
    """Return a new node for the ATen operator, by its name or itself, with its (fake) value."""
    if not isinstance(op, str):
        target, op = op, op.overloadpacket.__name__
    elif op in COMPOSED:
        return COMPOSED[op](partial(call, graph), *args, **kwargs)
    else:
        library = torch.ops.kernelwright_whole if op in capped.OPERATORS else torch.ops.aten
        target = getattr(getattr(library, op), _OVERLOADS.get(op, "default"))
    node = graph.create_node("call_function", target, args, kwargs, name=op)
    values, named = fx.node.map_arg((args, kwargs), lambda arg: arg.meta["val"])
    fake = next(arg.meta["val"] for arg in node.all_input_nodes)
    with fake.fake_mode, torch.no_grad():
        node.meta["val"] = target(*values, **named)
    return node
