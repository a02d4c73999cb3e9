"""The ways in which a program uses a module, each tried on a built module beside its reference."""

from __future__ import annotations

import copy
import functools
import inspect
import io
import tempfile
import threading
import warnings
import zipfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import torch
from torch import nn
from torch.fx.experimental.proxy_tensor import make_fx
from torch.utils import _pytree as pytree

from kernelwright.compiler.candidate.unchanged import MISS
from kernelwright.core.collector import collector_off
from kernelwright.core.errors import TaskError
from kernelwright.core.use import IMPOSSIBLE, MISSED, RAISED, REFUSED, SERVED, WRONG, Use
from kernelwright.runtime.build import BUILD_SEED, build, opened
from kernelwright.search.result import Result

Inputs = list[Any]
TOLERANCE = {torch.float64: 1e-6, torch.float32: 1e-3, torch.bfloat16: 4e-2, torch.float16: 1e-2}
"""By dtype: the largest difference from the reference, as a share of its largest number. The judge
has compared the kernel with float64; this only finds results that are of something else."""
N_THREADS = 4


def uses(result: Result, *, device: str = "", slow: bool = False) -> list[Use]:
    """Try every use of a result's kernel in this process.

    ``device`` is where the module is put: by default where it was judged. With ``slow``, a round
    trip through AOTInductor is among the uses, which takes a compiler ten seconds and more.

    Raises:
        TaskError: the result has no kernel.
    """
    return [try_it() for try_it in ways(result, device=device, slow=slow).values()]


def ways(result: Result, *, device: str = "", slow: bool = False) -> dict[str, Callable[[], Use]]:
    """The uses that ``uses`` tries, by name.

    Raises:
        TaskError: as ``uses``.
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
    names = _names(inputs, where, slow=slow)

    def built_again(module: nn.Module) -> nn.Module:
        again = build(result) if module is built else reference.build(BUILD_SEED)
        again.to(where).load_state_dict(module.state_dict())
        return again

    fresh = copy.deepcopy if _survives_copying(built, inputs) else built_again
    return {name: functools.partial(try_use, name, built, own, inputs, fresh) for name in names}


def _survives_copying(built: nn.Module, inputs: Inputs) -> bool:
    """Whether kernels serve a copy of the module as well. They do not where a function that the
    module holds refers to its parts: that of a copy still refers to those of the first."""
    with torch.no_grad():
        why, why_copied = (
            getattr(module, "why_not", lambda *_: "")(*inputs)
            for module in (built, copy.deepcopy(built))
        )
    return bool(why) or not why_copied


def try_use(
    name: str,
    built: nn.Module,
    own: nn.Module,
    inputs: Inputs,
    fresh: Callable[[nn.Module], nn.Module] = copy.deepcopy,
) -> Use:
    """Use the built module and its reference in one way. ``fresh`` gives a module like another
    one, which nobody else uses."""
    use, run = USES[name], functools.partial(_used, inputs=inputs, fresh=fresh)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            found = run(use, built)
        except Exception as error:  # a kernel may raise anything
            is_refusal = "the kernels are not made for this call" in str(error)
            raised = Use(name, REFUSED if is_refusal else RAISED, _said(error))
            return _impossible(name, functools.partial(run, use, own)) or raised
    try:
        difference = _difference(run(_call if name in TRACES else use, own), found)
        if difference:  # a trace may draw other random numbers, and two runs may differ
            wanted, again = (run(use, own) for _ in range(2))
            difference = "" if _difference(wanted, again) else _difference(wanted, found)
    except Exception as error:  # and so may the user's module
        return Use(name, IMPOSSIBLE, _said(error))
    if difference:
        return Use(name, WRONG, difference)
    reasons = [str(each.message) for each in told if MISS in str(each.message)]
    return Use(name, MISSED, reasons[0].partition(f"{MISS}: ")[2]) if reasons else Use(name, SERVED)


def _impossible(name: str, use: Callable[[], Any]) -> Use | None:
    """The error that the reference raises in that use; None if it raises none."""
    try:
        use()
    except Exception as error:
        return Use(name, IMPOSSIBLE, _said(error))
    return None


def _used(
    use: Callable[[nn.Module, Inputs], Any],
    module: nn.Module,
    *,
    inputs: Inputs,
    fresh: Callable[[nn.Module], nn.Module],
) -> Any:
    """The results of a use of a module like this one, on copies of the inputs."""
    given = pytree.tree_map_only(torch.Tensor, torch.clone, inputs)
    torch.manual_seed(BUILD_SEED)
    return use(fresh(module), given)


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
    all_began = threading.Barrier(N_THREADS)

    def work(_: int) -> Any:
        all_began.wait()
        return _call(module, inputs)

    with ThreadPoolExecutor(N_THREADS) as pool:
        return list(pool.map(work, range(N_THREADS)))


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


def _require_shared_libstdcxx(package: str) -> None:
    """Refuse a package that ends the process when torch loads it.

    torch links a package by the machine's g++. If that finds no libstdc++.so, it links the static
    one, whose second copy in the process crashes at the regular expression by which a package reads
    its device's name.

    Raises:
        RuntimeError: the package is linked so.
    """
    with zipfile.ZipFile(package) as files:
        libraries = [files.read(name) for name in files.namelist() if name.endswith(".so")]
    if not all(b"libstdc++.so" in library for library in libraries):
        raise RuntimeError(
            "g++ linked the package with a libstdc++ of its own, and torch would crash in loading "
            "it; let g++ find libstdc++.so (g++ -print-file-name=libstdc++.so says where it looks)"
        )


def _packaged(module: nn.Module, inputs: Inputs) -> Any:
    with torch.no_grad(), tempfile.TemporaryDirectory() as folder:
        exported = torch.export.export(module, tuple(inputs))
        path = str(Path(folder, "model.pt2"))
        torch._inductor.aoti_compile_and_package(exported, package_path=path)
        _require_shared_libstdcxx(path)
        return torch._inductor.aoti_load_package(path)(*inputs)


def _in_a_cuda_graph(module: nn.Module, inputs: Inputs) -> Any:
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(2):
            _call(module, inputs)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with collector_off(), torch.cuda.graph(graph):
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


def _copied(module: nn.Module, inputs: Inputs) -> Any:
    return _call(copy.deepcopy(module), inputs)


USES: Mapping[str, Callable[[nn.Module, Inputs], Any]] = {
    "a call": _call,
    "a copy": _copied,
    "inference mode": _in_inference_mode,
    "the other mode": _in_the_other_mode,
    "by keyword": _by_keyword,
    "frozen, gradients on": _frozen,
    "backward": _backward,
    "weights reloaded": _reloaded,
    "saved and loaded": _saved,
    "four threads": _in_threads,
    "another stream": _on_another_stream,
    "CUDA graph": _in_a_cuda_graph,
    "vmap": _vmapped,
    "one row more": _one_row_more,
    "make_fx": _traced,
    "torch.export": _exported,
    "torch.compile": _compiled,
    "export, any batch": _exported_for_any_batch,
    "AOTInductor": _packaged,
}
"""By name, the quick ones first."""
TRACES = ("torch.compile", "make_fx", "torch.export", "AOTInductor")
"""Uses that make a callable of a module, whose results are compared with the module's own."""
SLOW = ("AOTInductor",)
ON_GPUS = ("CUDA graph", "another stream")


def _names(inputs: Sequence[Any], device: str, *, slow: bool) -> list[str]:
    left_out = {*(() if slow else SLOW), *(() if device == "cuda" else ON_GPUS)}
    if not any(tensor.dim() for tensor in _tensors(list(inputs))):
        left_out |= {"one row more", "export, any batch"}
    return [name for name in USES if name not in left_out]
