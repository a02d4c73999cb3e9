"""Tensors in memory that two processes share: where each lies, and views of them."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.parameter import is_lazy

if TYPE_CHECKING:
    from kernelwright.judge.devices.backend import DeviceBackend

PROGRESS_BYTES = 4096
"""The end of a ring's memory on a CPU: a word that says how many calls of a window have returned,
in whole pages."""
ALIGNMENT_BYTES = 4096
"""Every tensor starts on a page of its own, as large tensors of torch's allocator do."""


@dataclass(frozen=True)
class Slot:
    """A tensor's position in the shared memory, its shape, strides and dtype."""

    offset_bytes: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: str

    @property
    def span_bytes(self) -> int:
        """Bytes from the first element to the end of the last."""
        return span(self.shape, self.strides) * torch_dtype(self.dtype).itemsize


def torch_dtype(name: str) -> torch.dtype:
    """The dtype that 'float32' and the like name."""
    found: torch.dtype = getattr(torch, name)
    return found


def dtype_name(dtype: torch.dtype) -> str:
    """'float32' and the like."""
    return str(dtype).removeprefix("torch.")


def span(shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """The number of elements between a tensor's first element and the end of its last."""
    if 0 in shape:
        return 0
    return 1 + sum((n - 1) * stride for n, stride in zip(shape, strides, strict=True))


def is_folded(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """True if elements may share memory: an expanded tensor, or windows of a signal."""
    if 0 in shape:
        return False
    reach = 0
    for stride, n in sorted((s, n) for n, s in zip(shape, strides, strict=True) if n > 1):
        if stride <= reach:
            return True
        reach += stride * (n - 1)
    return False


def is_expanded(x: torch.Tensor) -> bool:
    """True if a dense tensor repeats elements by strides of zero."""
    if x.layout is not torch.strided or x.numel() == 0:
        return False
    return any(stride == 0 and n > 1 for n, stride in zip(x.shape, x.stride(), strict=True))


@torch.no_grad()
def written_out(module: torch.nn.Module) -> torch.nn.Module:
    """The module, with weights that share memory among their elements, such as expanded ones,
    copied to memory of their own: no values can be loaded into them otherwise."""
    # By name, for a candidate may define a "buffers" of its own.
    for _, weight in (*module.named_parameters(), *module.named_buffers()):
        if is_lazy(weight) or weight.layout is not torch.strided:
            continue
        if is_folded(weight.shape, weight.stride()):
            weight.data = weight.contiguous()
    return module


def map_tensors(function: Callable[[Any], Any], value: Any) -> Any:
    """``value`` with ``function`` applied to every tensor or Slot in its lists, tuples, dicts."""
    if isinstance(value, (torch.Tensor, Slot)):
        return function(value)
    if type(value) in (list, tuple):
        return type(value)(map_tensors(function, item) for item in value)
    if type(value) is dict:
        return {key: map_tensors(function, item) for key, item in value.items()}
    return value


def leaves(value: Any) -> list[Any]:
    """The tensors or Slots in a value, in order."""
    found: list[Any] = []
    map_tensors(found.append, value)
    return found


def lie_in(results: list[torch.Tensor], arguments: list[torch.Tensor]) -> list[bool]:
    """Which results are in the memory of arguments."""
    homes = {t.untyped_storage().data_ptr() for t in arguments if t.numel()}
    return [t.untyped_storage().data_ptr() in homes for t in results]


def those(tensors: list[torch.Tensor], is_one: list[bool]) -> list[torch.Tensor]:
    """The tensors that are marked; tensors beyond the last mark are left out."""
    return [t for t, is_marked in zip(tensors, is_one, strict=False) if is_marked]


def same_shapes(one: list[torch.Tensor], other: list[torch.Tensor]) -> bool:
    """True if results have the same shapes as far as both lists go."""
    return all(a.shape == b.shape for a, b in zip(one, other, strict=False))


def without_memory(tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    """Tensors of the same shapes, strides and dtypes that hold nothing."""
    return [torch.empty_strided(t.shape, t.stride(), dtype=t.dtype, device="meta") for t in tensors]


def plan_slots(value: Any, offset_bytes: int = 0) -> tuple[Any, int]:
    """``value`` with Slots in place of its tensors, and the end of the memory that they need."""
    end = offset_bytes

    def place(tensor: torch.Tensor) -> Slot:
        nonlocal end
        slot = Slot(end, tuple(tensor.shape), tuple(tensor.stride()), dtype_name(tensor.dtype))
        end += whole_pages(slot.span_bytes)
        return slot

    return map_tensors(place, value), end


def end_of(slots: Any) -> int:
    """The end of the last slot, in bytes."""
    return max((slot.offset_bytes + slot.span_bytes for slot in leaves(slots)), default=0)


def whole_pages(n_bytes: int) -> int:
    """The bytes of as many whole pages as hold ``n_bytes``."""
    return -(-n_bytes // ALIGNMENT_BYTES) * ALIGNMENT_BYTES


def view(slot: Slot, memory: torch.Tensor) -> torch.Tensor:
    """The tensor at ``slot`` of a memory given as bytes, sharing it.

    Shapes:
        memory: (n_bytes,) uint8; result: ``slot.shape`` with ``slot.strides``.
    """
    flat = flat_view(slot, memory)
    return flat.as_strided(slot.shape, slot.strides, flat.storage_offset())


def flat_view(slot: Slot, memory: torch.Tensor) -> torch.Tensor:
    """All elements between the first and the last of ``slot``, in one row.

    Shapes:
        memory: (n_bytes,) uint8; result: (span,).
    """
    piece = memory[slot.offset_bytes : slot.offset_bytes + slot.span_bytes]
    return piece.view(torch_dtype(slot.dtype))


def flat_source(tensor: torch.Tensor) -> torch.Tensor:
    """All elements between a tensor's first and last, in one row, sharing its memory."""
    count = span(tuple(tensor.shape), tuple(tensor.stride()))
    return tensor.as_strided((count,), (1,), tensor.storage_offset())


def in_layout(
    place: torch.Tensor, shape: tuple[int, ...], strides: tuple[int, ...]
) -> torch.Tensor:
    """The memory of the contiguous ``place`` in another layout; ``place`` if that is not dense.

    A copy that keeps the layout moves bytes as they lie: it takes as long for every layout.
    """
    if span(shape, strides) != place.numel():
        return place
    return place.view(-1).as_strided(shape, strides)


def shape_of(value: Any) -> tuple[str, tuple[int, ...]]:
    """A tensor's dtype and shape; for anything else its type."""
    if isinstance(value, torch.Tensor):
        return dtype_name(value.dtype), tuple(value.shape)
    return type(value).__name__, ()


def shapes_text(arguments: list[Any]) -> str:
    """'float32[3, 8], int[]'."""
    return ", ".join(f"{kind}{list(shape)}" for kind, shape in map(shape_of, arguments))


def bytes_of(kept: Any) -> int:
    """The memory of tensors, in lists or as the fields of an object."""
    parts = list(vars(kept).values()) if hasattr(kept, "__dict__") else kept
    tensors = (t for t in leaves(parts) if isinstance(t, torch.Tensor))
    return sum(t.numel() * t.element_size() for t in tensors)


class Region:
    """Memory that one child, or several trusted ones, share with the judge.

    Runners that share a region are called one at a time, each after its arguments were written.
    """

    def __init__(self, backend: DeviceBackend, n_bytes: int) -> None:
        self._backend = backend
        self.fd, self.memory = backend.share(n_bytes)

    def close(self) -> None:
        """Give the judge's side back; no tensor in it may be used afterwards."""
        if self.memory.numel():
            os.close(self.fd)
            self._backend.unshare(self.memory)
            self.memory = self.memory.new_empty(0)


def contents(arguments: Any, weights: Any, like: list[torch.Tensor]) -> list[Any]:
    """The contents of a region: arguments, weights, and outputs packed densely."""
    return [arguments, weights, [torch.empty(t.shape, dtype=t.dtype, device="meta") for t in like]]
