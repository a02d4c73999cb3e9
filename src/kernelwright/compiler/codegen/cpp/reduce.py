"""C++ for reductions and scans: each has an array of lane accumulators that are combined at the
end."""

from __future__ import annotations

from dataclasses import dataclass

from kernelwright.compiler.codegen.cpp import ops
from kernelwright.compiler.codegen.cpp.text import Text, Values
from kernelwright.compiler.codegen.cpp.types import FLOATS, arithmetic, literal
from kernelwright.compiler.ir.ir import Reduce, Scan
from kernelwright.compiler.ir.sizes import number

LONG_SUM = 128
"""Number of additions into one float32 accumulator from which double is used: the error of n
additions in a row grows with n, and the library's own sums are pairwise (Higham 2002, section 4.2).
With 448, a batch norm of equal inputs, which divides by sqrt(eps), had 2.3 times the allowed
error."""


def start(op: str, dtype: str) -> str:
    """Return the literal that an accumulator starts from."""
    if op in ("max", "argmax"):
        return _extreme(dtype, -1)
    if op in ("min", "argmin"):
        return _extreme(dtype, 1)
    return {
        "sum": literal(0, dtype), "decay": literal(0, dtype), "prod": literal(1, dtype),
        "any": "false", "all": "true",
    }[op]  # fmt: skip


def _extreme(dtype: str, sign: int) -> str:
    if dtype in FLOATS:
        return literal(sign * float("inf"), dtype)
    if dtype == "bool":
        return "true" if sign > 0 else "false"
    if dtype == "uint8":
        return "255" if sign > 0 else "0"
    bits = int(dtype.removeprefix("int"))
    return literal(2 ** (bits - 1) - 1 if sign > 0 else -(2 ** (bits - 1)), dtype)


def wide(dtype: str) -> str:
    """Return the dtype in which long sums and products of ``dtype`` are accumulated."""
    return "float64" if dtype in FLOATS else dtype


@dataclass(frozen=True)
class Accumulator:
    """The lane accumulators of one Reduce."""

    op: Reduce
    dtype: str
    """The dtype of the accumulators."""
    lane: str
    """The name of the lane array; for argmax and argmin, positions are in ``lane`` + '_at'."""

    @classmethod
    def of(cls, op: Reduce, values: Values, n_serial: int) -> Accumulator:
        """Return the accumulator for ``op`` when each lane takes ``n_serial`` elements one by
        one."""
        name = values.names.fresh(f"{op.name}_lane")
        if op.op in ("any", "all"):
            return cls(op, "bool", name)
        if op.op in ("sum", "prod"):
            long = op.dtype in FLOATS and n_serial > LONG_SUM
            if op.dtype in FLOATS and not long:
                number(n_serial)  # longer sums would lose digits, and double takes longer
            return cls(op, wide(op.dtype) if long else op.dtype, name)
        return cls(op, values.dtype[op.arg], name)

    @property
    def is_arg(self) -> bool:
        return self.op.op.startswith("arg")

    @property
    def result_dtype(self) -> str:
        """The dtype of the value that ``fold`` returns."""
        return "int64" if self.is_arg else self.dtype

    def declare(self, text: Text, n: int | str) -> None:
        kind = arithmetic(self.dtype)
        text.line(f"alignas(64) {kind} {self.lane}[{n}];")
        fill = f"{self.lane}[l] = {start(self.op.op, self.dtype)};"
        if self.is_arg:
            text.line(f"alignas(64) index {self.lane}_at[{n}];")
            fill += f" {self.lane}_at[l] = -1;"
        text.line(
            f"for (int l = 0; l < {n}; ++l) {{ {fill} }}"
            if self.is_arg
            else f"for (int l = 0; l < {n}; ++l) {fill}"
        )

    def add(self, text: Text, values: Values, place: str, *, reverse: bool) -> None:
        """Accumulate the current element in lane l; ``place`` is its number among the inner
        elements.

        ``reverse`` means that elements come last to first. The first of equal elements wins either
        way.
        """
        source = values.dtype[self.op.arg]
        value = ops.cast(values.ref(self.op.arg), source, self.dtype)
        cell = f"{self.lane}[l]"
        match self.op.op:
            case "sum" if self.dtype != "bool":
                text.line(f"{cell} += {value};")
            case "prod" if self.dtype != "bool":
                text.line(f"{cell} *= {value};")
            case "max":
                text.line(f"{cell} = math::maximum({value}, {cell});")
            case "min":
                text.line(f"{cell} = math::minimum({value}, {cell});")
            case "any" | "sum":
                text.line(f"{cell} |= {value};")
            case "all" | "prod":
                text.line(f"{cell} &= {value};")
            case "argmax" | "argmin":
                sign = (">" if self.op.op == "argmax" else "<") + ("=" if reverse else "")
                is_nan = f"({value} != {value})" + ("" if reverse else f" & ({cell} == {cell})")
                wins = values.names.fresh(f"{self.op.name}_wins")
                text.line(
                    f"const bool {wins} = ({value} {sign} {cell}) | ({self.lane}_at[l] < 0) | "
                    f"({is_nan});"
                )
                text.line(f"{cell} = {wins} ? {value} : {cell};")
                text.line(f"{self.lane}_at[l] = {wins} ? {place} : {self.lane}_at[l];")

    def result(self, n: int) -> str:
        """Return the expression that combines ``n`` lanes into a value of the reduction's own
        dtype."""
        return ops.cast(self.fold(n), self.result_dtype, self.op.dtype)

    def fold(self, n: int) -> str:
        """Return the expression that combines ``n`` lanes into one value of ``result_dtype``."""
        if self.is_arg:
            sign = 1 if self.op.op == "argmax" else -1
            return f"math::fold_arg<{n}, {sign}>({self.lane}, {self.lane}_at)"
        op = self.op.op
        if self.dtype == "bool":
            op = {"sum": "any", "prod": "all", "max": "any", "min": "all"}.get(op, op)
        return f"math::fold_{op}<{n}>({self.lane})"

    def lane_value(self, lane: str) -> str:
        """Return one lane as a finished value, where lanes are different outer elements."""
        if self.is_arg:
            return f"(int64_t){self.lane}_at[{lane}]"
        value = f"{self.lane}[{lane}]"
        return ops.cast(value, self.dtype, self.op.dtype)

    def combine(self, total: str, part: str) -> str:
        """Return the statement that accumulates ``part`` into ``total``."""
        match self.op.op:
            case "sum" if self.dtype != "bool":
                return f"{total} += {part};"
            case "prod" if self.dtype != "bool":
                return f"{total} *= {part};"
            case "max" | "min":
                return f"{total} = math::{self.op.op}imum({part}, {total});"
            case "any" | "sum":
                return f"{total} |= {part};"
        return f"{total} &= {part};"


def scan_dtype(op: Scan) -> str:
    """Return the dtype of a scan's running value: double for sums and products of floats, as in the
    library."""
    return wide(op.dtype) if op.op in ("sum", "prod") else op.dtype


def scan_step(op: Scan, carry: str, value: str, factor: str = "") -> str:
    """Return the statement that accumulates ``value`` into the running ``carry``."""
    match op.op:
        case "decay":
            return f"{carry} = {factor} * {carry} + {value};"
        case "sum":
            return f"{carry} += {value};"
        case "prod":
            return f"{carry} *= {value};"
    return f"{carry} = math::{op.op}imum({value}, {carry});"
