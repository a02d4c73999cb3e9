"""Asks checkpoints the questions of an exam, and keeps their answers in the archive."""

from __future__ import annotations

import dataclasses
import gc
import hashlib
import itertools
import random
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from kernelwright.archive import Archive
from kernelwright.core.call import EXAM, EXEMPLARS, Call, Outcome
from kernelwright.core.candidate import Candidate
from kernelwright.core.device import Device
from kernelwright.core.ids import new_id
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.dialects.devices import gpu_name
from kernelwright.judge.devices.environment import resolve_threads
from kernelwright.llm.endpoint import Endpoint, Reply
from kernelwright.llm.opening import open_endpoint
from kernelwright.proposers.policy import CONTEXT, LOCAL
from kernelwright.proposers.swarm.answer import read
from kernelwright.proposers.swarm.prompt import GENERATOR
from kernelwright.suites.suite import SuiteEntry
from kernelwright.train.prompts import Prompts

AT_ONCE = 64
"""Questions that are asked at once, as many as a checkpoint answers together."""
ANSWER_S = 600.0
"""Seconds that answering a batch of questions may take, enough for a small model on a CPU."""
N_EXEMPLARS = 2
"""Kernels in a prompt that shows exemplars, as in training."""


@dataclass(frozen=True)
class Policy:
    """A checkpoint to examine, and the number of its answers to each task."""

    folder: Path
    samples: int

    @property
    def name(self) -> str:
        return f"{LOCAL}{self.folder}"

    @cached_property
    def weights(self) -> str:
        """Digest of the weights; it tells different checkpoints in the same folder apart."""
        found = hashlib.blake2b(digest_size=8)
        for file in sorted(self.folder.glob("*.safetensors")):
            with file.open("rb") as opened:
                found.update(hashlib.file_digest(opened, "blake2b").digest())
        return found.hexdigest()


@dataclass(frozen=True)
class Questions:
    """Asks checkpoints for the answers that the archive lacks."""

    entries: Sequence[SuiteEntry]
    settings: Settings
    device: Device
    max_tokens: int
    archive: Archive

    def ask(
        self, calls: dict[str, list[Call]], wanted: Mapping[Policy, int], *, is_shown: bool = False
    ) -> None:
        """Add the ``wanted`` number of answers of each checkpoint to ``calls``, by task digest.

        With ``is_shown`` the prompts show the checkpoint's own kernels from ``calls`` with their
        verdicts. Each answer is archived as soon as it arrives.
        """
        # Two entries may have the same text.
        tasks = {entry.task.digest: entry.task for entry in self.entries}
        for policy, n_wanted in wanted.items():
            blanks = [(task, self._blank(policy, task, calls, is_shown)) for task in tasks.values()]
            missing: list[tuple[str, int, Call]] = []
            for task, blank in blanks:
                answers = self._answers(task, blank)
                if len(answers) < n_wanted:
                    self.archive.add_task(task)
                    run = self.archive.start_run(task, self.settings)
                    fresh = fresh_seeds(self.settings.seed, task, answers)
                    seeds = itertools.islice(fresh, n_wanted - len(answers))
                    missing += [(run, seed, blank) for seed in seeds]
            if missing:
                self._ask(policy, missing)
                _free()
            for task, blank in blanks:
                calls[task.digest] += self._answers(task, blank)[:n_wanted]

    def _answers(self, task: Task, blank: Call) -> list[Call]:
        """Return the archived answers to the question ``blank``."""
        return [
            call
            for call in self.archive.calls(task.digest)
            if (call.purpose, call.model, call.dialect) == (EXAM, blank.model, blank.dialect)
            and call.messages == blank.messages
            and call.is_shown == blank.is_shown
            and blank.parameters.items() <= call.parameters.items()
            and call.outcome is not Outcome.FAILED  # the machine's fault, not the model's
        ]

    def _ask(self, policy: Policy, missing: Sequence[tuple[str, int, Call]]) -> None:
        endpoint = open_endpoint(policy.name)

        def keep(run: str, seed: int, call: Call) -> Call:
            answered = self._answered(endpoint, seed, call)
            self.archive.add_call(run, answered)
            return answered

        with ThreadPoolExecutor(AT_ONCE) as pool:
            asked = [pool.submit(keep, *each) for each in missing]
            failed = [call for done in asked if (call := done.result()).outcome is Outcome.FAILED]
        if failed:
            warnings.warn(
                f"{policy.name}: {len(failed)} of {len(asked)} answers do not count, because they "
                f"failed: {failed[-1].detail}; the same command asks again",
                RuntimeWarning,
                stacklevel=2,
            )

    def _answered(self, endpoint: Endpoint, seed: int, call: Call) -> Call:
        parameters = {**endpoint.parameters(seed), **call.parameters}
        began = time.monotonic()
        reply = endpoint.ask(call.messages, parameters, ANSWER_S)
        return dataclasses.replace(
            call,
            id=new_id(),
            parameters=parameters,
            answer=reply.answer,
            outcome=outcome_of(reply, self.max_tokens),
            detail=reply.detail,
            input_tokens=reply.input_tokens or 0,
            output_tokens=reply.output_tokens or 0,
            took_s=time.monotonic() - began,
        )

    def _blank(
        self, policy: Policy, task: Task, calls: Mapping[str, Sequence[Call]], is_shown: bool
    ) -> Call:
        """Return the question about a task, as a call without an answer."""
        dialect = self.settings.dialects[0]
        own = frozenset(
            Candidate(code, dialect).normal
            for call in calls[task.digest]
            if call.model == policy.name and (code := read(call.answer, dialect).code)
        )
        prompts = Prompts(
            self.archive,
            self.device,
            resolve_threads(self.settings.threads),
            exemplars=N_EXEMPLARS if is_shown else 0,
            among=own,
        )
        parameters = {
            "weights": policy.weights,
            "device": self.device.key,
            "gpu": gpu_name(self.device),
            "max_output_tokens": self.max_tokens,
        }
        if is_shown:
            parameters[EXEMPLARS] = N_EXEMPLARS
        return Call(
            id="",
            model=policy.name,
            purpose=EXAM,
            context=CONTEXT,
            template=GENERATOR,
            dialect=dialect,
            parameters=parameters,
            messages=prompts.ask(task, dialect, self.settings.seed).messages,
            answer="",
            outcome=Outcome.FAILED,
        )


def fresh_seeds(seed: int, task: Task, answers: Sequence[Call]) -> Iterator[int]:
    """Yield seeds for further answers; a seed that was used before would repeat its answers."""
    used = {call.parameters.get("seed") for call in answers}
    drawn = (random.Random(f"{seed} {task.digest} {n}").getrandbits(31) for n in itertools.count())
    return (each for each in drawn if each not in used)


def outcome_of(reply: Reply, max_tokens: int) -> Outcome:
    """Return how an answer ended.

    An answer that the time limit cut off counts as failed, since the machine was too slow; it is
    asked for again. An answer that the token limit cut off counts as the model's.
    """
    is_short = reply.output_tokens is not None and reply.output_tokens < max_tokens
    return Outcome.FAILED if reply.outcome is Outcome.CUT and is_short else reply.outcome


def _free() -> None:
    """Release a checkpoint's memory for the next one or for the judge."""
    import torch

    open_endpoint.cache_clear()
    gc.collect()
    torch.cuda.empty_cache()
