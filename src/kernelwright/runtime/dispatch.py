"""One module from several results: the best kernel for each shape, its own code elsewhere."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import nn

from kernelwright.core.errors import TaskError

Form = tuple[Hashable, ...]
"""Of a tensor: its dtype, its shape, and its strides along axes of more than one number; of a list,
tuple or dict its type and the forms of what it holds; of another value its type and itself."""
Key = tuple[str, tuple[Form, ...]]
"""The kind of device, and the form of every input."""


class ByShape:
    """A forward for ``module``: calls the kernel that was judged on inputs like these, and the
    module's own forward where none was.

    A kernel was judged on a kind of device, on shapes, strides, dtypes and plain values, in the
    mode (train or eval) in which the module is constructed, without gradients and outside
    ``torch.autocast``: anything else goes to the module's own, and so does a call outside
    ``torch.no_grad()`` where inputs or weights want gradients, and one that the kernel itself sends
    to its reference.

    The module stays what it is, with the names of its state; the kernels are no part of it, and
    use its weights, whoever changes those.

    Raises:
        TaskError: a kernel keeps its weights in another form.
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
        with torch.no_grad():  # nothing here wants any, and the kernel refuses to guess that
            return kernel(*inputs)

    def kernel_for(self, *inputs: Any) -> nn.Module | None:
        """The kernel that was judged on inputs like these; None where there is none."""
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
    """The form of every input."""
    return tuple(map(_form, inputs))


def _form(value: Any) -> Form:
    if isinstance(value, torch.Tensor):
        return str(value.dtype).removeprefix("torch."), tuple(value.shape), _strides(value)
    if isinstance(value, dict):
        return "dict", *((key, _form(held)) for key, held in value.items())
    if isinstance(value, (list, tuple)):
        return type(value).__name__, *map(_form, value)
    # A kernel may hold such a value for what it was; one that no table takes is like no other.
    return type(value).__name__, value if isinstance(value, Hashable) else object()


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    """Those among inputs, and in what these hold."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (list, tuple, dict)):
        for held in value.values() if isinstance(value, dict) else value:
            yield from _tensors(held)


def _strides(t: torch.Tensor) -> tuple[int, ...]:
    return tuple(step for step, n in zip(t.stride(), t.shape, strict=True) if n > 1)


def _share_weights(source: nn.Module, target: nn.Module) -> None:
    """Give ``target`` the weights of ``source``, and the tables in which its parts hold them: who
    replaces one there, as ``Module.to`` does a buffer, replaces it for both."""
    state = source.state_dict(keep_vars=True)
    for name, weight in target.named_parameters():
        weight.requires_grad_(state[name].requires_grad)  # else assigning sets it in the source
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
            "a kernel keeps its weights in another form, and would not follow the module's",
            seen=", ".join(other),
            do="build it by itself, as kw.build(result)",
        )
