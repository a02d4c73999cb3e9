"""A table of pointwise operators as people write them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Operator:
    """One function of each element of x."""

    word: str
    forms: tuple[str, ...]
    """Spellings; ``{x}`` is the argument, ``{a}`` and ``{b}`` are numbers."""
    module: str = ""
    """Its module class with arguments, if it has one."""
    numbers: tuple[tuple[str, str], ...] = (("", ""),)
    """Choices of (a, b)."""
    positive: bool = False
    """Whether its result is never negative."""
    signed: bool = False
    """Whether it changes nonnegative arguments little or not at all."""
    flat: bool = False
    """Whether its result is bounded: a chain holds few of these, or its argument becomes
    invisible."""


OPERATORS = (
    Operator("ReLU", ("torch.relu({x})", "F.relu({x})"), "nn.ReLU()", positive=True, signed=True),
    Operator(
        "leaky ReLU", ("F.leaky_relu({x}, negative_slope={a})",), "nn.LeakyReLU({a})",
        (("0.01", ""), ("0.1", ""), ("0.2", "")), signed=True,
    ),
    Operator("GELU", ("F.gelu({x})",), "nn.GELU()"),
    Operator("GELU (tanh form)", ('F.gelu({x}, approximate="tanh")',), 'nn.GELU("tanh")'),
    Operator("swish", ("F.silu({x})", "{x} * torch.sigmoid({x})"), "nn.SiLU()"),
    Operator(
        "sigmoid", ("torch.sigmoid({x})",), "nn.Sigmoid()", positive=True, flat=True,
    ),
    Operator("tanh", ("torch.tanh({x})",), "nn.Tanh()", flat=True),
    Operator("hard swish", ("F.hardswish({x})",), "nn.Hardswish()"),
    Operator(
        "hard sigmoid", ("F.hardsigmoid({x})",), "nn.Hardsigmoid()", positive=True, flat=True,
    ),
    Operator(
        "hard tanh", ("F.hardtanh({x}, min_val={a}, max_val={b})",), "nn.Hardtanh({a}, {b})",
        (("-1.0", "1.0"), ("-0.5", "0.5"), ("-2.0", "1.0")), flat=True, signed=True,
    ),
    Operator("ReLU6", ("F.relu6({x} * {a})",), "", (("3.0", ""), ("4.0", "")), positive=True,
             flat=True, signed=True),
    Operator("softplus", ("F.softplus({x})",), "nn.Softplus()", positive=True),
    Operator("mish", ("F.mish({x})", "{x} * torch.tanh(F.softplus({x}))"), "nn.Mish()"),
    Operator(
        "ELU", ("F.elu({x}, alpha={a})",), "nn.ELU(alpha={a})", (("1.0", ""), ("0.5", "")),
        signed=True,
    ),
    Operator("CELU", ("F.celu({x}, alpha={a})",), "", (("0.8", ""), ("1.5", "")), signed=True),
    Operator("SELU", ("torch.selu({x})",), "nn.SELU()"),
    Operator("softsign", ("{x} / (1 + {x}.abs())", "F.softsign({x})"), flat=True),
    Operator("log-sigmoid", ("F.logsigmoid({x})",)),
    Operator("absolute value", ("torch.abs({x})", "{x}.abs()"), positive=True, signed=True),
    Operator("square", ("{x} * {x}", "{x}.pow(2)", "torch.square({x})"), positive=True),
    Operator("root of the absolute value", ("torch.sqrt({x}.abs() + {a})",), "",
             (("1e-6", ""), ("1e-3", "")), positive=True),
    Operator("signed root", ("torch.sign({x}) * torch.sqrt({x}.abs())",)),
    Operator("falling exponential", ("torch.exp(-{x}.abs())",), positive=True, flat=True),
    Operator("bell curve", ("torch.exp(-{a} * {x} * {x})",), "", (("0.5", ""), ("1.0", "")),
             positive=True, flat=True),
    Operator("logarithm of one more", ("torch.log1p({x}.abs())",), positive=True),
    Operator("sine", ("torch.sin({x})", "torch.sin({a} * {x})"), "", (("2.0", ""), ("0.5", "")),
             flat=True),
    Operator("cosine", ("torch.cos({x})",), flat=True),
    Operator("error function", ("torch.erf({x})",), flat=True),
    Operator("arc tangent", ("torch.atan({x})",), flat=True),
    Operator("clamp", ("torch.clamp({x}, min={a}, max={b})", "{x}.clamp({a}, {b})"), "",
             (("-1.0", "1.0"), ("-0.5", "2.0"), ("0.1", "0.9")), flat=True, signed=True),
    Operator("lower limit", ("torch.clamp({x}, min={a})",), "", (("-0.5", ""), ("0.25", "")),
             signed=True),
    Operator("soft shrink", ("F.softshrink({x}, {a})",), "", (("0.2", ""), ("0.5", ""))),
    Operator("tanh shrink", ("{x} - torch.tanh({x})",)),
    Operator("threshold", ("torch.where({x} > {a}, {x}, {b} * {x})",), "",
             (("0.3", "0.1"), ("0.5", "0.05"))),
    Operator("inverse root", ("torch.rsqrt({x} * {x} + {a})",), "", (("0.1", ""), ("1.0", "")),
             positive=True),
    Operator("reciprocal", ("1.0 / ({a} + {x}.abs())",), "", (("1.0", ""), ("0.5", "")),
             positive=True),
    Operator("scaling", ("{x} * {a}", "{a} * {x}"), "",
             (("0.5", ""), ("2.0", ""), ("1.7", ""), ("0.125", ""))),
    Operator("division", ("{x} / {a}",), "", (("1.5", ""), ("2.0", ""), ("3.0", ""))),
    Operator("added number", ("{x} + {a}",), "", (("0.5", ""), ("1.0", ""), ("0.1", ""))),
    Operator("subtracted number", ("{x} - {a}",), "", (("0.5", ""), ("1.0", ""), ("0.2", ""))),
    Operator("negation", ("-{x}",)),
)  # fmt: skip

ACTIVATIONS = tuple(operator for operator in OPERATORS if operator.module)
"""Operators that stand between layers."""
