"""Gets the code that torch.compile generates for a task, and the meaning of its arguments."""

from __future__ import annotations

import multiprocessing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

from kernelwright.core.device import Device
from kernelwright.core.task import Task

SEED = 0  # only the shapes of weights and inputs matter
CPP_OPTIONS = {"cpp.simdlen": 1, "cpp_wrapper": False}
"""Options for plain loops, which the C++ compiler vectorises; explicit vectors need torch's
headers."""


@dataclass(frozen=True)
class Argument:
    """One argument of the generated call."""

    expression: str
    """Python text of the argument: 'self.layer.weight' or 'inputs[0]'."""
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str
    """Name of the dtype, as in 'float32'."""
    path: str = ""
    """Path of the weight in the module, as in 'layer.weight'; empty for an input."""

    @property
    def is_input(self) -> bool:
        return not self.path


@dataclass(frozen=True)
class Generated:
    """The generated code of one graph."""

    code: str
    arguments: tuple[Argument, ...]
    device: str
    """torch's name of the device: 'cpu', 'cuda:0'."""
    returns_one: bool
    """Whether the module returns one tensor instead of a tuple of tensors."""
    is_training: bool
    configs: Mapping[str, Mapping[str, int]]
    """By Triton kernel: block sizes, num_warps and num_stages, as tuned on this device."""
    modules: Mapping[str, Any]
    """The module's parts, as ``unchanged.description_of`` has them."""


def generate_apart(task: Task, device: Device, *, timeout_s: float) -> Generated | None:
    """Run ``generate`` in its own process, since compiling leaves much state behind.

    Returns None if the process fails or exceeds ``timeout_s``.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    name = device.torch_kind if device.kind == "metal" else device.torch_name
    process = context.Process(target=_child, args=(task, name, theirs), daemon=False)
    process.start()
    theirs.close()
    try:
        return ours.recv() if ours.poll(timeout_s) else None
    except EOFError:
        return None
    finally:
        process.kill()
        process.join()
        ours.close()


def _child(task: Task, torch_name: str, answer: Connection) -> None:
    from kernelwright.proposers.inductor.mps import generate_for_mps

    is_mps = torch_name == "mps"
    try:
        answer.send(generate_for_mps(task) if is_mps else generate(task, torch_name))
    except Exception:  # the edge of the process: what torch.compile cannot do gives no proposal
        answer.send(None)


def generate(task: Task, torch_name: str) -> Generated | None:
    """Compile and run the reference in this process; None if it is not one graph of tensors."""
    import torch
    from torch._inductor.compile_fx import compile_fx
    from torch._inductor.utils import run_and_get_code

    from kernelwright.compiler.candidate.unchanged import description_of
    from kernelwright.loaders import open_reference

    reference = open_reference(task)
    module = reference.build(SEED).to(torch_name)
    inputs = reference.inputs(SEED, torch_name)
    graphs: list[Sequence[Argument] | None] = []

    def backend(graph: Any, given: Sequence[Any]) -> Any:
        graphs.append(_arguments(given, module, inputs))
        return compile_fx(graph, given, config_patches=CPP_OPTIONS)

    with torch.no_grad():
        compiled = torch.compile(module, backend=backend, dynamic=False)
        result, codes = run_and_get_code(compiled, *inputs)
    results = result if isinstance(result, (tuple, list)) else (result,)
    is_plain = type(result) in (torch.Tensor, tuple) and all(map(torch.is_tensor, results))
    if len(codes) != 1 or len(graphs) != 1 or graphs[0] is None or not is_plain:
        return None
    return Generated(
        code=codes[0],
        arguments=tuple(graphs[0]),
        device=torch_name,
        returns_one=torch.is_tensor(result),
        is_training=module.training,
        configs=_configs(),
        modules=description_of(module, type(module).__module__, mode=True),
    )


def _arguments(
    given: Sequence[Any], module: Any, inputs: Sequence[Any]
) -> Sequence[Argument] | None:
    """Identify the arguments of a graph; None if one is neither a weight nor an input."""
    from kernelwright.compiler.candidate.attributes import path_text

    state = [*module.named_parameters(), *module.named_buffers()]
    known = {id(tensor): (path_text(module, path), path) for path, tensor in state}
    known |= {id(tensor): (f"inputs[{position}]", "") for position, tensor in enumerate(inputs)}
    if not all(id(each) in known for each in given):
        return None
    return [_argument(tensor, *known[id(tensor)]) for tensor in given]


def _argument(tensor: Any, expression: str, path: str) -> Argument:
    dtype = str(tensor.dtype).removeprefix("torch.")
    return Argument(expression, tuple(tensor.shape), tuple(tensor.stride()), dtype, path)


def _configs() -> dict[str, dict[str, int]]:
    """Return the configurations that Inductor chose for the Triton kernels that it has loaded."""
    from torch._inductor.codecache import PyCodeCache

    found = {}
    for loaded in PyCodeCache.modules:
        for name, kernel in vars(loaded).items():
            launchers = getattr(kernel, "launchers", ())
            if name.startswith("triton_") and launchers:
                chosen = launchers[0].config
                also = {"num_warps": chosen.num_warps, "num_stages": chosen.num_stages}
                found[name] = {**chosen.kwargs, **also}
    return found
