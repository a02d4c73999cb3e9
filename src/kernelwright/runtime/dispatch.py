"""One module from several results: the best kernel for each shape, else the module's own code."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import nn

from kernelwright.core.errors import TaskError

Form = tuple[Hashable, ...]
"""The form of an input. For a tensor: dtype, shape, and strides of the axes longer than 1. For a
list, tuple or dict: the type and the forms of the items. For any other value: type and value."""
Key = tuple[str, tuple[Form, ...]]
"""The kind of device and the form of every input."""


class ByShape:
    """A forward for ``module`` that calls the kernel judged on inputs of the same form.

    Each kernel was judged for a kind of device, for shapes, strides, dtypes and plain values, in
    the mode (train or eval) in which the module was constructed, without gradients and outside
    ``torch.autocast``. Any other call runs the module's own forward. So does a call that requires
    gradients outside ``torch.no_grad()``, and a call that the kernel itself passes on to its
    reference.

    The module keeps its type and the names of its state. The kernels are not its submodules, and
    they always use its current weights.

    Raises:
        TaskError: a kernel stores its weights in another form.
    """

    def __init__(self, module: nn.Module, kernels: Mapping[Key, nn.Module]) -> None:
        self.module = module
        self.own = module.forward
        self.kernels = dict(kernels)
        self._judged_mode = module.training
        for kernel in self.kernels.values():
            _share_weights(module, kernel)
            kernel._reference_forward = self.own  # type: ignore[assignment]

    def __call__(self, *inputs: Any, **named: Any) -> Any:
        kernel = None if named else self.kernel_for(*inputs)
        if kernel is None:
            return self.own(*inputs, **named)
        with torch.no_grad():  # no gradient is needed, but the kernel cannot know that
            return kernel(*inputs)

    def kernel_for(self, *inputs: Any) -> nn.Module | None:
        """Return the kernel that was judged on inputs of this form; None if there is none."""
        tensors = list(_tensors(inputs))
        wants_gradient = torch.is_grad_enabled() and any(
            t.requires_grad for t in itertools.chain(tensors, self.module.parameters())
        )
        devices = {tensor.device.type for tensor in tensors}
        if wants_gradient or len(devices) != 1 or self.module.training != self._judged_mode:
            return None
        device = devices.pop()
        if torch.is_autocast_enabled(device):
            return None
        return self.kernels.get((device, forms_of(inputs)))


def forms_of(inputs: Sequence[Any]) -> tuple[Form, ...]:
    """Return the form of every input."""
    return tuple(map(_form, inputs))


def _form(value: Any) -> Form:
    if isinstance(value, torch.Tensor):
        return str(value.dtype).removeprefix("torch."), tuple(value.shape), _strides(value)
    if isinstance(value, dict):
        return "dict", *((key, _form(held)) for key, held in value.items())
    if isinstance(value, (list, tuple)):
        return type(value).__name__, *map(_form, value)
    # A kernel may have this value compiled in. An unhashable value never matches.
    return type(value).__name__, value if isinstance(value, Hashable) else object()


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    """Yield the tensors among the inputs and inside their lists, tuples and dicts."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple, dict)):
        for held in value.values() if isinstance(value, dict) else value:
            yield from _tensors(held)


def _strides(t: torch.Tensor) -> tuple[int, ...]:
    return tuple(step for step, n in zip(t.stride(), t.shape, strict=True) if n > 1)


def _share_weights(source: nn.Module, target: nn.Module) -> None:
    """Make ``target`` share the weights of ``source``, including its parameter and buffer tables.

    Because the tables are shared, replacing a tensor in one of them, as ``Module.to`` does with a
    buffer, replaces it for both modules.
    """
    state = source.state_dict(keep_vars=True)
    for name, weight in target.named_parameters():
        # Otherwise load_state_dict(assign=True) would change requires_grad in the source.
        weight.requires_grad_(state[name].requires_grad)
    target.load_state_dict(state, assign=True)
    shared = target.state_dict(keep_vars=True)
    tensors = {name: value for name, value in state.items() if isinstance(value, torch.Tensor)}
    other = [name for name, value in tensors.items() if shared[name] is not value]
    parts = dict(source.named_modules(remove_duplicate=False))
    for path, part in target.named_modules(remove_duplicate=False):
        for table in ("_parameters", "_buffers"):
            held = vars(part)[table]
            of_source = vars(parts.get(path, nn.Module()))[table]
            other += [f"{path}.{name}".lstrip(".") for name in held if name not in of_source]
            if held:
                vars(part)[table] = of_source
    if other:
        raise TaskError(
            "a kernel stores its weights in another form and would not follow the module's weights",
            seen=", ".join(other),
            do="build that result alone with kw.build(result)",
        )
