"""Translation of CUDA to HIP and back, by the structure of the program."""

from kernelwright.hipify.cmake import translate_cmake
from kernelwright.hipify.finding import Finding, State
from kernelwright.hipify.make import translate_make
from kernelwright.hipify.python_text import translate_python
from kernelwright.hipify.translate import Translation, helper_header, translate

__all__ = [
    "Finding",
    "State",
    "Translation",
    "helper_header",
    "translate",
    "translate_cmake",
    "translate_make",
    "translate_python",
]
