"""The ``port`` proposer: CUDA to HIP and back, by the structure of the program."""

from kernelwright.propose.port.cmake import translate_cmake
from kernelwright.propose.port.finding import Finding, State
from kernelwright.propose.port.proposer import PortProposer
from kernelwright.propose.port.python_text import translate_python
from kernelwright.propose.port.translate import Translation, translate

__all__ = [
    "Finding",
    "PortProposer",
    "State",
    "Translation",
    "translate",
    "translate_cmake",
    "translate_python",
]
