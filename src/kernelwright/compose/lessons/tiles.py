"""Kernels over tiles of a matrix product, with steps on its result."""

from __future__ import annotations

import math

from kernelwright.compose import shapes
from kernelwright.compose.draft import FREE, Axis
from kernelwright.compose.lessons.sheet import Sheet, block

KERNEL = """@triton.jit
def kernel(
    x, b{bias}, out, m, n, k, b_k, b_n, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr
):
    row = tl.program_id(0) * BM + tl.arange(0, BM)
    column = tl.program_id(1) * BN + tl.arange(0, BN)
    v = tl.zeros([BM, BN], tl.float32)
    for start in range(0, k, BK):
        at = start + tl.arange(0, BK)
        live_x = (row[:, None] < m) & (at[None, :] < k)
        live_b = (at[:, None] < k) & (column[None, :] < n)
        left = tl.load(x + row[:, None] * k + at[None, :], mask=live_x, other=0.0)
        right = tl.load(b + at[:, None] * b_k + column[None, :] * b_n, mask=live_b, other=0.0)
        v += tl.dot(left, right, input_precision="ieee")
"""
STORE = (
    "live = (row[:, None] < m) & (column[None, :] < n)",
    "tl.store(out + row[:, None] * n + column[None, :], v, mask=live)",
)
FORWARD = """x = x.contiguous()
{read}
m, k = x.numel() // x.shape[-1], x.shape[-1]
n = {n}
out = torch.empty(*x.shape[:-1], n, device=x.device, dtype=x.dtype)
grid = (triton.cdiv(m, 64), triton.cdiv(n, 64))
kernel[grid](x, b{bias}, out, m, n, k, {strides}, BM=64, BN=64, BK=32)
return out"""


TURNED = """x, b = {left}, {right}
m, k, n = x.shape[0], x.shape[1], b.shape[1]
out = torch.empty(m, n, device=x.device, dtype=x.dtype)
grid = (triton.cdiv(m, 64), triton.cdiv(n, 64))
strides = (*x.stride(), *b.stride())
kernel[grid](x, b, out, m, n, k, *strides, BM=64, BN=64, BK=32)
return out"""
PLACES = (
    "batch = tl.program_id(2).to(tl.int64)",
    "x += batch * m * k",
    "b += batch * k * n",
    "out += batch * m * n",
)
BATCHED = """x, b = x.contiguous(), {other}.contiguous()
batch, m, k = x.shape
n = b.shape[2]
out = torch.empty(batch, m, n, device=x.device, dtype=x.dtype)
grid = (triton.cdiv(m, 64), triton.cdiv(n, 64), batch)
kernel[grid](x, b, out, m, n, k, BM=64, BN=64, BK=32)
return out"""


def linear(sheet: Sheet) -> str:
    """A linear layer; its weight is read as it lies, transposed."""
    width = _begin(sheet)
    outputs = sheet.draft.axis("out_features", sheet.draw.choice(sheet.draft.sizes.features))
    inputs, results = sheet.draft.argument(width), sheet.draft.argument(outputs)
    called = sheet.draft.module("linear", f"nn.Linear({inputs}, {results})")
    sheet.draft.step(f"{called}(x)", "linear")
    add = "v = v + tl.load(bias + column, mask=column < n, other=0.0)[None, :]"
    sheet.steps(1, 3)
    kernel = KERNEL.format(bias=", bias") + block([add, *sheet.take(), *STORE])
    forward = FORWARD.format(
        read=f"b = {called}.weight", n="b.shape[0]", bias=f", {called}.bias",
        strides="b.stride(1), b.stride(0)",
    )  # fmt: skip
    return sheet.file(kernel, forward)


def product(sheet: Sheet) -> str:
    """A product of two arguments."""
    width = _begin(sheet)
    n = sheet.draft.axis("n_columns", sheet.draw.choice(sheet.draft.sizes.features))
    other = sheet.draft.input("b", (width, n))
    sheet.draft.step(sheet.draw.choice((f"torch.matmul(x, {other})", f"x @ {other}")), "product")
    sheet.steps(1, 3)
    kernel = KERNEL.format(bias="") + block([*sheet.take(), *STORE])
    forward = FORWARD.format(
        read=f"b = {other}", n="b.shape[1]", bias="", strides="b.stride(0), b.stride(1)"
    ).replace("b = b\n", "")
    return sheet.file(kernel, forward)


def turned(sheet: Sheet) -> str:
    """A product of two arguments of which one or both are read turned round."""
    rows, inner, columns = _axes(sheet)
    is_left, is_right = sheet.draw.choice(((True, False), (False, True), (True, True)))
    sheet.begin((inner, rows) if is_left else (rows, inner))
    other = sheet.draft.input("b", (columns, inner) if is_right else (inner, columns))
    left, right = "x.T" if is_left else "x", f"{other}.T" if is_right else other
    sheet.draft.step(sheet.draw.choice((f"torch.matmul({left}, {right})", f"{left} @ {right}")),
                     "product")  # fmt: skip
    sheet.steps(0, 2)
    kernel = KERNEL.format(bias="").replace("n, k, b_k", "n, k, x_m, x_k, b_k")
    kernel = kernel.replace("[:, None] * k + at[None, :]", "[:, None] * x_m + at[None, :] * x_k")
    forward = TURNED.format(left=left, right=right)
    return sheet.file(kernel + block([*sheet.take(), *STORE]), forward)


def batched(sheet: Sheet) -> str:
    """A product of two arguments for each of a batch."""
    rows, inner, columns = _axes(sheet)
    batch = sheet.draft.axis("batch_size", sheet.draw.randint(2, 16), most=FREE)
    sheet.begin((batch, rows, inner))
    other = sheet.draft.input("b", (batch, inner, columns))
    words = (f"torch.bmm(x, {other})", f"torch.matmul(x, {other})", f"x @ {other}")
    sheet.draft.step(sheet.draw.choice(words), "product")
    sheet.steps(0, 2)
    kernel = KERNEL.format(bias="").replace(", b_k, b_n", "")
    kernel = kernel.replace(" * b_k", " * n").replace(" * b_n", "")
    kernel = kernel.replace("):\n    row", "):\n" + block(list(PLACES)) + "    row", 1)
    forward = BATCHED.format(other=other)
    return sheet.file(kernel + block([*sheet.take(), *STORE]), forward)


def _axes(sheet: Sheet) -> tuple[Axis, Axis, Axis]:
    """Rows, what is summed over, and columns, small enough for a batch of them."""
    draw, sizes = sheet.draw, sheet.draft.sizes
    lengths = [draw.choice(sizes.features) for _ in "mkn"]
    while math.prod(lengths) * 16 > sizes.work and max(lengths) > 2:
        longest = lengths.index(max(lengths))
        lengths[longest] = shapes.even(lengths[longest] // 2) + draw.choice((0, 1))
    m, k, n = (sheet.draft.axis(name, length) for name, length in zip("MKN", lengths, strict=True))
    return m, k, n


def _begin(sheet: Sheet) -> Axis:
    """x with rows of features, which a product sums over."""
    draft, draw = sheet.draft, sheet.draw
    width = draw.choice(draft.sizes.features)
    rows = draft.axis(
        "batch_size", shapes.even(draw.choice(draft.sizes.tokens)) + draw.choice((0, 1))
    )
    features = draft.axis(draw.choice(("in_features", "input_size")), width)
    sheet.begin((rows, features))
    return features
