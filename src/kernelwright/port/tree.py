"""The files of a project that are ported: those with device code, and those that connect them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from kernelwright.core.errors import UsageError
from kernelwright.hipify import Finding, State, Translation
from kernelwright.hipify.unreadable import is_blank
from kernelwright.port.build_flags import is_built
from kernelwright.port.reach import includes_outside, inclusions, with_includes

UNITS = (".cu", ".hip", ".cpp", ".cc", ".cxx", ".c")
HEADERS = (".cuh", ".h", ".hpp", ".hh", ".inl")
BUILD = "CMakeLists.txt"
KNOWN = (*UNITS, *HEADERS, ".py", ".cmake")
_DEVICE = re.compile(
    r"\b(cuda|hip)\w+|__global__|__device__|__host__|<<<|\bcu(blas|fft|rand|dnn|sparse|solver)\w+"
    r"|\bCU(_\w+|[a-z]\w+)\b|\bcu[A-Z]\w+|__(CUDACC|NVCC|HIPCC|CUDA_ARCH)_|\bdim3\b"
    r"|include\s*[<\"](vector_types|cooperative_groups|device_|cub/|thrust/|nvtx|mma\.h|builtin_types)"
    r"|include\s*[<\"][^>\"\n]+\.(cuh?|hip)[>\"]"
)
_BUILDS = re.compile(r"cuda|hip\b|hip_|\.cu\b", re.IGNORECASE)


def files_of(root: Path, out: Path) -> dict[Path, str]:
    """Return the files to port and their names under ``out``.

    For a file, the files that it includes are ported as well; for a folder, files in ``out`` are
    not.

    Raises:
        UsageError: a folder without sources, or in ``out`` itself; an empty file, or one of a kind
            that is not ported; neither a file nor a folder.
    """
    if not root.is_file() and not root.is_dir():
        raise UsageError(
            "only files and folders are ported", seen=str(root), do="name a file or a folder"
        )
    if root.is_file() and not _is_known(root):
        raise UsageError(
            "files of this kind are not ported",
            seen=str(root),
            do=f"name a folder, {BUILD}, or a file in {' '.join(KNOWN)}",
        )
    if root.is_dir() and root.resolve().is_relative_to(out.resolve()):
        raise UsageError(
            "the port would be written among its sources",
            seen=f"{root} in --out {out}",
            do="give --out a folder without sources",
        )
    if root.is_file() and is_blank(root.read_text(errors="surrogateescape")):
        raise UsageError("the file is empty", seen=str(root), do="name a file with code")
    found = _with_includes(root) if root.is_file() else _find(root, out)
    if not found:
        raise UsageError(
            "no CUDA or HIP sources in the folder", seen=str(root), do="name another folder"
        )
    return found


def headers_of(root: Path, out: Path) -> list[Path]:
    """Return all headers of the folder's own, with device code or without."""
    return [path for path in _candidates(root, out) if path.suffix in HEADERS]


def _candidates(root: Path, out: Path) -> Iterator[Path]:
    ported = out.resolve()
    for path in sorted(root.rglob("*")):
        if not _is_known(path) or not path.is_file() or is_built(path, root):
            continue
        if not path.resolve().is_relative_to(ported):
            yield path


def _is_known(path: Path) -> bool:
    """Return whether files of this name may hold code that is ported."""
    return path.name == BUILD or path.suffix in KNOWN


def _find(root: Path, out: Path) -> dict[Path, str]:
    """Return the files of a tree that hold device code or use its libraries, and headers that
    include such files: a header left behind would include the originals."""
    texts = {path: path.read_text(errors="surrogateescape") for path in _candidates(root, out)}
    found = {path for path, text in texts.items() if _is_of_device(path, text)}
    includers = inclusions({p: t for p, t in texts.items() if p.suffix in HEADERS + UNITS})
    more = found
    while more:
        more = {
            p for p, files in includers.items() if p.suffix in HEADERS and files & found
        } - found
        found |= more
    return {path: str(path.relative_to(root)) for path in texts if path in found}


def _is_of_device(path: Path, text: str) -> bool:
    is_build = path.name == BUILD or path.suffix == ".cmake"
    return path.suffix == ".cu" or (_BUILDS if is_build else _DEVICE).search(text) is not None


def _with_includes(root: Path) -> dict[Path, str]:
    """Return a file, and the files with device code in its folder that it includes."""
    found = {root: root.name}
    for path in with_includes(root):
        text = path.read_text(errors="surrogateescape")
        if path.suffix == ".cu" or (path.suffix in HEADERS and _DEVICE.search(text)):
            found.setdefault(path, str(path.relative_to(root.parent)))
    return found


def with_foreign_headers(path: Path, translation: Translation, folder: Path) -> Translation:
    """Return the translation, with a finding for each device header that it includes from other
    folders."""
    left = [
        Finding(
            line,
            State.UNPORTED,
            f'"{name}"',
            reason="a file with device code in another folder",
            advice="port the folder that holds both",
            file=str(path.name),
        )
        for line, name, found in includes_outside(path, folder)
        if _DEVICE.search(found.read_text(errors="replace"))
    ]
    return replace(translation, findings=(*left, *translation.findings)) if left else translation
