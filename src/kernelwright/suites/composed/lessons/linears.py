"""A linear layer and the steps after it in the product's kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from kernelwright.suites.composed.lessons import products
from kernelwright.suites.composed.lessons.lesson_builder import LessonBuilder, block
from kernelwright.suites.composed.lessons.schedule import OF_TILES, TILES
from kernelwright.suites.composed.lessons.steps import steps
from kernelwright.suites.composed.lessons.writing import answer, head
from kernelwright.suites.composed.task_builder import Axis

LAYERS = ("linear", "fc", "gemm", "matmul", "layer", "proj", "dense")
INPUTS = (("in_features", "input_size", "input_dim", "d_in", "in_dim"), (24, 33, 40, 64))
OUTPUTS = (("out_features", "hidden_size", "output_size", "d_out", "hidden_dim"), (16, 32, 48))
BATCHES = (("batch_size", "batch_size", "batch", "N"), (5, 16, 33))
BIAS = "v = v + tl.load(linear_bias + column % n)"
"""The layer's own bias, under a name that no learned vector has: many layers are followed by
one."""


@dataclass
class Layer:
    """The layer as the answer's forward uses it."""

    left: str
    right: str
    bias: str
    """Empty if the layer has no bias."""
    n: Axis
    is_turned: bool
    """Whether the weight has one row per result, as in a linear layer."""

    def loop(self) -> list[str]:
        """Return the product's lines; both operands are contiguous."""
        place = "column % n * k + i" if self.is_turned else "i * n + column % n"
        turns = {"row % m * a_m + j * a_k": "row % m * k + j", "i * b_k + column % n * b_n": place}
        lines = "\n".join(products.LOOP)
        for old, new in turns.items():
            lines = lines.replace(old, new)
        return lines.split("\n")


def layer(builder: LessonBuilder, *, may_be_deep: bool = False) -> Layer:
    """Write x, and a linear layer on it: a module, or a weight that the module holds."""
    draw = builder.draw
    rows, k, n = builder.lengths(BATCHES, INPUTS, OUTPUTS, is_work=True)
    shape: tuple[Axis, ...] = (rows, k)
    if may_be_deep and draw.random() < 0.2:
        shape = (*builder.lengths((("seq_len", "length"), (2, 3))), rows, k)
        shape = (shape[1], shape[0], k)
    called = draw.choice(("x", "x", "x", "x", "input", "inputs", "features_in"))
    name = builder.start(
        shape, name=called, how=draw.choice(("torch.rand({shape})", "torch.randn({shape})"))
    )
    left = f"{name}.contiguous()" if len(shape) == 2 else f"{name}.reshape(-1, {name}.shape[-1])"
    inputs, outputs = builder.argument(k), builder.argument(n)
    kind = draw.random()
    if kind < 0.78:
        has_bias = draw.random() < 0.75
        arguments = _bias(builder) if has_bias else ", bias=False"
        called = builder.module(draw.choice(LAYERS), f"nn.Linear({inputs}, {outputs}{arguments})")
        builder.step(f"{called}({builder.x})", "linear")
        found = Layer(left, f"{called}.weight", f"{called}.bias" if has_bias else "", n, True)
    else:
        is_turned = draw.random() < 0.6
        sides = f"{outputs}, {inputs}" if is_turned else f"{inputs}, {outputs}"
        called = builder.module("weight", f"nn.Parameter(torch.randn({sides}))")
        right = f"{called}.T" if is_turned else called
        forms = [f"torch.matmul({builder.x}, {right})", f"{builder.x} @ {right}"]
        forms += [f"F.linear({builder.x}, {called})"] * is_turned
        builder.step(draw.choice(forms), "product with a weight")
        found = Layer(left, called, "", n, is_turned)
    builder.shape, builder.feature = (*shape[:-1], n), -1
    builder.place, builder.live, builder.is_positive = "column % n", "", False
    builder.lines += [BIAS] if found.bias else []
    return found


def _bias(builder: LessonBuilder) -> str:
    """Sometimes give the constructor an argument that says that there is a bias, always left at its
    default."""
    if builder.draw.random() > 0.1:
        return ""
    builder.arguments.append("bias")
    builder.defaults["bias"] = "True"
    builder.defaulted.add("bias")
    return ", bias=bias"


def product(builder: LessonBuilder, found: Layer, epilogue: Sequence[str]) -> tuple[str, list[str]]:
    """Return the kernel of the layer and its steps, and the forward up to its call. The
    builder's further arguments are used up."""
    names, values = list(builder.given), list(builder.given.values())
    builder.given = {}
    if found.bias:
        names, values = ["linear_bias", *names], [found.bias, *values]
    operands = ["a", "b", *names, "out", "m", "n", "k"]
    sums = found.loop()
    text = head(*operands, *TILES) + block([*products.HEAD, *sums, *epilogue, products.STORE])
    given = "".join(f"{value}, " for value in values)
    lines = [
        f"a, b = {found.left}, {found.right}",
        "m, k = a.shape",
        f"n = b.shape[{0 if found.is_turned else 1}]",
        "out = a.new_empty(m, n)",
        f"kernel[{products.grid()}](a, b, {given}out, m, n, k, {OF_TILES})",
    ]
    return text, lines


def linear(builder: LessonBuilder) -> str:
    """Write a layer and pointwise steps, perhaps with the earlier value added again, or a further
    argument."""
    draw = builder.draw
    found = layer(builder, may_be_deep=True)
    is_deep = len(builder.shape) > 2
    n_steps = draw.choice((0, 1, 1, 2, 2, 3, 4))
    kind = draw.random()
    if n_steps and kind < 0.4:
        steps(builder, 0, draw.choice((0, 0, 1)))
        how = draw.choice(("{x}", "{x}", "{x}.clone()", "{x}.clone().detach()"))
        kept = draw.choice(("original_x", "residual", "identity", "skip"))
        builder.forward.append(f"{kept} = {how.format(x=builder.x)}")
        builder.words.append("kept")
        builder.lines.append("first = v")
        steps(builder, 1, n_steps)
        sign = draw.choice("++*-")
        builder.step(f"{builder.x} {sign} {kept}", "residual")
        builder.lines.append(f"v = v {sign} first")
    else:
        steps(builder, n_steps, n_steps)
        if kind > 0.85 and not is_deep:
            y = builder.input(draw.choice(("y", "residual", "other")), builder.shape)
            for sign in draw.choice(("+", "*", "-", "+*")):
                builder.step(f"{builder.x} {sign} {y}", "with an argument")
                read = f"tl.load(y + row * n + column, {products.LIVE}, other=0.0)"
                builder.lines.append(f"v = v {sign} {read}")
            builder.given["y"] = f"{y}.contiguous()"
            steps(builder, 0, 1)
    text, lines = product(builder, found, builder.take())
    end = f"return out.reshape(*{builder.first}.shape[:-1], n)" if is_deep else "return out"
    return answer(builder, text, "\n".join([*lines, end]))
