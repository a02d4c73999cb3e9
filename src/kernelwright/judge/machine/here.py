"""Whether an archived verdict could have been found on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kernelwright.core.cores import usable_cores
from kernelwright.core.device import Device
from kernelwright.core.evaluation import Environment
from kernelwright.core.settings import Settings
from kernelwright.judge.machine.environment import describe
from kernelwright.judge.machine.place import place_of

OF_THE_TASK = ("matmul_tf32", "cudnn_tf32", "precision")
"""Facts of an environment that follow from a task's source and its precision: they are no reason to
tell two environments of one task apart, and are known only where the task has been run."""


@dataclass(frozen=True)
class Here:
    """A device of this machine with its software, and what else a figure depends on."""

    device: str
    """With its architecture, and without a number: 'cuda:sm_90'."""
    facts: Mapping[str, Any]

    @classmethod
    def of(cls, device: Device, settings: Settings, n_cores: int = 0) -> Here:
        """Where a search goes on that has so many cores; 0: all of this process."""
        threads = settings.threads or n_cores or usable_cores()
        found = describe(device, place_of(device), threads, settings.cache)
        return cls(found.device, found.facts)

    def is_of(self, environment: Environment) -> bool:
        """Whether what was found in an environment could have been found here."""
        there = (environment.device, _without_the_task(environment.facts))
        return there == (self.device, _without_the_task(self.facts))


def _without_the_task(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in facts.items() if name not in OF_THE_TASK}
