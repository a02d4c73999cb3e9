"""Clock: several forms of one model timed in turn, in one process."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import torch

from kernelwright.core.evaluation import Ratio, median_ratio

MIN_ROUNDS, MAX_ROUNDS = 7, 60


def interleaved_ns(
    forms: Mapping[str, Callable[[], object]], *, device: torch.device, limit_s: float
) -> dict[str, list[int]]:
    """The times of each form, one call of every form a round, for about ``limit_s`` seconds."""
    samples: dict[str, list[int]] = {name: [] for name in forms}

    def settle() -> None:
        if device.type == "cuda":
            torch.cuda.synchronize(device)

    for form in forms.values():
        form()
    settle()
    deadline = time.monotonic() + limit_s
    names = list(forms)
    for number in range(MAX_ROUNDS):
        if number >= MIN_ROUNDS and time.monotonic() > deadline:
            break
        turned = names[number % len(names) :] + names[: number % len(names)]
        for name in turned:
            start_ns = time.perf_counter_ns()
            forms[name]()
            settle()
            samples[name].append(time.perf_counter_ns() - start_ns)
    return samples


def speedup(samples: Mapping[str, list[int]], of: str, over: str) -> Ratio:
    """How many times as fast one form is as another, from the ratios of the same rounds."""
    return median_ratio([b / a for a, b in zip(samples[of], samples[over], strict=True)])
