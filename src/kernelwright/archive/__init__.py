"""The append-only store of tasks, candidates, proposals, evaluations and their raw timings."""

from kernelwright.archive.archive import Archive, Run

__all__ = ["Archive", "Run"]
