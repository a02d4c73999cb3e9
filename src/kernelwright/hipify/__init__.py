"""Translation of CUDA to HIP and back, by the structure of the program; to Metal in ``metal``."""

from kernelwright.hipify.cmake import translate_cmake
from kernelwright.hipify.finding import Finding, State
from kernelwright.hipify.python_text import translate_python
from kernelwright.hipify.translate import Translation, translate

__all__ = [
    "Finding",
    "State",
    "Translation",
    "translate",
    "translate_cmake",
    "translate_python",
]
