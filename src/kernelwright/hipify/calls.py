"""Calls whose arguments change: the engine that reads ``calls_to_hip.toml`` and
``calls_to_cuda.toml``."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from kernelwright.dialects.simt.source import Edit, Source, arguments, callee, callee_node
from kernelwright.hipify.finding import Finding, State
from kernelwright.hipify.table import TABLES, ApiMap

NULL = ("nullptr", "NULL", "0")


@dataclass(frozen=True)
class Change:
    """The change of one construct: edits, a finding, helper functions that the port needs, and the
    offset of the identifier it covers."""

    finding: Finding
    edits: tuple[Edit, ...] = ()
    needs: tuple[str, ...] = ()
    at: int = -1


@cache
def _rules(to: str) -> dict[str, list[dict[str, Any]]]:
    table = tomllib.loads((TABLES / f"calls_to_{to}.toml").read_text())
    found: dict[str, list[dict[str, Any]]] = {}
    for rule in table["call"]:
        for name in rule["cuda" if to == "hip" else "hip"]:
            found.setdefault(name, []).append(table["group"][rule["group"]] | rule)
    return found


def call_changes(source: Source, api: ApiMap, own: frozenset[str], to: str) -> Iterator[Change]:
    """Yield the change of every call that a rule covers."""
    rules = _rules(to)
    for call in source.nodes("call_expression"):
        name = callee(source, call)
        given = arguments(call)
        if name not in rules:
            continue
        for rule in rules[name]:
            if name in own and not rule.get("even_own"):
                continue
            is_meant = _is_null(source, given, rule) and _is_typed(source, given, rule)
            if rule.get("count", len(given)) == len(given) and is_meant:
                yield _change(source, call, rule, _new_name(name, rule, api))
                break


def _is_null(source: Source, given: list[Any], rule: dict[str, Any]) -> bool:
    """Return whether the argument that a rule requires to be a null pointer, if any, is written as
    one."""
    return "null" not in rule or source.text_of(given[rule["null"]]) in NULL


def _is_typed(source: Source, given: list[Any], rule: dict[str, Any]) -> bool:
    """Return whether the argument that a rule requires to be a variable of some type, if any, is
    declared so in the file."""
    if "typed" not in rule:
        return True
    index, kind = rule["typed"]["index"], rule["typed"]["type"]
    name = source.text_of(given[index]) if index < len(given) else ""
    declared = rf"\b{kind}\s+[^;(){{}}]*\b{re.escape(name)}\b"
    return name.isidentifier() and re.search(declared.encode(), source.text) is not None


def _new_name(name: str, rule: dict[str, Any], api: ApiMap) -> str:
    if "name" in rule:
        return rule["name"]
    if "strip" in rule:
        return rule.get("prefix", "") + name.removesuffix(rule["strip"])
    if "suffix" in rule:
        return name + rule["suffix"]
    row = api.names.get(name)
    return row.hip if row is not None and row.is_mapped else name


def _change(source: Source, call: Any, rule: dict[str, Any], became: str) -> Change:
    name = callee_node(call)
    given = arguments(call)
    listed = call.child_by_field_name("arguments")
    edits = [Edit(name.start_byte, name.end_byte, became)]
    edits += [_without(given, index) for index in rule.get("drop", ())]
    if "append" in rule:
        edits.append(Edit(listed.end_byte - 1, listed.end_byte - 1, f", {rule['append']}"))
    if "prepend" in rule:
        comma = ", " if given else ""
        edits.append(Edit(listed.start_byte + 1, listed.start_byte + 1, rule["prepend"] + comma))
    for wrap in rule.get("wrap", ()):
        edits += _wrapped(given[wrap["index"]], wrap["text"]) if len(given) > wrap["index"] else []
    if "unwrap" in rule and given:
        edits = [
            Edit(call.start_byte, given[0].start_byte, ""),
            Edit(given[0].end_byte, call.end_byte, ""),
        ]
    finding = Finding(
        source.line(call),
        State(rule["state"]),
        source.text_of(name),
        became,
        rule.get("reason", ""),
        rule.get("advice", ""),
    )
    needs = (rule["needs"],) if "needs" in rule else ()
    return Change(finding, tuple(edits), needs, name.start_byte)


def _without(given: list[Any], index: int) -> Edit:
    if index + 1 < len(given):
        return Edit(given[index].start_byte, given[index + 1].start_byte, "")
    start = given[index - 1].end_byte if index else given[index].start_byte
    return Edit(start, given[index].end_byte, "")


def _wrapped(node: Any, text: str) -> list[Edit]:
    """Put text around an argument, unless there is a cast already."""
    if node.type in ("cast_expression", "string_literal"):
        return []
    before, after = text.split("{}")
    return [
        Edit(node.start_byte, node.start_byte, before),
        Edit(node.end_byte, node.end_byte, after),
    ]
