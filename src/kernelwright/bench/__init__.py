"""Benches: a suite of tasks searched one by one, and the bench of programs to port."""

from kernelwright.bench.suite import Outcome, run

__all__ = ["Outcome", "run"]
