"""The body of a loop nest as CUDA C++ statements of one thread.

Statements compute one point of the axes, or ``vector`` neighbours along one axis. Neighbours are
loaded and stored as packs, with a loop over the lanes between.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from kernelwright.compiler.codegen.cuda.ops import BYTES, CUDA, TYPES, Language, held
from kernelwright.compiler.codegen.gpu.names import Lines, Names
from kernelwright.compiler.codegen.gpu.text import affine, grouped
from kernelwright.compiler.ir.indexing import exceeds
from kernelwright.compiler.ir.ir import (
    NARROW,
    Affine,
    Axis,
    Bound,
    Compute,
    Const,
    Iota,
    Kernel,
    Load,
    Op,
    Store,
    Total,
)

_COMPARISONS = frozenset({"lt", "le", "gt", "ge", "eq", "ne", "isnan", "isinf", "not"})
_RANK = tuple(TYPES)


@dataclass
class Value:
    """A named value: its text and the dtype in which it is held."""

    text: str
    dtype: str
    number: float | int | bool | None = None


@dataclass
class Point:
    """The position at which statements are emitted: the text of each axis, and the vectorised
    axis."""

    axis_text: dict[str, str]
    sizes: dict[str, int]
    index: str = "int"
    """The C++ type of indices."""
    vector: int = 1
    along: str = ""
    """The vectorised axis; its text is the position of the first lane."""
    guard: str = ""
    """A condition under which stores happen; empty means always."""


def packs(op: Load | Store, point: Point) -> bool:
    """Return whether a load or store moves its lanes as one aligned pack of neighbours, all of them
    inside the bounds or none."""
    if point.vector == 1 or op.index.coefficient(point.along) != 1 or isinstance(op, Total):
        return False
    if isinstance(op, Load):
        apart = [b for b in op.bounds if not _holds_together(b, point)]
        if op.gather or apart:
            return False
    return _is_aligned(op.index, point)


def _holds_together(bound: Bound, point: Point) -> bool:
    """Return whether a bound holds for all lanes of a pack or for none."""
    step = bound.index.coefficient(point.along)
    ends = (bound.low, bound.high)
    is_whole = step == 1 and all(end % point.vector == 0 for end in ends)
    return step == 0 or (is_whole and _is_aligned(bound.index, point))


def _is_aligned(index: Affine, point: Point) -> bool:
    """Return whether an index is a multiple of the vector at the first lane of every pack."""
    rest = [c for axis, c in index.terms if axis != point.along]
    return all(c % point.vector == 0 for c in (*rest, index.offset))


def packed_tensors(kernel: Kernel, axes: tuple[Axis, ...], vector: int) -> set[str]:
    """Return the tensors that are accessed in packs along the last of ``axes`` and so must be
    aligned."""
    if vector == 1:
        return set()
    probe = Point({}, {a.name: a.size for a in axes}, vector=vector, along=axes[-1].name)
    moved = [op for op in kernel.body if isinstance(op, (Load, Store))]
    return {op.tensor.name for op in moved if packs(op, probe)}


class Body:
    """Emit ops into ``lines``, and remember the text and dtype of every named value.

    The products named in ``apart`` are rounded before anything is added to them.
    """

    def __init__(
        self, lines: Lines, names: Names, apart: frozenset[str] = frozenset(),
        *, values: dict[str, Value] | None = None, language: Language = CUDA,
    ) -> None:  # fmt: skip
        self.lines = lines
        self.names = names
        self.apart = apart
        self.values = values or {}
        self.language = language

    def fork(self) -> Body:
        """Return a copy for a block of statements whose names become free again after it."""
        return Body(
            self.lines,
            self.names.fork(),
            self.apart,
            values=dict(self.values),
            language=self.language,
        )

    def emit(self, op: Op, point: Point) -> None:
        """Emit one op, other than a Reduce or a Scan, for one point."""
        match op:
            case Load():
                self._load(op, point)
            case Const():
                dtype = held(op.dtype)
                self.values[op.name] = Value(
                    self.language.literal(op.value, dtype), dtype, op.value
                )
            case Iota():
                self.define(
                    op.name,
                    f"({self.language.types['int64']})({affine(op.index, point.axis_text)})",
                    "int64",
                )
            case Compute():
                self._compute(op)
            case Store():
                self._store(op, point)

    def define(self, name: str, text: str, dtype: str) -> Value:
        """Define a constant named ``name`` with the value ``text``."""
        value = Value(self.names.new(name), held(dtype))
        self.lines.add(f"const {self.language.types[value.dtype]} {value.text} = {text};")
        self.values[name] = value
        return value

    # --- packs -----------------------------------------------------------------------------

    def load_packs(self, ops: Iterable[Op], point: Point) -> dict[str, str]:
        """Load the packs of the loads in ``ops`` before the loop over lanes; return them by value
        name."""
        loaded: dict[str, str] = {}
        for op in ops:
            if isinstance(op, Load) and packs(op, point):
                loaded[op.name] = self._load_pack(op, point)
        return loaded

    def _load_pack(self, op: Load, point: Point) -> str:
        """Load a pack, or fill it where it is out of bounds; return its name."""
        name = self.names.new(f"{op.name}_pack")
        index = affine(op.index, point.axis_text)
        text = f"load_pack<{point.vector}>({op.tensor.name} + {index});"
        conditions = [c for bound in op.bounds for c in inside(bound, point)]
        if not conditions:
            self.lines.add(f"const auto {name} = {text}")
            return name
        ctype, dtype = self.language.types[op.tensor.dtype], op.tensor.dtype
        self.lines.add(f"Pack<{ctype}, {point.vector}> {name} = {{}};")
        self.lines.add(f"if ({' && '.join(conditions)}) {name} = {text}")
        if op.fill:
            place, fill = f"{name}.lane[lane]", self.language.literal(op.fill, held(dtype))
            is_narrow = dtype in NARROW
            put = self.language.put(place, fill, dtype) if is_narrow else f"{place} = {fill};"
            self.lines.add(f"else for (int lane = 0; lane < {point.vector}; ++lane) {{ {put} }}")
        return name

    def declare_packs(self, ops: Iterable[Op], point: Point) -> dict[int, str]:
        """Declare the packs that the loop over lanes fills; return them by the identity of their
        stores."""
        declared: dict[int, str] = {}
        for op in ops:
            if isinstance(op, Store) and packs(op, point):
                name = self.names.new(f"{op.tensor.name}_pack")
                self.lines.add(
                    f"Pack<{self.language.types[op.tensor.dtype]}, {point.vector}> {name};"
                )
                declared[id(op)] = name
        return declared

    def store_packs(self, ops: Iterable[Op], point: Point, declared: dict[int, str]) -> None:
        """Store the packs that the loop over lanes has filled."""
        for op in ops:
            if id(op) in declared and isinstance(op, Store):
                index = affine(op.index, point.axis_text)
                self.lines.add(f"store_pack({op.tensor.name} + {index}, {declared[id(op)]});")

    def from_pack(self, op: Load, pack: str) -> None:
        """Define a value as one lane of a pack."""
        text = f"{pack}.lane[lane]"
        if op.tensor.dtype in NARROW:
            text = self.language.widened(text)
        self.define(op.name, text, op.tensor.dtype)

    def into_pack(self, op: Store, pack: str) -> None:
        """Write a value to one lane of a pack."""
        self._assign(f"{pack}.lane[lane]", op)

    # --- single values ---------------------------------------------------------------------

    def _load(self, op: Load, point: Point) -> None:
        index = affine(op.index, point.axis_text)
        for value, stride in op.gather:
            index += f" + {self.values[value].text}" + (
                f" * {self.language.literal(stride, 'int64')}" if stride != 1 else ""
            )
        text = f"{op.tensor.name}[{index}]"
        if op.tensor.dtype in NARROW:
            text = self.language.widened(text)
        conditions = [c for bound in op.bounds for c in inside(bound, point)]
        if conditions:
            fill = self.language.literal(op.fill, held(op.tensor.dtype))
            text = f"{' && '.join(conditions)} ? {text} : {fill}"
        self.define(op.name, text, op.tensor.dtype)

    def argument(self, name: str, dtype: str) -> str:
        """Return a value's text, converted to ``dtype``."""
        value = self.values[name]
        if value.dtype == dtype:
            return value.text
        if value.number is not None:
            return self.language.literal(value.number, dtype)
        if dtype == "bool":
            return f"({value.text} != 0)"
        return f"({self.language.types[dtype]}){value.text}"

    def _compute(self, op: Compute) -> None:
        target = held(op.dtype)
        if op.op == "cast":
            self._cast(op, self.values[op.args[0]])
            return
        inside = target
        if op.op in _COMPARISONS:
            inside = min((self.values[arg].dtype for arg in op.args), key=_RANK.index)
        texts = [
            self.argument(name, "bool" if op.op == "where" and i == 0 else inside)
            for i, name in enumerate(op.args)
        ]
        texts = [f"({text})" if text.startswith("-") else text for text in texts]
        if op.name in self.apart:
            # a square has only one operand
            text = f"{self.language.rounded[inside]}({texts[0]}, {texts[-1]})"
        else:
            text = self.language.pointwise(op.op, texts, inside)
        self.define(op.name, text, op.dtype)

    def _cast(self, op: Compute, arg: Value) -> None:
        """Cast a value; a cast to a half-precision type rounds, and computation goes on in
        float."""
        if op.dtype in NARROW and arg.number is None:
            bits = self.names.new(f"{op.name}_bits")
            self.lines.add(f"{self.language.types[op.dtype]} {bits};")
            self.lines.add(self.language.put(bits, arg.text, op.dtype))
            self.define(op.name, self.language.widened(bits), op.dtype)
        elif arg.dtype == held(op.dtype):
            self.values[op.name] = arg
        else:
            self.define(op.name, self.argument(op.args[0], held(op.dtype)), op.dtype)

    def _assign(self, place: str, op: Store) -> None:
        if op.tensor.dtype in NARROW:
            text = self.argument(op.value, "float32")
            self.lines.add(self.language.put(place, text, op.tensor.dtype))
        else:
            self.lines.add(f"{place} = {self.argument(op.value, op.tensor.dtype)};")

    def _store(self, op: Store, point: Point) -> None:
        place = f"{op.tensor.name}[{affine(op.index, point.axis_text)}]"
        if point.guard:
            self.lines.add(f"if ({point.guard}) {{")
            self.lines.depth += 1
        self._assign(place, op)
        if point.guard:
            self.lines.depth -= 1
            self.lines.add("}")


def inside(bound: Bound, point: Point) -> list[str]:
    """Return the conditions of a bound, without those that hold at every point of the axes."""
    below, above = exceeds(bound, point.sizes)
    text = grouped(affine(bound.index, point.axis_text))
    conditions = [f"{text} >= {bound.low}"] if below else []
    return conditions + ([f"{text} < {bound.high}"] if above else [])


def at_lane(point: Point) -> Point:
    """Return the point of one lane of a vector."""
    if point.vector == 1:
        return point
    text = dict(point.axis_text)
    text[point.along] = f"({text[point.along]} + lane)"
    return replace(point, axis_text=text)


def widest(index_ops: Iterable[Load | Store], along: str, size: int) -> int:
    """Return the widest vector along an axis for which at least one op, and every store along the
    axis, is a pack of at most 16 bytes (the widest access of a thread); 1 if there is none."""
    ops = [op for op in index_ops if op.index.coefficient(along)]
    for vector in (8, 4, 2):
        point = Point({}, {}, vector=vector, along=along)
        packed = [op for op in ops if packs(op, point)]
        fits = all(vector * BYTES[op.tensor.dtype] <= 16 for op in packed)
        written = [op for op in ops if isinstance(op, Store) and not isinstance(op, Total)]
        stores = all(op in packed for op in written)
        if packed and fits and stores and size % vector == 0:
            return vector
    return 1
