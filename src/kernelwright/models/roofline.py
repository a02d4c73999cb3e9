"""The least time that each module of a model can take: its memory traffic and its arithmetic.

Every input and weight is read once and every output is written once, at the rate of a large copy;
products and convolutions run at the rate of a large product. What a module takes beyond that is
the room for a kernel.

Source:
    Williams, Waterman, Patterson 2009, Roofline: an insightful visual performance model, CACM 52.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from kernelwright.core.device import Device
from kernelwright.judge.devices.backend import backend_of
from kernelwright.judge.devices.roofline import MARGIN, copied_bytes_per_s, peak_flops_per_s
from kernelwright.loaders.flops import attention_formulas
from kernelwright.models.given import Given, tensors_of


def least_s(given: Given) -> Mapping[str, float]:
    """By path: the least seconds that the calls of a module take in one forward."""
    backend = backend_of(Device.parse(given.device.type))
    bytes_per_s = copied_bytes_per_s(backend)
    flops_per_s = peak_flops_per_s(backend, _usual_dtype(given.model)) / MARGIN
    moved, flops = _work(given)
    return {path: max(moved[path] / bytes_per_s, flops[path] / flops_per_s) for path in moved}


def _work(given: Given) -> tuple[Counter[str], Counter[str]]:
    """The bytes and the floating-point operations of every module's calls, by path."""
    moved: Counter[str] = Counter()
    with contextlib.ExitStack() as hooks:
        for path, module in given.model.named_modules():
            after = _adding(moved, path, _weight_bytes(module))
            handle = module.register_forward_hook(after, with_kwargs=True)
            hooks.callback(handle.remove)
        given.run(given.model)
    return moved, _flops(given)


def _flops(given: Given) -> Counter[str]:
    """Operations of products and convolutions, by path; none where torch cannot count them."""
    root = type(given.model).__name__
    try:
        with FlopCounterMode(display=False, custom_mapping=attention_formulas()) as counter:
            given.run(given.model)
    except Exception:  # a formula refuses shapes that its operator takes
        return Counter()
    counts = counter.get_flop_counts().items()
    paths = {name: name.removeprefix(root).removeprefix(".") for name, _ in counts}
    return Counter({paths[name]: sum(each.values()) for name, each in counts if name != "Global"})


def _adding(moved: Counter[str], path: str, weights: int) -> Callable[..., None]:
    def after(_: nn.Module, args: Any, named: Any, outputs: Any) -> None:
        moved[path] += weights + _bytes((args, named, outputs))

    return after


def _weight_bytes(module: nn.Module) -> int:
    """The bytes of all weights but of tables, of which a call reads a few rows."""
    tables = {id(m.weight) for m in module.modules() if isinstance(m, nn.Embedding)}
    held = {id(w): w for w in (*module.parameters(), *module.buffers()) if id(w) not in tables}
    return _bytes(list(held.values()))


def _bytes(values: Any) -> int:
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors_of(values))


def _usual_dtype(model: nn.Module) -> torch.dtype:
    sizes: Counter[torch.dtype] = Counter()
    for weight in model.parameters():
        if weight.is_floating_point():
            sizes[weight.dtype] += weight.numel()
    return max(sizes, key=sizes.__getitem__, default=torch.float32)
