"""CMake files: the CUDA language and its libraries become HIP's; what has no rule is reported."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from typing import Any

from kernelwright.propose.port.finding import Finding, State
from kernelwright.propose.port.table import TABLES
from kernelwright.propose.port.translate import Translation

_TOKEN = re.compile(r"(?P<comment>#[^\n]*)|(?P<word>[\w$.{}<>/+-]+(?:::[\w-]+)?)")
_OWNED = re.compile(
    r"CUDA::\w+|(CMAKE_)?CUDA(_\w+)?|cuda_\w+|CUDAToolkit(_\w+)?|cu(dart|blas|fft|sparse|rand)|nvcc"
    r"|--?(use_fast_math|expt-|gencode|arch=sm|default-stream)\S*",
    re.IGNORECASE,
)


@cache
def _tables() -> dict[str, Any]:
    return tomllib.loads((TABLES / "cmake_to_hip.toml").read_text())


def translate_cmake(text: str, *, file: str = "") -> Translation:
    """``text``, a CMake file, for HIP; sources named ``*.cu`` are named ``*.hip``."""
    words, changed = _tables()["words"], _tables()["changed"]
    findings: list[Finding] = []

    def replace(match: re.Match[str]) -> str:
        word = match["word"]
        if word is None:
            return match[0]
        name = word.removeprefix("${").removesuffix("}")
        line = text.count("\n", 0, match.start()) + 1
        if word.endswith(".cu"):
            became = word.removesuffix(".cu") + ".hip"
            findings.append(Finding(line, State.TRANSLATED, word, became, file=file))
            return became
        if name in words:
            state = State.CHANGED if name in changed else State.TRANSLATED
            reason = changed.get(name, "")
            findings.append(Finding(line, state, name, words[name], reason, file=file))
            return word.replace(name, words[name])
        if _OWNED.fullmatch(name):
            findings.append(
                Finding(
                    line, State.UNPORTED, name, reason="no rule for this word of the build",
                    advice="see CMake's HIP language pages", file=file,
                )
            )  # fmt: skip
        return word

    return Translation(_TOKEN.sub(replace, text), tuple(findings))
