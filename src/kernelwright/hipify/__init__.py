"""Translation of CUDA to HIP and back, by the structure of the program; to Metal in ``metal``."""

from kernelwright.hipify.cmake import translate_cmake
from kernelwright.hipify.finding import Finding, State
from kernelwright.hipify.make import translate_make
from kernelwright.hipify.python_text import translate_python
from kernelwright.hipify.translate import Translation, functions_header, translate

__all__ = [
    "Finding",
    "State",
    "Translation",
    "functions_header",
    "translate",
    "translate_cmake",
    "translate_make",
    "translate_python",
]
