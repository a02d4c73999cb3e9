"""Lowering of Metal Shading Language text to C++ for the emulation's headers; lines stay the same.

The text is preprocessed first, so that no macro hides a kernel or a threadgroup variable. Then
kernels are found with the places of their parameters, threadgroup variables become references
into the threadgroup's memory, and attributes are left out.

Source: Metal Shading Language Specification 4, sections 4 and 5.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

BUILTINS = {
    name: number
    for number, names in enumerate(
        (
            ("thread_position_in_grid",),
            ("thread_position_in_threadgroup",),
            ("threadgroup_position_in_grid",),
            ("threads_per_threadgroup",),
            ("threads_per_grid", "grid_size"),
            ("threadgroups_per_grid",),
            ("thread_index_in_threadgroup",),
            ("thread_index_in_simdgroup",),
            ("simdgroup_index_in_threadgroup",),
            ("threads_per_simdgroup", "thread_execution_width"),
            ("simdgroups_per_threadgroup",),
            ("dispatch_threads_per_threadgroup",),
            ("dispatch_simdgroups_per_threadgroup",),
            ("quadgroup_index_in_threadgroup",),
            ("thread_index_in_quadgroup",),
        )
    )
    for name in names
}
"""Attributes of parameters that a dispatch fills, by the numbers of msl/msl.h."""
MOST_BUFFERS = 31
"""Source: Metal feature set tables, buffers per function."""
HEADERS = (
    "metal_stdlib", "metal_array", "metal_atomic", "metal_common", "metal_compute",
    "metal_config", "metal_geometric", "metal_integer", "metal_limits", "metal_logging",
    "metal_math", "metal_matrix", "metal_numeric", "metal_pack", "metal_quadgroup",
    "metal_relational", "metal_simdgroup", "metal_simdgroup_matrix", "metal_type_traits",
    "metal_types", "metal_uniform", "metal_utility", "metal_vector", "simd/simd.h",
)  # fmt: skip
"""Headers that MSL text includes; all of them is what msl/msl.h holds."""
_ATTRIBUTE = re.compile(r"\[\[(?:[^\[\]]|\[[^\[\]]*\])*\]\]")
_KERNEL = re.compile(
    r"(?P<marks>(?:(?:\[\[(?:[^\[\]])*\]\]|\bkernel\b|\bMETAL_FUNC\b)\s*)+)void\s+(?P<name>\w+)\s*\("
)
_IS_KERNEL = re.compile(r"\bkernel\b")
_HOST_NAME = re.compile(r"host_name\s*\(\s*((?:\"[^\"]*\"\s*)+)\)")
_TEMPLATE_BEFORE = re.compile(r"template\s*<[^;{}]*>\s*$")
_INSTANTIATION = re.compile(
    r"\btemplate\s*(?P<marks>(?:(?:\[\[(?:[^\[\]])*\]\]|\bkernel\b)\s*)+)(?P<rest>[^;]*);"
)
_INSTANCE = re.compile(r"\b(?P<name>\w+)\s*(?P<arguments><.*>)\s*(?:\(|$)", re.DOTALL)
_MARK = re.compile(r"(?P<name>\w+)\s*(?:\(\s*(?P<value>\w+)\s*\))?")
_THREADGROUP = re.compile(r"\bthreadgroup\b")
_STATEMENT_BEFORE = re.compile(r"(?:[;{}]|^)\s*(?:#[^\n]*\n\s*)*(?:alignas\s*\([^()]*\)\s*)?$")
_DECLARED = re.compile(r"\s*(?P<name>\w+)\s*(?P<extents>(?:\[.*\])?)\s*$", re.DOTALL)


class MslError(Exception):
    """The text is no MSL that can run through ``torch.mps.compile_shader``."""


@dataclass(frozen=True)
class Kernel:
    """A kernel as the host sees it."""

    name: str
    """Its host name, or the function's."""
    function: str
    """The function in C++: ``softmax`` or ``softmax<float, 4>``."""
    places: tuple[tuple[int, int], ...]
    """(0, buffer index) or (1, number of a builtin) of each parameter."""

    @property
    def entry(self) -> str:
        """The C++ of its row in the table of kernels."""
        words = "".join(f", {kind}, {index}" for kind, index in self.places)
        return f"simt_metal::Bound<&{self.function}{words}>::entry"


def lower(text: str) -> tuple[str, tuple[Kernel, ...]]:
    """Return preprocessed ``text`` as C++, and its kernels.

    Not covered: textures, samplers, function constants, and all else that no dispatch of torch's
    binds; overloads that differ in address spaces alone.

    Raises:
        MslError: a parameter of a kernel cannot be bound.
    """
    places, kernels = {}, []
    for match in _KERNEL.finditer(text):
        end = _closing(text, match.end())
        is_declared = text[end + 1 :].lstrip().startswith(";")
        if is_declared or not _IS_KERNEL.search(match["marks"]):
            continue
        places[match["name"]] = _places(match["name"], text[match.end() : end])
        if not _TEMPLATE_BEFORE.search(text[: match.start()]):
            host = _host_name(match["marks"]) or match["name"]
            kernels.append(Kernel(host, match["name"], places[match["name"]]))
    for match in _INSTANTIATION.finditer(text):
        # `decltype(f<float>) f<float>` names it twice
        made = _INSTANCE.search(re.sub(r"decltype\s*\([^()]*\)", "", match["rest"]))
        if made is None or made["name"] not in places:
            continue
        function = f"{made['name']}{made['arguments']}"
        host = _host_name(match["marks"]) or made["name"]
        kernels.append(Kernel(host, function, places[made["name"]]))
    text = _INSTANTIATION.sub(_without, text)
    text = _with_threadgroup_memory(text)
    return _ATTRIBUTE.sub(_without, text), tuple(kernels)


def _without(match: re.Match[str]) -> str:
    """Return the lines that a part of the text had, so that others keep their numbers."""
    return " " + "\n" * match[0].count("\n")


def _host_name(marks: str) -> str:
    found = _HOST_NAME.search(marks)
    return "".join(re.findall(r'"([^"]*)"', found[1])) if found else ""


def _closing(text: str, at: int) -> int:
    """Return the index of the bracket that closes the one before ``at``."""
    depth = 1
    while depth and at < len(text):
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return at - 1


def _parts(text: str) -> Iterator[str]:
    """Yield the parts of a list between its own commas."""
    depth, start = 0, 0
    for at, letter in enumerate(text):
        depth += {"(": 1, "[": 1, "{": 1, "<": 1, ")": -1, "]": -1, "}": -1, ">": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            yield text[start:at]
            start = at + 1
    if text[start:].strip():
        yield text[start:]


def _places(kernel: str, listed: str) -> tuple[tuple[int, int], ...]:
    parameters = list(_parts(re.sub(r"^#.*$", "", listed, flags=re.MULTILINE)))
    marks = [
        {mark["name"]: mark["value"] for a in _ATTRIBUTE.findall(p) for mark in _MARK.finditer(a)}
        for p in parameters
    ]
    taken = {int(mark["buffer"]) for mark in marks if (mark.get("buffer") or "").isdigit()}
    free = iter(index for index in range(10**6) if index not in taken)
    found = []
    for parameter, mark in zip(parameters, marks, strict=True):
        known = next((name for name in mark if name in BUILTINS), None)
        shown = f"parameter `{' '.join(parameter.split())}` of {kernel}"
        if known is not None:
            found.append((1, BUILTINS[known]))
            continue
        if "threadgroup" in mark or re.match(r"\s*threadgroup\b", parameter):
            raise MslError(
                f"{shown}: torch gives no length of threadgroup memory; declare a threadgroup array"
                " in the kernel"
            )
        others = set(mark) - {"buffer"}
        if others or not re.search(r"[*&]", parameter):
            what = f"[[{next(iter(others))}]]" if others else "a value without an attribute"
            raise MslError(f"{shown}: no dispatch of torch's fills {what}")
        index = int(mark["buffer"]) if (mark.get("buffer") or "").isdigit() else next(free)
        if index >= MOST_BUFFERS:
            raise MslError(f"{shown}: buffer({index}) is out of bounds, 0 to {MOST_BUFFERS - 1}")
        found.append((0, index))
    return tuple(found)


def _with_threadgroup_memory(text: str) -> str:
    """Return ``text`` with threadgroup variables as references into the threadgroup's memory."""
    out, at = [], 0
    for match in _THREADGROUP.finditer(text):
        start = match.start()
        end = text.find(";", start)
        declared = text[match.end() : end]
        if start < at or end < 0 or not _STATEMENT_BEFORE.search(text[max(0, start - 400) : start]):
            continue
        made = _variables(declared)
        if made:
            out += [text[at:start], made, "\n" * declared.count("\n")]
            at = end + 1
    return "".join([*out, text[at:]])


def _variables(declared: str) -> str:
    """Return the references that a declaration of threadgroup variables becomes; empty if it
    declares none, but a pointer."""
    outside = re.sub(r"\[[^\]]*\]|\([^()]*\)", "", declared)
    if re.search(r"[*&=(){}]", outside):
        return ""
    first, *others = _parts(declared)
    match = re.match(r"(?P<type>.*?[\s>])\s*(?P<rest>\w+\s*(?:\[.*\])?\s*)$", first, re.DOTALL)
    if match is None:
        return ""
    kind = re.sub(r"\balignas\s*\([^()]*\)", "", match["type"]).strip()
    references = []
    for one in (match["rest"], *others):
        variable = _DECLARED.match(one)
        if variable is None:
            return ""
        whole = f"simt::as_written<{kind}>{variable['extents']}"
        references.append(f"auto& {variable['name']} = simt::threadgroup_memory<{whole}>([] {{}});")
    return " ".join(references)
