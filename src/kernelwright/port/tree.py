"""The files of a project that are ported: those with device code, and those that connect them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatch
from functools import cache
from pathlib import Path

from kernelwright.core.errors import UsageError
from kernelwright.hipify import Finding, State, Translation
from kernelwright.hipify.table import load_map
from kernelwright.hipify.unreadable import is_blank
from kernelwright.port.build_flags import is_built
from kernelwright.port.exact import read_exact
from kernelwright.port.reach import includes_outside, inclusions, with_includes

UNITS = (".cu", ".hip", ".cpp", ".cc", ".cxx", ".c")
HEADERS = (".cuh", ".h", ".hpp", ".hh", ".hxx", ".inl")
CMAKE = "CMakeLists.txt"
KNOWN = (*UNITS, *HEADERS, ".py", ".cmake")
_MAKE = re.compile(r"(GNU)?[Mm]akefile\S*|make\.config|\S+\.(mk|make)")
BESIDE = re.compile(
    r"(pyproject\.toml|setup\.cfg|meson\.build|MANIFEST\.in|configure\S*|README\S*|LICEN[CS]E\S*|VERSION"
    r"|requirements\S*\.txt|\S+\.(in|sh|ac|am|map|inc))"
)
"""Names of other files that a project's build may read, besides sources."""
MAX_COPIED_BYTES = 1 << 20
"""Files that are not ported are copied up to this size; larger ones are data."""
_DEVICE = re.compile(
    r"\b(cuda|hip)\w+|__global__|__device__|__host__|<<<|\bcu(blas|fft|rand|dnn|sparse|solver)\w+"
    r"|\bCU(_\w+|[a-z]\w+)\b|\bcu[A-Z]\w+|__(CUDACC|NVCC|HIPCC|CUDA_ARCH)_|\bdim3\b"
    r"|include\s*[<\"](vector_types|cooperative_groups|device_|cub/|thrust/|nvtx|mma\.h|builtin_types)"
    r"|include\s*[<\"](cuda|cu[A-Z]\w+|hip/|roc)|include\s*[<\"][^>\"\n]+\.(cuh?|hip)[>\"]"
)
_BUILDS = re.compile(r"cuda|nvcc|hip\b|hip_|hipcc|\.(cu|hip)\b", re.IGNORECASE)
_SCRIPTS = re.compile(r"\.(cu|hip)['\"]|CUDAExtension")
"""Python files that build device code: ``setup.py`` and callers of torch's loaders."""


_WORD = re.compile(r"\b[A-Za-z_]\w+\b")


@cache
def _renamed() -> frozenset[str]:
    """Return the names of CUDA and HIP that a port writes in another way."""
    rows = [r for r in load_map("hip").names.values() if r.is_mapped and r.hip != r.cuda]
    return frozenset(name for row in rows for name in (row.cuda, row.hip)) - {"int"}


def has_device_code(text: str) -> bool:
    """Return whether a text has device code, or names that a port renames: types of numbers too."""
    return _DEVICE.search(text) is not None or not _renamed().isdisjoint(_WORD.findall(text))


def is_build_file(path: Path) -> bool:
    """Return whether it is a file of CMake or Make."""
    return path.name == CMAKE or path.suffix == ".cmake" or is_makefile(path)


def is_makefile(path: Path) -> bool:
    return _MAKE.fullmatch(path.name) is not None


def is_code(path: Path) -> bool:
    """Return whether a file of a port is C, C++, CUDA or HIP: headers may have any suffix."""
    return path.suffix != ".py" and not is_build_file(path)


def is_header(path: Path) -> bool:
    return is_code(path) and path.suffix not in UNITS


def files_of(root: Path, out: Path, exclude: Sequence[str] = ()) -> dict[Path, str]:
    """Return the files to port and their names under ``out``.

    For a file, the files that it includes are ported as well; for a folder, files in ``out`` and
    those whose path matches a pattern of ``exclude`` are not.

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
            do=f"name a folder, {CMAKE}, or a file in {' '.join(KNOWN)}",
        )
    if root.is_dir() and root.resolve().is_relative_to(out.resolve()):
        raise UsageError(
            "the port would be written among its sources",
            seen=f"{root} in --out {out}",
            do="give --out a folder without sources",
        )
    if root.is_file() and is_blank(read_exact(root)):
        raise UsageError("the file is empty", seen=str(root), do="name a file with code")
    found = _with_includes(root) if root.is_file() else _find(root, out, exclude)
    if not found:
        raise UsageError(
            "no CUDA or HIP sources in the folder", seen=str(root), do="name another folder"
        )
    return found


def companions_of(
    root: Path, out: Path, names: Mapping[Path, str], exclude: Sequence[str] = ()
) -> dict[Path, str]:
    """Return the other files of a folder that its build may need, and their names under ``out``:
    host sources, headers, scripts, files of build systems."""
    if root.is_file():
        return {}
    found = {}
    for path in _files(root, out, exclude):
        name = str(path.relative_to(root))
        is_needed = _is_known(path) or BESIDE.fullmatch(path.name) is not None
        if path not in names and is_needed and path.stat().st_size <= MAX_COPIED_BYTES:
            found[path] = name
    return found


def headers_of(root: Path, out: Path, exclude: Sequence[str] = ()) -> list[Path]:
    """Return all headers of the folder's own, with device code or without."""
    return [path for path in _files(root, out, exclude) if path.suffix in HEADERS]


def _files(root: Path, out: Path, exclude: Sequence[str]) -> Iterator[Path]:
    """Yield the files of a folder, without those of build trees, of version control and of the
    port itself."""
    ported = out.resolve()
    for path in sorted(root.rglob("*")):
        name = str(path.relative_to(root))
        if any(fnmatch(name, p) or fnmatch(name, f"{p.rstrip('/')}/*") for p in exclude):
            continue
        if not path.is_file() or is_built(path, root) or path.resolve().is_relative_to(ported):
            continue
        yield path


def _is_known(path: Path) -> bool:
    """Return whether files of this name may hold code that is ported."""
    return is_build_file(path) or path.suffix in KNOWN


def _find(root: Path, out: Path, exclude: Sequence[str]) -> dict[Path, str]:
    """Return the files of a tree that hold device code or use its libraries, and headers that
    include such files: a header left behind would include the originals."""
    files = list(_files(root, out, exclude))
    texts = {path: read_exact(path) for path in files if _is_known(path)}
    texts |= {path: read_exact(path) for path in _unusual_headers(texts, files)}
    found = {path for path, text in texts.items() if _is_of_device(path, text)}
    includers = inclusions({p: t for p, t in texts.items() if is_code(p)})
    more = found
    while more:
        more = {p for p, included in includers.items() if is_header(p) and included & found} - found
        found |= more
    return {path: str(path.relative_to(root)) for path in files if path in found}


def _unusual_headers(texts: Mapping[Path, str], files: Sequence[Path]) -> set[Path]:
    """Return the files that sources include although no header is named so: without a suffix, or
    with one of their own."""
    others = {path: "" for path in files if path not in texts}
    by_source = inclusions({p: t for p, t in texts.items() if is_code(p)} | others)
    included = set().union(*by_source.values()) & set(others)
    return {path for path in included if b"\0" not in path.read_bytes()}


def _is_of_device(path: Path, text: str) -> bool:
    if is_build_file(path):
        return _BUILDS.search(text) is not None
    if path.suffix == ".py" and _SCRIPTS.search(text):
        return True
    return path.suffix == ".cu" or has_device_code(text)


def _with_includes(root: Path) -> dict[Path, str]:
    """Return a file, and the files with device code in its folder that it includes."""
    found = {root: root.name}
    for path in with_includes(root):
        if path.suffix == ".cu" or (is_header(path) and has_device_code(read_exact(path))):
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
        if has_device_code(found.read_text(errors="replace"))
    ]
    return replace(translation, findings=(*left, *translation.findings)) if left else translation
