"""``fib``: a folder of FlashInfer-Bench, with definition, workload, solution and trace.

Source:
    flashinfer-bench 0.1.2, ``flashinfer_bench/data``: Definition, Workload, Solution, Trace.
"""

from __future__ import annotations

import inspect
import json
import uuid
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import torch
from torch import nn

from kernelwright.core.errors import UsageError
from kernelwright.core.evaluation import CANDIDATE
from kernelwright.judge.baselines.library_settings import EAGER
from kernelwright.loaders import open_reference
from kernelwright.loaders.constructor import is_literal
from kernelwright.loaders.reference import CHECK_SEED
from kernelwright.shipping.shipment import PROVENANCE, Shipment

AUTHOR = "kernelwright"
RECEIPT_KEY = "kernelwright_receipt"
"""The receipt's name among a trace's extra facts."""
_TYPES = {bool: "bool", int: "int64", float: "float32"}
"""What the numbers among a forward's arguments are to a definition."""
_LOCALS = frozenset({"above", "held", "module", "name", "part", "path", "value"})
"""Names in the text of ``run`` that no input may have."""
_BY_POSITION = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_RUN = '''

_MODULES = {{}}


def run({names}):
    """{about}"""
    if {first}.device not in _MODULES:
        _MODULES[{first}.device] = {entry}({arguments}).to({first}.device)
    module = _MODULES[{first}.device]
    for path, value in {weights}:
        above, _, name = path.rpartition(".")
        part = module.get_submodule(above)
        held = part._parameters if name in part._parameters else part._buffers
        if held[name] is not value:
            held[name] = value
    with torch.no_grad():
        return module({inputs})
'''


def files(shipment: Shipment) -> dict[str, str | bytes]:
    """The folder's files by their paths.

    Raises:
        UsageError: a definition cannot say what the task's inputs or results are.
    """
    signature = _Signature(shipment)
    name, group = shipment.name, "module"
    solution = _solution(shipment, signature)
    workload = {
        "axes": {},
        "inputs": signature.workload,
        "uuid": str(uuid.uuid5(uuid.NAMESPACE_OID, shipment.task.digest)),
    }
    given = {"definition": name, "workload": workload}
    trace = {**given, "solution": solution["name"], "evaluation": _evaluation(shipment)}
    empty = {**given, "solution": None, "evaluation": None}
    found: dict[str, str | bytes] = {
        f"definitions/{group}/{name}.json": _json(_definition(shipment, signature, group)),
        f"workloads/{group}/{name}.jsonl": json.dumps(empty) + "\n",
        f"solutions/{AUTHOR}/{group}/{name}/{solution['name']}.json": _json(solution),
        f"traces/{AUTHOR}/{group}/{name}.jsonl": json.dumps(trace) + "\n",
        **shipment.evidence(),
    }
    return found | ({signature.blob: signature.blob_bytes()} if signature.stored else {})


class _Signature:
    """A task's forward as a function of tensors and numbers: its inputs, then its weights."""

    def __init__(self, shipment: Shipment) -> None:
        self.name = shipment.name
        task = shipment.task
        if task.step_of:
            raise _cannot("it was judged as a training step, which is no function", "hf")
        if task.payload is not None:
            raise _cannot("the task was made of an object, and a definition is text", "hf")
        self.reference = open_reference(task)
        self.module: nn.Module = self.reference.build(CHECK_SEED)
        self.given: Sequence[Any] = self.reference.inputs(CHECK_SEED)
        self.arguments = self.reference.init_inputs(CHECK_SEED)
        if not all(map(is_literal, self.arguments)):
            raise _cannot("the constructor takes arguments that text cannot say", "op")
        if "run" in self.reference.namespace:
            raise _cannot("the task's file has a name of its own that is run", "op")
        self.inputs = dict(zip(_names(self.module, len(self.given)), self.given, strict=True))
        state = self.module.state_dict().items()
        tensors = [pair for pair in state if isinstance(pair[1], torch.Tensor)]
        self.weights: dict[str, tuple[str, torch.Tensor]] = {}
        for path, value in tensors:
            name = path.replace(".", "_")
            while name in _LOCALS or name in self.inputs or name in self.weights:
                name += "_"
            self.weights[name] = path, value

    @property
    def values(self) -> dict[str, Any]:
        """Every input of the function by its name."""
        return self.inputs | {name: value for name, (_, value) in self.weights.items()}

    @cached_property
    def results(self) -> list[torch.Tensor]:
        """The forward's results, of which only the forms matter."""
        with torch.no_grad():
            made = self.module(*self.given)
        results = list(made) if isinstance(made, (list, tuple)) else [made]
        if not all(isinstance(one, torch.Tensor) for one in results) or not results:
            raise _cannot(f"the forward returns {type(made).__name__}", "op")
        return results

    @property
    def axes(self) -> dict[str, Any]:
        """An axis for every size: the kernels were made for these alone."""
        tensors = [*self.values.values(), *self.results]
        sizes = {n for one in tensors if isinstance(one, torch.Tensor) for n in one.shape}
        return {f"n{size}": {"type": "const", "value": size} for size in sorted(sizes)}

    @property
    def specs(self) -> dict[str, Any]:
        return {name: self._spec(name, value) for name, value in self.values.items()}

    def _spec(self, name: str, value: Any) -> dict[str, Any]:
        if isinstance(value, torch.Tensor):
            return _tensor_spec(value)
        if type(value) not in _TYPES:
            raise _cannot(f"{name} is a {type(value).__name__}", "op")
        return {"shape": None, "dtype": _TYPES[type(value)]}

    @property
    def stored(self) -> dict[str, torch.Tensor]:
        """Tensors whose values matter: whole numbers may be indices."""
        tensors = {k: v for k, v in self.values.items() if isinstance(v, torch.Tensor)}
        return {k: v for k, v in tensors.items() if not v.is_floating_point()}

    @property
    def blob(self) -> str:
        return f"blob/workloads/module/{self.name}/{self.name}.safetensors"

    def blob_bytes(self) -> bytes:
        try:
            from safetensors.torch import save
        except ImportError as error:
            raise UsageError(
                "whole numbers among the inputs are exported as safetensors",
                seen=str(error),
                do="pip install 'kernelwright[export]'",
            ) from error
        data: bytes = save({name: value.contiguous() for name, value in self.stored.items()})
        return data

    @property
    def workload(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name, value in self.values.items():
            if not isinstance(value, torch.Tensor):
                found[name] = {"type": "scalar", "value": value}
            elif name in self.stored:
                found[name] = {"type": "safetensors", "path": self.blob, "tensor_key": name}
            else:
                found[name] = {"type": "random"}
        return found

    def run(self, entry: str, about: str) -> str:
        """The text of the function ``run`` with a module of the class ``entry``."""
        tensors = [n for n, value in self.values.items() if isinstance(value, torch.Tensor)]
        if not tensors:
            raise _cannot("the forward takes no tensor", "op")
        weights = "".join(f'("{path}", {name}), ' for name, (path, _) in self.weights.items())
        return _RUN.format(
            names=", ".join(self.values),
            about=about,
            first=tensors[0],
            entry=entry,
            arguments=", ".join(map(repr, self.arguments)),
            weights=f"({weights.rstrip()})",
            inputs=", ".join(self.inputs),
        )


def _definition(shipment: Shipment, signature: _Signature, group: str) -> dict[str, Any]:
    task = shipment.task
    results = signature.results
    names = ["result"] if len(results) == 1 else [f"result_{n}" for n in range(len(results))]
    imports = "" if "import torch\n" in task.source else "\n\nimport torch\n"
    about = f"The forward of {task.entry} on these weights."
    return {
        "name": shipment.name,
        "op_type": group,
        "description": f"{task.name}: {task.entry} with its weights as inputs.",
        "axes": signature.axes,
        "inputs": signature.specs,
        "outputs": {n: _tensor_spec(r) for n, r in zip(names, results, strict=True)},
        "reference": f"{task.source.rstrip()}\n{imports}{signature.run(task.entry, about)}",
        "tags": ["kernelwright"],
        "constraints": [],
    }


def _solution(shipment: Shipment, signature: _Signature) -> dict[str, Any]:
    head = shipment.header(f"{shipment.task.name} as a function of its inputs and weights.")
    imports = "import torch\n\nfrom .kernel import ModelNew\n"
    main = f"{head}\n{imports}{signature.run('ModelNew', 'The kernels on these weights.')}"
    sources = {
        "main.py": main,
        "kernel.py": shipment.source(shipment.id),
        PROVENANCE: shipment.evidence()[PROVENANCE],
    }
    return {
        "name": shipment.id,
        "definition": shipment.name,
        "author": AUTHOR,
        "description": f"{shipment.title}. License: {shipment.license}. "
        f"Receipt: {shipment.receipt_digest}.",
        "spec": {
            "language": "triton" if shipment.candidate.dialect == "triton" else "python",
            "target_hardware": [shipment.where],
            "entry_point": "main.py::run",
            "dependencies": [],
            "destination_passing_style": False,
        },
        "sources": [{"path": path, "content": text} for path, text in sources.items()],
    }


def _evaluation(shipment: Shipment) -> dict[str, Any]:
    """The verdict as a trace has it: times beside eager, which is what a reference is there."""
    found = shipment.receipt.evaluation
    facts = found.environment.facts
    if found.timing is None or found.numerics is None:
        raise _cannot("it was not timed, and a trace that passed has times", "op")
    return {
        "status": "PASSED",
        "environment": {
            "hardware": shipment.where,
            "libs": {key: str(value) for key, value in facts.items()},
        },
        "timestamp": datetime.now(UTC).isoformat(timespec="seconds"),
        "log": "Errors are against float64, over the scale of its result, in both fields. The "
        f"speedup is against eager; against {found.timing.strongest} it is {found.speedup}.",
        "correctness": {
            "max_relative_error": found.numerics.max_error,
            "max_absolute_error": found.numerics.max_error,
            "extra": {
                RECEIPT_KEY: json.loads(shipment.receipt_text),
                "reference_error": found.numerics.reference_error,
                "allowed_error": found.numerics.allowed_error,
            },
        },
        "performance": {
            "latency_ms": found.timing.median_ns(CANDIDATE) / 1e6,
            "reference_latency_ms": found.timing.median_ns(EAGER) / 1e6,
            "speedup_factor": found.timing.speedup(EAGER).median,
        },
    }


def _names(module: nn.Module, n_inputs: int) -> list[str]:
    """The names of the forward's inputs, as far as they have one each."""
    named = list(inspect.signature(module.forward).parameters.values())[:n_inputs]
    if len(named) == n_inputs and all(one.kind in _BY_POSITION for one in named):
        return [f"{one.name}_" if one.name in _LOCALS else one.name for one in named]
    return [f"input_{n}" for n in range(n_inputs)]


def _tensor_spec(tensor: torch.Tensor) -> dict[str, Any]:
    dtype = str(tensor.dtype).removeprefix("torch.")
    return {"shape": [f"n{size}" for size in tensor.shape], "dtype": dtype}


def _json(facts: Mapping[str, Any]) -> str:
    return json.dumps(facts, indent=1) + "\n"


def _cannot(seen: str, other: str) -> UsageError:
    return UsageError(
        "this kernel cannot be a solution of FlashInfer-Bench",
        seen=seen,
        do=f"take --to {other}",
    )
