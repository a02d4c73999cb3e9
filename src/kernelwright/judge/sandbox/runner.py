"""Running one module in one child: arguments in, one timed call, outputs back and checked."""

from __future__ import annotations

import contextlib
import functools
import signal
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import torch

from kernelwright.core.errors import TaskError
from kernelwright.core.outcome import ReasonCode
from kernelwright.judge.devices.backend import DeviceBackend
from kernelwright.judge.devices.input_poisoner import InputPoisoner
from kernelwright.judge.refusal import Refused
from kernelwright.judge.sandbox.calls import Call
from kernelwright.judge.sandbox.child import Answer, CallOptions, Child, ChildEnded, SampleTimes
from kernelwright.judge.sandbox.layout import (
    Region,
    bytes_of,
    contents,
    end_of,
    flat_source,
    flat_view,
    leaves,
    plan_slots,
    whole_pages,
)
from kernelwright.judge.sandbox.outputs import Claim, ResultForm, check_claims
from kernelwright.judge.sandbox.process_memory import read_process
from kernelwright.judge.sandbox.program import Program
from kernelwright.judge.sandbox.protocol import TURN_TO, Garbled, Go, Late
from kernelwright.judge.sandbox.ring import changed, copied, written
from kernelwright.judge.sandbox.stopping import RanOn
from kernelwright.judge.sandbox.unwritten_pages import owed_ns

CPU_SHARE = 0.9
"""The share of its processor time that is held against a candidate's claim: between the judge's
stop and the standstill, threads that wait in a loop go on for some microseconds."""
HANG_S = 60.0
"""A build that takes no processor time for so long hangs. The library's compilers may wait longer,
for another process that compiles the same."""
DEVICE_LIMIT_S = 60.0  # a first CUDA context took 5 s
PROFILE_LIMIT_S = GRAPHS_LIMIT_S = 60.0
SHORT_LIMIT_S = 30.0
LIGHT_SHARE = 0.01
"""Outputs of less than this share of a device's memory are dropped within the next call's time."""
ALL_RELEASES_S, RELEASE_S = 20.0, 0.05
"""The untimed time in which a child may drop its heavier outputs: so much for all of them, and so
much more for each call. Nobody else measures meanwhile."""
LOG_LINES = 12
BUILDING = ("import", "construct")


@dataclass(frozen=True)
class _Slots:
    """The places of arguments, weights and outputs in the shared memory."""

    arguments: Any = None
    weights: Any = None
    outputs: Any = None


class Runner:
    """One module in one child, called as often as the judge likes.

    Every method that talks to the child raises ``Refused`` when the child ends, hangs, talks
    nonsense or reports an error.
    """

    def __init__(
        self,
        child: Child,
        backend: DeviceBackend,
        form: ResultForm,
        *,
        threads: int,
        region: Region | None = None,
    ) -> None:
        self.child = child
        self.backend = backend
        self.form = form
        self.threads = threads
        self._region, self._owns_region = region, region is None
        self._slots = _Slots()
        self._module = 0
        """The number of its module in the child."""
        self.room_bytes = 0
        """The least shared memory to map, for shapes that come after the first."""
        self.n_calls = 0
        self.closing = contextlib.ExitStack()
        """Gives back what others have shared with the child, when it has ended."""
        self._hang_s = HANG_S
        self._ran_on = RanOn()
        self._released_s = 0.0
        self._hold = ""
        """The names under which the next call is to hold the last output."""

    @property
    def is_read(self) -> bool:
        """True if outputs are read from the stopped child; else it copies them out itself."""
        return self.backend.reads_from_outside and self.child.is_readable

    @property
    def has_ended(self) -> bool:
        """True if the child was ended."""
        return self.child.is_closed

    @property
    def like(self) -> list[torch.Tensor]:
        """Outputs of the expected shapes and dtypes, without memory."""
        return self.form.like

    @property
    def memory(self) -> torch.Tensor:
        """The shared memory, in bytes."""
        assert self._region is not None  # since ``build``
        return self._region.memory

    def build(
        self,
        program: Program,
        weights: dict[str, torch.Tensor],
        arguments: list[Any],
        *,
        limit_s: float,
    ) -> None:
        """Share memory, construct the module and load the weights."""
        n_bytes = self._plan(arguments, weights)
        if self._region is None:
            self._region = Region(self.backend, max(n_bytes, self.room_bytes))
        try:
            self._map(self._region, limit_s)
        except Refused as refused:  # no code of the candidate's has run yet
            raise Refused(ReasonCode.NOT_STARTED, str(refused)) from refused
        self._write(self._slots.weights, weights)
        self._hang_s = HANG_S if program.setup is None else limit_s
        self.ask(
            "build", limit_s, hang_s=self._hang_s, program=program, weights=self._slots.weights
        )
        self._write(self._slots.arguments, arguments)
        self.ask("prepare", limit_s, hang_s=self._hang_s, arguments=self._slots.arguments)

    def beside(self) -> Runner:
        """A runner of another module in the same child, for library settings: no candidate is ever
        run beside anything else. One of them is used at a time; they share the memory too."""
        region = None if self._owns_region else self._region
        form = ResultForm(self.like)
        other = Runner(self.child, self.backend, form, threads=self.threads, region=region)
        other._module = 1 + max(self.child.modules)
        self.child.modules.add(other._module)
        return other

    def try_device(self) -> None:
        """Check that the device works in the child."""
        region = Region(self.backend, 1)
        try:
            self._map(region, DEVICE_LIMIT_S)
        finally:
            region.close()

    def end_filling(self) -> None:
        """Leave fresh memory as it comes from now on."""
        self.ask("end_filling", SHORT_LIMIT_S)

    def load(self, weights: dict[str, torch.Tensor], *, limit_s: float) -> None:
        """Give the module other weights, in place. The child stands still: others may be next."""
        self._write(self._slots.weights, weights)
        self.ask("load", limit_s, weights=self._slots.weights)
        self.stand_still()

    def set_mode(self, training: bool) -> bool:
        """Put the module into training mode or out of it; whether it was in it; unchecked."""
        return bool(
            _as_dict(self.ask("set_mode", SHORT_LIMIT_S, training=training)).get("training")
        )

    def reshape(
        self, arguments: list[Any], weights: dict[str, torch.Tensor], like: list[torch.Tensor]
    ) -> None:
        """Expect arguments and outputs of these shapes from now on, within ``room_bytes``."""
        self.form = replace(self.form, like=like)
        self._plan(arguments, weights)
        self.ask("prepare", SHORT_LIMIT_S, arguments=self._slots.arguments)

    def put(self, arguments: list[Any]) -> None:
        """Write the arguments of the next call while the child stands still."""
        slots, _ = plan_slots(arguments)
        if slots != self._slots.arguments:
            if (end := end_of(slots)) > (room := end_of(self._slots.arguments)):
                raise TaskError(
                    "the task's inputs change their size from draw to draw",
                    seen=f"{end} bytes after {room}",
                    do="let get_inputs return tensors of the same shapes every time",
                )
            self._slots = replace(self._slots, arguments=slots)
            self.ask("prepare", SHORT_LIMIT_S, arguments=slots)
        self.stand_still()
        self._write(slots, arguments)

    def stand_still(self) -> None:
        """Stop the child, turned to this module; processes that it left running besides its own are
        killed."""
        self._turn()
        if self._guard(self.child.stop, "stop", 0.0):
            self._guard(self.child.clear, "stop", 0.0)

    def call(
        self,
        *,
        limit_s: float,
        take: bool,
        samples: SampleTimes | None = None,
        may_be_long: bool = False,
        holds_device: bool = False,
    ) -> Call:
        """One forward on the arguments that were put; with ``take``, its outputs too.

        The child learns whether they are taken when the clock has stopped. A call that
        ``may_be_long`` is a part of the build: ``limit_s`` counts processor time. With
        ``holds_device`` the child's kernels have to wait meanwhile. The call's time says little in
        both cases.

        Units:
            ``elapsed_ns`` in nanoseconds.
        """
        is_copied, poisoner = take and not self.is_read, None
        if is_copied:
            inputs = self.memory[: whole_pages(end_of(self._slots.arguments))]
            poisoner = self.poisoner(inputs, holds_device=holds_device)
        options = CallOptions(
            limit_s,
            hang_s=self._hang_s if may_be_long else None,
            spin=self.backend.is_spinning and not may_be_long,
            signals_first=not self.is_read,
            at_completion=poisoner,
            then=self._copy if is_copied else None,
            samples=samples,
            go=Go(self.next_hold()),
        )
        with poisoner or contextlib.nullcontext():
            answer = self.run(options)
        claims = self.claims(answer.reply)
        elapsed_ns = self.elapsed_ns(answer, [claims])
        outputs = self._outputs(claims) + self._written() if take else None
        self.count_run(answer, was_read=bool(outputs) and self.is_read)
        return Call(elapsed_ns, claims, outputs, answer.after_ns if is_copied else ())

    def poisoner(self, inputs: torch.Tensor, *, holds_device: bool) -> InputPoisoner | None:
        """The poisoner of a call's inputs; None where they must outlive it."""
        if self.form.keeps_arguments:
            return None
        is_exclusive = self.child.hold is None
        return self.backend.input_poisoner(
            inputs, is_exclusive=is_exclusive, holds_device=holds_device
        )

    def next_hold(self) -> str:
        """The names under which the next call is to hold the last output."""
        hold, self._hold = self._hold, ""
        return hold

    def run(self, options: CallOptions) -> Answer:
        """Have the child run calls.

        Raises:
            Refused: it fails, or leaves processes behind.
        """
        answer: Answer = self._guard(lambda: self.child.call(options), "run", options.timeout_s)
        self._raise_error(answer.reply)
        if answer.others:
            if self.n_calls:  # the first may leave a compiler's processes behind
                raise Refused(ReasonCode.LEFT_PROCESSES, "it leaves processes running after a call")
            self._guard(self.child.clear, "stop", 0.0)
        self.n_calls += 1
        return answer

    def claims(self, reply: Any) -> list[Claim]:
        """The claims in the description of a call's outputs."""
        room_bytes = sum(slot.span_bytes for slot in leaves(self._slots.arguments))
        return check_claims(reply, self.form, self.backend.kind, room_bytes=room_bytes)

    def elapsed_ns(self, answer: Answer, claims: list[list[Claim]]) -> int:
        """The time that calls must answer for."""
        # No call is shorter than its processor time over the threads that it may use. That of
        # queueing calls, before their inputs exist, does not count.
        cpu_ns = 0 if answer.was_queued else answer.cpu_ns
        elapsed_ns = max(answer.wall_ns, int(cpu_ns / self.threads * CPU_SHARE))
        # A process that its own timers woke before the request to run may have seen the arguments.
        elapsed_ns += answer.early_ns + answer.late_ns
        if not self.is_read:
            return elapsed_ns
        flat = [claim for one in claims for claim in one]
        return elapsed_ns + owed_ns(self.child.pid, flat, self.like * len(claims))

    def count_run(self, answer: Answer, *, was_read: bool) -> None:
        """Count how often it ran while it should have stood still.

        Raises:
            Refused: it happens too often to be an accident.
        """
        read_on_ns = self.child.ran_since_stop_ns() if was_read else 0
        self._ran_on.count(self.n_calls, answer.early_ns, read_on_ns)

    def outputs_held(self, claims: list[Claim], held: str) -> list[torch.Tensor]:
        """The present contents of the outputs of an earlier call that is still held."""
        if not self.is_read:
            if self._hold:  # the child has not been told yet
                self._release_now()
            self._copy(held=held)
        self.stand_still()
        return self._outputs(claims)

    def changed_arguments(self, arguments: list[Any]) -> list[bool]:
        """Which of its arguments the child has written to."""
        return changed(self._slots.arguments, self.memory, arguments)

    def profile(self, arguments: list[Any]) -> dict[str, Any]:
        """The report of the child's profiler on one untimed call; unchecked."""
        self.put(arguments)
        return _as_dict(self.ask("profile", PROFILE_LIMIT_S))

    def resources(self, arguments: list[Any], *, counted: bool) -> dict[str, Any]:
        """The reports of compilers and profilers on the child's kernels; unchecked."""
        self.put(arguments)
        return _as_dict(self.ask("resources", PROFILE_LIMIT_S, counted=counted))

    def count_flops(self) -> Any:
        """The report on the library's arithmetic in one untimed call on the same arguments;
        unchecked."""
        return self.ask("count", PROFILE_LIMIT_S)

    def n_graphs(self) -> int:
        """The number of graphs the library's compiler has made in it so far; unchecked."""
        return int(self.ask("graphs", GRAPHS_LIMIT_S)["made"])

    def release(self, *, hold: Iterable[str] = ()) -> None:
        """Have the child drop its last output, or hold it in place of those held under these
        names."""
        self._hold = ",".join(hold)
        if self.is_read or bytes_of(self.like) < LIGHT_SHARE * self.backend.memory_bytes():
            return  # in the next call, for the clock is to run over that, too
        self._release_now()

    def _release_now(self) -> None:
        began_s, hold, self._hold = time.monotonic(), self._hold, ""
        self.ask("release", SHORT_LIMIT_S, hold=hold.split(",") if hold else [])
        self._released_s += time.monotonic() - began_s
        if self._released_s > ALL_RELEASES_S + RELEASE_S * self.n_calls:
            why = f"it took {self._released_s:.0f} s to let the outputs of {self.n_calls} calls go"
            raise Refused(ReasonCode.SLOW_RELEASE, why)

    def close(self) -> None:
        """Give up the module and its own shared memory; end the child if it holds no other."""
        if self.child.modules > {self._module}:
            with contextlib.suppress(Refused):  # whoever uses the others learns why
                self.ask("drop", SHORT_LIMIT_S)
                self.stand_still()
            self.child.modules.discard(self._module)
            self.closing.close()
        else:
            self.end()

    def end(self) -> None:
        """End the child, whatever else it holds, and give its own shared memory back."""
        self.child.close()
        if self._region is not None and self._owns_region:
            self._region.close()
        self.closing.close()

    def _plan(self, arguments: list[Any], weights: dict[str, torch.Tensor]) -> int:
        """Lay out the shared memory; the bytes that it takes."""
        slots, n_bytes = plan_slots(contents(arguments, weights, self.like))
        self._slots = _Slots(*slots)
        return n_bytes

    def _map(self, region: Region, limit_s: float) -> None:
        self.ask(
            "map",
            limit_s,
            fds=(region.fd,),
            # The whole region, even where less is needed: the driver maps no part of it (error
            # 801).
            n_bytes=region.memory.numel(),
            threads=self.threads,
            device=self.backend.name_in_child,
            signals_first=not self.is_read,
        )

    def _copy(self, *, held: str = "") -> None:
        """Have the child copy its outputs into the shared memory."""
        self.ask("copy", SHORT_LIMIT_S, slots=self._slots.outputs, held=held)

    def _outputs(self, claims: list[Claim]) -> list[torch.Tensor]:
        if not self.is_read:
            return copied(claims, self._slots.outputs, self.memory)
        return self.read_outputs(claims)

    def read_outputs(self, claims: list[Claim]) -> list[torch.Tensor]:
        """The outputs of a call of the stopped child, where it is read."""
        return [self._read(claim, like) for claim, like in zip(claims, self.like, strict=True)]

    def _written(self) -> list[torch.Tensor]:
        """The contents of those arguments that the reference writes to."""
        return written(self._slots.arguments, self.memory, self.form)

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
        self.backend.settle()

    def ask(
        self,
        what: str,
        limit_s: float,
        *,
        hang_s: float | None = None,
        fds: tuple[int, ...] = (),
        **arguments: Any,
    ) -> Any:
        """The child's reply to a request, unchecked."""
        self._turn()
        ask = functools.partial(
            self.child.request, what, timeout_s=limit_s, hang_s=hang_s, fds=fds, **arguments
        )
        reply = self._guard(ask, what, limit_s)
        self._raise_error(reply)
        return reply

    def _turn(self) -> None:
        """Have the child turn to this module, if it holds several."""
        if self.child.module != self._module:
            turn = functools.partial(self.child.request, TURN_TO, module=self._module)
            self._guard(turn, TURN_TO, SHORT_LIMIT_S)
            self.child.module = self._module

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
        error = _as_dict(reply["error"])
        stage, at = str(error.get("stage")), error.get("at")
        where = f" ({at[-1]})" if isinstance(at, list) and at else ""
        text = f"{stage}: {error.get('type')}: {error.get('message')}{where}"
        code = ReasonCode.BUILD_RAISED if stage in BUILDING else ReasonCode.RAISED
        raise Refused(code, text[:6000])


def _as_dict(reply: Any) -> dict[str, Any]:
    return reply if isinstance(reply, dict) else {}


def how_it_ended(error: ChildEnded) -> Refused:
    """The refusal of a child that ended, with the last lines that it printed."""
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
