"""Programs that multiply matrices or convolve, with what is done to the result."""

from __future__ import annotations

from dataclasses import replace

from tests.nests.notation import axes, case, full, program, row_major, tensor

from kernelwright.compiler.fuse.attention import own_attention
from kernelwright.compiler.ir import capped
from kernelwright.compiler.ir.ir import (
    Affine,
    Attention,
    Bound,
    Call,
    Compute,
    Const,
    Contraction,
    Groups,
    Iota,
    Kernel,
    Load,
    PartTotal,
    Program,
    Ref,
    Scan,
    Store,
    Stretch,
    Tensor,
    contiguous,
)


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


def plain_product(m: int, n: int, k: int) -> Program:
    """a (m, k) times b (k, n) in float32, both row-major."""
    (i,), (j,), (r,) = axes(f"i{m}"), axes(f"j{n}"), axes(f"r{k}")
    a, b, y = tensor("a", (i, r)), tensor("b", (r, j)), tensor("y", (i, j))
    body = (Store(y, row_major((i, j)), "acc"),)
    loads = full("a0", a, (i, r)), full("b0", b, (r, j))
    return program(Contraction("matmul", (), (i,), (j,), (r,), *loads, body), inputs=(a, b))


@case
def thin_product_of_parts_of_one_tensor() -> Program:
    """Queries times keys that lie in one tensor, as attention's projections give them."""
    (i,), (j,), (r,) = axes("i2"), axes("j2"), axes("r8")
    both, y = contiguous("both", (2, 24), "float32"), tensor("y", (i, j))
    body = (Store(y, row_major((i, j)), "acc"),)
    a = Load("both_0", both, Affine.of({"i": 24, "r": 1}))
    b = Load("both_0", both, Affine.of({"j": 24, "r": 1}, 8))
    return program(Contraction("scores", (), (i,), (j,), (r,), a, b, body), inputs=(both,))


@case
def product_odd() -> Program:
    return product(70, 45, 100)


@case
def product_even() -> Program:
    return product(128, 64, 64)


@case
def product_of_one() -> Program:
    """Of a column and a row: the sum has one term, and no axis."""
    (i,), (j,) = axes("i33"), axes("j20")
    a, b, y = tensor("a", (i,)), tensor("b", (j,)), tensor("y", (i, j))
    body = (Store(y, row_major((i, j)), "acc"),)
    loads = full("a0", a, (i,)), full("b0", b, (j,))
    return program(Contraction("matmul", (), (i,), (j,), (), *loads, body), inputs=(a, b))


@case
def product_batched() -> Program:
    return product(20, 36, 50, batch=3)


@case
def product_bfloat16() -> Program:
    return product(33, 64, 48, "bfloat16")


@case
def product_float16() -> Program:
    return product(64, 32, 64, "float16")


def gated(m: int, n: int, k: int) -> Program:
    """Two products of the same rows, of which one gates the other."""
    (i,), (j,), (r,) = axes(f"i{m}"), axes(f"j{n}"), axes(f"r{k}")
    x, gate, up = (
        tensor(name, (side, r), "bfloat16") for name, side in zip("xgu", (i, j, j), strict=True)
    )
    body = (
        Compute("sigmoid", "sigmoid", ("acc",), "float32"),
        Compute("silu", "mul", ("acc", "sigmoid"), "float32"),
        Compute("y0", "mul", ("silu", "acc_twin"), "float32"),
        Compute("y1", "cast", ("y0",), "bfloat16"),
        Store(tensor("y", (i, j), "bfloat16"), row_major((i, j)), "y1"),
    )
    step = Contraction(
        "gated", (), (i,), (j,), (r,), full("x0", x, (i, r)), full("g0", gate, (j, r)), body,
        twin=full("u0", up, (j, r)),
    )  # fmt: skip
    return program(step, inputs=(x, gate, up))


@case
def product_gated() -> Program:
    return gated(16, 48, 130)


@case
def product_gated_of_one_row() -> Program:
    return gated(1, 40, 300)


@case
def product_thin() -> Program:
    return product(64, 1, 300)


@case
def product_thin_of_one() -> Program:
    """Few rows, and a sum of one term: attention to a single key."""
    (j,) = axes("j40")
    a, b, y = tensor("a", ()), tensor("b", (j,)), tensor("y", (j,))
    body = (
        Compute("twice", "add", ("acc", "acc"), "float32"),
        Store(y, row_major((j,)), "twice"),
    )
    loads = full("a0", a, ()), full("b0", b, (j,))
    return program(Contraction("matmul", (), (), (j,), (), *loads, body), inputs=(a, b))


@case
def product_thin_with_itself() -> Program:
    """A matrix of few rows times its transpose: both operands are loads of one name."""
    (i,), (j,), (r,) = axes("i3"), axes("j3"), axes("r40")
    a = tensor("a", (i, r))
    body = (Store(tensor("y", (i, j)), row_major((i, j)), "acc"),)
    loads = full("a0", a, (i, r)), full("a0", a, (j, r))
    return program(Contraction("matmul", (), (i,), (j,), (r,), *loads, body), inputs=(a,))


@case
def product_deep() -> Program:
    """Few elements, a long sum: cut along k."""
    return product(16, 16, 1000)


@case
def product_infinite() -> Program:
    """Operands hold infinities and NaN: what they do not touch stays as it is."""
    return product(40, 36, 50)


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


def triangle(op: str, offset: int) -> Program:
    """A product of which only one side of a diagonal is kept."""
    (i,), (j,), (r,) = axes("i70"), axes("j50"), axes("r40")
    a, b = tensor("a", (i, r)), tensor("b", (r, j))
    body = (
        Iota("row", Affine.of({"i": 1}, offset)),
        Iota("column", Affine.of({"j": 1})),
        Compute("kept", op, ("column", "row"), "bool"),
        Const("zero", 0.0, "float32"),
        Compute("y0", "where", ("kept", "acc", "zero"), "float32"),
        Store(tensor("y", (i, j)), row_major((i, j)), "y0"),
    )
    step = Contraction(
        "triangle", (), (i,), (j,), (r,), full("a0", a, (i, r)), full("b0", b, (r, j)), body
    )
    return program(step, inputs=(a, b))


@case
def product_upper() -> Program:
    return triangle("ge", 1)


@case
def product_lower() -> Program:
    return triangle("le", 0)


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
    step, tensors = _convolution(5)
    return program(step, inputs=tensors)


@case
def convolution_rounded() -> Program:
    """The same, of 16 channels and in TF32 where the device has it."""
    step, tensors = _convolution(16)
    return program(replace(step, tf32=True), inputs=tensors)


@case
def convolution_side_by_side() -> Program:
    """Stride 1, padding 1 and 2, columns every second: outputs lie on one grid with the image."""
    m, oc, k = axes("n2 y20 x18"), axes("o20"), axes("c12 i3 j3")
    x = contiguous("x", (2, 12, 20, 18), "float32")
    w = contiguous("w", (20, 12, 3, 3), "float32")
    row, column = Affine.of({"y": 1, "i": 1}, -1), Affine.of({"x": 1, "j": 2}, -2)
    steps = {"n": 4320, "c": 360, "y": 18, "i": 18, "x": 1, "j": 2}
    bounds = (Bound(row, 0, 20), Bound(column, 0, 18))
    out = contiguous("out", (2, 20, 20, 18), "float32")
    body = (
        Compute("y0", "relu", ("acc",), "float32"),
        Store(out, Affine.of({"n": 7200, "o": 360, "y": 18, "x": 1}), "y0"),
    )
    step = Contraction(
        "conv", (), m, oc, k, Load("x0", x, Affine.of(steps, -20), bounds),
        Load("w0", w, Affine.of({"o": 108, "c": 9, "i": 3, "j": 1})), body, tf32=True,
    )  # fmt: skip
    return program(step, inputs=(x, w))


@case
def convolution_totals() -> Program:
    """Channels last, dilation 2 along rows, and what every 16 rows of its results add up to: the
    last part has 6."""
    m, oc, k = axes("n2 y5 x7"), axes("o20"), axes("c16 i3 j3")
    x = Tensor("x", (2, 16, 7, 7), "float32", (784, 1, 112, 16))
    w = contiguous("w", (20, 16, 3, 3), "float32")
    row, column = Affine.of({"y": 1, "i": 2}, -1), Affine.of({"x": 1, "j": 1}, -1)
    steps = {"n": 784, "c": 1, "y": 112, "i": 224, "x": 16, "j": 16}
    bounds = (Bound(row, 0, 7), Bound(column, 0, 7))
    out = Tensor("out", (2, 20, 5, 7), "float32", (700, 1, 140, 20))
    sums, spreads = (contiguous(name, (5, 20), "float32") for name in ("sums", "spreads"))
    body = (
        Compute("y0", "relu", ("acc",), "float32"),
        Store(out, Affine.of({"n": 700, "o": 1, "y": 140, "x": 20}), "y0"),
        PartTotal(sums, Affine.of({"o": 1}), "y0", "sum", 16),
        PartTotal(spreads, Affine.of({"o": 1}), "y0", "spread", 16),
    )
    step = Contraction(
        "conv", (), m, oc, k, Load("x0", x, Affine.of(steps, -128), bounds),
        Load("w0", w, Affine.of({"o": 144, "c": 9, "i": 3, "j": 1})), body, tf32=True,
    )  # fmt: skip
    return program(step, inputs=(x, w))


def _convolution(channels: int) -> tuple[Contraction, tuple[Tensor, ...]]:
    n, oc = axes("n2"), axes("o20")
    m = (*n, *axes("y7 x6"))
    k = axes(f"c{channels} i3 j3")
    x = contiguous("x", (2, channels, 13, 11), "float32")
    w = contiguous("w", (20, channels, 3, 3), "float32")
    row, column = Affine.of({"y": 2, "i": 1}, -1), Affine.of({"x": 2, "j": 1}, -1)
    steps = {"n": 143 * channels, "c": 143, "y": 22, "i": 11, "x": 2, "j": 1}
    bounds = (Bound(row, 0, 13), Bound(column, 0, 11))
    out = contiguous("out", (2, 20, 7, 6), "float32")
    body = (
        Compute("y0", "relu", ("acc",), "float32"),
        Store(out, Affine.of({"n": 840, "o": 42, "y": 6, "x": 1}), "y0"),
    )
    step = Contraction(
        "conv", (), m, oc, k, Load("x0", x, Affine.of(steps, -12), bounds),
        Load("w0", w, Affine.of({"o": 9 * channels, "c": 9, "i": 3, "j": 1})), body,
    )  # fmt: skip
    return step, (x, w)


@case
def convolution_transposed() -> Program:
    """Stride 2 and kernel 3 along rows; along columns stride 4, kernel 5, every second tap."""
    m, n, k = axes("n2 y9 x19"), axes("o20"), axes("c3 i3 j5")
    x = contiguous("x", (2, 3, 5, 4), "float32")
    w = contiguous("w", (3, 20, 3, 5), "float32")
    out = contiguous("out", (2, 20, 9, 19), "float32")
    body = (
        Load("b0", contiguous("b", (20,), "float32"), Affine.of({"o": 1})),
        Compute("y0", "add", ("acc", "b0"), "float32"),
        Store(out, Affine.of({"n": 3420, "o": 171, "y": 19, "x": 1}), "y0"),
    )
    step = Contraction(
        "conv", (), m, n, k, Load("x0", x, Affine.of({"n": 60, "c": 20, "y": 4, "x": 1})),
        Load("w0", w, Affine.of({"c": 300, "o": 15, "i": 5, "j": 1})), body,
        stretches=(Stretch("y", "i", 5, 2, 1, 1), Stretch("x", "j", 4, 4, 1, 2)), tf32=True,
    )  # fmt: skip
    return program(step, inputs=(x, w, contiguous("b", (20,), "float32")))


@case
def convolution_upsampling() -> Program:
    """Stride 2 in both dimensions, whose results have even sizes: a program has both columns'
    phases."""
    m, n, k = axes("n2 y8 x16"), axes("o20"), axes("c16 i3 j3")
    x, w = contiguous("x", (2, 16, 4, 8), "float32"), contiguous("w", (16, 20, 3, 3), "float32")
    out = contiguous("out", (2, 20, 8, 16), "float32")
    body = (
        Load("b0", contiguous("b", (20,), "float32"), Affine.of({"o": 1})),
        Compute("y0", "add", ("acc", "b0"), "float32"),
        Store(out, Affine.of({"n": 2560, "o": 128, "y": 16, "x": 1}), "y0"),
    )
    step = Contraction(
        "conv", (), m, n, k, Load("x0", x, Affine.of({"n": 512, "c": 32, "y": 8, "x": 1})),
        Load("w0", w, Affine.of({"c": 180, "o": 9, "i": 3, "j": 1})), body,
        stretches=(Stretch("y", "i", 4, 2, 1, 1), Stretch("x", "j", 8, 2, 1, 1)), tf32=True,
    )  # fmt: skip
    return program(step, inputs=(x, w, contiguous("b", (20,), "float32")))


@case
def convolution_transposed_deep() -> Program:
    """Stride 2; channels in two axes, of which the weight has the inner one outside its taps."""
    m, n, k = axes("n2 y7 x9"), axes("o20"), axes("c5 d3 i3 j3")
    x = contiguous("x", (2, 15, 4, 5), "float32")
    w = contiguous("w", (5, 20, 3, 3, 3), "float32")
    out = contiguous("out", (2, 20, 7, 9), "float32")
    step = Contraction(
        "conv", (), m, n, k,
        Load("x0", x, Affine.of({"n": 300, "c": 60, "d": 20, "y": 5, "x": 1})),
        Load("w0", w, Affine.of({"c": 540, "o": 27, "d": 9, "i": 3, "j": 1})),
        (Store(out, Affine.of({"n": 1260, "o": 63, "y": 9, "x": 1}), "acc"),),
        stretches=(Stretch("y", "i", 4, 2, 1, 1), Stretch("x", "j", 5, 2, 1, 1)), tf32=True,
    )  # fmt: skip
    return program(step, inputs=(x, w))


def _attention(heads: int, length: int, keys: int, width: int, *, causal: bool = False) -> Program:
    """Attention over one image's heads, whose results lie side by side, as the next layer wants."""
    q = contiguous("q", (1, heads, length, width), "float32")
    k, v = (contiguous(name, (1, heads, keys, width), "float32") for name in "kv")
    strides = (heads * length * width, width, heads * width, 1)
    y = Tensor("y", q.shape, "float32", strides)
    return program(Attention("attention", q, k, v, y, 0.3, causal), inputs=(q, k, v))


@case
def attention() -> Program:
    return _attention(2, 40, 37, 24)


@case
def attention_causal() -> Program:
    return _attention(2, 33, 33, 16, causal=True)


def _called(
    dtype: str,
    mask: Tensor | None,
    *before: Kernel,
    length: int = 40,
    keys: int = 37,
    **named: float,
) -> Program:
    """A call of attention whose two heads of queries share one of keys, as steps of our own."""
    q = contiguous("q", (2, 2, length, 24), dtype)
    k, v = (contiguous(name, (2, 1, keys, 24), dtype) for name in "kv")
    refs = tuple(Ref(tensor.name) for tensor in (q, k, v, *([mask] if mask else [])))
    if named:
        call = Call(capped.NAME, (*refs, *named.values()), (), (replace(q, name="y"),))
    else:
        attention = "torch.ops.aten.scaled_dot_product_attention.default"
        call = Call(attention, refs, (), (replace(q, name="y"),))
    inputs = (q, k, v, *(() if before or not mask else (mask,)))
    called = Program(inputs, (), (*before, call), (Ref("y"),))
    return own_attention(called, lambda step: True, least=0)


@case
def attention_with_gaps() -> Program:
    return _called("bfloat16", contiguous("mask", (2, 1, 40, 37), "bool"))


@case
def attention_of_keys() -> Program:
    """A mask that is the same for all queries."""
    return _called("float16", contiguous("mask", (2, 1, 1, 37), "bool"))


@case
def attention_in_a_window() -> Program:
    """Queries that see the last 25 keys; the first and the last queries see fewer, or none."""
    rows, (key,) = axes("i40"), axes("j37")
    mask = tensor("mask", (*rows, key), "bool")
    body = (
        Iota("behind", Affine.of({"i": 1, "j": -1}, -2)), Const("none", 0, "int64"),
        Const("width", 25, "int64"), Compute("is_before", "ge", ("behind", "none"), "bool"),
        Compute("is_near", "lt", ("behind", "width"), "bool"),
        Compute("sees", "and", ("is_before", "is_near"), "bool"),
        Store(mask, row_major((*rows, key)), "sees"),
    )  # fmt: skip
    return _called("bfloat16", mask, Kernel("window", (*rows, key), (), body))


@case
def attention_with_padding() -> Program:
    """An added mask with the least bfloat16 for all keys of the first query: it sees all alike."""
    rows, (key,) = axes("i40"), axes("j5")
    mask = tensor("mask", (*rows, key), "bfloat16")
    body = (
        Iota("row", Affine.of({"i": 1})), Const("none", 0, "int64"),
        Const("least", -3.3895313892515355e38, "float32"), Const("zero", 0.0, "float32"),
        Compute("is_first", "eq", ("row", "none"), "bool"),
        Compute("added", "where", ("is_first", "least", "zero"), "float32"),
        Compute("narrow", "cast", ("added",), "bfloat16"),
        Store(mask, row_major((*rows, key)), "narrow"),
    )  # fmt: skip
    return _called("bfloat16", mask, Kernel("padding", (*rows, key), (), body), keys=5)


@case
def attention_of_a_token() -> Program:
    """Keys in two parts."""
    return _called("bfloat16", contiguous("mask", (2, 1, 1, 300), "bool"), length=1, keys=300)


@case
def attention_of_few_tokens() -> Program:
    return _called("float16", None, length=3, keys=400)


@case
def attention_capped() -> Program:
    mask = contiguous("mask", (1, 2, 40, 37), "float16")
    return _called("float16", mask, scale=0.3, cap=2.5)


@case
def product_unpacked() -> Program:
    """Weights of 4 bits, two to a byte, in groups of 16 along k with a scale each."""
    (i,), (j,), (g, h, p) = axes("i24"), axes("j40"), axes("g4 h8 p2")
    a, packed = tensor("a", (i, g, h, p), "bfloat16"), tensor("packed", (j, g, h), "uint8")
    scales = tensor("scales", (j, g), "bfloat16")
    made = (
        full("byte", packed, (j, g, h)),
        Const("low_bits", 15, "uint8"),
        Compute("low", "and", ("byte", "low_bits"), "uint8"),
        Const("four", 4, "uint8"),
        Compute("high", "rshift", ("byte", "four"), "uint8"),
        Iota("half", Affine.of({"p": 1})),
        Const("one", 1, "int64"),
        Compute("is_low", "lt", ("half", "one"), "bool"),
        Compute("nibble", "where", ("is_low", "low", "high"), "uint8"),
        Compute("wide", "cast", ("nibble",), "float32"),
        full("scale", scales, (j, g)),
        Compute("weight", "mul", ("wide", "scale"), "float32"),
        Compute("rounded", "cast", ("weight",), "bfloat16"),
    )
    body = (Store(tensor("y", (i, j)), row_major((i, j)), "acc"),)
    loads = full("a0", a, (i, g, h, p)), made[0]
    step = Contraction(
        "unpacked", (), (i,), (j,), (g, h, p), *loads, body, b_made=made, dtypes=("", "bfloat16")
    )
    return program(step, inputs=(a, packed, scales))


@case
def product_gathered() -> Program:
    """Rows that are looked up, and multiplied with one matrix."""
    (i,), (j,), (r,) = axes("i24"), axes("j40"), axes("r50")
    table, b = tensor("table", axes("t12 r50"), "bfloat16"), tensor("b", (j, r), "bfloat16")
    places = tensor("places", (i,), "int64")
    row = Load("row", table, Affine.of({"r": 1}), gather=(("place", 50),))
    made = (
        full("given", places, (i,)),
        Const("size", 12, "int64"),
        Compute("place", "within", ("given", "size"), "int64"),
        row,
    )
    body = (Store(tensor("y", (i, j)), row_major((i, j)), "acc"),)
    step = Contraction(
        "gathered", (), (i,), (j,), (r,), row, full("b0", b, (j, r)), body,
        a_made=made, dtypes=("bfloat16", ""),
    )  # fmt: skip
    return program(step, inputs=(places, table, b))


def grouped(rows: int, k: int, dtype: str) -> Program:
    """Rows in six groups, some of which may be empty, and rows of none after the last one."""
    (i,), (j,), (r,), (e,) = axes(f"i{rows}"), axes("j40"), axes(f"r{k}"), axes("e6")
    counts, ends = tensor("counts", (e,), "int32"), tensor("ends", (e,), "int32")
    up_to = (
        full("count", counts, (e,)),
        Scan("end", "sum", "count", "int32"),
        Store(ends, row_major((e,)), "end"),
    )
    a, b = tensor("a", (i, r), dtype), tensor("b", (e, j, r), dtype)
    body = (
        Compute("y0", "relu", ("acc",), "float32"),
        Store(tensor("y", (i, j)), row_major((i, j)), "y0"),
    )
    step = Contraction(
        "grouped", (), (i,), (j,), (r,), full("a0", a, (i, r)), full("b0", b, (j, r)), body,
        groups=Groups(ends, 40 * k),
    )  # fmt: skip
    return program(Kernel("ends", (), (e,), up_to), step, inputs=(counts, a, b))


@case
def product_grouped() -> Program:
    return grouped(100, 48, "bfloat16")


@case
def product_grouped_float32() -> Program:
    return grouped(70, 50, "float32")


@case
def product_float8() -> Program:
    """Tensor cores multiply float8; elsewhere it is converted."""
    return product(40, 48, 64, "float8_e4m3fn")
