"""The parts of a prompt's context; each can be left out, so that its value can be measured."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from kernelwright.core.call import Call
from kernelwright.core.candidate import Brief, Exemplar, Proposal
from kernelwright.core.errors import UsageError, nearest
from kernelwright.core.evaluation import Evaluation
from kernelwright.llm import attached
from kernelwright.proposers.swarm.device_facts import facts
from kernelwright.proposers.swarm.profile import profile
from kernelwright.proposers.swarm.question import Question
from kernelwright.proposers.swarm.roofline import position

Pair = tuple[Proposal, Evaluation]

N_VERDICTS = 5
"""Number of earlier verdicts that a prompt shows."""
MAX_SHOWN = 12_000
"""Maximum number of characters of an exemplar; a longer one would leave no room for the rest."""
COUNTERS = "counters"
ATTACHED = "attached"
COUNTED = " (ncu)"
"""Suffix of the facts in a profile that Nsight Compute counted."""
MAX_REASON = 1_500
"""Maximum number of characters of a reason, after trimming."""
_SAYS = re.compile(r"\b(error|Error|Exception|undefined|fatal)\b")


def parse_contexts(texts: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    """Parse sets of parts such as 'reference,verdicts'; each set is in the order of ``PARTS``.

    Raises:
        UsageError: there is no such part; the message names the nearest one.
    """
    sets = []
    for text in texts:
        words = {word.strip() for word in text.split(",")} - {""}
        for word in words:
            if word not in PARTS:
                raise UsageError(
                    f'unknown part of the context "{word}"', seen=text, do=nearest(word, PARTS)
                )
        sets.append(tuple(part for part in PARTS if part in words))
    return tuple(dict.fromkeys(sets))


def gather(parts: Sequence[str], brief: Brief, question: Question) -> dict[str, Any]:
    """Return the content of each part for a question; empty parts are left out."""
    said = {part: PARTS[part](brief, question) for part in parts}
    return {part.replace("-", "_"): value for part, value in said.items() if value}


def verdict(found: Evaluation) -> dict[str, Any]:
    """Return a verdict in the form that prompts show."""
    timing = found.timing
    ratios = timing.speedups.items() if timing else ()
    return {
        "status": found.status.value,
        "reasons": [trimmed(reason.detail) for reason in found.reasons],
        "warnings": [warned.detail for warned in found.warnings],
        "speedups": {name: f"{r.median:.2f} ({r.low:.2f} to {r.high:.2f})" for name, r in ratios},
        "strongest": timing.strongest if timing else "",
    }


def trimmed(reason: str) -> str:
    """Shorten a reason to the lines that help.

    Of a long reason the lines that report errors are kept, each with the line after it, which
    quotes the code.
    """
    lines = [line.rstrip() for line in reason.splitlines() if line.strip()]
    if len(reason) > MAX_REASON // 2 and len(lines) > 8:
        telling = [i for i, line in enumerate(lines) if _SAYS.search(line)]
        kept = sorted({0, *telling, *(i + 1 for i in telling), len(lines) - 1})
        lines = list(dict.fromkeys(lines[i] for i in kept if i < len(lines)))
    text = "\n".join(line[:300] for line in lines)
    return text if len(text) <= MAX_REASON else text[:MAX_REASON] + "\n…"


def _reference(brief: Brief, question: Question) -> str:
    return brief.task.source


def _verdicts(brief: Brief, question: Question) -> list[dict[str, Any]]:
    """Return the last verdicts on this task, without the parent's."""
    parent = question.parent[0].candidate.digest if question.parent else None
    others = [pair for pair in brief.history if pair[0].candidate.digest != parent]
    return [
        {"note": p.note, "dialect": p.candidate.dialect} | verdict(found)
        for p, found in others[-N_VERDICTS:]
    ]


def _exemplars(brief: Brief, question: Question) -> list[dict[str, Any]]:
    """Return the brief's exemplars in the wanted dialect, without the parent."""
    parent = question.parent[0].candidate.digest if question.parent else None

    def fits(exemplar: Exemplar) -> bool:
        candidate = exemplar.proposal.candidate
        same = candidate.dialect == question.dialect and candidate.digest != parent
        return same and len(candidate.source) <= MAX_SHOWN

    return [
        {"role": e.role, "source": e.proposal.candidate.source} | verdict(e.evaluation)
        for e in brief.exemplars
        if fits(e)
    ]


def _other_dialect(brief: Brief, question: Question) -> dict[str, Any] | None:
    """Return the fastest correct implementation in another language, on any device."""
    passed = [
        (p, found)
        for p, found in (*brief.history, *brief.elsewhere)
        if found.passed and p.candidate.dialect not in (question.dialect, "torch")
    ]
    shown = [pair for pair in passed if len(pair[0].candidate.source) <= MAX_SHOWN]
    if not shown:
        return None
    best, found = max(shown, key=_speed)
    return {
        "dialect": best.candidate.dialect,
        "device": found.environment.device,
        "source": best.candidate.source,
    }


def _speed(pair: Pair) -> float:
    speedup = pair[1].speedup
    return 0.0 if speedup is None else speedup.low


def _device(brief: Brief, question: Question) -> list[tuple[str, str, str]]:
    return facts(brief.device, brief.threads)


def _profile(brief: Brief, question: Question) -> Any:
    return profile(brief.task, brief.device)


def _roofline(brief: Brief, question: Question) -> Any:
    return position(brief.task, brief.device, question.parent)


def _kernels(brief: Brief, question: Question) -> list[dict[str, Any]]:
    """Return the parent's kernels with launches, registers, spills and vectorisation."""
    shown = question.parent[1].profile if question.parent else ()
    return [
        {
            "name": kernel.name,
            "time_us": kernel.time_ns / 1e3,
            "n_calls": kernel.n_calls,
            "facts": [
                f"{name}: {_short(value)}"
                for name, value in kernel.facts.items()
                if not name.endswith(COUNTED)
            ],
        }
        for kernel in shown
    ]


def _counters(brief: Brief, question: Question) -> list[tuple[str, list[str]]]:
    """Return the device's counters for the parent's kernels, if they could be read."""
    shown = question.parent[1].profile if question.parent else ()
    named = [
        (
            kernel.name,
            [
                f"{name.removesuffix(COUNTED)}: {_short(value)}"
                for name, value in kernel.facts.items()
                if name.endswith(COUNTED)
            ],
        )
        for kernel in shown
    ]
    return [(name, facts) for name, facts in named if facts]


def _attached(brief: Brief, question: Question) -> list[tuple[str, str]]:
    return attached.texts(brief.attached)


def _short(value: float | str) -> str:
    return f"{value:g}" if isinstance(value, float | int) else value


def _advice(brief: Brief, question: Question) -> str:
    """Return the analyst's advice about the parent, if it was asked."""
    call = advice_on(brief, question)
    return call.answer.strip() if call else ""


def advice_on(brief: Brief, question: Question) -> Call | None:
    """Return the analyst's last call about a question's parent."""
    if question.parent is None:
        return None
    wanted = question.parent[0].candidate.digest
    said = [c for c in brief.calls if c.purpose == "advise" and c.parent == wanted and c.answer]
    return said[-1] if said else None


PARTS: dict[str, Callable[[Brief, Question], Any]] = {
    "reference": _reference,
    "verdicts": _verdicts,
    "exemplars": _exemplars,
    "other-dialect": _other_dialect,
    "device": _device,
    "profile": _profile,
    "roofline": _roofline,
    "kernels": _kernels,
    COUNTERS: _counters,
    ATTACHED: _attached,
    "advice": _advice,
}
LEAN = ("reference", "verdicts")
DEFAULT = (tuple(part for part in PARTS if part != COUNTERS), LEAN)
"""The sets that the bandit chooses from by default: all parts that are quick to measure, and the
smallest set."""
