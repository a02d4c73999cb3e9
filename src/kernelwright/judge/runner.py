"""Running one module in one child: arguments in, one timed call, outputs back and checked."""

from __future__ import annotations

import errno
import pickle
from dataclasses import dataclass
from typing import Any

import torch

from kernelwright.core.evaluation import Status
from kernelwright.judge.child import Child, ChildEnded
from kernelwright.judge.layout import (
    Slot,
    dtype_name,
    map_tensors,
    plan_slots,
    span,
    torch_dtype,
    view,
)
from kernelwright.judge.wire import Garbled, Late

MAX_SPREAD = 8
"""An output may be a view that spans at most this many times its own size."""
LOG_LINES = 12
BUILD_STATUS = {"import": Status.BUILD_ERROR, "construct": Status.BUILD_ERROR}


class Refused(Exception):
    """A judgement that ends early: the status and the reason."""

    def __init__(self, status: Status, reason: str) -> None:
        self.status = status
        self.reason = reason
        super().__init__(reason)


@dataclass(frozen=True)
class Program:
    """What a child is to run: a source, its entry and how to set it up."""

    source: str
    entry: str
    initial: list[Any]
    seed: int
    setting: dict[str, Any]


class Runner:
    """One module in one child, called as often as the judge likes.

    Every method that talks to the child raises ``Refused`` when the child ends, hangs, talks
    nonsense or reports an error.
    """

    def __init__(self, child: Child, *, threads: int) -> None:
        self.child = child
        self.threads = threads
        self.slots: Any = None
        self.plain: Any = None
        self.memory_bytes = 0

    def build(
        self,
        program: Program,
        weights: dict[str, torch.Tensor],
        arguments: list[Any],
        *,
        limit_s: float,
    ) -> None:
        """Share memory, construct the module and load the weights."""
        slots, end = plan_slots(arguments)
        weight_slots, total = plan_slots(weights, end)
        self._guard(lambda: self.child.share(total, threads=self.threads), "start", limit_s)
        self.slots, self.memory_bytes = slots, total
        self._write(weight_slots, weights)
        self._ask(
            "build",
            limit_s,
            source=program.source,
            entry=program.entry,
            initial=pickle.dumps(program.initial),
            seed=program.seed,
            weights=weight_slots,
            setting=program.setting,
        )
        self._ask("prepare", limit_s, arguments=slots)

    def load(self, weights: dict[str, torch.Tensor], *, limit_s: float) -> None:
        """Give the module other weights, in place."""
        _, end = plan_slots(self.slots_of_arguments())
        slots, _ = plan_slots(weights, end)
        self._write(slots, weights)
        self._ask("load", limit_s, weights=slots)

    def slots_of_arguments(self) -> Any:
        return map_tensors(lambda slot: _empty(slot), self.slots)

    def put(self, arguments: list[Any]) -> None:
        """Write the arguments of the next call while the child stands still."""
        slots, _ = plan_slots(arguments)
        if slots != self.slots:
            self.slots = slots
            self._ask("prepare", 30.0, arguments=slots)
        self.stand_still()
        self._write(slots, arguments)

    def stand_still(self) -> None:
        """Stop the child; processes that it left running besides its own are killed."""
        if self._guard(self.child.stop, "stop", 0.0):
            self._guard(self.child.clear, "stop", 0.0)

    def call(self, *, limit_s: float) -> tuple[int, list[Any]]:
        """One forward on the arguments that were put; wall nanoseconds and described outputs."""
        elapsed_ns, reply = self._guard(lambda: self.child.call(timeout_s=limit_s), "run", limit_s)
        self._raise_error(reply)
        return elapsed_ns, flatten_reply(reply)

    def fetch(self, described: list[Any], like: list[torch.Tensor]) -> list[torch.Tensor]:
        """The outputs, read from the stopped child; checked for number, type, shape and dtype.

        Shapes:
            As ``like``, tensor by tensor.
        """
        if len(described) != len(like):
            raise Refused(Status.WRONG_SHAPE, f"{len(described)} outputs instead of {len(like)}")
        return [
            self._read(number, one, expected)
            for number, (one, expected) in enumerate(zip(described, like, strict=True))
        ]

    def changed_arguments(self, arguments: list[Any]) -> bool:
        """Whether the child has written to its arguments."""
        pairs: list[tuple[Slot, torch.Tensor]] = []
        slots: list[Slot] = []
        tensors: list[torch.Tensor] = []
        map_tensors(slots.append, self.slots)
        map_tensors(tensors.append, arguments)
        pairs = list(zip(slots, tensors, strict=True))
        return any(
            not torch.equal(self._flat(slot).view(torch.uint8), _flat_source(t).view(torch.uint8))
            for slot, t in pairs
            if slot.span_bytes
        )

    def release(self, *, hold: bool = False) -> None:
        """Let the child drop its last output, or hold it until ``unhold``."""
        self._ask("release", 30.0, hold=hold)

    def unhold(self) -> None:
        self._ask("unhold", 30.0)

    def close(self) -> None:
        self.child.close()

    def _read(self, number: int, described: Any, like: torch.Tensor) -> torch.Tensor:
        name = f"output {number}"
        if not (isinstance(described, dict) and "tensor" in described):
            raise Refused(
                Status.REJECTED, f"{name} is not a plain torch.Tensor: {described!r:.100}"
            )
        address, shape, strides, dtype, device = _parse_place(name, described["tensor"])
        if shape != tuple(like.shape):
            raise Refused(
                Status.WRONG_SHAPE, f"{name} has shape {list(shape)} instead of {list(like.shape)}"
            )
        if dtype != dtype_name(like.dtype):
            raise Refused(
                Status.WRONG_DTYPE, f"{name} is {dtype} instead of {dtype_name(like.dtype)}"
            )
        if device != like.device.type:
            raise Refused(Status.REJECTED, f"{name} is on {device}, not on {like.device.type}")
        n_elements = span(shape, strides)
        if n_elements > MAX_SPREAD * max(like.numel(), 1 << 16):
            raise Refused(Status.REJECTED, f"{name} spans {n_elements} elements of memory")
        if n_elements == 0:
            return torch.empty(shape, dtype=like.dtype)
        try:
            data = self.child.read(address, n_elements * like.element_size())
        except OSError as error:
            if error.errno == errno.ESRCH:
                raise Refused(Status.RUNTIME_ERROR, "the process ended") from None
            raise Refused(Status.REJECTED, f"{name} is not in the process's memory") from None
        flat = torch.frombuffer(data, dtype=like.dtype)
        return flat.as_strided(shape, strides)

    def _write(self, slots: Any, values: Any) -> None:
        pairs: list[Slot] = []
        map_tensors(pairs.append, slots)
        tensors: list[torch.Tensor] = []
        map_tensors(tensors.append, values)
        for slot, tensor in zip(pairs, tensors, strict=True):
            if slot.span_bytes:
                self._flat(slot).copy_(_flat_source(tensor))

    def _flat(self, slot: Slot) -> torch.Tensor:
        count = slot.span_bytes // torch_dtype(slot.dtype).itemsize
        return view(Slot(slot.offset_bytes, (count,), (1,), slot.dtype), self.child.memory)

    def _ask(self, what: str, limit_s: float, **arguments: Any) -> Any:
        reply = self._guard(
            lambda: self.child.request(what, timeout_s=limit_s, **arguments), what, limit_s
        )
        self._raise_error(reply)
        return reply

    def _guard(self, action: Any, what: str, limit_s: float) -> Any:
        try:
            return action()
        except Late:
            raise Refused(Status.TIMEOUT, f"no answer within {limit_s:.0f} s ({what})") from None
        except Garbled as error:
            raise Refused(Status.TAMPERED, f"the judge's channel was written to: {error}") from None
        except ChildEnded as error:
            raise Refused(Status.RUNTIME_ERROR, describe_end(error)) from None

    def _raise_error(self, reply: Any) -> None:
        if not (isinstance(reply, dict) and "error" in reply):
            return
        error = reply["error"] if isinstance(reply["error"], dict) else {}
        stage = str(error.get("stage"))
        at = error.get("at")
        where = f" ({at[-1]})" if isinstance(at, list) and at else ""
        kind, message = error.get("type"), error.get("message")
        text = f"{stage}: {kind}: {message}{where}"
        raise Refused(BUILD_STATUS.get(stage, Status.RUNTIME_ERROR), text[:6000])


def describe_end(error: ChildEnded) -> str:
    """How a child ended, with the last lines that it printed."""
    if error.code is None:
        how = "the process stopped answering"
    elif error.code < 0:
        how = f"the process died of signal {-error.code}"
    else:
        how = f"the process ended with code {error.code}"
    tail = "\n".join(error.log.strip().splitlines()[-LOG_LINES:])
    return f"{how}\n{tail}" if tail else how


def flatten_reply(reply: Any, depth: int = 0) -> list[Any]:
    """The leaves of a described result, in order."""
    if isinstance(reply, dict) and depth < 8:
        for kind in ("list", "tuple"):
            if isinstance(reply.get(kind), list):
                return [leaf for item in reply[kind] for leaf in flatten_reply(item, depth + 1)]
    return [reply]


def _parse_place(name: str, place: Any) -> tuple[int, tuple[int, ...], tuple[int, ...], str, str]:
    """A child's claim about one tensor, checked for form."""
    try:
        address, shape, strides, dtype, device = place
        numbers = [address, *shape, *strides]
        sound = all(type(n) is int and 0 <= n < 1 << 62 for n in numbers)
        if sound and len(shape) == len(strides) <= 64 and type(dtype) is type(device) is str:
            return address, tuple(shape), tuple(strides), dtype, device
    except (TypeError, ValueError):
        pass
    raise Refused(Status.TAMPERED, f"{name} is described by nonsense: {place!r:.100}")


def _flat_source(tensor: torch.Tensor) -> torch.Tensor:
    count = span(tuple(tensor.shape), tuple(tensor.stride()))
    return tensor.as_strided((count,), (1,), tensor.storage_offset())


def _empty(slot: Slot) -> torch.Tensor:
    return torch.empty_strided(
        slot.shape, slot.strides, dtype=torch_dtype(slot.dtype), device="meta"
    )
