"""Indented C++ text, and the statements for single operations of a loop nest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from kernelwright.compiler.codegen.cpp import ops
from kernelwright.compiler.codegen.cpp.types import MEMORY, Names, arithmetic, literal
from kernelwright.compiler.codegen.rounding import PRODUCTS, QUOTIENT, opposed_products
from kernelwright.compiler.ir.indexing import exceeds
from kernelwright.compiler.ir.ir import (
    NARROW,
    Affine,
    Axis,
    Compute,
    Const,
    Iota,
    Load,
    Op,
    Reduce,
    Scan,
    Store,
    Tensor,
    Total,
)


class Text:
    """Lines of text whose indentation follows the braces."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._depth = 0

    def line(self, text: str = "") -> None:
        self._lines.append("  " * self._depth + text if text else "")

    def directive(self, text: str) -> None:
        self.line(f"#pragma {text}")

    @contextmanager
    def block(self, head: str, end: str = "}") -> Iterator[None]:
        """Write ``head {`` ... ``end`` around the context."""
        self.line(f"{head} {{".lstrip())
        self._depth += 1
        yield
        self._depth -= 1
        self.line(end)

    @contextmanager
    def loops(self, heads: list[str]) -> Iterator[None]:
        """Write nested loops; only the innermost has braces, so that OpenMP can collapse them."""
        for head in heads[:-1]:
            self.line(head)
            self._depth += 1
        if heads:
            with self.block(heads[-1]):
                yield
        else:
            yield
        self._depth -= len(heads[:-1])

    def __str__(self) -> str:
        return "\n".join(self._lines) + "\n"


class Values:
    """Names and expressions for the tensors, axes and values of one loop nest.

    ``arrays`` lists the values that are held in arrays in the current text; all others are
    variables with the value's own name.
    """

    def __init__(self, tensors: list[Tensor], axes: list[Axis], body: tuple[Op, ...]) -> None:
        self.names = Names()
        self.pointer = {tensor.name: self.names.fresh(tensor.name) for tensor in tensors}
        self.axis = {axis.name: self.names.fresh(axis.name) for axis in axes}
        self.size = {axis.name: axis.size for axis in axes}
        self.dtype: dict[str, str] = {}
        self.name: dict[str, str] = {}
        self.arrays: dict[str, str] = {}
        self.inverse: dict[str, str] = {}
        """Divisors that are constant in an inner loop, with the names of their reciprocals."""
        self._normal = _softmax_exponents(body)
        self._apart = opposed_products(body, PRODUCTS | {QUOTIENT})
        for op in body:
            if isinstance(op, Store):
                continue
            self.name[op.name] = self.names.fresh(op.name)
            match op:
                case Load():
                    self.dtype[op.name] = op.tensor.dtype
                case Iota():
                    self.dtype[op.name] = "int64"
                case Const() | Compute() | Reduce() | Scan():
                    self.dtype[op.name] = op.dtype

    def type(self, value: str) -> str:
        """Return the C++ type in which a value is computed."""
        return arithmetic(self.dtype[value])

    def ref(self, value: str) -> str:
        """Return the expression for a value that has been computed."""
        return self.arrays.get(value, self.name[value])

    def index(self, index: Affine, instead: Mapping[str, str] | None = None) -> str:
        """Return an affine expression of the axes; ``instead`` gives other names for some of
        them."""
        names = self.axis | dict(instead or {})
        parts = [
            names[name] + (f" * {c}" if c != 1 else "")
            for name, c in sorted(index.terms, key=lambda term: -abs(term[1]))
        ]
        if index.offset or not parts:
            parts.append(str(index.offset))
        return " + ".join(parts).replace("+ -", "- ")

    def statement(self, op: Op) -> str:
        """Return the statement that computes a Load, Iota, Compute or Store, or adds to a
        Total."""
        match op:
            case Load():
                return f"const {self.type(op.name)} {self.name[op.name]} = {self.load(op)};"
            case Iota():
                return f"const int64_t {self.name[op.name]} = {self.index(op.index)};"
            case Compute():
                return f"const {self.type(op.name)} {self.name[op.name]} = {self.compute(op)};"
            case Total():
                value = ops.cast(self.ref(op.value), self.dtype[op.value], "float64")
                return f"{self.pointer[op.tensor.name]}_sums[{self.index(op.index)}] += {value};"
            case Store():
                return (
                    f"{self.pointer[op.tensor.name]}[{self.index(op.index)}] = {self.stored(op)};"
                )
        raise TypeError(f"{op} is not a statement")

    def stored(self, op: Store) -> str:
        """Return the expression that a Store writes."""
        return ops.stored(self.ref(op.value), self.dtype[op.value], op.tensor.dtype)

    def compute(self, op: Compute) -> str:
        """Return the expression for a Compute."""
        args = [(self.ref(arg), self.dtype[arg]) for arg in op.args]
        kind = op.op
        if kind == QUOTIENT and op.args[1] in self.inverse:
            kind, args[1] = "mul", (self.inverse[op.args[1]], op.dtype)
        if kind in PRODUCTS and op.name in self._apart:
            texts = [ops.cast(name, dtype, op.dtype) for name, dtype in args]
            # a square has only one operand
            return f"math::rounded_product({texts[0]}, {texts[-1]})"
        if op.name in self._normal:
            kind = "exp_normal"
        return ops.pointwise(kind, args, op.dtype)

    def load(self, op: Load) -> str:
        """Return the expression for a load, with its bounds."""
        index = self.index(op.index)
        for name, stride in op.gather:
            index += f" + (index){self.ref(name)}" + (f" * {stride}" if stride != 1 else "")
        element = f"{self.pointer[op.tensor.name]}[{index}]"
        inside = self.condition(op)
        if not inside:
            return ops.loaded(element, op.tensor.dtype)
        fill = literal(op.fill, op.tensor.dtype)
        if op.tensor.dtype in NARROW:
            return f"{inside} ? {ops.loaded(element, op.tensor.dtype)} : {fill}"
        return f"{inside} ? {element} : {fill}"

    def condition(self, op: Load) -> str:
        """Return the condition that a load is inside its tensor, without comparisons that always
        hold."""
        parts = []
        for bound in op.bounds:
            below, above = exceeds(bound, self.size)
            text = self.index(bound.index)
            parts += [f"({text} >= {bound.low})"] if below else []
            parts += [f"({text} < {bound.high})"] if above else []
        return "(" + " & ".join(parts) + ")" if parts else ""

    def constant(self, op: Const) -> str:
        """Return the definition of a constant."""
        kind = self.type(op.name)
        return f"const {kind} {self.name[op.name]} = {literal(op.value, op.dtype)};"

    def parameters(self, reads: list[Tensor], writes: list[Tensor], sizes: tuple[str, ...]) -> str:
        """Return the parameter list of the kernel's function: tensors it reads, then tensors it
        writes, then free sizes."""
        texts = [f"const {MEMORY[t.dtype]}* __restrict {self.pointer[t.name]}" for t in reads]
        texts += [f"{MEMORY[t.dtype]}* __restrict {self.pointer[t.name]}" for t in writes]
        texts += [f"const index {name}" for name in sizes]
        return ", ".join(texts)


def _softmax_exponents(body: tuple[Op, ...]) -> set[str]:
    """Return the values exp(x - max x) that are summed: the largest is 1, so that subnormal ones
    are negligible in the sum."""
    by_name = {op.name: op for op in body if not isinstance(op, Store)}
    summed = {op.arg for op in body if isinstance(op, Reduce) and op.op == "sum"}
    found = set()
    for op in by_name.values():
        if isinstance(op, Compute) and op.op == "exp" and op.name in summed:
            difference = by_name[op.args[0]]
            if isinstance(difference, Compute) and difference.op == "sub":
                largest = by_name[difference.args[1]]
                if isinstance(largest, Reduce) and largest.op == "max":
                    found.add(op.name)
    return found
