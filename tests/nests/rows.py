"""Programs that reduce or scan rows: softmax, norms, pooling, running sums."""

from __future__ import annotations

import math
from dataclasses import replace

from tests.nests.notation import axes, case, full, program, row_major, tensor

from kernelwright.compiler.ir.ir import (
    Affine,
    Bound,
    Compute,
    Const,
    Kernel,
    Load,
    Op,
    Program,
    Reduce,
    Scan,
    Store,
    Total,
    contiguous,
)


def _softmax(rows: str, columns: str, dtype: str = "float32") -> Program:
    outer, inner = axes(rows), axes(columns)
    over = (*outer, *inner)
    x = tensor("x", over, dtype)
    body = (
        full("x0", x, over),
        Reduce("most", "max", "x0", dtype),
        Compute("low", "sub", ("x0", "most"), "float32"),
        Compute("e", "exp", ("low",), "float32"),
        Reduce("total", "sum", "e", "float32"),
        Compute("p", "div", ("e", "total"), dtype),
        Store(tensor("y", over, dtype), row_major(over), "p"),
    )
    return program(Kernel("softmax", outer, inner, body, ("softmax <- test",)), inputs=(x,))


@case
def softmax_short() -> Program:
    return _softmax("i40", "j33")


@case
def softmax_long() -> Program:
    return _softmax("i3", "j1500")


def _row_with_totals(rows: str, columns: str, dtype: str = "float32") -> Program:
    """A norm's gradients: of its rows, and, summed over all rows, of its weight and bias."""
    outer, inner = axes(rows), axes(columns)
    over = (*outer, *inner)
    x, given = tensor("x", over, dtype), tensor("given", over, dtype)
    weight = tensor("weight", inner, dtype)
    body = (
        full("x0", x, over),
        full("g0", given, over),
        Load("w0", weight, row_major(inner)),
        Compute("g", "mul", ("g0", "w0"), "float32"),
        Compute("gx", "mul", ("g", "x0"), "float32"),
        Reduce("s", "sum", "gx", "float32"),
        Compute("far", "mul", ("x0", "s"), "float32"),
        Compute("d", "sub", ("g", "far"), "float32"),
        Compute("t", "mul", ("g0", "x0"), "float32"),
        Store(tensor("dx", over, dtype), row_major(over), "d"),
        Total(tensor("dw", inner, dtype), row_major(inner), "t"),
        Total(tensor("db", inner, dtype), row_major(inner), "g0"),
    )
    return program(Kernel("norm", outer, inner, body), inputs=(x, given, weight))


@case
def totals_short() -> Program:
    return _row_with_totals("b5 i61", "j33")


@case
def totals_packed() -> Program:
    return _row_with_totals("i700", "j4 k16", "bfloat16")


@case
def totals_long() -> Program:
    return _row_with_totals("i37", "j1500")


@case
def softmax_bfloat16() -> Program:
    return _softmax("b2 i9", "j130", "bfloat16")


@case
def rows_of_eight_bits() -> Program:
    """Rows of one type of 8 bits, each divided by its largest size, in the other."""
    outer, inner = axes("i9"), axes("j130")
    over = (*outer, *inner)
    x = tensor("x", over, "float8_e5m2")
    body = (
        full("raw", x, over),
        Compute("x0", "cast", ("raw",), "float32"),
        Compute("size", "abs", ("x0",), "float32"),
        Reduce("most", "max", "size", "float32"),
        Compute("q", "div", ("x0", "most"), "float32"),
        Compute("q8", "cast", ("q",), "float8_e4m3fn"),
        Store(tensor("y", over, "float8_e4m3fn"), row_major(over), "q8"),
        Store(tensor("most_of", outer), row_major(outer), "most"),
    )
    return program(Kernel("quantise", outer, inner, body), inputs=(x,))


@case
def softmax_columns() -> Program:
    """Over a dimension that is not the last: lanes run along the outer axes."""
    outer, inner = axes("b3 w50"), axes("c70")
    x = contiguous("x", (3, 70, 50), "float32")
    at = Affine.of({"b": 3500, "c": 50, "w": 1})
    softmax = _softmax("b3 w50", "c70").steps[0]
    assert isinstance(softmax, Kernel)
    y = replace(x, name="y")
    body = tuple(
        replace(op, tensor=x, index=at)
        if isinstance(op, Load)
        else (replace(op, tensor=y, index=at) if isinstance(op, Store) else op)
        for op in softmax.body
    )
    return program(Kernel("softmax_columns", outer, inner, body), inputs=(x,))


@case
def layer_norm() -> Program:
    outer, inner = axes("i20"), axes("c6 d50")
    over = (*outer, *inner)
    x, w = tensor("x", over), tensor("w", inner)
    body = (
        full("x0", x, over),
        full("scale", w, inner),
        Const("n", 300.0, "float32"),
        Const("eps", 1e-5, "float32"),
        Reduce("total", "sum", "x0", "float32"),
        Compute("mean", "div", ("total", "n"), "float32"),
        Compute("centred", "sub", ("x0", "mean"), "float32"),
        Compute("squared", "square", ("centred",), "float32"),
        Reduce("scatter", "sum", "squared", "float32"),
        Compute("variance", "div", ("scatter", "n"), "float32"),
        Compute("steady", "add", ("variance", "eps"), "float32"),
        Compute("factor", "rsqrt", ("steady",), "float32"),
        Compute("normal", "mul", ("centred", "factor"), "float32"),
        Compute("y0", "mul", ("normal", "scale"), "float32"),
        Store(tensor("mean_of", outer), row_major(outer), "mean"),
        Store(tensor("y", over), row_major(over), "y0"),
    )
    return program(Kernel("layer_norm", outer, inner, body), inputs=(x, w))


def _reductions(rows: str, columns: str, dtype: str = "float32") -> Program:
    """Every reduction at once."""
    outer, inner = axes(rows), axes(columns)
    over = (*outer, *inner)
    x = tensor("x", over, dtype)
    body: list[Op] = [
        full("x0", x, over),
        Const("zero", 0, dtype),
        Compute("positive", "gt", ("x0", "zero"), "bool"),
    ]
    for op in ("sum", "max", "min", "argmax", "argmin", "any", "all"):
        arg = "positive" if op in ("any", "all") else "x0"
        result = "int64" if op.startswith("arg") else "bool" if arg == "positive" else dtype
        body.append(Reduce(f"r_{op}", op, arg, result))
        body.append(Store(tensor(f"y_{op}", outer, result), row_major(outer), f"r_{op}"))
    return program(Kernel("reductions", outer, inner, tuple(body)), inputs=(x,))


@case
def reductions_short() -> Program:
    return _reductions("i21", "j37")


@case
def reductions_long() -> Program:
    return _reductions("i2", "j10001")


@case
def reductions_integers() -> Program:
    return _reductions("i5", "j300", "int64")


@case
def reductions_all() -> Program:
    return _reductions("", "i25 j401")


@case
def loss_mean() -> Program:
    """A full reduction of two inputs to one number."""
    inner = axes("i9 j1000")
    x, y = tensor("x", inner), tensor("y", inner)
    body = (
        full("a", x, inner),
        full("b", y, inner),
        Compute("d", "sub", ("a", "b"), "float32"),
        Compute("s", "square", ("d",), "float32"),
        Reduce("total", "sum", "s", "float32"),
        Const("n", 9000.0, "float32"),
        Compute("mean", "div", ("total", "n"), "float32"),
        Store(contiguous("loss", (), "float32"), Affine(), "mean"),
    )
    return program(Kernel("mse", (), inner, body), inputs=(x, y))


@case
def batch_norm() -> Program:
    """Reduction over the first and last dimensions, applied to every element."""
    outer, inner = axes("c2"), axes("n8 h1100")
    x = contiguous("x", (8, 2, 1100), "float32")
    at = Affine.of({"n": 2200, "c": 1100, "h": 1})
    body = (
        Load("x0", x, at),
        Const("n_values", 8800.0, "float32"),
        Reduce("total", "sum", "x0", "float32"),
        Compute("mean", "div", ("total", "n_values"), "float32"),
        Compute("centred", "sub", ("x0", "mean"), "float32"),
        Compute("squared", "square", ("centred",), "float32"),
        Reduce("scatter", "sum", "squared", "float32"),
        Compute("variance", "div", ("scatter", "n_values"), "float32"),
        Compute("deviation", "sqrt", ("variance",), "float32"),
        Compute("y0", "div", ("centred", "deviation"), "float32"),
        Store(tensor("variance_of", outer), row_major(outer), "variance"),
        Store(replace(x, name="y"), at, "y0"),
    )
    return program(Kernel("batch_norm", outer, inner, body), inputs=(x,))


def _pool(op: str) -> Program:
    """A padded 3 x 3 window with stride 2."""
    outer, inner = axes("n2 c3 y6 x7"), axes("i3 j3")
    source = contiguous("source", (2, 3, 11, 13), "float32")
    row, column = Affine.of({"y": 2, "i": 1}, -1), Affine.of({"x": 2, "j": 1}, -1)
    at = Affine.of({"n": 429, "c": 143, "y": 26, "i": 13, "x": 2, "j": 1}, -14)
    body = (
        Load("v", source, at, (Bound(row, 0, 11), Bound(column, 0, 13)),
             fill=-math.inf if op != "sum" else 0.0),
        Reduce("r", op, "v", "int64" if op == "argmax" else "float32"),
        Store(tensor("pooled", outer, "int64" if op == "argmax" else "float32"),
              row_major(outer), "r"),
    )  # fmt: skip
    return program(Kernel(f"pool_{op}", outer, inner, body), inputs=(source,))


@case
def pool_max() -> Program:
    return _pool("max")


@case
def pool_sum() -> Program:
    return _pool("sum")


@case
def pool_argmax() -> Program:
    return _pool("argmax")


def _scan(
    rows: str, columns: str, op: str, *, reverse: bool = False, exclusive: bool = False
) -> Program:
    outer, inner = axes(rows), axes(columns)
    over = (*outer, *inner)
    x = tensor("x", over)
    body = (
        full("x0", x, over),
        Scan("s", op, "x0", "float32", reverse, exclusive),
        Compute("y0", "add", ("s", "x0"), "float32"),
        Store(tensor("y", over), row_major(over), "y0"),
    )
    return program(Kernel(f"scan_{op}", outer, inner, body), inputs=(x,))


@case
def scan_sum() -> Program:
    return _scan("i5", "j130", "sum")


@case
def scan_long() -> Program:
    return _scan("i2", "j900", "sum")


@case
def scan_reverse() -> Program:
    return _scan("i3", "j500", "sum", reverse=True)


@case
def scan_exclusive() -> Program:
    return _scan("i3", "j200", "sum", exclusive=True)


@case
def scan_max() -> Program:
    return _scan("i2", "j150", "max")


@case
def scan_reverse_exclusive_max() -> Program:
    return _scan("i3", "j90", "max", reverse=True, exclusive=True)


@case
def scan_reverse_reductions() -> Program:
    """A scan that runs backwards in the pass that also reduces: the first of equals still wins."""
    outer, inner = axes("i3"), axes("j130")
    over = (*outer, *inner)
    x, n = tensor("x", over), tensor("n", over, "int32")
    body: list[Op] = [
        full("x0", x, over),
        full("n0", n, over),
        Scan("s", "sum", "x0", "float32", reverse=True),
        Store(tensor("y", over), row_major(over), "s"),
    ]
    for op in ("sum", "max", "argmax", "argmin"):
        arg, result = ("n0", "int64") if op.startswith("arg") else ("x0", "float32")
        body.append(Reduce(f"r_{op}", op, arg, result))
        body.append(Store(tensor(f"y_{op}", outer, result), row_major(outer), f"r_{op}"))
    return program(Kernel("scan_reductions", outer, inner, tuple(body)), inputs=(x, n))


def _decay(rows: str, columns: str, strides: dict[str, int]) -> Program:
    """A sum that decays along the rows, and its square."""
    outer, inner = axes(rows), axes(columns)
    shape = tuple(axis.size for axis in (*outer, *inner))
    x, kept = (contiguous(name, shape, "float32") for name in ("x", "kept"))
    at = Affine.of(strides)
    body = (
        Load("x0", x, at),
        Load("kept0", kept, at),
        Compute("kept1", "sigmoid", ("kept0",), "float32"),
        Scan("s", "decay", "x0", "float32", factor="kept1"),
        Compute("y0", "mul", ("s", "s"), "float32"),
        Store(replace(x, name="y"), at, "y0"),
    )
    return program(Kernel("scan_decay", outer, inner, body), inputs=(x, kept))


@case
def scan_decay() -> Program:
    return _decay("i3", "j900", {"i": 900, "j": 1})


@case
def scan_decay_columns() -> Program:
    return _decay("w40", "i130", {"i": 40, "w": 1})


@case
def scan_columns() -> Program:
    """A running product down the first dimension."""
    outer, inner = axes("w40"), axes("i30")
    x = contiguous("x", (30, 40), "float32")
    at = Affine.of({"i": 40, "w": 1})
    body = (
        Load("x0", x, at),
        Scan("s", "prod", "x0", "float32"),
        Store(replace(x, name="y"), at, "s"),
    )
    return program(Kernel("scan_columns", outer, inner, body), inputs=(x,))


@case
def in_place() -> Program:
    """A second kernel normalises what the first one made, where it lies."""
    outer, inner = axes("i6"), axes("j200")
    over = (*outer, *inner)
    x, y = tensor("x", over), tensor("y", over)
    first = (
        full("x0", x, over),
        Compute("x1", "square", ("x0",), "float32"),
        Store(y, row_major(over), "x1"),
    )
    second = (
        full("y0", y, over),
        Reduce("most", "max", "y0", "float32"),
        Compute("y1", "sub", ("y0", "most"), "float32"),
        Store(y, row_major(over), "y1"),
    )
    steps = (Kernel("make", over, (), first), Kernel("normalise", outer, inner, second))
    return program(*steps, inputs=(x,))
