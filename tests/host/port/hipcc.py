"""A stand-in for hipcc, where no ROCm is installed: it compiles and links for the emulation.

It takes the options that build systems give: ``-c -o -I -D -x -MD -MF``, sources, objects and
archives. Other options must be known to be without effect here; an unknown one is an error, as one
of nvcc's left in a ported build would be.
"""

from __future__ import annotations

import re
import sys
import tempfile
from pathlib import Path

from kernelwright.dialects.simt import machine

SOURCES = (".hip", ".cpp", ".cc", ".cxx", ".c", ".cu")
WITHOUT_EFFECT = re.compile(
    r"-O[0-3sg]?|-g(line-tables-only)?|-std=\S+|-W\S*|-w|-f(PIC|pic|PIE|gpu-rdc|openmp|fast-math"
    r"|fp-contract=\w+|gpu-default-stream=\S+)|-ffast-math|--offload-arch=\S+|-l(amdhip64|m|dl|rt|c|gcc|gcc_s|stdc\+\+)"
    r"|-pthread|-L\S*|-m64|-M[DP]|--hip-link|--rocm-path=\S+|-rdynamic|-shared|-march=native|-D"
)
WITH_VALUE = ("-o", "-x", "-MF", "-MT", "-isystem", "-include")


def main(words: list[str]) -> None:
    options: dict[str, str] = {}
    includes: list[Path] = []
    defines: list[str] = []
    inputs: list[Path] = []
    rest = iter(words)
    for word in rest:
        if word in WITH_VALUE:
            options[word] = next(rest)
            if word == "-isystem":
                includes.append(Path(options[word]))
        elif word[:2] == "-I":
            includes.append(Path(word[2:] or next(rest)))
        elif word[:2] == "-D" and word != "-D":
            defines.append(word[2:])
        elif word == "-c":
            options["-c"] = ""
        elif not word.startswith("-"):
            inputs.append(Path(word))
        elif not WITHOUT_EFFECT.fullmatch(word):
            sys.exit(f"hipcc: unknown option {word}")
    objects = [
        compiled(path, options, includes, defines) if path.suffix in SOURCES else path
        for path in inputs
    ]
    if "-MF" in options:
        Path(options["-MF"]).write_text(f"{options['-o']}: {' '.join(map(str, inputs))}\n")
    if "-c" not in options:
        machine.link(objects, Path(options.get("-o", "a.out")))


def compiled(path: Path, options: dict[str, str], includes: list[Path], defines: list[str]) -> Path:
    """Return the object of one source: at its place if only that is wanted, else anywhere."""
    is_device = path.suffix in (".hip", ".cu") or options.get("-x") == "hip"
    with tempfile.TemporaryDirectory() as folder:
        object_ = machine.compile_unit(
            path.read_text(errors="surrogateescape"),
            folder=Path(folder),
            name=path.name,
            includes=(path.parent.resolve(), *(p.resolve() for p in includes)),
            defines=defines,
            is_checked=False,
            is_host=not is_device,
        )
        place = Path(options.get("-o", path.with_suffix(".o").name))
        if "-c" not in options:
            place = Path(tempfile.mkdtemp(), f"{path.name}.o")
        place.write_bytes(object_.read_bytes())
    return place


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except machine.BuildError as error:
        sys.exit(f"hipcc: {error}")
