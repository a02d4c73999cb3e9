"""Index collisions: integers made equal to what the reference compares them with.

The task's own draws hardly ever hold such: the padding index among many words, a guessed label, an
edge from a node to itself. The reference is watched while it runs on the task's own inputs.
Integers that it compares, or adds up by index, and that are nowhere equal, are made equal in some
places, by numbers within the tensor's own range.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from kernelwright.judge.compare.hidden import is_plain
from kernelwright.judge.compare.measures import is_whole
from kernelwright.judge.perturb.integers import is_once
from kernelwright.judge.perturb.patterns import kept, laid_out, overlaps
from kernelwright.judge.sandbox.layout import leaves, map_tensors
from kernelwright.loaders.quiet_mode import QuietMode

Run = Callable[[list[Any]], list[torch.Tensor]]

EQUALITY = frozenset({"eq", "ne"})
LOSSES = frozenset({"nll_loss_forward", "nll_loss2d_forward"})
"""Operators of ATen whose arguments are labels and, last, the label to ignore."""
BAGS = frozenset({"_embedding_bag", "_embedding_bag_forward_only"})
"""Operators whose arguments are indices and, last, the padding index, if there is one."""
ALIGNING = "_ctc_loss"
"""The operator that compares each target with the one before it."""
ADDING = frozenset({"index_add", "index_reduce", "scatter_add", "scatter_reduce"})
"""Operators that reduce what has the same index."""
OVERWRITING = frozenset({"index_copy", "scatter"})
"""Operators whose result is undefined where an index occurs twice."""
COPIES = frozenset({"_to_copy", "clone"})
BARE = (torch.uint16, torch.uint32, torch.uint64)
"""Types for which torch has hardly any operators."""
COLLIDING_SHARE = 1 / 8
"""Share of a tensor's numbers that are made equal."""
MOST_LOOKED_AT = 256
"""Most comparisons that are looked at: a table of edit distances has one for each pair of
letters."""


def with_collisions(own: list[Any], run: Run, seed: int) -> list[Any]:
    """Return ``own`` arguments with the integers of one of them equal to what they are compared
    with. The ``seed`` says which: if others changed too, what they are compared with would move."""
    found = _collisions(own, run, seed)
    if not found:
        return own
    chosen, changed = [*found.items()][seed % len(found)]
    places = iter(range(len(leaves(own))))
    return list(map_tensors(lambda x: changed if next(places) == chosen else x, own))


def n_collisions(own: list[Any], run: Run) -> int:
    """The number of arguments that have integers to be made equal."""
    return len(_collisions(own, run, 0))


def _collisions(own: list[Any], run: Run, seed: int) -> dict[int, torch.Tensor]:
    """Make the changed arguments, by their places among all tensors."""
    given = leaves(own)
    if not any(map(_may_collide, given)):
        return {}
    copies = map_tensors(torch.clone, own)
    with _Watched(leaves(copies), torch.Generator(given[0].device).manual_seed(seed)) as watched:
        run(copies)
    found: dict[int, torch.Tensor] = {}
    for place, collisions in watched.found.items():
        x = given[place]
        changed = _changed(x, collisions)
        if place not in watched.overwriting and not torch.equal(x, changed):
            found[place] = changed
    return dict(sorted(found.items()))


def _changed(x: torch.Tensor, collisions: list[tuple[torch.Tensor, torch.Tensor]]) -> torch.Tensor:
    changed = x.clone()
    memory = changed.as_strided((changed.untyped_storage().nbytes() // x.element_size(),), (1,))
    low, high = min(0, int(x.min())), int(x.max())
    for places, numbers in collisions:
        at, order = places.sort(stable=True)
        numbers = numbers[order]
        is_meant = (numbers >= low) & (numbers <= high)
        is_meant[1:] &= at[1:] != at[:-1]  # of several for one place the last would be luck
        memory[at[is_meant]] = numbers[is_meant].to(x.dtype)
    return laid_out(kept(x, changed), x)


def _may_collide(x: torch.Tensor) -> bool:
    """Whether its numbers may occur more than once, and are not all the same."""
    if not is_whole(x) or x.dtype in (torch.bool, *BARE) or x.numel() < 2 or overlaps(x):
        return False
    return bool((x != x.flatten()[0]).any()) and not is_once(x)


class _Watched(QuietMode):
    """Finds comparisons of the ``given`` arguments by the code that runs in this mode."""

    def __init__(self, given: list[torch.Tensor], draw: torch.Generator) -> None:
        super().__init__()
        self._draw, self._n_seen = draw, 0
        self.found: dict[int, list[tuple[torch.Tensor, torch.Tensor]]] = {}
        """By argument, places in its memory, and the numbers that they should hold."""
        self.overwriting: set[int] = set()
        """Arguments by which something is written: none of their numbers may occur twice."""
        self._known: dict[int, tuple[torch.Tensor, int, torch.Tensor]] = {}
        """By the memory of an argument, or of a copy: the tensor, so that nobody else gets its
        memory, the argument, and for each element the place in the argument's memory."""
        for number, x in enumerate(given):
            if _may_collide(x):
                n = x.untyped_storage().nbytes() // x.element_size()
                self._know(x, number, torch.arange(n, device=x.device))

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        name = func._schema.name.removeprefix("aten::").rstrip("_")
        self._look(name, args)
        if name in COPIES and (source := self._source(args[0])) and is_whole(result):
            places = source[1].new_zeros(result.untyped_storage().nbytes() // result.element_size())
            of_result = (result.shape, result.stride(), result.storage_offset())
            places.as_strided(*of_result).copy_(source[1])
            self._know(result, source[0], places)
        return result

    def _look(self, name: str, args: Any) -> None:
        """Note what an operator compares, or adds up by index."""
        is_put = name == "index_put"
        if name in EQUALITY | LOSSES:
            one, other = (args[1], args[4]) if name in LOSSES else args[:2]
            self._compare(one, other)
            self._compare(other, one)
        elif name in BAGS and len(args) > 8:
            self._compare(args[1], args[8])
        elif name == ALIGNING:
            self._compare(args[1][..., 1:], args[1][..., :-1])
        elif name == "isin":
            self._seek(args[0], args[1])
            self._seek(args[1], args[0])
        elif name in ADDING | OVERWRITING or is_put:
            adds = name in ADDING or (is_put and args[3:] == (True,))
            for index in args[1] if is_put else [args[2]]:
                if adds:
                    self._seek(index, index)
                elif source := self._source(index):
                    self.overwriting.add(source[0])

    def _know(self, x: torch.Tensor, number: int, places: torch.Tensor) -> None:
        self._known[x.untyped_storage().data_ptr()] = x, number, places

    def _source(self, x: Any) -> tuple[int, torch.Tensor] | None:
        """Find the argument that a tensor is of, and the place of each element in its memory."""
        if not is_plain(x) or not is_whole(x):
            return None
        known = self._known.get(x.untyped_storage().data_ptr())
        if known is None or known[0].element_size() != x.element_size():
            return None
        return known[1], known[2].as_strided(x.shape, x.stride(), x.storage_offset())

    def _compare(self, x: Any, y: Any) -> None:
        """Note what some of ``x`` are to be, if they are an argument's, and ``y`` in no place."""
        source, y = self._source(x), _as_whole(y, x)
        if source is None or y is None or self._has_seen_enough():
            return
        other = self._source(y)
        is_met = x == y
        if other is not None and other[0] == source[0]:
            is_met &= source[1] != other[1]  # a number equals itself
        if is_met.numel() and not bool(is_met.any()):
            at, numbers = torch.broadcast_tensors(source[1], y)
            picked = tuple(self._picked(n, x.numel()) for n in at.shape)
            self.found.setdefault(source[0], []).append((at[picked], numbers[picked]))

    def _seek(self, x: Any, y: Any) -> None:
        """Note the same if none of ``x`` is any of ``y``, or occurs twice if that is ``x``
        itself."""
        source, y = self._source(x), _as_whole(y, x)
        if source is None or y is None or y.numel() == 0 or self._has_seen_enough():
            return
        is_met = len(x.unique()) < x.numel() if y is x else bool(torch.isin(x, y).any())
        if not is_met:
            at = source[1].flatten()[self._picked(x.numel(), x.numel())]
            numbers = y.flatten()[self._picked(y.numel(), x.numel())]
            self.found.setdefault(source[0], []).append((at, numbers))

    def _has_seen_enough(self) -> bool:
        self._n_seen += 1
        return self._n_seen > MOST_LOOKED_AT

    def _picked(self, n: int, n_elements: int) -> torch.Tensor:
        """Draw places below ``n``, for some of so many elements."""
        count = max(1, int(COLLIDING_SHARE * n_elements))
        return torch.randint(n, (count,), generator=self._draw, device=self._draw.device)


def _as_whole(y: Any, x: Any) -> torch.Tensor | None:
    """Return a whole number, or a tensor of such, as a tensor beside ``x``."""
    if is_plain(y):
        return y if is_whole(y) and y.dtype != torch.bool else None
    return torch.tensor(y, device=x.device) if type(y) is int and is_plain(x) else None
