"""Input specs: one forward argument, from text or by example, as a Python expression.

float32[64,1024]          standard normal
float32[8,8]~uniform      uniform in [0, 1)
int64[64]<1000            integers in [0, 1000)
bool[64]                  even odds
3    0.5    true    none  the value itself
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kernelwright.core.errors import TaskError, nearest

if TYPE_CHECKING:
    import torch

FLOATS = ("float32", "float16", "bfloat16", "float64")
INTEGERS = ("int64", "int32", "int16", "int8", "uint8")
DTYPES = (*FLOATS, *INTEGERS, "bool")
DISTRIBUTIONS = ("normal", "uniform")
SYNTAX = "float32[64,1024], float32[8,8]~uniform, int64[64]<1000, bool[64], or a number"
_SPEC = re.compile(
    r"(?P<dtype>\w+)\[(?P<shape>[\d\s,]*)\](?:<(?P<bound>\d+))?(?:~(?P<distribution>\w+))?"
)


@dataclass(frozen=True)
class TensorSpec:
    """How a tensor argument is drawn: uniformly from ``low`` to ``high``, or normally."""

    dtype: str
    shape: tuple[int, ...]
    distribution: str = "normal"
    low: float = 0.0
    high: float = 1.0
    """Exclusive upper bound, for integers and floats; for bool the probability of True."""
    mean: float = 0.0
    std: float = 1.0
    stride: tuple[int, ...] | None = None
    """Strides in elements; None for a contiguous tensor."""

    def expression(self) -> str:
        """Return Python text that draws a new tensor; it needs only ``torch``."""
        values = self._values()
        if self.stride is None:
            return values
        layout = f"{self.shape}, {self.stride}, dtype=torch.{self.dtype}"
        return f"torch.empty_strided({layout}).copy_({values})"

    def _values(self) -> str:
        shape = ", ".join(map(str, self.shape)) if self.shape else "()"
        if self.dtype == "bool":
            return f"torch.rand({shape}) < {self.high:g}"
        if self.dtype in INTEGERS:
            size = self.shape
            kind = "" if self.dtype == "int64" else f", dtype=torch.{self.dtype}"
            return f"torch.randint({self.low:.0f}, {self.high:.0f}, {size}{kind})"
        kind = "" if self.dtype == "float32" else f", dtype=torch.{self.dtype}"
        if self.distribution == "uniform":
            text = f"torch.rand({shape}{kind})"
            scale, offset = self.high - self.low, self.low
        else:
            text = f"torch.randn({shape}{kind})"
            scale, offset = self.std, self.mean
        if scale != 1.0:
            text += f" * {scale:.6g}"
        return text if offset == 0.0 else f"{text} + {offset:.6g}"


def expression(value: Any) -> str:
    """Return Python text for one argument: a spec, a tensor to imitate, or a plain value.

    Raises:
        TaskError: the spec is invalid, or the value cannot be written as text.
    """
    import torch

    if isinstance(value, str):
        return parse(value)
    if isinstance(value, torch.Tensor):
        return _tensor_expression(value)
    if value is None or isinstance(value, (bool, int, float)):
        return repr(value)
    raise TaskError(
        "an input is neither a tensor, a number nor a spec",
        seen=f"{type(value).__name__}: {value!r}"[:200],
        do="give the inputs as a function that makes them: inputs=make_inputs",
    )


def _tensor_expression(tensor: torch.Tensor) -> str:
    """Return text that draws a tensor; an expanded tensor is drawn unexpanded, then expanded. One
    that requires gradients is drawn so: they are asked of it in a training step."""
    if str(tensor.layout) != "torch.strided":
        raise TaskError(
            "an input is not a dense tensor",
            seen=f"{tensor.layout}, {list(tensor.shape)}",
            do="give the dense tensors that it consists of, and build it in the forward",
        )
    shape, own = tuple(tensor.shape), tensor
    for axis, (size, stride) in enumerate(zip(shape, tensor.stride(), strict=True)):
        if size > 1 and stride == 0:
            own = own.narrow(axis, 0, 1)
    text = imitate(own).expression()
    text = text if own is tensor else f"({text}).expand{shape}"
    return f"({text}).requires_grad_()" if tensor.requires_grad else text


def parse(text: str) -> str:
    """Return the expression for an input spec.

    Raises:
        TaskError: the text is not a spec; the message names the nearest dtype.
    """
    match = _SPEC.fullmatch(text.strip())
    if match is None:
        try:
            value = json.loads({"none": "null"}.get(text.lower(), text.lower()))
        except json.JSONDecodeError:
            value = ()
        if value is None or isinstance(value, (bool, int, float)):
            return repr(value)
        raise _bad_spec(text, f"write {SYNTAX}")
    dtype, distribution = match["dtype"], match["distribution"] or "normal"
    if dtype not in DTYPES:
        raise _bad_spec(text, f'no dtype "{dtype}": {nearest(dtype, DTYPES)}')
    if distribution not in DISTRIBUTIONS:
        raise _bad_spec(text, f'no "~{distribution}": {nearest(distribution, DISTRIBUTIONS)}')
    try:
        shape = tuple(int(n) for n in match["shape"].split(",")) if match["shape"].strip() else ()
    except ValueError:
        raise _bad_spec(text, f"write {SYNTAX}") from None
    if (dtype in INTEGERS) != (match["bound"] is not None):
        given = f"{dtype}[{match['shape']}]"
        if dtype in INTEGERS:
            raise _bad_spec(text, f"say which integers: {given}<1000 is 0 to 999")
        raise _bad_spec(text, f"only integers take a bound: write {given}")
    high = float(match["bound"] or (0.5 if dtype == "bool" else 1.0))
    return TensorSpec(dtype, shape, distribution, high=high).expression()


def _bad_spec(text: str, do: str) -> TaskError:
    return TaskError("an input spec is not understood", seen=text, do=do)


def imitate(tensor: torch.Tensor) -> TensorSpec:
    """Return how to draw tensors like this one: dtype, shape, stride and distribution.

    Floats are drawn from a normal distribution with the tensor's mean and standard deviation. If no
    value is negative, they are drawn uniformly between its smallest and largest value, so that a
    logarithm or a square root stays defined. Integers are drawn uniformly from its range.

    Raises:
        TaskError: tensors of the dtype (complex, quantised) cannot be drawn.
    """
    dtype = str(tensor.dtype).removeprefix("torch.")
    if dtype not in DTYPES:
        raise TaskError(
            f"inputs of dtype {dtype} cannot be drawn",
            seen=f"{dtype}{list(tensor.shape)}",
            do="give the inputs as a function that makes them: inputs=make_inputs",
        )
    shape = tuple(tensor.shape)
    stride = None if tensor.is_contiguous() else tuple(tensor.stride())
    values = tensor.detach().double()
    if values.numel() == 0:
        return TensorSpec(dtype, shape, "uniform", stride=stride)
    low, high, mean = values.min().item(), values.max().item(), values.mean().item()
    if dtype == "bool":
        return TensorSpec(dtype, shape, "uniform", high=mean, stride=stride)
    if dtype in INTEGERS:
        return TensorSpec(dtype, shape, "uniform", low, high + 1, stride=stride)
    if low == high:  # a single value shows no spread: vary it by half of its magnitude
        low, high = sorted((0.5 * low, 1.5 * low))
        if low == high:
            return TensorSpec(dtype, shape, stride=stride)
        return TensorSpec(dtype, shape, "uniform", low, high, stride=stride)
    if low >= 0:
        return TensorSpec(dtype, shape, "uniform", low, high, stride=stride)
    return TensorSpec(dtype, shape, mean=mean, std=values.std(correction=0).item(), stride=stride)
