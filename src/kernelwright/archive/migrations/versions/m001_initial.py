"""The first schema: facts are appended, content digests are keys, times are raw nanoseconds."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "m001"
down_revision = None

# STRICT tables of SQLite know five types only; PostgreSQL needs the wider ones spelled out.
BIG = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
REAL: sa.types.TypeEngine[float] = sa.Double().with_variant(sa.REAL(), "sqlite")
STATUSES = (
    "passed",
    "rejected",
    "build_error",
    "runtime_error",
    "timeout",
    "wrong_shape",
    "wrong_dtype",
    "wrong_values",
    "tampered",
    "infra_error",
)
ROLES = ("parent", "better", "worse", "failed")
SPLITS = ("search", "holdout")


def upgrade() -> None:
    _create_content()
    _create_sayings()
    _create_verdicts()


def _create_content() -> None:
    """What is identified by its content."""
    _create(
        "task",
        _key(),
        _text("name"),
        _text("origin"),
        _text("source"),
        _text("entry"),
        sa.Column("payload", sa.LargeBinary),
        *_json("import_roots"),
    )
    _create(
        "workload",
        _key(),
        _reference("task", "task.digest"),
        *_json("shapes"),
        *_one_of("split", SPLITS),
    )
    _create("candidate", _key(), _text("source"), _text("dialect"), _text("entry"))
    _create("environment", _key(), _text("device"), *_json("facts"))


def _create_sayings() -> None:
    """Who proposed what, when, having seen what."""
    _create(
        "run",
        sa.Column("id", sa.Text, primary_key=True),
        _reference("task", "task.digest"),
        *_json("settings"),
        _text("version"),
        _text("started_at"),
        sa.Column("finished_at", sa.Text),  # the only column that is ever filled later
    )
    _create(
        "proposal",
        sa.Column("id", sa.Integer, primary_key=True),
        _reference("run", "run.id"),
        _reference("candidate", "candidate.digest"),
        _text("proposer"),
        *_json("lineage"),
        *_json("schedule"),
        _reference("parent", "candidate.digest", nullable=True),
        _text("note"),
        sa.Column("input_tokens", BIG),
        sa.Column("output_tokens", BIG),
        sa.Column("cost_usd", REAL),
        _text("created_at"),
    )
    _create(
        "exemplar",
        sa.Column("proposal", sa.Integer, sa.ForeignKey("proposal.id"), primary_key=True),
        sa.Column("position", sa.Integer, primary_key=True),
        _reference("candidate", "candidate.digest"),
        *_one_of("role", ROLES),
    )
    op.create_index("proposal_by_candidate", "proposal", ["candidate"])


def _create_verdicts() -> None:
    """What the judge found, and the samples that it rests on."""
    _create(
        "evaluation",
        sa.Column("id", sa.Integer, primary_key=True),
        _reference("run", "run.id"),
        _reference("candidate", "candidate.digest"),
        _reference("task", "task.digest"),
        _reference("workload", "workload.digest"),
        _reference("environment", "environment.digest"),
        sa.Column("judge_version", sa.Integer, nullable=False),
        sa.Column("seed", BIG, nullable=False),
        *_one_of("status", STATUSES),
        *_json("reasons"),
        *_json("warnings"),
        *_json("kinds"),
        *_json("guarantees"),
        *_json("distributions", nullable=True),  # null where numerics were not measured
        sa.Column("max_error", REAL),  # null beside distributions: not a number
        sa.Column("reference_error", REAL),
        sa.Column("allowed_error", REAL),
        *(sa.Column(name, REAL, nullable=False) for name in ("build_s", "check_s", "time_s")),
        sa.Column("strongest", sa.Text),  # null where it was not timed
        sa.Column("clock", sa.Text),
        sa.Column("cache", sa.Text),
        _text("created_at"),
    )
    op.create_index("evaluation_by_task", "evaluation", ["task"])
    op.create_index("evaluation_by_candidate", "evaluation", ["candidate"])
    _create(
        "timing",
        sa.Column("evaluation", sa.Integer, sa.ForeignKey("evaluation.id"), primary_key=True),
        sa.Column("series", sa.Text, primary_key=True),
        sa.Column("round", sa.Integer, primary_key=True),
        sa.Column("ns", BIG),  # null where the series was not measured in that round
        sa.CheckConstraint("ns > 0"),
        sqlite_with_rowid=False,
    )


def _create(name: str, *columns: sa.schema.SchemaItem, **options: bool) -> None:
    op.create_table(name, *columns, sqlite_strict=True, **options)


def _key() -> sa.Column:
    return sa.Column("digest", sa.Text, primary_key=True)


def _text(name: str) -> sa.Column:
    return sa.Column(name, sa.Text, nullable=False)


def _reference(name: str, target: str, nullable: bool = False) -> sa.Column:
    return sa.Column(name, sa.Text, sa.ForeignKey(target), nullable=nullable)


def _json(name: str, nullable: bool = False) -> tuple[sa.schema.SchemaItem, ...]:
    text = f"{name} IS NULL OR json_valid({name})" if nullable else f"json_valid({name})"
    check = sa.CheckConstraint(text).ddl_if(dialect="sqlite")
    return sa.Column(name, sa.Text, nullable=nullable), check


def _one_of(name: str, words: tuple[str, ...]) -> tuple[sa.schema.SchemaItem, ...]:
    listed = ", ".join(f"'{word}'" for word in words)
    return _text(name), sa.CheckConstraint(f"{name} IN ({listed})")
