"""Inline PTX: instructions that have an expression in HIP C++, by ``ptx.toml``."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from typing import Any

from kernelwright.dialects.simt.source import Edit, Source
from kernelwright.propose.port.calls import Change
from kernelwright.propose.port.finding import Finding, State
from kernelwright.propose.port.table import TABLES

_OPERAND = re.compile(r"%(\d+)")
_STRING = re.compile(r'"(?:\\.|[^"\\])*"')


@cache
def _tables() -> tuple[dict[str, dict[str, Any]], dict[str, dict[str, str]]]:
    table = tomllib.loads((TABLES / "ptx.toml").read_text())
    by_opcode = {code: row for row in table["instruction"] for code in row["opcode"]}
    return by_opcode, table["register"]


def ptx_changes(source: Source) -> Iterator[Change]:
    """One change per asm statement: its C++, or a finding that says which instruction has none."""
    for node in source.nodes("gnu_asm_expression"):
        line = source.line(node)
        try:
            text, needs = _translate(*_parts(source, node))
        except KeyError as error:
            yield Change(
                Finding(
                    line, State.UNPORTED, "inline PTX", reason=f"no rule for {error.args[0]}",
                    advice="write the C++ of it, or AMD's instruction behind #ifdef __HIP__",
                )
            )  # fmt: skip
            continue
        edit = Edit(node.start_byte, node.end_byte, text)
        yield Change(Finding(line, State.REPAIRED, "inline PTX", text), (edit,), needs)


def _parts(source: Source, node: Any) -> tuple[str, list[str]]:
    """The PTX text and the C++ expressions of its operands, outputs first."""
    code = node.child_by_field_name("assembly_code") or next(
        c for c in node.named_children if c.type in ("string_literal", "concatenated_string")
    )
    pieces = _STRING.findall(source.text_of(code))
    text = "".join(ast.literal_eval(piece) for piece in pieces)
    operands = []
    for kind in ("gnu_asm_output_operand_list", "gnu_asm_input_operand_list"):
        for listed in (c for c in node.named_children if c.type == kind):
            for operand in listed.named_children:
                value = operand.child_by_field_name("value") or operand.named_children[-1]
                operands.append(source.text_of(value))
    return text, operands


def _translate(text: str, operands: list[str]) -> tuple[str, tuple[str, ...]]:
    """C++ for PTX ``text``.

    Raises:
        KeyError: its argument names the instruction or register without a rule.
    """
    instructions, registers = _tables()
    needs: list[str] = []

    def operand(word: str) -> str:
        word = word.strip()
        if match := _OPERAND.fullmatch(word):
            if int(match[1]) >= len(operands):
                raise KeyError(word)
            return f"({operands[int(match[1])]})"
        register = registers.get(word.replace("%%", "%"))
        if register is not None:
            needs.extend([register["needs"]] if "needs" in register else [])
            return register["text"]
        if re.fullmatch(r"-?(0[xX][0-9a-fA-F]+|\d+)U?", word):
            return word
        raise KeyError(word)

    statements = []
    for part in text.replace("{", " ").replace("}", " ").split(";"):
        words = part.strip().split(None, 1)
        if not words:
            continue
        if words[0].startswith(".reg"):
            raise KeyError("PTX registers of its own")
        row = instructions.get(words[0])
        if row is None:
            raise KeyError(words[0])
        given = words[1].split(",") if len(words) > 1 else []
        if "only" in row and [g.strip() for g in given] != [row["only"]]:
            raise KeyError(part.strip())
        values = [] if "only" in row else [operand(g) for g in given]
        try:
            statements.append(row["text"].format(*values))
        except IndexError:
            raise KeyError(part.strip()) from None
        needs.extend([row["needs"]] if "needs" in row else [])
    if not statements:
        return "__atomic_signal_fence(__ATOMIC_SEQ_CST)", ()  # asm("" ::: "memory")
    body = ", ".join(f"({s})" for s in statements) if len(statements) > 1 else statements[0]
    return body, tuple(dict.fromkeys(needs))
