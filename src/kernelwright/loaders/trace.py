"""What a task's reference does, operator by operator, without running it: shapes alone are
computed, so that inputs of any size cost nothing."""

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
"""Operators that differ in a sign, a factor or a bias alone have one name."""
COMMUTATIVE = frozenset({"add", "mul", "maximum", "minimum", "product", "eq", "ne", "logical_and",
                         "logical_or", "bitwise_and", "bitwise_or"})  # fmt: skip
UNSEEN = frozenset({
    "view", "_unsafe_view", "reshape", "permute", "transpose", "t", "expand", "unsqueeze",
    "squeeze", "clone", "detach", "alias", "contiguous", "_to_copy", "lift_fresh", "copy",
    "as_strided", "_reshape_alias", "resolve_conj", "resolve_neg",
})  # fmt: skip
"""Operators that move values and compute none."""
_RANK = re.compile(r"[123]d(?=_|$)")  # pooling over an image or a volume is pooling
WITH_BIAS = {"addmm": 0, "baddbmm": 0, "addmv": 0, "convolution": 2}
"""Where the bias stands among the arguments: it is a sum of its own."""


@dataclass(frozen=True)
class Node:
    """One operator: its own name, and the digest of all that it is computed from."""

    name: str
    arguments: tuple[str, ...]
    """The names of the operators that its tensors come from; 'input', 'weight' or 'made'."""
    digest: str


@dataclass(frozen=True)
class Trace:
    """A forward, seen from above."""

    nodes: tuple[Node, ...]
    result: str
    """The digest of the whole: shapes, names, numbers and the order of commutative arguments do
    not enter it."""
    moved_bytes: int
    """What all operators read and write when each is a kernel of its own."""
    least_bytes: int
    """Arguments, weights and results, each once: what a single kernel must move."""
    flops: int
    """Of products and convolutions."""


def trace(task: Task) -> Trace:
    """The operators of one forward.

    Raises:
        TaskError: the reference cannot be followed without values.
    """
    namespace = execute(task)
    recorder = _Recorder()
    what, do = f"{task.name} cannot be followed without running it", "compare its text"
    quiet = warnings.catch_warnings(action="ignore")  # of code that is only looked at
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
    return Trace(tuple(recorder.nodes), result, recorder.moved_bytes, least,
                 counter.get_total_flops())  # fmt: skip


@cache
def _decompositions() -> dict[Any, Any]:
    """Operators written in simpler ones. torch makes the table anew whenever it is asked."""
    return dict(core_aten_decompositions().items())


class _Recorder(TorchDispatchMode):
    """Gives every tensor a token: (the operator's name, the digest of how it came about)."""

    def __init__(self) -> None:
        super().__init__()
        self.nodes: list[Node] = []
        self.moved_bytes = 0
        self._tokens: dict[int, tuple[str, str]] = {}
        self._alive: list[Any] = []  # ids stay unique as long as their tensors live
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
        """The token of a new operator; a bias inside it becomes a sum after it."""
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
        self.nodes.append(Node(name, tuple(token[0] for token in tokens), made))
        return (name, made)

    def _give(self, tensor: Any, token: tuple[str, str]) -> None:
        self._alive.append(tensor)
        self._tokens[id(tensor)] = token


def _tensors(value: Any) -> Iterator[Any]:
    """The tensors in a value, however deep in lists."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item)


def _bytes(tensor: Any) -> int:
    return math.prod(tensor.shape) * tensor.element_size()
