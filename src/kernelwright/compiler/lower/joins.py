"""Concatenations without a kernel: their parts are computed where they lie in one buffer.

The blocks of a dense network concatenate what the block before did and one part more. All of them
are the first parts of the longest one, and so views of its memory.
"""

from __future__ import annotations

import operator
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import fx

from kernelwright.compiler.ir.ir import Call, Ref, Step, Tensor, contiguous

MOST_PARTS = 4
"""Number of parts up to which a kernel that reads a concatenation can choose among them itself."""
ALIGNED_BYTES = 16
"""Bytes that the start of each part is a multiple of: kernels store packs of numbers there."""
_PRODUCTS = frozenset({"linear", "matmul", "mm", "bmm", "addmm", "baddbmm"})
_REDUCTIONS = frozenset({"var_mean", "mean", "sum", "amax", "amin"})


@dataclass(frozen=True)
class Join:
    """A concatenation that is the first part of a buffer, or all of it."""

    buffer: Tensor
    dim: int
    leaves: tuple[fx.Node, ...]
    """Its parts; those of a concatenation among them stand for it."""

    def starts(self) -> Iterator[int]:
        """Yield the place of each part along ``dim``."""
        start = 0
        for leaf in self.leaves:
            yield start
            start += _shape(leaf)[self.dim]

    def is_aligned(self) -> bool:
        """Return whether every part begins where packs of numbers may be stored."""
        step = self.buffer.strides[self.dim] * getattr(torch, self.buffer.dtype).itemsize
        return all(start * step % ALIGNED_BYTES == 0 for start in self.starts())


@dataclass(frozen=True)
class Slice:
    """The place of a tensor in the buffer of concatenations."""

    buffer: Tensor
    dim: int
    start: int

    def call(self, tensor: Tensor) -> Call:
        """The call that gives the tensor its memory."""
        end = self.start + tensor.shape[self.dim]
        args = (Ref(self.buffer.name), self.dim, self.start, end)
        return Call("torch.ops.aten.slice.Tensor", args, (), (tensor,), ("cat",))


def planned(
    graph: fx.Graph, returned: Collection[fx.Node], own: Collection[str], apart: Collection[str]
) -> dict[fx.Node, Join]:
    """Return the concatenations whose parts are computed in place: those of which several share a
    buffer, and those that PyTorch reads and own code makes parts of.

    ``own`` are the operators that are own code; a concatenation whose name is in ``apart`` is none
    of them.
    """
    leaves = leaves_of(graph, apart)
    chains: list[list[fx.Node]] = []
    for node in sorted(leaves, key=lambda node: -len(leaves[node])):
        for chain in chains:
            if node not in returned and _is_first_part(node, chain[0], leaves, returned):
                chain.append(node)
                break
        else:
            chains.append([node])
    found = {}
    for chain in chains:
        root = chain[0]
        made = [_product_under(leaf) or _reduced(leaf) for leaf in leaves[root]]
        if len(chain) > 1:
            pays = all(made[1:])
        else:
            is_read = root in returned or any(map(_is_product, root.users))
            is_own = any(m and _name(m) in own and m.name not in apart for m in made)
            pays = is_read and (is_own or len(made) > MOST_PARTS)
        buffer = _buffer(root, leaves[root], root in returned)
        joins = {node: Join(buffer, _dim(node), leaves[node]) for node in chain}
        if pays and joins[root].is_aligned():
            found |= joins
    return found


def leaves_of(graph: fx.Graph, apart: Collection[str] = ()) -> dict[fx.Node, tuple[fx.Node, ...]]:
    """Return the parts of each concatenation of several tensors of its own type and rank; those of
    a concatenation among them stand for it."""
    leaves: dict[fx.Node, tuple[fx.Node, ...]] = {}
    for node in graph.nodes:
        if _is_plain(node) and node.name not in apart:
            leaves[node] = tuple(_leaves_of(node, leaves))
    return leaves


def with_buffers(steps: Sequence[Step], slices: Mapping[str, Slice]) -> Iterator[Step]:
    """Yield ``steps`` with the calls before them that allocate buffers, and give a tensor of
    ``slices`` its memory before the first step that writes to it."""
    allocated: set[str] = set()
    for step in steps:
        is_call = isinstance(step, Call)
        for tensor in step.outputs if is_call else step.writes:
            place = slices.get(tensor.name)
            if place is None:
                continue
            if place.buffer.name not in allocated:
                allocated.add(place.buffer.name)
                yield _allocation(place.buffer)
            if not is_call:
                yield place.call(tensor)
        yield step


def _allocation(buffer: Tensor) -> Call:
    options = (("dtype", getattr(torch, buffer.dtype)), ("device", torch.device("cpu")))
    args = (list(buffer.shape), list(buffer.strides))
    return Call("torch.ops.aten.empty_strided.default", args, options, (buffer,), ("cat",))


def _buffer(root: fx.Node, leaves: Sequence[fx.Node], is_returned: bool) -> Tensor:
    """Return the buffer of a concatenation, with channels last if a part has them last, unless the
    caller gets it."""
    value = root.meta["val"]
    dtype = str(value.dtype).removeprefix("torch.")
    buffer = contiguous(f"{root.name}_parts", _shape(root), dtype)
    if is_returned:
        return replace(buffer, strides=tuple(map(int, value.stride())))
    if value.dim() == 4 and any(map(_is_channels_last, leaves)):
        _, c, h, w = buffer.shape
        return replace(buffer, strides=(c * h * w, 1, w * c, c))
    return buffer


def _is_channels_last(node: fx.Node) -> bool:
    value = node.meta["val"]
    is_last = value.is_contiguous(memory_format=torch.channels_last)
    return is_last and not value.is_contiguous()


def _is_plain(node: fx.Node) -> bool:
    """Return whether the node concatenates several tensors of its own type and rank."""
    if node.target != torch.ops.aten.cat.default or not node.users:
        return False
    value, parts = node.meta["val"], node.args[0]
    return (
        len(parts) > 1
        and value.numel() > 0
        and all(
            part.meta["val"].dtype == value.dtype and part.meta["val"].dim() == value.dim()
            for part in parts
        )
    )


def _leaves_of(node: fx.Node, known: Mapping[fx.Node, Sequence[fx.Node]]) -> Iterator[fx.Node]:
    for part in node.args[0]:
        if part in known and _dim(part) == _dim(node):
            yield from known[part]
        else:
            yield part


def _is_first_part(
    node: fx.Node,
    root: fx.Node,
    leaves: Mapping[fx.Node, tuple[fx.Node, ...]],
    returned: Collection[fx.Node],
) -> bool:
    """Return whether the buffer of ``root`` begins with ``node``, and lies as that wants to."""
    own, others = leaves[node], leaves[root]
    if _dim(node) != _dim(root) or others[: len(own)] != own:
        return False
    one, other = _buffer(node, own, False), _buffer(root, others, root in returned)
    order = sorted(range(len(one.shape)), key=lambda d: -one.strides[d])
    return order == sorted(range(len(one.shape)), key=lambda d: -other.strides[d])


def _product_under(node: fx.Node) -> fx.Node | None:
    """Return the product or convolution that a value of its size is computed from, by pointwise
    operators or none; None if it is something else."""
    shape = _shape(node)
    while node.op == "call_function" and not _is_product(node):
        alike = [arg for arg in node.all_input_nodes if _shape(arg) == shape]
        if not alike:
            return None
        node = alike[0]
    return node if node.op == "call_function" else None


def _reduced(node: fx.Node) -> fx.Node | None:
    """Return the reduction that a value is a result of; None if it is something else."""
    made = node.args[0] if node.target is operator.getitem else node
    is_one = isinstance(made, fx.Node) and _name(made) in _REDUCTIONS
    return made if is_one else None


def _is_product(node: fx.Node) -> bool:
    return _name(node) in _PRODUCTS or _name(node).startswith("conv")


def _name(node: fx.Node) -> str:
    target = node.target
    is_operator = isinstance(target, torch._ops.OpOverload)
    return target.overloadpacket.__name__ if is_operator else str(target)


def _dim(node: fx.Node) -> int:
    dim = node.args[1] if len(node.args) > 1 else node.kwargs.get("dim", 0)
    return dim % node.meta["val"].dim()


def _shape(node: fx.Node) -> tuple[int, ...]:
    value = node.meta.get("val")
    return tuple(map(int, value.shape)) if isinstance(value, torch.Tensor) else ()
