"""Clock: several forms of one model timed in turn, in one process."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import torch

from kernelwright.core.evaluation import Ratio, median_ratio

MIN_ROUNDS, MAX_ROUNDS = 7, 100


def interleaved_ns(
    forms: Mapping[str, Callable[[], object]],
    *,
    device: torch.device,
    limit_s: float,
    prepare: Callable[[], object] = lambda: None,
) -> dict[str, list[int]]:
    """The times of each form, one call of every form a round, for about ``limit_s`` seconds.

    ``prepare`` is called before every call, outside the clock.
    """
    samples: dict[str, list[int]] = {name: [] for name in forms}

    def timed_ns(form: Callable[[], object]) -> int:
        prepare()
        _settle(device)
        start_ns = time.perf_counter_ns()
        form()
        _settle(device)
        return time.perf_counter_ns() - start_ns

    for form in forms.values():
        timed_ns(form)
    deadline = time.monotonic() + limit_s
    names = list(forms)
    for number in range(MAX_ROUNDS):
        if number >= MIN_ROUNDS and time.monotonic() > deadline:
            break
        turned = names[number % len(names) :] + names[: number % len(names)]
        for name in turned:
            samples[name].append(timed_ns(forms[name]))
    return samples


def _settle(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def speedup(samples: Mapping[str, list[int]], of: str, over: str) -> Ratio:
    """How many times as fast one form is as another, from the ratios of the same rounds."""
    return median_ratio([b / a for a, b in zip(samples[of], samples[over], strict=True)])
