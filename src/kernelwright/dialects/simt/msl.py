"""Lowering of Metal Shading Language text to C++ for the emulation's headers; lines stay the same.

The text is preprocessed first, so that no macro hides a kernel or a threadgroup variable. Then
kernels are found with the places of their parameters, threadgroup variables become references
into the threadgroup's memory, and attributes are left out.

Source: Metal Shading Language Specification 4, sections 4 and 5.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
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
_OF_MEMBERS = re.compile(
    r"\)(\s*(?:const\b\s*)?(?:volatile\b\s*)?)(?:device|constant|threadgroup|thread)\b"
    r"(?=\s*(?:const\b\s*)?[:{;])"
)
_SPACES = re.compile(r"\b(?:device|constant|threadgroup|thread)\b")
_BRACES = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)+'|[{};]")
_FUNCTION = re.compile(r"[\w>]\s*\(|operator\S+\s*\(")
_NO_FUNCTION = re.compile(
    r"\s*(?:#[^\n]*\n\s*)*(?:template\s*<[^{}]*>\s*)?(?:class|struct|namespace|enum|union|extern)\b"
)
_SPECIAL = re.compile(r"\b(?:class|struct)\s+\w+\s*<[^;{}]*>\s*$")
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


def lower(text: str, names: Collection[str] | None = None) -> tuple[str, tuple[Kernel, ...]]:
    """Return preprocessed ``text`` as C++, and its kernels: those with these host names, or all.

    Of functions that differ in address spaces alone the first is kept.

    Not covered: textures, samplers, function constants, and all else that no dispatch of torch's
    binds.

    Raises:
        MslError: a parameter of a kernel cannot be bound.
    """
    listed, found = {}, []
    for match in _KERNEL.finditer(text):
        end = _closing(text, match.end())
        is_declared = text[end + 1 :].lstrip().startswith(";")
        if is_declared or not _IS_KERNEL.search(match["marks"]):
            continue
        listed[match["name"]] = text[match.end() : end]
        if not _TEMPLATE_BEFORE.search(text[: match.start()]):
            found.append((_host_name(match["marks"]) or match["name"], match["name"], ""))
    for match in _INSTANTIATION.finditer(text):
        # `decltype(f<float>) f<float>` names it twice
        made = _INSTANCE.search(re.sub(r"decltype\s*\([^()]*\)", "", match["rest"]))
        if made is not None and made["name"] in listed:
            host = _host_name(match["marks"]) or made["name"]
            found.append((host, made["name"], made["arguments"]))
    kernels = tuple(
        Kernel(host, f"{function}{arguments}", _places(function, listed[function]))
        for host, function, arguments in found
        if names is None or host in names
    )
    text = _INSTANTIATION.sub(_without, text)
    text = _in_one_address_space(_with_threadgroup_memory(text))
    return _ATTRIBUTE.sub(_without, text), kernels


def _without(match: re.Match[str]) -> str:
    """Return the lines that a part of the text had, so that others keep their numbers."""
    return " " + "\n" * match[0].count("\n")


def _host_name(marks: str) -> str:
    found = _HOST_NAME.search(marks)
    return "".join(re.findall(r'"([^"]*)"', found[1])) if found else ""


def _closing(text: str, at: int, pair: str = "()") -> int:
    """Return the index of the bracket that closes the one before ``at``."""
    depth, steps = 1, {pair[0]: 1, pair[1]: -1}
    while depth and at < len(text):
        depth += steps.get(text[at], 0)
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


def _in_one_address_space(text: str) -> str:
    """Return ``text`` without functions that repeat others, once address spaces are erased.

    Those that a member function names for its own object are left out.
    """
    text = _OF_MEMBERS.sub(r")\1", text)
    scopes: list[set[str]] = [set()]
    out, at, start, skipped = [], 0, 0, 0
    for match in _BRACES.finditer(text):
        if match.start() < skipped or match[0][0] in "\"'":
            continue
        if match[0] == "{":
            head = text[start : match.start()]
            if _is_definition(head):
                skipped = _closing(text, match.end(), "{}") + 1
                key = _erased(head)
                if key in scopes[-1]:
                    repeated = text[start:skipped]
                    out += [text[at:start], "\n" * repeated.count("\n")]
                    at = skipped
                scopes[-1].add(key)
                start = skipped
                continue
            scopes.append(set())
        elif match[0] == "}" and len(scopes) > 1:
            scopes.pop()
        start = match.end()
    return "".join([*out, text[at:]])


def _is_definition(head: str) -> bool:
    """Return whether braces after ``head`` hold a function, or a class for certain types only."""
    if _NO_FUNCTION.match(head):
        return _SPECIAL.search(head) is not None
    return _FUNCTION.search(head) is not None


def _erased(head: str) -> str:
    """Return the head of a function without address spaces, blanks and initial values."""
    words = _SPACES.sub(lambda word: "const" if word[0] == "constant" else "", head)
    words = re.sub(r"^#.*$", "", words, flags=re.MULTILINE)
    words = re.sub(r"\)\s*:(?!:)[^:].*$", ")", words, flags=re.DOTALL)
    return re.sub(r"\s+", "", re.sub(r"\bconst(\s+const)+\b", "const", words))


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
