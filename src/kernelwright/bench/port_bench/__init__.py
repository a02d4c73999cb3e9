"""A bench of programs for translators: CUDA sources with the output that they must print.

Each program is one file under ``programs`` whose first comments say its domain, the hazards in it
for waves of 64 lanes, and the line that it prints. Any translator that gives HIP text can be run
over it: the text is compiled for AMD targets and run under the emulation at both wave widths.
"""

from kernelwright.bench.port_bench.outcome import TARGETS, Outcome, evaluate
from kernelwright.bench.port_bench.program import Program, chosen, programs
from kernelwright.bench.port_bench.rates import Rate, rates
from kernelwright.bench.port_bench.translators import Translator, hipify_perl, ours

__all__ = [
    "TARGETS", "Outcome", "Program", "Rate", "Translator", "chosen", "evaluate", "hipify_perl",
    "ours", "programs", "rates",
]  # fmt: skip
