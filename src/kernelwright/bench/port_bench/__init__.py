"""A benchmark for translators of CUDA to HIP: CUDA programs with the output that they must print.

Each program is one file under ``programs`` whose first comments state its domain, its hazards for
waves of 64 lanes, and the line that it prints. A translator's HIP text is compiled for AMD targets
and run under the emulation at both wave widths.
"""

from kernelwright.bench.port_bench.outcome import TARGETS, ProgramOutcome, evaluate
from kernelwright.bench.port_bench.program import BenchProgram, chosen, programs
from kernelwright.bench.port_bench.rates import Rate, rates
from kernelwright.bench.port_bench.translators import Translator, hipify_perl, ours

__all__ = [
    "TARGETS",
    "BenchProgram",
    "ProgramOutcome",
    "Rate",
    "Translator",
    "chosen",
    "evaluate",
    "hipify_perl",
    "ours",
    "programs",
    "rates",
]
