"""The library's own ways to run in a reduced precision, for baselines of tasks that ask for it."""

from __future__ import annotations

from typing import Any

import torch


def lower(run: Any, precision: str, is_held: bool) -> Any:
    """``run``, a module on float32, rounding to a precision on the way; results in float32.

    'tf32' is a flag of the process. 'bf16' and 'fp16' are torch.autocast's, or, where ``is_held``,
    those of the whole module. The text of this function stands in library files too: it needs
    nothing but torch.
    """
    if precision in ("tf32", "fp32"):
        is_allowed = precision == "tf32"
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = is_allowed
        torch.set_float32_matmul_precision("high" if is_allowed else "highest")
        return run
    dtype = {"bf16": torch.bfloat16, "fp16": torch.float16}[precision]
    if is_held:
        run = run.to(dtype)

    def change(value: Any, old: torch.dtype, new: torch.dtype) -> Any:
        return torch.utils._pytree.tree_map_only(
            torch.Tensor, lambda tensor: tensor.to(new) if tensor.dtype is old else tensor, value
        )

    def forward(*given: Any) -> Any:
        if is_held:
            result = run(*change(given, torch.float32, dtype))
        else:
            parts = torch.utils._pytree.tree_leaves(given)
            kind = next(part.device.type for part in parts if isinstance(part, torch.Tensor))
            with torch.autocast(kind, dtype=dtype):
                result = run(*given)
        return change(result, dtype, torch.float32)

    return forward


def rounded(x: torch.Tensor, precision: str) -> torch.Tensor:
    """A float32 tensor rounded to the nearest numbers of a precision; others as they are."""
    if x.dtype is not torch.float32:
        return x
    if precision != "tf32":
        return x.to({"bf16": torch.bfloat16, "fp16": torch.float16}[precision]).float()
    bits = x.view(torch.int32)  # of 23 bits of fraction 10 stay, the last one even in a tie
    nearest = (bits + 0xFFF + ((bits >> 13) & 1)) & ~0x1FFF
    return torch.where(x.isfinite(), nearest.view(torch.float32), x)
