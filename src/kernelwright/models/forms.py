"""Forms: the ways in which a model can be run, as the library has them and with kernels."""

from __future__ import annotations

import contextlib
import statistics
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from kernelwright.core.collector import collector_off
from kernelwright.models.given import Given, tensors_of

EAGER, GRAPH, COMPILE, COMPILE_GRAPH = "eager", "eager_graph", "compile", "compile_graph"
REDUCE_OVERHEAD = "reduce_overhead"
LIBRARY = (EAGER, GRAPH, REDUCE_OVERHEAD, COMPILE)
"""As the library runs a model. ``GRAPH`` is a CUDA graph of the eager forward; reduce-overhead is
torch.compile's mode: it records graphs of what it can, and looks before every call whether the
model and its inputs are as they were."""
OWN = COMPILE_GRAPH
"""One CUDA graph of the whole compiled forward. It is no setting of the library: a model of
transformers is compiled for it as it runs eagerly, without masks."""
CAPTURED = (GRAPH, COMPILE_GRAPH)
COMPILED = (COMPILE_GRAPH, REDUCE_OVERHEAD, COMPILE)
KERNELS = "kernels"
WITH_KERNELS = {
    EAGER: KERNELS,
    GRAPH: f"{KERNELS}_graph",
    COMPILE_GRAPH: f"{KERNELS}_compile_graph",
    REDUCE_OVERHEAD: f"{KERNELS}_reduce_overhead",
    COMPILE: f"{KERNELS}_compile",
}
"""The forms without kernels, in the order in which they are made, and the same with kernels in the
modules."""
N_WARM = 3
"""Calls on a side stream before a capture: libraries allocate their workspaces in the first."""
RECOMPILES = 64
QUESTIONS = ("is_cuda_stream_capturing", "is_torchdynamo_compiling")
"""Functions by which transformers decides whether it may look at the values of a mask."""

Form = Callable[..., Any]


class Graphed:
    """A forward captured in a CUDA graph for one set of inputs, and replayed for others like them.

    ``model`` may be what torch.compile made of one, which is compiled here.

    The outputs are overwritten by the next call, as with ``torch.compile``'s CUDA graphs. A call
    with other shapes, or with gradients wanted, runs the model itself. A replay writes to the
    tensors of caches as a call does, and counts as a change of them.
    """

    def __init__(self, model: Form, *args: Any, **named: Any) -> None:
        self.model = model
        given = pytree.tree_map_only(torch.Tensor, torch.clone, (args, named))
        self._inputs, self._kind = pytree.tree_flatten(given)
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.no_grad(), as_eager():
            with torch.cuda.stream(side):
                for _ in range(N_WARM):
                    model(*given[0], **given[1])
            torch.cuda.current_stream().wait_stream(side)
            self._graph = torch.cuda.CUDAGraph()
            before = [(held, held._version) for held in tensors_of(given)]
            with own_workspaces(), collector_off(), torch.cuda.graph(self._graph):
                self._outputs = model(*given[0], **given[1])
            self._written = [held for held, version in before if held._version != version]

    def __call__(self, *args: Any, **named: Any) -> Any:
        inputs, kind = pytree.tree_flatten((args, named))
        if (
            torch.is_grad_enabled()
            or kind != self._kind
            or not all(map(_fits, inputs, self._inputs))
        ):
            return self.model(*args, **named)
        for held, one in zip(self._inputs, inputs, strict=True):
            if isinstance(one, torch.Tensor):
                held.copy_(one)
        self._graph.replay()
        torch.autograd.graph.increment_version(self._written)
        return self._outputs


@contextlib.contextmanager
def own_workspaces() -> Iterator[None]:
    """Context in which a captured graph gets workspaces of cuBLAS in its own memory.

    One that an earlier capture made lies in that graph's memory. It goes with that graph as soon as
    torch.compile records graphs of its own, and replays would write to what is no longer there.
    """
    torch._C._cuda_clearCublasWorkspaces()
    try:
        yield
    finally:
        torch._C._cuda_clearCublasWorkspaces()


@contextlib.contextmanager
def as_eager() -> Iterator[None]:
    """Context in which models of transformers run as eager ones do while they are compiled and
    captured.

    Told of either they would build masks that eager calls go without: attention takes longer with
    them, and modules would get other inputs than their kernels serve. A choice that depends on
    values still ends the capture with an error. The library has no setting for it, so its own
    questions are answered otherwise for as long as the capture takes, during which no other call
    may use the device anyway.
    """
    imported = sys.modules.get("transformers.utils.import_utils")
    known = vars(imported) if imported else {}
    questions = {name: known[name] for name in QUESTIONS if name in known}
    known.update(dict.fromkeys(questions, _no))
    try:
        yield
    finally:
        known.update(questions)


def _no() -> bool:
    return False


def _fits(one: Any, held: Any) -> bool:
    if not isinstance(one, torch.Tensor):
        return bool(one == held)
    return (one.shape, one.dtype, one.device) == (held.shape, held.dtype, held.device)


def usable(given: Given) -> list[str]:
    """The forms that can be made for these inputs."""
    if given.device.type != "cuda":
        return [EAGER, COMPILE]
    return [form for form in WITH_KERNELS if form not in CAPTURED or given.is_replayable]


def without_kernels(name: str) -> str:
    """The form without kernels of a name that may be one with them."""
    return next((form for form, with_kernels in WITH_KERNELS.items() if with_kernels == name), name)


def made(form: str, given: Given) -> Form:
    """The given model in a form of those without kernels, called once, so that it is compiled.

    Raises:
        Exception: whatever torch.compile or a capture raises for this model.
    """
    if form == EAGER:
        return given.model
    mode = "reduce-overhead" if form == REDUCE_OVERHEAD else None
    model: Form = torch.compile(given.model, mode=mode) if form in COMPILED else given.model
    given.restore()
    with torch._dynamo.config.patch(recompile_limit=RECOMPILES):  # forms share their code
        if form in CAPTURED:
            model = Graphed(model, *given.args, **given.named)
        else:
            for _ in range(N_WARM if mode else 1):  # a CUDA graph is recorded in the second call
                given.run(model)
    given.restore()  # warming up has filled a cache
    return model


def fastest(names: Sequence[str], times_ns: Mapping[str, Sequence[int]]) -> str:
    """The name with the smallest median; empty if there is none."""
    return min(names, key=lambda name: statistics.median(times_ns[name]), default="")
