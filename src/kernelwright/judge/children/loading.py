"""The reference's weights into a candidate's module, whatever that calls them."""

from __future__ import annotations

import contextlib
from collections.abc import Collection

import torch

from kernelwright.load.plain import weights_of


def load_weights(
    module: torch.nn.Module, weights: dict[str, torch.Tensor], spare: Collection[str] = ()
) -> None:
    """Copy weights by name, or by order where the names differ and all shapes agree.

    A module that takes all of them strictly may keep them in any form. Those in ``spare`` it may
    do without: tables that its own constructor makes as it likes.

    Raises:
        ValueError: a floating-point tensor of the module would stay without a value.
    """
    if not weights:
        return
    with contextlib.suppress(RuntimeError):
        module.load_state_dict(weights)
        return
    own = weights_of(module)
    tables = {name for name, _ in module.named_buffers()} - set(weights)
    # With quantised ones, or without, as whole numbers of 8 bits may be masks, and with all whole
    # numbers where some are needed; all of the module's, or all but tables that its constructor
    # computed.
    needs_all = any(not _is_weight(value) for name, value in weights.items() if name not in spare)
    kinds = (torch.is_tensor, _is_weight, _is_number)
    for most in kinds if needs_all else kinds[1:]:
        numbers = [name for name, value in own.items() if most(value)]
        given = [name for name, value in weights.items() if most(value)]
        needed = [name for name in given if name not in spare]
        all_own, without = (numbers, given), [name for name in numbers if name not in tables]
        for names, takes in (all_own, (without, given), (numbers, needed), (without, needed)):
            if set(names) <= set(weights) and set(takes) <= set(own):
                module.load_state_dict(weights, strict=False)
                return
            if [_form(own[n]) for n in names] == [_form(weights[n]) for n in takes]:
                by_order = {new: weights[old] for new, old in zip(names, takes, strict=True)}
                module.load_state_dict(by_order, strict=False)
                return
    raise ValueError(
        f"the module does not take the reference's weights: it has {numbers}, "
        f"the reference has {given}"
    )


def _is_number(value: torch.Tensor) -> bool:
    """Whether it holds real or complex numbers."""
    return value.is_floating_point() or value.is_complex()


def _is_weight(value: torch.Tensor) -> bool:
    """Whether it holds such numbers, or what may be quantised ones."""
    return _is_number(value) or value.dtype in (torch.int8, torch.uint8)


def _form(value: torch.Tensor) -> tuple[torch.Size, bool, bool]:
    """By what a weight of another name is known."""
    return value.shape, value.is_complex(), value.is_floating_point()
