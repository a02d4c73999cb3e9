"""Launches of kernels as dispatches of ``torch.mps.compile_shader``'s."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product
from typing import Any

from kernelwright.dialects.simt.source import Source, arguments, callee
from kernelwright.hipify.finding import Finding, State
from kernelwright.hipify.metal.expressions import Expressions, Unknown
from kernelwright.hipify.metal.functions import Parameter
from kernelwright.hipify.metal.kernels import DeviceCode, with_words

CASTS = {
    "int": "int32", "int32_t": "int32", "unsigned": "int32", "unsigned int": "int32",
    "uint": "int32", "uint32_t": "int32", "short": "int16", "int16_t": "int16",
    "unsigned short": "int16", "uint16_t": "int16", "char": "int8", "int8_t": "int8",
    "bool": "int8", "unsigned char": "uint8", "uint8_t": "uint8",
    "half": "fp16", "bfloat": "bf16",
}  # fmt: skip
"""``arg_casts`` by the type of a parameter; others are 8-byte integers or floats as they are."""
WIDE = ("long", "ulong", "long long", "int64_t", "uint64_t", "size_t", "unsigned long", "long int")
N_EXTENTS = 2
"""Extents before the bytes of shared memory in a launch: grid and block."""
TYPES = {"float": "float32", "half": "float16", "bfloat": "bfloat16"}
"""Types that stand for ``scalar_t``, with torch's names. Metal has no double."""


class Launches:
    """The launches of one text, and the instantiations of templates that they ask for."""

    def __init__(self, source: Source, device: DeviceCode, owner: str) -> None:
        """``owner`` is the class that holds the library."""
        self._source, self._device, self._owner = source, device, owner
        self._types: tuple[str, ...] = ("float",)
        self._instances: dict[str, str] = {}
        """Text of an instantiation by its host name."""

    def dispatched(self, macro: str) -> None:
        """Note the types that an AT_DISPATCH macro stands for."""
        half = ("half",) if re.search("HALF|AND2|AND3|ALL_TYPES_AND", macro) else ()
        bfloat = ("bfloat",) if re.search("BFLOAT|AND2|AND3", macro) else ()
        self._types = ("float", *half, *bfloat)

    @property
    def instantiations(self) -> str:
        """The instantiations of all templates that were launched, in MSL."""
        return "".join(f"{text}\n" for text in self._instances.values())

    def lines(self, node: Any, host: Expressions, findings: list[Finding]) -> list[str]:
        """Return the dispatch of one launch.

        Raises:
            Unknown: an argument cannot be bound, or no such kernel is known.
        """
        name = callee(self._source, node)
        function = self._device.kernels.get(name)
        if function is None:
            raise Unknown.at(self._source, node, "the kernel is not in this file")
        config = [host.text(child) for child in kernel_call(node).named_children[:3]]
        given = arguments(node)
        bound, casts = [], {}
        for index, (parameter, argument) in enumerate(
            zip(function.parameters, given, strict=False)
        ):
            text, cast = self._bound(parameter, argument, host)
            bound.append(text)
            casts |= {index: cast} if cast else {}
        kernel = self._kernel(node, name, host, config)
        findings.append(Finding(self._source.line(node), State.TRANSLATED, "<<<>>>", "dispatch"))
        listed = ", ".join([kernel, config[0], config[1], *bound])
        return [f"launch({listed}, arg_casts={casts or None})"]

    def _kernel(self, node: Any, name: str, host: Expressions, config: list[str]) -> str:
        """Return the Python text of the kernel that a launch names."""
        function = self._device.kernels[name]
        library = f"{self._owner}.LIBRARY"
        if self._device.dynamic:
            is_measured = name in self._device.dynamic and len(config) > N_EXTENTS
            library = f"{self._owner}.library({config[N_EXTENTS] if is_measured else 0})"
        if not function.template_parameters:
            return f"{library}.{name}"
        words = self._template_arguments(node, name)
        choices = [self._types if word == "scalar_t" else (word,) for word in words]
        for chosen in product(*choices):
            values = [host.constant(word) for word in chosen]
            written = ", ".join(values)
            made = f"{name}<{written}>"
            shown = _host_name(name, values)
            self._instances[shown] = (
                f'template [[host_name("{shown}")]] [[kernel]] decltype({made}) {made};'
            )
        by_type = f"{{{self._owner}.TYPES[scalar_t]}}"
        named = [by_type if word == "scalar_t" else host.constant(word) for word in words]
        shown = _host_name(name, named)
        if "scalar_t" in words:
            return f'getattr({library}, f"{shown}")'
        return f"{library}.{shown}"

    def _template_arguments(self, node: Any, name: str) -> list[str]:
        """Return the template's arguments, as written or as the pointers' types give them."""
        function = self._device.kernels[name]
        listed = node.child_by_field_name("function").child_by_field_name("arguments")
        written = [] if listed is None else [self._source.text_of(a) for a in listed.named_children]
        for wanted in function.template_parameters[len(written) :]:
            written.append(self._deduced(node, name, wanted))
        return [with_words(word) for word in written]

    def _deduced(self, node: Any, name: str, wanted: str) -> str:
        parameters = self._device.kernels[name].parameters
        for parameter, given in zip(parameters, arguments(node), strict=False):
            found = re.search(r"data(?:_ptr)?<\s*([\w:]+)\s*>", self._source.text_of(given))
            if parameter.kind == wanted and parameter.is_pointer and found:
                return found[1]
        raise Unknown.at(self._source, node, f"the template's {wanted} is not written",
                         "write it in the launch")  # fmt: skip

    def _bound(self, parameter: Parameter, node: Any, host: Expressions) -> tuple[str, str]:
        """Return the Python text of an argument, and its cast; an empty one if it needs none."""
        if parameter.is_pointer:
            return host.tensor(node), ""
        text, kind = host.text(node), with_words(parameter.kind)
        if kind in ("float",):
            return (text if host.kind(node) == "float" else f"float({text})"), ""
        if kind in ("half", "bfloat"):
            return f"float({text})", CASTS[kind]
        if kind in CASTS or kind in WIDE:
            whole = text if host.kind(node) == "int" else f"int({text})"
            return whole, CASTS.get(kind, "")
        if parameter.kind in self._device_templates():
            return f"float({text})", ""
        raise Unknown.at(self._source, node, f"torch binds no {parameter.kind} by value",
                         "pass its numbers, or a tensor")  # fmt: skip

    def _device_templates(self) -> set[str]:
        return {w for f in self._device.kernels.values() for w in f.template_parameters}


def kernel_call(node: Any) -> Any:
    """Return the part ``<<<…>>>`` of a launch; None if the call is none."""
    return next((c for c in node.children if c.type == "kernel_call_syntax"), None)


def launched(source: Source) -> Iterator[str]:
    """Yield the names of the kernels that a text launches."""
    for node in source.nodes("kernel_call_syntax"):
        yield callee(source, node.parent)


def _host_name(name: str, values: list[str]) -> str:
    return "_".join([name, *(re.sub(r"[^\w{}.\[\]]+", "_", value) for value in values)])
