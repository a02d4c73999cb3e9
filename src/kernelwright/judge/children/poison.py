"""Memory that nobody has written to holds large numbers instead of noughts, while results are
checked: what reads it where it should have written shows.

Fresh pages are zero on a CPU, and mostly so on a GPU. The numbers are finite: times nought they are
nought, so that what multiplies its padding by that may leave anything in it.

Source:
    mallopt(3), M_PERTURB: what malloc gives is filled with the complement of the byte that is set,
    and what is freed with the byte. Not so what a thread has given back itself, of a kilobyte at
    most: that holds what it held.
"""

from __future__ import annotations

import contextlib
import ctypes

import torch

BYTE = 0x7B  # 1.3e36 in float32 and bfloat16, 5e286 in float64, 61,280 in float16
M_PERTURB = -6
TIMES, MOST_SHARE = 2, 1 / 128
"""Of what arguments, weights and outputs take, in a GPU's caching allocator, and of its memory."""
SMALL_BYTES, N_SMALL = 1 << 19, 32
"""What the allocator has apart, from blocks of 2 MB."""


def begin(device: torch.device, n_bytes: int) -> None:
    """From now on memory on a CPU, and on a GPU the next of torch's, is not zero.

    ``n_bytes``: of the task's tensors.
    """
    if device.type == "cpu":
        _perturb(BYTE ^ 0xFF)
        return
    most = int(torch.cuda.get_device_properties(device).total_memory * MOST_SHARE)
    sizes = [min(TIMES * n_bytes, most), *[SMALL_BYTES] * N_SMALL]
    held = []
    with contextlib.suppress(torch.OutOfMemoryError):  # a candidate needs it more
        held += [torch.full((size,), BYTE, dtype=torch.uint8, device=device) for size in sizes]


def end() -> None:
    """Memory on a CPU is again what it is: to fill it takes time."""
    _perturb(0)


def _perturb(byte: int) -> None:
    """Where the C library knows how: another's malloc does not."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_PERTURB, byte)
