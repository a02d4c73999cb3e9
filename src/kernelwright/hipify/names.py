"""Identifiers and includes: renamed by the tables, or reported if no table has them."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache, cached_property
from typing import Any

from kernelwright.dialects.simt.source import MACRO_BODY, Edit, Source, enclosing
from kernelwright.hipify.finding import Finding, State
from kernelwright.hipify.table import TABLES, ApiMap, Row

IDENTIFIERS = ("identifier", "type_identifier", "namespace_identifier", "statement_identifier")
DECLARATORS = {
    "function_declarator", "init_declarator", "pointer_declarator", "array_declarator",
    "reference_declarator", "parameter_declaration", "declaration", "type_definition",
    "class_specifier", "struct_specifier", "enum_specifier", "union_specifier", "enumerator",
    "alias_declaration", "preproc_def", "preproc_function_def", "namespace_definition",
    "optional_parameter_declaration", "template_parameter_list", "type_parameter_declaration",
    "namespace_alias_definition",
}  # fmt: skip
SUFFIXES = {"hip": (".cu", ".hip"), "cuda": (".hip", ".cu")}
"""Target side → suffixes of compilation units before and after the port."""
TYPE_OF = {"type", "value", "default_value", "body"}
"""Fields of a declaration that use names rather than declare them."""
WARP_SIZE = "warpSize"
LOCAL_SCOPES = ("function_definition", "template_declaration", "lambda_expression")
_FOREIGN = {
    "hip": ("cuda", "cooperative_groups", "nv", "cub/", "cutlass", "cute/"),
    "cuda": ("hip", "roc", "rccl", "miopen", "amd_", "ck/"),
}
"""Target side → beginnings of the other side's headers."""
_OF_CUDA_9 = re.compile(
    r"__((shfl(_up|_down|_xor)?|ballot|any|all|match_any|match_all)_sync|activemask|syncwarp)"
)
"""Source: CUDA 9.0 release notes; programs for older versions define them as macros."""
_AROUND_MEMBERS = ("field_declaration", "field_expression")


@cache
def _errors() -> dict[str, int]:
    return tomllib.loads((TABLES / "errors.toml").read_text())


def declared(source: Source) -> frozenset[str]:
    """Return the names that a file declares: functions, variables, types, macros, parameters; and
    members, as ``.name``.

    Not among them: a local variable named like CUDA's ``warpSize``, because other functions may
    mean CUDA's; and macros that replace warp operations of a newer CUDA.
    """
    found = {
        f".{source.text_of(node)}"
        for node in source.nodes("field_identifier")
        if (around := enclosing(node, *_AROUND_MEMBERS)) and around.type == "field_declaration"
    }
    for node in source.nodes("identifier", "type_identifier", "namespace_identifier"):
        name = source.text_of(node)
        is_local = name == WARP_SIZE and enclosing(node, *LOCAL_SCOPES) is not None
        if source.is_in_macro(node):
            continue  # a call there looks like a declaration
        is_stand_in = _OF_CUDA_9.fullmatch(name) and node.parent.type == "preproc_function_def"
        if declares(source, node) and not is_local and not is_stand_in:
            found.add(name)
    return frozenset(found)


def declares(source: Source, node: Any) -> bool:
    """Return whether an identifier is at the place where it is declared."""
    parent = node.parent
    if parent is None or parent.type not in DECLARATORS:
        return False
    if _field(parent, node) in TYPE_OF and not _is_definition(parent):
        return False
    if parent.type == "function_declarator":
        if _field(parent, node) != "declarator":
            return False
        if parent.parent is not None and parent.parent.type == "parenthesized_declarator":
            return False  # a macro's call without a semicolon: CHECK( f(x) )
    return not parent.type.endswith("_specifier") or _is_definition(parent)


def _field(parent: Any, node: Any) -> str | None:
    for index, child in enumerate(parent.children):
        if child.id == node.id:
            return parent.field_name_for_child(index)
    return None


def _is_definition(node: Any) -> bool:
    return node.type.endswith("_specifier") and node.child_by_field_name("body") is not None


class Names:
    """One pass over the identifiers of a file."""

    def __init__(self, source: Source, api: ApiMap, own: frozenset[str]) -> None:
        self.source = source
        self.api = api
        self.own = own
        """Names that the program declares, in this file or in others that are ported with it."""

    @cached_property
    def _parameters(self) -> list[tuple[int, int, frozenset[str]]]:
        """Where each macro with parameters begins and ends, and the names of its parameters."""
        found = []
        for node in self.source.nodes("preproc_function_def"):
            listed = node.child_by_field_name("parameters")
            names = {self.source.text_of(c) for c in listed.named_children} if listed else ()
            found.append((node.start_byte, node.end_byte, frozenset(names)))
        return found

    def _is_parameter(self, node: Any, name: str) -> bool:
        """Return whether a name in a macro's definition is one of the macro's parameters."""
        return any(
            start <= node.start_byte < end and name in names
            for start, end, names in self._parameters
        )

    @cached_property
    def used(self) -> set[str]:
        return {self.source.text_of(node) for node in self.source.nodes(*IDENTIFIERS)}

    def edits(self, taken: set[int]) -> Iterator[tuple[Edit | None, Finding]]:
        """Yield the edit and finding of each identifier; ``taken`` are the offsets that other rules
        handle."""
        for node in self.source.nodes(*IDENTIFIERS):
            name = self.source.text_of(node)
            if node.start_byte in taken or name in self.own or self._is_parameter(node, name):
                continue
            row = self.api.names.get(name)
            if row is None:
                if self.api.owned.fullmatch(name):
                    yield None, self._unknown(node, name)
                continue
            if row.is_mapped:
                edit = None
                if row.hip != name:
                    edit = Edit(node.start_byte, node.end_byte, row.hip)
                yield edit, self._known(node, row)
            elif label := self._label(node):
                yield label, self._left_out(node, row)
            elif (number := _errors().get(name)) is not None and self.api.to == "hip":
                became = f"(hipError_t){number}"
                yield Edit(node.start_byte, node.end_byte, became), self._never(node, name, became)
            elif row.library != "device" or node.parent.type in ("call_expression", MACRO_BODY):
                yield None, self._no_counterpart(node, row)

    def _label(self, node: Any) -> Edit | None:
        """Return the edit that leaves out a label of a switch, if ``node`` is its whole value."""
        case, colon = node.parent, node.next_sibling
        if case.type != "case_statement" or colon is None or colon.type != ":":
            return None
        return Edit(case.start_byte, colon.end_byte, "")

    def _left_out(self, node: Any, row: Row) -> Finding:
        return Finding(
            self.source.line(node),
            State.CHANGED,
            row.cuda,
            reason="ROCm has no such value, so the label is left out",
            advice="the statements after it can no longer be reached by this value",
        )

    def includes(self) -> Iterator[tuple[Edit | None, Finding]]:
        """Yield the edit and finding of each include of a library's header."""
        for node in self.source.nodes("system_lib_string", "string_literal"):
            if node.parent.type != "preproc_include":
                continue
            name = self.source.text_of(node)[1:-1]
            if became := self._renamed_file(name):
                found = Finding(self.source.line(node), State.TRANSLATED, name, became)
                yield Edit(node.start_byte + 1, node.end_byte - 1, became), found
                continue
            row = self.api.headers.get(name)
            if row is None and name.startswith("cub/"):
                row = self.api.headers.get("cub/cub.cuh")
            if row is None:
                if node.type == "system_lib_string" and self._is_foreign(name):
                    yield None, self._header(node, name, "this header is in no table")
                continue
            if not row.hip:
                yield None, self._header(node, name, row.note or "ROCm has no such header")
                continue
            if row.hip == name:
                continue
            found = Finding(self.source.line(node), State.TRANSLATED, f"<{name}>", f"<{row.hip}>")
            yield Edit(node.start_byte, node.end_byte, f"<{row.hip}>"), found

    def _renamed_file(self, name: str) -> str:
        """Return the new name of an included compilation unit, with the other side's suffix."""
        old, new = SUFFIXES[self.api.to]
        return name.removesuffix(old) + new if name.endswith(old) else ""

    def _is_foreign(self, name: str) -> bool:
        stem = name.rpartition("/")[2].rpartition(".")[0] or name
        return name.startswith(_FOREIGN[self.api.to]) or (
            self.api.owned.fullmatch(stem) is not None
        )

    def _header(self, node: Any, name: str, reason: str) -> Finding:
        return Finding(
            self.source.line(node),
            State.UNPORTED,
            f"<{name}>",
            reason=reason,
            advice="remove the code that uses the header, or guard it with #ifdef __CUDACC__",
        )

    def _unknown(self, node: Any, name: str) -> Finding:
        return Finding(
            self.source.line(node),
            State.UNPORTED,
            name,
            reason="this name is in no table",
            advice="port it by hand, or declare it in the files that are ported",
        )

    def _no_counterpart(self, node: Any, row: Row) -> Finding:
        why = f"{row.state} in ROCm" if row.state != "supported" else "no counterpart in ROCm"
        return Finding(
            self.source.line(node),
            State.UNPORTED,
            row.cuda,
            row.hip,
            f"{why} ({row.source})",
            row.note or "rewrite this part, or leave it out on AMD",
        )

    def _never(self, node: Any, name: str, became: str) -> Finding:
        reason = "HIP does not have this error, and never returns its number"
        return Finding(self.source.line(node), State.TRANSLATED, name, became, reason)

    def _known(self, node: Any, row: Row) -> Finding:
        state = State.CHANGED if row.meaning else State.TRANSLATED
        reason = row.meaning or (row.state if row.state.startswith("deprecated") else "")
        line = self.source.line(node)
        return Finding(line, state, row.cuda, row.hip, reason, row.advice or row.note)
