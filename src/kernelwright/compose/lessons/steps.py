"""Pointwise operators as a kernel writes them: lines of Triton that change ``v``."""

from __future__ import annotations

from kernelwright.compose.operators import OPERATORS

SOFTPLUS = "tl.where(v > 20.0, v, libdevice.log1p(tl.exp(v)))"
SELU_SCALE, SELU_ALPHA = "1.0507009873554805", "1.6732632423543772"
"""Source: torch.nn.functional.selu's documentation."""

LINES: dict[str, tuple[str, ...]] = {
    "ReLU": ("v = tl.where(v < 0, 0.0, v)",),
    "leaky ReLU": ("v = tl.where(v > 0, v, v * {a})",),
    "GELU": ("v = 0.5 * v * (1.0 + tl.erf(v * 0.7071067811865476))",),
    "GELU (tanh form)": (
        "u = 0.7978845608028654 * (v + 0.044715 * v * v * v)",
        "v = 0.5 * v * (1.0 + libdevice.tanh(u))",
    ),
    "swish": ("v = v * tl.sigmoid(v)",),
    "sigmoid": ("v = tl.sigmoid(v)",),
    "tanh": ("v = libdevice.tanh(v)",),
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
    "softplus": (f"v = {SOFTPLUS}",),
    "mish": (f"u = {SOFTPLUS}", "v = v * libdevice.tanh(u)"),
    "ELU": ("v = tl.where(v > 0, v, {a} * libdevice.expm1(v))",),
    "SELU": (f"v = {SELU_SCALE} * tl.where(v > 0, v, {SELU_ALPHA} * libdevice.expm1(v))",),
    "softsign": ("v = v / (1.0 + tl.abs(v))",),
    "log-sigmoid": ("v = tl.where(v < 0.0, v, 0.0) - libdevice.log1p(tl.exp(-tl.abs(v)))",),
    "absolute value": ("v = tl.abs(v)",),
    "square": ("v = v * v",),
    "root of the absolute value": ("v = tl.sqrt(tl.abs(v) + {a})",),
    "falling exponential": ("v = tl.exp(-tl.abs(v))",),
    "bell curve": ("v = tl.exp(-{a} * v * v)",),
    "logarithm of one more": ("v = libdevice.log1p(tl.abs(v))",),
    "cosine": ("v = tl.cos(v)",),
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
"""By the word of the operator."""

WRITTEN = tuple(operator for operator in OPERATORS if operator.word in LINES)
