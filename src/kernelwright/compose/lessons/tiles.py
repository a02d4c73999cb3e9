"""Kernels over tiles of a matrix product, with steps on its result."""

from __future__ import annotations

from kernelwright.compose import shapes
from kernelwright.compose.draft import Axis
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
