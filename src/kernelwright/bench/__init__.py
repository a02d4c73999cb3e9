"""Benchmarks: a suite of tasks searched one by one, exams of checkpoints, and ports of programs."""

from kernelwright.bench.suite import TaskOutcome, run

__all__ = ["TaskOutcome", "run"]
