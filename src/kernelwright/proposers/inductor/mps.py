"""Gets the code that Inductor writes for Apple GPUs, on any machine: its tensors are fake."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kernelwright.core.task import Task
from kernelwright.proposers.inductor.generated import SEED, Argument, Generated

N_CORES = 10
"""Cores of the GPU that Inductor writes for: those of an M2 to an M5."""


def generate_for_mps(task: Task) -> Generated | None:
    """Return what Inductor writes for a task; None if it is not one function of tensors."""
    import torch

    from kernelwright.compiler.candidate.attributes import path_text
    from kernelwright.compiler.candidate.unchanged import description_of
    from kernelwright.loaders import open_reference

    reference = open_reference(task)
    module, inputs = reference.build(SEED), reference.inputs(SEED, "cpu")
    with torch.no_grad():
        result = module(*inputs)
    results = result if isinstance(result, tuple) else (result,)
    if not all(map(torch.is_tensor, (*inputs, *results))):
        return None
    code, given = mps_program(module, inputs)
    paths = [*dict(module.named_parameters()), *dict(module.named_buffers())]
    named = [(path_text(module, path), path) for path in paths]
    named += [(f"inputs[{position}]", "") for position in range(len(inputs))]
    return Generated(
        code=code,
        arguments=tuple(
            _argument(tensor, *name) for tensor, name in zip(given, named, strict=True)
        ),
        device="mps",
        returns_one=torch.is_tensor(result),
        is_training=module.training,
        configs={},
        modules=description_of(module, type(module).__module__, mode=True),
    )


def mps_program(module: Any, inputs: Sequence[Any]) -> tuple[str, list[Any]]:
    """Return the program for a module on the CPU, and the tensors that its ``call`` takes.

    These are the module's parameters, its buffers, and those of the inputs that are tensors.
    """
    import torch
    from torch._inductor.codegen.common import init_backend_registration
    from torch._inductor.debug import DebugContext
    from torch._inductor.decomposition import select_decomp_table
    from torch._inductor.graph import GraphLowering
    from torch._inductor.virtualized import V
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.proxy_tensor import make_fx

    torch._C._mps_get_core_count = lambda: N_CORES
    init_backend_registration()
    names = [*dict(module.named_parameters()), *dict(module.named_buffers())]
    given = [*module.parameters(), *module.buffers()]
    given += [x for x in inputs if isinstance(x, torch.Tensor)]

    def whole(*tensors: Any) -> Any:
        left = iter(tensors[len(names) :])
        passed = tuple(next(left) if isinstance(x, torch.Tensor) else x for x in inputs)
        weights = dict(zip(names, tensors[: len(names)], strict=True))
        with torch.no_grad():
            return torch.func.functional_call(module, weights, passed)

    def fake(x: Any) -> Any:
        return torch.empty_strided(x.shape, x.stride(), dtype=x.dtype, device="mps")

    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        fakes = list(map(fake, given))
        traced = make_fx(whole, decomposition_table=select_decomp_table(), tracing_mode="real")
        graph = GraphLowering(traced(*fakes), example_inputs=fakes, is_inference=True)
        with V.set_debug_handler(DebugContext()), V.set_graph_handler(graph), V.set_fake_mode(mode):
            graph.run(*fakes)
            code, _ = graph.codegen()
    return str(getattr(code, "value", code)), [x.detach() for x in given]


def _argument(tensor: Any, expression: str, path: str) -> Argument:
    dtype = str(tensor.dtype).removeprefix("torch.")
    return Argument(expression, tuple(tensor.shape), tuple(tensor.stride()), dtype, path)
