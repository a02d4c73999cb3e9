"""Calls by position: how a module is called with keywords or a cache, as a function of tensors.

A kernel takes its inputs by position and returns tensors. Modules of language models are called
with keywords that their forward only passes on (``position_ids`` in ``**kwargs``), and with a cache
of keys and values that the call fills. As an input in order, a cache is None where it is empty, and
a list where it is static: the keys and values of this layer, and how many rows of them are filled.
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
    """One way to call a module: which inputs are given by name, and which is a cache.

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
            given[self.cache] = filled = Filled(given[self.cache])
        n_by_name = len(self.names)
        first, last = (given[:-n_by_name], given[-n_by_name:]) if n_by_name else (given, [])
        result = forward(*first, **dict(zip(self.names, last, strict=True)))
        return result if self.cache < 0 else (result, filled.pair())


PLAIN = Call()


class Filled:
    """The cache of one layer, which keeps what it is given.

    ``static`` is None for an empty cache. Otherwise it holds keys and values, [batch, heads,
    length, width], and the number of rows along the length that are filled.
    """

    def __init__(self, static: Sequence[torch.Tensor] | None = None) -> None:
        self.static = static
        self.keys: torch.Tensor | None = None
        self.values: torch.Tensor | None = None

    def update(self, keys: torch.Tensor, values: torch.Tensor, *_: Any, **__: Any) -> Any:
        """Keep keys and values, and return all there are: these, or a static cache with these."""
        if self.keys is not None:
            raise Uncallable("it fills more than one layer of a cache")
        self.keys, self.values = keys, values
        if self.static is None:
            return keys, values
        if keys.shape[2] != 1:
            raise Uncallable("it puts more than one token into a static cache")
        known_keys, known_values, n_filled = self.static
        place = torch.arange(known_keys.shape[2], device=keys.device)[:, None]
        is_new = place == n_filled
        return torch.where(is_new, keys, known_keys), torch.where(is_new, values, known_values)

    def pair(self) -> tuple[torch.Tensor, torch.Tensor]:
        """The keys and values that it was given."""
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
    """How a module was called, and the inputs in order, with what a cache holds in its place.

    Raises:
        Uncallable: an input is neither a tensor, a plain value nor a cache that is empty or static.
    """
    inputs, names = _in_order(inspect.signature(module.forward), args, named)
    number = number_of(module)
    caches = [n for n, value in enumerate(inputs) if _is_known_cache(value, number)]
    if len(caches) > 1:
        raise Uncallable("it is called with two caches")
    for position in caches:
        inputs[position] = _static(inputs[position], number)
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
    number = number_of(module)
    if not _is_known_cache(cache, number):
        return "the kernel is for calls with an empty or a static cache"
    inputs[call.cache] = _static(cache, number)
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


def _is_known_cache(value: Any, number: int | None) -> bool:
    """Whether it is one of transformers' caches with nothing in this layer yet, or with a static
    layer that has its memory."""
    known = sys.modules.get("transformers.cache_utils")
    if known is None or number is None:
        return False
    if type(value) not in (known.DynamicCache, known.StaticCache):
        return False
    if number >= len(value.layers):
        return bool(value.layer_class_to_replicate is known.DynamicLayer)
    layer = value.layers[number]
    if type(layer) is known.DynamicLayer:
        return bool(layer.get_seq_length() == 0)
    return type(layer) is known.StaticLayer and bool(layer.is_initialized)


def _static(cache: Any, number: int | None) -> list[torch.Tensor] | None:
    """The keys, the values and the number of filled rows of a static layer; None where the layer is
    empty."""
    layers = cache.layers[number : number + 1] if number is not None else ()
    if layers and type(layers[0]).__name__ == "StaticLayer":
        return [layers[0].keys, layers[0].values, layers[0].cumulative_length]
    return None


def _other_than_plain(value: Any) -> str:
    """The name of a type that no task can hold; empty for tensors, plain values and lists of
    them."""
    if isinstance(value, (list, tuple)):
        return next(filter(None, map(_other_than_plain, value)), "")
    if isinstance(value, dict):
        return next(filter(None, map(_other_than_plain, value.values())), "")
    plain = (torch.Tensor, torch.dtype, torch.Size, bool, int, float, str)
    return "" if value is None or isinstance(value, plain) else type(value).__name__
