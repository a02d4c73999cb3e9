"""Which leading dimensions of a module's inputs may have any size, and its graph at another size.

Three questions are asked of torch.export, the cheapest first: does the forward go the same way for
other sizes (its branches on sizes show when they are symbols); is the graph at another size the
same but for multiples of that size; and does that hold for one row as well, which torch.export's
symbols leave out.
"""

from __future__ import annotations

import contextlib
import inspect
import itertools
import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx, nn
from torch.export import Dim, ShapesCollection

from kernelwright.compiler.capture.capture import (
    CannotCapture,
    Captured,
    as_written,
    capture,
    facts_of,
    plain_forward,
    quiet,
)
from kernelwright.compiler.capture.recurrent import left_whole
from kernelwright.compiler.capture.structures import described, made, mapped
from kernelwright.compiler.ir.sizes import NAMES, Follows, following, next_prime

BOTH = tuple(range(len(NAMES)))
TRIED = (BOTH, (0,), (1,))
"""The dimensions that are tried to be free together, the most useful first."""
NOT_BY_ROW = "the result depends on the number of rows in another way than row by row"


@dataclass(frozen=True)
class FreeDimension:
    """A dimension of a tensor input that has a free size."""

    size: str
    """One of NAMES."""
    input: int
    """The input's position among the forward's tensors."""
    dim: int


@dataclass(frozen=True)
class Range:
    """The sizes for which the forward goes the same way; ``most`` is None without a bound."""

    least: int
    most: int | None = None


@dataclass(frozen=True)
class Freed:
    """A module captured with two examples of its free sizes; those of ``second`` are primes."""

    dimensions: tuple[FreeDimension, ...]
    given: Mapping[str, int]
    """The sizes of the inputs that were given."""
    ranges: Mapping[str, Range]
    one: Captured
    other: Captured
    first: Mapping[str, int]
    second: Mapping[str, int]


def freed(module: nn.Module, inputs: Sequence[Any], captured: Captured) -> Iterator[Freed]:
    """Yield the module captured anew with other leading sizes, the most sizes that can be free
    together first; nothing if all are fixed.

    ``captured`` is what ``capture(module, inputs)`` gave.
    """
    if {*NAMES} & {*inspect.signature(module.forward).parameters}:
        return  # the forward means something else by these names
    done: set[tuple[FreeDimension, ...]] = set()
    for dims, alone in itertools.product(TRIED, (False, True)):
        dimensions = leading_dimensions(inputs, dims, alone=alone)
        if dimensions and dimensions not in done:
            done.add(dimensions)
            try:
                yield _freed(module, inputs, captured, dimensions)
            except (CannotCapture, Follows):
                continue


def why_fixed(module: nn.Module, inputs: Sequence[Any], captured: Captured) -> str:
    """Return why no leading size of a module's inputs can be free, in a few words."""
    dimensions = leading_dimensions(inputs, TRIED[1])
    if not dimensions:
        return "no input has a first dimension that counts rows, without gaps in memory"
    try:
        _freed(module, inputs, captured, dimensions)
    except CannotCapture as error:
        return str(error)
    except Follows:
        pass
    return NOT_BY_ROW


def leading_dimensions(
    inputs: Sequence[Any], dims: Sequence[int], *, alone: bool = False
) -> tuple[FreeDimension, ...]:
    """The given dimensions of the first input that has them, and, unless it is to be ``alone``, of
    inputs that share its size: those of square matrices may be the same by chance."""
    found: list[FreeDimension] = []
    tensors = tensors_in(inputs)
    for dim in dims:
        having = [number for number, value in enumerate(tensors) if _may_be_free(value, dim)]
        if not having:
            return ()
        size = tensors[having[0]].shape[dim]
        sharing = having[:1] if alone else [n for n in having if tensors[n].shape[dim] == size]
        found += [FreeDimension(NAMES[dim], n, dim) for n in sharing]
    return tuple(found)


def _may_be_free(tensor: torch.Tensor, dim: int) -> bool:
    """Whether a dimension counts rows: the first one always, the second where features follow it,
    or where the tensor holds indices."""
    if tensor.dim() <= dim or not tensor.shape[dim]:
        return False
    if torch.empty_like(tensor, device="meta").stride() != tensor.stride():
        return False  # it has gaps, or elements that share memory
    return dim == 0 or tensor.dim() > 2 or not tensor.is_floating_point()


def _freed(
    module: nn.Module,
    inputs: Sequence[Any],
    captured: Captured,
    dimensions: tuple[FreeDimension, ...],
) -> Freed:
    tensors = tensors_in(inputs)
    given = {each.size: int(tensors[each.input].shape[each.dim]) for each in dimensions}
    second: dict[str, int] = {}
    for name, size in given.items():
        second[name] = next_prime(size, *second.values())
    others = resized(inputs, dimensions, second)
    ranges = _ranges(module, others, dimensions)
    other = capture(module, others)
    first, one = given, captured
    if 1 in given.values():  # a loop over one row is none: two larger examples
        first = {name: next_prime(size, *second.values()) for name, size in second.items()}
        one = capture(module, resized(inputs, dimensions, first))
    _same_way(one, other, first, second)
    for name, found in list(ranges.items()):
        if found.least == 2 and _serves_one(module, inputs, dimensions, name, other, second):
            ranges[name] = Range(1, found.most)
    if any(not _within(size, ranges[name]) for name, size in given.items()):
        raise Follows("the sizes given go another way than larger ones")
    return Freed(dimensions, given, ranges, one, other, first, second)


def _within(size: int, allowed: Range) -> bool:
    return allowed.least <= size and (allowed.most is None or size <= allowed.most)


def _serves_one(
    module: nn.Module, inputs: Sequence[Any], dimensions: tuple[FreeDimension, ...], name: str,
    other: Captured, second: Mapping[str, int],
) -> bool:  # fmt: skip
    """Whether the graph with one row is that with many."""
    sizes = {**second, name: 1}
    blank = resized(inputs, dimensions, sizes)
    try:
        # The same operators on the same sizes are the same graph; they are found out faster.
        with contextlib.suppress(Follows):
            following(as_written(module, blank), other.as_written, sizes, second)
            return True
        _same_way(capture(module, blank), other, sizes, second)
    except (CannotCapture, Follows):
        return False
    return True


def resized(
    inputs: Sequence[Any], dimensions: Sequence[FreeDimension], sizes: Mapping[str, int]
) -> list[Any]:
    """Return blank inputs with other sizes, in the memory formats of those given."""
    changed = dict(enumerate(tensors_in(inputs)))
    for dimension in dimensions:
        tensor = changed[dimension.input]
        shape = list(tensor.shape)
        shape[dimension.dim] = sizes[dimension.size]
        order = sorted(range(tensor.dim()), key=lambda d: -tensor.stride(d))
        blank = torch.empty([shape[d] for d in order], dtype=tensor.dtype)
        changed[dimension.input] = blank.permute([order.index(d) for d in range(len(order))])
    waiting = iter(changed.values())
    return [
        made(mapped(lambda value: next(waiting) if _is_tensor(value) else value, each))
        for each in map(described, inputs)
    ]


def tensors_in(inputs: Sequence[Any]) -> list[torch.Tensor]:
    """The tensors of a forward's arguments, in order."""
    found: list[torch.Tensor] = []
    mapped(lambda value: found.append(value) if _is_tensor(value) else None, described([*inputs]))
    return found


def _is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor)


def _ranges(
    module: nn.Module, inputs: Sequence[Any], dimensions: Sequence[FreeDimension]
) -> dict[str, Range]:
    """The sizes for which the forward goes the way that it goes for ``inputs``.

    Raises:
        CannotCapture: a size must be what it is, or more hangs on it than a range can say.
    """
    free: dict[int, dict[int, Any]] = {}
    for dimension in dimensions:
        free.setdefault(dimension.input, {})[dimension.dim] = Dim.DYNAMIC
    tensors, shapes = tensors_in(inputs), ShapesCollection()
    for number, dims in free.items():
        shapes[tensors[number]] = dims
    given = described(tuple(inputs))
    try:
        with torch.no_grad(), quiet(), left_whole(), plain_forward(module):
            program = torch.export.export(module, given, strict=False, dynamic_shapes=shapes)
    except (MemoryError, KeyboardInterrupt):
        raise
    except Exception as error:  # torch.export raises exceptions of every kind
        raise CannotCapture(f"a size is fixed: {error}"[:300]) from error
    if not all(map(_is_tensor_or_product, program.graph.nodes)):
        raise CannotCapture("a size decides what is computed")
    users = {str(name) for name in program.graph_signature.user_inputs}
    values = [n for n in program.graph.nodes if n.name in users and _is_tensor(n.meta.get("val"))]
    found: dict[str, Range] = {}
    symbols: dict[Any, str] = {}
    for dimension in dimensions:
        size = values[dimension.input].meta["val"].shape[dimension.dim]
        if isinstance(size, int) or not size.node.expr.is_Symbol:
            raise CannotCapture(f"{dimension.size} is fixed")
        symbol = size.node.expr
        if symbols.setdefault(symbol, dimension.size) != dimension.size:
            raise CannotCapture(f"{dimension.size} is {symbols[symbol]}")
        allowed = program.range_constraints[symbol]
        most = int(allowed.upper) if allowed.upper.is_Integer else None
        found[dimension.size] = Range(max(int(allowed.lower), 1), most)
    if len(symbols) != len(found):
        raise CannotCapture("inputs whose sizes may differ")
    if not all(_is_range(guard.expr) for guard in size.node.shape_env.guards):
        raise CannotCapture(NOT_BY_ROW)
    return found


def _is_tensor_or_product(node: fx.Node) -> bool:
    """Whether a node makes tensors, or a size that is a multiple of the free ones."""
    if not isinstance(node.meta.get("val"), (torch.SymInt, torch.SymFloat, torch.SymBool)):
        return True
    return node.target in (torch.ops.aten.sym_size.int, operator.mul)


def _is_range(condition: Any) -> bool:
    """Whether a condition on sizes says no more than that two are equal, or one large enough."""
    left, right = condition.args if len(condition.args) == 2 else (None, None)
    if condition.func.__name__ == "Equality":
        return bool(left.is_Symbol and right.is_Symbol)
    is_order = condition.is_Relational and condition.func.__name__ != "Unequality"
    return bool(
        is_order and any(a.is_Symbol and b.is_Integer for a, b in ((left, right), (right, left)))
    )


def _same_way(
    one: Captured, other: Captured, first: Mapping[str, int], second: Mapping[str, int]
) -> None:
    """Raise Follows if the graphs differ in more than multiples of the free sizes."""
    following(_facts(one), _facts(other), first, second)


def _facts(captured: Captured) -> list[Any]:
    named = [captured.inputs, dict(captured.attributes), captured.mutations, captured.assumptions]
    return [*facts_of(captured.graph), *named]
