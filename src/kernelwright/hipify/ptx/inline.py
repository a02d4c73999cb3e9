"""Inline PTX: instructions that have an expression in HIP C++, by ``ptx.toml``."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from typing import Any

from kernelwright.dialects.simt.source import Edit, Source
from kernelwright.hipify.calls import Change
from kernelwright.hipify.finding import Finding, State
from kernelwright.hipify.table import TABLES

_OPERAND = re.compile(r"%(\d+)")
_RAW = "raw_string_literal"
_ADDRESS = re.compile(r"\[\s*([%\w]+)\s*(?:\+\s*(\d+)\s*)?\]")
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_REGISTERS = re.compile(r"\.reg\s*\.(\w+)\s+(.+)", re.S)
_SEVERAL = re.compile(r"([%\w]+)<(\d+)>")


@cache
def _tables() -> tuple[dict[str, dict[str, Any]], dict[str, dict[str, str]], dict[str, str]]:
    """Return instructions by opcode, special registers, and PTX types in C++.

    A row with ``types`` is one instruction per type: $t is PTX's name, $T is C++'s.
    """
    table = tomllib.loads((TABLES / "ptx.toml").read_text())
    types = table["types"]
    by_opcode = {}
    for row in table["instruction"]:
        for kind in row.get("types", [""]):
            text = row["text"].replace("$T", types.get(kind, ""))
            by_opcode |= {c.replace("$t", kind): row | {"text": text} for c in row["opcode"]}
    return by_opcode, table["register"], types


def ptx_changes(source: Source) -> Iterator[Change]:
    """Yield one change per asm statement: its C++, or a finding that names the unsupported
    instruction."""
    for node in source.nodes("gnu_asm_expression"):
        line = source.line(node)
        try:
            text, needs = _translate(*_parts(source, node))
        except KeyError as error:
            yield Change(
                Finding(
                    line,
                    State.UNPORTED,
                    "inline PTX",
                    reason=f"no rule for {error.args[0]}",
                    advice="write the C++ of it, or AMD's instruction behind #ifdef __HIP__",
                )
            )
            continue
        edit = Edit(node.start_byte, node.end_byte, text)
        yield Change(Finding(line, State.REPAIRED, "inline PTX", text), (edit,), needs)


def _parts(source: Source, node: Any) -> tuple[str, list[str], int]:
    """Return the PTX text, its operands in C++ (outputs first), and the number of outputs.

    Raises:
        KeyError: its argument names the part of the statement that cannot be read.
    """
    text = "".join(_said(source, piece) for piece in _pieces(node))
    sides: list[list[str]] = []
    for kind in ("gnu_asm_output_operand_list", "gnu_asm_input_operand_list"):
        operands = (o for c in node.named_children if c.type == kind for o in c.named_children)
        sides.append([_value(source, operand) for operand in operands])
    return text, [*sides[0], *sides[1]], len(sides[0])


def _pieces(node: Any) -> list[Any]:
    """Return the strings of the PTX text; anything else among them is a macro's name."""
    code = node.child_by_field_name("assembly_code") or node
    listed = code.named_children if code.type == "concatenated_string" else [code]
    pieces = [piece for piece in listed if piece.type != "comment"]
    beside = [child.type for child in node.children]
    if "ERROR" in beside or not {piece.type for piece in pieces} <= {"string_literal", _RAW}:
        raise KeyError("a text that is not strings alone")
    return pieces


def _said(source: Source, literal: Any) -> str:
    """Return the contents of a string literal."""
    if literal.type == _RAW:
        parts = [c for c in literal.named_children if c.type == "raw_string_content"]
        return "".join(map(source.text_of, parts))
    try:
        return ast.literal_eval(source.text_of(literal))
    except (SyntaxError, ValueError):  # an escape that Python does not have
        raise KeyError(source.text_of(literal)) from None


def _value(source: Source, operand: Any) -> str:
    value = operand.child_by_field_name("value") or next(reversed(operand.named_children), None)
    if value is None:
        raise KeyError(source.text_of(operand))
    return source.text_of(value)


def _translate(text: str, operands: list[str], n_outputs: int) -> tuple[str, tuple[str, ...]]:
    """Return C++ for PTX ``text``.

    Raises:
        KeyError: its argument names the instruction or register without a rule.
    """
    body = _COMMENT.sub(" ", text).strip()
    if body.startswith("{") and body.endswith("}") and ";" in body:
        body = body[1:-1]
    parts = [stripped for part in body.split(";") if (stripped := part.strip())]
    block = _Block(operands)
    if len(parts) > 1:
        block.keep_inputs(n_outputs)
    for part in parts:
        block.add(part)
    return block.text(), tuple(dict.fromkeys(block.needs))


class _Block:
    """The instructions of one asm statement, the registers it declares, and the helpers they
    need."""

    def __init__(self, operands: list[str]) -> None:
        self.operands = operands
        self.needs: list[str] = []
        self.statements: list[str] = []
        self.registers: dict[str, str] = {}
        """Registers that the statement declares → their types in C++."""
        self.is_guarded = False
        self.kept: list[str] = []
        """Declarations of the inputs that are read before anything is written."""

    def keep_inputs(self, n_outputs: int) -> None:
        """Read inputs first that may alias an output: PTX has them in registers of their own."""
        words = re.compile(r"[A-Za-z_]\w*")
        written = {word for output in self.operands[:n_outputs] for word in words.findall(output)}
        for index in range(n_outputs, len(self.operands)):
            if written & set(words.findall(self.operands[index])):
                self.kept.append(f"const auto ptx_in{index} = {self.operands[index]}; ")
                self.operands[index] = f"ptx_in{index}"

    def add(self, part: str) -> None:
        """Add one instruction or declaration."""
        if declared := _REGISTERS.fullmatch(part):
            return self._declare(declared[1], declared[2])
        guard = ""
        if part.startswith("@"):
            word, part = (*part[1:].split(None, 1), "")[:2]
            guard = f"if ({'!' * word.startswith('!')}{self._operand(word.lstrip('!'))}) "
            self.is_guarded = True
        opcode, rest = (*part.split(None, 1), "")[:2]
        if opcode.startswith("mov.") and "{" in rest:
            opcode += ".unpack" if rest.strip().startswith("{") else ".pack"
        row = _tables()[0].get(opcode)
        if row is None:
            raise KeyError(opcode)
        given = [word.strip() for word in rest.replace("{", "").replace("}", "").split(",")]
        given = [word for word in given if word]
        if len(given) > row.get("most", len(given)):
            raise KeyError(part)
        for index, allowed in row.get("literals", {}).items():
            if int(index) >= len(given) or given[int(index)] not in allowed:
                raise KeyError(part)
        literal = {int(index) for index in row.get("literals", {})}
        values = [w if i in literal else self._operand(w) for i, w in enumerate(given)]
        try:
            self.statements.append(guard + row["text"].format(*values))
        except IndexError:
            raise KeyError(part) from None
        self.needs += [row["needs"]] if "needs" in row else []

    def _declare(self, kind: str, names: str) -> None:
        became = _tables()[2].get(kind)
        if became is None:
            raise KeyError(f"a register of type .{kind}")
        for name in (word.strip() for word in names.split(",")):
            several = _SEVERAL.fullmatch(name)
            listed = [f"{several[1]}{i}" for i in range(int(several[2]))] if several else [name]
            self.registers |= dict.fromkeys(listed, became)

    def _operand(self, word: str) -> str:
        if address := _ADDRESS.fullmatch(word):
            return f"((char*)({self._operand(address[1])}) + {address[2] or 0})"
        if word in self.registers:
            return _local(word)
        if match := _OPERAND.fullmatch(word):
            if int(match[1]) >= len(self.operands):
                raise KeyError(word)
            return f"({self.operands[int(match[1])]})"
        register = _tables()[1].get(word.replace("%%", "%"))
        if register is not None:
            self.needs += [register["needs"]] if "needs" in register else []
            return register["text"]
        if re.fullmatch(r"-?(0[xX][0-9a-fA-F]+|\d+)U?", word):
            return word
        if real := re.fullmatch(r"0[fF]([0-9a-fA-F]{8})", word):
            return f"__uint_as_float(0x{real[1]}u)"
        raise KeyError(word)

    def text(self) -> str:
        """Return an expression: a lambda called at once if there are registers or guards."""
        if not self.statements:
            return "__atomic_signal_fence(__ATOMIC_SEQ_CST)"  # asm("" ::: "memory")
        if not self.registers and not self.is_guarded and not self.kept:
            joined = [f"({s})" for s in self.statements]
            return ", ".join(joined) if len(joined) > 1 else self.statements[0]
        declared = "".join(self.kept)
        declared += "".join(f"{kind} {_local(n)}; " for n, kind in self.registers.items())
        return f"[&] {{ {declared}{'; '.join(self.statements)}; }}()"


def _local(register: str) -> str:
    return f"ptx_{register.replace('%', '')}"
