"""The tables' columns, for queries. Types and constraints stand in the migrations, once."""

from __future__ import annotations

from sqlalchemy import column, table


def _table(name: str, columns: str):
    return table(name, *(column(word) for word in columns.split()))


task = _table("task", "digest name origin source entry payload import_roots")
workload = _table("workload", "digest task shapes split")
candidate = _table("candidate", "digest source dialect entry")
run = _table("run", "id task settings version started_at finished_at")
proposal = _table(
    "proposal",
    "id run candidate proposer lineage schedule parent note "
    "input_tokens output_tokens cost_usd call created_at",
)
call = _table(
    "call",
    "id run model purpose context template dialect parameters messages answer outcome detail "
    "parent follows input_tokens output_tokens cost_usd took_s created_at",
)
exemplar = _table("exemplar", "proposal position candidate role")
environment = _table("environment", "digest device facts")
evaluation = _table(
    "evaluation",
    "id run candidate task workload environment judge_version seed status reasons warnings kinds "
    "guarantees distributions max_error reference_error allowed_error build_s check_s time_s "
    "strongest clock cache profile conditions created_at",
)
timing = _table("timing", "evaluation series round ns")
step = _table("step", "id stage number recipe facts created_at")
