"""Whether a mutant is a fault, and what KernelBench's own check says of it.

A mutant is a fault if it runs on the task's own inputs, returns a tensor of the right shape and
dtype there, and on at least one legal input lies LOST_BITS further from float64 than both the right
candidate and FLOOR. The distance is the largest |x - float64| over the largest |float64|. Legal
inputs are the task's own (three seeds), its own with other weights, and its own changed as in
``CHANGES``, wherever the reference stays finite. Whatever does not meet this is an equivalent
mutant, or an error that any harness sees, and is not counted.

Each mutant runs in a forked process of its own: it may crash or hang.
"""

from __future__ import annotations

import copy
import importlib.machinery
import importlib.util
import io
import math
import multiprocessing
import sys
import types
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import torch

from kernelwright.core.task import Task
from kernelwright.judge.sandbox.weights import load_weights
from kernelwright.loaders import open_reference

LOST_BITS = 3
FLOOR = 2.0**-20
"""Sixteen units in the last place of float32: below that, orders of summation differ."""
TIMEOUT_S = 60.0
N_TRIALS = 5  # KernelBench's own: scripts/eval_from_generations.py, num_correct_trials
SEED = 42  # KernelBench's own: eval_kernel_against_ref, seed_num
CHANGES = {
    "negated": lambda x: -x,
    "tenfold": lambda x: 10 * x,
    "a hundredth": lambda x: 0.01 * x,
    "shifted by ten": lambda x: x + 10,
    "constant": lambda x: torch.full_like(x, 1.3),
    "every tenth": lambda x: x * (torch.arange(x.numel()).view(x.shape) % 10 == 0),
}


def open_kernelbench(checkout: Path) -> types.ModuleType:
    """KernelBench's ``eval`` module from a checkout, unchanged.

    Clients of models and of the web that its package imports, and the check does not use, may be
    missing: empty modules stand in for them.
    """
    sys.path.insert(0, str(checkout / "src"))
    for name in ("openai", "litellm", "dotenv", "requests"):
        if importlib.util.find_spec(name) is None:
            sys.modules[name] = _Absent(name)
    return importlib.import_module("kernelbench.eval")


class _Absent(types.ModuleType):
    __spec__ = importlib.machinery.ModuleSpec("absent", None)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *args, **kwargs: None


def study(task: Task, right: str, source: str, kernelbench: types.ModuleType) -> dict[str, Any]:
    """What is known of ``source``: 'is_fault', 'caught_by_kernelbench', 'on', 'error'."""
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_study, args=(there, task, right, source, kernelbench))
    process.start()
    there.close()
    try:
        return here.recv() if here.poll(TIMEOUT_S) else {"is_fault": False, "why": "it hangs"}
    except EOFError:
        return {"is_fault": False, "why": "it crashes"}
    finally:
        process.kill()
        process.join()


def _study(pipe: Any, task: Task, right: str, source: str, kernelbench: types.ModuleType) -> None:
    torch.set_num_threads(1)
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        try:
            result = _weigh(task, right, source)
            if result["is_fault"] or source == right:
                result["caught_by_kernelbench"] = not accepts(kernelbench, task, source)
        except Exception as error:  # a mutant may raise anything
            result = {"is_fault": False, "why": f"{type(error).__name__}: {error}"[:200]}
    pipe.send(result)


@torch.no_grad()
def _weigh(task: Task, right: str, source: str) -> dict[str, Any]:
    """Compare the mutant and the right candidate with float64 on every legal input."""
    worst, found = 0.0, ""
    reference = open_reference(task)
    for label, weights_seed, arguments in _legal_inputs(reference):
        model = reference.build(SEED)
        if weights_seed:
            _vary(model, weights_seed)
        own = model(*_copies(arguments))
        before = torch.get_default_dtype()
        torch.set_default_dtype(torch.float64)
        exact = copy.deepcopy(model).double()(*_copies(arguments, widen=True))
        torch.set_default_dtype(before)
        if not bool(own.isfinite().all() & exact.isfinite().all()):
            continue
        good = _run(right, reference, model, arguments)
        bad = _run(source, reference, model, arguments)
        if bad.shape != own.shape or bad.dtype != own.dtype:
            return {"is_fault": False, "why": "another shape or dtype"}
        limit = 2**LOST_BITS * max(_distance(good, exact), FLOOR)
        error = _distance(bad, exact)
        if error > limit and error / limit > worst:
            worst, found = error / limit, label
    return {"is_fault": worst > 0, "on": found, "error": worst, "why": "equivalent"}


def _legal_inputs(reference: Any) -> Iterator[tuple[str, int, list[Any]]]:
    for seed in (1, 2, 3):
        yield "its own", 0, reference.inputs(seed)
    yield "its own, other weights", 7, reference.inputs(4)
    for name, change in CHANGES.items():
        arguments = reference.inputs(5)
        is_float = [isinstance(a, torch.Tensor) and a.is_floating_point() for a in arguments]
        yield name, 0, [change(a) if f else a for a, f in zip(arguments, is_float, strict=True)]


def _vary(model: torch.nn.Module, seed: int) -> None:
    """Weights as training leaves them: no ones, no zeros."""
    draw = torch.Generator().manual_seed(seed)
    for parameter in model.parameters():
        parameter.mul_(0.5 + torch.rand(parameter.shape, generator=draw))
        parameter.add_(0.2 * torch.randn(parameter.shape, generator=draw))


def _run(source: str, reference: Any, model: torch.nn.Module, arguments: list[Any]) -> Any:
    namespace: dict[str, Any] = {"__name__": "candidate"}
    exec(compile(source, "candidate.py", "exec"), namespace)
    torch.manual_seed(SEED)
    candidate = namespace["ModelNew"](*reference.init_inputs(SEED))
    load_weights(candidate, model.state_dict())
    return candidate(*_copies(arguments))


def _copies(arguments: list[Any], *, widen: bool = False) -> list[Any]:
    def copied(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        return value.double() if widen and value.is_floating_point() else value.clone()

    return [copied(value) for value in arguments]


def _distance(value: torch.Tensor, exact: torch.Tensor) -> float:
    worst = float((value.double() - exact).abs().max() / exact.abs().max().clamp(min=1e-30))
    return math.inf if math.isnan(worst) else worst


def accepts(kernelbench: types.ModuleType, task: Task, source: str) -> bool:
    """Whether KernelBench's ``run_and_check_correctness`` passes the source, on the CPU.

    The function and its tolerance are called as they are, with five trials and float32. It waits
    for the GPU between steps; there is none, so ``torch.cuda.synchronize`` does nothing here.
    Both modules are built as ``eval_kernel_against_ref`` builds them, from one seed.
    """
    torch.cuda.synchronize = lambda *args, **kwargs: None
    context: dict[str, Any] = {}
    model_class, get_init, get_inputs = kernelbench.load_original_model_and_inputs(
        task.source, context
    )
    kernelbench.set_seed(SEED)
    initial = get_init()
    models = []
    for made in (model_class, kernelbench.load_custom_model(source, {}, None)):
        with torch.no_grad():
            kernelbench.set_seed(SEED)
            models.append(made(*initial))
    try:
        result = kernelbench.run_and_check_correctness(
            *models, get_inputs, metadata={}, num_correct_trials=N_TRIALS, seed=SEED,
            device=torch.device("cpu"), backend="cuda", precision=torch.float32,
        )  # fmt: skip
    except Exception:  # eval_kernel_against_ref takes any exception of the check as a failure
        return False
    return bool(result.correctness)
