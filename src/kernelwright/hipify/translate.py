"""Translation of one file: all rules run over one tree, and all edits are made at once."""

from __future__ import annotations

import codecs
import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from kernelwright.core.errors import UsageError, nearest
from kernelwright.dialects.amdgpu import HEADERS
from kernelwright.dialects.simt.source import Edit, Source, apply_edits, callee, with_launches
from kernelwright.hipify.calls import call_changes
from kernelwright.hipify.definitions import definition_changes
from kernelwright.hipify.finding import Finding, State
from kernelwright.hipify.hazards import hazard_changes
from kernelwright.hipify.launches import launch_changes
from kernelwright.hipify.names import Names, declared
from kernelwright.hipify.namespaces import namespace_changes
from kernelwright.hipify.ptx.inline import ptx_changes
from kernelwright.hipify.replacements import replacement_changes
from kernelwright.hipify.returns import return_changes
from kernelwright.hipify.table import TABLES, load_map
from kernelwright.hipify.textures import texture_changes, texture_returns
from kernelwright.hipify.unreadable import unreadable
from kernelwright.hipify.warp_synchrony import warp_synchrony_changes

SIDES = ("hip", "cuda")
_OF_NVCC = {
    "cassert": ("assert.h", {"assert"}),
    "cstring": (
        "string.h",
        {
            "memcpy",
            "memset",
            "memmove",
            "memcmp",
            "strlen",
            "strcpy",
            "strncpy",
            "strcmp",
            "strncmp",
            "strcat",
            "strncat",
            "strstr",
            "strchr",
            "strrchr",
            "strtok",
            "strdup",
            "strcasecmp",
        },
    ),
    "ctime": ("time.h", {"time", "difftime"}),
}
_OF_CUDAS_LIBRARIES = {
    "chrono": re.compile(rb"\bstd::chrono\b"),
    "limits": re.compile(rb"\bstd::numeric_limits\b"),
}
"""Standard headers that CUDA's libraries include and AMD's may not."""
_OF_CUBLAS = {
    "hip/hip_fp16.h": re.compile(rb"\b(__half|half)2?\b"),
    "hip/hip_bf16.h": re.compile(rb"\b(__)?nv_bfloat162?\b"),
}
BLAS = "hipblas/hipblas.h"
_BLAS_SWITCHES = (
    "#define HIPBLAS_V2  // ROCm 6: hipBLAS with hipDataType and hipComplex, as ROCm 7 has it\n"
    "#define HIPBLAS_USE_HIP_HALF  // hipblasHalf is __half, as cuBLAS's\n"
)
GL = "hip/hip_gl_interop.h"
"""HIP's header for OpenGL, which does not include the runtime's as CUDA's does."""
RUNTIME = {"hip": "hip/hip_runtime.h", "cuda": "cuda_runtime.h"}
HEAD_OF_FUNCTIONS = (
    "// Helper functions of this port. Each file names those that it needs, and includes this.\n"
)
_BEFORE_CODE = (
    "comment", "preproc_def", "preproc_call", "using_declaration", "identifier",
    "#ifndef", "#ifdef",
)  # fmt: skip
_DEVICE_WORDS = re.compile(rb"__global__|__device__|threadIdx|<<<|\b(cuda|hip)[A-Z]")


@dataclass(frozen=True)
class Translation:
    """A translated file and every construct that was met in it."""

    text: str
    findings: tuple[Finding, ...]
    needs: tuple[str, ...] = ()
    """Helper functions that it calls."""

    @property
    def unported(self) -> tuple[Finding, ...]:
        return tuple(f for f in self.findings if f.state is State.UNPORTED)

    def count(self, state: State) -> int:
        return sum(f.state is state for f in self.findings)


def translate(
    text: str,
    *,
    to: str = "hip",
    file: str = "",
    own: Iterable[str] = (),
    implicit: bool = True,
    header: str = "",
) -> Translation:
    """Translate ``text``; comments and formatting stay.

    ``own`` are names that the program declares in other files. ``implicit`` says that the text is a
    compilation unit. The compiler includes the runtime's header in it (nvcc does that for .cu
    files), so that the header may have to be added; and a text that no compiler can read as a whole
    is unported. ``header`` is the one that holds the helper functions of the project; without
    one they are written into the text.

    Raises:
        UsageError: ``to`` is neither 'hip' nor 'cuda'.
        DialectError: tree-sitter is not installed.
    """
    raw = with_launches(text.encode(errors="surrogateescape"))
    edits, findings, needs = translation_edits(
        raw, to=to, file=file, own=own, implicit=implicit, header=header
    )
    return Translation(apply_edits(raw, edits).decode(errors="surrogateescape"), findings, needs)


def translation_edits(
    text: bytes, *, to: str, file: str, own: Iterable[str], implicit: bool, header: str = ""
) -> tuple[tuple[Edit, ...], tuple[Finding, ...], tuple[str, ...]]:
    """Return the edits that translate ``text`` as :func:`translate` describes, the findings, and
    the helper functions that it needs."""
    if to not in SIDES:
        raise UsageError(f'cannot port to "{to}"', seen=to, do=nearest(to, SIDES))
    source = Source(text)
    api = load_map(to)
    names = frozenset(own) | declared(source)
    changes = list(call_changes(source, api, names, to))
    changes += launch_changes(source, to)
    changes += namespace_changes(source, names, to)
    if to == "hip":
        changes += hazard_changes(source, names)
        changes += ptx_changes(source)
        changes += warp_synchrony_changes(source)
        changes += replacement_changes(source, names)
        changes += definition_changes(source)
        changes += texture_changes(source, names)
    else:
        changes += texture_returns(source)
        changes += return_changes(source)
    edits = [edit for change in changes for edit in change.edits]
    findings = [change.finding for change in changes]
    if implicit and (fault := _unreadable(source)) is not None:
        findings.append(fault)
    taken = {change.at for change in changes}
    for edit in edits:
        taken |= set() if edit.text else set(range(edit.start, edit.end))
    renamer = Names(source, api, names)
    for edit, finding in (*renamer.includes(), *renamer.edits(taken)):
        edits += [edit] if edit else []
        findings.append(finding)
    needs = tuple(dict.fromkeys(need for change in changes for need in change.needs))
    functions = _inclusion_of(needs, header) if header and needs else functions_text(needs)
    edits += _prelude(source, to, functions, implicit)
    placed = sorted(
        (replace(f, file=file) for f in _once(findings)), key=lambda f: (f.line, f.construct)
    )
    return tuple(_with_breaks_of(source.text, edits)), tuple(placed), needs


def _with_breaks_of(text: bytes, edits: Iterable[Edit]) -> Iterator[Edit]:
    """Yield the edits with the line breaks of the text, and none before its byte order mark."""
    is_dos = text.count(b"\r\n") * 2 > text.count(b"\n")
    head = len(codecs.BOM_UTF8) if text.startswith(codecs.BOM_UTF8) else 0
    for edit in edits:
        written = edit.text.replace("\r\n", "\n").replace("\n", "\r\n") if is_dos else edit.text
        yield Edit(max(edit.start, head), max(edit.end, head), written)


def _unreadable(source: Source) -> Finding | None:
    return unreadable(source.living.decode(errors="surrogateescape"))


def _once(findings: list[Finding]) -> list[Finding]:
    return list(dict.fromkeys(findings))


def _prelude(source: Source, to: str, functions: str, implicit: bool) -> list[Edit]:
    """Return edits that add the runtime's header, if the compiler no longer includes it, and the
    helper functions in use."""
    api = load_map(to)
    includes = [
        node for node in source.nodes("preproc_include") if node.parent.type == "translation_unit"
    ]
    paths = [source.text_of(node.child_by_field_name("path"))[1:-1] for node in includes]
    became = {api.headers[path].hip for path in paths if path in api.headers} | set(paths)
    of_blas = any(path in api.headers and api.headers[path].hip == BLAS for path in paths)
    lines = [_BLAS_SWITCHES] if to == "hip" and of_blas else []
    uses = _DEVICE_WORDS.search(source.text) is not None or _has_own_header(source)
    uses |= any(path.endswith(".h") for path in paths)
    if (implicit and uses and RUNTIME[to] not in became) or GL in became:
        lines.append(f"#include <{RUNTIME[to]}>\n")
    if implicit and to == "hip":
        lines += [f"#include <{header}>\n" for header in _brought_by_nvcc(source, set(paths))]
    edits = [Edit(0, 0, "".join(lines))] if lines else []
    if to == "hip" and any(path.startswith("cublas") for path in paths):
        functions = _brought_by_cublas(source, became) + functions
    if functions:
        at = _after_includes(source, source.root)
        edits.append(Edit(at, at, functions))
    return edits


def _has_own_header(source: Source) -> bool:
    """Return whether a file includes a header of the program, which may use what CUDA declares."""
    return any(
        node.child_by_field_name("path").type == "string_literal"
        for node in source.nodes("preproc_include")
    )


def _brought_by_cublas(source: Source, became: set[str]) -> str:
    """Return headers of short floating-point types that cuBLAS includes and hipBLAS does not.

    Source: cublas_api.h of CUDA 13.
    """
    wanted = (h for h, names in _OF_CUBLAS.items() if h not in became and names.search(source.text))
    return "".join(f"#include <{header}>\n" for header in wanted)


def _brought_by_nvcc(source: Source, included: set[str]) -> Iterator[str]:
    """Yield standard headers that CUDA's runtime header includes and HIP's does not, if they are
    used, or if a header of the program may use them.

    Source: crt/common_functions.h of CUDA 13 (string.h, time.h) and its declaration of assert.
    """
    called = {callee(source, call) for call in source.nodes("call_expression")}
    has_own = _has_own_header(source)
    for header, (own, functions) in _OF_NVCC.items():
        if (has_own or called & functions) and not included & {header, own}:
            yield header
    for header, names in _OF_CUDAS_LIBRARIES.items():
        if names.search(source.text) and header not in included:
            yield header


def _after_includes(source: Source, root: Any) -> int:
    """Return the start of the first line after the last include that precedes any other code.

    Includes inside a header's include guard are found too.
    """
    at = 0
    for node in root.children:
        if node.type == "preproc_include":
            at = node.end_byte
        elif node.type == "preproc_ifdef" and not at and node.end_byte >= _last_byte(source):
            return _after_includes(source, node)
        elif node.type not in _BEFORE_CODE:
            break
        elif node.type == "preproc_def" and root is not source.root and not at:
            at = node.end_byte  # the guard's own definition
    if not at or at >= len(source.text) or source.text[at - 1 : at] == b"\n":
        return at
    newline = source.text.find(b"\n", at)
    return len(source.text) if newline < 0 else newline + 1


def _last_byte(source: Source) -> int:
    """Return the offset at which the text ends, ignoring white space and comments."""
    code = [node for node in source.root.children if node.type != "comment"]
    return code[-1].end_byte if code else 0


@cache
def _function_table() -> dict[str, dict[str, object]]:
    files = ("functions.toml", "ptx_functions.toml")
    return {k: v for f in files for k, v in tomllib.loads((TABLES / f).read_text()).items()}


def _ordered(needs: Iterable[str]) -> list[str]:
    """Return helper functions and those that they call, each after what it calls."""
    table = _function_table()
    ordered: list[str] = []

    def add(name: str) -> None:
        for need in table[name].get("needs", ()):  # type: ignore[union-attr]
            add(need)
        if name not in ordered:
            ordered.append(name)

    for need in needs:
        add(need)
    return ordered


def functions_text(needs: Iterable[str]) -> str:
    """Return helper functions as text of the file that uses them."""
    table = _function_table()
    return "".join(
        f"#ifndef PORT_{n.upper()}\n#define PORT_{n.upper()}\n{_text(table[n])}\n#endif\n"
        for n in _ordered(needs)
    )


def functions_header(needs: Iterable[str]) -> str:
    """Return the header of a project's helper functions; a file that includes it names those that
    it needs by macros before."""
    parts = [HEAD_OF_FUNCTIONS]
    for name in _ordered(needs):
        word = name.upper()
        parts.append(
            f"#if defined(PORT_NEEDS_{word}) && !defined(PORT_{word})\n#define PORT_{word}\n"
            f"{_text(_function_table()[name])}\n#endif\n"
        )
    return "".join(parts)


def _inclusion_of(needs: Iterable[str], header: str) -> str:
    names = (f"#define PORT_NEEDS_{name.upper()}\n" for name in _ordered(needs))
    return "".join([*names, f'#include "{header}"\n'])


def _text(entry: dict[str, object]) -> object:
    return (HEADERS / str(entry["header"])).read_text() if "header" in entry else entry["text"]
