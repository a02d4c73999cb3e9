"""One device function of CUDA in MSL, as edits of its text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from kernelwright.dialects.simt.source import Edit, arguments, callee, callee_node
from kernelwright.hipify.finding import Finding, State
from kernelwright.hipify.metal.functions import Function, Parameter, declarators, inner_name
from kernelwright.hipify.metal.spaces import CASTS, Spaces, is_address, is_marked, within
from kernelwright.hipify.metal.vocabulary import BUILTINS, DYNAMIC, tables

_ALL_LANES = re.compile(r"(0x[fF]{8}[uU]?|-1|~0[uU]?)$")
_ATOMIC_TYPES = {"int": "atomic_int", "unsigned int": "atomic_uint", "unsigned": "atomic_uint",
                 "uint32_t": "atomic_uint", "int32_t": "atomic_int", "uint": "atomic_uint",
                 "float": "atomic_float"}  # fmt: skip
_OF_FLOATS = ("atomicAdd", "atomicSub", "atomicExch")


class Body:
    """A device function on its way to MSL."""

    def __init__(
        self, function: Function, spaces: Spaces, uses: Mapping[str, tuple[str, ...]]
    ) -> None:
        self._function, self._spaces, self._uses = function, spaces, uses
        self._source = function.source
        self._tables = tables()
        self._edits: list[Edit] = []
        self.findings: list[Finding] = []

    @property
    def is_dynamic(self) -> bool:
        """Whether it has ``extern __shared__`` memory."""
        return any(
            is_marked(self._source, node, "__shared__") and is_marked(self._source, node, "extern")
            for node in within(self._function.body)
            if node.type == "declaration"
        )

    def edits(self) -> list[Edit]:
        """Return the edits; what they leave is in ``findings`` from then on."""
        self._head()
        for node in within(self._function.body):
            if node.type == "declaration":
                self._declaration(node)
            elif node.type == "call_expression":
                self._call(node)
            elif node.type == "cast_expression":
                self._cast(node.child_by_field_name("type"), node.child_by_field_name("value"))
            elif node.type in ("identifier", "type_identifier"):
                self._name(node)
        return self._edits

    # ---- the signature

    def _head(self) -> None:
        node, source = self._function.node, self._source
        declared = self._function.declarator
        before = source.exact(node.start_byte, declared.start_byte)
        if self._function.is_kernel:
            head = "kernel void "
            self._say(node, State.TRANSLATED, f"__global__ {self._function.name}", "kernel")
        else:
            head = re.sub(r"\b(__device__|__host__|static|extern|__global__)\b\s*", "", before)
            head = re.sub(r"__launch_bounds__\s*\([^)]*\)\s*", "", head)
            if "*" in head:
                self._leave(node, "a function that returns a pointer", "it has no address space",
                            "return an index")  # fmt: skip
        self._edits.append(Edit(node.start_byte, declared.start_byte, head))
        named = declared.child_by_field_name("declarator")
        if named.type == "identifier":
            free = free_function(self._function.name)
            self._edits.append(Edit(named.start_byte, named.end_byte, free))
        listed = declared.child_by_field_name("parameters")
        written = [self._parameter(i, p) for i, p in enumerate(self._function.parameters)]
        for name in self._uses[self._function.name]:
            mark = f" [[{BUILTINS[name]}]]" if self._function.is_kernel else ""
            written.append(f"uint3 {name}{mark}")
        indent = "\n    " if self._function.is_kernel else " "
        joined = f",{indent}".join(written)
        start = "\n    " if self._function.is_kernel and written else ""
        self._edits.append(Edit(listed.start_byte, listed.end_byte, f"({start}{joined})"))

    def _parameter(self, index: int, parameter: Parameter) -> str:
        kind, name = parameter.kind, self._free(parameter.name)
        const = "const " if parameter.is_const else ""
        if not self._function.is_kernel:
            if not (parameter.is_pointer or parameter.is_reference):
                return f"{const}{kind} {name}"
            place = self._spaces.place(self._function, parameter.name)
            space = (place.space if place else "") or "thread"
            mark = "*" if parameter.is_pointer else "&"
            return f"{space} {const}{kind}{mark} {name}"
        place_mark = f"[[buffer({index})]]"
        if parameter.is_pointer:
            return f"device {const}{_packed(kind)}* {name} {place_mark}"
        if self._is_changed(parameter.name):
            body = self._function.body.start_byte + 1
            self._edits.append(Edit(body, body, f"\n    {kind} {name} = {name}_given;"))
            return f"constant {kind}& {name}_given {place_mark}"
        return f"constant {kind}& {name} {place_mark}"

    def _is_changed(self, name: str) -> bool:
        """Return whether the function writes to a parameter, or takes its address."""
        for node in within(self._function.body):
            if node.type in ("assignment_expression", "update_expression", "pointer_expression"):
                inner = node.child_by_field_name("left") or node.child_by_field_name("argument")
                is_address_of = node.type != "pointer_expression" or node.children[0].type == "&"
                if inner is not None and is_address_of and self._source.text_of(inner) == name:
                    return True
        return False

    # ---- declarations

    def _declaration(self, node: Any) -> None:
        source, kind = self._source, node.child_by_field_name("type")
        if kind is None:
            return
        if is_marked(source, node, "__shared__"):
            self._shared(node, kind)
            return
        spaces = set()
        for declared in declarators(node):
            name = inner_name(source, declared)
            place = self._spaces.place(self._function, name)
            inner = declared
            if declared.type == "init_declarator":
                inner = declared.child_by_field_name("declarator")
            is_pointer = inner.type in ("pointer_declarator", "reference_declarator")
            spaces.add((place.space or "thread") if is_pointer and place else "")
        first = (
            declared.child_by_field_name("value") if declared.type == "init_declarator" else None
        )
        is_auto = source.text_of(kind) == "auto"
        if is_auto and first is not None and is_address(first):
            return
        if len(spaces) > 1:
            self._leave(node, " ".join(source.text_of(node).split()),
                        "it declares pointers to different address spaces at once",
                        "declare them one by one")  # fmt: skip
        elif (space := spaces.pop()) and not is_auto:
            self._edits.append(Edit(node.start_byte, node.start_byte, f"{space} "))

    def _shared(self, node: Any, kind: Any) -> None:
        source = self._source
        if not self._function.is_kernel:
            self._leave(node, "__shared__ in a device function",
                        "Metal declares threadgroup memory in kernels alone",
                        "declare it in the kernel and pass it")  # fmt: skip
            return
        self._say(node, State.TRANSLATED, "__shared__", "threadgroup")
        dropped = re.sub(
            r"\b(extern|__shared__|volatile|static)\b\s*|__align__\s*\([^)]*\)\s*", "",
            source.exact(node.start_byte, kind.end_byte),
        )  # fmt: skip
        self._edits.append(Edit(node.start_byte, kind.end_byte, f"threadgroup {dropped}"))
        if is_marked(source, node, "extern"):
            end = node.end_byte - 1
            bracket = source.exact(kind.end_byte, end).rindex("]") + kind.end_byte
            size = f"{DYNAMIC} / sizeof({source.text_of(kind)})"
            self._edits.append(Edit(bracket, bracket, size))

    # ---- expressions

    def _call(self, node: Any) -> None:
        name = self._named(node)
        tables = self._tables
        given = arguments(node)
        if name in self._uses:
            self._own(node, name)
        elif name in CASTS:
            function = node.child_by_field_name("function")
            listed = function.child_by_field_name("arguments")
            if listed is not None and given:
                self._cast(listed.named_children[0], given[0])
        elif name in tables["warp"]:
            self._warp(node, name, given)
        elif name in tables["atomic"]:
            self._atomic(node, name, given)
        elif name in tables["expression"]:
            self._expression(node, tables["expression"][name], given)
        elif name in tables["number"]:
            self._rename(node, tables["number"][name])
            if given and not self._is_float(given[0]):
                self._around(given[0], "float(", ")")
        elif name in tables["function"]:
            self._rename(node, tables["function"][name])
        elif re.match(r"__[a-z]", name):
            self._leave(node, name, "rules know no such function of Metal's", "write it by hand")

    def _named(self, node: Any) -> str:
        """Return the called function's name, with ``std::`` if it is written so."""
        function = node.child_by_field_name("function")
        text = self._source.text_of(function) if function is not None else ""
        return text.removeprefix("::") if text.startswith("std::") else callee(self._source, node)

    def _own(self, node: Any, name: str) -> None:
        """Pass CUDA's variables on to a device function that reads them."""
        more = ", ".join(self._uses[name])
        end = node.child_by_field_name("arguments").end_byte - 1
        if more:
            comma = ", " if arguments(node) else ""
            self._edits.append(Edit(end, end, comma + more))
        self._rename(node, free_function(name))

    def _warp(self, node: Any, name: str, given: list[Any]) -> None:
        most = {"__shfl": 3}.get(name[:6], len(given))
        became = self._tables["warp"][name]
        mask = self._source.text_of(given[0]) if given else ""
        width = self._source.text_of(given[most]) if len(given) > most else "32"
        if re.match(r"[\d-]|~", mask) and not _ALL_LANES.match(mask):
            self._leave(node, f"{name}({mask}, …)", "Metal's simd functions take all active lanes",
                        "branch so that only these lanes are active")  # fmt: skip
            return
        if width not in ("32", "warpSize", "WARP_SIZE"):
            self._leave(node, f"{name} with width {width}", "Metal shuffles within 32 lanes",
                        "compute the lane's number")  # fmt: skip
            return
        self._rename(node, became)
        listed = node.child_by_field_name("arguments")
        start = given[1].start_byte if len(given) > 1 else given[0].end_byte
        self._edits.append(Edit(given[0].start_byte, start, ""))
        if len(given) > most:
            self._edits.append(Edit(given[most - 1].end_byte, given[most].end_byte, ""))
        if became.count("("):
            self._edits.append(Edit(listed.end_byte, listed.end_byte, ")" * became.count("(")))

    def _atomic(self, node: Any, name: str, given: list[Any]) -> None:
        place = self._spaces.root(self._function, given[0]) if given else None
        space = self._spaces.space(self._function, given[0]) if given else ""
        kind = _ATOMIC_TYPES.get(self._pointee(given[0], place.kind if place else ""), "")
        is_float = kind == "atomic_float"
        if not kind or not space:
            reason = "Metal's atomics are on int, unsigned int and float, at a known address space"
            self._leave(node, name, reason, "use such a type")
            return
        if is_float and (space != "device" or name not in _OF_FLOATS):
            reason = "Metal adds floats atomically in device memory only"
            self._leave(node, f"{name} on float", reason, "reduce with simd_sum first")
            return
        self._rename(node, self._tables["atomic"][name])
        self._around(given[0], f"({space} {kind}*)(", ")")
        if name != "atomicCAS":
            end = given[-1].end_byte
            self._edits.append(Edit(end, end, ", memory_order_relaxed"))
        self._say(node, State.TRANSLATED, name, self._tables["atomic"][name])

    def _pointee(self, node: Any, kind: str) -> str:
        """Return the type that an address points to: a cast's, or that of its root."""
        if node.type == "cast_expression":
            kind = self._source.text_of(node.child_by_field_name("type"))
        return kind.replace("*", "").replace("const", "").replace("volatile", "").strip()

    def _expression(self, node: Any, form: str, given: list[Any]) -> None:
        """Write a call as another expression, with its arguments' own edits kept."""
        pieces = re.split(r"\{(\d)\}", form)
        used = [int(piece) for piece in pieces[1::2]]
        if used and max(used) >= len(given):
            return
        if used != sorted(set(used)):
            texts = [self._source.text_of(argument) for argument in given]
            text = "".join(texts[int(p)] if i % 2 else p for i, p in enumerate(pieces))
            self._edits.append(Edit(node.start_byte, node.end_byte, text))
            return
        at = node.start_byte
        for piece, index in zip(pieces[::2], used, strict=False):
            self._edits.append(Edit(at, given[index].start_byte, piece))
            at = given[index].end_byte
        self._edits.append(Edit(at, node.end_byte, pieces[-1]))
        self._say(node, State.TRANSLATED, callee(self._source, node), form.partition("(")[0])

    def _cast(self, kind: Any, value: Any) -> None:
        text = self._source.text_of(kind)
        if "*" not in text and "&" not in text:
            return
        space = self._spaces.space(self._function, value) or "thread"
        self._edits.append(Edit(kind.start_byte, kind.start_byte, f"{space} "))

    def _name(self, node: Any) -> None:
        name = self._source.text_of(node)
        if node.parent.type == "call_expression" or name == self._function.name:
            return
        free = self._free(name)
        if free != name:
            self._edits.append(Edit(node.start_byte, node.end_byte, free))

    def _free(self, name: str) -> str:
        """Return a name that MSL leaves free."""
        is_own = self._spaces.place(self._function, name) is not None
        return f"{name}_" if is_own and name in self._tables["taken"]["words"] else name

    def _is_float(self, node: Any) -> bool:
        """Return whether an argument is evidently a float; others may be integers or halves."""
        text = self._source.text_of(node)
        if re.search(r"\d\.|\.\d|\bfloat\b|\d[fF]\b", text):
            return True
        places = [
            self._spaces.place(self._function, name) for name in re.findall(r"[A-Za-z_]\w*", text)
        ]
        return any(place is not None and place.kind == "float" for place in places)

    # ---- edits and findings

    def _rename(self, node: Any, name: str) -> None:
        function = node.child_by_field_name("function")
        if function.type == "template_function":
            function = callee_node(node)
        self._edits.append(Edit(function.start_byte, function.end_byte, name))

    def _around(self, node: Any, before: str, after: str) -> None:
        self._edits.append(Edit(node.start_byte, node.start_byte, before))
        self._edits.append(Edit(node.end_byte, node.end_byte, after))

    def _say(self, node: Any, state: State, construct: str, became: str) -> None:
        self.findings.append(Finding(self._source.line(node), state, construct, became))

    def _leave(self, node: Any, construct: str, reason: str, advice: str) -> None:
        line = self._source.line(node)
        self.findings.append(Finding(line, State.UNPORTED, construct, "", reason, advice))


def free_function(name: str) -> str:
    """Return the name of a function of the program; MSL's own functions have theirs."""
    taken = tables()["taken"]
    return f"{name}_" if name in (*taken["functions"], *taken["words"]) else name


def _packed(kind: str) -> str:
    """Return a type as it lies in CUDA's memory: three numbers are not padded to four."""
    return f"packed_{kind}" if re.fullmatch(r"(float|int|uint|half)3", kind) else kind
