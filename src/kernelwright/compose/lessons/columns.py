"""Kernels that fold an axis which is not the last: programs take neighbouring columns."""

from __future__ import annotations

from kernelwright.compose import shapes
from kernelwright.compose.lessons.sheet import Sheet, block, head

FOLDS = {
    "sum": ("torch.sum(x, dim=1{keep})", "0.0", "total = total + v", "v = total"),
    "mean": ("x.mean(dim=1{keep})", "0.0", "total = total + v", "v = total / length"),
    "maximum": (
        "torch.amax(x, dim=1{keep})", 'float("-inf")', "total = tl.maximum(total, v)", "v = total",
    ),
    "minimum": (
        "torch.min(x, dim=1{keep})[0]", 'float("inf")', "total = tl.minimum(total, v)",
        "v = total",
    ),
    "length": (
        "torch.norm(x, dim=1{keep})", "0.0", "total = total + v * v", "v = tl.sqrt(total)",
    ),
}  # fmt: skip


def column_reduction(sheet: Sheet) -> str:
    """The middle axis of three folded, with steps before and after it."""
    sheet.begin(shapes.sequence(sheet.draft))
    sheet.steps(1, 2)
    before = sheet.take()
    word = sheet.draw.choice(tuple(FOLDS))
    expression, start, step, end = FOLDS[word]
    is_kept = sheet.draw.random() < 0.4
    sheet.draft.step(expression.format(keep=", keepdim=True" if is_kept else ""), word)
    sheet.steps(0, 1)
    load = "v = tl.load(x + (batch * length + r) * width + column, mask=inside, other=0.0)"
    kernel = head("x", "out", "length", "width") + block([
        "batch = tl.program_id(0)",
        "column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)", "inside = column < width",
        f"total = tl.full([BLOCK], {start}, tl.float32)", "for r in range(0, length):",
    ])  # fmt: skip
    kernel += block([load, *before, step], depth=2)
    kernel += block([end, *sheet.take(), "tl.store(out + batch * width + column, v, mask=inside)"])
    shape = "batch, 1, width" if is_kept else "batch, width"
    forward = f"""x = x.contiguous()
batch, length, width = x.shape
out = torch.empty({shape}, device=x.device, dtype=x.dtype)
kernel[(batch, triton.cdiv(width, 128))](x, out, length, width, BLOCK=128)
return out"""
    return sheet.file(kernel, forward)
