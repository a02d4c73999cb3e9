"""Families that use whole rows: normalisations and softmaxes."""

from __future__ import annotations

from kernelwright.suites.composed import shapes
from kernelwright.suites.composed.chain import activation, chain
from kernelwright.suites.composed.elementwise import fold
from kernelwright.suites.composed.task_builder import TaskBuilder


def normalisation(builder: TaskBuilder) -> None:
    """Write a normalisation with pointwise steps around it, and sometimes a residual before or
    after it."""
    draw = builder.draw
    if draw.random() < 0.55:
        builder.begin(draw.choice((shapes.rows, shapes.sequence))(builder))
        steps = (layer_norm, rms_norm, unit_norm, standardise)
    else:
        builder.begin(shapes.image(builder), feature=1)
        steps = (group_norm, batch_norm, instance_norm, channel_norm)
    style = draw.choice(("plain", "plain", "before", "after"))
    if style == "before":
        other = builder.input("residual", builder.shape)
        builder.step(f"x + {other}", "sum with an argument")
    chain(builder, draw.randint(0, 2), others=0)
    kept = builder.keep("identity") if style == "after" else ""
    draw.choice(steps)(builder)
    if style == "after":
        builder.step(f"x + {kept}", "residual")
    chain(builder, draw.randint(0 if style != "plain" else 1, 3))


def layer_norm(builder: TaskBuilder) -> None:
    """Append a layer norm over the last axis, with a learned scale and shift."""
    name = builder.argument(builder.shape[-1])
    if builder.draw.random() < 0.6:
        builder.step(f"{builder.module('norm', f'nn.LayerNorm({name})')}(x)", "layer norm")
        return
    weight, bias = builder.parameter("gamma", [name]), builder.parameter("beta", [name])
    builder.step(f"F.layer_norm(x, x.shape[-1:], {weight}, {bias}, eps=1e-5)", "layer norm")


def rms_norm(builder: TaskBuilder) -> None:
    """Append an RMS norm over the last axis, written out."""
    weight = builder.parameter("weight", [builder.argument(builder.shape[-1])])
    eps = builder.draw.choice(("1e-6", "1e-5"))
    if builder.draw.random() < 0.5:
        builder.forward.append(f"rms = torch.sqrt(x.pow(2).mean(dim=-1, keepdim=True) + {eps})")
        builder.step(f"x / rms * {weight}", "RMS norm")
    else:
        builder.step(
            f"x * torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + {eps}) * {weight}", "RMS norm"
        )


def unit_norm(builder: TaskBuilder) -> None:
    """Scale rows to length one."""
    p = builder.draw.choice(("2", "2", "1"))
    if builder.draw.random() < 0.5:
        builder.step(f"F.normalize(x, p={p}, dim=-1)", f"rows of L{p} norm 1")
    else:
        builder.step(
            f"x / (torch.norm(x, p={p}, dim=-1, keepdim=True) + 1e-6)", f"rows of L{p} norm 1"
        )
    builder.step(f"x * {builder.draw.choice(('8.0', '16.0'))}", "scaling")


def standardise(builder: TaskBuilder) -> None:
    """Subtract the mean of the row and divide by its standard deviation."""
    builder.forward.append("mean = x.mean(dim=-1, keepdim=True)")
    if builder.draw.random() < 0.5:
        builder.forward.append("std = x.std(dim=-1, keepdim=True)")
        builder.step("(x - mean) / (std + 1e-5)", "rows of mean 0 and deviation 1")
    else:
        builder.forward.append("var = ((x - mean) ** 2).mean(dim=-1, keepdim=True)")
        builder.step("(x - mean) * torch.rsqrt(var + 1e-5)", "rows of mean 0 and variance 1")


def group_norm(builder: TaskBuilder) -> None:
    """Append a group norm over groups of channels."""
    channels = builder.shape[1]
    groups = builder.draw.choice([g for g in (2, 4, 8, 16, 32) if channels.n % g == 0])
    number = builder.axis("num_groups", groups)
    made = f"nn.GroupNorm({builder.argument(number)}, {builder.argument(channels)})"
    builder.step(f"{builder.module('norm', made)}(x)", "group norm")


def batch_norm(builder: TaskBuilder) -> None:
    """Append a batch norm over all axes but the channels, as in a network in training."""
    kind = {2: "1d", 3: "1d", 4: "2d", 5: "3d"}[len(builder.shape)]
    made = f"nn.BatchNorm{kind}({builder.argument(builder.shape[builder.feature])})"
    builder.step(f"{builder.module('bn', made)}(x)", "batch norm")


def instance_norm(builder: TaskBuilder) -> None:
    """Append an instance norm over the positions of each channel."""
    kind = {4: "2d", 5: "3d"}[len(builder.shape)]
    made = f"nn.InstanceNorm{kind}({builder.argument(builder.shape[1])})"
    builder.step(f"{builder.module('norm', made)}(x)", "instance norm")


def channel_norm(builder: TaskBuilder) -> None:
    """Append a norm over the channels of each position."""
    scale = builder.vector("gamma")
    builder.forward.append("mean = x.mean(dim=1, keepdim=True)")
    builder.forward.append("var = x.var(dim=1, keepdim=True, unbiased=False)")
    builder.step(f"(x - mean) / torch.sqrt(var + 1e-6) * {scale}", "norm over the channels")


def softmax(builder: TaskBuilder) -> None:
    """Write a softmax with a temperature, a mask or a bias, and steps that use its weights."""
    draw = builder.draw
    builder.begin(draw.choice((shapes.rows, shapes.rows, shapes.sequence))(builder))
    chain(builder, draw.randint(0, 2), others=0)
    before = draw.choice(("temperature", "mask", "bias", "none"))
    if before == "temperature":
        builder.step(f"x / {draw.choice(('0.5', '0.7', '2.0', '8.0'))}", "temperature")
    elif before == "mask":
        mask = builder.input("mask", builder.shape, "torch.rand({shape}) > 0.3")
        builder.step(f"x.masked_fill(~{mask}, {draw.choice(('-1e4', '-100.0'))})", "mask")
    elif before == "bias":
        builder.step(f"x + {builder.vector('bias')}", "bias")
    kind, word = draw.choice(
        (
            ("torch.softmax(x, dim=-1)", "softmax"),
            ("F.softmax(x, dim=-1)", "softmax"),
            ("F.log_softmax(x, dim=-1)", "log-softmax"),
            ("F.softmin(x, dim=-1)", "softmin"),
            ("F.softmax(x, dim=1)", "softmax over axis 1"),
        )
    )
    builder.step(kind, word, positive=not word.startswith("log"))
    _use_weights(builder, is_log=word.startswith("log"))


def _use_weights(builder: TaskBuilder, *, is_log: bool) -> None:
    """Append steps that use a softmax: its values alone may be too small to notice an error in."""
    after = builder.draw.choice(("product", "sum", "entropy", "scaled", "gelu"))
    if after == "product" or (is_log and after == "gelu"):
        builder.step(f"x * {builder.input('values', builder.shape)}", "product with an argument")
    elif after == "sum":
        builder.step(f"x * {builder.input('values', builder.shape)}", "product with an argument")
        fold(builder, (-1,), keep=False)
    elif after == "entropy":
        inside = "x.exp() * x" if is_log else "x * torch.log(x + 1e-9)"
        builder.step(f"-({inside}).sum(dim=-1)", "entropy")
        builder.drop((-1,), keep=False)
    else:
        builder.step("x * x.shape[-1]", "scaling by the length", positive=not is_log)
        activation(builder)
