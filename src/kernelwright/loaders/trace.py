"""Traces the operators of a task's reference without running it.

Only shapes are computed, so inputs of any size cost nothing.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch._decomp import core_aten_decompositions
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import FlopCounterMode

from kernelwright.core.digest import digest
from kernelwright.core.task import Task
from kernelwright.loaders.reference import execute, task_code

PRODUCTS = frozenset({"mm", "bmm", "addmm", "baddbmm", "addmv", "mv", "dot"})
NAMES = dict.fromkeys(PRODUCTS, "product") | {
    "sub": "add", "rsub": "add", "neg": "mul", "pow": "pow", "_softmax": "softmax",
    "_log_softmax": "log_softmax", "amax": "max", "amin": "min", "fmax": "maximum",
}  # fmt: skip
"""Common names of operators that differ only in a sign, a factor or a bias."""
COMMUTATIVE = frozenset({
    "add", "mul", "maximum", "minimum", "product", "eq", "ne", "logical_and", "logical_or",
    "bitwise_and", "bitwise_or",
})  # fmt: skip
UNSEEN = frozenset({
    "view", "_unsafe_view", "reshape", "permute", "transpose", "t", "expand", "unsqueeze",
    "squeeze", "clone", "detach", "alias", "contiguous", "_to_copy", "lift_fresh", "copy",
    "as_strided", "_reshape_alias", "resolve_conj", "resolve_neg",
})  # fmt: skip
"""Operators that move values without computing any; they are left out of the trace."""
_RANK = re.compile(r"[123]d(?=_|$)")  # pooling in 1, 2 or 3 dimensions has one name
WITH_BIAS = {"addmm": 0, "baddbmm": 0, "addmv": 0, "convolution": 2}
"""Position of the bias among an operator's arguments; the bias counts as a separate addition."""


@dataclass(frozen=True)
class TracedOperator:
    """One operator of a trace."""

    name: str
    arguments: tuple[str, ...]
    """Names of the operators that produce its arguments, or 'input', 'weight' or 'made'."""
    digest: str
    """Digest of the operator and everything that it is computed from."""


@dataclass(frozen=True)
class Trace:
    """The operators of one forward, with the memory traffic and the arithmetic that they need."""

    nodes: tuple[TracedOperator, ...]
    result: str
    """Digest of the whole graph without shapes, names, numbers and the order of commutative
    arguments."""
    moved_bytes: int
    """Bytes that all operators read and write if each is a separate kernel."""
    least_bytes: int
    """Bytes of arguments, weights and results, each counted once: what a single kernel must
    move."""
    flops: int
    """Floating-point operations of matrix products and convolutions."""


def trace(task: Task) -> Trace:
    """Trace the operators of one forward.

    Raises:
        TaskError: the reference cannot be traced without values.
    """
    namespace = execute(task)
    recorder = _Recorder()
    what, do = f"{task.name} cannot be traced without running it", "compare its text"
    quiet = warnings.catch_warnings(action="ignore")  # the code is only traced, never run
    fake = FakeTensorMode(allow_non_fake_inputs=True)
    with task_code(task, what, do), quiet, fake, torch.no_grad():
        module = namespace[task.entry](*namespace["get_init_inputs"]())
        inputs = namespace["get_inputs"]()
        weights = [*module.parameters(), *module.buffers()]
        recorder.leaves("weight", weights)
        recorder.leaves("input", list(_tensors(inputs)))
        with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter, recorder:
            outputs = list(_tensors(module(*inputs)))
        least = sum(map(_bytes, (*weights, *_tensors(inputs), *outputs)))
        result = digest("graph", [recorder.token(out)[1] for out in outputs])
    return Trace(
        nodes=tuple(recorder.nodes),
        result=result,
        moved_bytes=recorder.moved_bytes,
        least_bytes=least,
        flops=counter.get_total_flops(),
    )


@cache
def _decompositions() -> dict[Any, Any]:
    """Return decompositions into simpler operators; torch rebuilds the table at every call."""
    return dict(core_aten_decompositions().items())


class _Recorder(TorchDispatchMode):
    """Gives every tensor a token: the name of its operator and the digest of its computation."""

    def __init__(self) -> None:
        super().__init__()
        self.nodes: list[TracedOperator] = []
        self.moved_bytes = 0
        self._tokens: dict[int, tuple[str, str]] = {}
        self._alive: list[Any] = []  # keeps tensors alive, so that their ids stay unique
        self._simpler = _decompositions()

    def leaves(self, name: str, tensors: list[Any]) -> None:
        for tensor in tensors:
            self._give(tensor, (name, name))

    def token(self, tensor: Any) -> tuple[str, str]:
        return self._tokens.get(id(tensor), ("made", "made"))

    def __torch_dispatch__(
        self, function: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        simpler = self._simpler.get(function)
        if simpler is None and function.namespace == "aten":
            simpler = function.decompose
        if simpler is not None:
            with self:
                result = simpler(*args, **kwargs)
            if result is not NotImplemented:
                return result
        result = function(*args, **kwargs)
        self._see(function, args, kwargs, result)
        return result

    def _see(self, function: Any, args: Any, kwargs: Any, result: Any) -> None:
        name = function.name().partition("::")[2].partition(".")[0]
        given = list(_tensors((*args, *kwargs.values())))
        made = list(_tensors(result))
        plain = _RANK.sub("", name.rstrip("_"))
        if plain in UNSEEN and given:
            source = given[1] if plain == "copy" and len(given) > 1 else given[0]
            for tensor in made:
                self._give(tensor, self.token(source))
            return
        if not given or not made:
            return
        self.moved_bytes += sum(map(_bytes, (*given, *made)))
        token = self._node(plain, args, given)
        for place, tensor in enumerate(made):
            self._give(tensor, token if place == 0 else (token[0], f"{token[1]}.{place}"))

    def _node(self, name: str, args: Any, given: list[Any]) -> tuple[str, str]:
        """Return the token of a new operator; its bias becomes a separate addition after it."""
        place = WITH_BIAS.get(name)
        bias = args[place] if place is not None and place < len(args) else None
        tokens = [self.token(tensor) for tensor in given if tensor is not bias]
        if name == "div" and len(tokens) == 1:
            name = "mul"
        if "batch_norm" in name:
            name, tokens = "batch_norm", tokens[:3]
        if name == "convolution" and args[6]:
            name = "convolution_transposed"
        token = self._add(NAMES.get(name, name), tokens)
        return token if bias is None else self._add("add", [token, self.token(bias)])

    def _add(self, name: str, tokens: list[tuple[str, str]]) -> tuple[str, str]:
        if name in COMMUTATIVE:
            tokens = sorted(tokens)
        made = digest(name, [token[1] for token in tokens])
        self.nodes.append(TracedOperator(name, tuple(token[0] for token in tokens), made))
        return (name, made)

    def _give(self, tensor: Any, token: tuple[str, str]) -> None:
        self._alive.append(tensor)
        self._tokens[id(tensor)] = token


def _tensors(value: Any) -> Iterator[Any]:
    """Yield the tensors in a value and in its nested lists and tuples."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)


def _bytes(tensor: Any) -> int:
    return math.prod(tensor.shape) * tensor.element_size()
