"""CUDA to HIP and back, by the structure of the program."""

from kernelwright.translate.cmake import translate_cmake
from kernelwright.translate.finding import Finding, State
from kernelwright.translate.python_text import translate_python
from kernelwright.translate.translate import Translation, translate

__all__ = [
    "Finding",
    "State",
    "Translation",
    "translate",
    "translate_cmake",
    "translate_python",
]
