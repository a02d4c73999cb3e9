"""One call of the reference, watched: its arithmetic, its sums, its writes, and its questions."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.nn.modules.batchnorm import _NormBase
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves

from kernelwright.judge.compare.growth import Adding
from kernelwright.judge.sandbox.flop_count import counting_flops
from kernelwright.judge.sandbox.overlaps import extent_of, overlapping
from kernelwright.loaders.plain import flatten, nesting
from kernelwright.loaders.quiet_mode import QuietMode

ASKING = {"isnan", "isinf", "isfinite", "isposinf", "isneginf", "nan_to_num", "nan_to_num_"}
ASKING |= {"nanmean", "nansum", "nanmedian", "nanquantile"}
"""Names of functions that ask for NaN or infinities, or leave them out."""
COMPARING = {"eq", "ne", "gt", "ge", "lt", "le"}
"""Names of functions that may compare with zero."""
TELLING = {"any", "all", "bool", "logical_not", "count_nonzero", "nonzero"}
"""Names of functions that tell zeros from other numbers."""


@dataclass(frozen=True)
class Observed:
    """The outputs of a call, and what was seen while it ran."""

    outputs: list[torch.Tensor]
    nesting: str
    flops: int
    most_added: float
    """The longest reduction of an operator."""
    is_known: bool
    """Whether the length of every operator's reductions is known."""
    factorises: bool
    convolves: bool
    writes_weights: bool
    asks_for_specials: bool
    asks_for_zeros: bool
    overlapping: frozenset[tuple[int, int]]
    """Pairs of outputs that share memory, by their numbers."""


def observe(
    call: Callable[[], Any],
    inputs: Sequence[Any] = (),
    module: torch.nn.Module | None = None,
) -> Observed:
    """Make the call, without gradients.

    ``inputs`` are its arguments and weights, the latter as held by a ``module`` that may write to
    them.
    """
    tensors = [t for t in tree_leaves(inputs) if isinstance(t, torch.Tensor)]
    adding, asking = Adding(), Asking(tensors)
    writing = Writing(writable(module) if module else ())
    with counting_flops() as counter, torch.no_grad(), adding, writing, asking:
        result = call()
    outputs = flatten(result)
    return Observed(
        outputs,
        nesting(result),
        counter.get_total_flops(),
        most_added=adding.most,
        is_known=adding.is_known,
        factorises=adding.factorises,
        convolves=torch.ops.aten.convolution in counter.flop_counts["Global"],
        writes_weights=writing.is_seen,
        asks_for_specials=asking.for_specials,
        asks_for_zeros=asking.for_zeros,
        overlapping=frozenset(overlapping([extent_of(t) for t in outputs])),
    )


class Asking(TorchFunctionMode):
    """Notes what a module asks for that its inputs do not hold; what it does with it is then part
    of the task.

    It asks ``for_specials`` if it looks for NaN or infinities, unless it makes them itself:
    attention that fills a mask with -inf cleans up queries that see nothing. ``inputs`` are
    arguments and weights; a mask among them may hold infinities already. It asks ``for_zeros`` if
    it compares floats with zero and the answer is the same for all. Where answers differ, as before
    a ReLU, both are seen anyhow.
    """

    def __init__(self, inputs: Iterable[torch.Tensor] = ()) -> None:
        super().__init__()
        self.for_specials = self.for_zeros = False
        self._makes_some = any(t.is_floating_point() and bool(t.isinf().any()) for t in inputs)

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        name = getattr(func, "__name__", "")
        given = tree_leaves((args, kwargs))
        self._makes_some |= any(isinstance(one, float) and math.isinf(one) for one in given)
        if name in ASKING and not self._makes_some:
            tensors = [one for one in given if isinstance(one, torch.Tensor)]
            self.for_specials |= all(bool(t.isfinite().all()) for t in tensors)
        found = func(*args, **(kwargs or {}))
        x, name = args[0] if args else None, name.strip("_")
        if isinstance(x, torch.Tensor) and x.is_floating_point() and x.numel() > 1:
            if name in COMPARING and len(args) > 1 and _is_zero(args[1]):
                self.for_zeros |= bool(found.all()) or not bool(found.any())
            elif name in TELLING:
                self.for_zeros |= bool((x != 0).all())
        return found


def _is_zero(x: Any) -> bool:
    return type(x) in (int, float) and x == 0


def writable(module: torch.nn.Module) -> list[torch.Tensor]:
    """Parameters and buffers, except the statistics of batch norms: in train mode no result depends
    on what is written there."""
    norms = (part for part in module.modules() if isinstance(part, _NormBase))
    statistics = {id(t) for norm in norms for t in norm.buffers(recurse=False)}
    return [*module.parameters(), *(t for t in module.buffers() if id(t) not in statistics)]


def memory_of(t: torch.Tensor) -> int:
    """The address of a tensor's memory; zero for tensors without one, as sparse ones."""
    try:
        return t.untyped_storage().data_ptr()
    except (NotImplementedError, RuntimeError):
        return 0


class Writing(QuietMode):
    """Notes whether ``weights`` are written to, even if no number changes, or get other memory."""

    def __init__(self, weights: Iterable[torch.Tensor] = ()) -> None:
        super().__init__()
        self._weights = list(weights)
        self._memory = list(map(memory_of, self._weights))
        self._is_written = False

    @property
    def is_seen(self) -> bool:
        return self._is_written or list(map(memory_of, self._weights)) != self._memory

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        schema = func._schema
        if schema.is_mutable and not self._is_written:
            given = {one.name: x for one, x in zip(schema.arguments, args, strict=False)} | kwargs
            written = [
                given.get(one.name)
                for one in schema.arguments
                if one.alias_info is not None and one.alias_info.is_write
            ]
            self._is_written = any(
                isinstance(x, torch.Tensor) and memory_of(x) in self._memory for x in written
            )
        return func(*args, **kwargs)
