"""One module from several results: the best kernel for each shape, the reference for all others."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import nn

Key = tuple[str, tuple[tuple[str, tuple[int, ...]], ...]]
"""The kind of device, and (dtype, shape) of every input, as a workload names them."""


class ByShape(nn.Module):
    """Calls the kernel that was judged on inputs like these, and the reference where none was.

    A kernel was judged on a kind of device, on shapes and dtypes, in the mode (train or eval) in
    which the module is constructed, without gradients and outside ``torch.autocast``: anything
    else goes to the reference, and so does a call outside ``torch.no_grad()`` where inputs or
    weights want gradients.
    Its weights are those at the time it was built.
    """

    def __init__(self, reference: nn.Module, kernels: Mapping[Key, nn.Module]) -> None:
        super().__init__()
        self.reference = reference
        self.kernels = nn.ModuleList(kernels.values())
        self._places = {key: place for place, key in enumerate(kernels)}
        self._judged_mode = reference.training
        self.training = reference.training

    def forward(self, *inputs: Any, **named: Any) -> Any:
        kernel = None if named else self.kernel_for(*inputs)
        if kernel is None:
            return self.reference(*inputs, **named)
        with torch.no_grad():  # nothing here wants any, and the kernel refuses to guess that
            return kernel(*inputs)

    def kernel_for(self, *inputs: Any) -> nn.Module | None:
        """The kernel that was judged on inputs like these; None where the reference is called."""
        tensors = [value for value in inputs if isinstance(value, torch.Tensor)]
        wants_gradient = torch.is_grad_enabled() and any(
            t.requires_grad for t in itertools.chain(tensors, self.reference.parameters())
        )
        devices = {tensor.device.type for tensor in tensors}
        if wants_gradient or len(devices) != 1 or self.training != self._judged_mode:
            return None
        device = devices.pop()
        place = self._places.get((device, shapes_of(inputs)))
        if place is None or torch.is_autocast_enabled(device):
            return None
        return self.kernels[place]


def shapes_of(inputs: Sequence[Any]) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """(dtype, shape) of every input; of what is no tensor the type, and no shape."""
    return tuple(
        (str(value.dtype).removeprefix("torch."), tuple(value.shape))
        if isinstance(value, torch.Tensor)
        else (type(value).__name__, ())
        for value in inputs
    )
