"""Functions of each element: the spellings in tasks, and the lines of Triton that change ``v``."""

from __future__ import annotations

from kernelwright.suites.composed.operators import OPERATORS, Operator

# Functions are written out, since Triton's interpreter has no libdevice. Where a function comes
# close to zero, differences of numbers near one would lose its digits, so continued fractions,
# whose numbers are easy to learn, are used there.
LOG1P = (
    "s = u / (2.0 + u)",
    "p = s * s",
    "u = 2.0 * s / (1.0 - p / (3.0 - 4.0 * p / (5.0 - 9.0 * p / (7.0 - 16.0 * p / 9.0))))",
)
"""The logarithm of 1 + u, for u from 0 to 1: twice the inverse hyperbolic tangent of u / (2 +
u)."""
SOFTPLUS = ("u = tl.exp(-tl.abs(v))", *LOG1P, "u = tl.where(v > 0.0, v, 0.0) + u")
LAMBERT = "s = p / (3.0 + p / (5.0 + p / (7.0 + p / 9.0)))"
"""v / (1 + s) is the hyperbolic tangent of v, for v from -1 to 1 and p = v * v."""
TANH = (
    "p = v * v",
    LAMBERT,
    "u = tl.where(p < 1.0, v / (1.0 + s), 2.0 * tl.sigmoid(2.0 * v) - 1.0)",
)
EXPM1 = (
    "p = 0.25 * v * v", LAMBERT, "s = 0.5 * v / (1.0 + s)",
    "u = tl.where(v > -1.0, 2.0 * s / (1.0 - s), tl.exp(v) - 1.0)",
)  # fmt: skip
"""exp(v) - 1 for v up to 0: 2 t / (1 - t), where t is the hyperbolic tangent of half of v."""
SELU_SCALE, SELU_ALPHA = "1.0507009873554805", "1.6732632423543772"
"""Source: torch.nn.functional.selu's documentation."""

LINES: dict[str, tuple[str, ...]] = {
    "ReLU": ("v = tl.where(v < 0, 0.0, v)",),
    "leaky ReLU": ("v = tl.where(v > 0, v, v * {a})",),
    "GELU": ("v = 0.5 * v * (1.0 + tl.erf(v * 0.7071067811865476))",),
    "GELU (tanh form)": (
        "v = v * tl.sigmoid(1.5957691216057308 * (v + 0.044715 * v * v * v))",
    ),
    "swish": ("v = v * tl.sigmoid(v)",),
    "sigmoid": ("v = tl.sigmoid(v)",),
    "tanh": (*TANH, "v = u"),
    "hard swish": (
        "u = v + 3.0", "u = tl.where(u < 0.0, 0.0, u)", "u = tl.where(u > 6.0, 6.0, u)",
        "v = v * u / 6.0",
    ),
    "hard sigmoid": (
        "v = (v + 3.0) / 6.0", "v = tl.where(v < 0.0, 0.0, v)", "v = tl.where(v > 1.0, 1.0, v)",
    ),
    "hard tanh": ("v = tl.where(v < {a}, {a}, v)", "v = tl.where(v > {b}, {b}, v)"),
    "ReLU6": (
        "v = v * {a}", "v = tl.where(v < 0.0, 0.0, v)", "v = tl.where(v > 6.0, 6.0, v)",
    ),
    "softplus": (*SOFTPLUS, "v = u"),
    "mish": (*SOFTPLUS, "v = v * (2.0 * tl.sigmoid(2.0 * u) - 1.0)"),
    "ELU": (*EXPM1, "v = tl.where(v > 0, v, {a} * u)"),
    "SELU": (*EXPM1, f"v = {SELU_SCALE} * tl.where(v > 0, v, {SELU_ALPHA} * u)"),
    "softsign": ("v = v / (1.0 + tl.abs(v))",),
    "log-sigmoid": ("u = tl.exp(-tl.abs(v))", *LOG1P, "v = tl.where(v < 0.0, v, 0.0) - u"),
    "absolute value": ("v = tl.abs(v)",),
    "square": ("v = v * v",),
    "root of the absolute value": ("v = tl.sqrt(tl.abs(v) + {a})",),
    "falling exponential": ("v = tl.exp(-tl.abs(v))",),
    "bell curve": ("v = tl.exp(-{a} * v * v)",),
    "logarithm of one more": (
        "v = tl.abs(v)", "u = tl.where(v < 1.0, v, 1.0)", *LOG1P,
        "v = tl.where(v < 1.0, u, tl.log(1.0 + v))",
    ),
    "sine": ("v = tl.sin({a} * v)",),
    "cosine": ("v = tl.cos(v)",),
    "soft shrink": ("v = tl.where(v > {a}, v - {a}, tl.where(v < -{a}, v + {a}, 0.0))",),
    "tanh shrink": (
        "p = v * v", LAMBERT,
        "v = tl.where(p < 1.0, v * s / (1.0 + s), v + 1.0 - 2.0 * tl.sigmoid(2.0 * v))",
    ),
    "inverse root": ("v = 1.0 / tl.sqrt(v * v + {a})",),
    "error function": ("v = tl.erf(v)",),
    "clamp": ("v = tl.where(v < {a}, {a}, v)", "v = tl.where(v > {b}, {b}, v)"),
    "lower limit": ("v = tl.where(v < {a}, {a}, v)",),
    "threshold": ("v = tl.where(v > {a}, v, {b} * v)",),
    "reciprocal": ("v = 1.0 / ({a} + tl.abs(v))",),
    "scaling": ("v = v * {a}",),
    "division": ("v = v / {a}",),
    "added number": ("v = v + {a}",),
    "subtracted number": ("v = v - {a}",),
    "negation": ("v = -v",),
}  # fmt: skip
"""Word of the operator → its lines."""

WRITTEN = tuple(operator for operator in OPERATORS if operator.word in LINES)
LONG = tuple(
    operator
    for operator in WRITTEN
    if operator.word
    in (
        "GELU",
        "GELU (tanh form)",
        "swish",
        "tanh",
        "softplus",
        "mish",
        "ELU",
        "SELU",
        "log-sigmoid",
        "hard swish",
    )
)
"""Operators that are easily confused or garbled."""

MORE: dict[str, tuple[str, ...]] = {
    "ReLU": ("torch.nn.functional.relu({x})", "{x}.relu()", "torch.clamp({x}, min=0)"),
    "leaky ReLU": ("torch.nn.functional.leaky_relu({x}, negative_slope={a})",
                   "F.leaky_relu({x}, {a})", "torch.where({x} > 0, {x}, {x} * {a})"),
    "GELU": ("torch.nn.functional.gelu({x})", "torch.nn.functional.gelu({x})",
             "0.5 * {x} * (1.0 + torch.erf({x} / math.sqrt(2.0)))"),
    "GELU (tanh form)": (
        "0.5 * {x} * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * "
        "({x} + 0.044715 * torch.pow({x}, 3.0))))",
        "0.5 * {x} * (1 + torch.tanh(0.7978845608 * ({x} + 0.044715 * {x} ** 3)))",
    ),
    "swish": ("torch.sigmoid({x}) * {x}", "{x} * F.sigmoid({x})",
              "torch.nn.functional.silu({x})"),
    "sigmoid": ("{x}.sigmoid()", "F.sigmoid({x})", "1.0 / (1.0 + torch.exp(-{x}))"),
    "tanh": ("{x}.tanh()", "torch.nn.functional.tanh({x})"),
    "hard swish": ("torch.nn.functional.hardswish({x})",
                   "{x} * torch.clamp({x} + 3, min=0, max=6) / 6"),
    "hard sigmoid": ("torch.nn.functional.hardsigmoid({x})",
                     "torch.clamp(({x} + 3) / 6, min=0, max=1)"),
    "hard tanh": ("torch.nn.functional.hardtanh({x}, min_val={a}, max_val={b})",
                  "torch.clamp({x}, {a}, {b})"),
    "softplus": ("torch.nn.functional.softplus({x})", "torch.log(1 + torch.exp({x}))"),
    "mish": ("torch.nn.functional.mish({x})",
             "{x} * torch.tanh(torch.nn.functional.softplus({x}))"),
    "ELU": ("torch.nn.functional.elu({x}, alpha={a})",),
    "SELU": ("F.selu({x})", "torch.nn.functional.selu({x})"),
    "softsign": ("torch.nn.functional.softsign({x})",),
    "log-sigmoid": ("torch.nn.functional.logsigmoid({x})", "torch.log(torch.sigmoid({x}))"),
    "square": ("{x} ** 2", "torch.pow({x}, 2)"),
    "clamp": ("torch.clamp({x}, {a}, {b})",),
    "lower limit": ("{x}.clamp(min={a})", "torch.max({x}, torch.tensor({a}))"),
    "error function": ("{x}.erf()",),
    "scaling": ("torch.mul({x}, {a})",),
    "added number": ("{a} + {x}", "torch.add({x}, {a})"),
}  # fmt: skip
"""Spellings of an operator beyond those of composed tasks."""
MODULES = {
    "swish": ("nn.SiLU()",),
    "hard tanh": ("nn.Hardtanh(min_val={a}, max_val={b})",),
    "leaky ReLU": ("nn.LeakyReLU(negative_slope={a})",),
    "softsign": ("nn.Softsign()",),
    "log-sigmoid": ("nn.LogSigmoid()",),
    "ReLU": ("nn.ReLU()",),
    "GELU": ("nn.GELU()",),
}


def kernel_lines(operator: Operator, expression: str, a: str, b: str) -> list[str]:
    """Return the kernel's lines for the task's ``expression``, one of the operator's spellings."""
    is_sine = operator.word == "sine" and "*" not in expression
    lines = ("v = tl.sin(v)",) if is_sine else LINES[operator.word]
    return [line.format(a=a, b=b) for line in lines]
