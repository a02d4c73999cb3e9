"""One PTX function as a HIP function: its registers as variables, its flow as statements."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from kernelwright.hipify.ptx import flow
from kernelwright.hipify.ptx.declarations import (
    Names,
    element_type,
    identifier,
    parameter_name,
    parameter_type,
    pointer_to,
    shared_declaration,
    short_names,
    signature,
)
from kernelwright.hipify.ptx.expressions import filled, is_atom, is_simple, plain, wrapped
from kernelwright.hipify.ptx.instructions import (
    CALLS,
    JUMPS,
    LEAVING,
    REGISTER,
    VECTOR,
    Bound,
    Untranslated,
    advice_of,
    bind_row,
    call_parts,
    elements,
    is_control,
    is_jump,
    last_of,
    reason_of,
    starts_of,
    without_hint,
)
from kernelwright.hipify.ptx.operands import (
    CHANGING,
    INTEGERS,
    Operands,
    UnreadableError,
    Value,
    assigned,
    stored_type,
)
from kernelwright.hipify.ptx.reading import BYTES, Function, Instruction, Label, Variable
from kernelwright.hipify.ptx.rows import rows_of
from kernelwright.hipify.ptx.uses import Start, Uses, find_uses

_SAME_TYPE = re.compile(r"(\$\w+|[-+*&|^~() ]|<< \$\w+)+")
"""C++ whose type is that of its operands, if these are not narrower than int."""
_COMPARISON = re.compile(r"(\$a) (==|!=|<|<=|>|>=) (\$b)")
_OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}
_VECTORS = {"u8": "uchar", "s8": "char", "u16": "ushort", "s16": "short", "u32": "uint",
            "s32": "int", "f32": "float", "u64": "ulonglong", "s64": "longlong", "f64": "double",
            "b8": "uchar", "b16": "ushort", "b32": "uint", "b64": "ulonglong"}  # fmt: skip
_READ = "ptx_read"
"""A vector before its elements are assigned: no name that a variable of a program has."""
MOST_FOLDED = 72
"""Characters of an expression that still stands in the place of its register."""
KNOWN_FUNCTIONS = {
    "malloc": "(u64)malloc({0})",
    "free": "free((void*){0})",
    "__assertfail": "__builtin_trap()",
}
"""Functions of CUDA's own that PTX calls, in HIP."""


@dataclass
class Written:
    """A function in C++."""

    head: str
    body: list[str]
    needs: list[str]
    untranslated: list[Untranslated]
    used: list[str]
    """The rows that it was written by."""


def write_function(function: Function, names: Names) -> Written:
    """Write one function."""
    return _Writer(function, names).write()


@dataclass
class _Writer:
    """One function on its way to C++."""

    function: Function
    names: Names
    needs: list[str] = field(default_factory=list)
    untranslated: list[Untranslated] = field(default_factory=list)
    used: list[str] = field(default_factory=list)
    stored: dict[str, str] = field(default_factory=dict)
    """Registers → their C++ types."""
    folded: dict[str, Value] = field(default_factory=dict)
    """Registers that no variable is declared for → what stands in their place."""
    kept: set[str] = field(default_factory=set)
    """Registers that are variables."""
    uses: Uses = field(default_factory=Uses)
    shared: dict[str, str] = field(default_factory=dict)
    """Shared variables of the function → their C++ names."""
    at_label: dict[str, int] = field(default_factory=dict)
    """Labels → their blocks."""

    @property
    def operands(self) -> Operands:
        return Operands(self._value, self._variable, self._address, self.names.function, self.needs)

    def write(self) -> Written:
        body, starts = self.function.body, starts_of(self.function.body)
        instructions = [item for item in body if isinstance(item, Instruction)]
        bound = {id(now): self._bind(now) for now in instructions}
        self._choose_types([each for each in bound.values() if each is not None])
        self.shared = short_names(self.function.variables.values())
        self.at_label = {name: block for block, _, _, labels in starts for name in labels}
        shape = [
            self._shape(body[start:end], block, len(starts)) for block, start, end, _ in starts
        ]
        self.uses = find_uses(body, bound, starts, shape)
        lines = flow.written(self._blocks(starts, shape, bound))
        head = signature(self.function)
        body_ = [*self._declared(lines), *lines]
        return Written(head, body_, self.needs, self.untranslated, self.used)

    # ---- rows

    def _bind(self, now: Instruction) -> Bound | None:
        if is_control(now):
            return None
        now = without_hint(now)
        for row in rows_of(now.opcode):
            bound = bind_row(now, row)
            if bound is not None and self._fits(bound):
                return bound
        return None

    def _fits(self, bound: Bound) -> bool:
        """Return whether the address operands are of the memory that the row means."""
        for slot, text in bound.given:
            if slot.kind not in ("generic", "shared"):
                continue
            name = re.match(r"\[\s*([%\w$.]+)", text)
            variable = self._variable(name[1]) if name else None
            if variable is not None and (variable.space == "shared") != (slot.kind == "shared"):
                return False
        return True

    def _choose_types(self, bound: Sequence[Bound]) -> None:
        """Choose the type of each register: bits, or a float where most of its uses are of one."""
        real: Counter[str] = Counter()
        for each in bound:
            for slot, text in each.given:
                vector = VECTOR.fullmatch(slot.kind)
                kind = vector[2] if vector else slot.kind
                votes = 1 if kind in ("f32", "f64") else -1 if kind in INTEGERS else 0
                for name in (
                    REGISTER.findall(text) if slot.kind not in ("generic", "shared") else ()
                ):
                    real[name] += votes
                if slot.kind in ("generic", "shared"):
                    for name in REGISTER.findall(text):
                        real[name] -= 2
        for name, kind in self.function.registers.items():
            self.stored[name] = stored_type(kind)
            if kind in ("b32", "b64") and real[name] > 0:
                self.stored[name] = "f32" if kind == "b32" else "f64"

    # ---- names

    def _value(self, name: str) -> Value | None:
        if name in self.folded:
            return self.folded[name]
        if name not in self.stored:
            return None
        self.kept.add(name)
        return Value(identifier(name), self.stored[name])

    def _variable(self, name: str) -> Variable | None:
        if name in self.function.variables:
            return self.function.variables[name]
        return self._parameter(name) or self.names.variable(name)

    def _parameter(self, name: str) -> Variable | None:
        listed = (*self.function.parameters, *self.function.returns)
        return next((p for p in listed if p.name == name), None)

    def _address(self, variable: Variable) -> str:
        if variable.name in self.function.variables:
            if variable.space == "shared":
                return f"((char*){self.shared[variable.name]})"
            return pointer_to(variable)
        if self._parameter(variable.name) is not None:
            return f"((char*)&{self._place_of(variable)})"
        return self.names.address(variable)

    def _place_of(self, variable: Variable) -> str:
        """Return the C++ name of a parameter, of this function or of a call."""
        for index, parameter in enumerate(self.function.parameters):
            if parameter.name == variable.name:
                return parameter_name(index)
        return identifier(variable.name)

    # ---- blocks

    def _blocks(
        self, starts: Sequence[Start], shape: Sequence[flow.Block], bound: dict[int, Bound | None]
    ) -> list[flow.Block]:
        done: dict[int, flow.Block] = {}
        place = self.uses.place
        # a block after those that dominate it: what stands in the place of a register is known then
        for block, start, end, _ in sorted(starts, key=lambda s: place.get(s[0], len(starts))):
            if block not in place:
                continue  # nothing leads to it
            items = self.function.body[start:end]
            last, statements, pending = last_of(items), list[str](), set[str]()
            for item in items:
                if isinstance(item, Label) or (item is last and is_jump(item)):
                    continue
                statements += self._meeting(item, pending)
                statements += self._statement(item, bound[id(item)])
            done[block] = self._finished(shape[block], statements, last)
        return [done.get(block, flow.Block(())) for block in range(len(starts))]

    def _shape(self, items: Sequence[Instruction | Label], block: int, n_blocks: int) -> flow.Block:
        """Return a block without its statements."""
        after = (block + 1,) if block + 1 < n_blocks else ()
        last = last_of(items)
        if last is None or (is_jump(last) and self._why_not(last)):
            return flow.Block((), after)
        if is_jump(last):
            targets = tuple(self.at_label[name] for name in self._aims(last))
            if last.opcode not in JUMPS:
                return flow.Block((), targets, selector="0")
            return flow.Block((), (*targets, *after) if last.guard else targets)
        if (last.opcode in LEAVING or last.opcode == "trap") and not last.guard:
            return flow.Block(())
        return flow.Block((), after)

    def _aims(self, jump: Instruction) -> tuple[str, ...]:
        """Return the labels that a jump leads to."""
        if jump.opcode in JUMPS:
            return jump.operands
        return self.function.tables.get(jump.operands[-1], ()) if jump.operands else ()

    def _why_not(self, jump: Instruction) -> str:
        """Return why a jump cannot be written; empty if it can."""
        if len(jump.operands) != (1 if jump.opcode in JUMPS else 2):
            return "no row takes these operands"
        if jump.guard and jump.opcode not in JUMPS:
            return "a jump to one of several labels has a guard"
        aims = self._aims(jump)
        if not aims or any(name not in self.at_label for name in aims):
            return "its label is not in this function"
        name = jump.guard.lstrip("!")
        return f"{name} is no predicate" if name and self.stored.get(name) != "bool" else ""

    def _finished(
        self, outline: flow.Block, statements: list[str], last: Instruction | None
    ) -> flow.Block:
        condition, selector = None, ""
        if last is not None and is_jump(last) and (reason := self._why_not(last)):
            return flow.Block((*statements, self._left(last, reason)), outline.targets)
        if last is not None and last.opcode in JUMPS and last.guard and len(outline.targets) == 2:
            condition = self._condition(last.guard)
        if outline.selector and last is not None:
            try:
                selector = self.operands.read(last.operands[0], "u32")
            except UnreadableError as error:
                return flow.Block((*statements, self._left(last, str(error))))
        targets = outline.targets
        if condition is not None and targets[0] == targets[1]:
            condition, targets = None, targets[:1]
        return flow.Block(tuple(statements), targets, condition, selector)

    def _condition(self, guard: str) -> flow.Condition:
        value = self._value(guard.lstrip("!"))
        if value is None or value.type != "bool":
            raise UnreadableError(f"{guard.lstrip('!')} is no predicate")
        condition = flow.Condition(value.text, value.negated)
        return condition.negated if guard.startswith("!") else condition

    # ---- statements

    def _statement(self, now: Instruction, bound: Bound | None) -> list[str]:
        try:
            text = self._text(now, bound)
            condition = self._condition(now.guard).text if now.guard and text else ""
        except UnreadableError as error:
            return [self._left(now, str(error))]
        if not text:
            return []
        return [f"if ({condition}) {text}" if condition else text]

    def _text(self, now: Instruction, bound: Bound | None) -> str:
        """Return an instruction's statement without its guard; empty if nothing is to be done."""
        if now.opcode in LEAVING:
            return self._leaving(now)
        if now.opcode in CALLS:
            return self._call(now)
        if (text := self._of_parameter(now)) is not None:
            return text
        if bound is None:
            return self._left(now, reason_of(now))
        self.used.append(bound.row.ptx)
        if bound.row.needs:
            self.needs.append(bound.row.needs)
        return self._row(bound)

    def _left(self, now: Instruction, reason: str) -> str:
        self.untranslated.append(Untranslated(now.line, str(now), reason, advice_of(now.opcode)))
        return f"/* not translated: {str(now).replace('*/', '* /')} */"

    def _leaving(self, now: Instruction) -> str:
        if self.function.is_entry:
            return "return;" if now.guard else ""
        if now.opcode == "exit":
            return self._left(now, "a device function cannot end the thread")
        returned = self.function.returns
        return f"return {identifier(returned[0].name)};" if returned else "return;"

    def _row(self, bound: Bound) -> str:
        row, moved = bound.row, self._moved(bound)
        words: dict[str, str] = {}
        for slot, text in bound.given:
            if slot.is_result:
                continue
            vector = VECTOR.fullmatch(slot.kind)
            if vector:
                parts = [self.operands.read(part, vector[2]) for part in elements(text)]
                words |= {f"{slot.name}{k}": part for k, part in enumerate(parts)}
                array = f"ptx_array<{vector[2]}, {len(parts)}>"
                words[slot.name] = f"{array}{{{{{', '.join(parts)}}}}}"
            else:
                kind = moved if slot.kind in ("m32", "m64") else slot.kind
                words[slot.name] = self.operands.read(text, kind)
                words[slot.name.upper()] = kind
        if row.result is not None:
            words["D"] = moved if row.result.kind in ("m32", "m64") else row.result.kind
        if row.second is not None or bound.second:
            name = bound.second
            if name in ("", "_"):
                words["p"] = words["q"] = "unused"
            else:
                self.kept.add(name)
                words["p"] = words["q"] = identifier(name)
        if row.result is None:
            return plain(filled(row.c, words)) + ";" if row.c else ""
        if vector := VECTOR.fullmatch(row.result.kind):
            return self._spread(bound, vector, filled(row.c, words))
        return self._assigned(bound, filled(row.c, words), moved)

    def _moved(self, bound: Bound) -> str:
        """Return the type of bits that the instruction moves: a float's if a register says so."""
        for slot, text in bound.given:
            if slot.kind in ("m32", "m64") and text in self.stored:
                real, bits = ("f32", "u32") if slot.kind == "m32" else ("f64", "u64")
                return real if self.stored[text] == real else bits
        kinds = {slot.kind for slot, _ in bound.given}
        return "u64" if "m64" in kinds else "u32"

    def _assigned(self, bound: Bound, text: str, moved: str) -> str:
        slot, name = bound.given[0]
        if name == "_":
            return f"(void)({text});"
        stored = self.stored.get(name)
        if stored is None:
            raise UnreadableError(f"{name} is no register")
        kind = moved if slot.kind in ("m32", "m64") else slot.kind
        value = assigned(text, kind, stored)
        if self._is_foldable(bound, name, value):
            self.folded[name] = self._folded(bound, text, value, kind, stored)
            return ""
        self.kept.add(name)
        return f"{identifier(name)} = {value};"

    def _is_foldable(self, bound: Bound, name: str, text: str) -> bool:
        """Return whether a register's expression may stand in its place."""
        if bound.instruction.guard or not bound.row.is_pure or self.uses.writes[name] != 1:
            return False
        sources = [t for slot, t in bound.given if not slot.is_result]
        read = [r for t in sources for r in REGISTER.findall(t) if r in self.stored]
        if any(self.uses.writes[r] > 1 or r not in self.uses.ordered for r in read):
            return False  # a source may have changed where the register is read
        if any(t in CHANGING for t in sources):
            return False
        if name not in self.uses.ordered or len(text) > MOST_FOLDED:
            return False
        return self.uses.reads[name] <= 1 or (is_simple(text) and bound.row.c == "$a")

    def _folded(self, bound: Bound, text: str, value: str, kind: str, stored: str) -> Value:
        is_whole = is_atom(value)
        opposite = ""
        if stored == "bool" and (found := _COMPARISON.fullmatch(bound.row.c)):
            kinds = {slot.kind for slot, _ in bound.given[1:]}
            if kinds <= set(INTEGERS):
                mark, other = found[2], _OPPOSITE[found[2]]
                opposite = (
                    value.replace(f" {mark} ", f" {other} ", 1)
                    if value.count(f" {mark} ") == 1
                    else ""
                )
        is_exact = stored not in INTEGERS or (
            kind == stored
            and stored in ("u32", "u64")
            and _SAME_TYPE.fullmatch(bound.row.c) is not None
        )
        if is_exact or (bound.row.c == "$a" and kind == stored != "u16"):
            return Value(value, stored, is_whole, opposite)
        return Value(f"({stored}){value if is_whole else f'({value})'}", stored)

    def _spread(self, bound: Bound, vector: re.Match[str], text: str) -> str:
        """Return the assignment of a vector's elements to registers."""
        kind, n = vector[2], int(vector[1])
        names = elements(bound.given[0][1])
        is_array = vector[0].startswith("a")
        given = f"ptx_array<{kind}, {n}>" if is_array else f"{_VECTORS.get(kind, kind)}{n}"
        places = [f"v[{k}]" for k in range(n)] if is_array else list("xyzw")
        lines = []
        element = {"b8": "u8", "b16": "u16", "b32": "u32", "b64": "u64"}.get(kind, kind)
        for part, name in zip(places, names, strict=False):
            if name == "_":
                continue
            stored = self.stored.get(name)
            if stored is None:
                raise UnreadableError(f"{name} is no register")
            self.kept.add(name)
            lines.append(f"{identifier(name)} = {assigned(f'{_READ}.{part}', element, stored)};")
        return f"{{ const {given} {_READ} = {text}; {' '.join(lines)} }}"

    # ---- parameters and calls

    def _of_parameter(self, now: Instruction) -> str | None:
        """Return a load or store of a whole parameter, as the parameter itself."""
        found = re.fullmatch(r"(ld|st)\.param\.(\w+)", now.opcode)
        if found is None or len(now.operands) != 2:
            return None
        register, place = now.operands if found[1] == "ld" else now.operands[::-1]
        name = re.fullmatch(r"\[\s*([\w$%.]+)(?:\s*\+\s*0)?\s*\]", place)
        variable = self._variable(name[1]) if name else None
        kind = parameter_type(variable) if variable is not None else ""
        if variable is None or BYTES[found[2]] != BYTES[variable.type] or kind.startswith("ptx_"):
            return None
        self.used.append(f"{found[1]}.param")
        place_name = self._place_of(variable)
        if found[1] == "st":
            return f"{place_name} = {self.operands.read(register, kind)};"
        stored = self.stored.get(register)
        if stored is None:
            raise UnreadableError(f"{register} is no register")
        if found[2] in ("s8", "s16", "s32") and INTEGERS.get(found[2], 0) < INTEGERS.get(stored, 0):
            return f"{identifier(register)} = ({found[2]}){place_name};"
        value = assigned(place_name, kind, stored)
        is_own = variable in self.function.parameters
        if (
            is_own
            and not now.guard
            and self.uses.writes[register] == 1
            and register in self.uses.ordered
        ):
            self.folded[register] = Value(value, stored, re.fullmatch(r"\w+", value) is not None)
            return ""
        self.kept.add(register)
        return f"{identifier(register)} = {value};"

    def _call(self, now: Instruction) -> str:
        returned, name, given, prototype = call_parts(now)
        if name in KNOWN_FUNCTIONS and not self._is_defined(name):
            arguments = [self._argument(word) for word in given]
            text = KNOWN_FUNCTIONS[name].format(*arguments)
        elif name in self.names.module.functions and self._is_defined(name):
            text = f"{identifier(name)}({', '.join(self._argument(word) for word in given)})"
        elif prototype in self.function.prototypes and name in self.stored:
            text = self._indirect(self.function.prototypes[prototype], name, given)
        else:
            return self._left(now, f"{name} is defined elsewhere")
        if not returned:
            return f"{text};"
        self.used.append("call")
        return f"{self._argument(returned[0])} = {text};"

    def _is_defined(self, name: str) -> bool:
        function = self.names.module.functions.get(name)
        return function is not None and function.is_defined

    def _indirect(self, prototype: Function, name: str, given: Sequence[str]) -> str:
        types = ", ".join(parameter_type(p) for p in prototype.parameters)
        result = parameter_type(prototype.returns[0]) if prototype.returns else "void"
        arguments = ", ".join(self._argument(word) for word in given)
        return f"(({result} (*)({types})){self.operands.read(name, 'u64')})({arguments})"

    def _argument(self, word: str) -> str:
        variable = self._variable(word)
        if variable is not None:
            return self._place_of(variable)
        value = self._value(word)
        if value is None:
            raise UnreadableError(f"{word} is not known")
        return value.text

    # ---- lanes in step

    def _meeting(self, now: Instruction, pending: set[str]) -> list[str]:
        """Return a barrier of the warp between a volatile read and a volatile write of shared
        memory, in either order: such code relies on lanes that run in step."""
        found = re.match(r"(ld|st)\.volatile\.shared", now.opcode)
        if found is None:
            if now.opcode.startswith(("bar", "shfl", "vote", "call")):
                pending.clear()
            return []
        other = "st" if found[1] == "ld" else "ld"
        is_due = other in pending
        if is_due:
            pending.clear()
        pending.add(found[1])
        return ["__syncwarp();"] if is_due else []

    # ---- declarations

    def _declared(self, lines: Sequence[str]) -> Iterator[str]:
        """Yield the declarations of what the body uses."""
        text = "\n".join(lines)
        words = set(re.findall(r"\w+", text))
        for variable in self.function.variables.values():
            yield from self._declared_variable(variable, words)
        for returned in self.function.returns:
            yield f"  {parameter_type(returned)} {identifier(returned.name)};"
        by_type: dict[str, list[str]] = {}
        for name, stored in self.stored.items():
            if identifier(name) in words and name in self.kept:
                by_type.setdefault(stored, []).append(identifier(name))
        for stored, listed in by_type.items():
            yield from wrapped(f"  {stored} ", listed)
        for flag in ("carry", "unused"):
            if flag in words:
                yield f"  bool {flag} = false;"

    def _declared_variable(self, variable: Variable, words: set[str]) -> Iterator[str]:
        name = identifier(variable.name)
        if variable.space == "shared":
            name = self.shared[variable.name]
        if name not in words:
            return
        if variable.space == "param":
            yield f"  {parameter_type(variable)} {name};"
            return
        kind, n = element_type(variable)
        if variable.space == "shared":
            yield shared_declaration(variable, name)
        elif variable.space == "local":
            yield f"  {kind} {name}[{max(n, 1)}];"
