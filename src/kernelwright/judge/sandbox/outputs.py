"""A child's claims about its outputs: parsed, and checked for form before anything is read."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from kernelwright.core.outcome import ReasonCode, Warned, WarningCode
from kernelwright.judge.refusal import Refused
from kernelwright.judge.sandbox.layout import bytes_of, dtype_name, is_folded, span
from kernelwright.judge.sandbox.overlaps import Extent, overlapping
from kernelwright.judge.sandbox.process_memory import is_repeated, mapped, may_write
from kernelwright.loaders.plain import CONSTANTS, MAX_DEPTH, enclosed, enclosed_by_name, nesting

MAX_SPREAD = 8
"""An output may be a view that spans at most this many times its own size, or as much memory as the
reference's own output, or as the arguments."""
SMALL_SPAN = 1 << 16  # elements that may be spanned whatever the output's size
SAVED_SHARE = 1 / 8
"""An output of at most this share of all outputs' bytes may be part of another output."""


@dataclass(frozen=True)
class Claim:
    """A child's claim about where one output lies."""

    name: str
    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def span(self) -> int:
        """Elements from the first to the end of the last."""
        return span(self.shape, self.strides)


@dataclass(frozen=True)
class ResultForm:
    """The expected form of a module's results, as the reference gives them."""

    like: list[torch.Tensor]
    """Outputs of the expected shapes and dtypes, without memory."""
    nesting: str = ""
    """The nesting of the result; empty: any."""
    n_entries: int = 0
    """The number of outputs, the last ones, that are put into lists or dictionaries among the
    arguments."""
    changed: tuple[bool, ...] = ()
    """Which arguments the reference writes to: their contents follow the outputs."""
    keeps_arguments: bool = False
    """True if arguments may be part of the results, so that they must outlive a call."""


def check_claims(reply: Any, form: ResultForm, device: str, *, room_bytes: int = 0) -> list[Claim]:
    """The claims in a reply, one for each expected output on this kind of ``device``.

    ``room_bytes``: the memory that any output may span. The last step of a running result, whose
    steps are as large as the arguments, is such a view.

    Raises:
        Refused: the number, type, shape, dtype, device or nesting is not the expected one, or the
            reply is nonsense.
    """
    like, nested = form.like, form.nesting
    leaves, seen = _leaves(reply)
    of_these = (
        f", the last {form.n_entries} in lists or dicts that it is given" if form.n_entries else ""
    )
    if len(leaves) != len(like):
        seen = f"{len(leaves)} outputs instead of {len(like)}{of_these}"
        raise Refused(ReasonCode.OUTPUT_COUNT, seen)
    if nested and seen != nested:
        reason = f"its result is {seen:.100} instead of {nested:.100}{of_these}"
        raise Refused(ReasonCode.OUTPUT_NESTING, reason)
    names = ["the output"] if len(like) == 1 else [f"output {n}" for n in range(len(like))]
    return [_check(*row, device, room_bytes) for row in zip(names, leaves, like, strict=True)]


def claims_at(addresses: Any, last: list[Claim], n_calls: int) -> list[list[Claim]]:
    """The claims of a window's calls, at these addresses, each laid out as the ``last`` call's.

    Raises:
        Refused: they are not the addresses of so many calls, or not the last one's where it says
            that its outputs are.
    """
    rows = addresses if isinstance(addresses, list) else []
    is_whole = len(rows) == n_calls and all(
        isinstance(row, list)
        and len(row) == len(last)
        and all(type(at) is int and 0 <= at < 1 << 62 for at in row)
        for row in rows
    )
    if not is_whole or rows[-1] != [claim.address for claim in last]:
        seen = f"its window's outputs are described by nonsense: {addresses!r:.100}"
        raise Refused(ReasonCode.NONSENSE_CLAIM, seen)
    return [
        [replace(claim, address=at) for claim, at in zip(last, row, strict=True)] for row in rows
    ]


def refuse_reused(
    calls: Sequence[list[Claim]], like: list[torch.Tensor], *, but_for: list[bool]
) -> None:
    """Refuse outputs of different ``calls``, all held by the caller, that overlap in memory;
    outputs marked in ``but_for`` do not count.

    Raises:
        Refused: some do.
    """
    held = [
        (*extent, number)
        for number, claims in enumerate(calls)
        for extent, is_left_out in zip(_spans(claims, like), but_for, strict=False)
        if not is_left_out and extent[0] < extent[1]
    ]
    furthest, owner = 0, -1
    for start, end, number in sorted(held):
        if start < furthest and number != owner:
            raise Refused(
                ReasonCode.OUTPUT_REUSED,
                "an output lies in the memory of another call's, which the caller still holds",
            )
        if end > furthest:
            furthest, owner = end, number


def refuse_lent(pid: int, calls: Sequence[list[Claim]], like: list[torch.Tensor]) -> None:
    """Refuse outputs of these ``calls``, all held by the caller, that are not the caller's own: it
    may not write to one, or an output has several addresses, so that writing to one changes others.
    A candidate has written less then than its outputs hold.

    Raises:
        Refused: there is such an output.
    """
    spans = [one for claims in calls for one in _spans(claims, like)]
    parts = list(mapped(pid))
    if is_repeated(parts, spans):
        reason = "parts of outputs are the same memory, mapped at several addresses"
        raise Refused(ReasonCode.OUTPUT_MAPPED_TWICE, reason)
    if not may_write(parts, spans):
        reason = "an output lies in memory that may not be written to"
        raise Refused(ReasonCode.OUTPUT_READ_ONLY, reason)


def refuse_overlapping(
    claims: list[Claim], like: list[torch.Tensor], known: Collection[tuple[int, int]]
) -> list[Warned]:
    """Refuse outputs of one call that overlap in memory, except for the pairs that are ``known`` to
    overlap in the reference's.

    Returns:
        Warnings where that saves next to nothing, such as a last state that is a view of all
        states.
    Raises:
        Refused: it saves writing an output.
    """
    extents = [
        Extent(claim.address, claim.shape, claim.strides, one.element_size())
        for claim, one in zip(claims, like, strict=False)
    ]
    warnings = []
    for pair in sorted(overlapping(extents) - set(known)):
        one, other = pair
        reason = f"outputs {one} and {other} have memory in common, which the reference's have not"
        if min(bytes_of([like[n]]) for n in pair) > SAVED_SHARE * bytes_of(like):
            raise Refused(ReasonCode.OUTPUTS_OVERLAP, f"{reason}: return a clone of one")
        told = f"{reason}: who writes to one changes the other"
        warnings.append(Warned(WarningCode.OUTPUTS_OVERLAP, told))
    return warnings


def overlap(
    claims: list[Claim], others: list[Claim], like: list[torch.Tensor], *, but_for: list[bool]
) -> bool:
    """True if outputs of two calls overlap in memory; outputs marked in ``but_for`` do not
    count."""

    def spans(call: list[Claim]) -> list[tuple[int, int]]:
        rows = zip(_spans(call, like), but_for, strict=False)
        return [one for one, is_left_out in rows if not is_left_out]

    pairs = itertools.product(spans(claims), spans(others))
    return any(
        start < their_end and their_start < end for (start, end), (their_start, their_end) in pairs
    )


def _spans(claims: list[Claim], like: list[torch.Tensor]) -> list[tuple[int, int]]:
    """The address range of each output."""
    rows = zip(claims, like, strict=False)
    return [(c.address, c.address + c.span * t.element_size()) for c, t in rows]


def _leaves(reply: Any, depth: int = 0) -> tuple[list[Any], str]:
    """The parts of a reply that describe one output each, and their ``nesting``."""
    if isinstance(reply, dict) and depth < MAX_DEPTH:
        for kind in ("list", "tuple"):
            if isinstance(reply.get(kind), list):
                parts = [_leaves(item, depth + 1) for item in reply[kind]]
                found = [leaf for leaves, _ in parts for leaf in leaves]
                return found, enclosed(nested for _, nested in parts)
        if isinstance(reply.get("dict"), dict):
            rows = [(name, *_leaves(item, depth + 1)) for name, item in reply["dict"].items()]
            found = [leaf for _, leaves, _ in rows for leaf in leaves]
            return found, enclosed_by_name((name, nested) for name, _, nested in rows)
        if "plain" in reply and (reply["plain"] is None or type(reply["plain"]) in CONSTANTS):
            return [], nesting(reply["plain"])
    return [reply], "tensor"


def _check(name: str, leaf: Any, like: torch.Tensor, wanted_device: str, room_bytes: int) -> Claim:
    if not (isinstance(leaf, dict) and "tensor" in leaf):
        raise Refused(ReasonCode.NOT_A_TENSOR, f"{name} is not a plain torch.Tensor: {leaf!r:.100}")
    claim, dtype, device = _parse(name, leaf["tensor"])
    if claim.shape != tuple(like.shape):
        seen, wanted = list(claim.shape), list(like.shape)
        raise Refused(ReasonCode.OUTPUT_SHAPE, f"{name} has shape {seen} instead of {wanted}")
    if dtype != dtype_name(like.dtype):
        reason = f"{name} is {dtype} instead of {dtype_name(like.dtype)}"
        raise Refused(ReasonCode.OUTPUT_DTYPE, reason)
    if device != wanted_device:
        raise Refused(ReasonCode.OUTPUT_DEVICE, f"{name} is on {device}, not on {wanted_device}")
    if is_folded(claim.shape, claim.strides) and not is_folded(claim.shape, like.stride()):
        reason = f"{name} has elements that lie in the same memory"
        raise Refused(ReasonCode.OUTPUT_FOLDED, reason)
    usual = span(tuple(like.shape), like.stride())  # the reference's own may be a view
    room = room_bytes // like.element_size()
    if claim.span > max(usual, room, MAX_SPREAD * max(like.numel(), SMALL_SPAN)):
        reason = f"{name} spans {claim.span} elements of memory"
        raise Refused(ReasonCode.OUTPUT_SPREAD, reason)
    return claim


def _parse(name: str, place: Any) -> tuple[Claim, str, str]:
    try:
        address, shape, strides, dtype, device = place
        numbers = [address, *shape, *strides]
        sound = all(type(n) is int and 0 <= n < 1 << 62 for n in numbers)
        if sound and len(shape) == len(strides) <= 64 and type(dtype) is type(device) is str:
            return Claim(name, address, tuple(shape), tuple(strides)), dtype, device
    except (TypeError, ValueError):
        pass
    raise Refused(ReasonCode.NONSENSE_CLAIM, f"{name} is described by nonsense: {place!r:.100}")
