"""Kernels with one program for each row: softmaxes, normalisations, reductions, scans."""

from __future__ import annotations

from kernelwright.compose import shapes
from kernelwright.compose.lessons.sheet import Sheet, block, head

LOAD = (
    "row = tl.program_id(0)", "at = tl.arange(0, BLOCK)", "inside = at < width",
    "v = tl.load(x + row * width + at, mask=inside, other=0.0)",
)  # fmt: skip
STORE = "tl.store(out + row * width + at, v, mask=inside)"
FOLDS = {
    "sum": ("torch.sum(x, dim=-1{keep})", "tl.sum(tl.where(inside, v, 0.0), 0)"),
    "mean": ("x.mean(dim=-1{keep})", "tl.sum(tl.where(inside, v, 0.0), 0) / width"),
    "maximum": (
        "torch.amax(x, dim=-1{keep})", 'tl.max(tl.where(inside, v, float("-inf")), 0)',
    ),
    "minimum": (
        "torch.min(x, dim=-1{keep})[0]", 'tl.min(tl.where(inside, v, float("inf")), 0)',
    ),
    "length": (
        "torch.norm(x, dim=-1{keep})", "tl.sqrt(tl.sum(tl.where(inside, v * v, 0.0), 0))",
    ),
}  # fmt: skip
SCANS = {
    "running sum": ("torch.cumsum(x, dim=-1)", "v = tl.cumsum(v, 0)"),
    "running sum before each": ("torch.cumsum(x, dim=-1) - x", "v = tl.cumsum(v, 0) - v"),
    "running product": (
        "torch.cumprod(1.0 + 0.01 * x, dim=-1)", "v = tl.cumprod(1.0 + 0.01 * v, 0)",
    ),
}  # fmt: skip
FORWARD = """x = x.contiguous()
out = torch.empty_like(x)
width = x.shape[-1]
kernel[(x.numel() // width,)](x, {given}out, width, BLOCK=triton.next_power_of_2(width))
return out"""


def softmax(sheet: Sheet) -> str:
    """softmax, log-softmax or softmin with steps around it."""
    _begin(sheet)
    sheet.steps(0, 2)
    name = sheet.draw.choice(("softmax", "log_softmax", "softmin"))
    module = {"softmax": "nn.Softmax", "log_softmax": "nn.LogSoftmax", "softmin": "nn.Softmin"}
    if sheet.draw.random() < 0.3:
        called = sheet.draft.module(name, f"{module[name]}(dim=-1)")
        sheet.draft.step(f"{called}(x)", name.replace("_", " "))
    else:
        sheet.draft.step(f"F.{name}(x, dim=-1)", name.replace("_", " "))
    sheet.lines += ["v = -v"] if name == "softmin" else []
    sheet.lines += [
        'v = v - tl.max(tl.where(inside, v, float("-inf")), 0)',
        "total = tl.sum(tl.where(inside, tl.exp(v), 0.0), 0)",
        "v = v - tl.log(total)" if name == "log_softmax" else "v = tl.exp(v) / total",
    ]
    sheet.steps(0, 2)
    return _written(sheet)


def normalisation(sheet: Sheet) -> str:
    """Over the last axis, with steps around it."""
    _begin(sheet)
    sheet.steps(0, 1)
    sheet.draw.choice((_layer_norm, _rms_norm, _unit_norm, _standardise))(sheet)
    sheet.steps(0, 2)
    return _written(sheet)


CENTRED = (
    "mean = tl.sum(tl.where(inside, v, 0.0), 0) / width", "v = tl.where(inside, v - mean, 0.0)",
    "var = tl.sum(v * v, 0) / width",
)  # fmt: skip


def _layer_norm(sheet: Sheet) -> None:
    width = sheet.draft.argument(sheet.draft.shape[-1])
    called = sheet.draft.module("norm", f"nn.LayerNorm({width})")
    sheet.draft.step(f"{called}(x)", "layer norm")
    sheet.given |= {name: f"{called}.{name}" for name in ("weight", "bias", "eps")}
    sheet.lines += [
        *CENTRED, "w = tl.load(weight + at, mask=inside)", "b = tl.load(bias + at, mask=inside)",
        "v = v / tl.sqrt(var + eps) * w + b",
    ]  # fmt: skip


def _rms_norm(sheet: Sheet) -> None:
    weight = sheet.draft.parameter("gamma", [sheet.draft.argument(sheet.draft.shape[-1])])
    eps = sheet.draw.choice(("1e-6", "1e-5"))
    mean = f"x.pow(2).mean(dim=-1, keepdim=True) + {eps}"
    how = sheet.draw.choice((f"x * torch.rsqrt({mean})", f"x / torch.sqrt({mean})"))
    sheet.draft.step(f"{how} * {weight}", "RMS norm")
    sheet.given["gamma"] = weight
    sheet.lines += [
        "mean = tl.sum(tl.where(inside, v * v, 0.0), 0) / width",
        "w = tl.load(gamma + at, mask=inside)", f"v = v / tl.sqrt(mean + {eps}) * w",
    ]  # fmt: skip


def _unit_norm(sheet: Sheet) -> None:
    p, each, root = sheet.draw.choice(
        (("1", "tl.abs(v)", "total"), ("2", "v * v", "tl.sqrt(total)"))
    )
    length = f"torch.norm(x, p={p}, dim=-1, keepdim=True)"
    sheet.draft.step(f"x / ({length} + 1e-6)", f"rows of L{p} norm 1")
    sheet.draft.step("x * 8.0", "scaling")
    sheet.lines += [f"total = tl.sum(tl.where(inside, {each}, 0.0), 0)"]
    sheet.lines += [f"v = v / ({root} + 1e-6) * 8.0"]


def _standardise(sheet: Sheet) -> None:
    sheet.draft.forward.append("mean = x.mean(dim=-1, keepdim=True)")
    sheet.draft.forward.append("var = x.var(dim=-1, keepdim=True, unbiased=False)")
    sheet.draft.step("(x - mean) / torch.sqrt(var + 1e-5)", "standardised rows")
    sheet.lines += [*CENTRED, "v = v / tl.sqrt(var + 1e-5)"]


def scan(sheet: Sheet) -> str:
    """A running sum or product of each row."""
    sheet.begin(shapes.rows(sheet.draft))
    sheet.steps(0, 1)
    word = sheet.draw.choice(tuple(SCANS))
    expression, line = SCANS[word]
    sheet.draft.step(expression, word)
    sheet.lines.append(line)
    sheet.steps(1, 2)
    return _written(sheet)


def reduction(sheet: Sheet) -> str:
    """One number for each row."""
    _begin(sheet)
    sheet.steps(1, 2)
    word = sheet.draw.choice(tuple(FOLDS))
    expression, fold = FOLDS[word]
    is_kept = sheet.draw.random() < 0.4
    sheet.draft.step(expression.format(keep=", keepdim=True" if is_kept else ""), word)
    sheet.lines.append(f"v = {fold}")
    sheet.steps(0, 1)
    kernel = head("x", "out", "width")
    kernel += block([*LOAD, *sheet.take(), "tl.store(out + row, v)"])
    shape = "(*x.shape[:-1], 1)" if is_kept else "x.shape[:-1]"
    forward = f"""x = x.contiguous()
width = x.shape[-1]
out = torch.empty({shape}, device=x.device, dtype=x.dtype)
kernel[(out.numel(),)](x, out, width, BLOCK=triton.next_power_of_2(width))
return out"""
    return sheet.file(kernel, forward)


def _begin(sheet: Sheet) -> None:
    sheet.begin(sheet.draw.choice((shapes.rows, shapes.rows, shapes.sequence))(sheet.draft))


def _written(sheet: Sheet) -> str:
    """The file of a form that gives a row for each row."""
    names = list(sheet.given)
    kernel = head("x", *names, "out", "width") + block([*LOAD, *sheet.take(), STORE])
    given = "".join(f"{value}, " for value in sheet.given.values())
    return sheet.file(kernel, FORWARD.format(given=given))
