"""Programs of the loop language that every emitter must get right, small and odd-sized.

An emitter's test runs each of them under its schedules and compares with ``interpret``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace

from kernelwright.propose.rules.ir import (
    Affine,
    Axis,
    Bound,
    Compute,
    Const,
    Contraction,
    Iota,
    Kernel,
    Load,
    Op,
    Program,
    Reduce,
    Ref,
    Scan,
    Store,
    Tensor,
    contiguous,
)

CASES: dict[str, Callable[[], Program]] = {}
"""Programs by name."""


def case(build: Callable[[], Program]) -> Callable[[], Program]:
    CASES[build.__name__] = build
    return build


def row_major(axes: Iterable[Axis], offset: int = 0) -> Affine:
    """The position of a point of ``axes`` in a row-major tensor over them."""
    terms: dict[str, int] = {}
    stride = 1
    for axis in reversed(tuple(axes)):
        terms[axis.name] = stride
        stride *= axis.size
    return Affine.of(terms, offset)


def program(*steps: Kernel | Contraction, inputs: tuple[Tensor, ...]) -> Program:
    """A program of these steps that returns what the last one writes."""
    outputs = tuple(Ref(t.name) for t in steps[-1].writes)
    return Program(inputs, (), steps, outputs)


def axes(text: str) -> tuple[Axis, ...]:
    """``axes("i8 j13")``: an axis i of size 8 and an axis j of size 13."""
    return tuple(Axis(word.rstrip("0123456789"), int(word.lstrip("abcdefghijklmnopqrstuvwxyz")))
                 for word in text.split())  # fmt: skip


def tensor(name: str, over: Iterable[Axis], dtype: str = "float32") -> Tensor:
    """A row-major tensor with one dimension per axis."""
    return contiguous(name, tuple(axis.size for axis in over), dtype)


def full(name: str, source: Tensor, over: Iterable[Axis]) -> Load:
    """A load of ``source`` at every point of ``over``."""
    return Load(name, source, row_major(over))


def chain(*ops: str, dtype: str = "float32", start: str = "x0") -> tuple[list[Op], str]:
    """Unary operators one after the other; the name of the result."""
    body: list[Op] = []
    for op in ops:
        body.append(Compute(f"{op}_{len(body)}", op, (start,), dtype))
        start = f"{op}_{len(body) - 1}"
    return body, start


def _unary(names: tuple[str, ...], dtype: str = "float32", size: int = 1001) -> Program:
    """Every operator on the same input, each stored in an output of its own."""
    (i,) = axes(f"i{size}")
    x = tensor("x", (i,), dtype)
    body: list[Op] = [full("x0", x, (i,))]
    for name in names:
        result = "bool" if name in ("isnan", "isinf", "not") else dtype
        body.append(Compute(f"v_{name}", name, ("x0",), result))
        body.append(Store(tensor(f"y_{name}", (i,), result), row_major((i,)), f"v_{name}"))
    return program(Kernel("unary", (i,), (), tuple(body), ("unary <- test",)), inputs=(x,))


@case
def unary_smooth() -> Program:
    return _unary(("exp", "expm1", "sin", "cos", "tanh", "sigmoid", "erf", "neg", "abs", "square"))


@case
def unary_steps() -> Program:
    return _unary(
        ("floor", "ceil", "round", "trunc", "sign", "relu", "isnan", "isinf", "reciprocal")
    )


@case
def unary_positive() -> Program:
    (i,) = axes("i777")
    x = tensor("x", (i,))
    body: list[Op] = [full("raw", x, (i,)), Compute("x0", "abs", ("raw",), "float32")]
    for name in ("log", "log1p", "log2", "sqrt", "rsqrt"):
        body.append(Compute(f"v_{name}", name, ("x0",), "float32"))
        body.append(Store(tensor(f"y_{name}", (i,)), row_major((i,)), f"v_{name}"))
    return program(Kernel("positive", (i,), (), tuple(body)), inputs=(x,))


@case
def unary_float64() -> Program:
    return _unary(("exp", "sigmoid", "erf", "relu", "reciprocal"), "float64")


@case
def unary_bfloat16() -> Program:
    return _unary(("exp", "tanh", "neg", "relu"), "bfloat16")


@case
def unary_float16() -> Program:
    return _unary(("sigmoid", "abs", "relu"), "float16")


@case
def binary_broadcast() -> Program:
    over = axes("n3 c5 h7 w4")
    x, bias = tensor("x", over), tensor("bias", over[1:2])
    body: list[Op] = [
        full("x0", x, over),
        Load("b", bias, Affine.of({"c": 1})),
        Const("slope", 0.1, "float32"),
        Const("zero", 0.0, "float32"),
    ]
    previous = "x0"
    for op in ("add", "mul", "sub", "maximum", "minimum", "div", "fmod"):
        body.append(Compute(f"v_{op}", op, (previous, "b"), "float32"))
        previous = f"v_{op}"
    body += [
        Compute("below", "lt", (previous, "zero"), "bool"),
        Compute("scaled", "mul", (previous, "slope"), "float32"),
        Compute("leaky", "where", ("below", "scaled", previous), "float32"),
        Store(tensor("y", over), row_major(over), "leaky"),
    ]
    return program(Kernel("broadcast", over, (), tuple(body)), inputs=(x, bias))


@case
def transposed() -> Program:
    over = axes("i37 j70")
    x = tensor("x", reversed(over))
    body = (
        Load("x0", x, Affine.of({"i": 1, "j": 37})),
        Compute("y0", "neg", ("x0",), "float32"),
        Store(tensor("y", over), row_major(over), "y0"),
    )
    return program(Kernel("transposed", over, (), body), inputs=(x,))


@case
def padded_shift() -> Program:
    """A constant pad: the load has bounds, and a fill of its own."""
    over = axes("i9 j21")
    x = contiguous("x", (9, 16), "float32")
    inside = Affine.of({"j": 1}, -3)
    body = (
        Load("x0", x, Affine.of({"i": 16, "j": 1}, -3), (Bound(inside, 0, 16),), fill=2.5),
        Store(tensor("y", over), row_major(over), "x0"),
    )
    return program(Kernel("padded", over, (), body), inputs=(x,))


@case
def integers() -> Program:
    (i,) = axes("i300")
    x, y = tensor("x", (i,), "int64"), tensor("y", (i,), "int32")
    body = (
        full("a", x, (i,)),
        full("b", y, (i,)),
        Compute("wide", "cast", ("b",), "int64"),
        Compute("total", "add", ("a", "wide"), "int64"),
        Iota("at", Affine.of({"i": 3}, 1)),
        Compute("product", "mul", ("total", "at"), "int64"),
        Compute("odd", "gt", ("product", "a"), "bool"),
        Compute("even", "not", ("odd",), "bool"),
        Compute("real", "cast", ("product",), "float32"),
        Store(tensor("o", (i,), "int64"), row_major((i,)), "product"),
        Store(tensor("p", (i,), "bool"), row_major((i,)), "even"),
        Store(tensor("q", (i,)), row_major((i,)), "real"),
    )
    return program(Kernel("integers", (i,), (), body), inputs=(x, y))


@case
def gather_rows() -> Program:
    """An embedding: rows of a table at positions that are values."""
    over = axes("i12 j40")
    table = contiguous("table", (30, 40), "float32")
    at = contiguous("at", (12,), "int64")
    body = (
        Load("row", at, Affine.of({"i": 1})),
        Load("x0", table, Affine.of({"j": 1}), gather=(("row", 40),)),
        Store(tensor("y", over), row_major(over), "x0"),
    )
    return program(Kernel("gather_rows", over, (), body), inputs=(table, at))


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


@case
def softmax_bfloat16() -> Program:
    return _softmax("b2 i9", "j130", "bfloat16")


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


def product(m: int, n: int, k: int, dtype: str = "float32", batch: int = 0) -> Program:
    """A matrix product with a bias and a relu."""
    lead = axes(f"b{batch}") if batch else ()
    (i,), (j,), (r,) = axes(f"i{m}"), axes(f"j{n}"), axes(f"r{k}")
    a, b, bias = tensor("a", (*lead, i, r), dtype), tensor("b", (*lead, j, r), dtype), tensor("bias", (j,))  # fmt: skip  # noqa: E501
    over = (*lead, i, j)
    body = (
        Load("offset", bias, Affine.of({"j": 1})),
        Compute("sum", "add", ("acc", "offset"), "float32"),
        Compute("y0", "relu", ("sum",), "float32"),
        Compute("y1", "cast", ("y0",), dtype),
        Store(tensor("y", over, dtype), row_major(over), "y1"),
    )
    step = Contraction(
        "linear", lead, (i,), (j,), (r,),
        full("a0", a, (*lead, i, r)), full("b0", b, (*lead, j, r)), body, ("linear <- test",),
    )  # fmt: skip
    return program(step, inputs=(a, b, bias))


@case
def product_odd() -> Program:
    return product(70, 45, 100)


@case
def product_even() -> Program:
    return product(128, 64, 64)


@case
def product_batched() -> Program:
    return product(20, 36, 50, batch=3)


@case
def product_bfloat16() -> Program:
    return product(33, 64, 48, "bfloat16")


@case
def product_float16() -> Program:
    return product(64, 32, 64, "float16")


@case
def product_thin() -> Program:
    return product(64, 1, 300)


@case
def product_deep() -> Program:
    """Few elements, a long sum: cut along k."""
    return product(16, 16, 1000)


@case
def product_residual() -> Program:
    """The epilogue reads an operand again."""
    (i,), (j,), (r,) = axes("i40"), axes("j40"), axes("r40")
    a, b = tensor("a", (i, r)), tensor("b", (r, j))
    body = (
        Load("again", a, row_major((i, j))),
        Compute("total", "add", ("acc", "again"), "float32"),
        Store(tensor("y", (i, j)), row_major((i, j)), "total"),
    )
    step = Contraction(
        "residual", (), (i,), (j,), (r,), full("a0", a, (i, r)), full("b0", b, (r, j)), body
    )
    return program(step, inputs=(a, b))


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


@case
def product_float64() -> Program:
    (i,), (j,), (r,) = axes("i9"), axes("j8"), axes("r40")
    a, b = tensor("a", (i, r), "float64"), tensor("b", (r, j), "float64")
    body = (Store(tensor("y", (i, j), "float64"), row_major((i, j)), "acc"),)
    step = Contraction("wide", (), (i,), (j,), (r,), full("a0", a, (i, r)), full("b0", b, (r, j)), body)  # fmt: skip  # noqa: E501
    return program(step, inputs=(a, b))


@case
def convolution() -> Program:
    """Padding 1, stride 2, kernel 3: rows are output pixels, k is (channel, row, column)."""
    n, oc = axes("n2"), axes("o20")
    m = (*n, *axes("y7 x6"))
    k = axes("c5 i3 j3")
    x = contiguous("x", (2, 5, 13, 11), "float32")
    w = contiguous("w", (20, 5, 3, 3), "float32")
    row, column = Affine.of({"y": 2, "i": 1}, -1), Affine.of({"x": 2, "j": 1}, -1)
    at = Affine.of({"n": 715, "c": 143, "y": 22, "i": 11, "x": 2, "j": 1}, -12)
    bounds = (Bound(row, 0, 13), Bound(column, 0, 11))
    out = contiguous("out", (2, 20, 7, 6), "float32")
    body = (
        Compute("y0", "relu", ("acc",), "float32"),
        Store(out, Affine.of({"n": 840, "o": 42, "y": 6, "x": 1}), "y0"),
    )
    step = Contraction(
        "conv", (), m, oc, k, Load("x0", x, at, bounds),
        Load("w0", w, Affine.of({"o": 45, "c": 9, "i": 3, "j": 1})), body,
    )  # fmt: skip
    return program(step, inputs=(x, w))
