"""Convolutions in float32 on a GPU, which the library rounds to TF32 as it sees fit.

``torch.backends.cudnn.allow_tf32`` is on by default, and says what may be, not what is: cuDNN takes
TF32 or float32 by shapes, by the memory layout and by how much memory is free. So one run of the
reference is no yardstick for another: the same library call would pass in one process and be
refused in another. What the library may do under the flag, a candidate may.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from kernelwright.judge.compare.allowances import explained
from kernelwright.judge.compare.measures import as_real
from kernelwright.judge.compare.outputs import USELESS, Expected
from kernelwright.judge.sandbox.lowering import rounded


class RoundedConvolutions(TorchDispatchMode):
    """While it is entered, float32 convolutions get inputs and weights rounded to TF32."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        if func is torch.ops.aten.convolution.default:
            args = (rounded(args[0], "tf32"), rounded(args[1], "tf32"), *args[2:])
        return func(*args, **(kwargs or {}))


def may_be_rounded(device: str) -> bool:
    """Whether the library may take TF32 for convolutions there."""
    return torch.device(device).type == "cuda" and torch.backends.cudnn.allow_tf32


def as_rounded(
    expected: Expected, run: Callable[[], list[torch.Tensor]], *, is_own: bool
) -> Expected | None:
    """``expected`` with the errors allowed that ``run``, the reference, has where all convolutions
    are rounded. Where those explain nearly anything, zeros too, there is none, or on the task's own
    inputs ``expected`` as it is."""
    with RoundedConvolutions():
        wider = explained(expected, [as_real(run())])
    if wider.reference_error <= USELESS:
        return wider
    return expected if is_own else None
