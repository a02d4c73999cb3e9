"""Running one module in one child: arguments in, one timed call, outputs back and checked."""

from __future__ import annotations

import contextlib
import functools
import pickle
import signal
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from kernelwright.core.errors import TaskError
from kernelwright.core.outcome import ReasonCode
from kernelwright.judge.children.child import Child, ChildEnded, Glance
from kernelwright.judge.children.program import Program
from kernelwright.judge.children.turns import Seat, Turns
from kernelwright.judge.children.wire import Garbled, Late
from kernelwright.judge.compare.pieces import same_bits
from kernelwright.judge.isolation.standstill import RanOn
from kernelwright.judge.machine.cpu import read_process
from kernelwright.judge.machine.layout import (
    bytes_of,
    end_of,
    flat_source,
    flat_view,
    in_layout,
    leaves,
    plan_slots,
    view,
    whole_pages,
)
from kernelwright.judge.machine.outputs import Claim, check_claims
from kernelwright.judge.machine.pages import owed_ns
from kernelwright.judge.machine.place import Place
from kernelwright.judge.machine.region import Region, contents
from kernelwright.judge.refusal import Refused

CPU_SHARE = 0.9
"""Of the processor time that is held against a claim: between the judge's stop and the
standstill, threads that wait in a loop go on for some microseconds."""
DEVICE_LIMIT_S = 60.0  # a first CUDA context took 5 s
PROFILE_LIMIT_S = GRAPHS_LIMIT_S = 60.0
LIGHT_SHARE = 0.01
"""Of a device's memory: an output of less is let go within the next call's time."""
RELEASE_S, RELEASES_S, RELEASED_S = 30.0, 20.0, 0.05
"""For a heavier output to be let go at once, untimed; for all of them, and for each call beside
that: nobody else measures meanwhile."""
LOG_LINES = 12
BUILDING = ("import", "construct")


@dataclass(frozen=True)
class Call:
    """One call as the judge saw it."""

    elapsed_ns: int
    claims: list[Claim]
    """Where the child says that its outputs lie."""
    outputs: list[torch.Tensor] | None
    """The outputs themselves, where they were asked for."""
    after_ns: tuple[int, ...] = ()
    """What was timed when the clock had stopped: how long the device took to come to rest and the
    outputs to be copied; empty where the judge reads them itself."""


class Runner:
    """One module in one child, called as often as the judge likes.

    Every method that talks to the child raises ``Refused`` when the child ends, hangs, talks
    nonsense or reports an error.
    """

    def __init__(
        self,
        child: Child,
        place: Place,
        like: list[torch.Tensor],
        *,
        threads: int,
        region: Region | None = None,
    ) -> None:
        self.child = child
        self.place = place
        self.like = like
        """Outputs of the shapes and dtypes that are expected, without memory."""
        self._given = region
        self.region = region
        self.threads = threads
        self.is_read = place.reads_from_outside and child.is_readable
        """Whether outputs are read from the stopped child; else it copies them out itself."""
        self.slots: Any = None
        self.room_bytes = 0
        """Of shared memory at least: for shapes that come after the first."""
        self.n_calls = 0
        self._ran_on = RanOn()
        self._released_s = 0.0
        self._word = ""
        """What the next call is to begin with: under which names the last output is held."""
        self.keeps_arguments = False
        """Whether arguments may be part of the results, so that they must outlive a call."""
        self.changed: list[bool] = []
        """Which arguments the reference writes to: what is left there follows the outputs."""
        self.nesting = ""
        """How its result is nested, once that is known."""
        self.n_entries = 0
        """Of that, how much comes from lists among its arguments."""

    def build(
        self,
        program: Program,
        weights: dict[str, torch.Tensor],
        arguments: list[Any],
        *,
        limit_s: float,
    ) -> None:
        """Share memory, construct the module and load the weights."""
        plan, n_bytes = plan_slots(contents(arguments, weights, self.like))
        self.slots, self.weight_slots, self.output_slots = plan
        self._share(max(n_bytes, self.room_bytes), limit_s)
        self._write(self.weight_slots, weights)
        self._ask(
            "build",
            limit_s,
            source=program.source,
            entry=program.entry,
            initial=pickle.dumps(program.initial),
            seed=program.seed,
            weights=self.weight_slots,
            spare=program.spare,
            may_expand=program.may_expand,
            entries=program.entries,
            poisoned=program.poisoned,
            setting=program.setting,
        )
        self._write(self.slots, arguments)
        self._ask("prepare", limit_s, arguments=self.slots)

    @contextlib.contextmanager
    def beside(self, turns: Turns) -> Iterator[Seat | None]:
        """Work beside others: the child is stopped while somebody measures, and afterwards; a
        driver that starts in it bears that."""
        with turns.beside() as seat:
            self.child.seat = seat
            try:
                yield seat
                self.stand_still()
            finally:
                self.child.seat = None

    def try_device(self) -> None:
        """See whether the device works in the child."""
        region = Region(self.place, 1)
        try:
            self._map(region, DEVICE_LIMIT_S)
        finally:
            region.close()

    def unpoison(self) -> None:
        """Let new memory be what it is from now on."""
        self._ask("unpoison", 30.0)

    def load(self, weights: dict[str, torch.Tensor], *, limit_s: float) -> None:
        """Give the module other weights, in place. The child stands still: others may be next."""
        self._write(self.weight_slots, weights)
        self._ask("load", limit_s, weights=self.weight_slots)
        self.stand_still()

    def set_mode(self, training: bool) -> bool:
        """Put the module into training mode or out of it; whether it was in it; unchecked."""
        reply = self._ask("set_mode", 30.0, training=training)
        return isinstance(reply, dict) and bool(reply.get("training"))

    def reshape(
        self, arguments: list[Any], weights: dict[str, torch.Tensor], like: list[torch.Tensor]
    ) -> None:
        """Expect arguments and outputs of these shapes from now on, within ``room_bytes``."""
        plan, _ = plan_slots(contents(arguments, weights, like))
        self.slots, self.weight_slots, self.output_slots = plan
        self.like = like
        self._ask("prepare", 30.0, arguments=self.slots)

    def put(self, arguments: list[Any]) -> None:
        """Write the arguments of the next call while the child stands still."""
        slots, _ = plan_slots(arguments)
        if slots != self.slots:
            if end_of(slots) > end_of(self.slots):
                raise TaskError(
                    "the task's inputs change their size from draw to draw",
                    seen=f"{end_of(slots)} bytes after {end_of(self.slots)}",
                    do="let get_inputs return tensors of the same shapes every time",
                )
            self.slots = slots
            self._ask("prepare", 30.0, arguments=slots)
        self.stand_still()
        self._write(slots, arguments)

    def stand_still(self) -> None:
        """Stop the child; processes that it left running besides its own are killed."""
        if self._guard(self.child.stop, "stop", 0.0):
            self._guard(self.child.clear, "stop", 0.0)

    def call(
        self, *, limit_s: float, take: bool, glance: Glance | None = None,
        may_be_long: bool = False, in_ambush: bool = False,
    ) -> Call:  # fmt: skip
        """One forward on the arguments that were put; with ``take``, its outputs too.

        Where it ``may_be_long`` nobody polls for its end; its time says little then, or
        ``in_ambush``. The child learns whether they are taken when the clock has stopped. With
        ``glance`` it is looked at on the way.

        Units:
            ``elapsed_ns`` in nanoseconds.
        """
        is_polled = self.place.is_spinning and not may_be_long
        how: dict[str, Any] = {"spin": is_polled, "glance": glance, "rings_first": not self.is_read}
        copied, spoil = take and not self.is_read, contextlib.nullcontext()
        if copied:
            how["then"] = self._copy
            if not self.keeps_arguments:
                inputs = self.memory[: whole_pages(end_of(self.slots))]
                terms = {"is_alone": self.child.seat is None, "in_ambush": in_ambush}
                spoil = how["at_bell"] = self.place.spoil(inputs, **terms)
        self._word, how["word"] = "", self._word
        call = functools.partial(self.child.call, timeout_s=limit_s, **how)
        with spoil:
            answer = self._guard(call, "run", limit_s)
        self._raise_error(answer.reply)
        if answer.others:
            if self.n_calls:  # the first may leave a compiler's processes behind
                raise Refused(ReasonCode.LEFT_PROCESSES, "it leaves processes running after a call")
            self._guard(self.child.clear, "stop", 0.0)
        self.n_calls += 1
        room_bytes = sum(slot.span_bytes for slot in leaves(self.slots))
        form = {"nested": self.nesting, "n_entries": self.n_entries, "room_bytes": room_bytes}
        claims = check_claims(answer.reply, self.like, self.place.kind, **form)
        # No call is shorter than its processor time over the threads that it may use.
        least_ns = int(answer.cpu_ns / self.threads * CPU_SHARE)
        # What ran before the word to go, woken by its own timers, may have seen the arguments.
        elapsed_ns = max(answer.wall_ns, least_ns) + answer.early_ns + answer.late_ns
        elapsed_ns += owed_ns(self.child.pid, claims, self.like) if self.is_read else 0
        outputs = self._outputs(claims) + self._written() if take else None
        was_read = bool(outputs) and self.is_read
        read_on_ns = self.child.cpu_ns() - self.child.rest_ns if was_read else 0
        self._ran_on.count(self.n_calls, answer.early_ns, read_on_ns)
        after_ns = (answer.bell_ns, answer.then_ns) if copied else ()
        return Call(elapsed_ns, claims, outputs, after_ns)

    def outputs_held(self, claims: list[Claim], held: str) -> list[torch.Tensor]:
        """What now lies where the outputs of an earlier call, still held, were."""
        if not self.is_read:
            if self._word:  # nobody has told it yet
                self._let_go()
            self._copy(held=held)
        self.stand_still()
        return self._outputs(claims)

    def changed_arguments(self, arguments: list[Any]) -> list[bool]:
        """Which of its arguments the child has written to."""
        return [
            slot.span_bytes > 0 and not same_bits(flat_view(slot, self.memory), flat_source(t))
            for slot, t in zip(leaves(self.slots), leaves(arguments), strict=True)
        ]

    def profile(self, arguments: list[Any]) -> dict[str, Any]:
        """What the child's profiler says about one untimed call; unchecked."""
        self.put(arguments)
        reply = self._ask("profile", PROFILE_LIMIT_S)
        return reply if isinstance(reply, dict) else {}

    def resources(self, arguments: list[Any], *, counted: bool) -> dict[str, Any]:
        """What compilers and profilers say about the child's kernels; unchecked."""
        self.put(arguments)
        return self._ask("resources", PROFILE_LIMIT_S, counted=counted)

    def count_flops(self) -> float:
        """The library's arithmetic in one untimed call on the same arguments; unchecked."""
        reply = self._ask("count", PROFILE_LIMIT_S)
        return float(reply["flops"])

    def n_graphs(self) -> int:
        """How many graphs the library's compiler has made in it so far; unchecked."""
        return int(self._ask("graphs", GRAPHS_LIMIT_S)["made"])

    def release(self, *, hold: Iterable[str] = ()) -> None:
        """Let the child drop its last output, or hold it under these names until the next are."""
        self._word = ",".join(hold)
        if self.is_read or bytes_of(self.like) < LIGHT_SHARE * self.place.memory_bytes():
            return  # the clock is to run over that, too: in the next call
        self._let_go()

    def _let_go(self) -> None:
        began_s, word, self._word = time.monotonic(), self._word, ""
        self._ask("release", RELEASE_S, hold=word.split(",") if word else [])
        self._released_s += time.monotonic() - began_s
        if self._released_s > RELEASES_S + RELEASED_S * self.n_calls:
            why = f"it took {self._released_s:.0f} s to let the outputs of {self.n_calls} calls go"
            raise Refused(ReasonCode.SLOW_RELEASE, why)

    def close(self) -> None:
        """End the child and give its own shared memory back."""
        self.child.close()
        if self.region is not None and self.region is not self._given:
            self.region.close()

    @property
    def memory(self) -> torch.Tensor:
        """The shared memory, in bytes."""
        return self.region.memory

    def _share(self, n_bytes: int, limit_s: float) -> None:
        if self.region is None:
            self.region = Region(self.place, n_bytes)
        try:
            self._map(self.region, limit_s)
        except Refused as refused:  # nothing of the candidate's has run yet
            raise Refused(ReasonCode.NOT_STARTED, str(refused)) from refused

    def _map(self, region: Region, limit_s: float) -> None:
        # The whole region, even where less is needed: the driver maps no part of it (error 801).
        n_bytes = region.memory.numel()
        how = {"n_bytes": n_bytes, "threads": self.threads, "device": self.place.inside}
        self._ask("map", limit_s, fds=(region.fd,), rings_first=not self.is_read, **how)

    def _copy(self, *, held: str = "") -> None:
        """Let the child copy its outputs to shared memory."""
        self._ask("copy", 30.0, slots=self.output_slots, held=held)

    def _outputs(self, claims: list[Claim]) -> list[torch.Tensor]:
        if not self.is_read:
            pairs = zip(self.output_slots, claims, strict=True)
            return [in_layout(view(s, self.memory), c.shape, c.strides).clone() for s, c in pairs]
        return [self._read(claim, like) for claim, like in zip(claims, self.like, strict=True)]

    def _written(self) -> list[torch.Tensor]:
        """What the child has left in those arguments that the reference writes to."""
        pairs = zip(leaves(self.slots), self.changed, strict=False)  # other shapes may have others
        return [view(slot, self.memory).clone() for slot, is_changed in pairs if is_changed]

    def _read(self, claim: Claim, like: torch.Tensor) -> torch.Tensor:
        try:
            data = read_process(self.child.pid, claim.address, claim.span * like.element_size())
        except ProcessLookupError:
            raise how_it_ended(self.child.ended()) from None
        except OSError:
            reason = f"{claim.name} is not in the process's memory"
            raise Refused(ReasonCode.OUTPUT_UNREADABLE, reason) from None
        return data.view(like.dtype).as_strided(claim.shape, claim.strides)

    def _write(self, slots: Any, values: Any) -> None:
        for slot, tensor in zip(leaves(slots), leaves(values), strict=True):
            if slot.span_bytes:
                flat_view(slot, self.memory).copy_(flat_source(tensor))
        self.place.settle()

    def _ask(
        self, what: str, limit_s: float, *, fds: tuple[int, ...] = (), **arguments: Any
    ) -> Any:
        ask = functools.partial(self.child.request, what, timeout_s=limit_s, fds=fds, **arguments)
        reply = self._guard(ask, what, limit_s)
        self._raise_error(reply)
        return reply

    def _guard(self, action: Any, what: str, limit_s: float) -> Any:
        try:
            return action()
        except Late as late:
            why = str(late) or f"no answer within {limit_s:.0f} s"
            raise Refused(ReasonCode.NO_ANSWER, f"{why} ({what})") from None
        except Garbled as error:
            seen = f"the judge's channel was written to: {error}"
            raise Refused(ReasonCode.CHANNEL_ABUSED, seen) from None
        except ChildEnded as error:
            raise how_it_ended(error) from None

    def _raise_error(self, reply: Any) -> None:
        if not (isinstance(reply, dict) and "error" in reply):
            return
        error = reply["error"] if isinstance(reply["error"], dict) else {}
        stage = str(error.get("stage"))
        at = error.get("at")
        where = f" ({at[-1]})" if isinstance(at, list) and at else ""
        kind, message = error.get("type"), error.get("message")
        text = f"{stage}: {kind}: {message}{where}"
        code = ReasonCode.BUILD_RAISED if stage in BUILDING else ReasonCode.RAISED
        raise Refused(code, text[:6000])


def how_it_ended(error: ChildEnded) -> Refused:
    """How a child ended, with the last lines that it printed."""
    if error.code is None:
        code, how = ReasonCode.VANISHED, "the process stopped answering"
    elif error.code < 0:
        is_killed = -error.code == signal.SIGKILL
        code = ReasonCode.KILLED if is_killed else ReasonCode.CRASHED
        how = f"the process died of signal {-error.code}"
    else:
        code, how = ReasonCode.EXITED, f"the process ended with code {error.code}"
    tail = "\n".join(error.log.strip().splitlines()[-LOG_LINES:])
    return Refused(error.why or code, f"{how}\n{tail}" if tail else how)
