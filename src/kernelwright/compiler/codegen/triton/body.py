"""The body of a loop nest as Triton statements over tiles.

A tile has one dimension for the outer axes and one for the inner axes, or only one of them. A
``Tile`` says which; the text of every axis is a Triton expression that already has its shape.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from kernelwright.compiler.codegen.gpu.names import Lines, Names
from kernelwright.compiler.codegen.gpu.text import affine, grouped
from kernelwright.compiler.codegen.triton.ops import TYPES, held, literal, pointwise
from kernelwright.compiler.ir.indexing import exceeds
from kernelwright.compiler.ir.ir import (
    NARROW,
    Bound,
    Compute,
    Const,
    Iota,
    Load,
    Op,
    Store,
    Tensor,
)

_COMPARISONS = frozenset({"lt", "le", "gt", "ge", "eq", "ne", "isnan", "isinf", "not"})
_LIBRARY = frozenset({"pow", "fmod", "atan2", "exp", "log", "expm1", "log1p", "tanh", "sigmoid"})


@dataclass
class Value:
    """A named value: its text, the dtype in which it is held, and the axes that it varies along."""

    text: str
    dtype: str
    axes: frozenset[str] = frozenset()
    number: float | int | bool | None = None
    """The number, if the value is a literal."""

    @property
    def is_literal(self) -> bool:
        return self.number is not None


@dataclass
class Tile:
    """The position at which statements are emitted: the text of each axis, and the masks that guard
    it."""

    axis_text: dict[str, str]
    """Axis name → a Triton expression, shaped for the tile."""
    sizes: dict[str, int]
    masks: dict[str, str] = field(default_factory=dict)
    """Axis name → the mask that guards it; axes that never exceed their size have none."""

    def copy(self) -> Tile:
        """Return an independent tile with the same texts."""
        return Tile(dict(self.axis_text), self.sizes, dict(self.masks))


def tile_name(tensor: Tensor) -> str:
    """Return the name of a tensor's pointer among a kernel's parameters."""
    return f"{tensor.name}_ptr"


class Body:
    """Emit ops into ``lines``, and remember the text and dtype of every named value."""

    def __init__(self, lines: Lines, names: Names, *, interpreted: bool) -> None:
        self.lines = lines
        self.names = names
        self.interpreted = interpreted
        self.values: dict[str, Value] = {}

    def fork(self) -> Body:
        """Return a copy that may redefine values (for a loop that is emitted several times)."""
        other = Body(self.lines, self.names.fork(), interpreted=self.interpreted)
        other.values = dict(self.values)
        return other

    def emit(self, op: Op, tile: Tile) -> None:
        """Emit one op, other than a Reduce or a Scan."""
        match op:
            case Load():
                self._load(op, tile)
            case Const():
                text = literal(op.value, held(op.dtype))
                self.values[op.name] = Value(text, held(op.dtype), number=op.value)
            case Iota():
                text = affine(op.index, tile.axis_text)
                self.define(op.name, text, "int64", op.index.axes)
            case Compute():
                self._compute(op, tile)
            case Store():
                self._store(op, tile)

    def define(self, name: str, text: str, dtype: str, axes: Iterable[str]) -> Value:
        """Emit a statement that names ``text``."""
        value = Value(self.names.new(name), held(dtype), frozenset(axes))
        self.lines.add(f"{value.text} = {text}")
        self.values[name] = value
        return value

    def _mask(self, axes: Iterable[str], tile: Tile) -> list[str]:
        used = set(axes)
        guards = (mask for axis, mask in tile.masks.items() if axis in used)
        return list(dict.fromkeys(guards))

    def _load(self, op: Load, tile: Tile) -> None:
        bound_axes = frozenset(a for bound in op.bounds for a in bound.index.axes)
        axes = op.index.axes | bound_axes
        index = affine(op.index, tile.axis_text)
        for value, stride in op.gather:
            index += f" + {self.argument(value, 'int64')}" + (f" * {stride}" if stride != 1 else "")
            axes |= self.values[value].axes
        for axis in sorted(bound_axes - op.index.axes):
            # this term gives the pointer the mask's shape
            index += f" + 0 * ({tile.axis_text[axis]})"
        masks = self._mask(axes, tile)
        for bound in op.bounds:
            masks.extend(inside(bound, tile))
        text = f"tl.load({tile_name(op.tensor)} + {grouped(index)}"
        if masks:
            fill = literal(op.fill, "float32" if "float" in op.tensor.dtype else op.tensor.dtype)
            text += f", mask={' & '.join(masks)}, other={fill}"
        text += ")"
        if op.tensor.dtype in NARROW:
            text += ".to(tl.float32)"
        self.define(op.name, text, op.tensor.dtype, axes)

    def argument(self, name: str, dtype: str) -> str:
        """Return a value's text, converted to ``dtype``."""
        value = self.values[name]
        if value.dtype == dtype:
            return value.text
        if value.number is not None:
            return literal(value.number, dtype)
        return f"{value.text}.to({TYPES[dtype]})"

    def _within(self, op: Compute, tile: Tile) -> None:
        """An index, or 0 where it is none of so many: nothing is read there, and the kernel stops.

        Launches ask for assertions (``launch_text``)."""
        index, size = (self.argument(name, "int64") for name in op.args)
        axes = self.values[op.args[0]].axes
        inside = self.names.new(f"{op.name}_inside")
        self.lines.add(f"{inside} = ({index} >= 0) & ({index} < {size})")
        masks = self._mask(axes, tile)
        told = f"{inside} | (({' & '.join(masks)}) == 0)" if masks else inside
        self.lines.add(f'tl.device_assert({told}, "index out of range in self")')
        self.define(op.name, f"tl.where({inside}, {index}, 0)", "int64", axes)

    def _compute(self, op: Compute, tile: Tile) -> None:
        args = [self.values[arg] for arg in op.args]
        axes = frozenset[str]().union(*(value.axes for value in args))
        if op.op == "cast":
            self._cast(op, args[0])
            return
        if op.op == "within":
            self._within(op, tile)
            return
        inside = self._computes_in(op, args)
        texts = [
            value.text if (op.op == "where" and i == 0) else self.argument(name, inside)
            for i, (name, value) in enumerate(zip(op.args, args, strict=True))
        ]
        if op.op in _LIBRARY or all(value.is_literal for value in args):
            texts = [
                f"tl.full((), {text}, {TYPES[inside]})"
                if value.is_literal and not text.startswith("tl.full")
                else text
                for text, value in zip(texts, args, strict=True)
            ]
        text = pointwise(op.op, texts, inside, interpreted=self.interpreted)
        result = "bool" if op.op in _COMPARISONS else inside
        if held(op.dtype) != result:
            text = f"({text}).to({TYPES[held(op.dtype)]})"
        self.define(op.name, text, op.dtype, axes)

    def _computes_in(self, op: Compute, args: list[Value]) -> str:
        """Return the dtype that the operands of ``op`` are converted to."""
        if op.op not in _COMPARISONS:
            return held(op.dtype)
        order = list(TYPES)
        return min((value.dtype for value in args), key=order.index)

    def _cast(self, op: Compute, arg: Value) -> None:
        """Cast a value; a cast to a half-precision type rounds, and computation goes on in
        float32."""
        target = held(op.dtype)
        text = arg.text
        if arg.is_literal:
            text = f"tl.full((), {arg.text}, {TYPES[target]})"
        elif op.dtype == "bool":
            text = f"{arg.text} != 0"
        elif op.dtype in NARROW:
            text = f"{self.rounded(arg, op.dtype)}.to(tl.float32)"
        elif arg.dtype != target:
            text = f"{arg.text}.to({TYPES[target]})"
        if text == arg.text:
            self.values[op.name] = arg
        else:
            self.define(op.name, text, op.dtype, arg.axes)

    def rounded(self, value: Value, dtype: str) -> str:
        """Return ``value`` in the dtype that memory holds."""
        if dtype == "bfloat16" and self.interpreted and not value.is_literal:
            wide = value.text if value.dtype == "float32" else f"{value.text}.to(tl.float32)"
            return f"to_bfloat16({wide})"
        if value.is_literal or value.dtype == dtype:
            return value.text
        if dtype == "bool":
            return f"({value.text} != 0)"
        return f"{value.text}.to({TYPES[dtype]})"

    def _store(self, op: Store, tile: Tile) -> None:
        masks = self._mask(op.index.axes | self.values[op.value].axes, tile)
        index = affine(op.index, tile.axis_text)
        value = self.rounded(self.values[op.value], op.tensor.dtype)
        guard = f", mask={' & '.join(masks)}" if masks else ""
        self.lines.add(f"tl.store({tile_name(op.tensor)} + {grouped(index)}, {value}{guard})")


def inside(bound: Bound, tile: Tile) -> list[str]:
    """Return the conditions of a bound, without those that hold at every point of the axes."""
    below, above = exceeds(bound, tile.sizes)
    text = grouped(affine(bound.index, tile.axis_text))
    conditions = [f"({text} >= {bound.low})"] if below else []
    return conditions + ([f"({text} < {bound.high})"] if above else [])
