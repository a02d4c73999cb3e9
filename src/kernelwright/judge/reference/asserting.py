"""Operators whose GPU kernels assert something run on the host first.

An index out of range, or a probability above one, is an exception on a CPU. On a GPU the kernel's
assertion makes every later call of the process fail: a task's mistake, or inputs that it was not
made for, would end the judging of all tasks.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch.utils._pytree import tree_leaves, tree_map_only

from kernelwright.loaders.quiet_mode import QuietMode

OF_VALUES = frozenset(
    {"_assert_async", "bernoulli", "binary_cross_entropy", "binomial", "multinomial", "poisson"}
)
"""Operators of ATen whose kernels assert something of the numbers they are given (PyTorch,
aten/src/ATen/native/cuda: CUDA_KERNEL_ASSERT)."""

OF_PLACES = frozenset(
    {
        *("embedding", "_embedding_bag", "_embedding_bag_forward_only", "embedding_renorm"),
        *("gather", "index", "_unsafe_index", "index_select", "take", "repeat_interleave"),
        *("index_add", "index_copy", "index_fill", "index_put", "index_reduce", "put"),
        *("scatter", "scatter_add", "scatter_reduce", "masked_scatter"),
        *("max_unpool2d", "max_unpool3d"),
        *("nll_loss_forward", "nll_loss2d_forward"),
        *("multi_margin_loss", "multilabel_margin_loss_forward"),
    }
)
"""Operators whose kernels assert something of integers and masks only."""


class HostFirst:
    """Makes contexts in which such operators run on the host before they do on ``device``, so that
    they raise what they would assert."""

    def __init__(self, device: str) -> None:
        self._is_needed = torch.device(device).type != "cpu"
        self.has_met = False

    def __call__(self) -> AbstractContextManager[Any]:
        """One such context."""
        return _Watched(self) if self._is_needed else nullcontext()

    def settle(self) -> None:
        """The task has been seen whole: if nothing of it asserts, later contexts cost nothing."""
        self._is_needed &= self.has_met


class _Watched(QuietMode):
    def __init__(self, owner: HostFirst) -> None:
        super().__init__()
        self._owner = owner

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        if (name := _name(func)) in OF_VALUES or name in OF_PLACES:
            self._owner.has_met = True
            try_on_host(func, args, kwargs)
        return func(*args, **kwargs)


def try_on_host(operator: Any, args: Any, kwargs: dict[str, Any]) -> None:
    """Call ``operator`` with copies on the host, without numbers where only places count, unless
    all its tensors are there.

    Raises:
        RuntimeError, IndexError: what it says of such arguments.
    """
    given = args, {key: value for key, value in kwargs.items() if key != "generator"}
    tensors = [x for x in tree_leaves(given) if isinstance(x, torch.Tensor)]
    if all(x.device.type == "cpu" for x in tensors):
        return
    is_of_values = _name(operator) in OF_VALUES

    def twin(x: torch.Tensor) -> torch.Tensor:
        if not x.is_floating_point():
            return x.cpu()
        wide = x.dtype if x.element_size() > 4 else torch.float32  # a CPU has not all for others
        return x.cpu().to(wide) if is_of_values else torch.empty(x.shape, dtype=wide)

    args, kwargs = tree_map_only(torch.Tensor, twin, given)
    operator(*args, **kwargs)


def _name(operator: Any) -> str:
    return str(operator._schema.name).removeprefix("aten::").rstrip("_")
