"""The append-only store of tasks, candidates, proposals, evaluations and their raw timings."""

from kernelwright.archive.archive import Activity, Archive, Run, Step
from kernelwright.archive.connect import without_password

__all__ = ["Activity", "Archive", "Run", "Step", "without_password"]
