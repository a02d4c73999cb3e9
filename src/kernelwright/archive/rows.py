"""Core's nouns as rows, and rows as nouns. What goes in comes out equal."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from sqlalchemy import RowMapping

from kernelwright.core.call import Call, Outcome, Trial
from kernelwright.core.candidate import Candidate, Proposal
from kernelwright.core.conditions import Conditions
from kernelwright.core.evaluation import (
    Cost,
    Environment,
    Evaluation,
    KernelProfile,
    Numerics,
    Timing,
)
from kernelwright.core.outcome import Reason, ReasonCode, Status, Warned, WarningCode
from kernelwright.core.task import Task, Workload


def pack(value: Any) -> str:
    """JSON in ASCII: text that a candidate made may hold what a database's UTF-8 refuses."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def from_task(task: Task) -> dict[str, Any]:
    return {
        "digest": task.digest,
        "name": task.name,
        "origin": task.origin,
        "source": task.source,
        "entry": task.entry,
        "payload": task.payload,
        "import_roots": pack(task.import_roots),
    }


def to_task(row: RowMapping) -> Task:
    return Task(
        name=row["name"],
        origin=row["origin"],
        source=row["source"],
        entry=row["entry"],
        payload=None if row["payload"] is None else bytes(row["payload"]),
        import_roots=tuple(json.loads(row["import_roots"])),
    )


def from_workload(workload: Workload) -> dict[str, Any]:
    return {
        "digest": workload.digest,
        "task": workload.task,
        "shapes": pack(workload.shapes),
        "split": workload.split,
    }


def from_candidate(candidate: Candidate) -> dict[str, Any]:
    return {
        "digest": candidate.digest,
        "source": candidate.source,
        "dialect": candidate.dialect,
        "entry": candidate.entry,
    }


def to_candidate(row: RowMapping) -> Candidate:
    return Candidate(source=row["source"], dialect=row["dialect"], entry=row["entry"])


def from_proposal(proposal: Proposal) -> dict[str, Any]:
    return {
        "candidate": proposal.candidate.digest,
        "proposer": proposal.proposer,
        "lineage": pack(proposal.lineage),
        "schedule": pack(dict(proposal.schedule)),
        "parent": proposal.parent,
        "note": proposal.note,
        "input_tokens": proposal.input_tokens,
        "output_tokens": proposal.output_tokens,
        "cost_usd": proposal.cost_usd,
        "call": proposal.call,
    }


def to_proposal(row: RowMapping) -> Proposal:
    """From a row of proposal joined with its candidate."""
    return Proposal(
        candidate=to_candidate(row),
        proposer=row["proposer"],
        lineage=tuple(json.loads(row["lineage"])),
        schedule=json.loads(row["schedule"]),
        parent=row["parent"],
        note=row["note"],
        input_tokens=row["input_tokens"],
        output_tokens=row["output_tokens"],
        cost_usd=row["cost_usd"],
        call=row["call"],
    )


_CALL_AS_IT_IS = (
    "id", "model", "purpose", "template", "dialect", "answer", "detail", "parent", "follows",
    "input_tokens", "output_tokens", "cost_usd", "took_s",
)  # fmt: skip


def from_call(call: Call) -> dict[str, Any]:
    return {name: getattr(call, name) for name in _CALL_AS_IT_IS} | {
        "context": pack(call.context),
        "parameters": pack(dict(call.parameters)),
        "messages": pack(call.messages),
        "outcome": call.outcome.value,
    }


def to_call(row: RowMapping) -> Call:
    return Call(
        **{name: row[name] for name in _CALL_AS_IT_IS},
        context=tuple(json.loads(row["context"])),
        parameters=json.loads(row["parameters"]),
        messages=tuple((role, text) for role, text in json.loads(row["messages"])),
        outcome=Outcome(row["outcome"]),
    )


def to_trial(row: RowMapping) -> Trial:
    """From a call's row joined with its task's source, and whether its candidate ever passed."""
    context = tuple(json.loads(row["context"]))
    return Trial(row["source"], row["model"], context, bool(row["passed"]))


def from_environment(environment: Environment) -> dict[str, Any]:
    return {
        "digest": environment.digest,
        "device": environment.device,
        "facts": pack(dict(environment.facts)),
    }


def from_evaluation(evaluation: Evaluation) -> dict[str, Any]:
    numerics, timing, cost = evaluation.numerics, evaluation.timing, evaluation.cost
    return {
        "candidate": evaluation.candidate,
        "task": evaluation.task,
        "workload": evaluation.workload,
        "environment": evaluation.environment.digest,
        "judge_version": evaluation.judge_version,
        "seed": evaluation.seed,
        "status": evaluation.status.value,
        "reasons": pack([asdict(one) for one in evaluation.reasons]),
        "warnings": pack([asdict(one) for one in evaluation.warnings]),
        "kinds": pack(evaluation.kinds),
        "guarantees": pack(evaluation.guarantees),
        "distributions": numerics and pack(numerics.distributions),
        "max_error": numerics and _or_null(numerics.max_error),
        "reference_error": numerics and _or_null(numerics.reference_error),
        "allowed_error": numerics and _or_null(numerics.allowed_error),
        "build_s": cost.build_s,
        "check_s": cost.check_s,
        "time_s": cost.time_s,
        "strongest": timing and timing.strongest,
        "clock": timing and timing.clock,
        "cache": timing and timing.cache,
        "profile": pack([asdict(kernel) for kernel in evaluation.profile]),
        "conditions": evaluation.conditions and pack(asdict(evaluation.conditions)),
    }


def from_timing(evaluation_id: int, timing: Timing) -> list[dict[str, Any]]:
    return [
        {"evaluation": evaluation_id, "series": series, "round": position, "ns": ns}
        for series, samples in timing.samples_ns.items()
        for position, ns in enumerate(samples)
    ]


def to_evaluation(row: RowMapping, timing_rows: Iterable[RowMapping]) -> Evaluation:
    """From a row of evaluation joined with its environment, and its timings in order of round."""
    return Evaluation(
        task=row["task"],
        workload=row["workload"],
        candidate=row["candidate"],
        status=Status(row["status"]),
        reasons=tuple(
            Reason(ReasonCode(one["code"]), one["detail"]) for one in json.loads(row["reasons"])
        ),
        environment=Environment(row["device"], json.loads(row["facts"])),
        seed=row["seed"],
        judge_version=row["judge_version"],
        kinds=tuple(json.loads(row["kinds"])),
        warnings=tuple(
            Warned(WarningCode(one["code"]), one["detail"]) for one in json.loads(row["warnings"])
        ),
        numerics=_to_numerics(row),
        timing=_to_timing(row, timing_rows),
        cost=Cost(row["build_s"], row["check_s"], row["time_s"]),
        guarantees=tuple(json.loads(row["guarantees"])),
        profile=tuple(KernelProfile(**kernel) for kernel in json.loads(row["profile"])),
        conditions=row["conditions"] and Conditions(**json.loads(row["conditions"])),
    )


def _to_numerics(row: RowMapping) -> Numerics | None:
    if row["distributions"] is None:
        return None
    return Numerics(
        max_error=_or_nan(row["max_error"]),
        reference_error=_or_nan(row["reference_error"]),
        allowed_error=_or_nan(row["allowed_error"]),
        distributions=tuple(json.loads(row["distributions"])),
    )


def _to_timing(row: RowMapping, timing_rows: Iterable[RowMapping]) -> Timing | None:
    if row["strongest"] is None:
        return None
    samples: dict[str, list[int | None]] = {}
    for timing in timing_rows:
        samples.setdefault(timing["series"], []).append(timing["ns"])
    return Timing(
        samples_ns={series: tuple(ns) for series, ns in samples.items()},
        strongest=row["strongest"],
        clock=row["clock"],
        cache=row["cache"],
    )


def _or_null(value: float) -> float | None:
    return None if math.isnan(value) else value


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value
