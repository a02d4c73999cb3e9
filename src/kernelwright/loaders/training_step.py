"""The training step of a task: another task, whose results are the module's and their gradients.

It is judged, timed and archived like any task. Its reference calls the module with gradients on and
asks autograd for the gradients of every floating-point input and of every parameter that requires
one, for cotangents that are further inputs. A cotangent is the gradient of some loss with respect
to one result.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kernelwright.core.candidate import Candidate
from kernelwright.core.errors import TaskError
from kernelwright.core.task import Task
from kernelwright.loaders.reference import (
    CHECK_SEED,
    FURTHER,
    MISFIT,
    Reference,
    open_reference,
    task_code,
)

if TYPE_CHECKING:
    import torch

REFERENCE, CANDIDATE = "TrainingStep", "TrainingStepNew"
"""The names of the judged classes: of the reference, and of a candidate."""
ENTRY = "ModelNew"
"""The class of a candidate's file that takes the place of the module."""
_SUFFIX = "_training"
_STEP = '''\
class {name}(torch.nn.Module):
    """A training step of {model}: the results of its forward, then the gradients of the inputs
    {places} and of all parameters that require one. Cotangents of the results follow the inputs.
    """

    n_inputs, places = {n_inputs}, {places}

    def __init__(self, *args, **kwargs):
        super().__init__()
        module = {model}(*args, **kwargs)
        self.__dict__.update(module.__dict__)  # the state has the names that it has there
        object.__setattr__(self, "_module", module)

    def train(self, mode=True):
        self._module.train(mode)
        return super().train(mode)

    # torch.compile compiles the module's forward and its backward, and not the step around them:
    # other steps of a program lie between the two.
    @torch.compiler.disable(recursive=False)
    def forward(self, *given):
        inputs, cotangents = list(given[: self.n_inputs]), given[self.n_inputs :]
        with torch.enable_grad():
            for place in self.places:
                inputs[place] = inputs[place].detach().requires_grad_()
            results = torch.utils._pytree.tree_leaves(self._module(*inputs))
            trained = [weight for weight in self.parameters() if weight.requires_grad]
            gradients = torch.autograd.grad(
                [result for result in results if result is not None and result.requires_grad],
                [*(inputs[place] for place in self.places), *trained],
                cotangents,
                materialize_grads=True,
            )
        return [*(result if result is None else result.detach() for result in results), *gradients]
'''
_INPUTS = """\
_inputs_of_forward = get_inputs


def get_inputs():
    return [
        *_inputs_of_forward(),
{cotangents}    ]
"""
_OTHER_INPUTS = """\


def get_other_inputs():
    return []  # cotangents would have other shapes


def get_holdout_inputs():
    return []
"""


def training_step(task: Task) -> Task:
    """Return the task of one training step of ``task``'s module, under another name and digest.

    Gradients are asked of the inputs that require one where ``get_inputs`` makes such, else of
    all tensors of real numbers. A task that is a training step already is returned as it is.

    Raises:
        TaskError: the forward does not run, or no result depends on anything that can have a
            gradient.
    """
    if task.step_of:
        return task
    reference = open_reference(task)
    inputs = reference.blank_inputs()
    places = reference.inputs_with_gradients() or _real(inputs)
    module = reference.build(CHECK_SEED)
    with task_code(task, *MISFIT):
        results = _results(module, inputs, places)
    if not results:
        raise _nothing_to_train(task, module, inputs)
    lines = "".join(
        f"        torch.randn({tuple(result.shape)}, dtype={result.dtype}),\n" for result in results
    )
    step = step_text(REFERENCE, task.entry, len(inputs), places)
    parts = [f'STEP_OF = "{task.entry}"', step, _INPUTS.format(cotangents=lines)]
    if not reference.namespace.keys().isdisjoint(FURTHER):
        parts.append(_OTHER_INPUTS.strip("\n"))
    head = task.source.rstrip()
    if not _imports_torch(head):
        parts.insert(0, "import torch")
    text = "\n\n\n".join([head, *(part.rstrip() for part in parts)])
    return replace(task, name=task.name + _SUFFIX, source=f"{text}\n", entry=REFERENCE)


def as_judged(candidate: Candidate, task: Task) -> Candidate:
    """Return the candidate as ``task`` is judged: for a training step, with a step around it.

    A file that says itself what is judged, as an entry of its own or a ``TrainingStepNew``, stays.
    """
    if not task.step_of or candidate.entry != ENTRY:
        return candidate
    text = candidate.source.rstrip()
    if f"class {CANDIDATE}(" not in text:
        step = open_reference(task).namespace[REFERENCE]
        text = f"{text}\n\n\n{step_text(CANDIDATE, ENTRY, step.n_inputs, step.places)}"
        text = text if _imports_torch(text) else f"import torch\n{text}"
    return replace(candidate, source=text, entry=CANDIDATE)


def module_of(module: torch.nn.Module) -> torch.nn.Module:
    """Return the module that a training step trains; any other is returned as it is."""
    found: torch.nn.Module = vars(module).get("_module", module)
    return found


def inputs_of_module(reference: Reference, seed: int) -> list[Any]:
    """Return inputs of the task's module on the CPU: those of a training step without the
    cotangents."""
    inputs = reference.inputs(seed, "cpu")
    step = reference.namespace.get(REFERENCE)
    return inputs[: step.n_inputs] if reference.task.step_of else inputs


def _imports_torch(text: str) -> bool:
    return re.search(r"^import torch$", text, re.M) is not None


def step_text(name: str, model: str, n_inputs: int, places: Sequence[int]) -> str:
    """Return the text of the class ``name``, a training step of the class ``model``.

    ``n_inputs``: how many arguments the forward takes; ``places``: which of them get gradients.
    """
    return _STEP.format(name=name, model=model, n_inputs=n_inputs, places=tuple(places))


def _real(inputs: Sequence[Any]) -> list[int]:
    """The positions of the tensors of real numbers."""
    import torch

    return [
        place
        for place, value in enumerate(inputs)
        if isinstance(value, torch.Tensor) and value.is_floating_point()
    ]


def _results(
    module: torch.nn.Module, inputs: Sequence[Any], places: Sequence[int]
) -> list[torch.Tensor]:
    """The results of a forward that have gradients; only their forms are computed."""
    import torch
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode(allow_non_fake_inputs=True) as mode, torch.enable_grad():
        given = [
            mode.from_tensor(value.detach()).requires_grad_(place in places)
            if isinstance(value, torch.Tensor)
            else value
            for place, value in enumerate(inputs)
        ]
        leaves = torch.utils._pytree.tree_leaves(module(*given))
    return [leaf for leaf in leaves if isinstance(leaf, torch.Tensor) and leaf.requires_grad]


def _nothing_to_train(task: Task, module: torch.nn.Module, inputs: Sequence[Any]) -> TaskError:
    n_trained = sum(weight.requires_grad for weight in module.parameters())
    kinds = ", ".join(str(getattr(value, "dtype", type(value).__name__)) for value in inputs)
    return TaskError(
        f"{task.name} has nothing to train: no result of its forward has a gradient",
        seen=f"inputs of {kinds}; {n_trained} parameters that require a gradient",
        do="leave out --backward, or return a result that depends on real inputs or parameters",
    )
