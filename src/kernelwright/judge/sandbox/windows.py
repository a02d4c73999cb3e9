"""Windows of one runner: many calls in one stretch of time, each on inputs of its own."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch

from kernelwright.judge.sandbox.calls import Call, Window
from kernelwright.judge.sandbox.child import Answer, CallOptions, SampleTimes
from kernelwright.judge.sandbox.outputs import Claim, claims_at
from kernelwright.judge.sandbox.protocol import Go
from kernelwright.judge.sandbox.ring import Form, Packed, Ring, changed, copied, written
from kernelwright.judge.sandbox.runner import Runner

LIMIT_S = 30.0


class Windows:
    """Runs windows; every method that talks to the child raises ``Refused`` as the runner's do."""

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._ring: Ring | None = None
        self.sizes: dict[bool, int] = {}
        """The calls in a window that are not queued, and that are, as the module needs them; empty
        until that is known."""
        self.n_evened = 0
        """The calls in a window beside faster modules; 0 where there are none."""
        self.may_queue = self.is_queued = False
        """True if calls can be queued on the GPU behind the gate; and if they are from now on."""

    @property
    def n_calls(self) -> int:
        """The calls in a window from now on."""
        return max(self.own_calls, self.n_evened)

    @property
    def own_calls(self) -> int:
        """The calls in a window as the module needs them."""
        return self.sizes[self.is_queued]

    @property
    def are_open(self) -> bool:
        """True if memory is shared for the arguments of many calls."""
        return self._ring is not None

    @property
    def ring(self) -> Ring:
        """The ring of inputs and outputs.

        It exists from ``open`` on.
        """
        assert self._ring is not None  # since ``open``
        return self._ring

    def open(self, form: Form, n_entries: int) -> None:
        """Share memory for the arguments of so many calls, unless it is shared already."""
        if self._ring is not None:
            return
        self._ring = ring = Ring(self._runner.backend, form, n_entries)
        self._runner.closing.callback(ring.close)
        n_bytes, entries = ring.memory.numel(), ring.entries
        reply = self._runner.ask(
            "map_ring", LIMIT_S, fds=ring.fds, n_bytes=n_bytes, entries=entries
        )
        self.may_queue = isinstance(reply, dict) and bool(reply.get("has_gate"))

    def run(
        self,
        packed: Mapping[int, Packed],
        taken: Sequence[int],
        *,
        limit_s: float,
        before: Callable[[Callable[[], None]], None],
        samples: SampleTimes | None = None,
    ) -> Window:
        """A call on each of these arguments, in this order, which are ``packed`` and written to
        these places of the ring.

        The outputs of the ``taken`` ones are read, or copied; the child learns which when the clock
        has stopped. Their places in the ring are next to each other, and the last call is one of
        them. ``before`` is given the writing of the arguments, to do what belongs before and after
        that. Calls that are queued on the GPU are by then.

        Units:
            ``elapsed_ns`` in nanoseconds, for all calls together.
        """
        runner, poisoner = self._runner, None
        at = {place: n for n, place in enumerate(packed) if place in taken}
        is_copied = bool(taken) and not runner.is_read
        if is_copied:
            poisoner = runner.poisoner(self.ring.part(min(taken), len(taken)), holds_device=False)

        @contextlib.contextmanager
        def revealed() -> Iterator[None]:
            before(functools.partial(self._write, packed))
            with poisoner or contextlib.nullcontext():
                yield

        with contextlib.ExitStack() as stack:
            reveal = functools.partial(stack.enter_context, revealed())
            options = CallOptions(
                limit_s,
                spin=runner.backend.is_spinning,
                signals_first=not runner.is_read,
                at_completion=poisoner,
                then=functools.partial(self._copy, list(at.values())) if is_copied else None,
                samples=samples,
                go=Go(runner.next_hold(), self.is_queued, tuple(packed)),
                at_queued=functools.partial(self._open_gate, reveal) if self.is_queued else None,
            )
            runner.stand_still()
            if runner.is_read:
                self.ring.progress.fill_(0)
            if self.is_queued:
                self.ring.shut()
            else:
                reveal()
            answer = runner.run(options)
        return self._seen(answer, packed, at)

    def spoil_returned(self, order: Sequence[int]) -> list[int]:
        """Overwrite the arguments of the calls that have returned, while the child stands still in
        the middle of a window of this ``order``: calls that were put off find none. Returns their
        places; none where arguments may be a part of results."""
        if self._runner.form.keeps_arguments or any(self._runner.form.changed):
            return []
        done = list(order[: max(0, int(self.ring.progress))])
        self.ring.spoil(done)
        return done

    def read(self, window: Window, number: int) -> Call:
        """A call of the last window, by its number, with its outputs; the child stands still."""
        claims = window.claims[number]
        return Call(round(window.call_ns), claims, self._runner.read_outputs(claims))

    def _seen(self, answer: Answer, packed: Mapping[int, Packed], at: Mapping[int, int]) -> Window:
        """The window. ``at``: the numbers of the calls whose outputs are taken, by place."""
        runner, n_calls = self._runner, len(packed)
        claims = self._claims(answer.reply, n_calls)
        elapsed_ns = runner.elapsed_ns(answer, claims)
        calls = {
            place: Call(elapsed_ns // n_calls, claims[n], self._outputs(place, copy, claims[n]))
            for copy, (place, n) in enumerate(at.items())
        }
        runner.count_run(answer, was_read=bool(at) and runner.is_read)
        return Window(
            elapsed_ns,
            n_calls,
            calls,
            claims,
            after_ns=() if runner.is_read or not at else answer.after_ns,
            was_queued=answer.was_queued,
            written={place: self._written(place, packed[place]) for place in at},
        )

    def _written(self, place: int, packed: Packed) -> list[bool]:
        return changed(self.ring.entries[place], self.ring.memory, packed.arguments)

    def _write(self, packed: Mapping[int, Packed]) -> None:
        self.ring.write(packed)
        self._runner.backend.settle()

    def _open_gate(self, reveal: Callable[[], object]) -> int:
        """Write the arguments and open the gate; when that was, in nanoseconds."""
        try:
            reveal()
        finally:
            opened_ns = self.ring.open_gate()
        return opened_ns

    def _copy(self, calls: list[int]) -> None:
        """Have the child copy the outputs of some calls into the ring's memory."""
        slots = self.ring.copies[: len(calls)]
        self._runner.ask("copy_calls", LIMIT_S, calls=calls, slots=slots)

    def _claims(self, reply: Any, n_calls: int) -> list[list[Claim]]:
        """The claims of every call: all outputs are laid out as the last ones are."""
        reply = reply if isinstance(reply, dict) else {}
        return claims_at(reply.get("addresses"), self._runner.claims(reply.get("last")), n_calls)

    def _outputs(self, place: int, number: int, claims: list[Claim]) -> list[torch.Tensor]:
        """The outputs of a call, and what it has written to its arguments; ``number``: of those
        whose outputs were copied."""
        ring, runner = self.ring, self._runner
        left = written(ring.entries[place], ring.memory, runner.form)
        if runner.is_read:
            return runner.read_outputs(claims) + left
        return copied(claims, ring.copies[number], ring.memory) + left
