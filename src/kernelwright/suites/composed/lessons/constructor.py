"""Steps whose numbers are given to the constructor: held directly, held by a module, or learned."""

from __future__ import annotations

from dataclasses import dataclass

from kernelwright.suites.composed.lessons.functions import EXPM1, SOFTPLUS, TANH
from kernelwright.suites.composed.lessons.lesson_builder import LessonBuilder

NUMBERED = {
    "scaling": ("{x} * {n}", ("v = v * {n}",), ("scale_factor", "scaling_factor", "multiplier"),
                (0.5, 2.0, 1.5, 0.1, 3)),
    "division": ("{x} / {n}", ("v = v / {n}",), ("divisor", "temperature", "scale"),
                 (2.0, 10.0, 1.5, 4)),
    "added number": ("{x} + {n}", ("v = v + {n}",), ("add_value", "constant", "offset", "shift"),
                     (0.5, 1.0, 2, 0.1)),
    "subtracted number": ("{x} - {n}", ("v = v - {n}",), ("subtract_value", "threshold", "margin"),
                          (0.5, 2.0, 1)),
    "leaky ReLU": ("F.leaky_relu({x}, negative_slope={n})", ("v = tl.where(v > 0, v, v * {n})",),
                   ("negative_slope", "slope", "alpha"), (0.01, 0.1, 0.2)),
    "ELU": ("F.elu({x}, alpha={n})", (*EXPM1, "v = tl.where(v > 0, v, {n} * u)"),
            ("alpha",), (1.0, 0.5)),
    "lower limit": ("torch.clamp({x}, min={n})", ("v = tl.where(v < {n}, {n}, v)",),
                    ("min_value", "clamp_min", "floor"), (-0.5, 0.25)),
    "upper limit": ("torch.clamp({x}, max={n})", ("v = tl.where(v > {n}, {n}, v)",),
                    ("max_value", "clamp_max", "ceiling"), (0.5, 0.8)),
}  # fmt: skip
"""Steps whose number the module holds: task, kernel, names, values."""


@dataclass(frozen=True)
class Holder:
    """A module that keeps the numbers given to the constructor."""

    word: str
    forms: tuple[str, ...]
    """Spellings; ``{a}`` and ``{b}`` are the names of the numbers."""
    names: tuple[tuple[str, ...], ...]
    """Choices of the constructor's names for them."""
    values: tuple[tuple[float, ...], ...]
    kept: tuple[str, ...]
    """The module's names for them."""
    lines: tuple[str, ...]


LIMITS = ("v = tl.where(v < {a}, {a}, v)", "v = tl.where(v > {b}, {b}, v)")
HOLDERS = (
    Holder("hard tanh", ("nn.Hardtanh(min_val={a}, max_val={b})", "nn.Hardtanh({a}, {b})"),
           (("hardtanh_min", "hardtanh_max"), ("min_val", "max_val"), ("at_least", "at_most")),
           ((-2.0, 2.0), (-1.0, 1.0), (-0.5, 1.5)), ("min_val", "max_val"), LIMITS),
    Holder("leaky ReLU", ("nn.LeakyReLU({a})", "nn.LeakyReLU(negative_slope={a})"),
           (("negative_slope",), ("slope",)), ((0.01,), (0.1,), (0.2,)), ("negative_slope",),
           ("v = tl.where(v > 0, v, v * {a})",)),
    Holder("ELU", ("nn.ELU(alpha={a})", "nn.ELU({a})"), (("alpha",), ("elu_alpha",)),
           ((1.0,), (0.5,)), ("alpha",), (*EXPM1, "v = tl.where(v > 0, v, {a} * u)")),
    Holder("soft shrink", ("nn.Softshrink({a})", "nn.Softshrink(lambd={a})"),
           (("lambd",), ("threshold",)), ((0.5,), (0.2,)), ("lambd",),
           ("v = tl.where(v > {a}, v - {a}, tl.where(v < -{a}, v + {a}, 0.0))",)),
)  # fmt: skip
CLAMPED = (
    "torch.clamp({x}, {a}, {b})",
    "torch.clamp({x}, min={a}, max={b})",
    "{x}.clamp({a}, {b})",
)
CLAMPS = (("clamp_min", "clamp_max"), ("min_value", "max_value"), ("lower_limit", "upper_limit"))
LEARNED_NUMBER = (
    ("torch.min({x}, {w})", "minimum", "v = tl.minimum(v, tl.load({n}))"),
    ("torch.minimum({x}, {w})", "minimum", "v = tl.minimum(v, tl.load({n}))"),
    ("torch.max({x}, {w})", "maximum", "v = tl.maximum(v, tl.load({n}))"),
    ("{x} - {w}", "difference", "v = v - tl.load({n})"),
    ("{x} * {w}", "product", "v = v * tl.load({n})"),
    ("{x} + {w}", "sum", "v = v + tl.load({n})"),
)
SELVES = (
    ("{x} + {x}", "doubling", ("v = v + v",)),
    ("{x} * torch.tanh({x})", "product with its tanh", (*TANH, "v = v * u")),
    ("{x} * F.softplus({x})", "product with its softplus", (*SOFTPLUS, "v = v * u")),
    ("{x} * torch.nn.functional.mish({x})", "product with its mish",
     (*SOFTPLUS, "v = v * v * (2.0 * tl.sigmoid(2.0 * u) - 1.0)")),
    ("{x} * torch.relu({x})", "product with its ReLU", ("v = tl.where(v < 0, 0.0, v * v)",)),
)  # fmt: skip
"""Ways to combine x with itself: task, word, kernel."""


def numbered(builder: LessonBuilder, last: str) -> str:
    """Append a step with a number that the module holds, other than the last step. Return its
    word."""
    word = builder.draw.choice([w for w in NUMBERED if w != last])
    expression, lines, names, values = NUMBERED[word]
    name = builder.number(builder.draw.choice(names), builder.draw.choice(values))
    builder.given[name] = f"self.{name}"
    builder.lines += [line.format(n=name) for line in lines]
    builder.step(expression.format(x=builder.x, n=f"self.{name}"), word)
    return word


def held(builder: LessonBuilder) -> str:
    """Append a submodule that keeps the numbers given to the constructor. Return its word."""
    draw = builder.draw
    chosen = draw.choice(HOLDERS)
    pairs = zip(draw.choice(chosen.names), draw.choice(chosen.values), strict=False)
    names = [builder.argument_number(name, value) for name, value in pairs]
    numbers = dict(zip("ab", names, strict=False))
    plain = "".join(c for c in chosen.word.lower() if c.isalpha())
    called = builder.module(
        draw.choice((plain, "act", "activation")), draw.choice(chosen.forms).format(**numbers)
    )
    builder.given |= {
        name: f"{called}.{kept}" for name, kept in zip(names, chosen.kept, strict=True)
    }
    builder.lines += [line.format(**numbers) for line in chosen.lines]
    builder.step(f"{called}({builder.x})", chosen.word)
    return chosen.word


def clamped(builder: LessonBuilder) -> str:
    """Clamp between two numbers that the module holds."""
    values = builder.draw.choice(((-1.0, 1.0), (-0.5, 2.0), (-10.0, 10.0)))
    names = zip(builder.draw.choice(CLAMPS), values, strict=True)
    a, b = (builder.number(name, value) for name, value in names)
    builder.given |= {a: f"self.{a}", b: f"self.{b}"}
    builder.lines += [line.format(a=a, b=b) for line in LIMITS]
    form = builder.draw.choice(CLAMPED)
    builder.step(form.format(x=builder.x, a=f"self.{a}", b=f"self.{b}"), "clamp")
    return "clamp"


def learned_number(builder: LessonBuilder) -> str:
    """Append a parameter without axes, in one step or two."""
    draw = builder.draw
    name = builder.argument_number(
        draw.choice(("constant", "limit", "value", "scale")), draw.choice((2.0, 0.5, 1.5))
    )
    called = builder.module(name, f"nn.Parameter(torch.tensor({name}))")
    name = called.removeprefix("self.")
    builder.given[name] = called
    for expression, word, line in draw.sample(LEARNED_NUMBER, draw.choice((1, 2))):
        builder.lines.append(line.format(n=name))
        builder.step(expression.format(x=builder.x, w=called), f"{word} with a learned number")
    return ""


def self_product(builder: LessonBuilder) -> str:
    """Combine x with itself, or with a function of itself."""
    expression, word, lines = builder.draw.choice((SELVES[0], *SELVES))
    builder.lines += lines
    builder.step(expression.format(x=builder.x), word)
    return word
