"""Checkpoints examined on a suite: each answers every task some times, and the judge counts."""

from __future__ import annotations

import dataclasses
import gc
import hashlib
import secrets
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from kernelwright.archive import Archive
from kernelwright.bench import known
from kernelwright.bench.known import Here
from kernelwright.bench.suite import Outcome
from kernelwright.core import plugins
from kernelwright.core.call import EXAM, Call
from kernelwright.core.call import Outcome as Ending
from kernelwright.core.device import Device
from kernelwright.core.errors import KernelwrightError, UsageError
from kernelwright.core.settings import Settings
from kernelwright.dialects.devices import gpu_name, resolve
from kernelwright.load.suite import SuiteEntry
from kernelwright.propose.policy import CONTEXT, LOCAL
from kernelwright.propose.swarm.endpoint import Endpoint, Reply, open_endpoint
from kernelwright.propose.swarm.prompt import GENERATOR
from kernelwright.side_by_side import side_by_side
from kernelwright.terminal import error_facts
from kernelwright.train.court import Court
from kernelwright.train.courtroom import Answer
from kernelwright.train.prompts import Prompts

SAMPLES = 4
MAX_TOKENS = 2048
AT_ONCE = 64  # questions that wait for a checkpoint, which answers so many together
ANSWER_S = 600.0  # for all that are answered together: a small model on a CPU


@dataclass(frozen=True)
class Policy:
    """A checkpoint to examine, and how many answers to each task."""

    folder: Path
    samples: int

    @property
    def name(self) -> str:
        return f"{LOCAL}{self.folder}"

    @cached_property
    def weights(self) -> str:
        """A digest of what it answers with: another checkpoint in the same folder is another."""
        found = hashlib.blake2b(digest_size=8)
        for file in sorted(self.folder.glob("*.safetensors")):
            with file.open("rb") as opened:
                found.update(hashlib.file_digest(opened, "blake2b").digest())
        return found.hexdigest()


@dataclass(frozen=True)
class Exam:
    """What was asked and is to be counted."""

    outcomes: list[Outcome]
    calls: frozenset[str]


def policies(named: Sequence[str], samples: int) -> list[Policy]:
    """The checkpoints named: 'DIR', or 'DIR=N' for N answers to each task.

    Raises:
        UsageError: no checkpoint is there.
    """
    found = []
    for text in named:
        folder, _, number = text.rpartition("=")
        is_counted = bool(folder) and number.isdigit() and int(number) > 0
        path = Path(folder if is_counted else text).expanduser()
        if not (path / "config.json").is_file():
            raise UsageError(
                f"no checkpoint at {path}",
                seen="no config.json in it",
                do="name a folder that `kernelwright train` wrote, as DIR or DIR=N",
            )
        found.append(Policy(path, int(number) if is_counted else samples))
    return found


def run(
    entries: Sequence[SuiteEntry], examined: Sequence[Policy], *, settings: Settings,
    dialect: str = "", max_tokens: int = MAX_TOKENS, jobs: int = 1, timed: bool = True,
    on_done: Callable[[Outcome], None] = lambda outcome: None,
) -> Exam:  # fmt: skip
    """Answers of every checkpoint to every task, judged.

    Answers and verdicts are kept in the archive: the same call goes on where it stopped, and one
    with more samples adds to them. No prompt shows a kernel. One checkpoint is asked after the
    other; then tasks are judged, ``jobs`` of them side by side. Without ``timed`` only rightness is
    found, in a fraction of the time: nobody has looked then whether own code does the work.

    Raises:
        DeviceError: this machine has no such device.
        ProposerError: a checkpoint cannot be run.
        UsageError: kernels in the dialect cannot be judged on the device.
    """
    device = resolve(Device.parse(settings.device))
    told = dataclasses.replace(
        settings, proposers=("policy",), models=tuple(policy.name for policy in examined),
        dialects=(_usable(dialect, device),),
    )  # fmt: skip
    here = Here.of(device, told)
    with Archive(told.archive) as archive:
        asked = [_Asked(p, entries, told, device, max_tokens, archive) for p in examined]
        for each in asked:
            each.ask()
        calls = {entry.task.digest: [c for a in asked for c in a.calls(entry)] for entry in entries}
    with Court(told, device, jobs=jobs, timed=timed) as court:

        def one(entry: SuiteEntry) -> Outcome:
            said = [
                Answer(entry.task, c.dialect, c.answer, model=c.model, call=c.id)
                for c in calls[entry.task.digest]
            ]
            error = None
            try:
                court.judge(said)
            except KernelwrightError as failed:
                error = error_facts(failed)
            return Outcome(entry, known.chapter(entry.task, told, here), error)

        found = side_by_side(one, entries, jobs=jobs, on_done=on_done)
    outcomes = [o or Outcome(e, was_run=False) for o, e in zip(found, entries, strict=True)]
    judged = [o.entry.task.digest for o in outcomes if o.was_run and o.error is None]
    return Exam(outcomes, frozenset(call.id for digest in judged for call in calls[digest]))


def _usable(dialect: str, device: Device) -> str:
    """The dialect to ask for; by default what the rules would write in on such a device."""
    name = dialect or ("cpp" if device.kind == "cpu" else "triton")
    missing = plugins.find("kernelwright.dialects", name).missing(device)
    if missing:
        raise UsageError(
            f"kernels in {name} cannot be judged on {device}",
            seen=missing,
            do="choose another --dialect or --device",
        )
    return name


@dataclass(frozen=True)
class _Asked:
    """One checkpoint's part of an exam."""

    policy: Policy
    entries: Sequence[SuiteEntry]
    told: Settings
    device: Device
    max_tokens: int
    archive: Archive

    def calls(self, entry: SuiteEntry) -> list[Call]:
        """Its answers to a task that the archive holds, at most so many as are wanted."""
        wanted = self._blank(entry)
        there = [
            call
            for call in self.archive.calls(entry.task.digest)
            if (call.purpose, call.model, call.dialect) == (EXAM, wanted.model, wanted.dialect)
            and call.messages == wanted.messages
            and wanted.parameters.items() <= call.parameters.items()
            and call.outcome is not Ending.FAILED  # the machine's, not the model's
        ]
        return there[: self.policy.samples]

    def ask(self) -> None:
        """Ask for the answers that the archive lacks, and keep each as soon as it is there."""
        missing: list[tuple[str, Call]] = []
        for entry in self.entries:
            n_missing = self.policy.samples - len(self.calls(entry))
            if n_missing:
                self.archive.add_task(entry.task)
                run = self.archive.start_run(
                    entry.task, dataclasses.replace(self.told, proposers=())
                )
                missing += [(run, self._blank(entry))] * n_missing
        if missing:
            self._ask(missing)
            _free()

    def _ask(self, missing: Sequence[tuple[str, Call]]) -> None:
        endpoint = open_endpoint(self.policy.name)

        def keep(position: int, run: str, call: Call) -> None:
            self.archive.add_call(run, self._answered(endpoint, position, call))

        with ThreadPoolExecutor(AT_ONCE) as pool:
            for done in [pool.submit(keep, n, *each) for n, each in enumerate(missing)]:
                done.result()

    def _answered(self, endpoint: Endpoint, position: int, call: Call) -> Call:
        parameters = {**endpoint.parameters(self.told.seed + position), **call.parameters}
        began = time.monotonic()
        reply = endpoint.ask(call.messages, parameters, ANSWER_S)
        return dataclasses.replace(
            call, id=f"{time.time_ns() // 1_000_000:012x}{secrets.token_hex(8)}",
            parameters=parameters, answer=reply.answer, outcome=ending(reply, self.max_tokens),
            detail=reply.detail, input_tokens=reply.input_tokens or 0,
            output_tokens=reply.output_tokens or 0, took_s=time.monotonic() - began,
        )  # fmt: skip

    def _blank(self, entry: SuiteEntry) -> Call:
        """The question about a task, without an answer."""
        dialect = self.told.dialects[0]
        prompts = Prompts(self.archive, self.device, self.told.threads, exemplars=0)
        parameters = {
            "weights": self.policy.weights, "device": self.device.key,
            "gpu": gpu_name(self.device), "max_output_tokens": self.max_tokens,
        }  # fmt: skip
        return Call(
            id="", model=self.policy.name, purpose=EXAM, context=CONTEXT, template=GENERATOR,
            dialect=dialect, parameters=parameters,
            messages=prompts.ask(entry.task, dialect, 0).messages, answer="",
            outcome=Ending.FAILED,
        )  # fmt: skip


def ending(reply: Reply, max_tokens: int) -> Ending:
    """How an answer ended. One that the clock cut off failed, by the machine's fault: it does not
    count, and is asked again. One that the limit of tokens cut off is the model's."""
    is_short = reply.output_tokens is not None and reply.output_tokens < max_tokens
    return Ending.FAILED if reply.outcome is Ending.CUT and is_short else reply.outcome


def _free() -> None:
    """Give back what a checkpoint held: the next one, or the judge, needs it."""
    import torch

    open_endpoint.cache_clear()
    gc.collect()
    torch.cuda.empty_cache()
