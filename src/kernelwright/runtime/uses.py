"""The ways in which a program uses a module, each tried on a built module beside its reference."""

from __future__ import annotations

import copy
import inspect
import io
import tempfile
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import torch
from torch import nn
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils import _pytree as pytree

from kernelwright.compiler.candidate.unchanged import MISS
from kernelwright.core.errors import TaskError
from kernelwright.runtime.build import BUILD_SEED, build, opened
from kernelwright.search.result import Result

Inputs = list[Any]
TOLERANCE = {torch.float64: 1e-6, torch.float32: 1e-3, torch.bfloat16: 4e-2, torch.float16: 1e-2}
"""By dtype: the largest difference from the reference, as a share of its largest number. The judge
has compared the kernel with float64; this only finds results that are of something else."""


@dataclass(frozen=True)
class Use:
    """One way to use a module, and what came of it."""

    name: str
    outcome: str
    """'served': by the kernels, and right. 'missed': by the module's own forward, and right; the
    detail is the reason. 'refused': there is no such forward, and the error says why. 'wrong' and
    'raised': a fault. 'impossible': the reference does not allow it."""
    detail: str = ""

    @property
    def is_fault(self) -> bool:
        """Whether the built module does not do what the reference does."""
        return self.outcome in ("wrong", "raised")


def uses(result: Result, *, device: str = "", slow: bool = False) -> list[Use]:
    """Try every use of a result's kernel in this process.

    ``device`` is where the module is put: by default where it was judged. With ``slow``, a round
    trip through AOTInductor is among the uses, which takes a compiler ten seconds and more.

    Raises:
        TaskError: the result has no kernel.
    """
    if result.best is None or result.evaluation is None:
        raise TaskError(
            "there is no kernel to use", seen=repr(result), do="give a result that has a best"
        )
    where = device or result.evaluation.environment.device.partition(":")[0]
    reference = opened(result.task)
    built = build(result).to(where)
    own = reference.build(BUILD_SEED).to(where)
    own.load_state_dict(built.state_dict())
    inputs = reference.inputs(BUILD_SEED, where)
    return [try_use(name, built, own, inputs) for name in _names(inputs, where, slow=slow)]


def try_use(name: str, built: nn.Module, own: nn.Module, inputs: Inputs) -> Use:
    """Use copies of the built module and of its reference in one way."""
    use = USES[name]
    try:
        wanted = _used(use, own, inputs)
        again = _used(use, own, inputs)
    except Exception as error:  # the reference is the user's code: it may raise anything
        return Use(name, "impossible", _said(error))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            found = _used(use, built, inputs)
        except Exception as error:  # and so may a kernel
            is_refusal = "the kernels are not made for this call" in str(error)
            return Use(name, "refused" if is_refusal else "raised", _said(error))
    difference = "" if _difference(wanted, again) else _difference(wanted, found)
    if difference:
        return Use(name, "wrong", difference)
    reasons = [str(each.message) for each in told if MISS in str(each.message)]
    return (
        Use(name, "missed", reasons[0].partition(f"{MISS}: ")[2])
        if reasons
        else Use(name, "served")
    )


def _used(use: Callable[[nn.Module, Inputs], Any], module: nn.Module, inputs: Inputs) -> Any:
    """The results of a use of a copy of the module, on copies of the inputs."""
    given = pytree.tree_map_only(torch.Tensor, torch.clone, inputs)
    torch.manual_seed(BUILD_SEED)
    return use(copy.deepcopy(module), given)


def _said(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:300]


def _difference(wanted: Any, found: Any) -> str:
    """How two results differ, in words; empty where they are the same."""
    pairs = list(zip(_tensors(wanted), _tensors(found), strict=False))
    if len(_tensors(wanted)) != len(_tensors(found)):
        return f"{len(_tensors(found))} tensors, and not {len(_tensors(wanted))}"
    for one, other in pairs:
        if one.shape != other.shape or one.dtype != other.dtype:
            return f"{other.dtype}{list(other.shape)}, and not {one.dtype}{list(one.shape)}"
        if not one.numel():
            continue
        exact, close = one.double(), other.double()
        largest = exact.abs().nan_to_num(0.0, 0.0, 0.0).max().item() or 1.0
        off = (exact - close).abs().nan_to_num(0.0, 0.0, 0.0).max().item() / largest
        if off > TOLERANCE.get(one.dtype, 0.0) or not torch.equal(exact.isnan(), close.isnan()):
            return f"off by {off:.2g} of the largest number"
    return ""


def _tensors(result: Any) -> list[torch.Tensor]:
    return [leaf for leaf in pytree.tree_leaves(result) if isinstance(leaf, torch.Tensor)]


# -- the uses: each is given a module and its inputs, and returns what is to be compared -----------


def _call(module: nn.Module, inputs: Inputs) -> Any:
    with torch.no_grad():
        return module(*inputs)


def _in_inference_mode(module: nn.Module, inputs: Inputs) -> Any:
    with torch.inference_mode():
        return module(*inputs)


def _by_keyword(module: nn.Module, inputs: Inputs) -> Any:
    parameters = list(inspect.signature(module.forward).parameters.values())
    if any(each.kind is each.VAR_POSITIONAL for each in parameters):
        raise TypeError("the forward takes any number of inputs")
    names = [each.name for each in parameters]
    with torch.no_grad():
        return module(**dict(zip(names, inputs, strict=False)))


def _frozen(module: nn.Module, inputs: Inputs) -> Any:
    with torch.enable_grad():
        return module.requires_grad_(False)(*inputs)


def _backward(module: nn.Module, inputs: Inputs) -> Any:
    with torch.enable_grad():
        for tensor in _tensors(inputs):
            if tensor.is_floating_point():
                tensor.requires_grad_()
        results = [each for each in _tensors(module(*inputs)) if each.requires_grad]
        torch.autograd.backward([each.float().square().sum() for each in results])
    return [each.grad for each in (*_tensors(inputs), *module.parameters())]


def _one_row_more(module: nn.Module, inputs: Inputs) -> Any:
    n_rows = next(each.shape[0] for each in _tensors(inputs) if each.dim())

    def longer(value: torch.Tensor) -> torch.Tensor:
        has_rows = value.dim() > 0 and value.shape[0] == n_rows
        return torch.cat([value, value[:1]]) if has_rows else value

    return _call(module, pytree.tree_map_only(torch.Tensor, longer, inputs))


def _in_the_other_mode(module: nn.Module, inputs: Inputs) -> Any:
    return _call(module.train(not module.training), inputs)


def _reloaded(module: nn.Module, inputs: Inputs) -> Any:
    _call(module, inputs)
    state = {
        name: value * 1.25 if value.is_floating_point() else value
        for name, value in module.state_dict().items()
    }
    module.load_state_dict(state)
    return _call(module, inputs)


def _saved(module: nn.Module, inputs: Inputs) -> Any:
    file = io.BytesIO()
    torch.save(module, file)
    file.seek(0)
    return _call(torch.load(file, weights_only=False), inputs)


def _in_threads(module: nn.Module, inputs: Inputs) -> Any:
    results: list[Any] = [None] * 4

    def work(number: int) -> None:
        results[number] = _call(module, inputs)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(results))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def _compiled(module: nn.Module, inputs: Inputs) -> Any:
    torch._dynamo.reset()
    compiled = torch.compile(module, fullgraph=True, backend="aot_eager")
    return _call(cast(nn.Module, compiled), inputs)


def _traced(module: nn.Module, inputs: Inputs) -> Any:
    with torch.no_grad():
        return make_fx(module)(*inputs)(*inputs)


def _exported(module: nn.Module, inputs: Inputs) -> Any:
    with torch.no_grad():
        return _call(torch.export.export(module, tuple(inputs)).module(), inputs)


def _exported_for_any_batch(module: nn.Module, inputs: Inputs) -> Any:
    rows = torch.export.Dim("rows", min=2)
    n_rows = next(each.shape[0] for each in _tensors(inputs) if each.dim())

    def free(value: Any) -> Any:
        is_tensor = isinstance(value, torch.Tensor) and value.dim() > 0
        return {0: rows} if is_tensor and value.shape[0] == n_rows else None

    shapes = tuple(pytree.tree_map(free, value) for value in inputs)
    with torch.no_grad():
        made = torch.export.export(module, tuple(inputs), dynamic_shapes=shapes)
    return _one_row_more(made.module(), inputs)


def _vmapped(module: nn.Module, inputs: Inputs) -> Any:
    several = pytree.tree_map_only(torch.Tensor, lambda t: torch.stack([t, t]), inputs)
    with torch.no_grad():
        return torch.func.vmap(module)(*several)


def _packaged(module: nn.Module, inputs: Inputs) -> Any:
    with torch.no_grad(), tempfile.TemporaryDirectory() as folder:
        exported = torch.export.export(module, tuple(inputs))
        path = str(Path(folder, "model.pt2"))
        torch._inductor.aoti_compile_and_package(exported, package_path=path)
        return torch._inductor.aoti_load_package(path)(*inputs)


def _in_a_cuda_graph(module: nn.Module, inputs: Inputs) -> Any:
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(2):
            _call(module, inputs)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = _call(module, inputs)
    graph.replay()
    torch.cuda.synchronize()
    return result


def _on_another_stream(module: nn.Module, inputs: Inputs) -> Any:
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        result = _call(module, inputs)
    stream.synchronize()
    return result


USES: Mapping[str, Callable[[nn.Module, Inputs], Any]] = {
    "a call": _call,
    "inference mode": _in_inference_mode,
    "the other mode": _in_the_other_mode,
    "by keyword": _by_keyword,
    "frozen, gradients on": _frozen,
    "backward": _backward,
    "one row more": _one_row_more,
    "weights reloaded": _reloaded,
    "saved and loaded": _saved,
    "four threads": _in_threads,
    "torch.compile": _compiled,
    "make_fx": _traced,
    "torch.export": _exported,
    "export, any batch": _exported_for_any_batch,
    "vmap": _vmapped,
    "AOTInductor": _packaged,
    "CUDA graph": _in_a_cuda_graph,
    "another stream": _on_another_stream,
}
"""By name. A copy of the module is used each time, so that copying is tried throughout."""
SLOW = ("AOTInductor",)
ON_GPUS = ("CUDA graph", "another stream")


def _names(inputs: Sequence[Any], device: str, *, slow: bool) -> list[str]:
    left_out = {*(() if slow else SLOW), *(() if device == "cuda" else ON_GPUS)}
    if not any(tensor.dim() for tensor in _tensors(list(inputs))):
        left_out |= {"one row more", "export, any batch"}
    return [name for name in USES if name not in left_out]
