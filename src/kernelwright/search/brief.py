"""The brief that a search's settings make: its models, and what they may cost."""

from __future__ import annotations

from kernelwright.core.candidate import Brief
from kernelwright.core.device import Device
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task


def brief_of(task: Task, device: Device, dialects: tuple[str, ...], settings: Settings) -> Brief:
    """Return a brief with the models of the settings and what they may cost."""
    return Brief(
        task,
        device,
        dialects,
        models=settings.models,
        contexts=settings.contexts,
        attached=settings.attached,
        prices=settings.prices,
        budget_tokens=settings.budget_tokens or None,
        budget_usd=settings.budget_usd or None,
    )
