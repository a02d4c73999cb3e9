"""The workers that a user asks for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class WorkersAsked:
    """How many workers, and where."""

    gpus: str = "1"
    """How many GPUs of this machine, or 'all'."""
    jobs: int | None = None
    """How many tasks side by side; None: as many as fit."""
    cluster: str = ""
    """The address of a Ray cluster; '' for this machine."""
    gpu_model: str = ""
    """The GPUs of the cluster to work on, by Ray's name for their model; '': its only one."""
