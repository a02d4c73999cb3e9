"""Nodes from a captured graph: operators in the table become own code, the rest are called."""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import fx

from kernelwright.compiler.capture.capture import Captured
from kernelwright.compiler.fuse.flow import Constant, Laid, Node, Source, Unsupported, walk
from kernelwright.compiler.ir.capped import OPERATORS
from kernelwright.compiler.ir.interpret import dtype_name
from kernelwright.compiler.ir.ir import Tensor
from kernelwright.compiler.lower.every import HANDLERS
from kernelwright.compiler.lower.joins import Join, Slice, planned
from kernelwright.compiler.lower.products import DEPTHWISE, NARROW_ONES, PRODUCTS
from kernelwright.compiler.lower.sorting import SORTS
from kernelwright.compiler.lower.table import Handler, cast, result_of

VIEWS = frozenset({
    "permute", "transpose", "t", "numpy_T", "view", "expand", "slice", "select", "diagonal",
    "unfold", "squeeze", "unsqueeze", "split", "split_with_sizes", "chunk", "unbind", "alias",
    "detach", "reshape", "_unsafe_view", "expand_as",
})  # fmt: skip
"""Operators that PyTorch runs without a copy (reshape: where possible)."""


@dataclass
class Flow:
    """A captured graph as nodes."""

    captured: Captured
    handlers: Mapping[str, Handler]
    values: dict[fx.Node, Any] = field(default_factory=dict)
    """Graph node → its Node, or a tuple of Nodes with None for results that are not computed."""
    calls: dict[fx.Node, tuple[Source | None, ...]] = field(default_factory=dict)
    """Graph node that PyTorch runs → its results."""
    made_by: dict[Node, fx.Node] = field(default_factory=dict)
    """Node → the graph node that it came from."""
    joins: Mapping[fx.Node, Join] = field(default_factory=dict)
    """The concatenations whose parts are computed in place: calls that give views of a buffer."""
    parts: dict[fx.Node, tuple[Node, ...]] = field(default_factory=dict)
    """Concatenation in place → its parts."""
    slices: dict[Node, Slice] = field(default_factory=dict)
    """Part → its slice of the buffer."""

    def read_outside(self) -> set[str]:
        """Return the names of the concatenations in place, and of their parts, whose layout PyTorch
        or the caller would see, and whose own is another one."""
        captured = self.captured
        seen = set(returned_by(captured)) | {
            n
            for n in captured.graph.nodes
            if n.users.keys() & (self.calls.keys() - self.joins.keys())
        }
        found = set()
        for node in viewed(seen):
            value = self.values.get(node)
            if node in self.joins and value.tensor.strides != tuple(node.meta["val"].stride()):
                found.add(node.name)
            elif value in self.slices:
                found |= {
                    leaf.name
                    for join in self.joins.values()
                    for leaf in join.leaves
                    if self.values[leaf] is value
                }
        return found


def name_of(node: fx.Node) -> str:
    """Return an operator's name: 'softmax' for aten.softmax.int; 'getitem' for operator.getitem."""
    if isinstance(node.target, torch._ops.OpOverload):
        return node.target.overloadpacket.__name__
    return getattr(node.target, "__name__", str(node.target))


def tensor_of(name: str, value: Any) -> Tensor:
    """Return the Tensor that describes a (fake) tensor."""
    shape = tuple(int(n) for n in value.shape)
    return Tensor(name, shape, dtype_name(value.dtype), tuple(int(s) for s in value.stride()))


def to_flow(
    captured: Captured,
    called: Collection[str] = (),
    *,
    products: bool = False,
    convolutions: bool = True,
    depthwise: bool = False,
    narrow: bool = False,
    apart: Collection[str] = (),
) -> Flow:
    """Return the nodes of ``captured``; graph nodes whose names are in ``called`` become calls.

    With ``products``, matrix products and sorts become nodes, too, and ``convolutions`` with them;
    with ``depthwise`` alone, those convolutions that are no products; with ``narrow``, those at
    which the library is slow. Concatenations in ``apart``, and parts of others, have memory of
    their own.
    """
    some = NARROW_ONES if narrow else DEPTHWISE if depthwise else {}
    more = PRODUCTS | SORTS if products else some
    if not convolutions and not depthwise:
        more = {name: handler for name, handler in more.items() if not name.startswith("conv")}
    flow = Flow(captured, HANDLERS | more)
    returned = set(returned_by(captured))
    own = {
        name
        for name, handler in flow.handlers.items()
        if handler in (PRODUCTS.get(name), NARROW_ONES.get(name))
    }
    flow.joins = planned(captured.graph, returned, own, {*called, *apart})
    for node in captured.graph.nodes:
        if node.op == "placeholder":
            if isinstance(node.meta.get("val"), torch.Tensor):
                flow.values[node] = _source(node.name, node.meta["val"])
        elif node.op == "call_function" and node.users:
            if node in flow.joins:
                _join(flow, node, apart)
            else:
                _add(flow, node, node.name in called)
        elif node.op not in ("call_function", "output"):
            raise Unsupported(f"a graph node of kind {node.op}")
    return flow


def returned_by(captured: Captured) -> Iterator[fx.Node]:
    """Yield the values that the caller and the updated buffers need in memory."""
    found: list[fx.Node] = []
    fx.node.map_arg(captured.outputs, found.append)
    yield from found
    names = {name for name, _ in captured.mutations} | set(captured.assumptions)
    yield from (node for node in captured.graph.nodes if node.name in names)


def _join(flow: Flow, node: fx.Node, apart: Collection[str]) -> None:
    """Make the node a view of its buffer, and its parts what is computed there."""
    join = flow.joins[node]
    parts = []
    for leaf, start in zip(join.leaves, join.starts(), strict=True):
        place = Slice(join.buffer, join.dim, start)
        part = next((part for part, at in flow.slices.items() if at == place), None)
        if part is None:
            part = flow.values[leaf]
            if isinstance(part, (Source, Constant)) or part in flow.slices or leaf.name in apart:
                part = Laid(part.shape, part.dtype, part, join.buffer.strides)
                flow.made_by[part] = node
            flow.slices[part] = place
        parts.append(part)
    flow.parts[node] = tuple(parts)
    tensor = replace(tensor_of(node.name, node.meta["val"]), strides=join.buffer.strides)
    result = Source(tensor.shape, tensor.dtype, tensor)
    flow.values[node], flow.calls[node] = result, (result,)


def _source(name: str, value: torch.Tensor) -> Source:
    tensor = tensor_of(name, value)
    return Source(tensor.shape, tensor.dtype, tensor)


def _add(flow: Flow, node: fx.Node, must_call: bool) -> None:
    if node.target is operator.getitem:
        whole, position = node.args
        flow.values[node] = flow.values[whole][position]
        return
    try:
        if must_call or _is_counter(node):
            raise Unsupported("asked to be called, or not worth a kernel")
        flow.values[node] = _handled(flow, node)
    except Unsupported:
        _call(flow, node)


def _is_counter(node: fx.Node) -> bool:
    """Return whether the node is a single integer counter, such as BatchNorm's
    num_batches_tracked."""
    value = node.meta.get("val")
    is_number = isinstance(value, torch.Tensor) and value.dim() == 0
    return (
        is_number
        and not value.is_floating_point()
        and bool(node.all_input_nodes)
        and all(arg.op == "placeholder" for arg in node.all_input_nodes)
    )


def _handled(flow: Flow, node: fx.Node) -> Any:
    name = name_of(node)
    handler = flow.handlers.get(name)
    if handler is None or not isinstance(node.target, torch._ops.OpOverload):
        raise Unsupported(name)
    args, kwargs = fx.node.map_arg((node.args, node.kwargs), lambda arg: flow.values[arg])
    value = node.meta["val"]
    first = value[0] if isinstance(value, (tuple, list)) else value
    if not isinstance(first, torch.Tensor) or first.dtype.is_complex or first.numel() == 0:
        raise Unsupported("a result that is not a real tensor with elements")
    if any(map(_is_complex, node.all_input_nodes)):
        raise Unsupported("complex numbers")
    made = _typed(handler(result_of(first, name), *args, **kwargs), value)
    _check(node, made, value)
    parts = made if isinstance(made, tuple) else (made,)
    for part in walk([part for part in parts if part is not None]):
        flow.made_by.setdefault(part, node)
    return made


def _typed(made: Any, value: Any) -> Any:
    """Return several results in the types that torch gives them: those of a batch norm's statistics
    hang on the device."""
    if not isinstance(made, tuple):
        return made
    parts = list(made)
    for position, want in enumerate(value[: len(parts)]):
        have = parts[position]
        if have is not None and "float" in have.dtype and want.is_floating_point():
            parts[position] = cast(have, dtype_name(want.dtype))
    return tuple(parts)


def _is_complex(node: fx.Node) -> bool:
    value = node.meta.get("val")
    return isinstance(value, torch.Tensor) and value.dtype.is_complex


def _check(node: fx.Node, made: Any, value: Any) -> None:
    """Check that every result has the shape and dtype that torch gives it; otherwise the handler is
    wrong."""
    is_many = isinstance(value, (tuple, list))
    pairs = zip(made, value, strict=False) if is_many else [(made, value)]
    for position, (have, want) in enumerate(pairs):
        if have is None:
            if any(user.args[1] == position for user in node.users):
                raise Unsupported(f"result {position} of {node.target}")
        elif (have.shape, have.dtype) != (tuple(want.shape), dtype_name(want.dtype)):
            seen = f"{have.shape} {have.dtype}, not {tuple(want.shape)} {want.dtype}"
            raise AssertionError(f"the lowering of {node.target} gives {seen}")


def _call(flow: Flow, node: fx.Node) -> None:
    if "kernelwright_whole" in str(node.target) and name_of(node) not in OPERATORS:
        raise Unsupported("an operator that only own code computes")
    value = node.meta.get("val")
    if isinstance(value, torch.Tensor):
        result = _source(node.name, value)
        flow.values[node] = result
        flow.calls[node] = (result,)
        return
    if not isinstance(value, (tuple, list)):
        raise Unsupported(f"{node.target} returns no tensor")
    results = tuple(
        _source(f"{node.name}_{i}", part) if isinstance(part, torch.Tensor) else None
        for i, part in enumerate(value)
    )
    flow.values[node] = results
    flow.calls[node] = results


def is_view(node: fx.Node) -> bool:
    """Return whether PyTorch computes this value without a copy from its first argument."""
    return node.op == "call_function" and name_of(node) in VIEWS


def viewed(nodes: Iterable[fx.Node]) -> Iterator[fx.Node]:
    """Yield the nodes, and the values that they are views of."""
    stack = list(nodes)
    while stack:
        node = stack.pop()
        yield node
        schema = getattr(node.target, "_schema", None)
        aliases = schema is not None and any(result.alias_info for result in schema.returns)
        if aliases or node.target is operator.getitem:
            stack += node.all_input_nodes[:1]


__all__ = ["Flow", "Node", "is_view", "name_of", "tensor_of", "to_flow", "viewed"]
