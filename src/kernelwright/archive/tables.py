"""The schema, once: every table with its columns, types, keys and indexes.

The migrations are how archives of before come to it; a test compares what they make with this.
They also hold the checks of single values (known words, valid JSON), which no query needs.
"""

from __future__ import annotations

import json
from typing import Any

import sqlalchemy as sa

METADATA = sa.MetaData()
# STRICT tables of SQLite know five types only; PostgreSQL needs the wider ones spelled out.
BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
REAL: sa.Double[float] = sa.Double().with_variant(sa.REAL(), "sqlite")


class Packed(sa.types.TypeDecorator[Any]):
    """A list or a mapping, kept as JSON in ASCII: text that a candidate made may hold what a
    database's UTF-8 refuses."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: sa.Dialect) -> str | None:
        if value is None:
            return None
        return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)

    def process_result_value(self, value: str | None, dialect: sa.Dialect) -> Any:
        return None if value is None else json.loads(value)


def _column(
    name: str, kind: Any = sa.Text, *, of: str | None = None, null: bool = False
) -> sa.Column[Any]:
    """A column that holds something in every row, unless it may be ``null``; ``of``: what it
    refers to."""
    target = [] if of is None else [sa.ForeignKey(of)]
    return sa.Column(name, kind, *target, nullable=null)


def _key(name: str, kind: Any = sa.Text, *, of: str | None = None) -> sa.Column[Any]:
    target = [] if of is None else [sa.ForeignKey(of)]
    return sa.Column(name, kind, *target, primary_key=True)


# -- what is identified by its content ---------------------------------------------------------

task = sa.Table(
    "task",
    METADATA,
    _key("digest"),
    _column("name"),
    _column("origin"),
    _column("source"),
    _column("entry"),
    _column("payload", sa.LargeBinary, null=True),
    _column("import_roots", Packed),
    sa.Index("task_by_name", "name"),
)
workload = sa.Table(
    "workload",
    METADATA,
    _key("digest"),
    _column("task", of="task.digest"),
    _column("shapes", Packed),
    _column("split"),
)
candidate = sa.Table(
    "candidate", METADATA, _key("digest"), _column("source"), _column("dialect"), _column("entry")
)
environment = sa.Table(
    "environment", METADATA, _key("digest"), _column("device"), _column("facts", Packed)
)

# -- who proposed what, having asked and seen what ---------------------------------------------

run = sa.Table(
    "run",
    METADATA,
    _key("id"),
    _column("task", of="task.digest"),
    _column("settings", Packed),
    _column("version"),
    _column("started_at"),
    _column("finished_at", null=True),  # filled later, as settings["ended"] is; no other is
    sa.Index("run_by_task", "task", "id"),
    sa.Index(
        "run_not_finished",
        "id",
        sqlite_where=sa.text("finished_at IS NULL"),
        postgresql_where=sa.text("finished_at IS NULL"),
    ),
)
call = sa.Table(
    "call",
    METADATA,
    _key("id"),
    _column("run", of="run.id"),
    _column("model"),
    _column("purpose"),
    _column("template"),
    _column("dialect"),
    _column("answer"),
    _column("detail"),
    _column("context", Packed),
    _column("parameters", Packed),
    _column("messages", Packed),
    _column("outcome"),
    _column("parent", of="candidate.digest", null=True),
    _column("follows", of="call.id", null=True),
    _column("input_tokens", BIG),
    _column("output_tokens", BIG),
    _column("cost_usd", REAL, null=True),  # null where nobody stated the price
    _column("took_s", REAL),
    _column("created_at"),
    sa.Index("call_by_run", "run"),
)
proposal = sa.Table(
    "proposal",
    METADATA,
    _key("id", sa.Integer),
    _column("run", of="run.id"),
    _column("candidate", of="candidate.digest"),
    _column("proposer"),
    _column("lineage", Packed),
    _column("schedule", Packed),
    _column("parent", of="candidate.digest", null=True),
    _column("note"),
    _column("input_tokens", BIG, null=True),
    _column("output_tokens", BIG, null=True),
    _column("cost_usd", REAL, null=True),
    _column("created_at"),
    _column("call", of="call.id", null=True),
    sa.Index("proposal_by_candidate", "candidate"),
    sa.Index("proposal_by_run", "run"),
    sa.Index("proposal_by_call", "call"),
)
exemplar = sa.Table(
    "exemplar",
    METADATA,
    _key("proposal", sa.Integer, of="proposal.id"),
    _key("position", sa.Integer),
    _column("candidate", of="candidate.digest"),
    _column("role"),
)

# -- what the judge found, and the samples that it rests on ------------------------------------

evaluation = sa.Table(
    "evaluation",
    METADATA,
    _key("id", sa.Integer),
    _column("run", of="run.id"),
    _column("candidate", of="candidate.digest"),
    _column("task", of="task.digest"),
    _column("workload", of="workload.digest"),
    _column("environment", of="environment.digest"),
    _column("judge_version", sa.Integer),
    _column("seed", BIG),
    _column("status"),
    _column("reasons", Packed),
    _column("warnings", Packed),
    _column("kinds", Packed),
    _column("guarantees", Packed),
    _column("distributions", Packed, null=True),  # null where numerics were not measured
    _column("max_error", REAL, null=True),  # null beside distributions: not a number
    _column("reference_error", REAL, null=True),
    _column("allowed_error", REAL, null=True),
    _column("build_s", REAL),
    _column("check_s", REAL),
    _column("time_s", REAL),
    _column("strongest", null=True),  # null where it was not timed
    _column("clock", null=True),
    _column("cache", null=True),
    _column("created_at"),
    sa.Column("profile", Packed, nullable=False, server_default="[]"),
    _column("conditions", Packed, null=True),  # null where nothing was timed
    _column("windows", Packed, null=True),  # null where nothing was timed in windows
    sa.Index("evaluation_by_task", "task"),
    sa.Index("evaluation_by_candidate", "candidate"),
)
timing = sa.Table(
    "timing",
    METADATA,
    _key("evaluation", sa.Integer, of="evaluation.id"),
    _column("samples_ns", Packed),  # by series, in order of round; null where not measured
)

# -- what the tuner measured; no verdict rests on it ---------------------------------------------

outline = sa.Table(
    "outline",
    METADATA,
    _key("digest"),
    _column("steps", Packed),
)

trial = sa.Table(
    "trial",
    METADATA,
    _key("id", sa.Integer),
    _column("run", of="run.id"),
    _column("task", of="task.digest"),
    _column("environment", of="environment.digest"),
    _column("tuner_version", sa.Integer),
    _column("candidate"),  # its text is not kept: hundreds of candidates are tried in a search
    _column("dialect"),
    _column("outcome"),
    _column("schedule", Packed),
    _column("detail"),
    _column("time_ns", REAL, null=True),  # null where it was not timed
    _column("reference_ns", REAL, null=True),
    _column("n_samples", sa.Integer),
    _column("created_at"),
    _column("expected_ns", REAL, null=True),  # null, like the next, in trials of before it was kept
    _column("outline", of="outline.digest", null=True),
    _column("low_ns", REAL, null=True),  # null, like the next, in trials of before it was kept
    _column("high_ns", REAL, null=True),
    sa.Index("trial_by_task", "task"),
)

# -- which appends have been done ---------------------------------------------------------------

appended = sa.Table("appended", METADATA, _key("id"))

# -- what training logged ----------------------------------------------------------------------

step = sa.Table(
    "step",
    METADATA,
    _key("id", sa.Integer),
    _column("stage"),
    _column("number", sa.Integer),
    _column("recipe", Packed),
    _column("facts", Packed),
    _column("created_at"),
)
