"""The processes of one judge: a zygote, and the runners that are forked from it.

All are forked from one, whatever their environments: what their core has seen of one of them makes
the next one's call faster where both have their memory from the same process. On a Zen 5 core a
softmax of 0.13 ms took 0.10 after a relative's call.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import torch

from kernelwright.core.device import Device
from kernelwright.core.errors import DeviceError
from kernelwright.core.outcome import ReasonCode, Status
from kernelwright.judge.children.forking import MEMORY_SHARE, Zygote
from kernelwright.judge.children.nursery import READ_AT_IMPORT, Nursery
from kernelwright.judge.children.runner import Runner
from kernelwright.judge.machine.place import Place
from kernelwright.judge.machine.region import Region
from kernelwright.judge.refusal import Refused

REFUSALS = tuple(map(frozenset, ((), ("processes",), ("processes", "filesystem"))))
"""Guarantees to do without, tried in this order until the device works."""


class Children:
    """Makes isolated children for a device; threads may ask for them at the same time."""

    def __init__(
        self, device: Device, place: Place, *, threads: int, nursery: Nursery | None = None
    ) -> None:
        self._device = device
        self._nursery = nursery
        self._place = place
        self._threads = threads
        *cores, _ = sorted(os.sched_getaffinity(0))
        # All of them need no guarding. Judges side by side begin at different ones; the last is
        # the judge's own while it looks at the clock.
        first = os.getpid() % len(cores) if cores else 0
        is_narrow = place.kind == "cpu" and threads <= len(cores)
        self._cores = tuple([*cores[first:], *cores[:first]][:threads]) if is_narrow else ()
        self._zygotes: dict[frozenset[tuple[str, str]], Zygote] = {}
        self._refuse: frozenset[str] | None = None
        self._lock = threading.Lock()

    def zygote(self, extra: Mapping[str, str]) -> Zygote:
        """The zygote for an environment; it starts now if there is none, and is not waited for.
        Variables that no library reads when it is imported make no difference."""
        early = {name: extra[name] for name in READ_AT_IMPORT & extra.keys()}
        key = frozenset(early.items())
        with self._lock:
            if key not in self._zygotes:
                nursery = None if early else self._nursery
                told = {**self._place.sight, **early}
                self._zygotes[key] = Zygote(told, threads=self._threads, nursery=nursery)
            return self._zygotes[key]

    def spawn(
        self,
        extra: Mapping[str, str],
        like: list[torch.Tensor],
        *,
        cache: Path | None = None,
        region: Region | None = None,
        memory_share: float = MEMORY_SHARE,
    ) -> Runner:
        """A runner in a new child; ``like`` are its outputs without memory.

        Raises:
            DeviceError: none can be made, or the device does not work in it.
            Refused: it lacks memory for the first one.
        """
        zygote = self.zygote(extra)

        def make(refuse: frozenset[str]) -> Runner:
            child = zygote.fork(
                variables=extra,
                cores=self._cores,
                cache=cache,
                refuse=refuse,
                memory_share=memory_share,
                on_gpu=self._place.kind != "cpu",
            )
            return Runner(child, self._place, like, threads=self._threads, region=region)

        with self._lock:
            if self._refuse is None:
                return self._first(make)
        return make(self._refuse)

    def pids(self) -> list[int]:
        """The zygotes' processes: all of the judge's children are below them."""
        with self._lock:
            return [zygote.pid for zygote in self._zygotes.values() if zygote.pid is not None]

    def close(self) -> None:
        """End all of them; threads that wait for one wait no longer."""
        for zygote in self._zygotes.values():
            zygote.close()

    def _first(self, make: Callable[[frozenset[str]], Runner]) -> Runner:
        """The first runner; it shows with which guarantees the device works in a child.

        Source:
            CUDA does not start in some process namespaces (error 304, "OS call failed").
        """
        if self._place.reads_from_outside:
            self._refuse = frozenset()
            return make(self._refuse)
        reasons = []
        for refused in REFUSALS:
            runner = make(refused)
            try:
                runner.try_device()
            except Refused as error:
                runner.close()
                if error.status is Status.TIMEOUT or error.says_no_memory:
                    # Another's candidate may keep the device: that is no reason to isolate less.
                    raise Refused(ReasonCode.NOT_STARTED, str(error)) from error
                reasons.append(str(error))
            except BaseException:
                runner.close()
                raise
            else:
                self._refuse = refused
                return runner
        raise DeviceError(
            f"{self._device} does not work in a separate process",
            seen="; ".join(dict.fromkeys(reasons))[:500],
            do="run `kernelwright doctor`, and check the driver and its device files",
        )
