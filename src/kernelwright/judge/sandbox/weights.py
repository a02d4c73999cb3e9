"""Loads the reference's weights into a candidate's module, whatever names that uses."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Sequence

import torch

from kernelwright.loaders.plain import weights_of


def load_weights(
    module: torch.nn.Module, weights: dict[str, torch.Tensor], spare: Collection[str] = ()
) -> None:
    """Copy weights by name; or by order where the names differ and all shapes agree; or by name
    where names agree, and weights of one shape by order.

    A module that loads all of them strictly may keep them in any form. It may do without the
    weights in ``spare``, tables that its own constructor makes as it likes. A weight that lies in
    another's memory, such as a transposed view, gets its value with that.

    Raises:
        ValueError: a floating-point tensor of the module would stay without a value.
    """
    if not weights:
        return
    with contextlib.suppress(RuntimeError):
        module.load_state_dict(weights)
        return
    own = _apart(weights_of(module), weights)
    tables = {name for name, _ in module.named_buffers()} - set(weights)
    # With quantised ones, or without, as whole numbers of 8 bits may be masks, and with all whole
    # numbers where some are needed; all of the module's, or all but tables that its constructor
    # computed.
    needs_all = any(not _is_weight(value) for name, value in weights.items() if name not in spare)
    kinds = (torch.is_tensor, _is_weight, _is_number)
    for most in kinds if needs_all else kinds[1:]:
        numbers = [name for name, value in own.items() if most(value)]
        all_given = [name for name, value in weights.items() if most(value)]
        needed = [name for name in all_given if name not in spare]
        all_own, without = (numbers, all_given), [name for name in numbers if name not in tables]
        for names, takes in (all_own, (without, all_given), (numbers, needed), (without, needed)):
            if set(names) <= set(weights) and set(takes) <= set(own):
                module.load_state_dict(weights, strict=False)
                return
            pairs = _pairs(names, takes, own, weights)
            if pairs is not None:
                given = {new: weights[old] for new, old in pairs.items()}
                module.load_state_dict(given, strict=False)
                return
    raise ValueError(
        f"the module does not take the reference's weights: it has {numbers}, "
        f"the reference has {all_given}"
    )


def _apart(own: dict[str, torch.Tensor], weights: Collection[str]) -> dict[str, torch.Tensor]:
    """The weights without those that share another's memory, in their order. Of several in one
    place, the one whose name is a weight's stays, or else the first."""
    kept: dict[tuple[int, int], str] = {}
    for name in sorted(own, key=lambda name: name not in weights):
        value = own[name]
        place = value.data_ptr() or id(value)  # what is empty lies nowhere
        kept.setdefault((place, value.nbytes), name)
    names = set(kept.values())
    return {name: value for name, value in own.items() if name in names}


def _pairs(
    names: Sequence[str],
    takes: Sequence[str],
    own: dict[str, torch.Tensor],
    weights: dict[str, torch.Tensor],
) -> dict[str, str] | None:
    """The weight for each of the module's names: all in order; or equal names together and the
    others of one form in order. None where a form's numbers differ."""
    if len(names) != len(takes):
        return None
    in_order = dict(zip(names, takes, strict=True))
    common = set(names) & set(takes)
    rest = [
        sorted((name for name in some if name not in common), key=lambda name: _form(whose[name]))
        for some, whose in ((names, own), (takes, weights))
    ]
    by_form = dict(zip(*rest, strict=True)) | {name: name for name in common}
    for pairs in (in_order, by_form):
        if all(_form(own[new]) == _form(weights[old]) for new, old in pairs.items()):
            return pairs
    return None


def _is_number(value: torch.Tensor) -> bool:
    """True if it holds real or complex numbers."""
    return value.is_floating_point() or value.is_complex()


def _is_weight(value: torch.Tensor) -> bool:
    """True if it holds real or complex numbers, or integers that may be quantised ones."""
    return _is_number(value) or value.dtype in (torch.int8, torch.uint8)


def _form(value: torch.Tensor) -> tuple[torch.Size, bool, bool]:
    """The form by which a weight of another name is recognised."""
    return value.shape, value.is_complex(), value.is_floating_point()
