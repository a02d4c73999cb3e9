"""CMake files: names and libraries of one language become the other's; the rest is reported."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from typing import Any

from kernelwright.hipify.finding import Finding, State
from kernelwright.hipify.names import SUFFIXES
from kernelwright.hipify.table import TABLES
from kernelwright.hipify.translate import Translation

_TOKEN = re.compile(r"(?P<comment>#[^\n]*)|(?P<word>[\w${}./+=-]+(?:::[\w-]+)?)")
_TWO_WORDS = re.compile(r"(--default-stream) +(per-thread|legacy)")
_PACKAGE = re.compile(r"^[ \t]*find_package\(\s*(hip)\b[^)]*\)[^\n]*\n?", re.MULTILINE)
_OWN_PACKAGES = re.compile(
    r"^[ \t]*find_package\(\s*hip(blas|blaslt|fft|rand|sparse|solver|cub)\b[^)]*\)[^\n]*\n",
    re.MULTILINE,
)
_OWNED = {
    "hip": re.compile(
        r"CUDA::\w+|(CMAKE_)?CUDA(_\w+)?|cuda_(add|build|compile|include|select|wrap)_\w+"
        r"|CUDAToolkit(_\w+)?|cu(dart|blas|fft|sparse|rand)|nvcc|--?(use_fast_math|expt-|gencode|arch=sm|default-stream|fmad|ftz|prec-(div|sqrt)"
        r"|X(ptxas|compiler|cudafe|linker|fatbin)|maxrregcount|lineinfo|generate-line-info|rdc"
        r"|relocatable-device-code|dlto|diag-suppress|extra-device-vectorization)\S*"
    ),
    "cuda": re.compile(r"(hip|roc|hiprtc|MIOpen)::\w+|(CMAKE_)?HIP(_\w+)?|hip(cc|_\w+)|-fgpu-\S*"),
}
WAY_BACK = "its value is for the other compiler or its targets: choose a new one"


@cache
def _tables() -> dict[str, Any]:
    return tomllib.loads((TABLES / "cmake_to_hip.toml").read_text())


@cache
def _words(to: str) -> dict[str, str]:
    """Return the words of this side → those of the other; going back, the first of several is
    used."""
    words = _tables()["words"]
    if to == "hip":
        return words
    back: dict[str, str] = {}
    for cuda, hip in words.items():
        back.setdefault(hip, cuda)
    return back | {"hip::host": "CUDA::cudart", "hip::device": "CUDA::cudart"}


def translate_cmake(text: str, *, to: str = "hip", file: str = "") -> Translation:
    """Translate ``text``, a CMake file; sources named ``*.cu`` become ``*.hip``, or the reverse."""
    words, changed = _words(to), _tables()["changed"]
    old, new = SUFFIXES[to]
    findings: list[Finding] = []

    def replace(match: re.Match[str]) -> str:
        word = match["word"]
        if word is None:
            return match[0]
        name = word.removeprefix("${").removesuffix("}")
        line = text.count("\n", 0, match.start()) + 1
        if word.endswith(old):
            became = word.removesuffix(old) + new
            findings.append(Finding(line, State.TRANSLATED, word, became, file=file))
            return became
        if name in words:
            reason = changed.get(name if to == "hip" else words[name], "")
            reason = WAY_BACK if reason and to == "cuda" else reason
            state = State.CHANGED if reason else State.TRANSLATED
            findings.append(Finding(line, state, name, words[name], reason, file=file))
            return word.replace(name, words[name])
        if _OWNED[to].fullmatch(name):
            findings.append(
                Finding(
                    line,
                    State.UNPORTED,
                    name,
                    reason="there is no rule for this name of the build",
                    advice="see CMake's documentation of the languages CUDA and HIP",
                    file=file,
                )
            )
        return word

    text = _TWO_WORDS.sub(r"\1=\2", text)
    if to == "cuda":  # the toolkit is one package
        text = _OWN_PACKAGES.sub("", text)
    ported = _TOKEN.sub(replace, text)
    return Translation(_with_packages(ported) if to == "hip" else ported, tuple(findings))


def _with_packages(text: str) -> str:
    """Add find_package for every ROCm library that a target links with; each is a package of its
    own."""
    found = _PACKAGE.search(text)
    wanted = dict.fromkeys(re.findall(r"\b(?:roc|hip|hiprtc)::(hip(?!host\b|device\b)\w+)", text))
    missing = [p for p in wanted if not re.search(rf"find_package\(\s*{p}\b", text)]
    if found is None or not missing:
        return text
    lines = "".join(f"find_package({package} REQUIRED)\n" for package in missing)
    return text[: found.end()] + lines + text[found.end() :]
