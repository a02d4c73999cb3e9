"""Prompts: versioned template files, filled with the parts of the context."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from kernelwright.core.call import Call
from kernelwright.core.candidate import Brief
from kernelwright.core.syntax import parse
from kernelwright.proposers.swarm.answer import ENTRY
from kernelwright.proposers.swarm.context import gather, verdict
from kernelwright.proposers.swarm.question import Question

GENERATOR = "generator-3"
ANALYST = "analyst-2"
REFORMAT = "reformat-1"
EXAMPLE = "example-2"
"""Names of templates with their versions: a changed text is a new file."""

Messages = tuple[tuple[str, str], ...]


def generator(brief: Brief, question: Question, parts: Sequence[str]) -> Messages:
    """Ask for a first kernel, a repaired one or a faster one.

    A worked example precedes the question as an earlier turn, if there is one for the dialect.
    """
    facts = _facts(brief, question, parts)
    system, asked = _render(GENERATOR, facts)
    example = f"{EXAMPLE}-{question.dialect}"
    shown = (*_render(EXAMPLE, facts), *_render(example, facts)) if _exists(example) else ()
    return (system, *shown, asked)


def analyst(brief: Brief, question: Question, parts: Sequence[str]) -> Messages:
    """Ask for a few sentences of advice about the parent of ``question``."""
    return _render(ANALYST, _facts(brief, question, parts))


def reformat(call: Call, fault: str) -> Messages:
    """Ask again for an answer whose form was wrong."""
    return in_form(call.messages, call.answer, fault)


def in_form(messages: Messages, answer: str, fault: str) -> Messages:
    """Append the answer to its prompt, with the request to answer in the right form."""
    ((_, text),) = _render(REFORMAT, {"fault": fault, "entry": ENTRY})[-1:]
    return (*messages, ("assistant", answer), ("user", text))


def _facts(brief: Brief, question: Question, parts: Sequence[str]) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "entry": ENTRY,
        "reference_entry": brief.task.model,
        "signatures": signatures(brief.task.source, brief.task.model),
        "dialect": question.dialect,
        "device": brief.device.key,
        "purpose": question.purpose,
        "parent": None,
        "context": gather(parts, brief, question),
    }
    if question.parent is not None:
        proposal, found = question.parent
        shown["parent"] = {"source": proposal.candidate.source} | verdict(found)
        if "verdicts" not in parts:
            shown["parent"] |= {"reasons": [], "warnings": []}
    return shown


def signatures(source: str, entry: str) -> list[str]:
    """Return the signatures of the reference's constructor and forward, which candidates match."""
    for node in parse(source).body:
        if isinstance(node, ast.ClassDef) and node.name == entry:
            return [
                f"def {part.name}({ast.unparse(part.args)})"
                for part in node.body
                if isinstance(part, ast.FunctionDef) and part.name in ("__init__", "forward")
            ]
    return []


def _render(template: str, facts: dict[str, Any]) -> Messages:
    """Render the messages of a template, which has one file per role."""
    return tuple(
        (role, _plain(_templates().get_template(f"{template}.{role}.md.j2").render(facts)))
        for role in ("system", "user", "assistant")
        if f"{template}.{role}.md.j2" in _templates().list_templates()
    )


def _plain(text: str) -> str:
    """Return a text that any server accepts: a candidate's error may contain invalid UTF-8."""
    return text.strip().encode("utf-8", "replace").decode() + "\n"


def _exists(template: str) -> bool:
    return any(name.startswith(f"{template}.") for name in _templates().list_templates())


@cache
def _templates() -> Environment:
    return Environment(
        loader=PackageLoader("kernelwright.proposers.swarm", "templates"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,  # text for models, not for browsers
        keep_trailing_newline=True,
    )
