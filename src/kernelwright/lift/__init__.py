"""NVIDIA's machine code (SASS) to C for AMD GPUs and for this CPU, by tables."""

from kernelwright.lift.kernel import LiftedKernel, Unlifted, used_rows
from kernelwright.lift.program import LiftedProgram, disassembly_missing, lift, lift_text

__all__ = [
    "LiftedKernel",
    "LiftedProgram",
    "Unlifted",
    "disassembly_missing",
    "lift",
    "lift_text",
    "used_rows",
]
