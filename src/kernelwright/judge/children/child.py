"""The judge's side of one child: requests, stopping and going on, reading its memory."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from kernelwright.core.outcome import ReasonCode
from kernelwright.judge.children import wire
from kernelwright.judge.children.turns import LOOK_S, Seat
from kernelwright.judge.isolation import standstill
from kernelwright.judge.machine import cpu

ANSWER_TIMEOUT_S = 20.0  # of our own warden, on a loaded machine


class ChildEnded(Exception):
    """The child is gone: its exit code (negative: a signal; None: it hung up), its output, and why
    its warden ended it, where that did."""

    def __init__(self, code: int | None, log: str, why: ReasonCode | None = None) -> None:
        self.code, self.log, self.why = code, log, why
        super().__init__(f"ended with {code}")


@dataclass(frozen=True)
class Answer:
    """What came back from one call, and what the judge saw meanwhile."""

    reply: Any
    """Unchecked."""
    wall_ns: int
    bell_ns: int
    """How long ``at_bell`` took."""
    then_ns: int
    """How long it took to say what the result is, where it did that afterwards, and ``then``."""
    cpu_ns: int
    """Processor time of all of its threads, up to the standstill, or to the bell if it went on."""
    others: int
    """Living processes of the child besides its worker."""
    early_ns: int
    """Processor time that it had between the last standstill and the word to go."""
    late_ns: int
    """How long it went on after it had been told to stop, where nothing else was asked of it."""


@dataclass(frozen=True)
class Glance:
    """Looks at a child in the middle of a call."""

    after_s: tuple[float, ...]
    """The seconds before each of them that it runs."""
    look: Callable[[int], None]
    """Given its process id, while it stands still."""


class Child:
    """One isolated worker with its warden."""

    def __init__(
        self,
        worker: socket.socket,
        bell: socket.socket,
        warden: socket.socket,
        *,
        may_read: bool = True,
    ) -> None:
        self.worker, self.bell, self.warden = worker, bell, warden
        deadline_s = time.monotonic() + ANSWER_TIMEOUT_S
        greeting, self.pid = wire.receive_greeting(worker, deadline_s=deadline_s)
        if "failed" in greeting:
            raise OSError(greeting["failed"])
        self.pidfd = os.pidfd_open(self.pid)
        self.is_readable = may_read and cpu.may_read(self.pid)
        held = {"freeze", "copy-free"} if self.is_readable else {"freeze"}
        self.granted: frozenset[str] = frozenset(greeting["granted"]) | held
        self.mapped = cpu.mappings(self.pid) if self.is_readable else []
        """Its memory before anything of a candidate's ran in it: where a file lies there it is
        that file's for good, whatever is mapped over it."""
        self.is_stopped = False
        self.rest_ns = 0
        """What its clock of processor time showed when it last stood still."""
        self.calm_ns = 0
        """And a moment after it was told to stop."""
        self.is_closed = False
        self.seat: Seat | None = None
        """While it works beside others: it is stopped whenever somebody measures."""

    def request(
        self,
        what: str,
        *,
        timeout_s: float = ANSWER_TIMEOUT_S,
        fds: tuple[int, ...] = (),
        **arguments: Any,
    ) -> Any:
        """Ask the worker for something; its reply, unchecked.

        Raises:
            ChildEnded: it has gone.
            wire.Late: it does not answer.
            wire.Garbled: it answers nonsense.
        """
        try:
            wire.expect_silence(self.worker)
            self.go_on()
            deadline_s = time.monotonic() + timeout_s
            self.worker.settimeout(timeout_s)
            wire.send_request(self.worker, {"do": what, **arguments}, fds)
            deadline_s = self._give_way(self.worker, deadline_s)
            return wire.parse_reply(wire.receive_frame(self.worker, deadline_s=deadline_s))
        except wire.Closed:
            raise self.ended() from None

    def call(
        self,
        *,
        timeout_s: float,
        spin: bool = False,
        rings_first: bool = False,
        at_bell: Callable[[], None] = lambda: None,
        then: Callable[[], None] | None = None,
        glance: Glance | None = None,
        word: str = "",
    ) -> Answer:
        """One forward, from standstill to standstill. ``word``: under which names to hold the last
        output.

        The clock starts before the child can run and stops after it has been told to stop, when it
        says that it is done; while it stands still, ``at_bell`` runs. For ``then`` it goes on, and
        to say what the result is, where it ``rings_first``. With ``spin`` this process does not
        sleep while it waits. With ``glance`` the child is stopped on the way, and the clock is too.

        Raises:
            ChildEnded, wire.Late, wire.Garbled: as for ``request``.
        """
        go = wire.framed(wire.GO + word.encode())
        self.bell.settimeout(timeout_s)
        try:
            wire.expect_silence(self.bell)
            before_ns, rest_ns = self.cpu_ns(), self.rest_ns
            # It stands still, so the word waits for it.
            self.worker.send(go)
            start_ns = time.perf_counter_ns()
            signal.pidfd_send_signal(self.pidfd, signal.SIGCONT)
            if glance is not None:
                start_ns += self._glance(glance)
            body = self._hear_bell(timeout_s, spin_s=timeout_s if spin else 0.0)
            signal.pidfd_send_signal(self.pidfd, signal.SIGSTOP)
            end_ns = time.perf_counter_ns()
            at_bell()
            on_ns = time.perf_counter_ns()
            has_rung = rings_first and body == wire.DONE
            goes_on = has_rung or then is not None
            rung_ns = self.cpu_ns()
            if goes_on:
                signal.pidfd_send_signal(self.pidfd, signal.SIGCONT)
            if has_rung:
                body = self._hear_bell(timeout_s)
        except (wire.Closed, BrokenPipeError, ConnectionResetError, ProcessLookupError):
            raise self.ended() from None
        finally:
            self.is_stopped = False
        if then is not None and not _is_error(body):
            then()
        then_ns = time.perf_counter_ns() - on_ns
        others = self.stop()  # before the answer is read: other processes run until then
        reply = wire.parse_reply(body)
        stood_ns = time.perf_counter_ns() - end_ns
        late_ns = 0 if goes_on else standstill.late_ns(self.rest_ns - self.calm_ns, stood_ns)
        cpu_ns = (rung_ns if goes_on else self.rest_ns) - before_ns
        took = {"bell_ns": on_ns - end_ns, "then_ns": then_ns, "cpu_ns": cpu_ns}
        took |= {"early_ns": max(0, before_ns - rest_ns), "late_ns": late_ns}
        return Answer(reply, end_ns - start_ns, others=others, **took)

    def _hear_bell(self, timeout_s: float, *, spin_s: float = 0.0) -> bytes:
        """The bell's next message; whoever sits beside others stands still while one measures."""
        if self.seat is not None:
            self._give_way(self.bell, time.monotonic() + timeout_s)
        return wire.hear_bell(self.bell, spin_s=spin_s)

    def _glance(self, glance: Glance) -> int:
        """Stop for looks while the call still runs; the nanoseconds of standing still."""
        stood_ns = 0
        for after_s in glance.after_s:
            if select.select([self.bell], [], [], after_s)[0]:
                break
            start_ns = time.perf_counter_ns()
            self.is_stopped = False
            self.stop()
            glance.look(self.pid)
            self.ask_warden("go_on")
            stood_ns += time.perf_counter_ns() - start_ns
        return stood_ns

    def _give_way(self, sock: socket.socket, deadline_s: float) -> float:
        """Wait for an answer on ``sock``, standing still whenever somebody else measures.

        Returns:
            The deadline, later by the time of standing still.
        """
        while self.seat is not None and not select.select([sock], [], [], LOOK_S)[0]:
            if time.monotonic() > deadline_s:
                raise wire.Late
            if self.seat.is_wanted():
                self.is_stopped = False
                self.stop()
                deadline_s += self.seat.step_aside(self.pid)
                self.ask_warden("go_on")
                self.is_stopped = False
        return deadline_s

    def cpu_ns(self) -> int:
        """The processor time that all threads of the worker have had."""
        return standstill.processor_ns(self.pid)

    def stop(self) -> int:
        """Stop all of its processes; how many there are besides the worker.

        Raises:
            wire.Late: it cannot be stopped.
        """
        if self.is_stopped:
            return 0
        self.is_stopped = True
        # At once, because the warden stops it, and all others, in a tenth of a millisecond.
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.pidfd, signal.SIGSTOP)
        wire.send_request(self.warden, "stop")
        self.calm_ns = standstill.calm_ns(self.pid)
        answer = self._hear_warden()
        if not answer["stopped"]:
            raise wire.Late
        self.rest_ns = self.cpu_ns()
        return answer["others"]

    def clear(self) -> None:
        """Kill every process of the child but its worker."""
        self.ask_warden("clear")

    def go_on(self) -> None:
        """Let a stopped child run."""
        if self.is_stopped:
            self.is_stopped = False
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self.pidfd, signal.SIGCONT)

    def ask_warden(self, what: str) -> Any:
        wire.send_request(self.warden, what)
        return self._hear_warden()

    def _hear_warden(self) -> Any:
        deadline_s = time.monotonic() + ANSWER_TIMEOUT_S
        return wire.parse_reply(wire.receive_frame(self.warden, deadline_s=deadline_s))

    def ended(self) -> ChildEnded:
        """How it ended."""
        try:
            answer = self.ask_warden("ended")
        except (wire.Closed, wire.Late):
            return ChildEnded(None, "")
        why = answer["why"] and ReasonCode(answer["why"])
        return ChildEnded(answer["code"], answer["log"], why)

    def kill(self) -> None:
        """Kill its worker; whoever waits for an answer learns that it has gone."""
        if self.is_closed:
            return  # the number of its descriptor may be another's by now
        with contextlib.suppress(ProcessLookupError, OSError):
            signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)

    def close(self) -> None:
        """Kill it with all of its processes."""
        if self.is_closed:
            return
        self.is_closed = True
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)
        os.close(self.pidfd)
        for sock in (self.warden, self.bell, self.worker):
            sock.close()


def _is_error(body: bytes) -> bool:
    reply = wire.parse_reply(body)
    return isinstance(reply, dict) and "error" in reply
