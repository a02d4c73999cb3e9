"""C++ that starts kernels on torch's tensors, in Python: the functions of an extension.

Covers the C++ that such functions are made of: declarations, arithmetic of sizes, calls of torch,
conditions, counting loops, ``AT_DISPATCH`` macros, launches. What it does not know is unported,
with its line, and the function raises NotImplementedError.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kernelwright.dialects.simt.source import Source, arguments, callee
from kernelwright.hipify.finding import Finding, State
from kernelwright.hipify.metal.expressions import (
    Expressions,
    Unknown,
    python_name,
    value_of_macro,
)
from kernelwright.hipify.metal.functions import Function, inner_name
from kernelwright.hipify.metal.launches import Launches, kernel_call

_CHECKS = re.compile(r"TORCH_CHECK\w*|AT_ASSERT\w*|TORCH_INTERNAL_ASSERT|assert")
_DROPPED = re.compile(
    r"C10_CUDA_\w+|AT_CUDA_\w+|cuda(GetLastError|PeekAtLastError|DeviceSynchronize|"
    r"StreamSynchronize|FuncSetAttribute|GetDevice|SetDevice|GetErrorString)|f?printf|"
    r"CUDA_CHECK|CHECK_CUDA_ERROR|gpuErrchk|CUDA_KERNEL_LAUNCH_CHECK"
)
"""Calls that have no work to do on Metal."""
_DROPPED_TYPES = re.compile(r"cudaStream_t|cudaError_t|.*CUDAGuard|.*DeviceGuard|.*CUDAStream")
_ATTRIBUTES = {
    "cudaDevAttrMaxSharedMemoryPerBlock": 32768,
    "cudaDevAttrMaxSharedMemoryPerBlockOptin": 32768,
    "cudaDevAttrMaxThreadsPerBlock": 1024,
    "cudaDevAttrWarpSize": 32,
}
"""Source: Metal feature set tables."""
_DISPATCH = re.compile(r"AT_DISPATCH_\w+")
_INTEGER_TYPES = re.compile(r"(unsigned|int|long|short|size_t|u?int\d+_t|auto)\b.*")


@dataclass
class HostCode:
    """The functions of an extension in Python."""

    lines: list[str] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)
    constants: dict[str, str] = field(default_factory=dict)
    """The program's constants that the functions read, with their C++."""
    findings: list[Finding] = field(default_factory=list)


def host_code(
    source: Source, functions: Sequence[Function], launches: Launches, owner: str
) -> HostCode:
    """Return the host's functions as static methods of a class ``owner``.

    Functions that take neither tensors nor numbers, such as ``main``, are unported.
    """
    code = HostCode()
    known = {f.name: f.returns for f in functions}
    for function in functions:
        text = _Function(source, function, launches, owner, known)
        try:
            body = text.block(function.body)
        except Unknown as unknown:
            finding = Finding(
                unknown.line, State.UNPORTED, unknown.construct, "", unknown.reason, unknown.advice
            )
            code.findings.append(finding)
            said = f"line {unknown.line} of the C++: {unknown.construct}".replace('"', "'")
            body = [f'raise NotImplementedError("{said}")']
        taken = ", ".join(text.parameter(p) for p in function.parameters)
        code.lines += ["@staticmethod", f"def {function.name}({taken}):"]
        code.lines += [f"    {line}" for line in body or ["pass"]] + [""]
        code.functions.append(function.name)
        code.findings += text.findings
        code.constants |= text.constants
    return code


class _Function:
    """One C++ function on its way to Python."""

    def __init__(
        self,
        source: Source,
        function: Function,
        launches: Launches,
        owner: str,
        known: Mapping[str, str],
    ) -> None:
        self._source, self._launches = source, launches
        kinds = {p.name: p.kind for p in function.parameters}
        self._expressions = Expressions(source, owner, known, kinds)
        self.findings: list[Finding] = []
        self._statements: dict[str, Callable[[Any], list[str]]] = {
            "declaration": self._declaration,
            "expression_statement": self._expression,
            "return_statement": self._return,
            "if_statement": self._if,
            "for_statement": self._for,
            "while_statement": self._while,
            "compound_statement": self.block,
            "comment": lambda node: [],
            "break_statement": lambda node: ["break"],
            "continue_statement": lambda node: ["continue"],
            ";": lambda node: [],
        }

    @property
    def constants(self) -> Mapping[str, str]:
        return self._expressions.constants

    def parameter(self, parameter: Any) -> str:
        default = parameter.node.child_by_field_name("default_value")
        text = python_name(parameter.name)
        return text if default is None else f"{text}={self._expressions.text(default)}"

    def block(self, node: Any) -> list[str]:
        """Return the lines of a block, or of one statement."""
        if node.type != "compound_statement":
            return self._statement(node)
        lines = [line for child in node.named_children for line in self._statement(child)]
        return lines

    def _statement(self, node: Any) -> list[str]:
        made = self._statements.get(node.type)
        if made is None:
            raise self._unknown(node, f"rules know no {node.type.replace('_', ' ')}")
        return made(node)

    def _indented(self, node: Any) -> list[str]:
        return [f"    {line}" for line in self.block(node)] or ["    pass"]

    def _unknown(self, node: Any, reason: str) -> Unknown:
        return Unknown.at(self._source, node, reason)

    # ---- statements

    def _declaration(self, node: Any) -> list[str]:
        source = self._source
        kind = source.text_of(node.child_by_field_name("type"))
        if _DROPPED_TYPES.match(kind) or "getCurrentCUDAStream" in source.text_of(node):
            return []
        lines = []
        for declared in node.children_by_field_name("declarator"):
            name = inner_name(source, declared)
            value = self._first_value(declared, kind)
            self._expressions.declare(name, kind, declared)
            lines += [] if value is None else [f"{python_name(name)} = {value}"]
        return lines

    def _first_value(self, declared: Any, kind: str) -> str | None:
        """Return the value that a variable begins with; None if it begins without."""
        given = declared.child_by_field_name("value")
        if kind == "dim3":
            return self._extents(declared, given)
        if declared.type == "function_declarator":
            return self._like_a_function(declared)[0]
        if declared.type != "init_declarator" or given is None:
            return None
        if given.type == "argument_list":
            return self._constructed(given, kind)
        text = self._expressions.text(given)
        is_integer = _INTEGER_TYPES.fullmatch(kind) is not None and kind != "auto"
        if is_integer and self._expressions.kind(given) != "int":
            text = f"int({text})"
        return text

    def _constructed(self, given: Any, kind: str) -> str:
        inside = [self._expressions.text(child) for child in given.named_children]
        if "Tensor" in kind or "Device" in kind or _INTEGER_TYPES.fullmatch(kind):
            return inside[0] if inside else "None"
        if "vector" in kind:
            raise self._unknown(given, "rules know no vectors but lists of values")
        raise self._unknown(given, f"rules know no {kind}")

    def _extents(self, declared: Any, given: Any) -> str:
        if declared.type == "function_declarator":
            return f"dim3({', '.join(self._like_a_function(declared))})"
        if given is None:
            return "dim3()"
        if given.type in ("argument_list", "initializer_list"):
            inside = [self._expressions.text(child) for child in given.named_children]
            return f"dim3({', '.join(inside)})"
        return self._expressions.text(given)

    def _like_a_function(self, declared: Any) -> list[str]:
        """Return the values of a declaration such as ``dim3 b(T)``, which reads like a
        function's."""
        inside = declared.child_by_field_name("parameters").named_children
        types = [node.child_by_field_name("type") or node for node in inside]
        return [
            self._expressions.text(kind)
            if kind.type == "qualified_identifier"
            else self._expressions.name(self._source.text_of(kind))
            for kind in types
        ]

    def _expression(self, node: Any) -> list[str]:
        inside = next((c for c in node.named_children if c.type != "comment"), None)
        if inside is None:
            return []
        if inside.type == "call_expression":
            return self._call(inside)
        if inside.type == "update_expression":
            name = self._expressions.text(inside.child_by_field_name("argument"))
            sign = "+" if "++" in self._source.text_of(inside) else "-"
            return [f"{name} {sign}= 1"]
        if inside.type == "assignment_expression":
            return [self._assignment(inside)]
        raise self._unknown(inside, "rules do not know this statement")

    def _assignment(self, node: Any) -> str:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        operator = self._source.text_of(node.child_by_field_name("operator"))
        if operator == "/=" and self._expressions.kind(left) == "int":
            operator = "//="
        return f"{self._expressions.text(left)} {operator} {self._expressions.text(right)}"

    def _call(self, node: Any) -> list[str]:
        name = callee(self._source, node)
        if kernel_call(node) is not None:
            return self._launches.lines(node, self._expressions, self.findings)
        if _CHECKS.fullmatch(name):
            return self._check(node)
        if name == "cudaDeviceGetAttribute":
            return [self._attribute(node)]
        if _DROPPED.fullmatch(name) or self._is_check_macro(name):
            self._say(node, State.TRANSLATED, name, "")
            return []
        if _DISPATCH.fullmatch(name):
            return self._dispatch(node)
        return [self._expressions.text(node)]

    def _attribute(self, node: Any) -> str:
        """Return what a query of the device gives on every Apple GPU."""
        given = [self._source.text_of(argument) for argument in arguments(node)]
        if len(given) < len(("place", "attribute")) or given[1] not in _ATTRIBUTES:
            raise self._unknown(node, "Metal has no such attribute")
        self._say(node, State.CHANGED, given[1], str(_ATTRIBUTES[given[1]]))
        return f"{given[0].lstrip('&')} = {_ATTRIBUTES[given[1]]}"

    def _is_check_macro(self, name: str) -> bool:
        body = value_of_macro(self._source, name)
        return (
            body is not None and re.search(r"CHECK|ASSERT|cudaError|cudaSuccess", body) is not None
        )

    def _check(self, node: Any) -> list[str]:
        given = arguments(node)
        try:
            condition = self._expressions.text(given[0])
            said = [self._source.text_of(a) for a in given[1:] if a.type == "string_literal"]
            message = said[0] if said else '"a check of the C++ fails"'
            return [f"if not ({condition}):", f"    raise RuntimeError({message})"]
        except Unknown:
            reason, advice = "the check is left out", "write it in Python if it matters"
            line = self._source.line(node)
            checked = self._source.text_of(node)
            self.findings.append(Finding(line, State.CHANGED, checked, "", reason, advice))
            return []

    def _dispatch(self, node: Any) -> list[str]:
        """Return the body of an AT_DISPATCH macro, with its type as a variable ``scalar_t``."""
        given = arguments(node)
        lambdas = [
            a for a in given if "lambda_expression" in (a.type, *(c.type for c in a.named_children))
        ]
        names = [a for a in given if a.type == "call_expression"]
        if not lambdas or not names:
            raise self._unknown(node, "rules read AT_DISPATCH macros with a lambda")
        function = lambdas[0]
        if function.type != "lambda_expression":
            function = function.named_children[0]
        self._launches.dispatched(self._source.text_of(node.child_by_field_name("function")))
        lines = [f"scalar_t = {self._expressions.text(names[-1])}"]
        return lines + self.block(function.child_by_field_name("body"))

    def _return(self, node: Any) -> list[str]:
        inside = [c for c in node.named_children if c.type != "comment"]
        if not inside:
            return ["return None"]
        text = self._expressions.text(inside[0])
        if inside[0].type == "initializer_list":
            text = f"[{text.strip('()').rstrip(',')}]"
        return [f"return {text}"]

    def _if(self, node: Any) -> list[str]:
        condition = node.child_by_field_name("condition")
        value = condition.child_by_field_name("value") or condition.named_children[0]
        lines = [f"if {self._expressions.text(value)}:"]
        lines += self._indented(node.child_by_field_name("consequence"))
        other = node.child_by_field_name("alternative")
        if other is None:
            return lines
        inner = other.named_children[-1] if other.type == "else_clause" else other
        below = self._indented(inner)
        return [*lines, "else:", *below]

    def _while(self, node: Any) -> list[str]:
        condition = node.child_by_field_name("condition").named_children[0]
        body = self._indented(node.child_by_field_name("body"))
        return [f"while {self._expressions.text(condition)}:", *body]

    def _for(self, node: Any) -> list[str]:
        """Return a loop; it counts with ``while``, because its body may change the counter."""
        first = node.child_by_field_name("initializer")
        condition, update = (node.child_by_field_name(f) for f in ("condition", "update"))
        if first is None or condition is None or update is None:
            raise self._unknown(node, "rules know loops with a beginning, a condition and a step")
        if "continue" in self._source.text_of(node.child_by_field_name("body")):
            raise self._unknown(node, "rules know no continue in a counting loop")
        lines = self._declaration(first) if first.type == "declaration" else []
        body = self._indented(node.child_by_field_name("body"))
        step = self._step(update)
        return [*lines, f"while {self._expressions.text(condition)}:", *body, f"    {step}"]

    def _step(self, node: Any) -> str:
        if node.type == "update_expression":
            name = self._expressions.text(node.child_by_field_name("argument"))
            return f"{name} {'+' if '++' in self._source.text_of(node) else '-'}= 1"
        if node.type == "assignment_expression":
            return self._assignment(node)
        raise self._unknown(node, "rules do not know this step of a loop")

    def _say(self, node: Any, state: State, construct: str, became: str) -> None:
        self.findings.append(Finding(self._source.line(node), state, construct, became))
