"""Input specs: one forward argument, from text or by example, as a Python expression.

float32[64,1024]          standard normal
float32[8,8]~uniform      uniform in [0, 1)
int64[64]<1000            integers in [0, 1000)
bool[64]                  even odds
3    0.5    true    none  the value itself
"gelu"    torch.float32   a text, a dtype
(SPEC, SPEC)  [SPEC]      a tuple, a list
{cos: SPEC, sin: SPEC}    a dictionary
name=SPEC                 an argument by name
float32[64|512|8,1024]    one of these sizes; kernels are tuned for each, the first is the main one
float32[1..4096,1024]     any size from 1 to 4096; kernels are tuned for the largest, the smallest
                          and one between, and others are held out
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kernelwright.core.errors import TaskError, nearest

if TYPE_CHECKING:
    import torch

FLOATS = ("float32", "float16", "bfloat16", "float64")
INTEGERS = ("int64", "int32", "int16", "int8", "uint8")
DTYPES = (*FLOATS, *INTEGERS, "bool")
DISTRIBUTIONS = ("normal", "uniform")
SYNTAX = (
    "float32[64,1024], float32[8,8]~uniform, int64[64]<1000, bool[64], a number, "
    "(SPEC, SPEC), or name=SPEC"
)
_NAMED = re.compile(r"\s*([A-Za-z_]\w*)\s*=(.*)", re.S)
_SIZES = re.compile(r"\d+(?:\.\.\d+|(?:\s*\|\s*\d+)+)")
_WORDS = {"none": "null", "true": "true", "false": "false"}
_CLOSING = {"(": ")", "[": "]", "{": "}"}
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


def by_name(inputs: Any) -> tuple[list[Any], dict[str, Any]]:
    """Return the arguments of the forward that are given by position, and those by name.

    ``inputs`` is a mapping, a list or a single argument; in a list, specs such as
    ``mask=bool[64]`` are named.
    """
    if isinstance(inputs, Mapping):
        return [], dict(inputs)
    positional: list[Any] = []
    named: dict[str, Any] = {}
    for value in inputs if isinstance(inputs, (list, tuple)) else [inputs]:
        match = _NAMED.fullmatch(value) if isinstance(value, str) else None
        if match is None:
            positional.append(value)
        else:
            named[match[1]] = match[2]
    return positional, named


@dataclass(frozen=True)
class InputSets:
    """The sets of arguments that inputs stand for."""

    main: list[Any]
    listed: Sequence[list[Any]] = ()
    """Further sets that kernels are tuned for."""
    held_out: Sequence[list[Any]] = ()
    """Further sets that nobody tunes for."""


def of_sizes(inputs: Sequence[Any]) -> InputSets:
    """Return the sets of arguments: one, or where specs have several sizes, one for each; where
    they have a range, for its largest and smallest size and their geometric mean, and held out an
    odd size between and the largest but one.

    Raises:
        TaskError: a range is empty, or two specs have other sizes.
    """
    found = {each for text in inputs if isinstance(text, str) for each in _SIZES.findall(text)}
    if not found:
        return InputSets(list(inputs))
    if len(found) > 1:
        raise TaskError(
            "two inputs have other sizes",
            seen=", ".join(sorted(found)),
            do="give all inputs the same sizes: they have equally many rows in every call",
        )
    tuned, held_out = _sizes_of(found.pop())
    main, *listed = [_at(inputs, size) for size in tuned]
    return InputSets(main, listed, [_at(inputs, size) for size in held_out])


def _sizes_of(text: str) -> tuple[list[int], list[int]]:
    """Return the sizes to tune for, the main one first, and those that are held out."""
    if "|" in text:
        return list(dict.fromkeys(map(int, text.split("|")))), []
    low, high = map(int, text.split(".."))
    if not 1 <= low < high:
        raise TaskError("a range of sizes is empty", seen=text, do="write it as 1..4096")
    tuned = list(dict.fromkeys([high, round(math.sqrt(low * high)), low]))
    held_out = dict.fromkeys([(low + high) // 2 | 1, high - 1])
    return tuned, [size for size in held_out if low < size < high and size not in tuned]


def _at(inputs: Sequence[Any], size: int) -> list[Any]:
    return [_SIZES.sub(str(size), value) if isinstance(value, str) else value for value in inputs]


def expression(value: Any) -> str:
    """Return Python text for one argument: a spec, a tensor to imitate, a plain value, or a list, a
    tuple or a dictionary of these.

    Raises:
        TaskError: the spec is invalid, or the value cannot be written as text.
    """
    import torch

    if isinstance(value, str):
        return parse(value)
    if isinstance(value, torch.Tensor):
        return _tensor_expression(value)
    if value is None or isinstance(value, (bool, int, float, torch.dtype)):
        return repr(value)
    if type(value) in (list, tuple, dict):
        parts = value.values() if isinstance(value, dict) else value
        return _enclosed(type(value), list(map(expression, parts)), list(value))
    raise TaskError(
        "an input is neither a tensor, a number, a spec, nor a list, tuple or dict of these",
        seen=f"{type(value).__name__}: {value!r}"[:200],
        do="give the inputs as a function that makes them: inputs=make_inputs",
    )


def _enclosed(kind: type, parts: Sequence[str], keys: Sequence[Any]) -> str:
    """Return the text of a container with these parts; ``keys`` are a dictionary's."""
    if kind is dict:
        items = ", ".join(f"{key!r}: {part}" for key, part in zip(keys, parts, strict=True))
        return f"{{{items}}}"
    if kind is list:
        return f"[{', '.join(parts)}]"
    return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"


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
    text = text.strip()
    if text[:1] in _CLOSING and text[-1:] == _CLOSING[text[:1]]:
        return _container(text)
    if text.removeprefix("torch.") in DTYPES and text.startswith("torch."):
        return text
    match = _SPEC.fullmatch(text)
    if match is None:
        try:
            value = json.loads(_WORDS.get(text.lower(), text))
        except json.JSONDecodeError:
            value = ()
        if value is None or isinstance(value, (bool, int, float, str)):
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


def _container(text: str) -> str:
    kind = {"(": tuple, "[": list, "{": dict}[text[0]]
    parts = list(_split(text))
    keys = []
    if kind is dict:
        pairs = [part.partition(":") for part in parts]
        keys, parts = [key.strip().strip("\"'") for key, _, _ in pairs], [p for _, _, p in pairs]
    return _enclosed(kind, list(map(parse, parts)), keys)


def _split(text: str) -> Iterator[str]:
    """Yield the parts between the commas of a container; those inside of brackets do not count."""
    depth, start = 0, 1
    for place, letter in enumerate(text):
        depth += (letter in "([{") - (letter in ")]}")
        if (letter == "," and depth == 1) or (depth == 0 and place == len(text) - 1):
            if part := text[start:place].strip():
                yield part
            start = place + 1
    if depth or start != len(text):
        raise _bad_spec(text, "close every bracket that is opened")


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
