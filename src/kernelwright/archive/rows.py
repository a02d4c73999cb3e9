"""Core's nouns as rows, and rows as nouns. What goes in comes out equal."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Mapping
from typing import Any

from sqlalchemy import RowMapping

from kernelwright.core.call import Call, PastCall
from kernelwright.core.candidate import Candidate, Proposal
from kernelwright.core.codec import columns, from_columns
from kernelwright.core.evaluation import Environment, Evaluation, Timing
from kernelwright.core.task import Task, Workload
from kernelwright.core.trial import Outline, Trial

_ERRORS = ("max_error", "reference_error", "allowed_error")
_COST = ("build_s", "check_s", "time_s")
_TIMING = ("strongest", "clock", "cache")
_WINDOWS = ("calls", "latency_ns", "floor_ns", "is_queued")
_CANDIDATE = ("source", "dialect", "entry")


def from_content(noun: Task | Workload | Candidate | Environment | Outline) -> dict[str, Any]:
    """The row of a noun that is identified by its content."""
    return columns(noun) | {"digest": noun.digest}


def to_task(row: RowMapping) -> Task:
    return from_columns(Task, row)


def to_candidate(row: RowMapping) -> Candidate:
    return from_columns(Candidate, row)


def from_proposal(proposal: Proposal) -> dict[str, Any]:
    return columns(proposal) | {"candidate": proposal.candidate.digest}


def to_proposal(row: RowMapping) -> Proposal:
    """From a row of proposal joined with its candidate."""
    return from_columns(Proposal, {**row, "candidate": _part(row, _CANDIDATE)})


def from_call(call: Call) -> dict[str, Any]:
    return columns(call)


def to_call(row: RowMapping) -> Call:
    return from_columns(Call, row)


def to_past_call(row: RowMapping) -> PastCall:
    """From a call's row joined with its task's source, and whether its candidate ever passed."""
    return PastCall(row["source"], row["model"], tuple(row["context"]), bool(row["passed"]))


def from_trial(trial: Trial) -> dict[str, Any]:
    row = columns(dataclasses.replace(trial, outline=None))
    return row | {"outline": trial.outline.digest if trial.outline else None}


def to_outline(row: RowMapping) -> Outline:
    return from_columns(Outline, row)


def to_trial(row: RowMapping, outlines: Mapping[str, Outline]) -> Trial:
    """From a row of trial, with its outline among ``outlines``, by digest."""
    outline = outlines[row["outline"]] if row["outline"] else None
    return dataclasses.replace(from_columns(Trial, {**row, "outline": None}), outline=outline)


def from_evaluation(evaluation: Evaluation) -> dict[str, Any]:
    """The row of a verdict: numerics, cost and timing beside the rest, without the samples."""
    row = columns(evaluation) | {"environment": evaluation.environment.digest}
    numerics, timing, cost = (row.pop(name) for name in ("numerics", "timing", "cost"))
    row |= numerics or dict.fromkeys((*_ERRORS, "distributions"))
    row |= {name: None for name in _ERRORS if row[name] != row[name]}  # NaN, which SQL has not
    row |= _part(timing or dict.fromkeys(_TIMING), _TIMING)
    row["windows"] = _part(timing, _WINDOWS) if timing else None
    row |= cost
    return row


def from_timing(timing: Timing) -> dict[str, Any]:
    """The row of a verdict's samples, without its number."""
    return {"samples_ns": {name: list(samples) for name, samples in timing.samples_ns.items()}}


def to_evaluation(row: RowMapping) -> Evaluation:
    """From a row of evaluation joined with its environment and its samples."""
    parts: dict[str, Any] = {
        "environment": _part(row, ("device", "facts")),
        "cost": _part(row, _COST),
        "numerics": None,
        "timing": None,
    }
    if row["distributions"] is not None:
        errors = {name: math.nan if row[name] is None else row[name] for name in _ERRORS}
        parts["numerics"] = errors | _part(row, ("distributions",))
    if row["strongest"] is not None:
        parts["timing"] = _part(row, (*_TIMING, "samples_ns")) | (row["windows"] or {})
    return from_columns(Evaluation, {**row, **parts})


def _part(row: Mapping[Any, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: row[name] for name in names}
