"""While results are checked, fresh memory holds large numbers instead of zeros: a kernel that reads
memory which it should have written gives wrong results then.

Fresh pages are zero on a CPU, and mostly so on a GPU. The numbers are finite: multiplied by zero
they are zero, so a kernel that multiplies its padding by zero may leave anything in it.

Source:
    mallopt(3), M_PERTURB: malloc fills memory that it gives with the complement of the byte that is
    set, and freed memory with the byte. Blocks of up to a kilobyte that a thread has freed itself
    keep their contents.
"""

from __future__ import annotations

import contextlib
import ctypes

import torch

BYTE = 0x7B  # 1.3e36 in float32 and bfloat16, 5e286 in float64, 61,280 in float16
M_PERTURB = -6
TIMES, MOST_SHARE = 2, 1 / 128
"""The memory that is filled in a GPU's caching allocator: so many times the task's tensors, and at
most this share of the GPU's memory."""
SMALL_BYTES, N_SMALL = 1 << 19, 32
"""Small blocks, which the allocator takes from blocks of 2 MB of their own."""


def begin_filling(device: torch.device, n_bytes: int) -> None:
    """Fill fresh memory from now on; on a GPU only the blocks that torch hands out next.

    ``n_bytes``: the size of the task's tensors.
    """
    if device.type == "cpu":
        _perturb(BYTE ^ 0xFF)
        return
    most = int(torch.cuda.get_device_properties(device).total_memory * MOST_SHARE)
    sizes = [min(TIMES * n_bytes, most), *[SMALL_BYTES] * N_SMALL]
    held = []
    with contextlib.suppress(torch.OutOfMemoryError):  # a candidate needs it more
        held += [torch.full((size,), BYTE, dtype=torch.uint8, device=device) for size in sizes]


def end_filling() -> None:
    """Leave fresh memory as it comes on a CPU: filling it takes time."""
    _perturb(0)


def _perturb(byte: int) -> None:
    """Set the byte, if the C library's malloc has this option."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_PERTURB, byte)
