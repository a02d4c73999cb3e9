"""Makefiles: the compiler, its options, libraries and sources of one side become the other's."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from typing import Any

from kernelwright.hipify.finding import Finding, State
from kernelwright.hipify.table import TABLES
from kernelwright.hipify.translate import Translation


@cache
def _rules(to: str) -> list[tuple[re.Pattern[str], dict[str, Any]]]:
    rows = tomllib.loads((TABLES / "make.toml").read_text())[to]
    return [(re.compile(row["pattern"]), row) for row in rows]


def translate_make(text: str, *, to: str = "hip", file: str = "") -> Translation:
    """Translate ``text``, a makefile; variables of its own keep their names, comments stay.

    Not covered: options that a makefile puts together from parts.
    """
    findings: list[Finding] = []
    lines = []
    for number, line in enumerate(text.splitlines(keepends=True), 1):
        code, mark, comment = _without_comment(line)
        lines.append(_translated(code, to, number, file, findings) + mark + comment)
    return Translation("".join(lines), tuple(findings))


def _without_comment(line: str) -> tuple[str, str, str]:
    at = re.search(r"(?<!\\)#", line)
    return (line, "", "") if at is None else (line[: at.start()], "#", line[at.end() :])


def _translated(code: str, to: str, line: int, file: str, findings: list[Finding]) -> str:
    parts, at = [], 0
    while at < len(code):
        found = _first(code, at, to)
        if found is None:
            break
        match, row = found
        became = match.expand(row["became"])
        state = State(row.get("state", "translated"))
        word = match[0].strip()
        kept = match[0] if state is State.UNPORTED else became
        parts += [code[at : match.start()], kept]
        findings.append(
            Finding(line, state, word, became, row.get("reason", ""), row.get("advice", ""), file)
        )
        at = match.end()
    return "".join([*parts, code[at:]])


def _first(code: str, at: int, to: str) -> tuple[re.Match[str], dict[str, Any]] | None:
    """Return the match that begins first, of the first rule that has one there."""
    found = [(m, row) for rule, row in _rules(to) if (m := rule.search(code, at))]
    return min(found, key=lambda one: one[0].start(), default=None)
