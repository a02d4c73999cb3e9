"""The judge's side of one child: requests, stopping and going on, reading its memory."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from kernelwright.core.outcome import ReasonCode
from kernelwright.judge.sandbox import process_memory, protocol, stopping
from kernelwright.judge.sandbox.deadline import BuildDeadline, Deadline

ANSWER_TIMEOUT_S = 20.0  # of our own supervisor, on a loaded machine
MESSAGE_S = 1.0
"""The time that a message may take once it has begun to come."""
QUEUEING_S = 0.3
"""The time in which a child queues the calls of a window behind a gate. A call that waits for the
device, and a queue that is full, take for ever."""
POLL_S = 0.02
"""The interval at which a process that shares a device looks whether another wants it alone."""


class ChildEnded(Exception):
    """The child is gone: its exit code (negative: a signal; None: it hung up), its output, and why
    its supervisor ended it, where that did."""

    def __init__(self, code: int | None, log: str, why: ReasonCode | None = None) -> None:
        self.code, self.log, self.why = code, log, why
        super().__init__(f"ended with {code}")


class Hold(Protocol):
    """A child's share of a device, which it gives up whenever somebody measures there."""

    def is_wanted(self) -> bool:
        """True if somebody waits to have the device exclusively."""

    def step_aside(self, pid: int) -> float:
        """Give the share up until that is over; the seconds that it took. The process is stopped.

        Raises:
            protocol.Late: the device works for the process all the same, without an end.
        """


@dataclass(frozen=True)
class SampleTimes:
    """Moments in a call at which a child is stopped, and what is done then."""

    after_s: tuple[float, ...]
    """The seconds that it runs before each stop."""
    sample: Callable[[int], None]
    """Called with its process id while it stands still."""


@dataclass(frozen=True)
class CallOptions:
    """Options of one call."""

    timeout_s: float
    hang_s: float | None = None
    """A build: ``timeout_s`` is in processor time, see ``BuildDeadline``."""
    spin: bool = False
    """Poll for the completion signal instead of sleeping."""
    signals_first: bool = False
    """The child signals completion first, and describes its result when it is resumed."""
    at_completion: Callable[[], None] | None = None
    """Runs when the clock has stopped, while the child stands still."""
    then: Callable[[], None] | None = None
    """Runs after that, when the child has been resumed."""
    samples: SampleTimes | None = None
    go: protocol.Go = protocol.ONE_CALL
    """The calls to run."""
    at_queued: Callable[[], int] | None = None
    """The calls are gated: runs when all are queued, opens the gate, and says when."""


@dataclass(frozen=True)
class Answer:
    """The reply to one call, and what the judge measured meanwhile."""

    reply: Any
    """Unchecked."""
    wall_ns: int
    at_completion_ns: int
    """The time that ``at_completion`` took."""
    then_ns: int
    """The time that it took to describe the result, where that came afterwards, and ``then``."""
    cpu_ns: int
    """Processor time of all of its threads, up to the standstill, or up to the completion signal if
    it was resumed."""
    others: int
    """Living processes of the child besides its worker."""
    early_ns: int
    """Processor time that it had between the last standstill and the request to run."""
    was_queued: bool
    """Its calls were all queued before the gate opened."""
    late_ns: int
    """The time for which it ran on after it had been told to stop, where it was not resumed."""

    @property
    def after_ns(self) -> tuple[int, int]:
        """Times after the clock had stopped."""
        return self.at_completion_ns, self.then_ns


class Child:
    """One isolated worker with its supervisor.

    Every request raises ChildEnded if it has gone, protocol.Late if it does not answer, and
    protocol.Garbled if it answers nonsense.
    """

    def __init__(
        self,
        worker: socket.socket,
        completion: socket.socket,
        supervisor: socket.socket,
        *,
        may_read: bool = True,
    ) -> None:
        self.worker, self.completion, self._supervisor = worker, completion, supervisor
        deadline_s = time.monotonic() + ANSWER_TIMEOUT_S
        greeting, self.pid = protocol.receive_greeting(worker, deadline_s=deadline_s)
        if "failed" in greeting:
            raise OSError(greeting["failed"])
        self._pidfd = os.pidfd_open(self.pid)
        self.is_readable = may_read and process_memory.may_read(self.pid)
        own = {"freeze", "copy-free"} if self.is_readable else {"freeze"}
        self.granted: frozenset[str] = frozenset(greeting["granted"]) | own
        self._clock = stopping.StoppedClock(self.pid)
        self._is_stopped = self.is_closed = False
        self.hold: Hold | None = None
        """Set while it shares the device: it is stopped whenever somebody measures."""
        self.modules, self.module = {0}, 0
        """The numbers of its modules that are in use, and of the one that requests are about."""

    def request(
        self,
        what: str,
        *,
        timeout_s: float = ANSWER_TIMEOUT_S,
        hang_s: float | None = None,
        fds: tuple[int, ...] = (),
        **arguments: Any,
    ) -> Any:
        """Ask the worker for something; its reply, unchecked.

        Units:
            ``timeout_s`` in seconds: of the wall clock, or with ``hang_s`` as ``BuildDeadline`` has
            it.
        Raises:
            DeviceError: the machine is too busy for a build.
        """
        try:
            protocol.expect_silence(self.worker)
            self.go_on()
            deadline = self._deadline(timeout_s, hang_s)
            self.worker.settimeout(timeout_s)
            protocol.send_request(self.worker, {"do": what, **arguments}, fds)
            self._await(self.worker, deadline)
            end_s = time.monotonic() + max(deadline.left_s(), MESSAGE_S)
            return protocol.parse_reply(protocol.receive_frame(self.worker, deadline_s=end_s))
        except protocol.Closed:
            raise self.ended() from None

    def call(self, options: CallOptions) -> Answer:
        """One forward, or a window of them, from standstill to standstill.

        The clock starts before the child can run, or for gated calls when the gate opens, before
        which their inputs do not exist; for calls that could not be queued behind the gate, when
        they began. It stops when the child has been told to stop, which happens when it
        signals completion. Then ``at_completion`` runs; afterwards the child is resumed if it has
        to describe its result or if there is a ``then``. While the child is stopped for samples in
        the middle of the call, the clock stands still.
        """
        go, was_queued = protocol.framed(options.go.text()), False
        self.completion.settimeout(options.timeout_s)
        try:
            protocol.expect_silence(self.completion)
            before_ns, rest_ns = self.cpu_ns(), self._clock.rest_ns
            # It stands still, so the request waits for it.
            self.worker.send(go)
            start_ns = time.perf_counter_ns()
            self._signal(signal.SIGCONT)
            if options.samples is not None:
                start_ns += self._take_samples(options.samples)
            if options.at_queued is not None:
                was_queued = bool(select.select([self.completion], [], [], QUEUEING_S)[0])
                start_ns = options.at_queued() if was_queued else min(start_ns, options.at_queued())
            body = self._completion(options)
            self._signal(signal.SIGSTOP)
            end_ns = time.perf_counter_ns()
            if options.at_completion is not None:
                options.at_completion()
            resumed_ns = time.perf_counter_ns()
            has_signalled = options.signals_first and body == protocol.DONE
            is_resumed = has_signalled or options.then is not None
            completed_cpu_ns = self.cpu_ns()
            if is_resumed:
                self._signal(signal.SIGCONT)
            if has_signalled:
                if self.hold is not None:
                    self._await(self.completion, self._deadline(options.timeout_s))
                body = protocol.receive_completion(self.completion)
        except (protocol.Closed, BrokenPipeError, ConnectionResetError, ProcessLookupError):
            raise self.ended() from None
        finally:
            self._is_stopped = False
        if options.then is not None and not _is_error(body):
            options.then()
        then_ns = time.perf_counter_ns() - resumed_ns
        others = self.stop()  # before the answer is read: other processes run until then
        reply = protocol.parse_reply(body)
        stood_ns = time.perf_counter_ns() - end_ns
        return Answer(
            reply,
            wall_ns=end_ns - start_ns,
            at_completion_ns=resumed_ns - end_ns,
            then_ns=then_ns,
            cpu_ns=(completed_cpu_ns if is_resumed else self._clock.rest_ns) - before_ns,
            others=others,
            was_queued=was_queued,
            early_ns=max(0, before_ns - rest_ns),
            late_ns=0 if is_resumed else self._clock.late_ns(stood_ns),
        )

    def _completion(self, options: CallOptions) -> bytes:
        """The completion signal of calls."""
        if self.hold is not None or options.hang_s is not None:
            self._await(self.completion, self._deadline(options.timeout_s, options.hang_s))
        spin_s = options.timeout_s if options.spin else 0.0
        body = protocol.receive_completion(self.completion, spin_s=spin_s)
        if options.at_queued is not None and body == protocol.QUEUED:
            body = protocol.receive_completion(self.completion, spin_s=spin_s)
        return body

    def cpu_ns(self) -> int:
        """The processor time that all threads of the worker have had."""
        return stopping.processor_ns(self.pid)

    def ran_since_stop_ns(self) -> int:
        """The processor time that the worker has had since it was stopped: none, if it obeys."""
        return self.cpu_ns() - self._clock.rest_ns

    def stop(self) -> int:
        """Stop all of its processes; how many there are besides the worker.

        Raises:
            protocol.Late: it cannot be stopped.
        """
        if self._is_stopped:
            return 0
        self._is_stopped = True
        # At once, because the supervisor takes a tenth of a millisecond to stop all of them.
        with contextlib.suppress(ProcessLookupError):
            self._signal(signal.SIGSTOP)
        protocol.send_request(self._supervisor, "stop")
        self._clock.note_grace()
        answer = self._hear_supervisor()
        if not answer["stopped"]:
            raise protocol.Late
        self._clock.note_rest()
        return int(answer["others"])

    def clear(self) -> None:
        """Kill every process of the child but its worker."""
        self._ask_supervisor("clear")

    def go_on(self) -> None:
        """Let a stopped child run."""
        if self._is_stopped:
            self._is_stopped = False
            with contextlib.suppress(ProcessLookupError):
                self._signal(signal.SIGCONT)

    def ended(self) -> ChildEnded:
        """The way in which it ended."""
        try:
            answer = self._ask_supervisor("ended")
        except (protocol.Closed, protocol.Late):
            return ChildEnded(None, "")
        why = next((code for code in ReasonCode if code == answer["why"]), None)
        return ChildEnded(answer["code"], answer["log"], why)

    def kill(self) -> None:
        """Kill its worker; a thread that waits for its answer learns that it has gone."""
        if self.is_closed:
            return  # the number of its descriptor may be another's by now
        with contextlib.suppress(OSError):
            self._signal(signal.SIGKILL)

    def close(self) -> None:
        """Kill it with all of its processes."""
        if self.is_closed:
            return
        self.is_closed = True
        with contextlib.suppress(ProcessLookupError):
            self._signal(signal.SIGKILL)
        os.close(self._pidfd)
        for sock in (self._supervisor, self.completion, self.worker):
            sock.close()

    def _signal(self, number: int) -> None:
        signal.pidfd_send_signal(self._pidfd, number)

    def _take_samples(self, samples: SampleTimes) -> int:
        """Stop the child for samples while the call still runs; the nanoseconds that it stood."""
        stood_ns = 0
        for after_s in samples.after_s:
            if select.select([self.completion], [], [], after_s)[0]:
                break
            start_ns = time.perf_counter_ns()
            with self._standing_still():
                samples.sample(self.pid)
            stood_ns += time.perf_counter_ns() - start_ns
        return stood_ns

    @contextlib.contextmanager
    def _standing_still(self) -> Iterator[None]:
        """Stop all of its processes in the middle of their work; then they go on."""
        self._is_stopped = False
        self.stop()
        yield
        self._ask_supervisor("go_on")
        self._is_stopped = False

    def _deadline(self, timeout_s: float, hang_s: float | None = None) -> Deadline:
        return Deadline(timeout_s) if hang_s is None else BuildDeadline(self.pid, timeout_s, hang_s)

    def _await(self, sock: socket.socket, deadline: Deadline) -> None:
        """Wait for an answer on ``sock``. A child that shares the device stands still whenever
        somebody else measures; that puts the deadline off."""
        poll_s = MESSAGE_S if self.hold is None else POLL_S
        while not select.select([sock], [], [], min(poll_s, deadline.left_s()))[0]:
            deadline.check()
            if self.hold is not None and self.hold.is_wanted():
                with self._standing_still():
                    deadline.put_off(self.hold.step_aside(self.pid))

    def _ask_supervisor(self, what: str) -> Any:
        protocol.send_request(self._supervisor, what)
        return self._hear_supervisor()

    def _hear_supervisor(self) -> Any:
        deadline_s = time.monotonic() + ANSWER_TIMEOUT_S
        return protocol.parse_reply(protocol.receive_frame(self._supervisor, deadline_s=deadline_s))


def _is_error(body: bytes) -> bool:
    reply = protocol.parse_reply(body)
    return isinstance(reply, dict) and "error" in reply
