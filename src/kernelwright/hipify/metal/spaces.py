"""Address spaces of pointers, which CUDA does not write and MSL must.

Kernels' pointers are to device memory, ``__shared__`` arrays are threadgroup memory. A pointer that
is declared in a function points where its first value does. Parameters of device functions point
where the arguments of their calls do.

Not covered: pointers in structures, pointers to pointers.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kernelwright.dialects.simt.source import Source, arguments, callee
from kernelwright.hipify.metal.functions import Function, declarators, inner_name

_THROUGH = {
    "parenthesized_expression": None,
    "pointer_expression": "argument",
    "cast_expression": "value",
    "subscript_expression": "argument",
    "field_expression": "argument",
    "assignment_expression": "right",
}
"""Expressions that lie in the memory of one of their parts, and the field of that part."""
CASTS = ("reinterpret_cast", "static_cast", "const_cast")


@dataclass(frozen=True)
class Known:
    """A name in a function, as far as it is known."""

    space: str
    """'device', 'constant', 'threadgroup' or 'thread'; empty for a number, or if unknown."""
    kind: str
    """The type of its elements as it is written, or of the number."""
    is_pointer: bool


class Spaces:
    """The places of all names in the device functions of one text."""

    def __init__(
        self, source: Source, functions: Sequence[Function], constants: Mapping[str, str]
    ) -> None:
        """``constants`` are arrays in constant memory, with their types."""
        self._source = source
        self._functions = {f.name: f for f in functions}
        self._places: dict[str, dict[str, Known]] = {}
        self.conflicts: set[tuple[str, str]] = set()
        """(function, parameter) that are called with pointers to different spaces."""
        shared = {name: Known("constant", kind, True) for name, kind in constants.items()}
        for function in functions:
            own = {p.name: _of_parameter(function, p) for p in function.parameters}
            self._places[function.name] = shared | own
        for _ in range(len(functions) + 1):
            for function in functions:
                self._read(function)

    def place(self, function: Function, name: str) -> Known | None:
        return self._places[function.name].get(name)

    def space(self, function: Function, expression: Any) -> str:
        """Return the space that an address lies in; empty if it is unknown."""
        found = self.root(function, expression)
        if found is None:
            return ""
        return found.space or ("" if found.is_pointer else "thread")

    def root(self, function: Function, expression: Any) -> Known | None:
        """Return the place that an address is computed from: a pointer's, if there is one."""
        places = [
            place
            for name in _roots(self._source, expression)
            if (place := self._places[function.name].get(name)) is not None
        ]
        pointers = [place for place in places if place.is_pointer]
        return next(iter(pointers or places), None)

    def _read(self, function: Function) -> None:
        places = self._places[function.name]
        for node in within(function.body):
            if node.type == "declaration":
                self._declare(function, node)
            elif node.type == "assignment_expression":
                left = node.child_by_field_name("left")
                known = places.get(self._source.text_of(left))
                if left.type == "identifier" and known and known.is_pointer and not known.space:
                    space = self.space(function, node.child_by_field_name("right"))
                    places[self._source.text_of(left)] = Known(space, known.kind, True)
            elif node.type == "call_expression":
                self._call(function, node)

    def _declare(self, function: Function, node: Any) -> None:
        kind = node.child_by_field_name("type")
        if kind is None:
            return
        is_shared = is_marked(self._source, node, "__shared__")
        for declared in declarators(node):
            name = inner_name(self._source, declared)
            first = declared.child_by_field_name("value")
            if declared.type == "init_declarator":
                declared = declared.child_by_field_name("declarator")
            written = self._source.text_of(kind)
            if declared.type == "array_declarator":
                place = Known("threadgroup" if is_shared else "thread", written, True)
            elif declared.type in ("pointer_declarator", "reference_declarator"):
                space = "" if first is None else self.space(function, first)
                before = self._places[function.name].get(name)
                place = Known(space or (before.space if before else ""), written, True)
            elif is_shared:
                place = Known("threadgroup", written, True)
            elif written == "auto" and first is not None and is_address(first):
                root = self.root(function, first)
                place = root or Known("", written, False)
            else:
                place = Known("", written, False)
            self._places[function.name][name] = place

    def _call(self, function: Function, call: Any) -> None:
        called = self._functions.get(callee(self._source, call))
        if called is None:
            return
        places = self._places[called.name]
        for parameter, given in zip(called.parameters, arguments(call), strict=False):
            if not (parameter.is_pointer or parameter.is_reference):
                continue
            space = self.space(function, given)
            known = places[parameter.name].space
            if space and not known:
                places[parameter.name] = Known(space, parameter.kind, True)
            elif space and known != space:
                self.conflicts.add((called.name, parameter.name))


def is_marked(source: Source, node: Any, mark: str) -> bool:
    """Return whether a declaration carries a mark such as ``__shared__``."""
    return any(source.text_of(child) == mark for child in node.children)


def is_address(node: Any) -> bool:
    """Return whether an initial value is evidently a pointer's, for ``auto``."""
    if node.type == "pointer_expression":
        return bool(node.children[0].type == "&")
    if node.type == "binary_expression":
        return any(is_address(child) for child in node.named_children)
    if node.type in ("cast_expression", "call_expression"):
        return b"*" in node.text.partition(b"(" if node.type == "call_expression" else b")")[0]
    return bool(node.type == "identifier")


def _of_parameter(function: Function, parameter: Any) -> Known:
    if function.is_kernel and parameter.is_pointer:
        return Known("device", parameter.kind, True)
    return Known("", parameter.kind, parameter.is_pointer or parameter.is_reference)


def _roots(source: Source, node: Any) -> Iterator[str]:
    """Yield the names that an address may be computed from, the likeliest first."""
    if node is None:
        return
    if node.type == "identifier":
        yield source.text_of(node)
    elif node.type in _THROUGH:
        field = _THROUGH[node.type]
        inner = node.child_by_field_name(field) if field else next(iter(node.named_children), None)
        yield from _roots(source, inner)
    elif node.type == "binary_expression":
        yield from _roots(source, node.child_by_field_name("left"))
        yield from _roots(source, node.child_by_field_name("right"))
    elif node.type == "conditional_expression":
        yield from _roots(source, node.child_by_field_name("consequence"))
        yield from _roots(source, node.child_by_field_name("alternative"))
    elif node.type == "call_expression" and callee(source, node) in (*CASTS, "__ldg"):
        yield from _roots(source, next(iter(arguments(node)), None))


def within(node: Any) -> Iterator[Any]:
    """Yield a node and all that it holds, in the order of the text."""
    yield node
    for child in node.named_children:
        yield from within(child)
