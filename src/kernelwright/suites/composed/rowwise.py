"""Families that look at a row as a whole: normalisations and softmaxes."""

from __future__ import annotations

from kernelwright.suites.composed import shapes
from kernelwright.suites.composed.chain import activation, chain
from kernelwright.suites.composed.draft import Draft
from kernelwright.suites.composed.elementwise import fold


def normalisation(draft: Draft) -> None:
    """A normalisation with pointwise steps around it, sometimes a residual before or after it."""
    draw = draft.draw
    if draw.random() < 0.55:
        draft.begin(draw.choice((shapes.rows, shapes.sequence))(draft))
        steps = (layer_norm, rms_norm, unit_norm, standardise)
    else:
        draft.begin(shapes.image(draft), feature=1)
        steps = (group_norm, batch_norm, instance_norm, channel_norm)
    style = draw.choice(("plain", "plain", "before", "after"))
    if style == "before":
        other = draft.input("residual", draft.shape)
        draft.step(f"x + {other}", "sum with an argument")
    chain(draft, draw.randint(0, 2), others=0)
    kept = draft.keep("identity") if style == "after" else ""
    draw.choice(steps)(draft)
    if style == "after":
        draft.step(f"x + {kept}", "residual")
    chain(draft, draw.randint(0 if style != "plain" else 1, 3))


def layer_norm(draft: Draft) -> None:
    """Over the last axis, with a learned scale and shift."""
    name = draft.argument(draft.shape[-1])
    if draft.draw.random() < 0.6:
        draft.step(f"{draft.module('norm', f'nn.LayerNorm({name})')}(x)", "layer norm")
        return
    weight, bias = draft.parameter("gamma", [name]), draft.parameter("beta", [name])
    draft.step(
        f"F.layer_norm(x, x.shape[-1:], {weight}, {bias}, eps=1e-5)", "layer norm"
    )  # fmt: skip


def rms_norm(draft: Draft) -> None:
    """Over the last axis, written out."""
    weight = draft.parameter("weight", [draft.argument(draft.shape[-1])])
    eps = draft.draw.choice(("1e-6", "1e-5"))
    if draft.draw.random() < 0.5:
        draft.forward.append(f"rms = torch.sqrt(x.pow(2).mean(dim=-1, keepdim=True) + {eps})")
        draft.step(f"x / rms * {weight}", "RMS norm")
    else:
        draft.step(
            f"x * torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + {eps}) * {weight}", "RMS norm"
        )


def unit_norm(draft: Draft) -> None:
    """Rows of length one."""
    p = draft.draw.choice(("2", "2", "1"))
    if draft.draw.random() < 0.5:
        draft.step(f"F.normalize(x, p={p}, dim=-1)", f"rows of L{p} norm 1")
    else:
        draft.step(f"x / (torch.norm(x, p={p}, dim=-1, keepdim=True) + 1e-6)",
                   f"rows of L{p} norm 1")  # fmt: skip
    draft.step(f"x * {draft.draw.choice(('8.0', '16.0'))}", "scaling")


def standardise(draft: Draft) -> None:
    """Less the mean, over the standard deviation of the row."""
    draft.forward.append("mean = x.mean(dim=-1, keepdim=True)")
    if draft.draw.random() < 0.5:
        draft.forward.append("std = x.std(dim=-1, keepdim=True)")
        draft.step("(x - mean) / (std + 1e-5)", "rows of mean 0 and deviation 1")
    else:
        draft.forward.append("var = ((x - mean) ** 2).mean(dim=-1, keepdim=True)")
        draft.step("(x - mean) * torch.rsqrt(var + 1e-5)", "rows of mean 0 and variance 1")


def group_norm(draft: Draft) -> None:
    """Over groups of channels."""
    channels = draft.shape[1]
    groups = draft.draw.choice([g for g in (2, 4, 8, 16, 32) if channels.n % g == 0])
    number = draft.axis("num_groups", groups)
    made = f"nn.GroupNorm({draft.argument(number)}, {draft.argument(channels)})"
    draft.step(f"{draft.module('norm', made)}(x)", "group norm")


def batch_norm(draft: Draft) -> None:
    """Over everything but the channels, as a network in training does."""
    kind = {2: "1d", 3: "1d", 4: "2d", 5: "3d"}[len(draft.shape)]
    made = f"nn.BatchNorm{kind}({draft.argument(draft.shape[draft.feature])})"
    draft.step(f"{draft.module('bn', made)}(x)", "batch norm")


def instance_norm(draft: Draft) -> None:
    """Over the positions of each channel."""
    kind = {4: "2d", 5: "3d"}[len(draft.shape)]
    made = f"nn.InstanceNorm{kind}({draft.argument(draft.shape[1])})"
    draft.step(f"{draft.module('norm', made)}(x)", "instance norm")


def channel_norm(draft: Draft) -> None:
    """Over the channels of each position."""
    scale = draft.vector("gamma")
    draft.forward.append("mean = x.mean(dim=1, keepdim=True)")
    draft.forward.append("var = x.var(dim=1, keepdim=True, unbiased=False)")
    draft.step(f"(x - mean) / torch.sqrt(var + 1e-6) * {scale}", "norm over the channels")


def softmax(draft: Draft) -> None:
    """A softmax with a temperature, a mask or a bias, and what is done with its weights."""
    draw = draft.draw
    draft.begin(draw.choice((shapes.rows, shapes.rows, shapes.sequence))(draft))
    chain(draft, draw.randint(0, 2), others=0)
    before = draw.choice(("temperature", "mask", "bias", "none"))
    if before == "temperature":
        draft.step(f"x / {draw.choice(('0.5', '0.7', '2.0', '8.0'))}", "temperature")
    elif before == "mask":
        mask = draft.input("mask", draft.shape, "torch.rand({shape}) > 0.3")
        draft.step(f"x.masked_fill(~{mask}, {draw.choice(('-1e4', '-100.0'))})", "mask")
    elif before == "bias":
        draft.step(f"x + {draft.vector('bias')}", "bias")
    kind, word = draw.choice((
        ("torch.softmax(x, dim=-1)", "softmax"), ("F.softmax(x, dim=-1)", "softmax"),
        ("F.log_softmax(x, dim=-1)", "log-softmax"), ("F.softmin(x, dim=-1)", "softmin"),
        ("F.softmax(x, dim=1)", "softmax over axis 1"),
    ))  # fmt: skip
    draft.step(kind, word, positive=not word.startswith("log"))
    _use_weights(draft, is_log=word.startswith("log"))


def _use_weights(draft: Draft, *, is_log: bool) -> None:
    """What is done with a softmax: its values alone may be too small to see."""
    after = draft.draw.choice(("product", "sum", "entropy", "scaled", "gelu"))
    if after == "product" or (is_log and after == "gelu"):
        draft.step(f"x * {draft.input('values', draft.shape)}", "product with an argument")
    elif after == "sum":
        draft.step(f"x * {draft.input('values', draft.shape)}", "product with an argument")
        fold(draft, (-1,), keep=False)
    elif after == "entropy":
        inside = "x.exp() * x" if is_log else "x * torch.log(x + 1e-9)"
        draft.step(f"-({inside}).sum(dim=-1)", "entropy")
        draft.drop((-1,), keep=False)
    else:
        draft.step("x * x.shape[-1]", "scaling by the length", positive=not is_log)
        activation(draft)
