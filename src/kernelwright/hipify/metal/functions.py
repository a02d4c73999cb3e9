"""The functions of a CUDA text: which run on the device, and what they take."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from kernelwright.dialects.simt.source import Source, enclosing

_MARKS = re.compile(r"__global__|__device__|__host__")


@dataclass(frozen=True)
class Parameter:
    """One parameter of a function."""

    node: Any
    kind: str
    """Its type as it is written, without ``const``, ``*``, ``&`` and ``__restrict__``."""
    name: str
    is_pointer: bool
    is_reference: bool
    is_const: bool


@dataclass(frozen=True)
class Function:
    """A function with a body."""

    source: Source
    node: Any

    @property
    def outer(self) -> Any:
        """The whole item: with ``template <...>``, if it is a template."""
        parent = self.node.parent
        return parent if parent.type == "template_declaration" else self.node

    @cached_property
    def marks(self) -> frozenset[str]:
        head = self.source.exact(self.node.start_byte, self.declarator.start_byte)
        return frozenset(_MARKS.findall(head))

    @property
    def is_kernel(self) -> bool:
        return "__global__" in self.marks

    @property
    def is_device(self) -> bool:
        return bool(self.marks & {"__global__", "__device__"})

    @cached_property
    def declarator(self) -> Any:
        """The part with the name and the parameters."""
        node = self.node.child_by_field_name("declarator")
        while node.type in ("pointer_declarator", "reference_declarator"):
            node = node.child_by_field_name("declarator") or node.named_children[-1]
        return node

    @property
    def body(self) -> Any:
        return self.node.child_by_field_name("body")

    @property
    def name(self) -> str:
        return self.source.text_of(self.declarator.child_by_field_name("declarator"))

    @property
    def returns(self) -> str:
        """The type that it returns, as it is written."""
        kind = self.node.child_by_field_name("type")
        return "" if kind is None else self.source.text_of(kind)

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        listed = self.declarator.child_by_field_name("parameters")
        kinds = ("parameter_declaration", "optional_parameter_declaration")
        return tuple(self._parameter(node) for node in listed.named_children if node.type in kinds)

    def _parameter(self, node: Any) -> Parameter:
        kind = node.child_by_field_name("type")
        declared = node.child_by_field_name("declarator")
        between = "" if declared is None else self.source.text_of(declared)
        name = "" if declared is None else _name_in(self.source, declared)
        before = self.source.exact(node.start_byte, kind.end_byte)
        return Parameter(
            node,
            self.source.text_of(kind),
            name,
            is_pointer="*" in between or "[" in between,
            is_reference="&" in between,
            is_const=re.search(r"\bconst\b", before) is not None,
        )

    @cached_property
    def template_parameters(self) -> tuple[str, ...]:
        """Names of the template's parameters, in order; empty if it is none."""
        if self.outer is self.node:
            return ()
        listed = self.outer.child_by_field_name("parameters")
        return tuple(_last_name(self.source, node) for node in listed.named_children)


def functions_of(source: Source) -> tuple[Function, ...]:
    """Return the functions with a body outside of classes, in the order of the text."""
    found = [
        Function(source, node)
        for node in source.nodes("function_definition")
        if enclosing(node, "class_specifier", "struct_specifier", "function_definition") is None
        and node.child_by_field_name("body") is not None
    ]
    return tuple(sorted(filter(_is_whole, found), key=lambda f: f.node.start_byte))


def _is_whole(function: Function) -> bool:
    node = function.node.child_by_field_name("declarator")
    return node is not None and function.declarator.type == "function_declarator"


def _name_in(source: Source, declared: Any) -> str:
    """Return the name that a declarator declares."""
    while declared.type not in ("identifier", "type_identifier", "field_identifier"):
        inner = declared.child_by_field_name("declarator")
        inner = inner or next((c for c in reversed(declared.named_children)), None)
        if inner is None:
            return ""
        declared = inner
    return source.text_of(declared)


def _last_name(source: Source, node: Any) -> str:
    names = re.findall(r"\w+", source.text_of(node).partition("=")[0])
    return names[-1] if names else ""


def declarators(node: Any) -> Iterator[Any]:
    """Yield the declarators of a declaration, without their initial values' nodes around them."""
    yield from node.children_by_field_name("declarator")


def inner_name(source: Source, declared: Any) -> str:
    """Return the name that a declarator declares, with or without an initial value."""
    if declared.type == "init_declarator":
        declared = declared.child_by_field_name("declarator")
    return _name_in(source, declared)
