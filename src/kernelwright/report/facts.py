"""What a verdict and a history say, as plain data and short words: for JSON, table and page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from kernelwright.archive import ranking
from kernelwright.archive.conclusion import Conclusion
from kernelwright.archive.ranking import Pair
from kernelwright.core.candidate import Proposal
from kernelwright.core.codec import plain
from kernelwright.core.evaluation import CANDIDATE, Evaluation, Ratio
from kernelwright.core.standing import SearchOutcome, Standing
from kernelwright.core.use import (
    IMPOSSIBLE,
    MISSED,
    RAISED,
    REFUSED,
    SERVED,
    UNTRIED,
    WRONG,
    Use,
)
from kernelwright.report.exams import Mean, Share

_VERDICT = (
    "status",
    "reasons",
    "warnings",
    "kinds",
    "task",
    "candidate",
    "guarantees",
    "judge_version",
    "seed",
    "numerics",
    "cost",
    "conditions",
)
_SAID_OF_USES = {
    WRONG: "WRONG", RAISED: "FAILED", REFUSED: "refused", MISSED: "by the module's own forward",
    IMPOSSIBLE: "not possible with the module itself", UNTRIED: "no time for",
}  # fmt: skip
MAX_REASON = 300
"""Characters of a reason that a table shows; a compiler's complaint can be pages long."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_BREAK = re.compile(r"[\t\n\u2028\u2029]")


def share_text(share: Share) -> str:
    """'25 % (7–59)'."""
    return f"{100 * share.share:.0f} % ({100 * share.low:.0f}–{100 * share.high:.0f})"


def mean_text(mean: Mean | None) -> str:
    """'1.83 (1.80–1.86)', the number alone where it has no interval, or a dash."""
    if mean is None:
        return "–"
    ends = "" if mean.low is None else f" ({mean.low:.2f}–{mean.high:.2f})"
    return f"{mean.mean:.2f}{ends}"


def evaluation_facts(evaluation: Evaluation) -> dict[str, Any]:
    """The JSON form of a verdict; ``speedup`` is absent where nothing was timed."""
    told = plain(evaluation)
    facts: dict[str, Any] = {name: told[name] for name in _VERDICT} | {
        "passed": evaluation.passed,
        "standing": evaluation.standing.value,
        "device": evaluation.environment.device,
        "environment": told["environment"]["facts"],
    }
    if evaluation.timing is not None:
        facts |= {
            "speedup": speedup_facts(evaluation),
            "strongest": evaluation.timing.strongest,
            "median_ns": {n: evaluation.timing.median_ns(n) for n in evaluation.timing.samples_ns},
            "clock": evaluation.timing.clock,
            "cache": evaluation.timing.cache,
            "calls": dict(evaluation.timing.calls),
            "single_ns": evaluation.timing.single_ns,
            "floor_ns": evaluation.timing.floor_ns,
            "is_queued": evaluation.timing.is_queued,
        }
    return facts


def speedup_facts(evaluation: Evaluation) -> dict[str, dict[str, float]]:
    """Median and interval of the speedup against each baseline that was measured."""
    timing = evaluation.timing
    return {name: plain(ratio) for name, ratio in timing.speedups.items()} if timing else {}


def uses_text(uses: Sequence[Use]) -> str:
    """Return a winner's results in use, in one line; empty if nothing was tried.

    Such as "in use: served in 12 of 14 ways; by the module's own forward: backward, vmap".
    """
    if not uses:
        return ""
    names: dict[str, list[str]] = {}
    for use in uses:
        names.setdefault(use.outcome, []).append(use.name)
    n_tried = len(uses) - len(names.get(UNTRIED, ()))
    if not n_tried:
        return "in use: the search left no time to try it; kernelwright.uses(result) does"
    parts = [f"served in {len(names.get(SERVED, ()))} of {n_tried} ways"]
    for outcome, said in _SAID_OF_USES.items():
        if outcome in names:
            parts.append(f"{said}: {', '.join(names[outcome])}")
    return f"in use: {'; '.join(parts)}"


def shape_facts(name: str, evaluation: Evaluation, *, is_holdout: bool) -> dict[str, Any]:
    """The JSON form of a winner's verdict on one of the shapes that its task lists."""
    timing = evaluation.timing
    return {
        "name": name,
        "holdout": is_holdout,
        "status": evaluation.status.value,
        "wins": ranking.wins(evaluation),
        "strongest": timing.strongest if timing else None,
        "speedup": speedup_facts(evaluation),
    }


def conclusion_facts(found: Conclusion) -> dict[str, Any]:
    """The JSON form of what a search came to."""
    about = _candidate_facts(*found.pair) if found.pair else None
    return {
        "outcome": found.outcome.value,
        "best": about if found.best else None,
        "undecided": about if found.outcome is SearchOutcome.UNDECIDED else None,
    }


def _candidate_facts(proposal: Proposal, evaluation: Evaluation) -> dict[str, Any]:
    return {
        "digest": proposal.candidate.digest,
        "dialect": proposal.candidate.dialect,
        "kinds": list(evaluation.kinds),
        "tf32": evaluation.is_tf32,
        "speedup": speedup_facts(evaluation),
        "lineage": list(proposal.lineage),
    }


def proposal_facts(proposal: Proposal) -> dict[str, Any]:
    """The JSON form of a proposal, its source included."""
    told = plain(proposal)
    facts = {name: told[name] for name in ("proposer", "lineage", "schedule", "parent", "note")}
    return {"digest": proposal.candidate.digest, **told["candidate"], **facts}


def baseline_ns(history: list[Pair]) -> dict[str, float]:
    """The median time of each baseline in nanoseconds, from the last verdict that was timed."""
    for _, evaluation in reversed(history):
        timing = evaluation.timing
        if timing is not None:
            return {n: timing.median_ns(n) for n in timing.samples_ns if n != CANDIDATE}
    return {}


def ordered(history: list[Pair]) -> list[Pair]:
    """The last verdict on each candidate: the fast ones first, then the untimed, the failed."""
    fast = ranking.ranked(history)
    last = {proposal.candidate.digest: (proposal, found) for proposal, found in history}
    last |= {pair[0].candidate.digest: pair for pair in ranking.latest(history)}
    for proposal, _ in fast:
        del last[proposal.candidate.digest]
    return fast + sorted(last.values(), key=lambda pair: (not pair[1].passed, pair[1].status))


def beside_best(evaluation: Evaluation, best: Pair | None, first: Ratio | None = None) -> str:
    """Where a candidate stands beside the library, and whether it is the winner.

    ``first``: its first speedup, where it was measured again.
    """
    said = standing_text(evaluation)
    if best is not None and evaluation.candidate == best[1].candidate:
        said = "best"
    elif best is not None and evaluation.standing is Standing.FASTER:
        said += ", not the fastest"
    return f"{said}; measured again, at first {first}" if first else said


def standing_text(evaluation: Evaluation) -> str:
    """Where a candidate stands beside the library, in a few words; or why it did not pass."""
    if evaluation.standing is Standing.REFUSED:
        return printable(evaluation.why, MAX_REASON)
    if evaluation.timing is None:
        warned = "; ".join(one.detail for one in evaluation.warnings)
        return printable(warned or "not timed", MAX_REASON)
    return f"{_STANDING[evaluation.standing]} {evaluation.timing.strongest}"


_STANDING = {
    Standing.FASTER: "faster than",
    Standing.UNDECIDED: "undecided: too wide an interval to tell it from",
    Standing.NO_FASTER: "no faster than",
    Standing.SLOWER: "slower than",
}


def first_looks(history: list[Pair]) -> dict[str, Ratio]:
    """The first speedup of each candidate that was measured more than once, by its digest."""
    found: dict[str, list[Ratio]] = {}
    for proposal, evaluation in history:
        if evaluation.speedup is not None:
            found.setdefault(proposal.candidate.digest, []).append(evaluation.speedup)
    return {name: ratios[0] for name, ratios in found.items() if len(ratios) > 1}


PLAIN_GUARANTEES = {
    "processes": "no access to other processes",
    "network": "no network",
    "filesystem": "files read-only",
    "user": "another user",
    "memory": "limits on memory",
    "calls": "system calls filtered",
    "environment": "no environment variables",
    "freeze": "stopped between calls",
    "copy-free": "outputs read in place",
}
"""A verdict's guarantees in a few words each."""


def guarantees_text(names: Iterable[str]) -> str:
    """The separations that held while a candidate was judged, for a person."""
    return ", ".join(PLAIN_GUARANTEES.get(name, name) for name in names)


def clock_text(clock: str) -> str:
    """The clock of a timing, for a person."""
    return {"parent": "the judge's wall clock", "device": "events of the device"}.get(clock, clock)


def ratio_text(ratio: Ratio | None) -> str:
    """'1.83 (1.80–1.86)', or a dash where it was not measured."""
    return "–" if ratio is None else str(ratio)


def short(digest: str) -> str:
    """The first characters of a digest: enough to name one candidate among many."""
    return digest.removeprefix("b2:")[:10]


def duration_text(ns: float) -> str:
    """Nanoseconds with the unit that suits them."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if ns >= size:
            return f"{ns / size:.3g} {unit}"
    return f"{ns:.3g} ns"


def bytes_text(n_bytes: float) -> str:
    """'32 MiB', for sizes of memory."""
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if n_bytes >= size:
            return f"{n_bytes / size:.3g} {unit}"
    return f"{n_bytes:.0f} bytes"


def printable(text: str, limit: int | None = None) -> str:
    """Text by a stranger without control characters, which could repaint a terminal, and without
    halves of surrogate pairs, which cannot be written."""
    text = _CONTROL.sub("�", text)
    return text if limit is None or len(text) <= limit else text[: limit - 1] + "…"


def one_line(text: str, limit: int | None = None) -> str:
    """Such a text, mostly a name, without line breaks and tabulators."""
    return printable(_BREAK.sub("�", text), limit)
