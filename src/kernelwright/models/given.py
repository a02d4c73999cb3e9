"""The input of ``accelerate``: a model, and the inputs of one forward, which can be repeated."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch import nn
from torch.utils import _pytree as pytree

from kernelwright.core.errors import TaskError

SAME_STEPS = 16
"""By how many rounding steps of their largest number two forwards' outputs may differ: library
kernels that add in another order at every call do so."""


class Given:
    """A model with the arguments of one forward.

    A forward may change what it is given, as a cache of keys and values; ``restore`` undoes that,
    so that every forward does the same.
    """

    def __init__(self, model: nn.Module, inputs: Any) -> None:
        if not isinstance(model, nn.Module):
            raise TaskError(
                "there is no model to accelerate",
                seen=type(model).__name__,
                do="give a torch.nn.Module",
            )
        self.model = model
        named = dict(inputs) if isinstance(inputs, Mapping) else {}
        listed = inputs if isinstance(inputs, (list, tuple)) else [inputs]
        self.args, self.named = () if named else tuple(listed), named
        if any(objects_in((self.args, self.named))):  # the forward would change the caller's
            self.args, self.named = copy.deepcopy((self.args, self.named))
        self.device = next((w.device for w in model.parameters()), torch.device("cpu"))
        self._objects = [(o, dict(vars(o))) for o in objects_in((self.args, self.named))]
        held = [v for _, own in self._objects for v in _flat(own)]
        self._tensors = [(t, t._version, t.clone()) for t in held if _is_tensor(t)]
        self._lists = [(v, list(v)) for _, own in self._objects for v in _lists_in(own)]

    @functools.cached_property
    def is_replayable(self) -> bool:
        """Whether a forward changes nothing among its inputs but the contents of tensors, so that
        a CUDA graph of it does the same: a static cache is so, and a growing one is not."""
        self.run(self.model)
        return all(
            vars(holder).get(name, holder) is value
            for holder, own in self._objects
            for name, value in own.items()
        ) and all(_same_items(listed, items) for listed, items in self._lists)

    def with_model(self, model: nn.Module) -> Given:
        """The same inputs for a twin of the model."""
        twin = copy.copy(self)
        twin.model = model
        return twin

    def run(self, model: Callable[..., Any]) -> Any:
        """Call ``model``, which may be another form of it, on the inputs as they were given."""
        self.restore()
        return self.call(model)

    def call(self, model: Callable[..., Any]) -> Any:
        """Call ``model`` on the inputs as they are now."""
        with torch.no_grad():
            return model(*self.args, **self.named)

    def restore(self) -> None:
        """Give the objects among the inputs the contents that they were given with."""
        for number, (tensor, version, copied) in enumerate(self._tensors):
            if tensor._version != version:
                tensor.copy_(copied)
                self._tensors[number] = (tensor, tensor._version, copied)
        for listed, items in self._lists:
            listed[:] = items
        for holder, own in self._objects:
            vars(holder).clear()
            vars(holder).update(own)

    def in_dtype(self, dtype: torch.dtype) -> Any:
        """The outputs of a copy of the model with all floating point numbers in ``dtype``."""
        self.restore()
        model = copy.deepcopy(self.model).to(dtype)
        args, named = copy.deepcopy((self.args, self.named))

        def converted(value: Any) -> Any:
            return value.to(dtype) if _is_tensor(value) and value.is_floating_point() else value

        for holder in objects_in((args, named)):
            vars(holder).update({k: converted(v) for k, v in vars(holder).items()})
        args, named = pytree.tree_map(converted, (args, named))
        with torch.no_grad():
            return model(*args, **named)

    def require_plain_weights(self) -> None:
        """Raise a TaskError where the weights are not plain tensors on one device."""
        kinds = {type(weight).__name__ for weight in self.model.parameters()} - {"Parameter"}
        if kinds:
            raise TaskError(
                "the model's weights are no plain tensors, as sharded and quantised ones are not",
                seen=", ".join(sorted(kinds)),
                do="accelerate the model before it is sharded or quantised",
            )
        state = self.model.state_dict()
        packed = [name for name, value in state.items() if not _is_tensor(value)]
        packed = [name for name in packed if not name.endswith("_extra_state")]
        if packed:
            raise TaskError(
                "the model keeps weights in another form than tensors, as quantised modules do",
                seen=", ".join(packed)[:200],
                do="accelerate the model before it is quantised",
            )
        places = {str(weight.device) for weight in self.model.parameters()}
        if len(places) > 1 or "meta" in places:
            raise TaskError(
                "the model's weights are not all on one device",
                seen=", ".join(sorted(places)),
                do="move the model to one CPU or GPU; it is profiled and timed there",
            )

    def require_repeatable(self) -> None:
        """Raise a TaskError where the model does not run on the inputs, or not twice the same."""
        elsewhere = {str(t.device) for t in tensors_of((self.args, self.named))} - {
            str(self.device)
        }
        if elsewhere:
            raise TaskError(
                "the inputs are on another device than the model",
                seen=f"{', '.join(sorted(elsewhere))}, and {self.device}",
                do=f"move the inputs to {self.device}",
            )
        try:
            first, second = ([t.clone() for t in tensors_of(self.run(self.model))] for _ in "12")
        except Exception as error:  # the user's forward raises what it likes
            raise TaskError(
                "the model does not run on these inputs",
                seen=f"{type(error).__name__}: {error}"[:300],
                do="give the arguments of its forward: a tensor, a list, or a dict by keyword",
            ) from error
        if not first:
            raise TaskError(
                "the model's outputs hold no tensor", seen="none", do="let it return tensors"
            )
        if not all(map(_nearly_equal, first, second)):
            raise TaskError(
                "the model is not deterministic: two forwards on the same inputs differ",
                seen="training mode" if self.model.training else "evaluation mode",
                do="call model.eval() first"
                if self.model.training
                else "let its forward draw no random numbers; give them to it as an input",
            )


def tensors_of(outputs: Any) -> list[torch.Tensor]:
    """The tensors among a model's inputs or outputs, in lists, tuples, dicts, dataclasses and
    caches."""
    found: list[torch.Tensor] = []
    for leaf in pytree.tree_leaves(outputs):
        if isinstance(leaf, torch.Tensor):
            found.append(leaf)
        else:
            found += [t for o in objects_in(leaf) for t in _flat(vars(o)) if _is_tensor(t)]
    return found


def objects_in(value: Any) -> Iterator[Any]:
    """The objects with attributes among values and in each other: caches, and their layers."""
    if isinstance(value, (list, tuple)):
        for each in value:
            yield from objects_in(each)
    elif isinstance(value, Mapping):
        yield from objects_in(list(value.values()))
    elif hasattr(value, "__dict__") and not isinstance(value, (torch.Tensor, type, nn.Module)):
        if callable(value) or type(value).__module__.partition(".")[0] == "torch":
            return
        yield value
        yield from objects_in(list(vars(value).values()))


def _is_tensor(value: Any) -> bool:
    return isinstance(value, torch.Tensor)


def _flat(own: Mapping[str, Any]) -> list[Any]:
    return pytree.tree_leaves(list(own.values()))


def _lists_in(own: Mapping[str, Any]) -> list[list[Any]]:
    return [value for value in own.values() if type(value) is list]


def _same_items(listed: list[Any], items: list[Any]) -> bool:
    return len(listed) == len(items) and all(a is b for a, b in zip(listed, items, strict=True))


def _nearly_equal(one: torch.Tensor, other: torch.Tensor) -> bool:
    if one.shape != other.shape:
        return False
    if not one.is_floating_point():
        return torch.equal(one, other)
    scale = one.abs().nan_to_num(0.0, 0.0, 0.0).max() if one.numel() else torch.ones(())
    limit = float(scale) * SAME_STEPS * torch.finfo(one.dtype).eps
    return torch.allclose(one, other, rtol=0.0, atol=limit, equal_nan=True)
