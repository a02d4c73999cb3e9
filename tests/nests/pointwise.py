"""Programs that compute every element for itself: operators, dtypes, layouts, bounds, gathers."""

from __future__ import annotations

from tests.nests.notation import axes, case, full, program, row_major, tensor

from kernelwright.compiler.ir.ir import (
    Affine,
    Bound,
    Compute,
    Const,
    Iota,
    Kernel,
    Load,
    Op,
    Program,
    Store,
    contiguous,
)


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
def exchange() -> Program:
    """Channels last to channels first, with a value for each channel."""
    n, c, p = axes("n2 c19 p37")
    x, b, y = tensor("x", (n, p, c)), tensor("b", (c,)), tensor("y", (n, c, p))
    body = (
        full("x0", x, (n, p, c)),
        full("b0", b, (c,)),
        Compute("y0", "add", ("x0", "b0"), "float32"),
        Store(y, row_major((n, c, p)), "y0"),
    )
    return program(Kernel("exchange", (n, c, p), (), body), inputs=(x, b))


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
