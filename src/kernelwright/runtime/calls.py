"""Calls by position: how a module is called with keywords or a cache, as a function of tensors.

A kernel takes its inputs by position and returns tensors. Modules of language models are called
with keywords that their forward only passes on (``position_ids`` in ``**kwargs``), and with a cache
of keys and values that the call fills.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

TABLES = ("_parameters", "_buffers", "_modules")
NUMBER = "layer_idx"
"""The attribute in which transformers' modules keep the number of their layer in a cache."""


class Uncallable(Exception):
    """A call that no kernel can stand for; the text says why."""


@dataclass(frozen=True)
class Call:
    """One way to call a module: which inputs are given by name, and which is an empty cache.

    With a cache the kernel returns a pair: what the forward returns, and the keys and values that
    it puts into the cache.
    """

    n_positional: int = 0
    names: tuple[str, ...] = ()
    """The names of the last inputs; the forward takes these by keyword only."""
    cache: int = -1
    """The position of the cache among the inputs; -1 where there is none."""

    @property
    def is_plain(self) -> bool:
        """Whether it is a call by position without a cache."""
        return not self.names and self.cache < 0

    def run(self, forward: Callable[..., Any], inputs: Sequence[Any]) -> Any:
        """Call a forward with inputs in order."""
        given = list(inputs)
        filled = Filled()
        if self.cache >= 0:
            given[self.cache] = filled
        n_by_name = len(self.names)
        first, last = (given[:-n_by_name], given[-n_by_name:]) if n_by_name else (given, [])
        result = forward(*first, **dict(zip(self.names, last, strict=True)))
        return result if self.cache < 0 else (result, filled.pair())


PLAIN = Call()


class Filled:
    """An empty cache for one layer, which keeps what it is given."""

    def __init__(self) -> None:
        self.keys: torch.Tensor | None = None
        self.values: torch.Tensor | None = None

    def update(self, keys: torch.Tensor, values: torch.Tensor, *_: Any, **__: Any) -> Any:
        """Keep keys and values, and return all there are: these."""
        if self.keys is not None:
            raise Uncallable("it fills more than one layer of a cache")
        self.keys, self.values = keys, values
        return keys, values

    def pair(self) -> tuple[torch.Tensor, torch.Tensor]:
        if self.keys is None or self.values is None:
            raise Uncallable("it is given a cache that it does not fill")
        return self.keys, self.values


class ByPosition(nn.Module):
    """A module that is called by position; its weights and parts are those of another one."""

    def __init__(self, module: nn.Module, call: Call) -> None:
        super().__init__()
        vars(self).update({table: vars(module)[table] for table in TABLES})
        self._reference_forward: Callable[..., Any] = module.forward
        self.training = module.training
        self.call = call

    def forward(self, *inputs: Any) -> Any:
        return self.call.run(self._reference_forward, inputs)


def call_of(
    module: nn.Module, args: Sequence[Any], named: Mapping[str, Any]
) -> tuple[Call, list[Any]]:
    """How a module was called, and the inputs in order, with None in place of a cache.

    Raises:
        Uncallable: an input is neither a tensor, a plain value nor an empty cache.
    """
    inputs, names = _in_order(inspect.signature(module.forward), args, named)
    caches = [n for n, value in enumerate(inputs) if _is_empty_cache(value, number_of(module))]
    if len(caches) > 1:
        raise Uncallable("it is called with two caches")
    for position in caches:
        inputs[position] = None
    for value in inputs:
        if kind := _other_than_plain(value):
            raise Uncallable(f"it is called with a {kind}")
    return Call(len(inputs) - len(names), names, caches[0] if caches else -1), inputs


def inputs_as(
    call: Call, module: nn.Module, signature: inspect.Signature, args: Any, named: Any
) -> tuple[tuple[Any, ...], Any] | str:
    """The inputs of a call in the order of another one, and its cache; or why it is not such a
    call."""
    try:
        inputs, names = _in_order(signature, args, named)
    except Uncallable:
        return "the inputs do not fit the forward"  # which raises it
    if names != call.names:
        return f"no kernel was judged with {', '.join(names) or 'no input'} by name"
    if call.cache < 0:
        return tuple(inputs), None
    cache = inputs[call.cache] if call.cache < len(inputs) else None
    if not _is_empty_cache(cache, number_of(module)):
        return "the kernel is for calls with an empty cache"
    inputs[call.cache] = None
    return tuple(inputs), cache


def number_of(module: nn.Module) -> int | None:
    """The number of the only layer of a cache that a module fills; None where there is none."""
    numbers = {vars(part).get(NUMBER) for part in module.modules()} - {None}
    return numbers.pop() if len(numbers) == 1 else None


def _in_order(
    signature: inspect.Signature, args: Sequence[Any], named: Mapping[str, Any]
) -> tuple[list[Any], tuple[str, ...]]:
    if not named:
        return list(args), ()
    try:
        bound = signature.bind(*args, **named)
    except TypeError as error:
        raise Uncallable(str(error)) from error
    if bound.kwargs:  # a parameter between was left out, or it has no position
        bound.apply_defaults()
    parameters = signature.parameters
    by_name = {
        name: value
        for name, value in sorted(bound.kwargs.items())
        if name not in parameters or value is not parameters[name].default
    }
    return [*bound.args, *by_name.values()], tuple(by_name)


def _is_empty_cache(value: Any, number: int | None) -> bool:
    """Whether it is transformers' growing cache, with nothing in this layer yet."""
    known = sys.modules.get("transformers.cache_utils")
    if known is None or number is None or type(value) is not known.DynamicCache:
        return False
    if number >= len(value.layers):
        return value.layer_class_to_replicate is known.DynamicLayer
    layer = value.layers[number]
    return type(layer) is known.DynamicLayer and layer.get_seq_length() == 0


def _other_than_plain(value: Any) -> str:
    """The name of a type that no task can hold; empty for tensors, plain values and lists of
    them."""
    if isinstance(value, (list, tuple)):
        return next(filter(None, map(_other_than_plain, value)), "")
    if isinstance(value, dict):
        return next(filter(None, map(_other_than_plain, value.values())), "")
    plain = (torch.Tensor, torch.dtype, torch.Size, bool, int, float, str)
    return "" if value is None or isinstance(value, plain) else type(value).__name__
